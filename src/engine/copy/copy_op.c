/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/copy/copy_op.h"

#include "base/alloc.h"
#include "base/status.h"
#include "engine/registry/registry.h"
#include "engine/tensor/attributes.h"
#include "ops/chain.h"

/* Names the operation in the message of a failure. */
static rlo_status name_op(rlo_status status, const rlo__copy_op *op) {
  return rlo__status_prefix(status, "%s: ", op->name);
}

rlo_status rlo__copy_op_chain(const rlo__copy_op *op, rlo__input_chain_fn make_input, void *inputs,
                              int32_t count, const rlo_attributes *attributes, int32_t output,
                              rlo_chain **out_chain, int32_t *out_count) {
  rlo_chain **chains = rlo__alloc_array((size_t)count, sizeof(rlo_chain *));
  RLO_TRY_MEMORY(chains);
  rlo_status status = RLO_OK;
  int32_t num_results = 1;
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY_GOTO(make_input(inputs, n, &chains[n]));
  }
  RLO_TRY_GOTO(
      name_op(op->append(&(rlo__copy_step){.chain = chains[0],
                                           .others = (const rlo_chain *const *)(chains + 1),
                                           .num_others = count - 1,
                                           .attributes = attributes,
                                           .output = output,
                                           .out_count = &num_results}),
              op));
  if (out_count != NULL) {
    *out_count = num_results;
  }
  *out_chain = chains[0];
  chains[0] = NULL;
fail:
  for (int32_t n = 0; n < count; ++n) {
    rlo_chain_release(chains[n]);
  }
  rlo__free(chains);
  return status;
}

static rlo_status begin_chain(void *payload, int32_t n, rlo_chain **out_chain) {
  const rlo__copy_call *call = payload;
  return rlo_chain_create(call->inputs[n], out_chain);
}

/* Makes the chain of one result of a call. */
static rlo_status make_chain(const rlo__copy_call *call, int32_t output, rlo_chain **out_chain,
                             int32_t *out_count) {
  rlo__copy_call forward = *call;
  return rlo__copy_op_chain(call->op, begin_chain, &forward, call->num_inputs, call->attributes,
                            output, out_chain, out_count);
}

rlo_status rlo__copy_op_count(const rlo__copy_call *call, int32_t *out_count) {
  rlo_chain *chain = NULL;
  *out_count = 1;
  if (rlo__copy_op_has(call->op, RLO__COPY_HAS_RESULTS)) {
    RLO_TRY(make_chain(call, 0, &chain, out_count));
    rlo_chain_release(chain);
  }
  return RLO_OK;
}

static rlo_status make_list(const rlo__copy_call *call, const rlo_shape *dst,
                            rlo_problem_list **out_problems) {
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  rlo_problem_list *problems = rlo__alloc(sizeof *problems);
  const rlo_status status = problem == NULL || problems == NULL
                                ? RLO_OUT_OF_MEMORY
                                : call->op->list(call, dst, problem, problems);
  rlo__free(problem);
  if (status != RLO_OK) {
    rlo_problem_list_release(problems);
    return status;
  }
  *out_problems = problems;
  return RLO_OK;
}

rlo_status rlo__copy_op_lower(const rlo__copy_call *call, int32_t output, const rlo_shape *dst,
                              rlo_problem_list **out_problems, rlo_segment_sum **out_sum) {
  const rlo__copy_op *op = call->op;
  if (op->append == NULL) {
    return name_op(op->list != NULL    ? make_list(call, dst, out_problems)
                   : op->lower != NULL ? op->lower(call, dst, out_problems)
                   : out_sum != NULL   ? op->sum(call, dst, out_sum)
                                       : RLO_FAIL(RLO_UNSUPPORTED, "it is more than problems"),
                   op);
  }
  rlo_chain *chain = NULL;
  RLO_TRY(make_chain(call, output, &chain, NULL));
  rlo_status status = rlo_chain_lower(chain, dst, out_problems);
  rlo_chain_release(chain);
  return name_op(status, op);
}

rlo_status rlo__copy_op_shape(const rlo__copy_call *call, int32_t output, rlo_shape *out_shape) {
  const rlo__copy_op *op = call->op;
  if (op->append != NULL) {
    rlo_chain *chain = NULL;
    RLO_TRY(make_chain(call, output, &chain, NULL));
    *out_shape = *rlo_chain_shape(chain);
    rlo_chain_release(chain);
  } else {
    RLO_TRY(name_op(op->infer(call, out_shape), op));
  }
  return op->place != NULL ? name_op(op->place(call, out_shape), op) : RLO_OK;
}

rlo_status rlo__copy_op_check_value(const rlo__copy_op *op, const rlo_shape *array,
                                    const rlo_shape *value, const rlo_attributes *attributes) {
  RLO_TRY(rlo_shape_validate(array));
  RLO_TRY(rlo_shape_validate(value));
  RLO_FAIL_IF(value->rank != 0 || value->dtype != array->dtype, RLO_INVALID_ARGUMENT,
              "%s: input 'value' is %s of rank %d; a scalar of type %s is wanted", op->name,
              rlo_dtype_name(value->dtype), value->rank, rlo_dtype_name(array->dtype));
  RLO_FAIL_IF(rlo_attributes_find(attributes, "value") != NULL ||
                  rlo_attributes_find(attributes, "value_bits") != NULL,
              RLO_INVALID_ARGUMENT,
              "%s: the value to pad with is given twice, as input 'value' and as an attribute",
              op->name);
  return RLO_OK;
}

rlo_status rlo__copy_op_infer(const rlo_shape *const *inputs, int32_t num_inputs,
                              const rlo_attributes *attributes, rlo_shape *out_shapes,
                              int32_t capacity, int32_t *out_count, void *payload) {
  const rlo__copy_op *op = payload;
  for (int32_t n = 0; n < num_inputs; ++n) {
    rlo_status status = rlo_shape_validate(inputs[n]);
    if (status != RLO_OK) {
      return rlo__status_prefix(
          status, "%s: %s: ", op->name,
          rlo__input_text_of(op->kernel.input_names, op->kernel.num_input_names, num_inputs, n)
              .text);
    }
  }
  if (rlo__copy_op_has(op, RLO__COPY_TAKES_VALUE) && num_inputs == 2) {
    RLO_TRY(rlo__copy_op_check_value(op, inputs[0], inputs[1], attributes));
    num_inputs = 1;
  }
  const rlo__copy_call call = {op, inputs, num_inputs, attributes};
  int32_t count = 0;
  RLO_TRY(rlo__copy_op_count(&call, &count));
  for (int32_t k = 0; k < count && k < capacity; ++k) {
    RLO_TRY(rlo__copy_op_shape(&call, k, &out_shapes[k]));
  }
  *out_count = count;
  return RLO_OK;
}
