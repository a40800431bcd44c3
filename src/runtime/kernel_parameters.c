/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kernel_parameters.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "runtime/cl_error.h"

/* ------------------------------------------------------------------- asking */

/* Reads a text; it stays empty if the driver has none, or a longer one. */
static void read_text(cl_kernel kernel,
                      cl_uint index,
                      cl_kernel_arg_info what,
                      char *out_text,
                      size_t capacity) {
  if (clGetKernelArgInfo(kernel, index, what, capacity - 1, out_text, NULL) !=
      CL_SUCCESS) {
    out_text[0] = '\0';
  }
}

static void read_parameter(cl_kernel kernel,
                           cl_uint index,
                           rlo__kernel_parameter *p) {
  cl_kernel_arg_type_qualifier qualifiers = CL_KERNEL_ARG_TYPE_NONE;
  p->is_known = clGetKernelArgInfo(kernel,
                                   index,
                                   CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                   sizeof p->address,
                                   &p->address,
                                   NULL) == CL_SUCCESS;
  if (!p->is_known) {
    return;
  }
  if (clGetKernelArgInfo(kernel,
                         index,
                         CL_KERNEL_ARG_TYPE_QUALIFIER,
                         sizeof qualifiers,
                         &qualifiers,
                         NULL) == CL_SUCCESS) {
    p->is_const = (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0;
  }
  read_text(kernel, index, CL_KERNEL_ARG_NAME, p->name, sizeof p->name);
  read_text(kernel, index, CL_KERNEL_ARG_TYPE_NAME, p->type, sizeof p->type);
}

rlo_status rlo__kernel_parameters_create(
    cl_kernel kernel, rlo__kernel_parameters **out_parameters) {
  cl_uint count = 0;
  RLO_TRY(RLO_CL(
      clGetKernelInfo, kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
  rlo__kernel_parameters *made =
      rlo__alloc(sizeof *made + count * sizeof made->items[0]);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->count = (int32_t)count;
  for (cl_uint n = 0; n < count; ++n) {
    read_parameter(kernel, n, &made->items[n]);
  }
  *out_parameters = made;
  return RLO_OK;
}

/* ----------------------------------------------------------------- checking */

static const char *address_name(const rlo__kernel_parameter *p) {
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

rlo_status rlo__kernel_parameters_check_count(
    const rlo__kernel_parameters *parameters,
    const char *function,
    int32_t count) {
  if (count == parameters->count) {
    return RLO_OK;
  }
  const rlo__kernel_parameter *missing =
      count < parameters->count && parameters->items[count].is_known
          ? &parameters->items[count]
          : NULL;
  if (missing == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "function '%s' takes %d arguments, and %d are given",
                    function,
                    parameters->count,
                    count);
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "function '%s' takes %d arguments, and %d are given: none "
                  "for argument %d, '%s' (%s%s%s)",
                  function,
                  parameters->count,
                  count,
                  count,
                  missing->name,
                  address_name(missing),
                  missing->is_const ? "const " : "",
                  missing->type);
}

/* Returns whether a type is `word`, or a vector of it: "float", "float4". */
static bool is_type(const char *type, const char *word) {
  size_t length = strlen(word);
  return strncmp(type, word, length) == 0 &&
         strspn(type + length, "0123456789") == strlen(type + length);
}

/* Returns whether a type is one of OpenCL C's by its name. A typedef may be
 * any. */
static bool is_built_in(const char *type) {
  static const char *const words[] = {"bool",
                                      "char",
                                      "uchar",
                                      "short",
                                      "ushort",
                                      "int",
                                      "uint",
                                      "long",
                                      "ulong",
                                      "half",
                                      "float",
                                      "double",
                                      "sampler_t"};
  for (size_t n = 0; n < sizeof words / sizeof words[0]; ++n) {
    if (is_type(type, words[n])) {
      return true;
    }
  }
  return false;
}

static bool fits(const rlo__kernel_parameter *p, rlo__parameter_kind kind) {
  static const char *const scalars[][2] = {
      [RLO__PARAMETER_INT] = {"int", "uint"},
      [RLO__PARAMETER_LONG] = {"long", "ulong"},
      [RLO__PARAMETER_FLOAT] = {"float", "float"},
      [RLO__PARAMETER_DOUBLE] = {"double", "double"}};
  bool is_image =
      strncmp(p->type, "image", 5) == 0 || strncmp(p->type, "pipe", 4) == 0;
  switch (kind) {
    case RLO__PARAMETER_INPUT:
      return !is_image && (p->address == CL_KERNEL_ARG_ADDRESS_GLOBAL ||
                           p->address == CL_KERNEL_ARG_ADDRESS_CONSTANT);
    case RLO__PARAMETER_OUTPUT:
      return !is_image && !p->is_const &&
             p->address == CL_KERNEL_ARG_ADDRESS_GLOBAL;
    default:
      return p->address == CL_KERNEL_ARG_ADDRESS_PRIVATE &&
             (strcmp(p->type, scalars[kind][0]) == 0 ||
              strcmp(p->type, scalars[kind][1]) == 0 || !is_built_in(p->type));
  }
}

rlo_status rlo__kernel_parameters_check(
    const rlo__kernel_parameters *parameters,
    const char *function,
    int32_t index,
    rlo__parameter_kind kind) {
  static const char *const kinds[] = {
      "an input", "an output", "an int", "a long", "a float", "a double"};
  const rlo__kernel_parameter *p = &parameters->items[index];
  if (!p->is_known || fits(p, kind)) {
    return RLO_OK;
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "argument %d is %s, and function '%s' takes '%s' (%s%s%s) "
                  "there",
                  index,
                  kinds[kind],
                  function,
                  p->name,
                  address_name(p),
                  p->is_const ? "const " : "",
                  p->type);
}
