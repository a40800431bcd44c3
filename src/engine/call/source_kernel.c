/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "engine/call/kernel_call.h"
#include "engine/memory/backend_instance.h"
#include "engine/registry/registry.h"
#include "ir/arithmetic.h"
#include "move/memory.h"
#include "relayout/engine_opencl.h"
#include "runtime/source_launch.h"

/* A launch under construction. */
typedef struct draft {
  const rlo_source_kernel *kernel;
  const rlo__kernel_call *call;
  /** An entry for each argument: what is passed, room for its value, and the event that the
   *  kernel waits for, borrowed. */
  rlo__source_value *values;
  uint64_t *scalars;
  cl_event *waits;
  cl_uint num_waits;
  /** The allocations of the inputs, then of the outputs. */
  rlo__allocation **allocations;
} draft;

/* Reads a payload, which may be that of an older header. */
static rlo_status read_kernel(const rlo_kernel_call *call, const rlo_source_kernel *payload,
                              rlo_source_kernel *kernel) {
  memset(kernel, 0, sizeof *kernel);
  RLO_FAIL_IF(rlo__options_read("payload", "sizeof(rlo_source_kernel)", payload, kernel,
                                sizeof *kernel) != RLO_OK ||
                  kernel->source == NULL || kernel->function == NULL || kernel->num_arguments < 0 ||
                  (kernel->num_arguments > 0 && kernel->arguments == NULL),
              RLO_INVALID_ARGUMENT, "the payload of kernel '%s' is no rlo_source_kernel",
              call->kernel_name);
  const rlo__kernel_call *k = (const rlo__kernel_call *)call;
  const rlo__place *place = rlo__backend_place(k->bound->instance);
  RLO_FAIL_IF(place == NULL || place->context == NULL, RLO_INVALID_ARGUMENT,
              "kernel '%s' is OpenCL C and backend '%s' does not run it", call->kernel_name,
              call->backend_name);
  return RLO_OK;
}

static rlo__memory *memory_of(const draft *d, int32_t index) {
  return d->allocations[index]->memory;
}

/* Sets an argument to the bytes of a value. */
static rlo_status set_value(draft *d, int32_t index, rlo__parameter_kind kind, const void *value,
                            size_t bytes) {
  memcpy(&d->scalars[index], value, bytes);
  d->values[index] = (rlo__source_value){.kind = kind, .value = &d->scalars[index], .bytes = bytes};
  return RLO_OK;
}

static int64_t count_elements(const rlo_kernel_call *call, int32_t output) {
  return rlo__shared_shape_of(call->output_shapes[output])->elements;
}

/* Tells if an argument holds the offset of an input. */
static bool knows_offset(const rlo_source_kernel *kernel, int32_t index) {
  for (int32_t n = 0; kernel->arguments != NULL && n < kernel->num_arguments; ++n) {
    if (kernel->arguments[n].kind == RLO_SOURCE_INPUT_OFFSET &&
        kernel->arguments[n].index == index) {
      return true;
    }
  }
  return false;
}

/* An argument; without a list those are the inputs, the outputs and the attributes. */
static rlo_source_argument argument_of(const draft *d, int32_t index) {
  const rlo_kernel_call *call = &d->call->call;
  const int32_t output = index - call->num_inputs;
  const int32_t attribute = output - call->num_outputs;
  if (d->kernel->arguments != NULL) {
    return d->kernel->arguments[index];
  }
  if (attribute < 0) {
    return output < 0 ? (rlo_source_argument){RLO_SOURCE_INPUT, index, NULL}
                      : (rlo_source_argument){RLO_SOURCE_OUTPUT, output, NULL};
  }
  const rlo_attribute_spec *spec = &d->call->bound->config.attributes[attribute];
  return (rlo_source_argument){
      spec->types == RLO_ATTRIBUTE_I64 ? RLO_SOURCE_LONG : RLO_SOURCE_FLOAT, 0, spec->name};
}

