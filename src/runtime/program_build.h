/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PROGRAM_BUILD_H
#define RLO_RUNTIME_PROGRAM_BUILD_H

#include <stdbool.h>

#include "codegen/codegen.h"
#include "relayout/opencl.h"
#include "runtime/disk_cache.h"

/* ------------------------------------------------------------------- PoCL */

/*
 * When the binary of a program may be queried from PoCL.
 *
 * PoCL answers by compiling the kernel once more, for work-groups of any size.
 * PoCL 3.1 stores compiled kernels in one list of the process, and
 * distinguishes the two kernels when a launch begins, but not when it ends: if
 * the second one was added in between, the end of the launch releases the wrong
 * one and aborts the process (pocl_release_dlhandle_cache, fixed in 6.0).
 *
 * So the same program must not be in flight anywhere in the process. The state
 * here is therefore the process's. It errs on the side of not asking, which
 * costs another process some time.
 */

/** `by` more contexts are on PoCL, or fewer. Waits while a binary is being
 * read. Threads: safe, as all functions here. */
void rlo__pocl_binary_count_contexts(int32_t by);

/** Records that a program is being built in this process. Returns true if
 *  certainly no equal one was built before, so that none is in flight. */
bool rlo__pocl_binary_note(const rlo__program_spec *spec);

/** Returns true if no second context could build and launch the program
 *  meanwhile. Then the caller reads the binary and calls
 *  rlo__pocl_binary_end_asking; it must not call user code in between, which
 *  might create a context. */
bool rlo__pocl_binary_begin_asking(void);
void rlo__pocl_binary_end_asking(void);

/* --------------------------------------------------------------- builders */

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
  /** The device is PoCL's: its binaries cannot always be read. */
  bool is_pocl;
  /** The version that is known to compile a kernel three times. */
  bool is_pocl_3_1;
} rlo__program_builder;

/** Initializes the rest of a builder whose borrowed fields are set. @return
 * RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__program_builder_init(rlo__program_builder *builder);
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
                                            rlo__build_priority priority, cl_program *out_program,
                                            bool *out_is_from_disk);

#endif
