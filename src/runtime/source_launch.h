/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_SOURCE_LAUNCH_H
#define RLO_RUNTIME_SOURCE_LAUNCH_H

#include "runtime/context.h"

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

/** One argument of a source kernel: a buffer or the bytes of a value. */
typedef struct rlo__source_value {
  rlo__parameter_kind kind;
  /** The memory of an input or output; NULL for 0 bytes. */
  cl_mem buffer;
  const void *value;
  size_t bytes;
} rlo__source_value;

/** A launch of a kernel from source text of the caller. */
typedef struct rlo__source_launch {
  /** Must outlive the context, whose program cache borrows it. */
  const char *source;
  const char *function;
  const char *options;
  const rlo__source_value *arguments;
  int32_t num_arguments;
  cl_uint work_dim;
  size_t global_size[3];
  /** If local_size[0] is 0, the driver chooses. */
  size_t local_size[3];
} rlo__source_launch;

/**
 * Builds the program, once for the context, and enqueues the kernel with all
 * of its arguments set by this launch.
 * @param out_event  of the kernel, for the caller to release.
 * @return RLO_OK; RLO_BUILD_FAILED; RLO_DEVICE; RLO_OUT_OF_MEMORY;
 *         RLO_INVALID_ARGUMENT for a function name that is too long, or
 *         arguments that are not those that the function takes.
 */
RLO_NODISCARD rlo_status rlo__source_launch_enqueue(rlo_context *context, cl_command_queue queue,
                                                    const rlo__source_launch *launch,
                                                    cl_uint num_wait, const cl_event *wait_list,
                                                    cl_event *out_event);

#endif
