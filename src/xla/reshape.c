/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/shape_util.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "relayout/xla/layout_util.h"

static rlo_status check_dims(const int64_t *dims, int32_t rank, int64_t *out_product) {
  RLO_FAIL_IF(rank < 0, RLO_INVALID_ARGUMENT, "sizes of rank %d", rank);
  RLO_TRY(rlo__dims_check(dims, rank));
  RLO_FAIL_IF(!rlo__dims_product(dims, rank, out_product), RLO_OVERFLOW,
              "the product of the sizes does not fit 64 bits");
  return RLO_OK;
}

/* Cuts the lists where their products meet. From equal products, the list with
 * the smaller next size advances; both do if the sizes are equal. */
static void cut(const int64_t *from, int32_t from_rank, const int64_t *to, int32_t to_rank,
                rlo_common_factor *out_bounds, int32_t *out_count) {
  int32_t i = 0;
  int32_t j = 0;
  int64_t from_product = 1;
  int64_t to_product = 1;
  int32_t count = 0;
  out_bounds[count++] = (rlo_common_factor){0, 0};
  while (i < from_rank || j < to_rank) {
    bool is_level = from_product == to_product;
    bool from_advances =
        is_level ? i < from_rank && (j == to_rank || from[i] <= to[j]) : from_product < to_product;
    bool to_advances =
        is_level ? j < to_rank && (i == from_rank || to[j] <= from[i]) : to_product < from_product;
    if (from_advances) {
      from_product *= from[i++];
    }
    if (to_advances) {
      to_product *= to[j++];
    }
    if (from_product == to_product) {
      from_product = to_product = 1;
      out_bounds[count++] = (rlo_common_factor){i, j};
    }
  }
  *out_count = count;
}

static bool dims_equal(const int64_t *a, int32_t a_rank, const int64_t *b, int32_t b_rank) {
  return a_rank == b_rank && (a_rank == 0 || memcmp(a, b, (size_t)a_rank * sizeof a[0]) == 0);
}

rlo_status rlo_common_factors(const int64_t *from, int32_t from_rank, const int64_t *to,
                              int32_t to_rank, rlo_common_factor *out_bounds, int32_t *out_count) {
  RLO_REQUIRE(out_bounds, out_count);
  RLO_REQUIRE_LIST(from, from_rank);
  RLO_REQUIRE_LIST(to, to_rank);
  int64_t from_product = 0;
  int64_t to_product = 0;
  RLO_TRY(check_dims(from, from_rank, &from_product));
  RLO_TRY(check_dims(to, to_rank, &to_product));
  RLO_FAIL_IF(from_product != to_product, RLO_INVALID_ARGUMENT,
              "the sizes make %lld elements on one side and %lld on the other",
              (long long)from_product, (long long)to_product);
  if (from_product > 0) {
    cut(from, from_rank, to, to_rank, out_bounds, out_count);
    return RLO_OK;
  }
  /* The products are 0: only equal lists have finer groups. */
  bool is_equal = dims_equal(from, from_rank, to, to_rank);
  out_bounds[0] = (rlo_common_factor){0, 0};
  *out_count = 1;
  for (int32_t k = is_equal ? 1 : from_rank; k <= from_rank; ++k) {
    out_bounds[(*out_count)++] = (rlo_common_factor){k, is_equal ? k : to_rank};
  }
  return RLO_OK;
}

rlo_status rlo_reshape_unmodified_dims(const int64_t *from, int32_t from_rank, const int64_t *to,
                                       int32_t to_rank, rlo_dimension_pair *out_pairs,
                                       int32_t *out_count) {
  RLO_REQUIRE(out_pairs, out_count);
  RLO_REQUIRE_LIST(from, from_rank);
  RLO_REQUIRE_LIST(to, to_rank);
  rlo_common_factor bounds[RLO_MAX_COMMON_FACTORS];
  int32_t count = 0;
  RLO_TRY(rlo_common_factors(from, from_rank, to, to_rank, bounds, &count));
  *out_count = 0;
  for (int32_t b = 1; b < count; ++b) {
    rlo_common_factor start = bounds[b - 1];
    if (bounds[b].from == start.from + 1 && bounds[b].to == start.to + 1) {
      out_pairs[(*out_count)++] = (rlo_dimension_pair){start.from, start.to};
    }
  }
  return RLO_OK;
}

