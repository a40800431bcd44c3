/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/kernel_call.h"

#include <assert.h>

#include "base/status.h"
#include "engine/registry/registry.h"

rlo_status rlo__kernel_check_inputs(const rlo_kernel_config *config, const rlo_engine *engine,
                                    rlo_tensor *const *inputs, int32_t num_inputs) {
  for (int32_t n = 0; n < num_inputs; ++n) {
    const char *fault = rlo__tensor_fault(inputs[n], engine);
    RLO_FAIL_IF(
        fault != NULL, RLO_INVALID_ARGUMENT, "kernel '%s': %s is %s", config->kernel_name,
        rlo__input_text_of(config->input_names, config->num_input_names, num_inputs, n).text,
        fault);
  }
  return RLO_OK;
}

rlo_status rlo__kernel_call_set_count(rlo__kernel_call *k, int32_t count) {
  k->call.num_outputs = count;
  return count <= k->capacity
             ? RLO_OK
             : RLO_FAIL(RLO_OUT_OF_RANGE, "kernel '%s' has %d results; there is room for %d",
                        k->call.kernel_name, count, k->capacity);
}

rlo_status rlo_kernel_input(const rlo_kernel_call *call, const char *name, int32_t n,
                            rlo_tensor **out_tensor) {
  RLO_REQUIRE(call, name, out_tensor);
  int32_t place =
      rlo__input_place(call->input_names, call->num_input_names, call->num_inputs, name, n);
  RLO_FAIL_IF(place < 0, RLO_NOT_FOUND, "kernel '%s': the call has no input %s", call->kernel_name,
              rlo__name_text(name, n).text);
  *out_tensor = call->inputs[place];
  return RLO_OK;
}

rlo_status rlo_kernel_output(rlo_kernel_call *call, int32_t n, rlo_tensor **out_tensor) {
  RLO_REQUIRE(call, out_tensor);
  RLO_FAIL_IF(n < 0 || n >= call->num_outputs, RLO_OUT_OF_RANGE,
              "kernel '%s' has no output %d; it has %d", call->kernel_name, n, call->num_outputs);
  if (call->outputs[n] == NULL) {
    const rlo__kernel_call *k = (const rlo__kernel_call *)call;
    rlo__shared_shape *shape = rlo__shared_shape_of(call->output_shapes[n]);
    rlo__allocation *allocation = NULL;
    RLO_TRY(rlo__allocation_create(k->bound->instance, shape->bytes, shape->has_gaps, NULL,
                                   &allocation));
    RLO_TRY(rlo__tensor_create(call->engine, shape, allocation, NULL, &call->outputs[n]));
  }
  *out_tensor = call->outputs[n];
  return RLO_OK;
}

rlo_status rlo_kernel_output_host_data(rlo_kernel_call *call, int32_t n, void **out_data) {
  RLO_REQUIRE(call, out_data);
  rlo_tensor *output = NULL;
  rlo_status status = rlo_kernel_output(call, n, &output);
  if (output == NULL) {
    return status;
  }
  return rlo__allocation_host(output->allocation, out_data)
             ? RLO_OK
             : RLO_FAIL(RLO_UNSUPPORTED, "kernel '%s': backend '%s' has no host memory",
                        call->kernel_name, call->backend_name);
}

/* ---------------------------------------------------------------- recording */

static _Thread_local rlo__recorder *newest;
/* The depth of nested kernels on this thread. */
static _Thread_local int32_t depth;

void rlo__recorder_push(rlo__recorder *recorder) {
  recorder->below = newest;
  newest = recorder;
}

void rlo__recorder_pop(rlo__recorder *recorder) {
  rlo__recorder **link = &newest;
  while (*link != recorder) {
    link = &(*link)->below;
  }
  *link = recorder->below;
}

void rlo__recorder_enter(void) {
  ++depth;
}

void rlo__recorder_leave(void) {
  assert(depth > 0);
  --depth;
}

rlo_status rlo__recorder_notify(const rlo__record *record) {
  if (depth > 0) {
    return RLO_OK;
  }
  for (rlo__recorder *r = newest; r != NULL; r = r->below) {
    if (r->engine == record->call->engine) {
      RLO_TRY(r->record(r, record));
    }
  }
  return RLO_OK;
}
