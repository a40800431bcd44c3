/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/gradient/gradient.h"
#include "engine/tensor/attributes.h"
#include "engine/tensor/tensor_lifetime.h"
#include "ops/chain.h"
#include "relayout/engine_ops.h"
#include "relayout/kernel_names.h"

/* The gradients of the built-in kernels. Each runs kernels only, so that it has
 * a gradient itself. */

/* Returns a tensor in a layout of its dimensions: by Relayout, or itself. */
static rlo_status place(rlo_tensor *x, const rlo_shape *shape, rlo_tensor **out_tensor) {
  if (rlo_shape_equal(rlo_tensor_shape(x), shape)) {
    *out_tensor = rlo_tensor_retain(x);
    return RLO_OK;
  }
  return rlo_op_relayout(x, shape, out_tensor);
}

/* Makes a tensor the gradient of input n, in the input's type and layout; takes
 * over the reference. */
static rlo_status give(const rlo_gradient_call *call, int32_t n, rlo_tensor *dx) {
  const rlo_shape *wanted = call->input_shapes[n];
  rlo_tensor *typed = rlo_tensor_retain(dx);
  rlo_status status = RLO_OK;
  if (rlo_tensor_shape(dx)->dtype != wanted->dtype) {
    rlo_tensor_release(typed);
    typed = NULL;
    status = rlo_op_cast(dx, wanted->dtype, &typed);
  }
  if (status == RLO_OK) {
    status = place(typed, wanted, &call->dxs[n]);
  }
  rlo_tensor_release(typed);
  rlo_tensor_release(dx);
  return status;
}

/* Runs a kernel with one result. */
static rlo_status run(const rlo_gradient_call *call, const char *kernel_name,
                      rlo_tensor *const *inputs, int32_t num_inputs, const rlo_attribute *items,
                      int32_t num_items, rlo_tensor **out_y) {
  return rlo_run_kernel(call->engine, kernel_name, inputs, num_inputs,
                        &(rlo_attributes){items, num_items}, out_y, 1, NULL);
}

/* -------------------------------------------------------- the adjoint's own */

/* The inputs of the operation: the gradient's dy in place of the one that the
 * adjoint was for, zeros for all others. */
static rlo_status make_inputs(const rlo_gradient_call *call, const rlo__adjoint *a,
                              rlo_tensor **inputs) {
  for (int32_t n = 0; n < a->call.num_inputs; ++n) {
    RLO_TRY(n == a->input
                ? place(call->dys[0], &a->shapes[n], &inputs[n])
                : rlo__gradient_constant(call->engine, &a->shapes[n], RLO_DTYPE_ZERO, &inputs[n]));
  }
  return RLO_OK;
}

static rlo_status run_forward(const rlo_gradient_call *call, const rlo__adjoint *a,
                              rlo_tensor **inputs) {
  RLO_TRY(make_inputs(call, a, inputs));
  /* Its results are the gradients of the dys; unwanted ones are released. */
  return rlo_run_kernel(call->engine, a->call.op->name, inputs, a->call.num_inputs, &a->attributes,
                        call->dxs, call->num_inputs, NULL);
}

static rlo_status gradient_of_adjoint(rlo_gradient_call *call, void *payload) {
  (void)payload;
  rlo__adjoint *a = NULL;
  RLO_TRY(rlo__adjoint_decode(call->attributes, call->input_shapes[0], &a));
  rlo_tensor **inputs = rlo__alloc_array((size_t)a->call.num_inputs, sizeof(rlo_tensor *));
  rlo_status status = inputs == NULL ? RLO_OUT_OF_MEMORY : run_forward(call, a, inputs);
  rlo__tensor_list_release(inputs, a->call.num_inputs);
  rlo__free(a);
  return status;
}

/* -------------------------------------------------------------------- rules */

/* The call whose gradient a rule makes. */
typedef struct derived {
  const rlo_gradient_call *call;
  const rlo__copy_op *op;
  /** The input, and its shape. */
  int32_t input;
  const rlo_shape *x;
} derived;

/* The gradient of an input of an operation, in any layout and any type. */
typedef rlo_status (*rule_fn)(const derived *d, rlo_tensor **out_dx);

