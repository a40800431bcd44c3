/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_SOURCE_LAUNCH_H
#define RLO_RUNTIME_SOURCE_LAUNCH_H

#include "runtime/device_memory.h"

/** One argument of a source kernel: a memory, or bytes. */
typedef struct rlo__source_value {
  const rlo__device_memory *memory;
  bool is_memory;
  const void *value;
  size_t bytes;
} rlo__source_value;

/** A launch of a kernel that somebody brought. */
typedef struct rlo__source_launch {
  /** Must outlive the context, which keeps programs. */
  const char *source;
  const char *function;
  const char *options;
  const rlo__source_value *arguments;
  int32_t num_arguments;
  cl_uint work_dim;
  size_t global_size[3];
  /** local_size[0] 0: the driver chooses. */
  size_t local_size[3];
} rlo__source_launch;

/** Build (once for the context) and launch. `outputs` are `count` memories
 *  that the kernel writes. RLO_BUILD_FAILED, RLO_DEVICE, RLO_OUT_OF_MEMORY,
 *  RLO_INVALID_ARGUMENT for a function name that is too long. */
RLO_NODISCARD rlo_status
rlo__source_launch_enqueue(rlo__device_queue *queue,
                           const rlo__source_launch *launch,
                           rlo__device_memory *const *outputs,
                           int32_t count);

#endif
