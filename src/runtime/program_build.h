/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PROGRAM_BUILD_H
#define RLO_RUNTIME_PROGRAM_BUILD_H

#include "codegen/codegen.h"
#include "relayout/opencl.h"
#include "runtime/disk_cache.h"

/** Builds programs for one device, from source or from the disk cache. All but
 *  the identity is borrowed. */
typedef struct rlo__program_builder {
  cl_context context;
  cl_device_id device;
  const rlo__log_sink *log;
  /** NULL: all programs are built from source. */
  rlo__disk_cache *disk;
  /** Text that a binary depends on besides the program itself: the library's
   *  version, and the names of platform, device and driver. */
  char *identity;
  /** The device is PoCL's: runtime/pocl_binary.h restricts when its binaries
   *  can be read. */
  bool is_pocl;
  /** The version that is known to compile a kernel three times. */
  bool is_pocl_3_1;
} rlo__program_builder;

/** Initializes the rest of a builder whose borrowed fields are set. @return
 * RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status
rlo__program_builder_init(rlo__program_builder *builder);
void rlo__program_builder_deinit(rlo__program_builder *builder);

/** Who waits for a program. */
typedef enum rlo__build_priority {
  /** A preparation: may take longer to store the binary for later processes. */
  RLO__BUILD_BACKGROUND,
  /** An enqueue. */
  RLO__BUILD_FOREGROUND
} rlo__build_priority;

/**
 * Builds a program. Uses the entry of the disk cache if the driver accepts it
 * and finds the kernel in it, and deletes the entry otherwise. Stores what is
 * built from source there, but for PoCL in the background only.
 * @param out_program  released by the caller with clReleaseProgram unless it is
 *                     NULL, on failure too.
 * @param out_is_from_disk  whether it was loaded from the disk cache.
 * @return RLO_OK; RLO_BUILD_FAILED with the log; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 * Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__program_build(const rlo__program_builder *builder,
                                            const rlo__program_spec *spec,
                                            rlo__build_priority priority,
                                            cl_program *out_program,
                                            bool *out_is_from_disk);

#endif
