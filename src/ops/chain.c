/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/chain.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

static rlo_status check_rank(int32_t rank) {
  RLO_FAIL_IF(rank < 0 || rank > RLO_MAX_RANK, RLO_UNSUPPORTED,
              "the result would have rank %d; the limit is %d", rank, RLO_MAX_RANK);
  return RLO_OK;
}

rlo_status rlo__ops_shape_like(const rlo_shape *src, const int64_t *dims, int32_t rank,
                               rlo_shape *out_shape) {
  RLO_TRY(check_rank(rank));
  rlo_layout layout = rlo_layout_row_major(rank);
  layout.element_size_bits = src->layout.element_size_bits;
  return rlo_shape_make_with_layout(src->dtype, dims, rank, &layout, out_shape);
}

rlo_status rlo__ops_check_result(const char *prefix, const char *name, const rlo_shape *result,
                                 const rlo_shape *dst) {
  RLO_FAIL_IF(dst->rank != result->rank, RLO_INVALID_ARGUMENT,
              "%s%s has rank %d, the destination rank %d", prefix, name, result->rank, dst->rank);
  for (int32_t k = 0; k < dst->rank; ++k) {
    RLO_FAIL_IF(dst->dims[k] != result->dims[k], RLO_INVALID_ARGUMENT,
                "%sdimension %d of %s is %lld, of the destination %lld; they must be equal", prefix,
                k, name, (long long)result->dims[k], (long long)dst->dims[k]);
  }
  return RLO_OK;
}

void rlo__step_begin(const rlo_chain *chain, rlo__index_step *out_step) {
  memset(out_step, 0, sizeof *out_step);
  out_step->rank = out_step->result_rank = chain->shape.rank;
  memcpy(out_step->dims, chain->shape.dims, sizeof out_step->dims);
  memcpy(out_step->result_dims, out_step->dims, sizeof out_step->dims);
  for (int32_t k = 0; k < out_step->rank; ++k) {
    out_step->rules[k] = rlo__index_rule_keep(k);
  }
}

rlo_status rlo__step_set_dims(rlo__index_step *step, const int64_t *dims, int32_t rank) {
  RLO_TRY(check_rank(rank));
  step->result_rank = rank;
  for (int32_t k = 0; k < rank; ++k) {
    step->result_dims[k] = dims[k];
  }
  return RLO_OK;
}

static rlo_status reserve_step(rlo__chain_part *part) {
  if (part->num_steps < part->capacity) {
    return RLO_OK;
  }
  int32_t capacity = part->capacity == 0 ? 4 : 2 * part->capacity;
  rlo__index_step *steps =
      rlo__alloc_resize(part->steps, (size_t)part->capacity, (size_t)capacity, sizeof *steps);
  RLO_TRY_MEMORY(steps);
  part->steps = steps;
  part->capacity = capacity;
  return RLO_OK;
}

/* Appends a step to the parts from `first` on. */
static rlo_status append_from(rlo_chain *chain, int32_t first, const rlo__index_step *step) {
  for (int32_t p = first; p < chain->num_parts; ++p) {
    RLO_TRY(reserve_step(&chain->parts[p]));
  }
  for (int32_t p = first; p < chain->num_parts; ++p) {
    rlo__chain_part *part = &chain->parts[p];
    part->steps[part->num_steps] = *step;
    part->steps[part->num_steps++].id = chain->next_id;
  }
  ++chain->next_id;
  return RLO_OK;
}

rlo_status rlo__chain_append(rlo_chain *chain, const rlo__index_step *step) {
  rlo_shape result;
  RLO_TRY(rlo__ops_shape_like(&chain->shape, step->result_dims, step->result_rank, &result));
  RLO_TRY(append_from(chain, 0, step));
  chain->shape = result;
  return RLO_OK;
}

rlo_status rlo__chain_append_box(rlo_chain *chain, int32_t first, int64_t size,
                                 rlo__index_rule rule) {
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  rule.divisor = rlo__max(rule.divisor, 1);
  rule.is_bounded = true;
  step.dims[rule.from] = size;
  step.out_of_bounds = RLO__OOB_SKIP;
  step.rules[rule.from] = rule;
  return append_from(chain, first, &step);
}

rlo_status rlo__chain_set_size(rlo_chain *chain, int32_t dim, int64_t size) {
  rlo_shape before = chain->shape;
  before.dims[dim] = size;
  return rlo__ops_shape_like(&before, before.dims, before.rank, &chain->shape);
}

static rlo_status copy_part(const rlo__chain_part *part, int32_t first_operand, int64_t first_id,
                            rlo__chain_part *out) {
  out->operand = first_operand + part->operand;
  out->steps = rlo__alloc_array((size_t)part->num_steps + 1, sizeof *out->steps);
  RLO_TRY_MEMORY(out->steps);
  out->capacity = part->num_steps + 1;
  out->num_steps = part->num_steps;
  for (int32_t s = 0; s < part->num_steps; ++s) {
    out->steps[s] = part->steps[s];
    out->steps[s].id += first_id;
    out->steps[s].gather_operand += first_operand;
  }
  return RLO_OK;
}

