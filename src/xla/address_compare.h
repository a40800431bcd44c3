/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_ADDRESS_COMPARE_H
#define RLO_XLA_ADDRESS_COMPARE_H

#include "relayout/index.h"

/** An order of the units of an array: `ratio` units make an element, and
 *  dimension order[rank - 1] varies fastest. */
typedef struct rlo__unit_order {
  const rlo_address_map *address;
  /** A permutation of the dimensions; NULL for logical row-major order. */
  const int32_t *order;
  /** 1 or more. */
  int64_t ratio;
} rlo__unit_order;

/**
 * Finds out whether unit n of `a` and unit n of `b` have one position, counted
 * in units, for all n. Both arrays have the same number of units, in 1 ..
 * INT64_MAX.
 *
 * Both maps are lowered to forms over the units, and the maps agree where the
 * difference of the forms is 0. Tiles without effect, or of one effect in
 * both forms, cancel. Where quotients remain, the positions of one period of
 * the difference are compared.
 *
 * @return RLO_OK; RLO_UNSUPPORTED if a period has more than 2^20 units, or has
 *         no bound because the maps need more than RLO_MAX_TERMS quotients,
 *         and a sample of it agrees; RLO_OVERFLOW; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__address_maps_agree(const rlo__unit_order *a, const rlo__unit_order *b,
                                                 bool *out_agree);

#endif
