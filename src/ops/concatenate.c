/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
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
                        const rlo_shape *const *others,
                        int32_t num_others,
                        int32_t dim,
                        const char *name,
                        rlo_shape *out_shape) {
  rlo_shape result = *first;
  for (int32_t n = 0; n < num_others; ++n) {
    RLO_TRY(add_one(first, others[n], n + 1, dim, name, &result.dims[dim]));
  }
  return rlo__ops_shape_like(first, result.dims, first->rank, out_shape);
}

/* Places the parts from `first` on, which make up an array of this shape, at
 * index `offset` of the result. */
static rlo_status place_parts(rlo_chain *chain,
                              int32_t first,
                              const rlo_shape *shape,
                              const rlo_shape *result,
                              int32_t dim,
                              int64_t offset) {
  rlo__index_step step;
  rlo__step_begin(chain, result, &step);
  step.dims[dim] = shape->dims[dim];
  step.out_of_bounds = RLO__OOB_SKIP;
  step.rules[dim].base = -offset;
  step.rules[dim].is_bounded = true;
  step.rules[dim].count = shape->dims[dim];
  int64_t id = chain->next_id;
  for (int32_t p = first; p < chain->num_parts; ++p) {
    chain->next_id = id; /* one step that these parts share */
    RLO_TRY(rlo__chain_append_to_part(chain, p, &step));
  }
  return RLO_OK;
}

static rlo_status append_all(rlo_chain *chain,
                             const rlo_chain *const *others,
                             int32_t count,
                             int32_t dim,
                             const rlo_shape *result) {
  int64_t offset = chain->shape.dims[dim];
  RLO_TRY(place_parts(chain, 0, &chain->shape, result, dim, 0));
  for (int32_t n = 0; n < count; ++n) {
    int32_t first = chain->num_parts;
    RLO_TRY(rlo__chain_take_parts(chain, others[n]));
    RLO_TRY(place_parts(chain, first, &others[n]->shape, result, dim, offset));
    offset += others[n]->shape.dims[dim];
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
  const rlo_shape **shapes =
      rlo__alloc_array((size_t)count + 1, sizeof(const rlo_shape *));
  if (shapes == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t n = 0; n < count; ++n) {
    shapes[n] = &others[n]->shape;
  }
  rlo_shape result;
  rlo_status status = infer(&chain->shape, shapes, count, dim, name, &result);
  rlo__free(shapes);
  RLO_TRY(status);
  rlo_chain *trial;
  RLO_TRY(rlo_chain_clone(chain, &trial));
  status = append_all(trial, others, count, dim, &result);
  if (status == RLO_OK) {
    rlo__chain_swap(chain, trial);
  }
  rlo_chain_release(trial);
  return status;
}

rlo_status rlo_chain_concatenate(rlo_chain *chain,
                                 const rlo_chain *const *others,
                                 int32_t count,
                                 int32_t dim) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_EACH(others, count);
  return rlo__chain_concatenate(chain, others, count, dim, NULL);
}
