/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

const char *rlo__ops_array_text(const char *name, int32_t number, rlo__array_text *out_text) {
  rlo__str str = rlo__str_over(out_text->text, sizeof out_text->text);
  if (name == NULL) {
    rlo__str_printf(&str, "array %d", number);
  } else {
    rlo__str_printf(&str, "input '%s[%d]'", name, number);
  }
  return out_text->text;
}

/* Tells if an array can follow the first one along a dimension. */
static rlo_status check_next(const rlo_shape *first, const rlo_shape *next, int32_t number,
                             int32_t dim, const char *name) {
  rlo__array_text texts[2];
  RLO_FAIL_IF(next->dtype != first->dtype || next->rank != first->rank ||
                  next->layout.element_size_bits != first->layout.element_size_bits,
              RLO_INVALID_ARGUMENT,
              "concatenate: %s is of %s and rank %d, %s of %s and rank %d; they and the element "
              "size must be equal",
              rlo__ops_array_text(name, number, &texts[0]), rlo_dtype_name(next->dtype), next->rank,
              rlo__ops_array_text(name, 0, &texts[1]), rlo_dtype_name(first->dtype), first->rank);
  for (int32_t k = 0; k < first->rank; ++k) {
    RLO_FAIL_IF(
        k != dim && next->dims[k] != first->dims[k], RLO_INVALID_ARGUMENT,
        "concatenate: dimension %d of %s is %lld, of %s it is %lld; only dimension %d may differ",
        k, rlo__ops_array_text(name, number, &texts[0]), (long long)next->dims[k],
        rlo__ops_array_text(name, 0, &texts[1]), (long long)first->dims[k], dim);
  }
  return RLO_OK;
}

/* The box of an array of so many elements at index `offset` of the result. */
static rlo__index_rule box_at(int32_t dim, int64_t offset, int64_t size) {
  return (rlo__index_rule){.from = dim, .coef = 1, .base = -offset, .count = size};
}

static rlo_status append_all(rlo_chain *chain, const rlo_chain *const *others, int32_t count,
                             int32_t dim, const char *name) {
  rlo__array_text text;
  int64_t end = chain->shape.dims[dim];
  RLO_TRY(rlo__chain_append_box(chain, 0, end, box_at(dim, 0, end)));
  for (int32_t n = 0; n < count; ++n) {
    const rlo_shape *next = &others[n]->shape;
    RLO_TRY(check_next(&chain->shape, next, n + 1, dim, name));
    int64_t size = next->dims[dim];
    RLO_TRY(rlo__chain_add_box(chain, others[n], false, size, box_at(dim, end, size)));
    RLO_FAIL_IF(!rlo__add(end, size, &end), RLO_OVERFLOW,
                "concatenate: dimension %d exceeds 64 bits at %s", dim,
                rlo__ops_array_text(name, n + 1, &text));
  }
  return rlo__chain_set_size(chain, dim, end);
}

rlo_status rlo__chain_concatenate(rlo_chain *chain, const rlo_chain *const *others, int32_t count,
                                  int32_t dim, const char *name) {
  RLO_FAIL_IF(count < 0, RLO_INVALID_ARGUMENT, "concatenate: %d other chains", count);
  RLO_TRY(rlo__dim_find("concatenate", dim, chain->shape.rank, &dim));
  rlo_chain *trial;
  RLO_TRY(rlo_chain_clone(chain, &trial));
  return rlo__chain_end_trial(chain, trial, append_all(trial, others, count, dim, name));
}

rlo_status rlo_chain_concatenate(rlo_chain *chain, const rlo_chain *const *others, int32_t count,
                                 int32_t dim) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_EACH(others, count);
  return rlo__chain_concatenate(chain, others, count, dim, NULL);
}

/* -------------------------------------------------------------------- stack */

static rlo_status check_alike(const rlo_shape *first, const rlo_shape *next, int32_t number,
                              const char *name) {
  if (!rlo_shape_compatible(first, next)) {
    rlo__array_text texts[2];
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "stack: %s has another type or other dimensions than %s",
                    rlo__ops_array_text(name, number, &texts[0]),
                    rlo__ops_array_text(name, 0, &texts[1]));
  }
  return RLO_OK;
}

/* Inserts a dimension of size 1: coordinate k was k before it, and k - 1 after
 * it. */
static rlo_status append_insertion(rlo_chain *chain, int32_t dim) {
  int64_t dims[RLO_MAX_RANK + 1];
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  dims[dim] = 1;
  for (int32_t k = 0; k < step.rank; ++k) {
    step.rules[k].from = k + (k >= dim);
    dims[k + (k >= dim)] = step.dims[k];
  }
  RLO_TRY(rlo__step_set_dims(&step, dims, step.rank + 1));
  return rlo__chain_append(chain, &step);
}

static rlo_status stack(rlo_chain *chain, const rlo_chain *const *others, int32_t count,
                        int32_t dim, const char *name, rlo_chain **copies) {
  RLO_TRY(append_insertion(chain, dim));
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY(rlo_chain_clone(others[n], &copies[n]));
    RLO_TRY(append_insertion(copies[n], dim));
  }
  return rlo__chain_concatenate(chain, (const rlo_chain *const *)copies, count, dim, name);
}

rlo_status rlo__chain_stack(rlo_chain *chain, const rlo_chain *const *others, int32_t count,
                            int32_t dim, const char *name) {
  RLO_FAIL_IF(count < 0, RLO_INVALID_ARGUMENT, "stack: %d other chains", count);
  RLO_TRY(rlo__dim_find("stack", dim, chain->shape.rank + 1, &dim));
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY(check_alike(&chain->shape, &others[n]->shape, n + 1, name));
  }
  rlo_chain *trial;
  RLO_TRY(rlo_chain_clone(chain, &trial));
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo_chain **copies = rlo__alloc_array((size_t)count + 1, sizeof(rlo_chain *));
  if (copies != NULL) {
    status = stack(trial, others, count, dim, name, copies);
    for (int32_t n = 0; n < count; ++n) {
      rlo_chain_release(copies[n]);
    }
    rlo__free(copies);
  }
  return rlo__chain_end_trial(chain, trial, status);
}

rlo_status rlo_chain_stack(rlo_chain *chain, const rlo_chain *const *others, int32_t count,
                           int32_t dim) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_EACH(others, count);
  return rlo__chain_stack(chain, others, count, dim, NULL);
}

rlo_status rlo_chain_unstack(rlo_chain *chain, int32_t dim, int64_t index) {
  RLO_REQUIRE(chain);
  RLO_TRY(rlo__dim_find("unstack", dim, chain->shape.rank, &dim));
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  RLO_FAIL_IF(index < 0 || index >= step.dims[dim], RLO_OUT_OF_RANGE,
              "unstack: index %lld in dimension %d of size %lld", (long long)index, dim,
              (long long)step.dims[dim]);
  step.result_rank = step.rank - 1;
  for (int32_t k = dim + 1; k < step.rank; ++k) {
    step.rules[k].from = k - 1;
    step.result_dims[k - 1] = step.dims[k];
  }
  step.rules[dim].from = -1;
  step.rules[dim].base = index;
  return rlo__chain_append(chain, &step);
}
