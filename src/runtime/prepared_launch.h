/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PREPARED_LAUNCH_H
#define RLO_RUNTIME_PREPARED_LAUNCH_H

#include "codegen/codegen.h"
#include "runtime/context.h"

/** One argument of a prepared kernel. */
typedef struct rlo__prepared_argument {
  rlo__argument_kind kind;
  /** The place of a constant in rlo__prepared_launch.constants. */
  uint32_t first_byte;
  uint32_t num_bytes;
} rlo__prepared_argument;

/**
 * A launch of the planner with its arguments, its constants and its sizes as
 * OpenCL takes them. Immutable, so that plans share it, but for the text of its
 * program, which is made when it is first built. The program itself belongs to
 * those who enqueue it.
 */
typedef struct rlo__prepared_launch {
  int64_t src_base_bytes, dst_base_bytes;
  /** Unique among the prepared launches of the context; not 0. */
  uint64_t id;
  cl_uint work_dim;
  size_t global_size[3];
  size_t local_size[3];
  int32_t num_arguments;
  /** All constant arguments take so many bytes of `constants`. */
  uint32_t constant_bytes;
  rlo__prepared_argument *arguments;
  uint8_t *constants;
  /** The parts of its program's source, and how many numbers these have. */
  rlo__program_parts parts;
  int32_t num_numbers;
  /** All the arrays. Owned. */
  void *memory;
  /** NULL until first needed; never changes afterwards. Owned. */
  _Atomic(rlo__program_spec *) spec;
} rlo__prepared_launch;

/** The program of a prepared launch: NULL until built, then never another. */
typedef _Atomic(rlo__program *) rlo__program_slot;

/** The queue, the memories and the events of one enqueue. The memories are
 *  borrowed and may be NULL where the launch reads or writes no bytes. */
typedef struct rlo__launch_target {
  cl_command_queue queue;
  cl_mem src, dst, indices;
  int64_t src_offset_bytes, dst_offset_bytes, index_offset_bytes;
  cl_uint num_wait;
  const cl_event *wait_list;
  /** NULL: no event is created. */
  cl_event *out_event;
} rlo__launch_target;

/**
 * Prepares a launch without building its program.
 * @param prepared  zeroed by the caller. On failure too, the caller calls
 *                  rlo__prepared_launch_deinit.
 * @return RLO_OK; RLO_UNSUPPORTED if the launch exceeds the device's limits;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status
rlo__prepared_launch_init(rlo_context *context,
                          const rlo__launch *launch,
                          rlo__prepared_launch *prepared);

/** Accepts a zeroed prepared launch. */
void rlo__prepared_launch_deinit(rlo__prepared_launch *prepared);

/** Returns whether two launches run the same kernel with the same arguments and
 *  sizes. */
bool rlo__prepared_launch_equal(const rlo__prepared_launch *a,
                                const rlo__prepared_launch *b);

/**
 * Builds the program, unless the slot has it already. Whoever owns the slot
 * calls rlo__program_cache_put on what it holds in the end.
 * @param out_max_group_items  may be NULL; set if it fails because the compiled
 *                             kernel runs no larger work-groups than this.
 * @return as rlo_plan_prepare; RLO_UNSUPPORTED if the compiled kernel cannot
 *         run work-groups of this size.
 * Threads: safe.
 */
RLO_NODISCARD rlo_status
rlo__prepared_launch_build(rlo_context *context,
                           rlo__prepared_launch *prepared,
                           rlo__build_priority priority,
                           rlo__program_slot *slot,
                           int64_t *out_max_group_items);

/** Enqueues the kernel of its program. The caller has checked the target. On
 *  failure *out_event is unchanged. Threads: safe. */
RLO_NODISCARD rlo_status
rlo__prepared_launch_enqueue(rlo_context *context,
                             const rlo__prepared_launch *prepared,
                             rlo__program *program,
                             const rlo__launch_target *target);

#endif
