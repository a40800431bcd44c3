/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CODEGEN_CODEGEN_H
#define RLO_CODEGEN_CODEGEN_H

#include "codegen/kernel_sources.h"
#include "plan/planner.h"

/**
 * A program, ready for a compiler. Its identity is the kernel file's text and
 * the build options; a cache key adds only the device.
 */
typedef struct rlo__program_spec {
  /** A file of cl/, in OpenCL C 1.2, which uses no built-in function but those that
   *  cl/builtins.cl declares. NULL: `source` is compiled. */
  const rlo__kernel_source *kernel;
  /** Borrowed; "" for a file of cl/. */
  const char *source;
  size_t source_bytes;
  /** "-cl-std=CL1.2 -w -DRLO_KERNEL=rlo_cpu_tile_0123456789abcdef -D...";
   * owned.
   */
  char *options;
  /** The kernel function. Its name carries the hash of file and options,
   *  because some drivers have run the kernel of the same name from another
   *  program. */
  char kernel_name[64];
} rlo__program_spec;

/** Makes the program of a launch. Release it with rlo__codegen_deinit.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INTERNAL if the kernel file is not
 *  embedded. */
RLO_NODISCARD rlo_status rlo__codegen_program(const rlo__launch *launch,
                                              rlo__program_spec *out_spec);

/** The constants that the launch of a batch adds to those of its items: the work-items of a
 *  group; and of each argument of an item its kind and its place among the numbers, of which
 *  the arguments of a call are made. */
#define RLO__CODEGEN_BATCH          "RLO_BATCH"
#define RLO__CODEGEN_ITEM_ARGUMENTS "RLO_ITEM_ARGUMENTS"

/** Tells if the kernel of a launch can run the items of a batch. */
bool rlo__codegen_has_batch(const rlo__launch *item);

/** A hash for tables and sets of programs. It covers the length of the source,
 *  the options and the name: enough to distinguish programs, since the source
 * is static. */
uint64_t rlo__codegen_hash(const rlo__program_spec *spec);

/** Frees what a spec owns, and clears it. NULL is legal. */
void rlo__codegen_deinit(rlo__program_spec *spec);

/**
 * Explains a plan, as rlo_plan_explain does, with the request's wisdom.
 *
 * @param problem  copied into the report, where it becomes canonical.
 * @param request  its problem and is_explaining are not read. Its wisdom must
 *                 not change during the call.
 */
RLO_NODISCARD rlo_status rlo__plan_report_create(const rlo_problem *problem,
                                                 const rlo__plan_request *request,
                                                 rlo_plan_report **out_report);

#endif