/* The adjoint of the operation; the dys are row-major. */
static rlo_status of_copy(const derived *d, rlo_tensor **out_dx) {
  const rlo_gradient_call *call = d->call;
  const rlo__copy_call forward = {d->op, call->input_shapes, call->num_inputs, call->attributes};
  rlo_attributes *code = NULL;
  RLO_TRY(rlo__adjoint_encode(&forward, d->input, &code));
  rlo_status status = run(call, RLO_KERNEL_NAME_MOVE_ADJOINT, call->dys, call->num_outputs,
                          code->items, code->count, out_dx);
  rlo__free(code);
  return status;
}

static rlo_status of_same(const derived *d, rlo_tensor **out_dx) {
  *out_dx = rlo_tensor_retain(d->call->dys[0]);
  return RLO_OK;
}

static rlo_status of_order(const derived *d, rlo_tensor **out_dx) {
  rlo_tensor *dy = d->call->dys[0];
  return rlo_shape_compatible(rlo_tensor_shape(dy), d->x)
             ? of_same(d, out_dx)
             : rlo_op_reshape(dy, d->x->dims, d->x->rank, out_dx);
}

/* A roll by the opposite shifts, which stores every element once. */
static rlo_status of_roll(const derived *d, rlo_tensor **out_dx) {
  rlo_i64_list shifts;
  int32_t axes[RLO_MAX_RANK];
  int32_t count = 0;
  int64_t dims[RLO_MAX_RANK];
  int64_t back[RLO_MAX_RANK];
  RLO_TRY(rlo_attributes_get_i64s(d->call->attributes, "shifts", &shifts));
  RLO_TRY(rlo__axes_get(d->call->attributes, "dims", d->x->rank, false, axes, &count));
  for (int32_t i = 0; i < count; ++i) {
    int64_t size = d->x->dims[axes[i]];
    dims[i] = axes[i];
    back[i] = size > 0 ? -(shifts.values[i] % size) : 0;
  }
  return rlo_op_roll(d->call->dys[0], back, dims, count, out_dx);
}

/* The same factor, an integer to the last bit. */
static rlo_status of_scale(const derived *d, rlo_tensor **out_dx) {
  const rlo_attribute *factor = rlo_attributes_find(d->call->attributes, "factor");
  return run(d->call, d->op->name, d->call->dys, 1, factor, 1, out_dx);
}

static rlo_status of_zero(const derived *d, rlo_tensor **out_dx) {
  return rlo__gradient_constant(d->call->engine, d->x, RLO_DTYPE_ZERO, out_dx);
}

/* Times the other factor of Multiply, or the result of Exp, which is saved. */
static rlo_status of_multiply(const derived *d, rlo_tensor **out_dx) {
  const rlo_gradient_call *call = d->call;
  return rlo_op_multiply(call->dys[0], call->saved[call->num_saved - 1 - d->input], out_dx);
}

/* -1 below 0, and at 0. */
static rlo_status of_abs(const derived *d, rlo_tensor **out_dx) {
  rlo_tensor *sign = NULL;
  RLO_TRY(rlo_op_step(d->call->saved[0], -1.0, &sign));
  rlo_status status = rlo_op_multiply(d->call->dys[0], sign, out_dx);
  rlo_tensor_release(sign);
  return status;
}

/* dy - dy * y * y; the result y is saved. */
static rlo_status of_tanh(const derived *d, rlo_tensor **out_dx) {
  const rlo_attribute minus_one = rlo_attribute_i64("factor", -1);
  rlo_tensor *y = d->call->saved[0];
  rlo_tensor *t[] = {d->call->dys[0], NULL, NULL, NULL};
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo_op_multiply(t[0], y, &t[2]));
  RLO_TRY_GOTO(rlo_op_multiply(t[2], y, &t[3]));
  RLO_TRY_GOTO(run(d->call, "Rescale", &t[3], 1, &minus_one, 1, &t[1]));
  status = rlo_op_add_n(t, 2, out_dx);
fail:
  for (int32_t k = 1; k < 4; ++k) {
    rlo_tensor_release(t[k]);
  }
  return status;
}

