/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/copy/adjoint.h"
#include "engine/gradient/gradient.h"
#include "engine/tensor/attributes.h"
#include "engine/tensor/tensor_lifetime.h"
#include "ops/chain.h"
#include "relayout/engine_ops.h"
#include "relayout/kernel_names.h"

/* The gradients of the built-in kernels. Each runs kernels only, so that it has
 * a gradient itself. */

/* Returns a tensor in a layout of its dimensions: by Relayout, or itself. */
static rlo_status place(rlo_tensor *x,
                        const rlo_shape *shape,
                        rlo_tensor **out_tensor) {
  if (rlo_shape_equal(rlo_tensor_shape(x), shape)) {
    *out_tensor = rlo_tensor_retain(x);
    return RLO_OK;
  }
  return rlo_op_relayout(x, shape, out_tensor);
}

/* Makes a tensor the gradient of input n, in the input's layout; takes over the
 * reference. */
static rlo_status give(const rlo_gradient_call *call,
                       int32_t n,
                       rlo_tensor *dx) {
  rlo_status status = place(dx, call->input_shapes[n], &call->dxs[n]);
  rlo_tensor_release(dx);
  return status;
}

/* The same as place, row-major. */
static rlo_status make_plain(rlo_tensor *x, rlo_tensor **out_tensor) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  rlo_shape plain;
  RLO_TRY(rlo__ops_shape_like(shape, shape->dims, shape->rank, &plain));
  return place(x, &plain, out_tensor);
}

/* ----------------------------------------------------------------- adjoints */

/* Runs MoveAdjoint for one input of a gradient's call.
 * @param dys         row-major, one for each result.
 * @param num_arrays  the number of inputs that the operation reads as arrays.
 */
static rlo_status run_adjoint(const rlo_gradient_call *call,
                              const rlo__copy_op *op,
                              rlo_tensor *const *dys,
                              int32_t num_arrays,
                              int32_t input,
                              rlo_tensor **out_dx) {
  const rlo__copy_call forward = {
      op, call->input_shapes, num_arrays, call->attributes};
  rlo_attributes *attributes = NULL;
  RLO_TRY(rlo__adjoint_encode(&forward, input, &attributes));
  rlo_status status = rlo_run_kernel(call->engine,
                                     RLO_KERNEL_NAME_MOVE_ADJOINT,
                                     dys,
                                     call->num_outputs,
                                     attributes,
                                     out_dx,
                                     1,
                                     NULL);
  rlo__free(attributes);
  return status;
}

/* Converts the dys for the adjoint: row-major and, if that adds in several
 * steps, in a type that does not round between them. */
static rlo_status prepare_dys(const rlo_gradient_call *call,
                              bool is_widened,
                              rlo_tensor **dys) {
  for (int32_t k = 0; k < call->num_outputs; ++k) {
    RLO_TRY(is_widened ? rlo_op_cast(call->dys[k], RLO_DTYPE_F32, &dys[k])
                       : make_plain(call->dys[k], &dys[k]));
  }
  return RLO_OK;
}

static rlo_status gradient_of_input(const rlo_gradient_call *call,
                                    const rlo__copy_op *op,
                                    rlo_tensor *const *dys,
                                    int32_t num_arrays,
                                    int32_t input) {
  const rlo_shape *wanted = call->input_shapes[input];
  rlo_tensor *dx = NULL;
  rlo_tensor *narrow = NULL;
  RLO_TRY(run_adjoint(call, op, dys, num_arrays, input, &dx));
  if (rlo_tensor_shape(dx)->dtype == wanted->dtype) {
    return give(call, input, dx);
  }
  rlo_status status = rlo_op_cast(dx, wanted->dtype, &narrow);
  rlo_tensor_release(dx);
  return status == RLO_OK ? give(call, input, narrow) : status;
}

