/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_ATTRIBUTES_H
#define RLO_ENGINE_ATTRIBUTES_H

#include "relayout/attributes.h"

/** RLO_OK if every attribute has a name of its own, a known type and the parts
 *  of its value, whatever a kernel takes. */
RLO_NODISCARD rlo_status
rlo__attributes_check_items(const rlo_attributes *attributes);

/** Attributes as the operations of ops.h want them. Those that are missing have
 *  been refused, or have a default here. */

/** Up to RLO_MAX_RANK numbers, copied. */
typedef struct rlo__dims {
  int64_t values[RLO_MAX_RANK];
  int32_t count;
} rlo__dims;

/** A list of at most RLO_MAX_RANK numbers. RLO_UNSUPPORTED for more. */
RLO_NODISCARD rlo_status rlo__dims_get(const rlo_attributes *attributes,
                                       const char *name,
                                       rlo__dims *out_dims);

/** A list of exactly `count` numbers. RLO_INVALID_ARGUMENT for another. */
RLO_NODISCARD rlo_status rlo__dims_get_exactly(const rlo_attributes *attributes,
                                               const char *name,
                                               int32_t count,
                                               rlo__dims *out_dims);

/** Pairs of numbers, `count` of each: low0, high0, low1, high1, ... */
RLO_NODISCARD rlo_status rlo__dims_get_pairs(const rlo_attributes *attributes,
                                             const char *name,
                                             int32_t count,
                                             rlo__dims *out_low,
                                             rlo__dims *out_high);

/** A dimension in [0, rank), or counted from the end with -1 the last; 0 if it
 *  is not given. RLO_OUT_OF_RANGE. */
RLO_NODISCARD rlo_status rlo__axis_get(const rlo_attributes *attributes,
                                       const char *name,
                                       int32_t rank,
                                       int32_t *out_axis);

/** A list of such dimensions, as ops.h takes it. */
RLO_NODISCARD rlo_status rlo__axes_get(const rlo_attributes *attributes,
                                       const char *name,
                                       int32_t rank,
                                       int32_t out_axes[RLO_MAX_RANK],
                                       int32_t *out_count);

/** An integer, or what it is without the attribute. */
int64_t rlo__i64_or(const rlo_attributes *attributes,
                    const char *name,
                    int64_t otherwise);

/** Which of the words a string is; the first if it is not given.
 *  RLO_INVALID_ARGUMENT for none of them. */
RLO_NODISCARD rlo_status rlo__word_get(const rlo_attributes *attributes,
                                       const char *name,
                                       const char *const *words,
                                       int32_t count,
                                       int32_t *out_which);

#endif
