/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/status.h"
#include "engine/copy/copy_op.h"
#include "engine/registry/registry.h"
#include "engine/tensor/attributes.h"
#include "ir/arithmetic.h"
#include "ir/element.h"
#include "ir/validate.h"
#include "ops/chain.h"
#include "relayout/ops.h"

static rlo_status append_cast(const rlo__copy_step *step) {
  const char *name = NULL;
  rlo_dtype dtype = RLO_DTYPE_INVALID;
  RLO_TRY(rlo_attributes_get_string(step->attributes, "dtype", &name));
  RLO_TRY(rlo_dtype_from_name(name, &dtype));
  return rlo_chain_convert(step->chain, dtype);
}

static rlo_status append_sum(const rlo__copy_step *step) {
  int32_t rank = rlo_chain_shape(step->chain)->rank;
  int32_t dims[RLO_MAX_RANK];
  int32_t count = rank;
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = k;
  }
  if (rlo_attributes_find(step->attributes, "dims") != NULL) {
    RLO_TRY(rlo__axes_get(step->attributes, "dims", rank, true, dims, &count));
  }
  return rlo_chain_sum(step->chain, dims, count,
                       rlo__i64_or(step->attributes, "keep_dims", 0) != 0);
}

/* Names an input of a call in messages. */
static rlo__input_text input_text(const rlo__copy_call *call, int32_t n) {
  const rlo_kernel_config *kernel = &call->op->kernel;
  return rlo__input_text_of(kernel->input_names, kernel->num_input_names, call->num_inputs, n);
}

static rlo_status infer_same(const rlo__copy_call *call, rlo_shape *out_shape) {
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    RLO_TRY(rlo_shape_validate(call->inputs[n]));
    RLO_FAIL_IF(!rlo_shape_compatible(call->inputs[0], call->inputs[n]), RLO_INVALID_ARGUMENT,
                "%s has another type or other dimensions than %s; nothing is converted or "
                "broadcast here: Cast and BroadcastTo do that",
                input_text(call, n).text, input_text(call, 0).text);
  }
  return rlo_shape_make(call->inputs[0]->dtype, call->inputs[0]->dims, call->inputs[0]->rank,
                        out_shape);
}

rlo_status rlo_infer_elementwise(const rlo_shape *const *inputs, int32_t num_inputs,
                                 const rlo_attributes *attributes, rlo_shape *out_shapes,
                                 int32_t capacity, int32_t *out_count, void *payload) {
  static const rlo__copy_op nameless = {.name = NULL};
  rlo_shape shape;
  RLO_REQUIRE(out_count);
  RLO_REQUIRE_EACH(inputs, num_inputs);
  RLO_REQUIRE_LIST(out_shapes, capacity);
  (void)attributes;
  (void)payload;
  RLO_FAIL_IF(num_inputs < 1, RLO_INVALID_ARGUMENT, "there is no input 0 to infer the result from");
  *out_count = 1;
  return infer_same(&(rlo__copy_call){.op = &nameless, .inputs = inputs, .num_inputs = num_inputs},
                    capacity > 0 ? out_shapes : &shape);
}

static rlo_status lower_add_n(const rlo__copy_call *call, const rlo_shape *dst,
                              rlo_problem_list **out_problems) {
  return rlo_add_n_lower(call->inputs, call->num_inputs, dst, out_problems);
}

/* A factor, as numbers that a double holds: high + low, modulo 2^64 between
 * integers. */
typedef struct scale_factor {
  double high, low;
} scale_factor;

/* An integer as a factor between integers of a type: what is above the type's
 * bits has no effect. */
static scale_factor split_integer(uint64_t integer, rlo_dtype dtype) {
  if (dtype == RLO_DTYPE_PRED) {
    return (scale_factor){integer != 0 ? 1.0 : 0.0, 0.0};
  }
  /* The type's bits, with their sign. */
  int32_t unused = 64 - rlo_dtype_value_bits(dtype);
  int64_t factor = (int64_t)(integer << unused) >> unused;
  double whole = (double)factor;
  if (whole < 0x1p63 && (int64_t)whole == factor) {
    return (scale_factor){whole, 0.0};
  }
  /* Two halves of at most 53 bits. */
  int64_t low = factor % 2048;
  return (scale_factor){(double)(factor - low), (double)low};
}

/* An integer rounded once to the type that floats of this type are computed
 * in. */
static double round_integer(const rlo__attribute_number *integer, rlo_dtype dtype) {
  const rlo_arithmetic arithmetic = {.src_type = dtype, .dst_type = dtype};
  const rlo_dtype computed = rlo__arithmetic_sum_type(&arithmetic);
  uint8_t unit[16] = {0};
  double rounded;
  memcpy(unit, &integer->value, sizeof integer->value);
  rlo__arithmetic_convert(integer->type, computed, unit, unit);
  rlo__arithmetic_convert(computed, RLO_DTYPE_F64, unit, unit);
  memcpy(&rounded, unit, sizeof rounded);
  return rounded;
}

static rlo_status get_factor(const rlo_attributes *attributes, rlo_dtype dtype,
                             scale_factor *out_factor) {
  rlo__attribute_number factor;
  RLO_TRY(rlo__attribute_number_get(attributes, "factor", &factor));
  if (factor.type == RLO_DTYPE_F64) {
    *out_factor = (scale_factor){factor.value.f64, 0.0};
    return rlo__factor_check("factor", factor.value.f64);
  }
  *out_factor = rlo_dtype_is_integral(dtype) || dtype == RLO_DTYPE_PRED
                    ? split_integer(factor.value.u64, dtype)
                    : (scale_factor){round_integer(&factor, dtype), 0.0};
  return RLO_OK;
}

