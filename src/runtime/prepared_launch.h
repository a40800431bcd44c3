/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_VARIANT_H
#define RLO_RUNTIME_VARIANT_H

#include "codegen/codegen.h"
#include "runtime/context.h"

/** One argument of a kernel, as clSetKernelArg wants it. */
typedef struct rlo__variant_argument {
  rlo__argument_kind kind;
  /** Of constants: where they lie in rlo__variant.constants. */
  uint32_t first_byte;
  uint32_t num_bytes;
} rlo__variant_argument;

/**
 * A launch made ready: one kernel that runs a plan's problem when both memories
 * are aligned well enough. Immutable but for its program, which comes when it
 * is first needed.
 */
typedef struct rlo__variant {
  int64_t src_alignment_bytes, dst_alignment_bytes;
  int64_t src_base_bytes, dst_base_bytes;
  rlo__program_spec spec;
  /** Unlike that of any other variant of the context, and not 0. */
  uint64_t number;
  int32_t num_arguments;
  rlo__variant_argument arguments[RLO__LAUNCH_MAX_ARGUMENTS];
  /** The values of all constant arguments, packed. */
  uint8_t *constants;
  cl_uint work_dim;
  size_t global_size[3];
  size_t local_size[3];
  /** NULL until prepared; from then on the same. */
  _Atomic(rlo__program *) program;
} rlo__variant;

/** Where a launch reads and writes. The memories are borrowed and may be NULL
 *  where the problem has no bytes on that side. */
typedef struct rlo__variant_target {
  cl_command_queue queue;
  cl_mem src, dst, indices;
  int64_t src_offset_bytes, dst_offset_bytes, index_offset_bytes;
  cl_uint num_wait;
  const cl_event *wait_list;
  cl_event *out_event;
} rlo__variant_target;

/**
 * Make a launch ready, as far as that goes without building.
 * @param variant  zeroed. On failure rlo__variant_deinit is still due.
 * @return RLO_OK; RLO_UNSUPPORTED if the launch exceeds the device's limits;
 *         RLO_OUT_OF_MEMORY; or what rlo__codegen_program says.
 */
RLO_NODISCARD rlo_status rlo__variant_init(rlo_context *context,
                                           const rlo__launch *launch,
                                           rlo__variant *variant);

/** Legal on a zeroed variant. */
void rlo__variant_deinit(rlo_context *context, rlo__variant *variant);

/** Get the variant's program, built if need be. @return as rlo_plan_prepare;
 *  RLO_UNSUPPORTED if the compiled kernel cannot run that large a group.
 *  Threads: safe. */
RLO_NODISCARD rlo_status rlo__variant_prepare(rlo_context *context,
                                              rlo__variant *variant,
                                              rlo__build_haste haste);

/** Prepare and enqueue; the target has been checked. Threads: safe. */
RLO_NODISCARD rlo_status
rlo__variant_enqueue(rlo_context *context,
                     rlo__variant *variant,
                     const rlo__variant_target *target);

#endif
