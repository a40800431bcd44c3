/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/measure.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"
#include "ir/problem.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"

enum {
  /** Enough rounds to distinguish 2 % of a short kernel on a machine with
   * little other load. */
  MAX_ROUNDS = 200,
  /** The least that rlo_copy_limit copies. */
  MIN_COPY_BYTES = 4096,
  /** Divides the bytes copied, so that no kernel for a tail is measured. */
  COPY_GRAIN_BYTES = 64
};

#define DEFAULT_SECONDS 2.0

/** The share of the time after which no more candidates are built. */
#define BUILDING_SHARE 0.5

/** A candidate that is slower than the fastest by this factor is eliminated. */
#define MOST_LOSS 1.25

/** A candidate must be faster by this factor to replace the default choice. */
#define MIN_GAIN 1.02

/* ------------------------------------------------------------------- timing */

/** A queue with profiling and two buffers of the library's own, to time kernels
 *  on. */
typedef struct bench {
  /** Borrowed. */
  rlo_context *context;
  cl_command_queue queue;
  cl_mem src, dst;
} bench;

/** Creates a buffer and writes every byte of it: memory that was never written
 *  is often not allocated, and reading it measures the speed of a single page
 *  of zeros. */
static rlo_status create_buffer(const bench *b, int64_t bytes, cl_mem *out_buffer) {
  /* One byte long, so that it divides any size. */
  const cl_uchar pattern = 0x5a;
  const int64_t most_bytes = rlo__thresholds.runtime_fill_bytes;
  RLO_TRY(rlo_buffer_create(b->context, rlo__max(bytes, 1), out_buffer));
  for (int64_t at = 0; at < bytes; at += most_bytes) {
    RLO_TRY(RLO_CL(clEnqueueFillBuffer, b->queue, *out_buffer, &pattern, sizeof pattern, (size_t)at,
                   (size_t)rlo__min(bytes - at, most_bytes), 0, NULL, NULL));
  }
  return RLO_CL(clFinish, b->queue);
}

/** The caller calls close_bench, on failure too. */
static rlo_status open_bench(int64_t src_bytes, int64_t dst_bytes, bench *b) {
  cl_int code = CL_SUCCESS;
  b->queue = clCreateCommandQueue(b->context->cl_context, b->context->cl_device,
                                  CL_QUEUE_PROFILING_ENABLE, &code);
  RLO_TRY(rlo__cl_error_check("clCreateCommandQueue", code));
  RLO_TRY(create_buffer(b, src_bytes, &b->src));
  return create_buffer(b, dst_bytes, &b->dst);
}

static void close_bench(bench *b) {
  if (b->queue != NULL) {
    clFinish(b->queue);
    clReleaseCommandQueue(b->queue);
  }
  rlo_buffer_release(b->context, b->src);
  rlo_buffer_release(b->context, b->dst);
}

double rlo__timing_choose(double host_nanos, double device_nanos) {
  /* A launch and a wait take some 10 to 100 us beside a kernel of 1 us. */
  const double most_ratio = 1e4;
  /* The two clocks need not run equally fast. */
  const double tolerance = 1.1;
  bool is_believed =
      device_nanos * most_ratio >= host_nanos && device_nanos <= host_nanos * tolerance;
  return is_believed ? device_nanos : host_nanos;
}

/** Runs a launch once, which is built before.
 *  @param out_nanos  by the device's clock; where that is not believed, or
 *                    unknown, by the host's. */
static rlo_status run_once(const bench *b, rlo__planned *planned, double *out_nanos) {
  cl_event event = NULL;
  const rlo__operand src = {.memory = b->src};
  const rlo__operand dst = {.memory = b->dst};
  const rlo__launch_operands operands = {&src, &dst, NULL};
  rlo__submission to = {.context = planned->context, .queue = b->queue, .out_event = &event};
  RLO_TRY(rlo__planned_build(planned, RLO__BUILD_FOREGROUND, &planned));
  double begun = rlo__clock_seconds();
  RLO_TRY(rlo__planned_launch(planned, &operands, 0, 1, rlo__launch_enqueue, &to));
  rlo_status status = RLO_CL(clWaitForEvents, 1, &event);
  *out_nanos = (rlo__clock_seconds() - begun) * 1e9;
  rlo__command_times times;
  if (rlo__commands_measure(&event, 1, &times) && times.first_begin > 0 && times.total > 0) {
    *out_nanos = rlo__timing_choose(*out_nanos, (double)times.total);
  }
  clReleaseEvent(event);
  return status;
}

