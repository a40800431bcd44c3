/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/copy/adjoint.h"
#include "engine/gradient/gradient_rules.h"
#include "engine/tensor/tensor.h"
#include "ops/chain.h"
#include "relayout/engine_ops.h"

rlo_status rlo__gradient_place(rlo_tensor *x,
                               const rlo_shape *shape,
                               rlo_tensor **out_tensor) {
  if (rlo_shape_equal(rlo_tensor_shape(x), shape)) {
    *out_tensor = rlo_tensor_retain(x);
    return RLO_OK;
  }
  return rlo_op_relayout(x, shape, out_tensor);
}

rlo_status rlo__gradient_make_plain(rlo_tensor *x, rlo_tensor **out_tensor) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  rlo_shape plain;
  RLO_TRY(rlo__ops_shape_like(shape, shape->dims, shape->rank, &plain));
  return rlo__gradient_place(x, &plain, out_tensor);
}

/* ------------------------------------------------------------ the adjoint
 * kernel */

/* The attributes of a MoveAdjoint in the making. */
typedef struct draft {
  rlo_attribute *items;
  int32_t count;
  int64_t *dims;
  int32_t num_dims;
} draft;

/* A value to pad with is a constant and has no part in the gradient. */
static bool is_linear(const char *name) {
  return strcmp(name, "value") != 0 && strcmp(name, "value_bits") != 0;
}

static rlo_status make_draft(const rlo_gradient_call *call,
                             const char *name,
                             int32_t num_arrays,
                             draft *d) {
  int32_t num_attributes =
      call->attributes != NULL ? call->attributes->count : 0;
  size_t most = 0;
  for (int32_t n = 0; n < num_arrays; ++n) {
    most += (size_t)call->input_shapes[n]->rank + 1;
  }
  d->dims = rlo__alloc_array(most, sizeof *d->dims);
  d->items = rlo__alloc_array((size_t)num_attributes + 3, sizeof *d->items);
  if (d->dims == NULL || d->items == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t n = 0; n < num_arrays; ++n) {
    const rlo_shape *shape = call->input_shapes[n];
    d->dims[d->num_dims++] = shape->rank;
    for (int32_t k = 0; k < shape->rank; ++k) {
      d->dims[d->num_dims++] = shape->dims[k];
    }
  }
  for (int32_t i = 0; i < num_attributes; ++i) {
    if (is_linear(call->attributes->items[i].name)) {
      d->items[d->count++] = call->attributes->items[i];
    }
  }
  d->items[d->count++] = rlo_attribute_string(RLO__ADJOINT_OF, name);
  d->items[d->count++] =
      rlo_attribute_i64s(RLO__ADJOINT_DIMS, d->dims, d->num_dims);
  return RLO_OK;
}

rlo_status rlo__gradient_adjoint(const rlo_gradient_call *call,
                                 const rlo__copy_op *op,
                                 rlo_tensor *const *dys,
                                 int32_t num_arrays,
                                 int32_t input,
                                 rlo_tensor **out_dx) {
  draft d = {NULL, 0, NULL, 0};
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(make_draft(call, op->name, num_arrays, &d));
  d.items[d.count++] = rlo_attribute_i64(RLO__ADJOINT_INPUT, input);
  const rlo_attributes attributes = {d.items, d.count};
  status = rlo_run_kernel(call->engine,
                          "MoveAdjoint",
                          dys,
                          call->num_outputs,
                          &attributes,
                          out_dx,
                          1,
                          NULL);
fail:
  rlo__free(d.items);
  rlo__free(d.dims);
  return status;
}

/* -------------------------------------------------------------------- moves
 */

/* The dys as the adjoint takes them: row-major and, if it adds in several
 * steps, in a type that does not round between them. */
static rlo_status prepare_dys(const rlo_gradient_call *call,
                              bool is_widened,
                              rlo_tensor **dys) {
  for (int32_t k = 0; k < call->num_outputs; ++k) {
    RLO_TRY(is_widened ? rlo_op_cast(call->dys[k], RLO_DTYPE_F32, &dys[k])
                       : rlo__gradient_make_plain(call->dys[k], &dys[k]));
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
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__gradient_adjoint(call, op, dys, num_arrays, input, &dx));
  if (rlo_tensor_shape(dx)->dtype != wanted->dtype) {
    RLO_TRY_GOTO(rlo_op_cast(dx, wanted->dtype, &narrow));
  } else {
    narrow = rlo_tensor_retain(dx);
  }
  status = rlo__gradient_place(narrow, wanted, &call->dxs[input]);
fail:
  rlo_tensor_release(dx);
  rlo_tensor_release(narrow);
  return status;
}

rlo_status rlo__gradient_of_move(rlo_gradient_call *call, void *payload) {
  const rlo__copy_op *op = payload;
  /* A value to pad with is no array that the move reads. */
  int32_t num_arrays = op->takes_value ? 1 : call->num_inputs;
  rlo_tensor **dys =
      rlo__alloc_array((size_t)call->num_outputs, sizeof(rlo_tensor *));
  if (dys == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  bool is_widened = op->reads_in_parts &&
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

/* --------------------------------------------------------- the adjoint's own
 */

/* The inputs of the forward move: what the adjoint made a gradient of becomes
 * this, all others are zeros. */
static rlo_status make_inputs(const rlo_gradient_call *call,
                              const rlo__adjoint *a,
                              rlo_tensor **inputs) {
  for (int32_t n = 0; n < a->call.num_inputs; ++n) {
    RLO_TRY(n == a->input
                ? rlo__gradient_place(call->dys[0], &a->shapes[n], &inputs[n])
                : rlo__gradient_constant(
                      call->engine, &a->shapes[n], RLO_DTYPE_ZERO, &inputs[n]));
  }
  return RLO_OK;
}

static rlo_status run_forward(const rlo_gradient_call *call,
                              const rlo__adjoint *a,
                              rlo_tensor **inputs,
                              rlo_tensor **outputs) {
  RLO_TRY(make_inputs(call, a, inputs));
  RLO_TRY(rlo_run_kernel(call->engine,
                         a->call.op->name,
                         inputs,
                         a->call.num_inputs,
                         &a->attributes,
                         outputs,
                         call->num_inputs,
                         NULL));
  for (int32_t k = 0; k < call->num_inputs; ++k) {
    call->dxs[k] = rlo_tensor_retain(outputs[k]);
  }
  return RLO_OK;
}

rlo_status rlo__gradient_of_adjoint(rlo_gradient_call *call, void *payload) {
  (void)payload;
  rlo__adjoint a;
  rlo_tensor **outputs = NULL;
  rlo_tensor **inputs = NULL;
  rlo_status status =
      rlo__adjoint_parse(call->attributes, call->input_shapes[0], &a);
  if (status != RLO_OK) {
    goto fail;
  }
  inputs = rlo__alloc_array((size_t)a.call.num_inputs, sizeof(rlo_tensor *));
  outputs = rlo__alloc_array((size_t)call->num_inputs, sizeof(rlo_tensor *));
  status = inputs == NULL || outputs == NULL
               ? RLO_OUT_OF_MEMORY
               : run_forward(call, &a, inputs, outputs);
fail:
  rlo__tensor_list_release(inputs, a.call.num_inputs);
  rlo__tensor_list_release(outputs, call->num_inputs);
  rlo__adjoint_deinit(&a);
  return status;
}
