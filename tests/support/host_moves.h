/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_HOST_MOVES_H
#define RLO_TESTS_SUPPORT_HOST_MOVES_H

#include "host/mover.h"

/** How a problem is run by a mover. */
typedef struct test_host_move {
  const rlo_problem *problem;
  const void *indices;
  /** The thresholds host_past_caches_bytes and host_vector_bytes from here on;
   *  0: as they are. */
  int64_t past_caches_bytes, vector_bytes;
  int32_t num_shares;
  /** Run by rlo__host_mover_run with so many threads; 0: share by share, the
   *  last one first, each of which must write bytes of its own. */
  int32_t num_threads;
  /** The distance of the memories' first bytes from a page that nobody may
   * touch, or of their ends from one. */
  int64_t src_shift, dst_shift;
  bool is_at_end;
} test_host_move;

/** Runs a mover and the reference, and fails the test, with `words`, unless
 *  status and bytes are the same, those around the destination included. */
void test_host_expect(const test_host_move *move, const char *words);

#endif