static rlo_status set_tensor(draft *d, const rlo_source_argument *argument, int32_t index) {
  const rlo_kernel_call *call = &d->call->call;
  bool is_output =
      argument->kind == RLO_SOURCE_OUTPUT || argument->kind == RLO_SOURCE_OUTPUT_ELEMENTS;
  int32_t limit = is_output ? call->num_outputs : call->num_inputs;
  RLO_FAIL_IF(argument->index < 0 || argument->index >= limit, RLO_INVALID_ARGUMENT,
              "kernel '%s': argument %d is for %s %d; there are %d", call->kernel_name, index,
              is_output ? "output" : "input", argument->index, limit);
  if (argument->kind == RLO_SOURCE_OUTPUT_ELEMENTS || argument->kind == RLO_SOURCE_INPUT_ELEMENTS) {
    const cl_long elements = is_output ? count_elements(call, argument->index)
                                       : call->inputs[argument->index]->shape->elements;
    return set_value(d, index, RLO__PARAMETER_LONG, &elements, sizeof elements);
  }
  const rlo__memory *memory = memory_of(d, argument->index + (is_output ? call->num_inputs : 0));
  const cl_ulong offset_bytes = memory != NULL ? (cl_ulong)memory->offset_bytes : 0;
  if (argument->kind == RLO_SOURCE_INPUT_OFFSET) {
    return set_value(d, index, RLO__PARAMETER_LONG, &offset_bytes, sizeof offset_bytes);
  }
  d->values[index].kind = is_output ? RLO__PARAMETER_OUTPUT : RLO__PARAMETER_INPUT;
  if (memory != NULL) {
    d->values[index].buffer = memory->buffer;
    RLO_TRY(rlo__memory_check_commands(memory));
    d->waits[d->num_waits] = rlo__memory_gate(memory);
    d->num_waits += d->waits[d->num_waits] != NULL;
  }
  return RLO_OK;
}

static rlo_status set_attribute(draft *d, const rlo_source_argument *argument, int32_t index) {
  const rlo_kernel_call *call = &d->call->call;
  int64_t integer = 0;
  double real = 0.0;
  if (argument->kind == RLO_SOURCE_LONG || argument->kind == RLO_SOURCE_INT) {
    RLO_TRY(rlo_attributes_get_i64(call->attributes, argument->attribute, &integer));
  } else {
    RLO_TRY(rlo_attributes_get_f64(call->attributes, argument->attribute, &real));
  }
  if (argument->kind == RLO_SOURCE_LONG) {
    return set_value(d, index, RLO__PARAMETER_LONG, &integer, sizeof integer);
  }
  if (argument->kind == RLO_SOURCE_DOUBLE) {
    return set_value(d, index, RLO__PARAMETER_DOUBLE, &real, sizeof real);
  }
  const cl_int narrow_integer = (cl_int)integer;
  const cl_float narrow = rlo__arithmetic_f32(real);
  if (narrow_integer != integer || (isfinite(real) && !isfinite(narrow))) {
    return argument->kind == RLO_SOURCE_INT
               ? RLO_FAIL(RLO_OUT_OF_RANGE, "kernel '%s': attribute '%s' is %lld, beyond an int",
                          call->kernel_name, argument->attribute, (long long)integer)
               : RLO_FAIL(RLO_OUT_OF_RANGE, "kernel '%s': attribute '%s' is %g, beyond a float",
                          call->kernel_name, argument->attribute, real);
  }
  return argument->kind == RLO_SOURCE_INT
             ? set_value(d, index, RLO__PARAMETER_INT, &narrow_integer, sizeof narrow_integer)
             : set_value(d, index, RLO__PARAMETER_FLOAT, &narrow, sizeof narrow);
}

static rlo_status set_argument(draft *d, int32_t index) {
  const rlo_source_argument argument = argument_of(d, index);
  switch (argument.kind) {
    case RLO_SOURCE_INPUT:
    case RLO_SOURCE_OUTPUT:
    case RLO_SOURCE_INPUT_OFFSET:
    case RLO_SOURCE_INPUT_ELEMENTS:
    case RLO_SOURCE_OUTPUT_ELEMENTS:
      return set_tensor(d, &argument, index);
    case RLO_SOURCE_LONG:
    case RLO_SOURCE_INT:
    case RLO_SOURCE_FLOAT:
    case RLO_SOURCE_DOUBLE:
      return set_attribute(d, &argument, index);
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT, "kernel '%s': argument %d is of no known kind (%d)",
                  d->call->call.kernel_name, index, (int)argument.kind);
}

static rlo_status get_range(const draft *d, rlo_source_range *out_range) {
  *out_range = (rlo_source_range){.work_dim = 1};
  if (d->kernel->range == NULL) {
    out_range->global_size[0] = (size_t)count_elements(&d->call->call, 0);
  } else {
    RLO_TRY(d->kernel->range(&d->call->call, out_range));
  }
  bool is_whole = out_range->work_dim >= 1 && out_range->work_dim <= 3;
  for (int32_t k = 0; is_whole && k < out_range->work_dim; ++k) {
    is_whole = out_range->global_size[k] > 0;
  }
  return is_whole ? RLO_OK
                  : RLO_FAIL(RLO_INVALID_ARGUMENT, "kernel '%s': its range is one of nothing",
                             d->call->call.kernel_name);
}

