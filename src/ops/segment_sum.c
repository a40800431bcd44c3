/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/segment_sum.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "desc/dimension.h"
#include "ir/form.h"
#include "ir/lower.h"
#include "ir/problem.h"
#include "ir/rewrite.h"
#include "ops/chain.h"
#include "ops/combine.h"
#include "relayout/ops.h"

static const char operation[] = "segment_sum";

static const rlo__indexed_words plain_words = {operation, "the source", "the array of ids"};

/* Finds where the dimensions of the rows begin in the source, and which dimension of
 * the result they become. A negative number counts from the end of the
 * result, so that it names what it names in a gather from there. */
static rlo_status find_dim(const rlo__indexed_words *words, const rlo_shape *src,
                           const rlo_shape *ids, int32_t number, int32_t batch_dims,
                           int32_t *out_dim) {
  int32_t row_dims = ids->rank - batch_dims;
  if (number < 0 && batch_dims >= 0 && row_dims >= 0 && row_dims <= src->rank) {
    return rlo__dim_find(words->operation, number, src->rank - row_dims + 1, out_dim);
  }
  /* The other checks name what is wrong. */
  *out_dim = number < 0 ? 0 : number;
  RLO_FAIL_IF(*out_dim > src->rank, RLO_OUT_OF_RANGE,
              "%s: rows from dimension %d on, in an array of rank %d", words->operation, number,
              src->rank);
  return RLO_OK;
}

static rlo_status check_rows(const rlo__indexed_words *words, const rlo_shape *src,
                             const rlo_shape *ids, int32_t dim, int32_t batch_dims) {
  int32_t row_dims = ids->rank - batch_dims;
  RLO_FAIL_IF(dim + row_dims > src->rank, RLO_INVALID_ARGUMENT,
              "%s: %s has %d dimensions of rows, %s of rank %d has %d from dimension %d on",
              words->operation, words->indices, row_dims, words->array, src->rank, src->rank - dim,
              dim);
  for (int32_t k = 0; k < row_dims; ++k) {
    RLO_FAIL_IF(src->dims[dim + k] != ids->dims[batch_dims + k], RLO_INVALID_ARGUMENT,
                "%s: dimension %d of %s is %lld, dimension %d of %s %lld; they must be equal",
                words->operation, dim + k, words->array, (long long)src->dims[dim + k],
                batch_dims + k, words->indices, (long long)ids->dims[batch_dims + k]);
  }
  return RLO_OK;
}

/* `*inout_dim` becomes the dimension of the segments. */
static rlo_status infer(const rlo__indexed_words *words, const rlo_shape *src, const rlo_shape *ids,
                        int32_t *inout_dim, int32_t batch_dims, int64_t num_segments,
                        rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(rlo__ops_check_addable(words->operation, src->dtype));
  RLO_TRY(rlo__ops_check_indices(words, ids));
  RLO_TRY(find_dim(words, src, ids, *inout_dim, batch_dims, inout_dim));
  const int32_t dim = *inout_dim;
  RLO_TRY(rlo__ops_check_batch(words, src, ids, dim, batch_dims));
  RLO_TRY(check_rows(words, src, ids, dim, batch_dims));
  RLO_FAIL_IF(num_segments < 0, RLO_INVALID_ARGUMENT, "%s: %lld segments", words->operation,
              (long long)num_segments);
  int32_t row_dims = ids->rank - batch_dims;
  int64_t dims[RLO_MAX_RANK + 1];
  int32_t rank = 0;
  for (int32_t k = 0; k < dim; ++k) {
    dims[rank++] = src->dims[k];
  }
  dims[rank++] = num_segments;
  for (int32_t k = dim + row_dims; k < src->rank; ++k) {
    dims[rank++] = src->dims[k];
  }
  return rlo__ops_shape_like(src, dims, rank, out_shape);
}

rlo_status rlo__segment_sum_infer(const rlo__indexed_words *words, const rlo_shape *src,
                                  const rlo_shape *ids, int32_t dim, int32_t batch_dims,
                                  int64_t num_segments, rlo_shape *out_shape) {
  return infer(words, src, ids, &dim, batch_dims, num_segments, out_shape);
}