static rlo_status infer_scale(const rlo__copy_call *call, rlo_shape *out_shape) {
  const rlo_shape *x = call->inputs[0];
  scale_factor factor;
  RLO_TRY(rlo_shape_validate(x));
  RLO_TRY(get_factor(call->attributes, x->dtype, &factor));
  return rlo_shape_make(x->dtype, x->dims, x->rank, out_shape);
}

/* y = high * x, and then y += low * x. */
static rlo_status add_scale(const rlo__copy_call *call, const rlo_shape *dst, rlo_problem *problem,
                            rlo_problem_list *problems) {
  const rlo_shape *x = call->inputs[0];
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  scale_factor factor;
  RLO_TRY(get_factor(call->attributes, x->dtype, &factor));
  options.alpha = factor.high;
  RLO_TRY(rlo_relayout_combine(x, dst, NULL, &options, problem));
  RLO_TRY(rlo__problem_list_add(problems, 0, -1, problem));
  if (rlo__factor_equal(factor.low, 0.0)) {
    return RLO_OK;
  }
  options.alpha = factor.low;
  options.beta = 1.0;
  RLO_TRY(rlo_relayout_combine(x, dst, NULL, &options, problem));
  return rlo__problem_list_add(problems, 0, -1, problem);
}

/* The step on each element, of two inputs with the one that the cells hold. */
static rlo_status add_element(const rlo__copy_call *call, const rlo_shape *dst,
                              rlo_problem *problem, rlo_problem_list *problems) {
  const int32_t first = call->op->is_turned ? 1 : 0;
  const int32_t last = call->num_inputs - 1 - first;
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  if (last != first) {
    RLO_TRY(rlo_relayout_combine(call->inputs[first], dst, NULL, &options, problem));
    RLO_TRY(rlo__problem_list_add(problems, first, -1, problem));
  }
  options.num_steps = 1;
  options.steps[0] = call->op->step;
  if (rlo_attributes_find(call->attributes, "alpha") != NULL) {
    RLO_TRY(rlo_attributes_get_f64(call->attributes, "alpha", &options.steps[0].numbers[0]));
  }
  RLO_TRY(rlo_relayout_combine(call->inputs[last], dst, NULL, &options, problem));
  return rlo__problem_list_add(problems, last, -1, problem);
}

/* -------------------------------------------------------------------- table */

/* The fields that rows of element-wise operations share. */
#define ELEMENT(op_name, num_inputs, ...)                                   \
  .name = (op_name), RLO__COPY_INPUTS(num_inputs, num_inputs, __VA_ARGS__), \
  .flags = RLO__COPY_STANDS_ALONE, .infer = infer_same, .list = add_element

const rlo__copy_op rlo__compute_ops[] = {
    {
        .name = "Cast",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"dtype", RLO_ATTRIBUTE_STRING, true}),
        .append = append_cast,
    },
    {
        .name = "Sum",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"dims", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, false},
                        {"keep_dims", RLO_ATTRIBUTE_I64, false}),
        .flags = RLO__COPY_STANDS_ALONE,
        .append = append_sum,
    },
    {
        .name = "AddN",
        RLO__COPY_INPUTS(1, -1, "inputs"),
        .flags = RLO__COPY_STANDS_ALONE,
        .infer = infer_same,
        .lower = lower_add_n,
    },
    {
        .name = "Rescale",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"factor", RLO__ATTRIBUTE_NUMBER, true}),
        .flags = RLO__COPY_STANDS_ALONE,
        .infer = infer_scale,
        .list = add_scale,
    },
    {ELEMENT("Multiply", 2, "a", "b"), .step = {RLO_ELEMENT_MULTIPLY, {0.0}}},
    {ELEMENT("Less", 2, "a", "b"), .step = {RLO_ELEMENT_COMPARE, {1.0, 0.0}}},
    {ELEMENT("LessEqual", 2, "a", "b"), .step = {RLO_ELEMENT_COMPARE, {1.0, 1.0}}},
    {ELEMENT("Greater", 2, "a", "b"), .step = {RLO_ELEMENT_COMPARE, {1.0, 0.0}}, .is_turned = true},
    {ELEMENT("GreaterEqual", 2, "a", "b"), .step = {RLO_ELEMENT_COMPARE, {1.0, 1.0}},
     .is_turned = true},
    {ELEMENT("Equal", 2, "a", "b"), .step = {RLO_ELEMENT_COMPARE, {0.0, 1.0}}},
    {ELEMENT("Abs", 1, "x"), .step = {RLO_ELEMENT_ABS, {0.0}}},
    {ELEMENT("Step", 1, "x"),
     RLO__COPY_SPECS({"alpha", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, false}),
     .step = {RLO_ELEMENT_STEP, {0.0}}},
    {ELEMENT("Exp", 1, "x"), .step = {RLO_ELEMENT_EXP, {0.0}}},
    {ELEMENT("Tanh", 1, "x"), .step = {RLO_ELEMENT_TANH, {0.0}}},
    {.name = NULL},
};
