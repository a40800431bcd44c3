/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CODEGEN_CODEGEN_H
#define RLO_CODEGEN_CODEGEN_H

#include "plan/launch.h"

/**
 * A program, ready for a compiler. Its identity is the kernel file's text and
 * the build options; nothing else enters a cache key but the device.
 */
typedef struct rlo__program_spec {
  /** OpenCL C 1.2, static (embedded from cl/). */
  const char *source;
  size_t source_bytes;
  /** "-cl-std=CL1.2 -DRLO_KERNEL=rlo_cpu_tile_0123456789abcdef -D..."; heap. */
  char *options;
  /** The kernel function. It carries the hash of file and options, because
   *  some drivers have run a same-named kernel of another program. */
  char kernel_name[64];
} rlo__program_spec;

/** Make the program of a launch. @return RLO_OK; RLO_OUT_OF_MEMORY;
 *  RLO_INTERNAL if the kernel file is not embedded. */
RLO_NODISCARD rlo_status rlo__codegen_program(const rlo__launch *launch,
                                              rlo__program_spec *out_spec);

/** A hash that leads to a program, in a table or a set of bits. The text of a
 *  file is static, so its length, the options and the name tell programs apart
 *  well enough for that. */
uint64_t rlo__codegen_hash(const rlo__program_spec *spec);

/** Free what a spec holds, and empty it. NULL is legal. */
void rlo__codegen_deinit(rlo__program_spec *spec);

#endif
