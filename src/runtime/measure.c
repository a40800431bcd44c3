/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/measure.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/status.h"
#include "runtime/cl_error.h"
#include "runtime/prepared_launch.h"
#include "runtime/timing.h"

enum {
  /** Enough rounds to distinguish 2 % on a machine with little other load. */
  MAX_ROUNDS = 16,
  /** The slower half is eliminated after so many rounds. */
  ROUNDS_PER_ELIMINATION = 2,
  /** However little time is allowed: without a round there is no result. */
  MIN_ROUNDS = 1,
  /** A sample of a short kernel is the best of several runs. */
  SAMPLE_NANOS = 500000,
  MAX_RUNS_PER_SAMPLE = 20
};

#define DEFAULT_SECONDS 2.0

/** The share of the time after which no more candidates are built. */
#define BUILDING_SHARE 0.5

/** A candidate must be faster by this factor to replace the default choice. */
#define MIN_GAIN 1.02

/** A candidate whose kernel was built and run. */
typedef struct timed_candidate {
  rlo__prepared_launch launch;
  rlo__program_slot program;
  /** Takes no more samples: too slow, or the device cannot run it. */
  bool is_eliminated;
  /** Over all samples. */
  double best_nanos;
  /** One sample per round, the first num_rounds of them. */
  double nanos[MAX_ROUNDS];
  int32_t num_rounds;
} timed_candidate;

typedef struct measurement {
  rlo_context *context;
  /** rlo__clock_seconds() at the start, and the seconds allowed. */
  double begun, seconds;
  rlo_problem problem;
  rlo__candidate *candidates;
  int32_t num_candidates;
  /** The first num_timed candidates. */
  timed_candidate timed[RLO__MAX_PLAN_CANDIDATES];
  int32_t num_timed;
  /** The copy kernel, on as many bytes as the smaller buffer has. */
  timed_candidate copy;
  int64_t copy_bytes;
  rlo__timing timing;
} measurement;

static rlo_status run_once(const measurement *m,
                           timed_candidate *one,
                           double *out_nanos) {
  cl_event event = NULL;
  const rlo__launch_target target = {.queue = m->timing.queue,
                                     .src = m->timing.src,
                                     .dst = m->timing.dst,
                                     .out_event = &event};
  double begun = rlo__clock_seconds();
  RLO_TRY(rlo__prepared_launch_enqueue(
      m->context, &one->launch, atomic_load(&one->program), &target));
  return rlo__timing_wait(event, begun, out_nanos);
}

static rlo_status take_sample(measurement *m,
                              timed_candidate *one,
                              double *out_nanos) {
  double total_nanos = 0.0;
  *out_nanos = 0.0;
  for (int32_t n = 0;
       n < MAX_RUNS_PER_SAMPLE && total_nanos < (double)SAMPLE_NANOS;
       ++n) {
    double nanos = 0.0;
    RLO_TRY(run_once(m, one, &nanos));
    total_nanos += nanos;
    if (n == 0 || nanos < *out_nanos) {
      *out_nanos = nanos;
    }
  }
  if (one->best_nanos <= 0.0 || *out_nanos < one->best_nanos) {
    one->best_nanos = *out_nanos;
  }
  return RLO_OK;
}

static rlo_status take_sample_of_round(measurement *m, timed_candidate *one) {
  RLO_TRY(take_sample(m, one, &one->nanos[one->num_rounds]));
  ++one->num_rounds;
  return RLO_OK;
}

/** Builds a launch, runs it once (drivers do extra work at the first launch),
 *  and takes a first sample. */
static rlo_status begin_timing(measurement *m,
                               const rlo__launch *launch,
                               timed_candidate *one) {
  double unused = 0.0;
  one->is_eliminated = true;
  RLO_TRY(rlo__prepared_launch_init(m->context, launch, &one->launch));
  RLO_TRY(rlo__prepared_launch_build(
      m->context, &one->launch, RLO__BUILD_FOREGROUND, &one->program, NULL));
  RLO_TRY(run_once(m, one, &unused));
  RLO_TRY(take_sample(m, one, &unused));
  one->is_eliminated = false;
  return RLO_OK;
}

