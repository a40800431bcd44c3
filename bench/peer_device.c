/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contestants on the device: the library, its copy kernel, its
 * gather family as the naive kernel that moves element by element, and the
 * driver's own copy.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peer.h"

typedef struct device_state {
  const bench_arena *arena;
  /** One for each operand; none: the driver's copy. */
  rlo_plan *plans[BENCH_MAX_OPERANDS];
  int32_t num_plans;
  /** From one operand to the next, in the source. */
  int64_t operand_bytes;
  /** Read and written. */
  int64_t moved_bytes;
  int64_t copy_bytes;
  rlo_plan_info info;
  /** For the plans that need some, which run one after the other; or NULL. */
  cl_mem scratch;
} device_state;

enum {
  /** More than a sum needs. */
  MAX_SCRATCH_BYTES = 16 << 20
};

static void release(void *payload) {
  device_state *state = payload;
  if (state != NULL) {
    for (int32_t n = 0; n < state->num_plans; ++n) {
      rlo_plan_release(state->plans[n]);
    }
    if (state->scratch != NULL) {
      rlo_buffer_release(state->arena->context, state->scratch);
    }
    free(state);
  }
}

static bool finish(void *payload) {
  const device_state *state = payload;
  cl_int code = clFinish(state->arena->queue);
  return code == CL_SUCCESS || bench_fail_cl("clFinish", code);
}

static bool enqueue_plan(void *payload) {
  device_state *state = payload;
  for (int32_t n = 0; n < state->num_plans; ++n) {
    rlo_operands operands = RLO_OPERANDS_INIT;
    operands.src = state->arena->src;
    operands.src_offset_bytes = n * state->operand_bytes;
    operands.dst = state->arena->dst;
    operands.scratch = state->scratch;
    if (rlo_enqueue_operands(state->plans[n], state->arena->queue, &operands, 0, NULL, NULL) !=
        RLO_OK) {
      return bench_fail_last("enqueueing");
    }
  }
  return true;
}

static bool run_plan(void *payload) {
  return enqueue_plan(payload) && finish(payload);
}

static bool enqueue_clcopy(void *payload) {
  const device_state *state = payload;
  cl_int code = clEnqueueCopyBuffer(state->arena->queue, state->arena->src, state->arena->dst, 0, 0,
                                    (size_t)state->copy_bytes, 0, NULL, NULL);
  return code == CL_SUCCESS || bench_fail_cl("clEnqueueCopyBuffer", code);
}

static bool run_clcopy(void *payload) {
  return enqueue_clcopy(payload) && finish(payload);
}

static device_state *create_state(const bench_move *move) {
  device_state *state = calloc(1, sizeof *state);
  if (state == NULL) {
    bench_fail("out of memory");
    return NULL;
  }
  state->arena = move->arena;
  state->copy_bytes = move->copy_bytes;
  return state;
}

/** Gets scratch memory, if the plan needs some and there is none. */
static bool get_scratch(device_state *state, const rlo_plan *plan) {
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  if (rlo_plan_get_info(plan, &info) != RLO_OK) {
    return bench_fail_last("describing a plan");
  }
  if (info.scratch_bytes == 0 || state->scratch != NULL) {
    return true;
  }
  return rlo_buffer_create(state->arena->context, MAX_SCRATCH_BYTES, &state->scratch) == RLO_OK ||
         bench_fail_last("getting scratch memory");
}

static void *create_plans(const bench_move *move, const rlo_problem *problems, int32_t count,
                          const rlo_plan_options *options) {
  device_state *state = create_state(move);
  if (state == NULL) {
    return NULL;
  }
  state->operand_bytes = problems[0].src_bytes;
  for (int32_t n = 0; n < count; ++n) {
    rlo_plan **plan = &state->plans[state->num_plans];
    if (rlo_plan_create(move->arena->context, &problems[n], options, plan) != RLO_OK) {
      bench_fail_last(move->item->name);
      release(state);
      return NULL;
    }
    state->num_plans += 1;
    state->moved_bytes += problems[n].read_bytes + problems[n].written_bytes;
    if (rlo_plan_prepare(*plan) != RLO_OK) {
      bench_fail_last(move->item->name);
      release(state);
      return NULL;
    }
    if (!get_scratch(state, *plan)) {
      release(state);
      return NULL;
    }
  }
  state->info = (rlo_plan_info)RLO_PLAN_INFO_INIT;
  if (rlo_plan_get_info(state->plans[0], &state->info) != RLO_OK) {
    bench_fail_last(move->item->name);
    release(state);
    return NULL;
  }
  return state;
}