/** Plans the copy of so many bytes by the copy kernel. */
static rlo_status plan_copy(rlo_context *context, int64_t bytes, rlo__planned **out_planned) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "copy";
  rlo__plan_rows rows;
  RLO_TRY(rlo__plan_rows_find(&context->device_info, &options, &rows));
  rlo_problem *problem = rlo__alloc_unset(sizeof *problem);
  RLO_TRY_MEMORY(problem);
  *problem = (rlo_problem){.unit_bits = 8,
                           .num_axes = 1,
                           .extents = {bytes},
                           .src = {.axis = {1}},
                           .dst = {.axis = {1}},
                           .src_bytes = bytes,
                           .dst_bytes = bytes,
                           .read_bytes = bytes,
                           .written_bytes = bytes};
  const rlo_device_info *device = &context->device_info;
  const rlo__planned_terms terms = {.device_class = rows.device_class,
                                    .family = (int64_t)(uintptr_t)rows.family,
                                    .src_alignment_bytes = device->base_alignment_bytes,
                                    .dst_alignment_bytes = device->base_alignment_bytes,
                                    .max_group_items = device->max_work_group_items};
  rlo_status status = rlo__planned_get(context, problem, &terms, out_planned);
  rlo__free(problem);
  return status;
}

/* ------------------------------------------------------------ the copy limit
 */

static int compare_nanos(const void *a, const void *b) {
  double left = *(const double *)a;
  double right = *(const double *)b;
  return (left > right) - (left < right);
}

rlo_status rlo_copy_limit(rlo_context *context, int64_t bytes, int32_t rounds,
                          double *out_gb_per_s) {
  RLO_REQUIRE(context, out_gb_per_s);
  RLO_FAIL_IF(bytes < MIN_COPY_BYTES || rounds < 1, RLO_INVALID_ARGUMENT,
              "a copy of %lld bytes in %d rounds; at least %d bytes and one round",
              (long long)bytes, (int)rounds, (int)MIN_COPY_BYTES);
  RLO_TRY(rlo__context_check_process(context));
  bytes -= bytes % COPY_GRAIN_BYTES;
  bench b = {.context = context};
  rlo__planned *copy = NULL;
  rlo_status status = RLO_OUT_OF_MEMORY;
  double *nanos = rlo__alloc_array((size_t)rounds, sizeof *nanos);
  if (nanos == NULL) {
    goto fail;
  }
  RLO_TRY_GOTO(plan_copy(context, bytes, &copy));
  RLO_TRY_GOTO(open_bench(bytes, bytes, &b));
  RLO_TRY_GOTO(run_once(&b, copy, &nanos[0])); /* to warm up */
  for (int32_t i = 0; i < rounds; ++i) {
    RLO_TRY_GOTO(run_once(&b, copy, &nanos[i]));
  }
  qsort(nanos, (size_t)rounds, sizeof *nanos, compare_nanos);
  double median = (nanos[(rounds - 1) / 2] + nanos[rounds / 2]) / 2;
  *out_gb_per_s = 2.0 * (double)bytes / median;
fail:
  close_bench(&b);
  rlo__planned_release(copy);
  rlo__free(nanos);
  return status;
}

/* --------------------------------------------------------------- candidates */

/** A launch that is timed. */
typedef struct contender {
  rlo__planned *planned;
  /** Over all samples; 0 before the first. */
  double best_nanos;
  /** Takes no more samples: too slow, or the device cannot run it. */
  bool is_out;
} contender;

typedef struct contest {
  bench bench;
  /** rlo__clock_seconds() at the start, and the seconds allowed. */
  double begun, seconds;
  rlo_problem problem;
  /** Each candidate is that of the contender in the same place. */
  rlo__candidate candidates[RLO__MAX_PLAN_CANDIDATES];
  contender contenders[RLO__MAX_PLAN_CANDIDATES];
  int32_t count;
  /** The copy kernel, on as many bytes as the smaller buffer has. */
  contender copy;
  int64_t copy_bytes;
} contest;