static rlo_status gradient_of_copy(rlo_gradient_call *call, void *payload) {
  const rlo__copy_op *op = payload;
  /* A value to pad with is not read as an array. */
  int32_t num_arrays =
      rlo__copy_op_has(op, RLO__COPY_TAKES_VALUE) ? 1 : call->num_inputs;
  rlo_tensor **dys =
      rlo__alloc_array((size_t)call->num_outputs, sizeof(rlo_tensor *));
  if (dys == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  bool is_widened = rlo__copy_op_has(op, RLO__COPY_READS_IN_PARTS) &&
                    rlo__gradient_is_narrow(call->input_shapes[0]->dtype);
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(prepare_dys(call, is_widened, dys));
  for (int32_t n = 0; n < num_arrays; ++n) {
    if (call->wants[n]) {
      RLO_TRY_GOTO(gradient_of_input(call, op, dys, num_arrays, n));
    }
  }
fail:
  rlo__tensor_list_release(dys, call->num_outputs);
  return status;
}

/* -------------------------------------------------------- the adjoint's own */

/* The inputs of the operation: the gradient's dy in place of the one that the
 * adjoint was for, zeros for all others. */
static rlo_status make_inputs(const rlo_gradient_call *call,
                              const rlo__adjoint *a,
                              rlo_tensor **inputs) {
  for (int32_t n = 0; n < a->call.num_inputs; ++n) {
    RLO_TRY(n == a->input
                ? place(call->dys[0], &a->shapes[n], &inputs[n])
                : rlo__gradient_constant(
                      call->engine, &a->shapes[n], RLO_DTYPE_ZERO, &inputs[n]));
  }
  return RLO_OK;
}

static rlo_status run_forward(const rlo_gradient_call *call,
                              const rlo__adjoint *a,
                              rlo_tensor **inputs) {
  RLO_TRY(make_inputs(call, a, inputs));
  /* Its results are the gradients of the dys; unwanted ones are released. */
  return rlo_run_kernel(call->engine,
                        a->call.op->name,
                        inputs,
                        a->call.num_inputs,
                        &a->attributes,
                        call->dxs,
                        call->num_inputs,
                        NULL);
}

static rlo_status gradient_of_adjoint(rlo_gradient_call *call, void *payload) {
  (void)payload;
  rlo__adjoint *a = NULL;
  RLO_TRY(rlo__adjoint_decode(call->attributes, call->input_shapes[0], &a));
  rlo_tensor **inputs =
      rlo__alloc_array((size_t)a->call.num_inputs, sizeof(rlo_tensor *));
  rlo_status status =
      inputs == NULL ? RLO_OUT_OF_MEMORY : run_forward(call, a, inputs);
  rlo__tensor_list_release(inputs, a->call.num_inputs);
  rlo__free(a);
  return status;
}

/* -------------------------------------------------------------------- rules */

/* The gradients of input 0, in any layout. */

static rlo_status of_order(const rlo_gradient_call *call,
                           const rlo__copy_op *op,
                           rlo_tensor **out_dx) {
  (void)op;
  const rlo_shape *wanted = call->input_shapes[0];
  if (rlo_shape_compatible(rlo_tensor_shape(call->dys[0]), wanted)) {
    *out_dx = rlo_tensor_retain(call->dys[0]);
    return RLO_OK;
  }
  return rlo_op_reshape(call->dys[0], wanted->dims, wanted->rank, out_dx);
}

static rlo_status of_cast(const rlo_gradient_call *call,
                          const rlo__copy_op *op,
                          rlo_tensor **out_dx) {
  (void)op;
  return rlo_op_cast(call->dys[0], call->input_shapes[0]->dtype, out_dx);
}

/* A roll by the opposite shifts, which stores every element once. */
static rlo_status of_roll(const rlo_gradient_call *call,
                          const rlo__copy_op *op,
                          rlo_tensor **out_dx) {
  (void)op;
  const rlo_shape *x = call->input_shapes[0];
  rlo_i64_list shifts;
  int32_t axes[RLO_MAX_RANK];
  int32_t count = 0;
  int64_t dims[RLO_MAX_RANK];
  int64_t back[RLO_MAX_RANK];
  RLO_TRY(rlo_attributes_get_i64s(call->attributes, "shifts", &shifts));
  RLO_TRY(
      rlo__axes_get(call->attributes, "dims", x->rank, false, axes, &count));
  for (int32_t i = 0; i < count; ++i) {
    int64_t size = x->dims[axes[i]];
    dims[i] = axes[i];
    back[i] = size > 0 ? -(shifts.values[i] % size) : 0;
  }
  return rlo_op_roll(call->dys[0], back, dims, count, out_dx);
}

/* @param factor  the attribute of Rescale, an integer to the last bit. */
static rlo_status scale(rlo_tensor *x,
                        const rlo_attribute *factor,
                        rlo_tensor **out_y) {
  const rlo_attributes attributes = {factor, 1};
  return rlo_run_kernel(
      rlo_tensor_engine(x), "Rescale", &x, 1, &attributes, out_y, 1, NULL);
}

static rlo_status of_scale(const rlo_gradient_call *call,
                           const rlo__copy_op *op,
                           rlo_tensor **out_dx) {
  (void)op;
  return scale(
      call->dys[0], rlo_attributes_find(call->attributes, "factor"), out_dx);
}

/* GatherV2 or UnsortedSegmentSum with dy for rows; the indices are saved. */
static rlo_status run_indexed(const rlo_gradient_call *call,
                              const char *kernel_name,
                              int64_t axis,
                              int64_t num_segments,
                              rlo_tensor **out_dx) {
  rlo_tensor *const inputs[] = {call->dys[0], call->saved[0]};
  const rlo_attribute items[] = {
      rlo_attribute_i64("axis", axis),
      rlo_attribute_i64("batch_dims",
                        rlo__i64_or(call->attributes, "batch_dims", 0)),
      rlo_attribute_i64("num_segments", num_segments)};
  const rlo_attributes attributes = {items, num_segments >= 0 ? 3 : 2};
  return rlo_run_kernel(
      call->engine, kernel_name, inputs, 2, &attributes, out_dx, 1, NULL);
}

static rlo_status of_gather(const rlo_gradient_call *call,
                            const rlo__copy_op *op,
                            rlo_tensor **out_dx) {
  (void)op;
  const rlo_shape *x = call->input_shapes[0];
  int32_t axis = 0;
  RLO_TRY(rlo__axis_get(call->attributes, "axis", x->rank, &axis));
  return run_indexed(call, "UnsortedSegmentSum", axis, x->dims[axis], out_dx);
}

static rlo_status of_segment_sum(const rlo_gradient_call *call,
                                 const rlo__copy_op *op,
                                 rlo_tensor **out_dx) {
  (void)op;
  return run_indexed(
      call, "GatherV2", rlo__i64_or(call->attributes, "axis", 0), -1, out_dx);
}

/* The two are inverse to each other, with zeros for what was cropped. The
 * adjoint's own problem would have a quotient on the side that is written. */
static rlo_status of_batch(const rlo_gradient_call *call,
                           const rlo__copy_op *op,
                           rlo_tensor **out_dx) {
  bool is_to_batch = strcmp(op->name, "SpaceToBatchND") == 0;
  rlo_i64_list blocks;
  rlo_i64_list edges;
  RLO_TRY(rlo_attributes_get_i64s(call->attributes, "block_shape", &blocks));
  RLO_TRY(rlo_attributes_get_i64s(
      call->attributes, is_to_batch ? "paddings" : "crops", &edges));
  const rlo_attribute items[] = {
      rlo_attribute_i64s("block_shape", blocks.values, blocks.count),
      rlo_attribute_i64s(
          is_to_batch ? "crops" : "paddings", edges.values, edges.count)};
  const rlo_attributes attributes = {items, 2};
  return rlo_run_kernel(call->engine,
                        is_to_batch ? "BatchToSpaceND" : "SpaceToBatchND",
                        call->dys,
                        1,
                        &attributes,
                        out_dx,
                        1,
                        NULL);
}

/* ------------------------------------------------------------------ padding */

/* The gradient of the value: the sum of all dy less that of the elements. */
static rlo_status add_outside(const rlo_gradient_call *call,
                              const rlo__copy_op *op,
                              rlo_tensor *dy,
                              rlo_tensor **out_sum) {
  rlo_tensor *dx = NULL;
  rlo_tensor *inside = NULL;
  rlo_tensor *parts[2] = {NULL, NULL};
  const rlo_attribute minus_one = rlo_attribute_i64("factor", -1);
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(run_adjoint(call, op, &dy, 1, 0, &dx));
  RLO_TRY_GOTO(rlo_op_sum(dy, NULL, 0, false, &parts[0]));
  RLO_TRY_GOTO(rlo_op_sum(dx, NULL, 0, false, &inside));
  RLO_TRY_GOTO(scale(inside, &minus_one, &parts[1]));
  status = rlo_op_add_n(parts, 2, out_sum);
fail:
  rlo_tensor_release(dx);
  rlo_tensor_release(inside);
  rlo_tensor_release(parts[0]);
  rlo_tensor_release(parts[1]);
  return status;
}

static rlo_status gradient_of_whole_pad(rlo_gradient_call *call,
                                        void *payload) {
  const rlo__copy_op *op = payload;
  RLO_TRY(gradient_of_copy(call, payload));
  if (call->num_inputs < 2 || !call->wants[1]) {
    return RLO_OK;
  }
  const rlo_shape *wanted = call->input_shapes[1];
  rlo_tensor *dy = NULL;
  rlo_tensor *sum = NULL;
  rlo_tensor *narrow = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__gradient_is_narrow(wanted->dtype)
                   ? rlo_op_cast(call->dys[0], RLO_DTYPE_F32, &dy)
                   : make_plain(call->dys[0], &dy));
  RLO_TRY_GOTO(add_outside(call, op, dy, &sum));
  RLO_TRY_GOTO(rlo_op_cast(sum, wanted->dtype, &narrow));
  status = give(call, 1, narrow);
fail:
  rlo_tensor_release(dy);
  rlo_tensor_release(sum);
  return status;
}

