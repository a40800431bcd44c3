/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

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

static rlo_status slice_dim(int32_t dim, int64_t begin, int64_t end, int64_t stride,
                            rlo__index_step *step) {
  RLO_FAIL_IF(stride == 0, RLO_INVALID_ARGUMENT, "slice: the stride of dimension %d is 0", dim);
  int64_t count = 0;
  begin = clamp(begin, step->dims[dim], stride < 0);
  end = clamp(end, step->dims[dim], stride < 0);
  if (stride > 0 && begin < end) {
    count = (end - begin - 1) / stride + 1;
  } else if (stride < 0 && begin > end) {
    /* Both are negative, so that INT64_MIN divides too. */
    count = (end - begin + 1) / stride + 1;
  }
  step->result_dims[dim] = count;
  step->rules[dim].base = begin;
  /* The stride of a single element is unused and need not fit. */
  step->rules[dim].coef = count > 1 ? stride : 1;
  return RLO_OK;
}

rlo_status rlo_chain_slice(rlo_chain *chain, const int64_t *begin, const int64_t *end,
                           const int64_t *strides) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(begin, chain->shape.rank);
  RLO_REQUIRE_LIST(end, chain->shape.rank);
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    RLO_TRY(slice_dim(k, begin[k], end[k], strides == NULL ? 1 : strides[k], &step));
  }
  return rlo__chain_append(chain, &step);
}

/* -------------------------------------------------------------------- split */

/* Finds where a part begins along a dimension of some size. */
static rlo_status find_part(int64_t size, const int64_t *sizes, int32_t count, int32_t dim,
                            int32_t part, int64_t *out_begin) {
  RLO_FAIL_IF(part < 0 || part >= count, RLO_OUT_OF_RANGE, "split: part %d of %d", part, count);
  int64_t sum = 0;
  for (int32_t n = 0; n < count; ++n) {
    *out_begin = n == part ? sum : *out_begin;
    RLO_FAIL_IF(sizes[n] < 0 || !rlo__add(sum, sizes[n], &sum), RLO_INVALID_ARGUMENT,
                "split: sizes[%d]=%lld is negative or too large", n, (long long)sizes[n]);
  }
  RLO_FAIL_IF(sum != size, RLO_INVALID_ARGUMENT,
              "split: the sizes add up to %lld, dimension %d is %lld", (long long)sum, dim,
              (long long)size);
  return RLO_OK;
}

rlo_status rlo_chain_split(rlo_chain *chain, const int64_t *sizes, int32_t count, int32_t dim,
                           int32_t part) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(sizes, count);
  RLO_TRY(rlo__dim_find("split", dim, chain->shape.rank, &dim));
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  RLO_TRY(find_part(step.dims[dim], sizes, count, dim, part, &step.rules[dim].base));
  step.result_dims[dim] = sizes[part];
  return rlo__chain_append(chain, &step);
}