/** Makes the problem canonical and lists its candidates. */
static rlo_status list_candidates(const rlo_plan_options *options, const rlo__planned_terms *terms,
                                  contest *c) {
  const rlo__plan_request request = {.problem = &c->problem,
                                     .device = &c->bench.context->device_info,
                                     .options = options,
                                     .src_alignment_bytes = terms->src_alignment_bytes,
                                     .dst_alignment_bytes = terms->dst_alignment_bytes};
  RLO_TRY(rlo__planner_list_candidates(&request, c->candidates, &c->count));
  return c->count > 0 ? RLO_OK : RLO_FAIL(RLO_INTERNAL, "there are no candidates to measure");
}

static bool is_over(const contest *c, double share) {
  return rlo__clock_seconds() - c->begun >= share * c->seconds;
}

/** Runs a contender once, which builds it the first time. Drivers do extra work
 *  then; the best run counts. */
static rlo_status take_sample(const contest *c, contender *one) {
  double nanos = 0.0;
  RLO_TRY(run_once(&c->bench, one->planned, &nanos));
  if (one->best_nanos <= 0.0 || nanos < one->best_nanos) {
    one->best_nanos = nanos;
  }
  return RLO_OK;
}

/** Returns the fastest that is left; the first, unless one gains enough. */
static int32_t find_best(const contest *c) {
  const contender *all = c->contenders;
  int32_t best = 0;
  for (int32_t n = 1; n < c->count; ++n) {
    if (!all[n].is_out && all[n].best_nanos < all[best].best_nanos &&
        all[n].best_nanos * MIN_GAIN < all[0].best_nanos) {
      best = n;
    }
  }
  return best;
}

/** The first contender must run; any other that the device cannot build or run,
 *  or for which there is no time, is out. */
static rlo_status take_turn(contest *c, int32_t index) {
  contender *one = &c->contenders[index];
  rlo_status status = RLO_OK;
  if (one->planned == NULL) {
    status = index > 0 && is_over(c, BUILDING_SHARE)
                 ? RLO_UNSUPPORTED
                 : rlo__planned_of_launch(c->bench.context, &c->candidates[index].launch, NULL,
                                          &one->planned);
  }
  if (status == RLO_OK) {
    status = take_sample(c, one);
  }
  one->is_out = status != RLO_OK;
  return index > 0 && (status == RLO_UNSUPPORTED || status == RLO_BUILD_FAILED) ? RLO_OK : status;
}

static rlo_status take_rounds(contest *c) {
  int32_t round = 0;
  do {
    if (c->copy_bytes > 0) {
      RLO_TRY(take_sample(c, &c->copy));
    }
    for (int32_t n = 0; n < c->count; ++n) {
      if (!c->contenders[n].is_out) {
        RLO_TRY(take_turn(c, n));
      }
    }
    const double most_nanos = c->contenders[find_best(c)].best_nanos * MOST_LOSS;
    for (int32_t n = 1; n < c->count; ++n) {
      c->contenders[n].is_out |= c->contenders[n].best_nanos > most_nanos;
    }
  } while (++round < MAX_ROUNDS && !is_over(c, 1.0));
  return RLO_OK;
}

static double fraction_of(const contest *c, int32_t index) {
  double moved_bytes = (double)c->problem.read_bytes + (double)c->problem.written_bytes;
  return c->copy_bytes == 0 ? 0.0
                            : c->copy.best_nanos / c->contenders[index].best_nanos * moved_bytes /
                                  (2.0 * (double)c->copy_bytes);
}

/** Stores the best in the context's wisdom. A failure is logged. */
static void remember(const contest *c, const rlo__planned_terms *terms, int32_t best) {
  rlo_context *context = c->bench.context;
  const rlo__family_query query = {.problem = &c->problem,
                                   .src_alignment_bytes = terms->src_alignment_bytes,
                                   .dst_alignment_bytes = terms->dst_alignment_bytes};
  const rlo__wisdom_entry entry = rlo__wisdom_entry_of(
      &query, c->candidates[best].family, c->candidates[best].schedule, fraction_of(c, best));
  rlo__rwlock_lock_write(&context->wisdom_lock);
  rlo_status status = rlo__wisdom_put(&context->wisdom, &entry);
  rlo__rwlock_unlock(&context->wisdom_lock);
  rlo__plan_memo_clear(&context->memo);
  if (status != RLO_OK) {
    rlo__log(&context->log, RLO__LOG_WARNING, "the measurement is not remembered: %s",
             rlo_error_last()->message);
  }
}

