/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_EXCHANGE_CASE_H
#define RLO_TESTS_SUPPORT_EXCHANGE_CASE_H

#include "relayout/redistribution.h"
#include "support/random.h"

enum {
  EXCHANGE_MAX_DEVICES = 16,
  /** Around each memory; a multiple of every device's alignment. */
  EXCHANGE_GUARD_BYTES = 256
};

/** Host memory with guard bands on both sides; `bytes` is without them. */
typedef struct exchange_arena {
  unsigned char *begin, *data;
  int64_t bytes;
} exchange_arena;

/** A redistribution, what devices hold before, and what they are to hold
 *  after, as one device computes it: by a relayout of the whole (for an
 *  unreduced source of each summand, added in their order) and a slice. */
typedef struct exchange_case {
  rlo_shape shapes[2];
  rlo_sharding *shardings[2];
  int32_t permutation[RLO_MAX_RANK];
  int64_t num_devices;
  rlo_redistribution *plan;
  rlo_redistribution_cost cost;
  exchange_arena before[EXCHANGE_MAX_DEVICES];
  exchange_arena after[EXCHANGE_MAX_DEVICES];
  char words[2048];
} exchange_case;

/** Makes a case of texts, with random elements.
 *  @param permutation  NULL: the same dimensions. */
void exchange_case_make(exchange_case *c, const char *from, const char *from_sharding,
                        const char *to, const char *to_sharding, const int32_t *permutation,
                        int64_t num_devices, test_random *random);

/** Draws one, of up to `most_devices` devices.
 *  @param dtypes  of these, num_dtypes. */
void exchange_case_draw(exchange_case *c, int64_t most_devices, const rlo_dtype *dtypes,
                        int64_t num_dtypes, test_random *random);

void exchange_case_deinit(exchange_case *c);

/** Memory of a device's destination before a run. */
exchange_arena exchange_arena_make(int64_t bytes);

/** Fails the test, with the case's words, unless a device's destination holds
 *  what it is to hold, guard bands included; frees it. */
void exchange_case_check(const exchange_case *c, int64_t device, exchange_arena *got);

#endif
