/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "engine/call/kernel_call.h"
#include "engine/gradient/gradient.h"
#include "engine/parts.h"
#include "engine/tensor/tensor.h"

/* A vector-Jacobian product under construction. */
typedef struct product {
  rlo_engine *engine;
  rlo_gradient_config config;
  /** Retained: its names are those of the inputs. */
  rlo__bound_kernel *bound;
  rlo_tensor *const *inputs;
  int32_t num_inputs;
  const rlo_attributes *attributes;
  int32_t num_outputs;
  const rlo_shape **input_shapes;
  rlo_shape *output_shapes;
  /** Retained, as are the next two. */
  rlo_tensor **dys;
  rlo_tensor **outputs;
  rlo__saved saved;
  bool *wants;
  rlo_tensor **dxs;
} product;

static rlo_status check_arguments(const rlo_engine *engine,
                                  const char *kernel_name,
                                  int32_t num_inputs,
                                  rlo_tensor *const *dys,
                                  int32_t num_dys) {
  if (num_inputs < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the gradient of kernel '%s': there are no inputs",
                    kernel_name);
  }
  if (num_dys < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the gradient of kernel '%s': there is no dy",
                    kernel_name);
  }
  for (int32_t k = 0; k < num_dys; ++k) {
    if (dys[k] != NULL) {
      RLO_TRY(rlo__tensor_check(dys[k], engine, "dy", k));
    }
  }
  return RLO_OK;
}

static rlo_status make_room(product *p, int32_t num_dys) {
  size_t inputs = (size_t)p->num_inputs;
  size_t outputs = (size_t)num_dys;
  p->input_shapes = rlo__alloc_array(inputs, sizeof(rlo_shape *));
  p->output_shapes = rlo__alloc_array(outputs, sizeof *p->output_shapes);
  p->dys = rlo__alloc_array(outputs, sizeof(rlo_tensor *));
  p->outputs = rlo__alloc_array(outputs, sizeof(rlo_tensor *));
  p->wants = rlo__alloc_array(inputs, sizeof *p->wants);
  p->dxs = rlo__alloc_array(inputs, sizeof(rlo_tensor *));
  return p->input_shapes == NULL || p->output_shapes == NULL ||
                 p->dys == NULL || p->outputs == NULL || p->wants == NULL ||
                 p->dxs == NULL
             ? RLO_OUT_OF_MEMORY
             : RLO_OK;
}

/* Reports every error of the arguments, before a kernel runs. */
static rlo_status check_dys(product *p,
                            rlo_tensor *const *dys,
                            int32_t num_dys) {
  for (int32_t n = 0; n < p->num_inputs; ++n) {
    p->input_shapes[n] = rlo_tensor_shape(p->inputs[n]);
  }
  int32_t count = 0;
  RLO_TRY(rlo_infer_kernel(p->engine,
                           p->config.kernel_name,
                           p->input_shapes,
                           p->num_inputs,
                           p->attributes,
                           p->output_shapes,
                           num_dys,
                           &count));
  if (count != num_dys) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s' has %d results, and there are %d dys",
                    p->config.kernel_name,
                    count,
                    num_dys);
  }
  p->num_outputs = count;
  for (int32_t k = 0; k < num_dys; ++k) {
    if (dys[k] != NULL) {
      RLO_TRY(rlo__gradient_check_dy(dys[k], &p->output_shapes[k], "dy", k));
    }
  }
  return RLO_OK;
}

static rlo_status collect(product *p, rlo_tensor *const *dys) {
  for (int32_t k = 0; k < p->num_outputs; ++k) {
    if (dys[k] != NULL) {
      p->dys[k] = rlo_tensor_retain(dys[k]);
    } else {
      RLO_TRY(rlo__gradient_constant(
          p->engine, &p->output_shapes[k], RLO_DTYPE_ZERO, &p->dys[k]));
    }
  }
  bool runs_kernel = rlo__gradient_saves_outputs(&p->config, &p->bound->config);
  if (runs_kernel) {
    RLO_TRY(rlo_run_kernel(p->engine,
                           p->config.kernel_name,
                           p->inputs,
                           p->num_inputs,
                           p->attributes,
                           p->outputs,
                           p->num_outputs,
                           NULL));
  }
  return rlo__gradient_save(&p->config,
                            &p->bound->config,
                            p->inputs,
                            p->num_inputs,
                            p->outputs,
                            runs_kernel ? p->num_outputs : 0,
                            &p->saved);
}

static rlo_status run(product *p) {
  rlo_gradient_call call = {.engine = p->engine,
                            .kernel_name = p->config.kernel_name,
                            .dys = p->dys,
                            .num_outputs = p->num_outputs,
                            .saved = p->saved.tensors,
                            .num_saved = p->saved.count,
                            .saved_names = p->saved.names,
                            .input_shapes = p->input_shapes,
                            .num_inputs = p->num_inputs,
                            .input_names = p->bound->config.input_names,
                            .num_input_names = p->bound->config.num_input_names,
                            .attributes = p->attributes,
                            .wants = p->wants,
                            .dxs = p->dxs};
  return rlo__gradient_run(&p->config, &call);
}

rlo_status rlo_vjp(rlo_engine *engine,
                   const char *kernel_name,
                   rlo_tensor *const *inputs,
                   int32_t num_inputs,
                   const rlo_attributes *attributes,
                   rlo_tensor *const *dys,
                   int32_t num_dys,
                   const bool *wants,
                   rlo_tensor **out_dxs) {
  RLO_REQUIRE(engine, kernel_name, inputs, dys, out_dxs);
  RLO_TRY(check_arguments(engine, kernel_name, num_inputs, dys, num_dys));
  product p = {.engine = engine,
               .inputs = inputs,
               .num_inputs = num_inputs,
               .attributes = attributes};
  if (!rlo__gradient_find(engine, kernel_name, &p.config)) {
    return rlo__gradient_fail_missing(kernel_name);
  }
  rlo_status status = RLO_OK;
  RLO_TRY(rlo__kernel_bind(engine->registry, kernel_name, &p.bound, NULL));
  rlo__scope_enter();
  RLO_TRY_GOTO(
      rlo__kernel_check_inputs(&p.bound->config, engine, inputs, num_inputs));
  RLO_TRY_GOTO(make_room(&p, num_dys));
  RLO_TRY_GOTO(check_dys(&p, dys, num_dys));
  for (int32_t n = 0; n < num_inputs; ++n) {
    p.wants[n] = wants == NULL || wants[n];
  }
  RLO_TRY_GOTO(collect(&p, dys));
  RLO_TRY_GOTO(run(&p));
  status = rlo__scope_hand_out(engine, p.dxs, num_inputs, out_dxs);
fail:
  rlo__tensor_list_release(p.dxs, num_inputs);
  rlo__tensor_list_release(p.dys, num_dys);
  rlo__tensor_list_release(p.outputs, num_dys);
  rlo__saved_deinit(&p.saved);
  rlo__free(p.wants);
  rlo__free(p.output_shapes);
  rlo__free(p.input_shapes);
  rlo__bound_kernel_release(p.bound);
  rlo__scope_leave();
  return status;
}
