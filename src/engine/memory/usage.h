/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_USAGE_H
#define RLO_ENGINE_USAGE_H

#include <stdatomic.h>

#include "relayout/engine.h"

/** The counters; each has a peak. */
typedef enum rlo__usage_kind {
  RLO__USAGE_TENSORS,
  RLO__USAGE_BUFFERS,
  RLO__USAGE_BYTES,
  RLO__USAGE_EXTERNAL_BYTES,
  RLO__NUM_USAGE_KINDS
} rlo__usage_kind;

typedef struct rlo__usage_counter {
  atomic_int_fast64_t now, peak;
} rlo__usage_counter;

/** The resources held by all instances of a backend, by name: tensors outlive a
 *  backend that is removed. */
typedef struct rlo__usage {
  rlo__usage_counter counters[RLO__NUM_USAGE_KINDS];
  /** The usage of all backends, which counts along; NULL: this is it. */
  struct rlo__usage *whole;
} rlo__usage;

void rlo__usage_init(rlo__usage *usage, rlo__usage *whole);

/** Adds to a counter, and to that of the whole. Threads: safe, as is all here.
 */
void rlo__usage_add(rlo__usage *usage, rlo__usage_kind kind, int64_t increment);

int64_t rlo__usage_now(const rlo__usage *usage, rlo__usage_kind kind);

/** Fills in the public struct. */
void rlo__usage_read(const rlo__usage *usage, rlo_memory_info *out_info);

/** Makes what is held now the peaks. */
void rlo__usage_reset_peaks(rlo__usage *usage);

#endif