/* dy where the condition has taken the input, and 0. */
static rlo_status of_select(const derived *d, rlo_tensor **out_dx) {
  rlo_tensor *zero = NULL;
  if (d->input == 2) {
    return of_zero(d, out_dx);
  }
  RLO_TRY(of_zero(d, &zero));
  rlo_tensor *inputs[] = {zero, zero, d->call->saved[0]};
  inputs[d->input] = d->call->dys[0];
  rlo_status status = run(d->call, d->op->name, inputs, 3, NULL, 0, out_dx);
  rlo_tensor_release(zero);
  return status;
}

/* The scales of an input of twice as many numbers: without the zero points. */
static rlo_status take_scales(rlo_tensor *numbers, rlo_tensor **out_scales) {
  const rlo_shape *shape = rlo_tensor_shape(numbers);
  static const int64_t begin[RLO_MAX_RANK];
  int64_t size[RLO_MAX_RANK];
  rlo_tensor *first = NULL;
  for (int32_t k = 0; k < shape->rank; ++k) {
    size[k] = k == 0 ? 1 : shape->dims[k];
  }
  RLO_TRY(rlo_op_slice(numbers, begin, size, &first));
  rlo_status status = rlo_op_reshape(first, size + 1, shape->rank - 1, out_scales);
  rlo_tensor_release(first);
  return status;
}

/* The same scale, and no zero point. */
static rlo_status of_dequantize(const derived *d, rlo_tensor **out_dx) {
  const rlo_gradient_call *call = d->call;
  const bool has_scales = call->num_saved > 0;
  rlo_tensor *inputs[2] = {call->dys[0], NULL};
  rlo_attribute items[2] = {
      rlo_attribute_string("dtype", rlo_dtype_name(rlo_tensor_shape(inputs[0])->dtype))};
  RLO_FAIL_IF(d->input == 1, RLO_UNSUPPORTED, "%s has no gradient for its scales", d->op->name);
  if (!has_scales) {
    items[1] = *rlo_attributes_find(call->attributes, "scale");
  } else if (rlo_tensor_shape(call->saved[0])->rank > d->x->rank) {
    RLO_TRY(take_scales(call->saved[0], &inputs[1]));
  } else {
    inputs[1] = rlo_tensor_retain(call->saved[0]);
  }
  rlo_status status =
      run(call, d->op->name, inputs, has_scales ? 2 : 1, items, has_scales ? 1 : 2, out_dx);
  rlo_tensor_release(inputs[1]);
  return status;
}

static rlo_status of_quantize(const derived *d, rlo_tensor **out_dx) {
  (void)out_dx;
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "%s has no gradient, because it is a staircase; one of yours, such as the "
                  "straight-through gradient, replaces this by RLO_GRADIENT_REPLACE",
                  d->op->name);
}

/* GatherV2 and UnsortedSegmentSum are the gradients of each other, by the same
 * indices, which are saved. Indices are not differentiable: theirs is 0. */
static rlo_status of_indexed(const derived *d, rlo_tensor **out_dx) {
  const rlo_gradient_call *call = d->call;
  bool is_gather = rlo__copy_op_has(d->op, RLO__COPY_TAKES_INDICES);
  rlo_tensor *const inputs[] = {call->dys[0], call->saved[0]};
  rlo_attribute items[] = {
      rlo_attribute_i64("axis", rlo__i64_or(call->attributes, "axis", 0)),
      rlo_attribute_i64("batch_dims", rlo__i64_or(call->attributes, "batch_dims", 0)),
      rlo_attribute_i64("num_segments", 0)};
  int32_t axis = 0;
  if (d->input == 1) {
    return of_zero(d, out_dx);
  }
  if (is_gather) {
    RLO_TRY(rlo__axis_get(call->attributes, "axis", d->x->rank, &axis));
    items[0].value.i64 = axis;
    items[2].value.i64 = d->x->dims[axis];
  }
  return run(call, is_gather ? "UnsortedSegmentSum" : "GatherV2", inputs, 2, items,
             is_gather ? 3 : 2, out_dx);
}

/* The two are inverse to each other, with zeros for what was cropped. The
 * adjoint's own problem would have a quotient on the side that is written. */
