/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/source_launch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"

/* Checks the arguments against the compiled function: a kernel of the pool
 * keeps what an earlier launch set, and would use it for an argument that this
 * one leaves out. */
static rlo_status check_arguments(rlo__pooled_kernel *kernel,
                                  const rlo__source_launch *launch) {
  if (kernel->parameters == NULL) {
    RLO_TRY(rlo__kernel_parameters_create(kernel->kernel, &kernel->parameters));
  }
  RLO_TRY(rlo__kernel_parameters_check_count(
      kernel->parameters, launch->function, launch->num_arguments));
  for (int32_t n = 0; n < launch->num_arguments; ++n) {
    RLO_TRY(rlo__kernel_parameters_check(
        kernel->parameters, launch->function, n, launch->arguments[n].kind));
  }
  return RLO_OK;
}

static rlo_status set_argument(cl_kernel kernel,
                               const rlo__source_launch *launch,
                               int32_t index) {
  const rlo__source_value *a = &launch->arguments[index];
  bool is_memory =
      a->kind == RLO__PARAMETER_INPUT || a->kind == RLO__PARAMETER_OUTPUT;
  size_t bytes = is_memory ? sizeof a->buffer : a->bytes;
  const void *value = is_memory ? (const void *)&a->buffer : a->value;
  cl_int code = clSetKernelArg(kernel, (cl_uint)index, bytes, value);
  if (code == CL_INVALID_ARG_SIZE) {
    /* The driver had not told the size of this parameter. */
    return rlo__status_fail_cl(RLO_INVALID_ARGUMENT,
                               "clSetKernelArg",
                               code,
                               "argument %d has %zu bytes, and function '%s' "
                               "takes another size there",
                               index,
                               bytes,
                               launch->function);
  }
  rlo_status status = rlo__cl_error_check("clSetKernelArg", code);
  return status == RLO_OK ? RLO_OK
                          : rlo__status_prefix(status,
                                               "argument %d of function '%s': ",
                                               index,
                                               launch->function);
}

/* The caller's options, and that the driver keeps what parameters are called
 * and of which type they are. On the heap; NULL without memory. */
static char *make_options(const char *options) {
  static const char more[] = " -cl-kernel-arg-info";
  size_t length = strlen(options);
  char *text = rlo__alloc(length + sizeof more);
  if (text != NULL) {
    memcpy(text, options, length);
    memcpy(text + length, more, sizeof more);
  }
  return text;
}

rlo_status rlo__source_launch_enqueue(rlo_context *context,
                                      cl_command_queue queue,
                                      const rlo__source_launch *launch,
                                      cl_uint num_wait,
                                      const cl_event *wait_list,
                                      cl_event *out_event) {
  RLO_TRY(rlo__context_check_process(context));
  rlo__program_spec spec = {.source = launch->source,
                            .source_bytes = strlen(launch->source)};
  size_t name_length = strlen(launch->function);
  if (name_length >= sizeof spec.kernel_name) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT,
        "the kernel function's name has %zu characters; the limit is "
        "%zu",
        name_length,
        sizeof spec.kernel_name - 1);
  }
  memcpy(spec.kernel_name, launch->function, name_length + 1);
  rlo__program *program = NULL;
  rlo__pooled_kernel *kernel = NULL;
  rlo_status status = RLO_OUT_OF_MEMORY;
  spec.options = make_options(launch->options);
  if (spec.options == NULL) {
    goto fail;
  }
  RLO_TRY_GOTO(rlo__program_cache_get(
      context->programs, &spec, RLO__BUILD_FOREGROUND, &program));
  RLO_TRY_GOTO(rlo__program_take_kernel(program, &kernel));
  /* The kernel holds the constants of no prepared launch from here on. */
  kernel->arguments_of = 0;
  RLO_TRY_GOTO(check_arguments(kernel, launch));
  for (int32_t n = 0; n < launch->num_arguments; ++n) {
    RLO_TRY_GOTO(set_argument(kernel->kernel, launch, n));
  }
  RLO_TRY_GOTO(RLO_CL(clEnqueueNDRangeKernel,
                      queue,
                      kernel->kernel,
                      launch->work_dim,
                      NULL,
                      launch->global_size,
                      launch->local_size[0] != 0 ? launch->local_size : NULL,
                      num_wait,
                      num_wait > 0 ? wait_list : NULL,
                      out_event));
  rlo__command_log_add(*out_event);
  atomic_fetch_add_explicit(&context->launches, 1, memory_order_relaxed);
fail:
  if (kernel != NULL) {
    rlo__program_give_kernel(program, kernel);
  }
  rlo__program_cache_put(context->programs, program);
  rlo__free(spec.options);
  return status;
}
