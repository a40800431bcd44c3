/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_LAUNCH_ENQUEUE_H
#define RLO_RUNTIME_LAUNCH_ENQUEUE_H

#include "runtime/context.h"

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

/** Checks a launch against the device's limits. @return RLO_OK;
 *  RLO_UNSUPPORTED; RLO_INTERNAL. */
RLO_NODISCARD rlo_status rlo__launch_check(const rlo_context *context,
                                           const rlo__launch *launch);

/**
 * Checks that a compiled kernel can run a launch on the device.
 * @param out_max_group_items  set if it runs no larger work-groups than this.
 * @return RLO_OK; RLO_UNSUPPORTED.
 */
RLO_NODISCARD rlo_status
rlo__launch_check_program(const rlo_context *context,
                          const rlo__launch *launch,
                          const rlo__program *program,
                          int64_t *out_max_group_items);

/** Enqueues the kernel of its program. The caller has checked the target. On
 *  failure *out_event is unchanged. @param id  of the launch, unique in the
 *  context; not 0. Threads: safe. */
RLO_NODISCARD rlo_status rlo__launch_enqueue(rlo_context *context,
                                             const rlo__launch *launch,
                                             uint64_t id,
                                             rlo__program *program,
                                             const rlo__launch_target *target);

#endif