static rlo_status begin_copy(measurement *m,
                             int64_t alignment_bytes,
                             rlo__launch *launch) {
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  if (problem == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__copy_problem_init(m->copy_bytes, problem);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "copy";
  const rlo__plan_request request = {.problem = problem,
                                     .device = &m->context->device_info,
                                     .options = &options,
                                     .src_alignment_bytes = alignment_bytes,
                                     .dst_alignment_bytes = alignment_bytes};
  rlo_status status = rlo__planner_choose(&request, NULL, launch);
  rlo__free(problem);
  RLO_TRY(status);
  return begin_timing(m, launch, &m->copy);
}

static double seconds_of(const measurement *m) {
  return rlo__clock_seconds() - m->begun;
}

static bool is_over(const measurement *m, double share) {
  return seconds_of(m) >= share * m->seconds;
}

/** The first candidate must run; any other that the device cannot build or run
 *  is eliminated. */
static rlo_status begin_all(measurement *m) {
  for (int32_t n = 0; n < m->num_candidates; ++n) {
    if (n > 0 && is_over(m, BUILDING_SHARE)) {
      break;
    }
    timed_candidate *one = &m->timed[m->num_timed++];
    rlo_status status = begin_timing(m, &m->candidates[n].launch, one);
    if (status != RLO_OK &&
        (n == 0 || (status != RLO_BUILD_FAILED && status != RLO_UNSUPPORTED))) {
      return status;
    }
  }
  return RLO_OK;
}

/** Eliminates the slower half of the candidates left, but never the first. */
static void eliminate_slower_half(measurement *m) {
  int32_t num_left = 0;
  for (int32_t n = 0; n < m->num_timed; ++n) {
    num_left += !m->timed[n].is_eliminated;
  }
  int32_t num_out = num_left / 2;
  for (; num_out > 0 && num_left > 2; --num_out) {
    timed_candidate *slowest = NULL;
    for (int32_t n = 1; n < m->num_timed; ++n) {
      timed_candidate *one = &m->timed[n];
      if (!one->is_eliminated &&
          (slowest == NULL || one->best_nanos > slowest->best_nanos)) {
        slowest = one;
      }
    }
    if (slowest == NULL) {
      return;
    }
    slowest->is_eliminated = true;
    --num_left;
  }
}

static rlo_status take_rounds(measurement *m) {
  eliminate_slower_half(m);
  for (int32_t round = 0;
       round < MIN_ROUNDS || (round < MAX_ROUNDS && !is_over(m, 1.0));
       ++round) {
    if (m->copy_bytes > 0) {
      RLO_TRY(take_sample_of_round(m, &m->copy));
    }
    for (int32_t n = 0; n < m->num_timed; ++n) {
      if (!m->timed[n].is_eliminated) {
        RLO_TRY(take_sample_of_round(m, &m->timed[n]));
      }
    }
    if (round % ROUNDS_PER_ELIMINATION == ROUNDS_PER_ELIMINATION - 1) {
      eliminate_slower_half(m);
    }
  }
  return RLO_OK;
}

/** The median, over the rounds that both took part in, of the factor by which
 *  `one` was faster than `other` in the same round: load that varies
 *  slows both. */
static double median_gain(const timed_candidate *one,
                          const timed_candidate *other) {
  double gains[MAX_ROUNDS];
  int32_t count = 0;
  for (int32_t n = 0; n < one->num_rounds && n < other->num_rounds; ++n) {
    double gain = other->nanos[n] / one->nanos[n];
    int32_t place = count++;
    for (; place > 0 && gains[place - 1] > gain; --place) {
      gains[place] = gains[place - 1];
    }
    gains[place] = gain;
  }
  return count == 0 ? 0.0 : (gains[(count - 1) / 2] + gains[count / 2]) / 2.0;
}

static double fraction_of(const measurement *m, const timed_candidate *one) {
  double moved_bytes =
      (double)m->problem.read_bytes + (double)m->problem.written_bytes;
  return m->copy_bytes == 0 ? 0.0
                            : median_gain(one, &m->copy) * moved_bytes /
                                  (2.0 * (double)m->copy_bytes);
}

/** The fastest of those not eliminated, if it beats the first both in its best
 *  sample and round by round. */
static int32_t find_best(const measurement *m) {
  const timed_candidate *first = &m->timed[0];
  int32_t best = 0;
  for (int32_t n = 1; n < m->num_timed; ++n) {
    const timed_candidate *one = &m->timed[n];
    if (!one->is_eliminated && one->best_nanos * MIN_GAIN < first->best_nanos &&
        one->best_nanos < m->timed[best].best_nanos &&
        median_gain(one, first) > MIN_GAIN) {
      best = n;
    }
  }
  return best;
}

static void report_best(const measurement *m, rlo__measured *out_measured) {
  int32_t best = find_best(m);
  *out_measured = (rlo__measured){.family = m->candidates[best].family,
                                  .schedule = m->candidates[best].schedule,
                                  .fraction = fraction_of(m, &m->timed[best])};
  rlo__log(&m->context->log,
           RLO__LOG_INFO,
           "timed %d of %d candidates in %.2f s: %s, %s, is best with %.3f of "
           "the copy limit; the expected choice has %.3f",
           (int)m->num_timed,
           (int)m->num_candidates,
           seconds_of(m),
           out_measured->family->name,
           out_measured->schedule->name,
           out_measured->fraction,
           fraction_of(m, &m->timed[0]));
}

static rlo_status run(measurement *m,
                      const rlo_plan_options *options,
                      int64_t alignment_bytes,
                      rlo__measured *out_measured) {
  const rlo__plan_request request = {.problem = &m->problem,
                                     .device = &m->context->device_info,
                                     .options = options,
                                     .src_alignment_bytes = alignment_bytes,
                                     .dst_alignment_bytes = alignment_bytes};
  RLO_TRY(rlo__planner_list_candidates(
      &request, m->candidates, &m->num_candidates));
  if (m->num_candidates == 0) {
    return RLO_FAIL(RLO_INTERNAL, "there are no candidates to measure");
  }
  const int64_t src_bytes = m->problem.src_bytes;
  const int64_t dst_bytes = m->problem.dst_bytes;
  RLO_TRY(rlo__timing_init(m->context, src_bytes, dst_bytes, &m->timing));
  m->copy_bytes = rlo__min(src_bytes, dst_bytes);
  m->begun = rlo__clock_seconds();
  RLO_TRY(begin_all(m));
  if (m->copy_bytes > 0) {
    /* The launch of a candidate is not needed after its timing has begun. */
    rlo__launch *scratch = &m->candidates[0].launch;
    RLO_TRY(begin_copy(m, alignment_bytes, scratch));
  }
  RLO_TRY(take_rounds(m));
  report_best(m, out_measured);
  return RLO_OK;
}

static void end_timing(measurement *m, timed_candidate *one) {
  rlo__program_cache_put(m->context->programs, atomic_load(&one->program));
  rlo__prepared_launch_deinit(&one->launch);
}

static void close_measurement(measurement *m) {
  for (int32_t n = 0; n < m->num_timed; ++n) {
    end_timing(m, &m->timed[n]);
  }
  end_timing(m, &m->copy);
  rlo__timing_deinit(&m->timing);
  for (int32_t n = 0; m->candidates != NULL && n < RLO__MAX_PLAN_CANDIDATES;
       ++n) {
    rlo__launch_deinit(&m->candidates[n].launch);
  }
  rlo__free(m->candidates);
  rlo__free(m);
}

rlo_status rlo__measure(rlo_context *context,
                        const rlo_problem *problem,
                        const rlo_plan_options *options,
                        int64_t alignment_bytes,
                        rlo__measured *out_measured) {
  measurement *m = rlo__alloc(sizeof *m);
  if (m == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  m->context = context;
  m->problem = *problem;
  m->seconds =
      options->measure_seconds > 0 ? options->measure_seconds : DEFAULT_SECONDS;
  m->candidates =
      rlo__alloc_array(RLO__MAX_PLAN_CANDIDATES, sizeof *m->candidates);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (m->candidates != NULL) {
    status = run(m, options, alignment_bytes, out_measured);
  }
  close_measurement(m);
  return status;
}
