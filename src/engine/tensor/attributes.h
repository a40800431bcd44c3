/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_ATTRIBUTES_H
#define RLO_ENGINE_ATTRIBUTES_H

#include "relayout/attributes.h"

/** RLO_OK if every attribute has a name, a known type and the parts of its
 *  value, in maps too, where no name is given twice. The names may be any. */
RLO_NODISCARD rlo_status rlo__attributes_check_items(const rlo_attributes *attributes);

/** The size of an entry of a list of a known type; 0 for a map. */
size_t rlo__attribute_entry_bytes(uint32_t type);

/** The types of an attribute that is a number to the last bit: a float, or an
 *  integer as one word, or as a word without sign and a word that is 0. */
#define RLO__ATTRIBUTE_NUMBER (RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST)

typedef struct rlo__attribute_number {
  /** F64, S64 or U64. */
  rlo_dtype type;

  union {
    double f64;
    int64_t i64;
    uint64_t u64;
  } value;
} rlo__attribute_number;

/** Reads a number. RLO_INVALID_ARGUMENT for another list. */
RLO_NODISCARD rlo_status rlo__attribute_number_get(const rlo_attributes *attributes,
                                                   const char *name,
                                                   rlo__attribute_number *out_number);

/*
 * Reading attributes whose names and types have been checked. Those that are
 * required are present; the others have a default here.
 */

/** Up to RLO_MAX_RANK numbers, copied. */
typedef struct rlo__dims {
  int64_t values[RLO_MAX_RANK];
  int32_t count;
} rlo__dims;

/** Reads a list of at most RLO_MAX_RANK numbers. RLO_UNSUPPORTED for more. */
RLO_NODISCARD rlo_status rlo__dims_get(const rlo_attributes *attributes, const char *name,
                                       rlo__dims *out_dims);

/** Reads a list of exactly `count` numbers. RLO_INVALID_ARGUMENT for another
 *  length. */
RLO_NODISCARD rlo_status rlo__dims_get_exactly(const rlo_attributes *attributes, const char *name,
                                               int32_t count, rlo__dims *out_dims);

/** The same; `otherwise` for each if there is no such attribute. */
RLO_NODISCARD rlo_status rlo__dims_get_or(const rlo_attributes *attributes, const char *name,
                                          int32_t count, int64_t otherwise, rlo__dims *out_dims);

/** Reads `count` pairs of numbers: low0, high0, low1, high1, ... The counts are
 *  not set. */
RLO_NODISCARD rlo_status rlo__dims_get_pairs(const rlo_attributes *attributes, const char *name,
                                             int32_t count, rlo__dims *out_low,
                                             rlo__dims *out_high);

/** Reads a dimension as an index in [0, rank): negative numbers count from the
 *  end, -1 the last; 0 by default. RLO_OUT_OF_RANGE. */
RLO_NODISCARD rlo_status rlo__axis_get(const rlo_attributes *attributes, const char *name,
                                       int32_t rank, int32_t *out_axis);

/** Reads a list of dimensions, each as rlo__axis_get does; with `is_once`,
 *  different ones. RLO_INVALID_ARGUMENT, naming both numbers, if two are the
 *  same. */
RLO_NODISCARD rlo_status rlo__axes_get(const rlo_attributes *attributes, const char *name,
                                       int32_t rank, bool is_once, int32_t out_axes[RLO_MAX_RANK],
                                       int32_t *out_count);

/** An integer, or its default. */
int64_t rlo__i64_or(const rlo_attributes *attributes, const char *name, int64_t otherwise);

/** The index of a string in `words`; 0 by default. RLO_INVALID_ARGUMENT for
 *  another string. */
RLO_NODISCARD rlo_status rlo__word_get(const rlo_attributes *attributes, const char *name,
                                       const char *const *words, int32_t count, int32_t *out_index);

#endif