/* A pad with interior values: its attributes with the negative edges set to 0,
 * and the negative edges. */
typedef struct spread_pad {
  rlo_attribute items[2];
  int64_t put[2 * RLO_MAX_RANK];
  int64_t cut[2 * RLO_MAX_RANK];
  int64_t interior[RLO_MAX_RANK];
  bool has_cuts;
} spread_pad;

/* A dimension of one element has no interior. */
static rlo_status read_spread_pad(const rlo_gradient_call *call,
                                  spread_pad *pad) {
  const rlo_shape *x = call->input_shapes[0];
  rlo_i64_list edges;
  rlo_i64_list interior;
  RLO_TRY(rlo_attributes_get_i64s(call->attributes, "paddings", &edges));
  RLO_TRY(rlo_attributes_get_i64s(call->attributes, "interior", &interior));
  if (edges.count != 2 * x->rank || interior.count != x->rank) {
    return RLO_FAIL(RLO_INTERNAL, "attributes of a pad that were not checked");
  }
  for (int32_t k = 0; k < edges.count; ++k) {
    int64_t edge = edges.values[k];
    pad->put[k] = edge > 0 ? edge : 0;
    pad->cut[k] = edge < 0 ? -edge : 0;
    pad->has_cuts = pad->has_cuts || edge < 0;
  }
  for (int32_t k = 0; k < x->rank; ++k) {
    pad->interior[k] = x->dims[k] > 1 ? interior.values[k] : 0;
  }
  pad->items[0] = rlo_attribute_i64s("paddings", pad->put, 2 * x->rank);
  pad->items[1] = rlo_attribute_i64s("interior", pad->interior, x->rank);
  return RLO_OK;
}