static rlo_status of_batch(const derived *d, rlo_tensor **out_dx) {
  const rlo_gradient_call *call = d->call;
  bool is_to_batch = strcmp(d->op->name, "SpaceToBatchND") == 0;
  rlo_attribute items[] = {
      *rlo_attributes_find(call->attributes, "block_shape"),
      *rlo_attributes_find(call->attributes, is_to_batch ? "paddings" : "crops")};
  items[1].name = is_to_batch ? "crops" : "paddings";
  return run(call, is_to_batch ? "BatchToSpaceND" : "SpaceToBatchND", call->dys, 1, items, 2,
             out_dx);
}

/* ------------------------------------------------------------------ padding */

/* Undoes a pad: a pad by the opposite edges takes away what was added and adds
 * zeros for what was taken away; a slice then leaves out what came in between.
 * The adjoint's own problem could have a quotient on the side that is written.
 */
static rlo_status undo_pad(const rlo_gradient_call *call, rlo_tensor *dy, rlo_tensor **out_dx) {
  static const int64_t begin[RLO_MAX_RANK];
  const rlo_shape *x = call->input_shapes[0];
  int64_t edges[2 * RLO_MAX_RANK];
  int64_t strides[RLO_MAX_RANK];
  rlo_i64_list given;
  rlo_tensor *spread = NULL;
  RLO_TRY(rlo_attributes_get_i64s(call->attributes, "paddings", &given));
  assert(given.count == 2 * x->rank);
  for (int32_t k = 0; k < given.count; ++k) {
    edges[k] = -given.values[k];
  }
  const rlo_attribute back = rlo_attribute_i64s("paddings", edges, given.count);
  if (rlo_attributes_find(call->attributes, "interior") == NULL) {
    return run(call, "PadV2", &dy, 1, &back, 1, out_dx);
  }
  RLO_TRY(rlo_attributes_get_i64s(call->attributes, "interior", &given));
  assert(given.count == x->rank);
  for (int32_t k = 0; k < given.count; ++k) {
    /* A dimension of one element has nothing in between. */
    strides[k] = x->dims[k] > 1 ? given.values[k] + 1 : 1;
  }
  RLO_TRY(run(call, "PadV2", &dy, 1, &back, 1, &spread));
  rlo_status status =
      rlo_op_strided_slice(spread, begin, rlo_tensor_shape(spread)->dims, strides, out_dx);
  rlo_tensor_release(spread);
  return status;
}

/* The gradient of the value is the sum of all dy less that of the elements. */
static rlo_status of_pad(const derived *d, rlo_tensor **out_dx) {
  enum { DY, DX, INSIDE, ALL, MINUS_INSIDE, COUNT };

  const rlo_gradient_call *call = d->call;
  const rlo_attribute minus_one = rlo_attribute_i64("factor", -1);
  rlo_tensor *t[COUNT] = {NULL};
  rlo_status status = RLO_OK;
  if (d->input == 0) {
    return undo_pad(call, call->dys[0], out_dx);
  }
  RLO_TRY_GOTO(rlo__gradient_is_narrow(d->x->dtype)
                   ? rlo_op_cast(call->dys[0], RLO_DTYPE_F32, &t[DY])
                   : of_same(d, &t[DY]));
  RLO_TRY_GOTO(undo_pad(call, t[DY], &t[DX]));
  RLO_TRY_GOTO(rlo_op_sum(t[DY], NULL, 0, false, &t[ALL]));
  RLO_TRY_GOTO(rlo_op_sum(t[DX], NULL, 0, false, &t[INSIDE]));
  RLO_TRY_GOTO(run(call, "Rescale", &t[INSIDE], 1, &minus_one, 1, &t[MINUS_INSIDE]));
  status = rlo_op_add_n(&t[ALL], 2, out_dx);
fail:
  for (int32_t k = 0; k < COUNT; ++k) {
    rlo_tensor_release(t[k]);
  }
  return status;
}

/* -------------------------------------------------------------------- table */

/* Gradients that do not follow from the operation alone. */
typedef struct rule {
  const char *kernel_name;
  rule_fn of_input;
  /** Bits of the inputs, and of the outputs, that are saved. */
  uint64_t saved_inputs;
  uint64_t saved_outputs;
} rule;

