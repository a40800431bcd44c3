/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PLANNED_H
#define RLO_RUNTIME_PLANNED_H

#include "relayout/launch.h"
#include "runtime/operand.h"

/** The memories of one launch, borrowed: none where it reads or writes no bytes. */
typedef struct rlo__launch_operands {
  const rlo__operand *src, *dst, *indices;
} rlo__launch_operands;

/** The queue and the events of one enqueue. */
typedef struct rlo__submission {
  /** Counts the launches. */
  rlo_context *context;
  cl_command_queue queue;
  cl_uint num_wait;
  const cl_event *wait_list;
  /** NULL: no event is created. Unchanged on failure. */
  cl_event *out_event;
  /** The event of the step before, owned; NULL before the first and after the last. */
  cl_event last;
} rlo__submission;

/** The conditions for which a launch of a problem is planned: numbers, which
 * begin the key of what was planned. */
typedef struct rlo__planned_terms {
  int64_t device_class;
  /** The addresses of the family and the schedule that are forced, or 0. */
  int64_t family, schedule;
  /** Both memories are aligned to so many bytes, at least. */
  int64_t src_alignment_bytes, dst_alignment_bytes;
  /** The most work-items of a group. */
  int64_t max_group_items;
} rlo__planned_terms;

/**
 * A launch that was planned in a context for a problem and terms, and its
 * program. The plans of equal problems share it, and the context remembers it
 * (runtime/plan_memo.h). Immutable, but for its program, which is built when it
 * is first needed, and the launch in its place.
 */
typedef struct rlo__planned {
  /** First. The key is the terms and the problem's record (ir/record.h). */
  rlo__memo_entry entry;
  /** Borrowed: its memo and its plans hold what was planned. */
  rlo_context *context;
  /** NULL for an empty problem, which needs no kernel, and for a launch that no
   *  problem is planned for. */
  const rlo__family *family;
  const rlo__schedule *schedule;
  rlo_plan_decision decision;
  double measured_fraction;
  rlo__planned_terms terms;
  /** Owned; NULL for an empty problem. */
  rlo__launch *launch;
  /** Unique in the context; not 0. */
  uint64_t id;
  /** NULL until built, then never another. */
  _Atomic(rlo__program *) program;
  /** The launch in place of this one, whose kernel was found to run smaller
   *  work-groups only; or NULL. */
  _Atomic(struct rlo__planned *) smaller;
  /** The launch to be taken for that; NULL: one is planned. */
  struct rlo__planned *spare;
} rlo__planned;

/**
 * Plans a launch for a problem, or finds what was planned for an equal one.
 * @param out_planned  the caller calls rlo__planned_release.
 * @return as rlo_plan_create. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__planned_get(rlo_context *context, const rlo_problem *problem,
                                          const rlo__planned_terms *terms,
                                          rlo__planned **out_planned);

/** Does the same for the problem of an earlier launch, by other terms. */
RLO_NODISCARD rlo_status rlo__planned_get_again(const rlo__planned *planned,
                                                const rlo__planned_terms *terms,
                                                rlo__planned **out_planned);

/** Makes one of a launch that runs on any memory, which is copied.
 *  @param spare  taken over, unless this fails; NULL: none. */
RLO_NODISCARD rlo_status rlo__planned_of_launch(rlo_context *context, const rlo__launch *launch,
                                                rlo__planned *spare, rlo__planned **out_planned);

/** Drops a reference; NULL is legal. Threads: safe. */
void rlo__planned_release(rlo__planned *planned);

/**
 * Builds the program of a launch, unless it is built. What a compiled kernel
 * can run may be less than the device allows: then the problem is planned again
 * for smaller work-groups, and that launch is built.
 * @param out_ready  the launch to enqueue, borrowed from `planned`.
 * @return as rlo_plan_prepare. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__planned_build(rlo__planned *planned, rlo__build_priority priority,
                                            rlo__planned **out_ready);

/**
 * Calls a function with the kernel of a launch that is built, whose arguments are set.
 * @param operands  checked by the caller.
 * @param step      number `step` of `num_steps`.
 * @return the function's status; RLO_OUT_OF_MEMORY; RLO_DEVICE. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__planned_launch(rlo__planned *planned,
                                             const rlo__launch_operands *operands, int32_t step,
                                             int32_t num_steps, rlo_launch_fn fn, void *payload);

/** The function that enqueues. @param payload  an rlo__submission. */
RLO_NODISCARD rlo_status rlo__launch_enqueue(void *payload, const rlo_launch *launch);

/** Checks the queue and the wait list. @return as rlo_enqueue. */
RLO_NODISCARD rlo_status rlo__submission_check(const rlo__submission *to);

/** Ends a submission whose launches ended with this status. One that has none of them
 *  enqueues a marker for its event. @return the status, or the marker's. */
RLO_NODISCARD rlo_status rlo__submission_end(const rlo__submission *to, rlo_status status,
                                             bool is_empty);

#endif
