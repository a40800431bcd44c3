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

/** A launch of the planner with its arguments, its constants and its sizes as
 *  OpenCL takes them. Immutable. */
typedef struct rlo__prepared_launch {
  int64_t src_base_bytes, dst_base_bytes;
  /** Unique among the prepared launches of the context; not 0. */
  uint64_t id;
  cl_uint work_dim;
  size_t global_size[3];
  size_t local_size[3];
  int32_t num_arguments;
  rlo__prepared_argument *arguments;
  uint8_t *constants;
  /** The parts of its program's source. */
  rlo__program_parts parts;
  /** All the arrays. Owned. */
  void *memory;
} rlo__prepared_launch;

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

/**
 * Checks that a compiled kernel can run a launch on the device.
 * @param out_max_group_items  set if it runs no larger work-groups than this.
 * @return RLO_OK; RLO_UNSUPPORTED.
 */
RLO_NODISCARD rlo_status
rlo__prepared_launch_check(const rlo_context *context,
                           const rlo__prepared_launch *prepared,
                           const rlo__program *program,
                           int64_t *out_max_group_items);

/** Enqueues the kernel of its program. The caller has checked the target. On
 *  failure *out_event is unchanged. Threads: safe. */
RLO_NODISCARD rlo_status
rlo__prepared_launch_enqueue(rlo_context *context,
                             const rlo__prepared_launch *prepared,
                             rlo__program *program,
                             const rlo__launch_target *target);

#endif
