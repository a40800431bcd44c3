/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_INDEXED_H
#define RLO_OPS_INDEXED_H

#include <stdint.h>

#include "relayout/shape.h"

/** Checks that a gather and a segment sum share. */

/** The names in messages of the operation and its two arrays. */
typedef struct rlo__indexed_words {
  const char *operation, *array, *indices;
} rlo__indexed_words;

/** RLO_OK for a valid shape of s32 or s64 of its own width, else
 * RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__ops_check_indices(const rlo__indexed_words *words,
                                                const rlo_shape *indices);

/** RLO_OK if the first `batch_dims` dimensions of both are equal and precede
 * `dim`; else RLO_OUT_OF_RANGE or RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__ops_check_batch(const rlo__indexed_words *words,
                                              const rlo_shape *array, const rlo_shape *indices,
                                              int32_t dim, int32_t batch_dims);

/** RLO_OK if rlo_chain_gather takes these shapes; its statuses. */
RLO_NODISCARD rlo_status rlo__ops_check_gather(const rlo__indexed_words *words,
                                               const rlo_shape *src, const rlo_shape *indices,
                                               int32_t dim, int32_t batch_dims);

#endif
