/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "engine/copy/copy_ops.h"
#include "engine/tensor/attributes.h"
#include "ir/validate.h"
#include "ops/chain.h"
#include "relayout/ops.h"

static const rlo_attribute_spec cast_specs[] = {
    {"dtype", RLO_ATTRIBUTE_STRING, true},
};

static rlo_status append_cast(const rlo__copy_step *step) {
  const char *name = NULL;
  rlo_dtype dtype = RLO_DTYPE_INVALID;
  RLO_TRY(rlo_attributes_get_string(step->attributes, "dtype", &name));
  RLO_TRY(rlo_dtype_from_name(name, &dtype));
  return rlo_chain_convert(step->chain, dtype);
}

const rlo__copy_op rlo__op_cast = {
    .name = "Cast",
    RLO__COPY_INPUTS(1, 1),
    RLO__COPY_SPECS(cast_specs),
    .append = append_cast,
};

static const rlo_attribute_spec sum_specs[] = {
    {"dims", RLO_ATTRIBUTE_I64S, false},
    {"keep_dims", RLO_ATTRIBUTE_BOOL, false},
};

static rlo_status append_sum(const rlo__copy_step *step) {
  int32_t rank = rlo_chain_shape(step->chain)->rank;
  int32_t dims[RLO_MAX_RANK];
  int32_t count = rank;
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = k;
  }
  if (rlo_attributes_find(step->attributes, "dims") != NULL) {
    RLO_TRY(rlo__axes_get_once(step->attributes, "dims", rank, dims, &count));
  }
  bool keep_dims = false;
  if (rlo_attributes_find(step->attributes, "keep_dims") != NULL) {
    RLO_TRY(rlo_attributes_get_bool(step->attributes, "keep_dims", &keep_dims));
  }
  return rlo_chain_sum(step->chain, dims, count, keep_dims);
}

const rlo__copy_op rlo__op_sum = {
    .name = "Sum",
    RLO__COPY_INPUTS(1, 1),
    RLO__COPY_SPECS(sum_specs),
    .flags = RLO__COPY_STANDS_ALONE,
    .append = append_sum,
};

static rlo_status infer_add_n(const rlo__copy_call *call,
                              rlo_shape *out_shape) {
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    RLO_TRY(rlo_shape_validate(call->inputs[n]));
    if (!rlo_shape_compatible(call->inputs[0], call->inputs[n])) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "input %d has another type or other dimensions than "
                      "input 0",
                      n);
    }
  }
  return rlo_shape_make(call->inputs[0]->dtype,
                        call->inputs[0]->dims,
                        call->inputs[0]->rank,
                        out_shape);
}

static rlo_status lower_add_n(const rlo__copy_call *call,
                              const rlo_shape *dst,
                              rlo_problem_list **out_problems) {
  return rlo_add_n_lower(call->inputs, call->num_inputs, dst, out_problems);
}

const rlo__copy_op rlo__op_add_n = {
    .name = "AddN",
    RLO__COPY_INPUTS(1, -1),
    .flags = RLO__COPY_STANDS_ALONE,
    .infer = infer_add_n,
    .lower = lower_add_n,
};

static const rlo_attribute_spec scale_specs[] = {
    {"factor", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, true},
};

static rlo_status infer_scale(const rlo__copy_call *call,
                              rlo_shape *out_shape) {
  const rlo_shape *x = call->inputs[0];
  double factor = 1.0;
  RLO_TRY(rlo_shape_validate(x));
  RLO_TRY(rlo_attributes_get_f64(call->attributes, "factor", &factor));
  RLO_TRY(rlo__factor_check("factor", factor));
  return rlo_shape_make(x->dtype, x->dims, x->rank, out_shape);
}

static rlo_status add_scale(const rlo__copy_call *call,
                            const rlo_shape *dst,
                            rlo_problem *problem,
                            rlo_problem_list *problems) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  RLO_TRY(rlo_attributes_get_f64(call->attributes, "factor", &options.alpha));
  RLO_TRY(rlo_relayout_combine(call->inputs[0], dst, NULL, &options, problem));
  return rlo__problem_list_add(problems, 0, -1, problem);
}

static rlo_status lower_scale(const rlo__copy_call *call,
                              const rlo_shape *dst,
                              rlo_problem_list **out_problems) {
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  rlo_problem_list *problems = rlo__alloc(sizeof *problems);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (problem != NULL && problems != NULL) {
    status = add_scale(call, dst, problem, problems);
  }
  rlo__free(problem);
  if (status != RLO_OK) {
    rlo_problem_list_release(problems);
    return status;
  }
  *out_problems = problems;
  return RLO_OK;
}

const rlo__copy_op rlo__op_rescale = {
    .name = "Rescale",
    RLO__COPY_INPUTS(1, 1),
    RLO__COPY_SPECS(scale_specs),
    .flags = RLO__COPY_STANDS_ALONE,
    .infer = infer_scale,
    .lower = lower_scale,
};