/* A pad with negative edges is one without them, then a slice: dy is padded
 * with zeros to undo the slice, and then the pad without them is
 * differentiated. The adjoint's own problem would have a quotient on the side
 * that is written. */
static rlo_status gradient_of_spread_pad(rlo_gradient_call *call,
                                         void *payload) {
  spread_pad pad = {.has_cuts = false};
  RLO_TRY(read_spread_pad(call, &pad));
  rlo_tensor *dy = rlo_tensor_retain(call->dys[0]);
  rlo_status status = RLO_OK;
  if (pad.has_cuts) {
    const rlo_attribute back =
        rlo_attribute_i64s("paddings", pad.cut, pad.items[0].count);
    const rlo_attributes attributes = {&back, 1};
    rlo_tensor_release(dy);
    dy = NULL;
    RLO_TRY_GOTO(rlo_run_kernel(
        call->engine, "PadV2", call->dys, 1, &attributes, &dy, 1, NULL));
  }
  /* A value to pad with has no part in the gradient. */
  const rlo_attributes attributes = {pad.items, 2};
  rlo_gradient_call whole = *call;
  whole.dys = &dy;
  whole.attributes = &attributes;
  status = gradient_of_whole_pad(&whole, payload);
fail:
  rlo_tensor_release(dy);
  return status;
}

