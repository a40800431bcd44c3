/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/source_launch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"

/** A parameter of a compiled function, as the driver describes it. */
typedef struct parameter {
  /** False: the driver tells no more than that there is one. */
  bool is_known;
  bool is_const;
  cl_kernel_arg_address_qualifier address;
  /** Cut, or empty, where they are longer. The type of a pointer ends in '*'.
   */
  char name[64];
  char type[64];
} parameter;

/** The parameters of a compiled function. */
struct rlo__kernel_parameters {
  int32_t count;
  parameter items[];
};

/* -------------------------------------------------------------- parameters */

/* Reads a text; it stays empty if the driver has none, or a longer one. */
static void read_text(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, char *out_text,
                      size_t capacity) {
  if (clGetKernelArgInfo(kernel, index, what, capacity - 1, out_text, NULL) != CL_SUCCESS) {
    out_text[0] = '\0';
  }
}

static void read_parameter(cl_kernel kernel, cl_uint index, parameter *p) {
  cl_kernel_arg_type_qualifier qualifiers = CL_KERNEL_ARG_TYPE_NONE;
  p->is_known = clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                   sizeof p->address, &p->address, NULL) == CL_SUCCESS;
  if (!p->is_known) {
    return;
  }
  if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers,
                         &qualifiers, NULL) == CL_SUCCESS) {
    p->is_const = (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0;
  }
  read_text(kernel, index, CL_KERNEL_ARG_NAME, p->name, sizeof p->name);
  read_text(kernel, index, CL_KERNEL_ARG_TYPE_NAME, p->type, sizeof p->type);
}

/** Asks the driver for the parameters; release with rlo__free. What it tells
 *  about each is complete if the program was built with -cl-kernel-arg-info. */
