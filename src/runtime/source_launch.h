/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_SOURCE_LAUNCH_H
#define RLO_RUNTIME_SOURCE_LAUNCH_H

#include "runtime/device_memory.h"
#include "runtime/kernel_parameters.h"

/** One argument of a source kernel: a memory or the bytes of a value. */
typedef struct rlo__source_value {
  rlo__parameter_kind kind;
  /** Of an input or output; NULL for 0 bytes. */
  const rlo__device_memory *memory;
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
 * @param outputs  `count` memories that the kernel writes; NULL for 0 bytes.
 * @return RLO_OK; RLO_BUILD_FAILED; RLO_DEVICE; RLO_OUT_OF_MEMORY;
 *         RLO_INVALID_ARGUMENT for a function name that is too long, or
 *         arguments that are not those that the function takes.
 */
RLO_NODISCARD rlo_status
rlo__source_launch_enqueue(rlo__device_queue *queue,
                           const rlo__source_launch *launch,
                           rlo__device_memory *const *outputs,
                           int32_t count);

#endif
