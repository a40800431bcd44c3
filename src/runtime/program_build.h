/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PROGRAM_BUILD_H
#define RLO_RUNTIME_PROGRAM_BUILD_H

#include "codegen/codegen.h"
#include "relayout/opencl.h"
#include "runtime/disk_cache.h"

/** Makes programs for one device, from source or from what the disk cache has.
 *  All but the identity is borrowed. */
typedef struct rlo__program_builder {
  cl_context context;
  cl_device_id device;
  const rlo__log_sink *log;
  /** NULL: everything is built from source. */
  rlo__disk_cache *disk;
  /** What a binary depends on beside the program itself: our version, and what
   *  platform, device and driver call themselves. */
  char *identity;
  /** Whether the device is PoCL's, which must be asked for binaries with care.
   */
  bool is_pocl;
} rlo__program_builder;

/** Complete a builder whose borrowed parts are set; rlo__program_builder_deinit
 *  ends it. @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status
rlo__program_builder_init(rlo__program_builder *builder);
void rlo__program_builder_deinit(rlo__program_builder *builder);

/** What waits for a program. */
typedef enum rlo__build_priority {
  /** Somebody who prepares: making later processes quick may take time. */
  RLO__BUILD_BACKGROUND,
  /** Work for the device. */
  RLO__BUILD_FOREGROUND
} rlo__build_priority;

/** A program that was made, and how. */
typedef struct rlo__built_program {
  cl_program program;
  bool is_from_disk;
} rlo__built_program;

/**
 * Make a program. What the disk cache has is taken if the driver takes it and
 * finds the kernel in it, and is deleted otherwise. What is built from source
 * is put there, but not from PoCL in a hurry.
 * @param out_built  its program goes to clReleaseProgram; on failure too,
 *                   unless it is NULL.
 * @return RLO_OK; RLO_BUILD_FAILED with the log; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 * Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__program_build(const rlo__program_builder *builder,
                                            const rlo__program_spec *spec,
                                            rlo__build_priority priority,
                                            rlo__built_program *out_built);

#endif