static rlo_status ask_parameters(cl_kernel kernel, rlo__kernel_parameters **out_parameters) {
  cl_uint count = 0;
  RLO_TRY(RLO_CL(clGetKernelInfo, kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
  rlo__kernel_parameters *made = rlo__alloc(sizeof *made + count * sizeof made->items[0]);
  RLO_TRY_MEMORY(made);
  made->count = (int32_t)count;
  for (cl_uint n = 0; n < count; ++n) {
    read_parameter(kernel, n, &made->items[n]);
  }
  *out_parameters = made;
  return RLO_OK;
}

static const char *address_name(const parameter *p) {
  switch (p->address) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
      return "__global ";
    case CL_KERNEL_ARG_ADDRESS_CONSTANT:
      return "__constant ";
    case CL_KERNEL_ARG_ADDRESS_LOCAL:
      return "__local ";
    default:
      return "";
  }
}

/** The message has both numbers and the first parameter that is missing. */
static rlo_status check_count(const rlo__kernel_parameters *parameters, const char *function,
                              int32_t count) {
  if (count == parameters->count) {
    return RLO_OK;
  }
  const parameter *missing = count < parameters->count && parameters->items[count].is_known
                                 ? &parameters->items[count]
                                 : NULL;
  RLO_FAIL_IF(missing == NULL, RLO_INVALID_ARGUMENT,
              "function '%s' takes %d arguments, and %d are given", function, parameters->count,
              count);
  return RLO_FAIL(
      RLO_INVALID_ARGUMENT,
      "function '%s' takes %d arguments, and %d are given: none for argument %d, '%s' (%s%s%s)",
      function, parameters->count, count, count, missing->name, address_name(missing),
      missing->is_const ? "const " : "", missing->type);
}

/* Returns whether a type is one of OpenCL C's by its name, or a vector of it:
 * "float", "float4". A typedef may be any. */
static bool is_built_in(const char *type) {
  static const char *const words[] = {"bool",  "char",   "uchar",    "short", "ushort",
                                      "int",   "uint",   "long",     "ulong", "half",
                                      "float", "double", "sampler_t"};
  const size_t length = strcspn(type, "0123456789");
  for (size_t n = 0; n < sizeof words / sizeof words[0]; ++n) {
    if (strlen(words[n]) == length && strncmp(type, words[n], length) == 0 &&
        type[length + strspn(type + length, "0123456789")] == '\0') {
      return true;
    }
  }
  return false;
}

static bool fits(const parameter *p, rlo__parameter_kind kind) {
  static const char *const scalars[][2] = {[RLO__PARAMETER_INT] = {"int", "uint"},
                                           [RLO__PARAMETER_LONG] = {"long", "ulong"},
                                           [RLO__PARAMETER_FLOAT] = {"float", "float"},
                                           [RLO__PARAMETER_DOUBLE] = {"double", "double"}};
  bool is_image = strncmp(p->type, "image", 5) == 0 || strncmp(p->type, "pipe", 4) == 0;
  switch (kind) {
    case RLO__PARAMETER_INPUT:
      return !is_image && (p->address == CL_KERNEL_ARG_ADDRESS_GLOBAL ||
                           p->address == CL_KERNEL_ARG_ADDRESS_CONSTANT);
    case RLO__PARAMETER_OUTPUT:
      return !is_image && !p->is_const && p->address == CL_KERNEL_ARG_ADDRESS_GLOBAL;
    default:
      return p->address == CL_KERNEL_ARG_ADDRESS_PRIVATE &&
             (strcmp(p->type, scalars[kind][0]) == 0 || strcmp(p->type, scalars[kind][1]) == 0 ||
              !is_built_in(p->type));
  }
}

/** RLO_OK if an argument of this kind fits the parameter, or nothing is known
 *  against it. */
static rlo_status check_kind(const rlo__kernel_parameters *parameters, const char *function,
                             int32_t index, rlo__parameter_kind kind) {
  static const char *const kinds[] = {"an input", "an output", "an int",
                                      "a long",   "a float",   "a double"};
  const parameter *p = &parameters->items[index];
  if (!p->is_known || fits(p, kind)) {
    return RLO_OK;
  }
  return RLO_FAIL(
      RLO_INVALID_ARGUMENT, "argument %d is %s, and function '%s' takes '%s' (%s%s%s) there", index,
      kinds[kind], function, p->name, address_name(p), p->is_const ? "const " : "", p->type);
}

/* ---------------------------------------------------------------- launching */

/* Checks the arguments against the compiled function: a kernel of the pool
 * keeps what an earlier launch set, and would use it for an argument that this
 * one leaves out. */
static rlo_status check_arguments(rlo__pooled_kernel *kernel, const rlo__source_launch *launch) {
  if (kernel->parameters == NULL) {
    RLO_TRY(ask_parameters(kernel->kernel, &kernel->parameters));
  }
  RLO_TRY(check_count(kernel->parameters, launch->function, launch->num_arguments));
  for (int32_t n = 0; n < launch->num_arguments; ++n) {
    RLO_TRY(check_kind(kernel->parameters, launch->function, n, launch->arguments[n].kind));
  }
  return RLO_OK;
}

static rlo_status set_argument(cl_kernel kernel, const rlo__source_launch *launch, int32_t index) {
  const rlo__source_value *a = &launch->arguments[index];
  bool is_memory = a->kind == RLO__PARAMETER_INPUT || a->kind == RLO__PARAMETER_OUTPUT;
  size_t bytes = is_memory ? sizeof a->buffer : a->bytes;
  const void *value = is_memory ? (const void *)&a->buffer : a->value;
  cl_int code = clSetKernelArg(kernel, (cl_uint)index, bytes, value);
  if (code == CL_INVALID_ARG_SIZE) {
    /* The driver had not told the size of this parameter. */
    return rlo__status_fail_cl(
        RLO_INVALID_ARGUMENT, "clSetKernelArg", code,
        "argument %d has %zu bytes, and function '%s' takes another size there", index, bytes,
        launch->function);
  }
  return rlo__status_prefix(rlo__cl_error_check("clSetKernelArg", code),
                            "argument %d of function '%s': ", index, launch->function);
}

rlo_status rlo__source_launch_enqueue(rlo_context *context, cl_command_queue queue,
                                      const rlo__source_launch *launch, cl_uint num_wait,
                                      const cl_event *wait_list, cl_event *out_event) {
  RLO_TRY(rlo__context_check_process(context));
  rlo__program_spec spec = {.source = launch->source, .source_bytes = strlen(launch->source)};
  size_t name_length = strlen(launch->function);
  RLO_FAIL_IF(name_length >= sizeof spec.kernel_name, RLO_INVALID_ARGUMENT,
              "the kernel function's name has %zu characters; the limit is %zu", name_length,
              sizeof spec.kernel_name - 1);
  memcpy(spec.kernel_name, launch->function, name_length + 1);
  rlo__program *program = NULL;
  rlo__pooled_kernel *kernel = NULL;
  rlo_status status = RLO_OK;
  /* This option makes the driver keep the names and types of parameters. */
  rlo__str options = rlo__str_growing();
  rlo__str_printf(&options, "%s -cl-kernel-arg-info", launch->options);
  RLO_TRY_GOTO(rlo__str_take(&options, &spec.options));
  RLO_TRY_GOTO(rlo__program_cache_get(context->programs, &spec, RLO__BUILD_FOREGROUND, &program));
  RLO_TRY_GOTO(rlo__program_take_kernel(program, &kernel));
  /* The kernel holds the constants of no planned launch from here on. */
  kernel->arguments_of = 0;
  RLO_TRY_GOTO(check_arguments(kernel, launch));
  for (int32_t n = 0; n < launch->num_arguments; ++n) {
    RLO_TRY_GOTO(set_argument(kernel->kernel, launch, n));
  }
  RLO_TRY_GOTO(RLO_CL(clEnqueueNDRangeKernel, queue, kernel->kernel, launch->work_dim, NULL,
                      launch->global_size, launch->local_size[0] != 0 ? launch->local_size : NULL,
                      num_wait, num_wait > 0 ? wait_list : NULL, out_event));
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