static const rule rules[] = {
    {"Identity", of_same, 0, 0},
    {"Relayout", of_same, 0, 0},
    {"Cast", of_same, 0, 0},
    {"AddN", of_same, 0, 0},
    {"Reshape", of_order, 0, 0},
    {"ExpandDims", of_order, 0, 0},
    {"Rescale", of_scale, 0, 0},
    {"Roll", of_roll, 0, 0},
    {"SpaceToBatchND", of_batch, 0, 0},
    {"BatchToSpaceND", of_batch, 0, 0},
    {"GatherV2", of_indexed, 2, 0},
    {"UnsortedSegmentSum", of_indexed, 2, 0},
    {"PadV2", of_pad, 0, 0},
    {"Multiply", of_multiply, 3, 0},
    {"Abs", of_abs, 1, 0},
    {"Step", of_zero, 0, 0},
    {"Less", of_zero, 0, 0},
    {"LessEqual", of_zero, 0, 0},
    {"Greater", of_zero, 0, 0},
    {"GreaterEqual", of_zero, 0, 0},
    {"Equal", of_zero, 0, 0},
    {"Exp", of_multiply, 0, 1},
    {"Tanh", of_tanh, 0, 1},
    {"Select", of_select, 4, 0},
    {"Quantize", of_quantize, 0, 0},
    {"Dequantize", of_dequantize, 2, 0},
    /* All others. */
    {NULL, of_copy, 0, 0},
};

static const rule *find_rule(const char *kernel_name) {
  const rule *found = rules;
  while (found->kernel_name != NULL && strcmp(found->kernel_name, kernel_name) != 0) {
    ++found;
  }
  return found;
}

static rlo_status give_wanted(const rlo_gradient_call *call, const rlo__copy_op *op,
                              rule_fn of_input) {
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    if (call->wants[n]) {
      const derived d = {call, op, n, call->input_shapes[n]};
      rlo_tensor *dx = NULL;
      RLO_TRY(of_input(&d, &dx));
      RLO_TRY(give(call, n, dx));
    }
  }
  return RLO_OK;
}

static rlo_status gradient_of_op(rlo_gradient_call *call, void *payload) {
  const rlo__copy_op *op = payload;
  return give_wanted(call, op, find_rule(op->name)->of_input);
}

/* Converts the dys for the adjoint: row-major and, if that adds in several
 * steps, in a type that does not round between them. */
static rlo_status make_plain(const rlo_gradient_call *call, bool is_widened, rlo_tensor **dys) {
  for (int32_t k = 0; k < call->num_outputs; ++k) {
    const rlo_shape *shape = rlo_tensor_shape(call->dys[k]);
    rlo_shape plain;
    RLO_TRY(rlo__ops_shape_like(shape, shape->dims, shape->rank, &plain));
    RLO_TRY(is_widened ? rlo_op_cast(call->dys[k], RLO_DTYPE_F32, &dys[k])
                       : place(call->dys[k], &plain, &dys[k]));
  }
  return RLO_OK;
}

static rlo_status gradient_of_copy(rlo_gradient_call *call, void *payload) {
  const rlo__copy_op *op = payload;
  rlo_gradient_call plain = *call;
  rlo_tensor **dys = rlo__alloc_array((size_t)call->num_outputs, sizeof(rlo_tensor *));
  RLO_TRY_MEMORY(dys);
  plain.dys = dys;
  bool is_widened = rlo__copy_op_has(op, RLO__COPY_READS_IN_PARTS) &&
                    rlo__gradient_is_narrow(call->input_shapes[0]->dtype);
  rlo_status status = make_plain(call, is_widened, dys);
  if (status == RLO_OK) {
    status = give_wanted(&plain, op, of_copy);
  }
  rlo__tensor_list_release(dys, call->num_outputs);
  return status;
}

rlo_status rlo__gradient_register_op(rlo_engine *engine, const rlo__copy_op *op) {
  const rule *own = find_rule(op->name);
  return rlo_gradient_register(
      engine,
      &(rlo_gradient_config){.struct_size = sizeof(rlo_gradient_config),
                             .kernel_name = op->name,
                             .saved_inputs = own->saved_inputs,
                             .saved_outputs = own->saved_outputs,
                             .run = strcmp(op->name, RLO_KERNEL_NAME_MOVE_ADJOINT) == 0
                                        ? gradient_of_adjoint
                                    : own->of_input == of_copy ? gradient_of_copy
                                                               : gradient_of_op,
                             /* Never written through. */
                             .payload = (void *)(uintptr_t)op},
      0, NULL);
}
