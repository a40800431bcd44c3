/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

const char *rlo__ops_array_text(const char *name,
                                int32_t number,
                                rlo__array_text *out_text) {
  rlo__str str = rlo__str_over(out_text->text, sizeof out_text->text);
  if (name == NULL) {
    rlo__str_printf(&str, "array %d", number);
  } else {
    rlo__str_printf(&str, "input '%s[%d]'", name, number);
  }
  return out_text->text;
}

/* The size of the dimension after `next` is appended. */
static rlo_status add_one(const rlo_shape *first,
                          const rlo_shape *next,
                          int32_t number,
                          int32_t dim,
                          const char *name,
                          int64_t *size) {
  rlo__array_text texts[2];
  if (next->dtype != first->dtype || next->rank != first->rank ||
      next->layout.element_size_bits != first->layout.element_size_bits) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "concatenate: %s is of %s and rank %d, %s of %s and rank "
                    "%d; they and the element size must be equal",
                    rlo__ops_array_text(name, number, &texts[0]),
                    rlo_dtype_name(next->dtype),
                    next->rank,
                    rlo__ops_array_text(name, 0, &texts[1]),
                    rlo_dtype_name(first->dtype),
                    first->rank);
  }
  for (int32_t k = 0; k < first->rank; ++k) {
    if (k != dim && next->dims[k] != first->dims[k]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "concatenate: dimension %d of %s is %lld, of %s it is "
                      "%lld; only dimension %d may differ",
                      k,
                      rlo__ops_array_text(name, number, &texts[0]),
                      (long long)next->dims[k],
                      rlo__ops_array_text(name, 0, &texts[1]),
                      (long long)first->dims[k],
                      dim);
    }
  }
  if (!rlo__add(*size, next->dims[dim], size)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "concatenate: dimension %d exceeds 64 bits at %s",
                    dim,
                    rlo__ops_array_text(name, number, &texts[0]));
  }
  return RLO_OK;
}

static rlo_status infer(const rlo_shape *first,
                        const rlo_chain *const *others,
                        int32_t num_others,
                        int32_t dim,
                        const char *name,
                        rlo_shape *out_shape) {
  rlo_shape result = *first;
  for (int32_t n = 0; n < num_others; ++n) {
    RLO_TRY(
        add_one(first, &others[n]->shape, n + 1, dim, name, &result.dims[dim]));
  }
  return rlo__ops_shape_like(first, result.dims, first->rank, out_shape);
}

/* Places the parts from `first` on at index `offset` of the result. */
static rlo_status place_parts(rlo_chain *chain,
                              int32_t first,
                              const rlo_shape *result,
                              int32_t dim,
                              int64_t size,
                              int64_t offset) {
  rlo__index_rule rule = rlo__index_rule_keep(dim);
  rule.base = -offset;
  rule.is_bounded = true;
  rule.count = size;
  return rlo__chain_append_box(chain, first, result, dim, size, &rule);
}

static rlo_status append_all(rlo_chain *chain,
                             const rlo_chain *const *others,
                             int32_t count,
                             int32_t dim,
                             const rlo_shape *result) {
  int64_t offset = chain->shape.dims[dim];
  RLO_TRY(place_parts(chain, 0, result, dim, offset, 0));
  for (int32_t n = 0; n < count; ++n) {
    int32_t first = chain->num_parts;
    RLO_TRY(rlo__chain_take_parts(chain, others[n]));
    int64_t size = others[n]->shape.dims[dim];
    RLO_TRY(place_parts(chain, first, result, dim, size, offset));
    offset += size;
  }
  chain->shape = *result;
  return RLO_OK;
}

rlo_status rlo__chain_concatenate(rlo_chain *chain,
                                  const rlo_chain *const *others,
                                  int32_t count,
                                  int32_t dim,
                                  const char *name) {
  if (count < 0) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "concatenate: %d other chains", count);
  }
  RLO_TRY(rlo__dim_find("concatenate", dim, chain->shape.rank, &dim));
  rlo_shape result;
  rlo_chain *trial;
  RLO_TRY(infer(&chain->shape, others, count, dim, name, &result));
  RLO_TRY(rlo_chain_clone(chain, &trial));
  return rlo__chain_end_trial(
      chain, trial, append_all(trial, others, count, dim, &result));
}

rlo_status rlo_chain_concatenate(rlo_chain *chain,
                                 const rlo_chain *const *others,
                                 int32_t count,
                                 int32_t dim) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_EACH(others, count);
  return rlo__chain_concatenate(chain, others, count, dim, NULL);
}