static rlo_status gradient_of_pad(rlo_gradient_call *call, void *payload) {
  return rlo_attributes_find(call->attributes, "interior") != NULL
             ? gradient_of_spread_pad(call, payload)
             : gradient_of_whole_pad(call, payload);
}

/* -------------------------------------------------------------------- table */

static rlo_status gradient_of_add_n(rlo_gradient_call *call, void *payload) {
  (void)payload;
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    if (call->wants[n]) {
      RLO_TRY(place(call->dys[0], call->input_shapes[n], &call->dxs[n]));
    }
  }
  return RLO_OK;
}

/* Gradients that do not follow from the operation alone: that of input 0, or of
 * all. */
typedef struct rule {
  const char *kernel_name;
  rlo_status (*first)(const rlo_gradient_call *call,
                      const rlo__copy_op *op,
                      rlo_tensor **out_dx);
  rlo_gradient_fn all;
  /** Input 1 is one of indices, and saved. */
  bool has_indices;
} rule;

static const rule rules[] = {
    {"Identity", of_order, NULL, false},
    {"Relayout", of_order, NULL, false},
    {"Reshape", of_order, NULL, false},
    {"ExpandDims", of_order, NULL, false},
    {"Cast", of_cast, NULL, false},
    {"Rescale", of_scale, NULL, false},
    {"Roll", of_roll, NULL, false},
    {"SpaceToBatchND", of_batch, NULL, false},
    {"BatchToSpaceND", of_batch, NULL, false},
    {"GatherV2", of_gather, NULL, true},
    {"UnsortedSegmentSum", of_segment_sum, NULL, true},
    {"AddN", NULL, gradient_of_add_n, false},
    {"PadV2", NULL, gradient_of_pad, false},
    {"MoveAdjoint", NULL, gradient_of_adjoint, false},
    /* All others. */
    {NULL, NULL, gradient_of_copy, false},
};

static const rule *find_rule(const char *kernel_name) {
  const rule *found = rules;
  while (found->kernel_name != NULL &&
         strcmp(found->kernel_name, kernel_name) != 0) {
    ++found;
  }
  return found;
}

/* Runs a rule for input 0. Indices are not differentiable: their gradient is 0.
 */
static rlo_status gradient_of_first(rlo_gradient_call *call, void *payload) {
  const rlo__copy_op *op = payload;
  const rule *own = find_rule(op->name);
  rlo_tensor *dx = NULL;
  if (own->has_indices && call->wants[1]) {
    RLO_TRY(rlo__gradient_constant(
        call->engine, call->input_shapes[1], RLO_DTYPE_ZERO, &dx));
    RLO_TRY(give(call, 1, dx));
  }
  if (!call->wants[0]) {
    return RLO_OK;
  }
  RLO_TRY(own->first(call, op, &dx));
  return give(call, 0, dx);
}

rlo_gradient_config rlo__gradient_of_op(const rlo__copy_op *op) {
  const rule *own = find_rule(op->name);
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  config.kernel_name = op->name;
  config.run = own->all != NULL ? own->all : gradient_of_first;
  config.saved_inputs = own->has_indices ? 2 : 0;
  /* Never written through. */
  config.payload = (void *)(uintptr_t)op;
  return config;
}
