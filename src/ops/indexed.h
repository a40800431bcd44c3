/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_INDEXED_H
#define RLO_OPS_INDEXED_H

#include <stdint.h>

#include "relayout/shape.h"

/** Checks that a gather and a segment sum share; `operation` is used in the
 * message. */

/** RLO_OK for a valid shape of s32 or s64 of its own width, else
 * RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__ops_check_indices(const char *operation,
                                                const rlo_shape *indices);

/** RLO_OK if the first `batch_dims` dimensions of both are equal and precede
 * `dim`; else RLO_OUT_OF_RANGE or RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__ops_check_batch(const char *operation,
                                              const rlo_shape *array,
                                              const rlo_shape *indices,
                                              int32_t dim,
                                              int32_t batch_dims);

#endif