rlo_status rlo_segment_sum_infer(const rlo_shape *src, const rlo_shape *ids, int32_t dim,
                                 int32_t batch_dims, int64_t num_segments, rlo_shape *out_shape) {
  RLO_REQUIRE(src, ids, out_shape);
  return rlo__segment_sum_infer(&plain_words, src, ids, dim, batch_dims, num_segments, out_shape);
}

/** The state of a lowering, too large for a small stack. */
typedef struct lowering {
  const rlo_shape *src;
  const rlo_shape *ids;
  const rlo_shape *dst;
  int32_t dim, batch_dims;
  rlo_segment_sum *sum;
  rlo_address_map address;
  rlo_problem cells;
  rlo_problem problem;
  rlo_form dst_index[RLO_MAX_RANK];
  rlo_form src_index[RLO_MAX_RANK];
  /** The segment of a cell over all batches, and the row that is added. */
  rlo_form segment, row;
} lowering;

static rlo_status overflow(void) {
  return RLO_FAIL(RLO_OVERFLOW, "an index of the segment sum exceeds 64 bits");
}

static rlo_status add(rlo_form *form, int64_t factor, const rlo_form *other) {
  return rlo__form_add(form, factor, other) ? RLO_OK : overflow();
}

static int32_t num_row_dims(const lowering *l) {
  return l->ids->rank - l->batch_dims;
}

static rlo_status lower_ids(lowering *l) {
  rlo__segment_ids *ids = &l->sum->ids;
  rlo_shape plain;
  RLO_TRY(rlo__ops_shape_like(l->ids, l->ids->dims, l->ids->rank, &plain));
  RLO_TRY(rlo_relayout_lower(l->ids, &plain, NULL, &ids->problem));
  ids->batch_rows = 1;
  ids->rows = 1;
  ids->batch_segments = l->dst->dims[l->dim];
  ids->segments = ids->batch_segments;
  bool fits = true;
  for (int32_t k = 0; k < l->ids->rank; ++k) {
    int64_t size = l->ids->dims[k];
    fits = fits && rlo__mul(ids->rows, size, &ids->rows);
    if (k < l->batch_dims) {
      fits = fits && rlo__mul(ids->segments, size, &ids->segments);
    } else {
      fits = fits && rlo__mul(ids->batch_rows, size, &ids->batch_rows);
    }
  }
  int64_t count;
  fits = fits && rlo__add(ids->rows, ids->segments, &count) && rlo__add(count, 1, &count);
  ids->order_bits = fits && count < rlo__thresholds.ops_order_count ? 32 : 64;
  rlo_segment_sum_sizes *sizes = &l->sum->sizes;
  sizes->order_bits = ids->order_bits;
  sizes->ids_bytes = ids->problem.src_bytes;
  fits = fits && rlo__mul(count, ids->order_bits / 8, &sizes->order_bytes);
  return fits ? RLO_OK : overflow();
}

/** Adds a term: a number of the order at a position. */
static rlo_status load_order(lowering *l, const rlo_form *position, int64_t limit, rlo_form *out) {
  rlo_problem *problem = &l->problem;
  problem->index_bits = l->sum->ids.order_bits;
  problem->index_bytes = l->sum->sizes.order_bytes;
  return rlo__lower_load_at(problem, position, limit, out);
}

/** segment = batch index, row-major, * segments of one batch + id. */
static rlo_status index_segment(lowering *l) {
  rlo_form batch = {0};
  int64_t stride = 1;
  for (int32_t k = l->batch_dims - 1; k >= 0; --k) {
    RLO_TRY(add(&batch, stride, &l->dst_index[k]));
    stride *= l->ids->dims[k]; /* the number of rows fits */
  }
  l->segment = l->dst_index[l->dim];
  return add(&l->segment, l->sum->ids.batch_segments, &batch);
}

/** Adds a reduction axis over the rows, which ends with those of the segment.
 */
