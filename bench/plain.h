/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_PLAIN_H
#define RLO_BENCH_PLAIN_H

#include "case.h"

/**
 * A case as the peers know them: dense row-major extents and a permutation,
 * without padding or tiles, neighbours that stay neighbours merged, no extent
 * of 1. Dimension k of the result is dimension permutation[k] of the source.
 */
typedef struct bench_plain {
  int32_t rank;
  int64_t dims[RLO_MAX_RANK];
  int32_t permutation[RLO_MAX_RANK];
} bench_plain;

/** @return false if the case has padding, tiles or strides. */
bool bench_plain_from_case(const bench_case *item, bench_plain *out_plain);

#endif
