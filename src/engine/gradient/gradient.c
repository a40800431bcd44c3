/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gradient/gradient.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"
#include "engine/tensor/tensor_lifetime.h"
#include "ops/chain.h"
#include "relayout/engine_ops.h"
#include "relayout/text.h"

/* --------------------------------------------------------- within gradients */

rlo_status rlo_gradient_saved(const rlo_gradient_call *call, const char *name, int32_t n,
                              rlo_tensor **out_tensor) {
  RLO_REQUIRE(call, name, out_tensor);
  int32_t num_named = call->saved_names != NULL ? call->num_saved : 0;
  int32_t number = 0;
  for (int32_t i = 0; i < num_named; ++i) {
    const char *saved = call->saved_names[i];
    if (saved != NULL && strcmp(saved, name) == 0 && number++ == n) {
      *out_tensor = call->saved[i];
      return RLO_OK;
    }
  }
  char text[256];
  rlo__str known = rlo__str_over(text, sizeof text);
  for (int32_t i = 0; i < num_named; ++i) {
    if (call->saved_names[i] != NULL) {
      rlo__str_printf(&known, "%s'%s'", known.length == 0 ? "" : ", ", call->saved_names[i]);
    }
  }
  return RLO_FAIL(RLO_NOT_FOUND, "the gradient of kernel '%s' has not saved %s; %s%s",
                  call->kernel_name, rlo__name_text(name, n).text,
                  known.length == 0 ? "it has saved nothing with a name" : "it has saved ",
                  rlo__str_text(&known));
}

rlo_status rlo_gradient_input(const rlo_gradient_call *call, const char *name, int32_t n,
                              int32_t *out_place) {
  RLO_REQUIRE(call, name, out_place);
  int32_t place =
      rlo__input_place(call->input_names, call->num_input_names, call->num_inputs, name, n);
  RLO_FAIL_IF(place < 0, RLO_NOT_FOUND, "the gradient of kernel '%s': the call had no input %s",
              call->kernel_name, rlo__name_text(name, n).text);
  *out_place = place;
  return RLO_OK;
}

/* ------------------------------------------------------------------ running */

rlo__shape_words rlo__shape_words_of(const rlo_shape *shape) {
  rlo__shape_words text;
  (void)rlo_shape_human_string(shape, text.text, sizeof text.text);
  return text;
}

/* The name in messages of an input of the kernel. */
static rlo__input_text input_text(const rlo_gradient_call *call, int32_t index) {
  return rlo__input_text_of(call->input_names, call->num_input_names, call->num_inputs, index);
}

static rlo_status check_dx(const rlo_gradient_call *call, int32_t index) {
  const rlo_tensor *dx = call->dxs[index];
  const rlo_shape *wanted = call->input_shapes[index];
  const char *fault = rlo__tensor_fault(dx, call->engine);
  RLO_FAIL_IF(fault != NULL, RLO_INVALID_ARGUMENT,
              "the gradient of kernel '%s': the dx of %s is %s", call->kernel_name,
              input_text(call, index).text, fault);
  RLO_FAIL_IF(!rlo_shape_compatible(rlo_tensor_shape(dx), wanted), RLO_INVALID_ARGUMENT,
              "the gradient of kernel '%s' gave %s for %s, which is %s", call->kernel_name,
              rlo__shape_words_of(rlo_tensor_shape(dx)).text, input_text(call, index).text,
              rlo__shape_words_of(wanted).text);
  return RLO_OK;
}

rlo_status rlo__gradient_run(const rlo_gradient_config *config, rlo_gradient_call *call) {
  rlo_status status = RLO__CALLBACK(config->run(call, config->payload),
                                    "the gradient of kernel '%s'", call->kernel_name);
  for (int32_t n = 0; n < call->num_inputs && status == RLO_OK; ++n) {
    if (call->wants[n]) {
      status = check_dx(call, n);
    }
  }
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    if (status != RLO_OK || !call->wants[n]) {
      rlo_tensor_release(call->dxs[n]);
      call->dxs[n] = NULL;
    }
  }
  return status;
}

rlo_status rlo__gradient_check_dy(const rlo_tensor *dy, const rlo_shape *result, const char *role,
                                  int32_t index) {
  RLO_FAIL_IF(!rlo_shape_compatible(rlo_tensor_shape(dy), result), RLO_INVALID_ARGUMENT,
              "%s %d is %s, and its result is %s; type and dimensions must be the same", role,
              index, rlo__shape_words_of(rlo_tensor_shape(dy)).text,
              rlo__shape_words_of(result).text);
  return RLO_OK;
}

rlo_status rlo__gradient_constant(rlo_engine *engine, const rlo_shape *shape,
                                  rlo_dtype_constant constant, rlo_tensor **out_tensor) {
  rlo_shape plain;
  RLO_TRY(rlo__ops_shape_like(shape, shape->dims, shape->rank, &plain));
  return rlo_tensor_create_constant(engine, &plain, constant, out_tensor);
}

/* ------------------------------------------------------------------- adding */

bool rlo__gradient_is_narrow(rlo_dtype dtype) {
  return rlo_dtype_is_floating(dtype) && rlo_dtype_value_bits(dtype) < 32;
}

static rlo_status add_wide(rlo_tensor *const *tensors, int32_t count, rlo_tensor **out_sum) {
  rlo_tensor *sum = NULL;
  rlo_tensor **wide = rlo__alloc_array((size_t)count, sizeof(rlo_tensor *));
  RLO_TRY_MEMORY(wide);
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY_GOTO(rlo_op_cast(tensors[n], RLO_DTYPE_F32, &wide[n]));
  }
  RLO_TRY_GOTO(rlo_op_add_n(wide, count, &sum));
  RLO_TRY_GOTO(rlo_op_cast(sum, tensors[0]->shape->shape.dtype, out_sum));
fail:
  rlo_tensor_release(sum);
  rlo__tensor_list_release(wide, count);
  return status;
}

rlo_status rlo__gradient_add(rlo_tensor *const *tensors, int32_t count, rlo_tensor **out_sum) {
  if (count == 1) {
    *out_sum = rlo_tensor_retain(tensors[0]);
    return RLO_OK;
  }
  return count > 2 && rlo__gradient_is_narrow(tensors[0]->shape->shape.dtype)
             ? add_wide(tensors, count, out_sum)
             : rlo_op_add_n(tensors, count, out_sum);
}