static rlo_status add_rows(lowering *l) {
  rlo_problem *problem = &l->problem;
  const rlo__segment_ids *ids = &l->sum->ids;
  RLO_FAIL_IF(problem->num_axes == RLO_MAX_AXES || problem->num_guards == RLO_MAX_GUARDS,
              RLO_UNSUPPORTED, "%s: the destination needs more than %d axes or %d guards",
              operation, RLO_MAX_AXES - 1, RLO_MAX_GUARDS - 1);
  int32_t axis = problem->num_axes++;
  problem->extents[axis] = ids->batch_rows;
  rlo_form begin;
  rlo_form end;
  RLO_TRY(index_segment(l));
  RLO_TRY(load_order(l, &l->segment, ids->rows + 1, &begin));
  rlo_form position = l->segment;
  ++position.base;
  RLO_TRY(load_order(l, &position, ids->rows + 1, &end));
  position = begin;
  position.base = ids->segments + 1;
  position.axis[axis] = 1;
  RLO_TRY(load_order(l, &position, ids->batch_rows, &l->row));

  /* end - begin - 1 - i; the limit exceeds any difference of offsets. */
  RLO_TRY(add(&end, -1, &begin));
  end.base -= 1;
  end.axis[axis] = -1;
  return rlo__rewrite_add_guard(problem, "a segment sum", RLO_GUARD_SKIP, &end, ids->rows + 2);
}

/** The logical index in the source of a row of a cell. */
static rlo_status find_source(lowering *l) {
  int32_t row_dims = num_row_dims(l);
  for (int32_t k = 0; k < l->dim; ++k) {
    l->src_index[k] = l->dst_index[k];
  }
  rlo_form rest = l->row;
  for (int32_t k = row_dims - 1; k >= 0; --k) {
    int64_t size = l->ids->dims[l->batch_dims + k];
    rlo_form high = {0};
    if (k > 0) {
      RLO_TRY(rlo__lower_quotient(&l->problem, &rest, size, &high));
      RLO_TRY(add(&rest, -size, &high));
    }
    l->src_index[l->dim + k] = rest;
    rest = high;
  }
  for (int32_t k = l->dim + row_dims; k < l->src->rank; ++k) {
    l->src_index[k] = l->dst_index[k - row_dims + 1];
  }
  return RLO_OK;
}

static rlo_status emit(lowering *l) {
  return rlo__problem_list_add(l->sum->problems, 0, 1, &l->problem);
}

static rlo_status emit_fill(lowering *l, rlo_guard_kind skipped, bool is_zero) {
  static const rlo_form zero;
  rlo_problem *problem = &l->problem;
  *problem = l->cells;
  problem->num_guards = 0;
  for (int32_t g = 0; g < l->cells.num_guards; ++g) {
    if (l->cells.guards[g].kind == RLO_GUARD_SKIP || skipped == RLO_GUARD_SKIP) {
      problem->guards[problem->num_guards] = l->cells.guards[g];
      problem->guards[problem->num_guards++].kind = RLO_GUARD_SKIP;
    }
  }
  /* Never satisfied. */
  RLO_TRY(rlo__rewrite_add_guard(problem, "a segment sum", RLO_GUARD_PAD, &zero, 0));
  if (is_zero) {
    memset(problem->fill, 0, sizeof problem->fill);
  }
  return emit(l);
}

static bool is_zero_fill(const rlo_problem *cells) {
  static const uint8_t zeros[sizeof cells->fill];
  return !rlo__problem_uses_fill(cells) || memcmp(cells->fill, zeros, sizeof zeros) == 0;
}

/** Zeros, for the segments without rows, and the fill between the elements. */
static rlo_status emit_fills(lowering *l) {
  if (is_zero_fill(&l->cells)) {
    return emit_fill(l, RLO_GUARD_PAD, true);
  }
  RLO_TRY(emit_fill(l, RLO_GUARD_PAD, false));
  return emit_fill(l, RLO_GUARD_SKIP, true);
}

static rlo_status emit_sum(lowering *l) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  rlo_problem *problem = &l->problem;
  *problem = l->cells;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    problem->guards[g].kind = RLO_GUARD_SKIP;
  }
  memset(problem->fill, 0, sizeof problem->fill);
  RLO_TRY(add_rows(l));
  RLO_TRY(find_source(l));
  RLO_TRY(rlo__address_make(l->src, &l->address));
  RLO_TRY(rlo__lower_source(l->src, &l->address, l->src_index, problem));
  RLO_TRY(rlo__ops_combine(l->src, l->dst, &options, l->dst_index, true, problem));
  return emit(l);
}