rlo_status rlo_reshape_leaves_dims_unmodified(const int64_t *from, int32_t from_rank,
                                              const int64_t *to, int32_t to_rank,
                                              const int32_t *dims, int32_t count,
                                              bool *out_are_kept, int32_t *out_to_dims) {
  RLO_REQUIRE(out_are_kept);
  RLO_REQUIRE_LIST(from, from_rank);
  RLO_REQUIRE_LIST(to, to_rank);
  RLO_REQUIRE_LIST(dims, count);
  RLO_REQUIRE_LIST(out_to_dims, count);
  rlo_dimension_pair pairs[RLO_MAX_RANK];
  int32_t num_pairs = 0;
  int32_t found[RLO_MAX_RANK];
  RLO_TRY(rlo_reshape_unmodified_dims(from, from_rank, to, to_rank, pairs, &num_pairs));
  bool are_kept = true;
  for (int32_t i = 0; i < count; ++i) {
    int32_t dim = 0;
    RLO_TRY(rlo__dim_find(NULL, dims[i], from_rank, &dim));
    int32_t p = 0;
    while (p < num_pairs && pairs[p].from != dim) {
      ++p;
    }
    are_kept = are_kept && p < num_pairs && i < RLO_MAX_RANK;
    if (are_kept) {
      found[i] = pairs[p].to;
    }
  }
  if (are_kept && count > 0) {
    memcpy(out_to_dims, found, (size_t)count * sizeof found[0]);
  }
  *out_are_kept = are_kept;
  return RLO_OK;
}

/* Lists the dimensions that are not kept. False unless all have size 1. */
static bool list_ones(const int64_t *dims, int32_t rank, const bool *is_kept, int32_t *out_list,
                      int32_t *out_count) {
  bool are_ones = true;
  for (int32_t k = 0; k < rank; ++k) {
    if (!is_kept[k]) {
      out_list[(*out_count)++] = k;
      are_ones = are_ones && dims[k] == 1;
    }
  }
  return are_ones;
}

rlo_status rlo_reshape_inserted_or_deleted_ones(const int64_t *from, int32_t from_rank,
                                                const int64_t *to, int32_t to_rank,
                                                rlo_reshape_ones *out_ones) {
  RLO_REQUIRE(out_ones);
  RLO_REQUIRE_LIST(from, from_rank);
  RLO_REQUIRE_LIST(to, to_rank);
  rlo_dimension_pair pairs[RLO_MAX_RANK];
  int32_t count = 0;
  RLO_TRY(rlo_reshape_unmodified_dims(from, from_rank, to, to_rank, pairs, &count));
  bool from_kept[RLO_MAX_RANK] = {false};
  bool to_kept[RLO_MAX_RANK] = {false};
  for (int32_t p = 0; p < count; ++p) {
    from_kept[pairs[p].from] = true;
    to_kept[pairs[p].to] = true;
  }
  rlo_reshape_ones ones = {0};
  ones.is_only_ones = list_ones(from, from_rank, from_kept, ones.deleted, &ones.num_deleted) &&
                      list_ones(to, to_rank, to_kept, ones.inserted, &ones.num_inserted);
  if (!ones.is_only_ones) {
    memset(&ones, 0, sizeof ones);
  }
  *out_ones = ones;
  return RLO_OK;
}

/* Dimensions of a size other than 1, in the order of the result, those of a run
 * that the operand has too as one. */
static void normalize(const rlo_shape *shape, const int32_t *permutation,
                      rlo_normalized_transpose *out) {
  int32_t first[RLO_MAX_RANK];
  /* The dimension that would continue the run. */
  int32_t next = -1;
  for (int32_t k = 0; k < shape->rank; ++k) {
    int32_t dim = permutation[k];
    if (shape->dims[dim] == 1) {
      continue;
    }
    if (dim == next) {
      out->dims[out->rank - 1] *= shape->dims[dim];
    } else {
      first[out->rank] = dim;
      out->dims[out->rank++] = shape->dims[dim];
    }
    for (next = dim + 1; next < shape->rank && shape->dims[next] == 1;) {
      ++next;
    }
  }
  for (int32_t a = 0; a < out->rank; ++a) {
    for (int32_t b = 0; b < out->rank; ++b) {
      out->permutation[a] += first[b] < first[a];
    }
  }
}

rlo_status rlo_transpose_normalize(const rlo_shape *shape, const int32_t *permutation,
                                   rlo_normalized_transpose *out_normalized) {
  RLO_REQUIRE(shape, out_normalized);
  RLO_REQUIRE_LIST(permutation, shape->rank);
  rlo_shape_extent extent;
  int32_t from[RLO_MAX_RANK];
  RLO_TRY(rlo_shape_measure(shape, &extent));
  RLO_TRY(rlo_permutation_normalize(permutation, shape->rank, from));
  RLO_FAIL_IF(!rlo_layout_is_row_major(&shape->layout, shape->rank), RLO_UNSUPPORTED,
              "only a transpose of a row-major array without padding and tiles has a normal form");
  rlo_normalized_transpose result = {0};
  if (extent.elements > 0) {
    normalize(shape, from, &result);
  }
  if (result.rank == 0) {
    result.rank = 1;
    result.dims[0] = extent.elements;
  }
  *out_normalized = result;
  return RLO_OK;
}