static void *create_library(const bench_move *move) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.max_scratch_bytes = MAX_SCRATCH_BYTES;
  if (move->measure_seconds > 0) {
    options.effort = RLO_EFFORT_MEASURE;
    options.measure_seconds = move->measure_seconds;
  }
  return create_plans(move, move->problem, move->item->num_operands, &options);
}

static void *create_estimate(const bench_move *move) {
  /* Wisdom would decide here too; nothing but a default schedule ignores it. */
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.schedule = "default";
  return create_plans(move, move->problem, move->item->num_operands, &options);
}

static void *create_naive(const bench_move *move) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = move->item->is_computed ? "compute" : "gather";
  return create_plans(move, move->problem, move->item->num_operands, &options);
}

static void *create_single(const bench_move *move) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  void *state = NULL;
  if (move->item->single == NULL) {
    return NULL;
  }
  rlo_problem *problem = calloc(1, sizeof *problem);
  if (problem == NULL) {
    bench_fail("out of memory");
    return NULL;
  }
  if (move->item->single(&move->item->dst, problem) == RLO_OK) {
    state = create_plans(move, problem, 1, &options);
  } else {
    bench_fail_last(move->item->name);
  }
  free(problem);
  return state;
}

static int64_t single_bytes(const void *state) {
  return ((const device_state *)state)->moved_bytes;
}

static void *create_copy(const bench_move *move) {
  rlo_problem *problem = calloc(1, sizeof *problem);
  if (problem == NULL) {
    bench_fail("out of memory");
    return NULL;
  }
  problem->unit_bits = 8;
  problem->num_axes = 1;
  problem->extents[0] = move->copy_bytes;
  problem->src.axis[0] = 1;
  problem->dst.axis[0] = 1;
  problem->src_bytes = move->copy_bytes;
  problem->dst_bytes = move->copy_bytes;
  problem->read_bytes = move->copy_bytes;
  problem->written_bytes = move->copy_bytes;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "copy";
  void *state = create_plans(move, problem, 1, &options);
  free(problem);
  return state;
}

static void *create_clcopy(const bench_move *move) {
  return create_state(move);
}

const rlo_plan_info *bench_peer_library_info(void *state) {
  return &((device_state *)state)->info;
}

const bench_peer bench_peer_copy = {
    .name = "copy",
    .summary = "the library's copy kernel",
    .is_copy = true,
    .create = create_copy,
    .run = run_plan,
    .enqueue = enqueue_plan,
    .finish = finish,
    .release = release,
};

const bench_peer bench_peer_library = {
    .name = "relayout",
    .summary = "the library, as it plans by itself",
    .create = create_library,
    .run = run_plan,
    .enqueue = enqueue_plan,
    .finish = finish,
    .release = release,
};

const bench_peer bench_peer_estimate = {
    .name = "estimate",
    .summary = "the library, as it plans without measuring",
    .is_opt_in = true,
    .create = create_estimate,
    .run = run_plan,
    .enqueue = enqueue_plan,
    .finish = finish,
    .release = release,
};

const bench_peer bench_peer_naive = {
    .name = "naive",
    .summary =
        "the library's gather (or compute) kernel: one element after "
        "the other",
    .create = create_naive,
    .run = run_plan,
    .enqueue = enqueue_plan,
    .finish = finish,
    .release = release,
};

const bench_peer bench_peer_single = {
    .name = "single",
    .summary = "of a chain: one relayout into an array of the same shape",
    .moved_bytes = single_bytes,
    .create = create_single,
    .run = run_plan,
    .enqueue = enqueue_plan,
    .finish = finish,
    .release = release,
};

const bench_peer bench_peer_clcopy = {
    .name = "clcopy",
    .summary = "clEnqueueCopyBuffer",
    .is_copy = true,
    .create = create_clcopy,
    .run = run_clcopy,
    .enqueue = enqueue_clcopy,
    .finish = finish,
    .release = release,
};
