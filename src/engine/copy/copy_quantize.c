/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/quantize.h"

#include "base/status.h"
#include "engine/copy/copy_op.h"
#include "engine/tensor/attributes.h"
#include "ops/chain.h"
#include "relayout/kernel_names.h"

static rlo_status get_dtype(const rlo__copy_call *call, rlo_dtype *out_dtype) {
  const char *name = "f32";
  if (rlo_attributes_find(call->attributes, "dtype") != NULL) {
    RLO_TRY(rlo_attributes_get_string(call->attributes, "dtype", &name));
  }
  return rlo_dtype_from_name(name, out_dtype);
}

/* The shape of input 'scales' without the dimension that has zero points, too. */
static rlo_status read_scales(const rlo__copy_call *call, rlo_dtype dtype, rlo_shape *scales,
                              rlo_quantization *q) {
  const rlo_shape *x = call->inputs[0];
  const rlo_shape *given = call->inputs[1];
  const bool is_f64 = x->dtype == RLO_DTYPE_F64 || dtype == RLO_DTYPE_F64;
  const rlo_dtype wanted = is_f64 ? RLO_DTYPE_F64 : RLO_DTYPE_F32;
  q->has_zero_points = given->rank == x->rank + 1 && given->dims[0] == 2;
  RLO_FAIL_IF(given->dtype != wanted || (given->rank != x->rank && !q->has_zero_points),
              RLO_INVALID_ARGUMENT,
              "input 'scales' is %s of rank %d; %s of the rank of input 'x', %d, is wanted, or of "
              "one more, whose first dimension is 2: scales and zero points",
              rlo_dtype_name(given->dtype), given->rank, rlo_dtype_name(wanted), x->rank);
  RLO_TRY(rlo_shape_make(wanted, given->dims + (q->has_zero_points ? 1 : 0), x->rank, scales));
  rlo_shape plain;
  RLO_TRY(rlo_shape_make(wanted, given->dims, given->rank, &plain));
  q->scales = scales;
  return rlo_shape_equal(given, &plain)
             ? RLO_OK
             : RLO_FAIL(RLO_UNSUPPORTED, "input 'scales' is not row-major; Relayout makes it so");
}

static rlo_status read_quantization(const rlo__copy_call *call, rlo_dtype dtype, rlo_shape *scales,
                                    rlo_quantization *q) {
  const bool has_scale = rlo_attributes_find(call->attributes, "scale") != NULL;
  const bool has_zero = rlo_attributes_find(call->attributes, "zero_point") != NULL;
  RLO_FAIL_IF(
      call->num_inputs == 2 ? has_scale || has_zero : !has_scale, RLO_INVALID_ARGUMENT,
      "either the attribute 'scale', and perhaps 'zero_point', or input 'scales' is wanted");
  if (call->num_inputs == 2) {
    return read_scales(call, dtype, scales, q);
  }
  RLO_TRY(rlo_attributes_get_f64(call->attributes, "scale", &q->scale));
  return has_zero ? rlo_attributes_get_f64(call->attributes, "zero_point", &q->zero_point) : RLO_OK;
}

static rlo_status infer_typed(const rlo__copy_call *call, rlo_shape *out_shape) {
  const rlo_shape *x = call->inputs[0];
  rlo_dtype dtype;
  RLO_TRY(rlo_shape_validate(x));
  RLO_TRY(get_dtype(call, &dtype));
  return rlo_shape_make(dtype, x->dims, x->rank, out_shape);
}

static rlo_status fill_list(const rlo__copy_call *call, const rlo_shape *dst, rlo_problem *problem,
                            rlo_problem_list *problems) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  rlo_quantization q = RLO_QUANTIZATION_INIT;
  rlo_shape scales;
  RLO_TRY(read_quantization(call, dst->dtype, &scales, &q));
  RLO_TRY(call->op->step.op == RLO_ELEMENT_DIVIDE
              ? rlo_combine_options_quantize(&options, dst->dtype, &q)
              : rlo_combine_options_dequantize(&options, &q));
  RLO_TRY(rlo_relayout_combine(call->inputs[0], dst, NULL, &options, problem));
  return rlo__problem_list_add(problems, 0, call->num_inputs == 2 ? 1 : -1, problem);
}

/* -------------------------------------------------------------------- table */

#define QUANTIZATION(op_name, is_typed, step_op)                                 \
  .name = (op_name), RLO__COPY_INPUTS(1, 2, "x", "scales"),                      \
  RLO__COPY_SPECS({"dtype", RLO_ATTRIBUTE_STRING, (is_typed)},                   \
                  {"scale", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, false},       \
                  {"zero_point", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, false}), \
  .flags = RLO__COPY_STANDS_ALONE, .infer = infer_typed, .list = fill_list,      \
  .step = {(step_op), {0.0}}

const rlo__copy_op rlo__quantize_ops[] = {
    {QUANTIZATION("Quantize", true, RLO_ELEMENT_DIVIDE)},
    {QUANTIZATION("Dequantize", false, RLO_ELEMENT_SCALE)},
    {.name = NULL},
};
