/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"

/* The elements of one dimension: begin + stride * (0 .. count-1). */
typedef struct range {
  int64_t begin, stride, count;
} range;

/* Python's rule: negative positions count from the end; both are then clamped
 * to the first and the last position of a walk in this direction. */
static int64_t clamp(int64_t position, int64_t size, bool is_backwards) {
  int64_t least = is_backwards ? -1 : 0;
  int64_t most = is_backwards ? size - 1 : size;
  if (position < 0) {
    position += size; /* cannot overflow: size >= 0 */
  }
  return position < least ? least : position > most ? most : position;
}

static rlo_status find_range(int32_t dim,
                             int64_t size,
                             int64_t begin,
                             int64_t end,
                             int64_t stride,
                             range *out) {
  if (stride == 0) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "slice: the stride of dimension %d is 0", dim);
  }
  begin = clamp(begin, size, stride < 0);
  end = clamp(end, size, stride < 0);
  *out = (range){begin, stride, 0};
  if (stride > 0 && begin < end) {
    out->count = (end - begin - 1) / stride + 1;
  } else if (stride < 0 && begin > end) {
    /* Both are negative, so that INT64_MIN divides too. */
    out->count = (end - begin + 1) / stride + 1;
  }
  /* The stride of a single element is unused and need not fit. */
  out->stride = out->count > 1 ? stride : 1;
  return RLO_OK;
}

static rlo_status find_ranges(const rlo_shape *src,
                              const int64_t *begin,
                              const int64_t *end,
                              const int64_t *strides,
                              range *out,
                              rlo_shape *out_shape) {
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k < src->rank; ++k) {
    RLO_TRY(find_range(k,
                       src->dims[k],
                       begin[k],
                       end[k],
                       strides == NULL ? 1 : strides[k],
                       &out[k]));
    dims[k] = out[k].count;
  }
  return rlo__ops_shape_like(src, dims, src->rank, out_shape);
}

rlo_status rlo_chain_slice(rlo_chain *chain,
                           const int64_t *begin,
                           const int64_t *end,
                           const int64_t *strides) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(begin, chain->shape.rank);
  RLO_REQUIRE_LIST(end, chain->shape.rank);
  range ranges[RLO_MAX_RANK] = {{0}};
  rlo_shape result;
  RLO_TRY(find_ranges(&chain->shape, begin, end, strides, ranges, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    step.rules[k].base = ranges[k].begin;
    step.rules[k].coef = ranges[k].stride;
  }
  return rlo__chain_append(chain, &step, &result);
}
