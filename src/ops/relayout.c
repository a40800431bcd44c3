/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "desc/address.h"
#include "ir/lower.h"
#include "ir/problem.h"
#include "ops/combine.h"
#include "relayout/ops.h"
#include "relayout/permutation.h"

/* `out_from` is the dimension of src that each of dst is. */
static rlo_status check_pair(const rlo_shape *src, const rlo_shape *dst, const int32_t *permutation,
                             int32_t out_from[RLO_MAX_RANK]) {
  RLO_FAIL_IF(src->rank != dst->rank, RLO_INVALID_ARGUMENT,
              "source has rank %d, destination rank %d", src->rank, dst->rank);
  for (int32_t k = 0; k < src->rank; ++k) {
    out_from[k] = k;
  }
  if (permutation != NULL) {
    RLO_TRY(rlo_permutation_normalize(permutation, src->rank, out_from));
  }
  for (int32_t k = 0; k < dst->rank; ++k) {
    int32_t from = out_from[k];
    RLO_FAIL_IF(dst->dims[k] != src->dims[from], RLO_INVALID_ARGUMENT,
                "destination dimension %d is %lld, source dimension %d is %lld; they must be equal",
                k, (long long)dst->dims[k], from, (long long)src->dims[from]);
  }
  return RLO_OK;
}

/* Temporaries of a lowering, too large for a small stack. */
typedef struct workspace {
  rlo_address_map src;
  rlo_address_map dst;
  rlo_form dst_index[RLO_MAX_RANK];
  rlo_form src_index[RLO_MAX_RANK];
  rlo_problem problem;
} workspace;

static rlo_status lower(const rlo_shape *src, const rlo_shape *dst, const int32_t *from,
                        workspace *w) {
  RLO_TRY(rlo__address_make(src, &w->src));
  RLO_TRY(rlo__address_make(dst, &w->dst));
  RLO_TRY(rlo__lower_destination(dst, &w->dst, &w->problem, w->dst_index));
  for (int32_t k = 0; k < dst->rank; ++k) {
    w->src_index[from[k]] = w->dst_index[k];
  }
  return rlo__lower_source(src, &w->src, w->src_index, &w->problem);
}

static rlo_status lower_checked(const rlo_shape *src, const rlo_shape *dst,
                                const int32_t *permutation, const rlo_combine_options *options,
                                rlo_problem *out_problem) {
  int32_t from[RLO_MAX_RANK];
  RLO_TRY(check_pair(src, dst, permutation, from));
  workspace *w = rlo__alloc_unset(sizeof *w);
  RLO_TRY_MEMORY(w);
  rlo_status status = lower(src, dst, from, w);
  if (status == RLO_OK) {
    status = rlo__ops_combine(src, dst, options, w->dst_index, false, &w->problem);
  }
  if (status == RLO_OK) {
    rlo__problem_copy(&w->problem, out_problem);
  }
  rlo__free(w);
  return status;
}

static const rlo_combine_options plain = RLO_COMBINE_OPTIONS_INIT;

rlo_status rlo_relayout_lower(const rlo_shape *src, const rlo_shape *dst,
                              const int32_t *permutation, rlo_problem *out_problem) {
  RLO_REQUIRE(src, dst, out_problem);
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(rlo_shape_validate(dst));
  RLO_FAIL_IF(src->dtype != dst->dtype, RLO_INVALID_ARGUMENT,
              "source holds %s, destination %s; a relayout keeps the element type",
              rlo_dtype_name(src->dtype), rlo_dtype_name(dst->dtype));
  return lower_checked(src, dst, permutation, &plain, out_problem);
}

rlo_status rlo_relayout_combine(const rlo_shape *src, const rlo_shape *dst,
                                const int32_t *permutation, const rlo_combine_options *options,
                                rlo_problem *out_problem) {
  RLO_REQUIRE(src, dst, out_problem);
  rlo_combine_options known;
  RLO_TRY(rlo__ops_read_options(options, &known));
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(rlo_shape_validate(dst));
  return lower_checked(src, dst, permutation, &known, out_problem);
}