/* Appends copies of another chain's parts; its operands are numbered from
 * `first_operand` on. */
static rlo_status copy_parts(rlo_chain *chain, const rlo_chain *other, int32_t first_operand) {
  int32_t num_parts = chain->num_parts + other->num_parts;
  RLO_FAIL_IF(num_parts > RLO_CHAIN_MAX_PARTS, RLO_UNSUPPORTED,
              "the chain would have %d parts; the limit is %d", num_parts, RLO_CHAIN_MAX_PARTS);
  rlo__chain_part *parts =
      rlo__alloc_resize(chain->parts, (size_t)chain->num_parts, (size_t)num_parts, sizeof *parts);
  RLO_TRY_MEMORY(parts);
  chain->parts = parts;
  for (int32_t p = 0; p < other->num_parts; ++p) {
    RLO_TRY(copy_part(&other->parts[p], first_operand, chain->next_id, &parts[chain->num_parts]));
    ++chain->num_parts;
  }
  chain->next_id += other->next_id;
  return RLO_OK;
}

/* Appends copies of the parts and operands of another chain. */
static rlo_status take_parts(rlo_chain *chain, const rlo_chain *other) {
  int32_t num_operands = chain->num_operands + other->num_operands;
  rlo_shape *operands = rlo__alloc_resize(chain->operands, (size_t)chain->num_operands,
                                          (size_t)num_operands, sizeof *operands);
  RLO_TRY_MEMORY(operands);
  chain->operands = operands;
  memcpy(operands + chain->num_operands, other->operands,
         (size_t)other->num_operands * sizeof *operands);
  RLO_TRY(copy_parts(chain, other, chain->num_operands));
  chain->num_operands = num_operands;
  return RLO_OK;
}

rlo_status rlo__chain_add_box(rlo_chain *chain, const rlo_chain *other, bool is_copy, int64_t size,
                              rlo__index_rule rule) {
  int32_t first = chain->num_parts;
  RLO_TRY(is_copy ? copy_parts(chain, other, 0) : take_parts(chain, other));
  return rlo__chain_append_box(chain, first, size, rule);
}

rlo_status rlo__chain_end_trial(rlo_chain *chain, rlo_chain *trial, rlo_status status) {
  if (status == RLO_OK) {
    rlo_chain saved = *chain;
    *chain = *trial;
    *trial = saved;
  }
  rlo_chain_release(trial);
  return status;
}

rlo_status rlo_chain_create(const rlo_shape *operand, rlo_chain **out_chain) {
  RLO_REQUIRE(out_chain);
  *out_chain = NULL;
  RLO_REQUIRE(operand);
  RLO_TRY(rlo_shape_validate(operand));
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo_chain *chain = rlo__alloc(sizeof *chain);
  RLO_TRY_MEMORY(chain);
  chain->operands = rlo__alloc_array(1, sizeof *chain->operands);
  chain->parts = rlo__alloc_array(1, sizeof *chain->parts);
  if (chain->operands == NULL || chain->parts == NULL) {
    goto fail;
  }
  chain->operands[0] = *operand;
  chain->num_operands = 1;
  chain->num_parts = 1;
  RLO_TRY_GOTO(rlo__ops_shape_like(operand, operand->dims, operand->rank, &chain->shape));
  *out_chain = chain;
  return RLO_OK;
fail:
  rlo_chain_release(chain);
  return status;
}

rlo_status rlo_chain_clone(const rlo_chain *chain, rlo_chain **out_chain) {
  RLO_REQUIRE(out_chain);
  *out_chain = NULL;
  RLO_REQUIRE(chain);
  rlo_chain *copy = rlo__alloc(sizeof *copy);
  RLO_TRY_MEMORY(copy);
  copy->shape = chain->shape;
  rlo_status status = take_parts(copy, chain);
  if (status != RLO_OK) {
    rlo_chain_release(copy);
    return status;
  }
  *out_chain = copy;
  return RLO_OK;
}

void rlo_chain_release(rlo_chain *chain) {
  if (chain == NULL) {
    return;
  }
  for (int32_t p = 0; chain->parts != NULL && p < chain->num_parts; ++p) {
    rlo__free(chain->parts[p].steps);
  }
  rlo__free(chain->parts);
  rlo__free(chain->operands);
  rlo__free(chain);
}

const rlo_shape *rlo_chain_shape(const rlo_chain *chain) {
  RLO_REQUIRE_OR(NULL, chain);
  return &chain->shape;
}

int32_t rlo_chain_num_operands(const rlo_chain *chain) {
  RLO_REQUIRE_OR(0, chain);
  return chain->num_operands;
}

const rlo_shape *rlo_chain_operand(const rlo_chain *chain, int32_t n) {
  RLO_REQUIRE_OR(NULL, chain);
  return n >= 0 && n < chain->num_operands ? &chain->operands[n] : NULL;
}
