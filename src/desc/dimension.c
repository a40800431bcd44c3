/* SPDX-License-Identifier: Apache-2.0 */
#include "desc/dimension.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"

static const char *text_of(const char *what) {
  return what == NULL ? "" : what;
}

static const char *colon_after(const char *what) {
  return what == NULL ? "" : ": ";
}

rlo_status rlo__dim_find(const char *what, int64_t number, int32_t rank, int32_t *out_dim) {
  RLO_FAIL_IF(rank == 0, RLO_OUT_OF_RANGE,
              "%s%sdimension %lld of an array of rank 0, which has none", text_of(what),
              colon_after(what), (long long)number);
  RLO_FAIL_IF(number < -(int64_t)rank || number >= rank, RLO_OUT_OF_RANGE,
              "%s%sdimension %lld of an array of rank %d; %d to %d are possible", text_of(what),
              colon_after(what), (long long)number, rank, -rank, rank - 1);
  *out_dim = (int32_t)(number < 0 ? number + rank : number);
  return RLO_OK;
}

void rlo__dim_set_init(rlo__dim_set *set, int32_t rank) {
  memset(set, 0, sizeof *set);
  set->rank = rank;
}

rlo_status rlo__dim_set_add(rlo__dim_set *set, const char *what, int64_t number, int32_t *out_dim) {
  int32_t dim = 0;
  RLO_TRY(rlo__dim_find(what, number, set->rank, &dim));
  RLO_FAIL_IF(set->has[dim], RLO_INVALID_ARGUMENT,
              "%s%sdimensions %lld and %lld are one and the same of an array of rank %d",
              text_of(what), colon_after(what), (long long)set->numbers[dim], (long long)number,
              set->rank);
  set->has[dim] = true;
  set->numbers[dim] = number;
  if (out_dim != NULL) {
    *out_dim = dim;
  }
  return RLO_OK;
}

rlo_status rlo__dim_set_make(rlo__dim_set *set, const char *what, int32_t rank,
                             const int32_t *numbers, int32_t count) {
  rlo__dim_set_init(set, rank);
  for (int32_t i = 0; i < count; ++i) {
    RLO_TRY(rlo__dim_set_add(set, what, numbers[i], NULL));
  }
  return RLO_OK;
}

rlo_status rlo__rank_check(int32_t rank) {
  RLO_FAIL_IF(rank < 0, RLO_INVALID_ARGUMENT, "rank %d is negative", rank);
  RLO_FAIL_IF(rank > RLO_MAX_RANK, RLO_UNSUPPORTED, "rank %d is beyond the limit of %d", rank,
              RLO_MAX_RANK);
  return RLO_OK;
}

rlo_status rlo__dims_check(const int64_t *dims, int32_t rank) {
  RLO_TRY(rlo__rank_check(rank));
  for (int32_t k = 0; k < rank; ++k) {
    RLO_FAIL_IF(dims[k] < 0, RLO_INVALID_ARGUMENT, "dimension %d of size %lld is negative", k,
                (long long)dims[k]);
  }
  return RLO_OK;
}

bool rlo__dims_product(const int64_t *dims, int32_t rank, int64_t *out_product) {
  bool fits = true;
  int64_t product = 1;
  for (int32_t k = 0; k < rank; ++k) {
    if (dims[k] == 0) {
      *out_product = 0;
      return true;
    }
    fits = fits && rlo__mul(product, dims[k], &product);
  }
  *out_product = product;
  return fits;
}