/* Gets the memories of the inputs and allocates those of the outputs. An input
 * that begins within a buffer is copied, unless the kernel takes its offset. */
static rlo_status collect_allocations(draft *d, rlo_kernel_call *call) {
  const int32_t num_inputs = call->num_inputs;
  for (int32_t n = 0; n < num_inputs + call->num_outputs; ++n) {
    rlo_tensor *tensor = n < num_inputs ? call->inputs[n] : NULL;
    if (tensor == NULL) {
      RLO_TRY(rlo_kernel_output(call, n - num_inputs, &tensor));
    }
    rlo__backend_instance *instance = d->call->bound->instance;
    RLO_TRY(rlo__tensor_need(tensor, instance, &d->allocations[n]));
    const rlo__memory *memory = memory_of(d, n);
    if (n < num_inputs && memory != NULL && memory->offset_bytes != 0 &&
        !knows_offset(d->kernel, n)) {
      rlo__allocation *copy = NULL;
      RLO_TRY(rlo__allocation_copy(d->allocations[n], instance, &copy));
      rlo__allocation_release(d->allocations[n]);
      d->allocations[n] = copy;
    }
  }
  return RLO_OK;
}

static rlo_status launch(draft *d) {
  const rlo_kernel_call *call = &d->call->call;
  rlo_source_range range;
  for (int32_t n = 0; n < d->kernel->num_arguments; ++n) {
    RLO_TRY(set_argument(d, n));
  }
  RLO_TRY(get_range(d, &range));
  const rlo__source_launch what = {
      .source = d->kernel->source,
      .function = d->kernel->function,
      .options = d->kernel->build_options != NULL ? d->kernel->build_options : "-cl-std=CL1.2",
      .arguments = d->values,
      .num_arguments = d->kernel->num_arguments,
      .work_dim = (cl_uint)range.work_dim,
      .global_size = {range.global_size[0], range.global_size[1], range.global_size[2]},
      .local_size = {range.local_size[0], range.local_size[1], range.local_size[2]}};
  const rlo__place *place = d->call->bound->instance->self;
  cl_event event = NULL;
  rlo_status status = rlo__source_launch_enqueue(place->context, place->queue, &what, d->num_waits,
                                                 d->waits, &event);
  for (int32_t n = 0; status == RLO_OK && n < call->num_outputs; ++n) {
    rlo__memory *output = memory_of(d, call->num_inputs + n);
    if (output != NULL) {
      clRetainEvent(event);
      rlo__memory_set_ready(output, event);
    }
  }
  if (event != NULL) {
    clReleaseEvent(event);
  }
  return status == RLO_INVALID_ARGUMENT
             ? rlo__status_prefix(status, "kernel '%s': ", call->kernel_name)
             : status;
}

rlo_status rlo_source_kernel_run(rlo_kernel_call *call, void *payload) {
  RLO_REQUIRE(call, payload);
  rlo_source_kernel kernel;
  RLO_TRY(read_kernel(call, payload, &kernel));
  const rlo__kernel_call *k = (const rlo__kernel_call *)call;
  const int32_t num_tensors = call->num_inputs + call->num_outputs;
  const rlo_kernel_config *config = &k->bound->config;
  if (kernel.arguments == NULL) {
    kernel.num_arguments = num_tensors + (config->attributes != NULL ? config->num_attributes : 0);
  }
  const size_t num_arguments = (size_t)kernel.num_arguments + 1;
  draft d = {.kernel = &kernel,
             .call = k,
             .values = rlo__alloc_array(num_arguments, sizeof *d.values),
             .scalars = rlo__alloc_array(num_arguments, sizeof *d.scalars),
             .waits = rlo__alloc_array(num_arguments, sizeof *d.waits),
             .allocations = rlo__alloc_array((size_t)num_tensors, sizeof(rlo__allocation *))};
  rlo_status status =
      d.values == NULL || d.scalars == NULL || d.waits == NULL || d.allocations == NULL
          ? RLO_OUT_OF_MEMORY
          : collect_allocations(&d, call);
  bool has_elements = false;
  for (int32_t n = 0; n < call->num_outputs; ++n) {
    has_elements = has_elements || count_elements(call, n) != 0;
  }
  if (status == RLO_OK && has_elements) {
    status = launch(&d);
  }
  for (int32_t n = 0; d.allocations != NULL && n < num_tensors; ++n) {
    rlo__allocation_release(d.allocations[n]);
  }
  rlo__free(d.waits);
  rlo__free(d.allocations);
  rlo__free(d.scalars);
  rlo__free(d.values);
  return status;
}