static rlo_status check_destination(lowering *l) {
  rlo_shape wanted;
  RLO_TRY(rlo_shape_validate(l->dst));
  RLO_TRY(infer(&plain_words, l->src, l->ids, &l->dim, l->batch_dims, 0, &wanted));
  /* The destination says how many segments there are. */
  wanted.dims[l->dim] = l->dst->dims[l->dim];
  return rlo__ops_check_result("segment_sum: ", "the result", &wanted, l->dst);
}

static rlo_status lower(lowering *l) {
  RLO_TRY(check_destination(l));
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(l->src, &extent));
  l->sum->sizes.src_bytes = extent.physical_bytes;
  l->sum->src_bits = extent.element_bits;
  RLO_TRY(rlo_shape_measure(l->dst, &extent));
  l->sum->sizes.dst_bytes = extent.physical_bytes;
  l->sum->dst_bits = extent.element_bits;
  RLO_TRY(lower_ids(l));
  RLO_TRY(rlo__address_make(l->dst, &l->address));
  RLO_TRY(rlo__lower_destination(l->dst, &l->address, &l->cells, l->dst_index));
  if (rlo_problem_is_empty(&l->cells)) {
    return RLO_OK;
  }
  RLO_TRY(emit_fills(l));
  bool has_rows = l->sum->ids.rows > 0 && l->sum->ids.segments > 0;
  return has_rows ? emit_sum(l) : RLO_OK;
}

rlo_status rlo_segment_sum_create(const rlo_shape *src, const rlo_shape *ids, int32_t dim,
                                  int32_t batch_dims, const rlo_shape *dst,
                                  rlo_segment_sum **out_sum) {
  RLO_REQUIRE(out_sum);
  *out_sum = NULL;
  RLO_REQUIRE(src, ids, dst);
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo_segment_sum *sum = rlo__alloc(sizeof *sum);
  lowering *l = rlo__alloc(sizeof *l);
  if (sum == NULL || l == NULL) {
    goto fail;
  }
  sum->problems = rlo__alloc(sizeof *sum->problems);
  if (sum->problems == NULL) {
    goto fail;
  }
  l->src = src;
  l->ids = ids;
  l->dst = dst;
  l->dim = dim;
  l->batch_dims = batch_dims;
  l->sum = sum;
  RLO_TRY_GOTO(lower(l));
  *out_sum = sum;
  sum = NULL;
fail:
  rlo__free(l);
  rlo_segment_sum_release(sum);
  return status;
}

void rlo_segment_sum_release(rlo_segment_sum *sum) {
  if (sum == NULL) {
    return;
  }
  rlo_problem_list_release(sum->problems);
  rlo__free(sum);
}

void rlo_segment_sum_get_sizes(const rlo_segment_sum *sum, rlo_segment_sum_sizes *out_sizes) {
  if (sum == NULL || out_sizes == NULL) {
    return;
  }
  *out_sizes = sum->sizes;
}

const rlo_problem_list *rlo_segment_sum_problems(const rlo_segment_sum *sum) {
  RLO_REQUIRE_OR(NULL, sum);
  return sum->problems;
}

rlo_status rlo_segment_sum_order_host(const rlo_segment_sum *sum, const void *ids, void *order) {
  RLO_REQUIRE(sum, order);
  RLO_REQUIRE_LIST(ids, sum->sizes.ids_bytes);
  return rlo__segment_ids_order(&sum->ids, ids, order);
}

rlo_status rlo_segment_sum_run_host(const rlo_segment_sum *sum, const void *src, const void *ids,
                                    void *dst) {
  RLO_REQUIRE(sum);
  RLO_REQUIRE_LIST(src, sum->sizes.src_bytes);
  RLO_REQUIRE_LIST(ids, sum->sizes.ids_bytes);
  RLO_REQUIRE_LIST(dst, sum->sizes.dst_bytes);
  void *order = rlo__alloc_array((size_t)sum->sizes.order_bytes + 1, 1);
  RLO_TRY_MEMORY(order);
  rlo_status status = rlo_segment_sum_order_host(sum, ids, order);
  if (status == RLO_OK) {
    const void *operands[] = {src, order};
    status = rlo_problem_list_run_host(sum->problems, operands, dst);
  }
  rlo__free(order);
  return status;
}