/** Plans by the best contender. */
static rlo_status decide(const contest *c, rlo__decided *decided) {
  const int32_t best = find_best(c);
  const rlo__candidate *chosen = &c->candidates[best];
  rlo__planned_terms terms = decided->planned->terms;
  const bool is_for_all = terms.family == 0 && terms.schedule == 0;
  rlo__log(&c->bench.context->log, RLO__LOG_INFO,
           "timed %d candidates in %.2f s: %s, %s, is best with %.3f of the copy limit; the "
           "expected choice has %.3f",
           (int)c->count, rlo__clock_seconds() - c->begun, chosen->family->name,
           chosen->schedule->name, fraction_of(c, best), fraction_of(c, 0));
  if (is_for_all) {
    remember(c, &terms, best);
  }
  terms.family = (int64_t)(uintptr_t)chosen->family;
  terms.schedule = (int64_t)(uintptr_t)chosen->schedule;
  rlo__planned *planned = NULL;
  RLO_TRY(rlo__planned_get_again(decided->planned, &terms, &planned));
  rlo__planned_release(decided->planned);
  *decided = (rlo__decided){planned, RLO_PLAN_DECISION_MEASURE, fraction_of(c, best)};
  return RLO_OK;
}

/** Lets the candidates run on the bench, and decides. */
static rlo_status hold(contest *c, const rlo_plan_options *options, rlo__decided *decided) {
  RLO_TRY(list_candidates(options, &decided->planned->terms, c));
  const int64_t src_bytes = c->problem.src_bytes;
  const int64_t dst_bytes = c->problem.dst_bytes;
  RLO_TRY(open_bench(src_bytes, dst_bytes, &c->bench));
  c->copy_bytes = rlo__min(src_bytes, dst_bytes);
  if (c->copy_bytes > 0) {
    RLO_TRY(plan_copy(c->bench.context, c->copy_bytes, &c->copy.planned));
  }
  c->begun = rlo__clock_seconds();
  RLO_TRY(take_rounds(c));
  return decide(c, decided);
}

static void destroy_contest(contest *c) {
  close_bench(&c->bench);
  for (int32_t n = 0; n < RLO__MAX_PLAN_CANDIDATES; ++n) {
    rlo__planned_release(c->contenders[n].planned);
    rlo__launch_deinit(&c->candidates[n].launch);
  }
  rlo__planned_release(c->copy.planned);
  rlo__free(c);
}

static bool is_open(const rlo_problem *problem, const rlo__decided *decided) {
  return decided->planned->family != NULL && !rlo_problem_loads(problem) &&
         decided->decision != RLO_PLAN_DECISION_WISDOM;
}

rlo_status rlo__measure(const rlo_problem *problem, const rlo_plan_options *options,
                        rlo__decided *decided) {
  if (!is_open(problem, decided)) {
    return RLO_OK;
  }
  contest *c = rlo__alloc(sizeof *c);
  RLO_TRY_MEMORY(c);
  rlo_context *context = decided->planned->context;
  c->bench.context = context;
  c->seconds = options->measure_seconds > 0 ? options->measure_seconds : DEFAULT_SECONDS;
  rlo__problem_copy(problem, &c->problem);
  rlo__planned *again = NULL;
  rlo__mutex_lock(&context->measuring);
  /* Another thread may have measured meanwhile. */
  rlo_status status = rlo__planned_get(context, problem, &decided->planned->terms, &again);
  if (status == RLO_OK) {
    rlo__planned_release(decided->planned);
    *decided = (rlo__decided){again, again->decision, again->measured_fraction};
    if (is_open(problem, decided)) {
      status = hold(c, options, decided);
    }
  }
  rlo__mutex_unlock(&context->measuring);
  destroy_contest(c);
  return status;
}
