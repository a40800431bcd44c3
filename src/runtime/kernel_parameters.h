/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_KERNEL_PARAMETERS_H
#define RLO_RUNTIME_KERNEL_PARAMETERS_H

#include <stdbool.h>

#include "relayout/opencl.h"

/** The kind of value that a launch passes for a parameter. */
typedef enum rlo__parameter_kind {
  /** A memory that the kernel reads, or writes. */
  RLO__PARAMETER_INPUT,
  RLO__PARAMETER_OUTPUT,
  /** Integers of 32 and 64 bits, with a sign or without. */
  RLO__PARAMETER_INT,
  RLO__PARAMETER_LONG,
  RLO__PARAMETER_FLOAT,
  RLO__PARAMETER_DOUBLE
} rlo__parameter_kind;

/** A parameter of a compiled function, as the driver describes it. */
typedef struct rlo__kernel_parameter {
  /** False: the driver tells no more than that there is one. */
  bool is_known;
  bool is_const;
  cl_kernel_arg_address_qualifier address;
  /** Cut, or empty, where they are longer. The type of a pointer ends in '*'.
   */
  char name[64];
  char type[64];
} rlo__kernel_parameter;

/** The parameters of a compiled function. */
typedef struct rlo__kernel_parameters {
  int32_t count;
  rlo__kernel_parameter items[];
} rlo__kernel_parameters;

/** Asks the driver for them; release with rlo__free. What it tells about each
 *  is complete if the program was built with -cl-kernel-arg-info. @return
 *  RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__kernel_parameters_create(
    cl_kernel kernel, rlo__kernel_parameters **out_parameters);

/** RLO_OK if a function has `count` parameters. The message of
 *  RLO_INVALID_ARGUMENT has both numbers and the first one that is missing. */
RLO_NODISCARD rlo_status
rlo__kernel_parameters_check_count(const rlo__kernel_parameters *parameters,
                                   const char *function,
                                   int32_t count);

/** RLO_OK if an argument of this kind fits the parameter, or nothing is known
 *  against it. RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status
rlo__kernel_parameters_check(const rlo__kernel_parameters *parameters,
                             const char *function,
                             int32_t index,
                             rlo__parameter_kind kind);

#endif
