/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times requests: lowering, planning, and one enqueue against the bare
 * clSetKernelArg and clEnqueueNDRangeKernel of a kernel with as many arguments.
 * The arrays are tiny, so that the device keeps out of the way.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "latency_engine.h"
#include "suite.h"
#include "timer.h"

enum {
  PLANS = 501,
  /** Enqueues between two clFinish, and how often that. */
  BURST = 50,
  BURSTS = 40,
  CALLS = BURST * BURSTS,
  THREADS = 8,
  MAX_SOURCE_BYTES = 16384
};

/** The extents of the problem that is enqueued. */
static const bench_case_spec tiny = {
    .name = "tiny", .dtype = "f32", .dims = "64,64", .permutation = "1,0"};

typedef struct bare_kernel {
  cl_program program;
  cl_kernel kernel;
} bare_kernel;

/** One way to enqueue. */
typedef struct launcher {
  const bench_arena *arena;
  cl_command_queue queue;
  /** One of these is there. */
  rlo_plan *plan;
  cl_kernel kernel;
  double *nanos;
  bool is_done;
} launcher;

static bool lower(const bench_case_spec *spec, rlo_problem *out_problem) {
  bench_case_list list = {.size_factor = 1.0};
  bool is_done = bench_case_add(&list, spec);
  if (is_done && rlo_relayout_lower(&list.items[0].src, &list.items[0].dst,
                                    list.items[0].permutation, out_problem) != RLO_OK) {
    is_done = bench_fail_last(spec->name);
  }
  bench_case_list_deinit(&list);
  return is_done;
}

static bool report_time(bench_run *run, const char *name, double *nanos, int32_t count,
                        double *reference, const char *reference_name) {
  bench_figure figure = {.suite = "latency",
                         .value = bench_median(nanos, count) / 1e3,
                         .unit = "us",
                         .reference = -1,
                         .reference_name = reference_name};
  snprintf(figure.name, sizeof figure.name, "%s", name);
  if (reference != NULL) {
    figure.reference = bench_median(reference, count) / 1e3;
  }
  return bench_report_figure(run->report, &figure);
}

/** Lowers two texts and the moves of dimensions, which a program has. */
static bool lower_texts(rlo_problem *out_problem) {
  static const char from[] = "f32[15,15,32,15,15,32]{5,4,3,2,1,0}";
  static const char to[] = "f32[32,15,15,32,15,15]{5,4,3,2,1,0}";
  static const int32_t reversed[] = {5, 4, 3, 2, 1, 0};
  rlo_shape src;
  rlo_shape dst;
  return (rlo_shape_parse(from, sizeof from - 1, &src) == RLO_OK &&
          rlo_shape_parse(to, sizeof to - 1, &dst) == RLO_OK &&
          rlo_relayout_lower(&src, &dst, reversed, out_problem) == RLO_OK) ||
         bench_fail_last("lowering");
}

/** Plans of problems that are all new to the context, because they read another
 *  number of bytes, or of one problem. */
static bool time_plans(bench_run *run, rlo_problem *problem, const rlo_plan_options *options,
                       bool is_new, const char *name) {
  double nanos[PLANS];
  for (int32_t i = 0; i < PLANS; ++i) {
    rlo_plan *plan = NULL;
    problem->read_bytes += is_new;
    double start = bench_nanos_now();
    if (rlo_plan_create(run->arena->context, problem, options, &plan) != RLO_OK) {
      return bench_fail_last("planning");
    }
    nanos[i] = bench_nanos_now() - start;
    rlo_plan_release(plan);
  }
  return report_time(run, name, nanos, PLANS, NULL, NULL);
}

static bool time_planning(bench_run *run) {
  double nanos[PLANS];
  rlo_problem *problem = calloc(1, sizeof *problem);
  bool is_done = problem != NULL || bench_fail("out of memory");
  for (int32_t i = 0; i < PLANS && is_done; ++i) {
    double start = bench_nanos_now();
    is_done = lower_texts(problem);
    nanos[i] = bench_nanos_now() - start;
  }
  rlo_plan_options gather = RLO_PLAN_OPTIONS_INIT;
  gather.family = "gather";
  is_done = is_done &&
            report_time(run, "rank 6: two texts to a problem", nanos, PLANS, NULL, NULL) &&
            time_plans(run, problem, NULL, true, "rank 6: a new problem to a plan") &&
            time_plans(run, problem, NULL, false, "rank 6: a problem seen before") &&
            time_plans(run, problem, &gather, true, "rank 6: by family gather");
  free(problem);
  return is_done;
}

static bool create_bare(const bench_arena *arena, bare_kernel *out_bare) {
  static const char path[] = BENCH_DATA_DIR "/bare.cl";
  char text[MAX_SOURCE_BYTES];
  const char *source = text;
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    return bench_fail("%s: %s", path, strerror(errno));
  }
  size_t bytes = fread(text, 1, sizeof text, file);
  fclose(file);
  cl_int code = CL_SUCCESS;
  cl_device_id device = rlo_context_cl_device(arena->context);
  *out_bare = (bare_kernel){0};
  out_bare->program =
      clCreateProgramWithSource(rlo_context_cl_context(arena->context), 1, &source, &bytes, &code);
  if (code == CL_SUCCESS) {
    code = clBuildProgram(out_bare->program, 1, &device, "-cl-std=CL1.2", NULL, NULL);
  }
  if (code == CL_SUCCESS) {
    out_bare->kernel = clCreateKernel(out_bare->program, "bare", &code);
  }
  return code == CL_SUCCESS || bench_fail_cl("building data/bare.cl", code);
}

static void release_bare(bare_kernel *bare) {
  if (bare->kernel != NULL) {
    clReleaseKernel(bare->kernel);
  }
  if (bare->program != NULL) {
    clReleaseProgram(bare->program);
  }
}

/** Set the arguments and launch: what a program that knew its kernel does. */
static cl_int launch_bare(const launcher *one, cl_event *out_event) {
  const cl_ulong zero = 0;
  const cl_int none = 0;
  const cl_long8 grid = {{0}};

  const struct {
    size_t bytes;
    const void *value;
  } arguments[] = {{sizeof(cl_mem), &one->arena->src},
                   {sizeof zero, &zero},
                   {sizeof(cl_mem), &one->arena->dst},
                   {sizeof zero, &zero},
                   {sizeof zero, &zero},
                   {sizeof zero, &zero},
                   {sizeof none, &none},
                   {sizeof grid, &grid},
                   {sizeof grid, &grid},
                   {sizeof grid, &grid},
                   {sizeof none, &none},
                   {sizeof none, &none},
                   {sizeof zero, &zero},
                   {sizeof zero, &zero},
                   {sizeof zero, &zero},
                   {sizeof zero, &zero}};

  const cl_uint count = sizeof arguments / sizeof *arguments;
  for (cl_uint i = 0; i < count; ++i) {
    cl_int code = clSetKernelArg(one->kernel, i, arguments[i].bytes, arguments[i].value);
    if (code != CL_SUCCESS) {
      return code;
    }
  }
  const size_t size = 1;
  return clEnqueueNDRangeKernel(one->queue, one->kernel, 1, NULL, &size, &size, 0, NULL, out_event);
}

static bool launch(const launcher *one) {
  cl_event event = NULL;
  if (one->plan != NULL) {
    if (rlo_enqueue(one->plan, one->queue, one->arena->src, 0, one->arena->dst, 0, 0, NULL,
                    &event) != RLO_OK) {
      return bench_fail_last("enqueueing");
    }
  } else {
    cl_int code = launch_bare(one, &event);
    if (code != CL_SUCCESS) {
      return bench_fail_cl("launching data/bare.cl", code);
    }
  }
  clReleaseEvent(event);
  return true;
}

/** Launch BURST times and wait; only the launches are timed. */
static bool burst(const launcher *one, double *out_nanos) {
  for (int32_t i = 0; i < BURST; ++i) {
    double start = bench_nanos_now();
    if (!launch(one)) {
      return false;
    }
    out_nanos[i] = bench_nanos_now() - start;
  }
  cl_int code = clFinish(one->queue);
  return code == CL_SUCCESS || bench_fail_cl("clFinish", code);
}

/** Both ways in turns, from one thread. */
static bool time_alone(bench_run *run, launcher *ours, launcher *bare) {
  double warm[BURST];
  bool is_done = burst(ours, warm) && burst(bare, warm);
  for (int32_t i = 0; i < BURSTS && is_done; ++i) {
    is_done = burst(ours, ours->nanos + (size_t)i * BURST) &&
              burst(bare, bare->nanos + (size_t)i * BURST);
  }
  /* The cost of an enqueue beside the calls that every program makes: of calls
   * in the same place of neighbouring bursts. */
  double above[CALLS];
  for (int32_t i = 0; i < CALLS && is_done; ++i) {
    above[i] = ours->nanos[i] - bare->nanos[i];
  }
  return is_done &&
         report_time(run, "enqueue, one thread", ours->nanos, CALLS, bare->nanos, "bare") &&
         report_time(run, "enqueue, one thread, above bare", above, CALLS, NULL, NULL);
}

static void *work(void *payload) {
  launcher *one = payload;
  one->is_done = true;
  for (int32_t i = 0; i < BURSTS && one->is_done; ++i) {
    one->is_done = burst(one, one->nanos + (size_t)i * BURST);
  }
  return NULL;
}

/** Threads, each with a queue (and a bare kernel) of its own. */
static bool crowd(const bench_arena *arena, rlo_plan *plan, int32_t num_threads, double *nanos) {
  launcher ones[THREADS];
  bare_kernel bare[THREADS] = {{0}};
  pthread_t threads[THREADS];
  int32_t started = 0;
  bool is_done = true;
  for (int32_t t = 0; t < num_threads && is_done; ++t) {
    cl_int code = CL_SUCCESS;
    ones[t] = (launcher){.arena = arena, .plan = plan, .nanos = nanos + (size_t)t * CALLS};
    is_done = plan != NULL || create_bare(arena, &bare[t]);
    ones[t].kernel = bare[t].kernel;
    ones[t].queue = clCreateCommandQueue(rlo_context_cl_context(arena->context),
                                         rlo_context_cl_device(arena->context), 0, &code);
    if (code != CL_SUCCESS) {
      is_done = bench_fail_cl("clCreateCommandQueue", code);
    } else if (is_done && pthread_create(&threads[t], NULL, work, &ones[t]) != 0) {
      is_done = bench_fail("no thread for enqueueing");
      clReleaseCommandQueue(ones[t].queue);
    } else if (is_done) {
      started += 1;
    } else {
      clReleaseCommandQueue(ones[t].queue);
    }
  }
  for (int32_t t = 0; t < started; ++t) {
    pthread_join(threads[t], NULL);
    is_done = is_done && ones[t].is_done;
    clReleaseCommandQueue(ones[t].queue);
  }
  for (int32_t t = 0; t < num_threads; ++t) {
    release_bare(&bare[t]);
  }
  return is_done;
}

static bool time_enqueueing(bench_run *run, rlo_plan *plan, const bare_kernel *bare,
                            double *ours_nanos, double *bare_nanos) {
  launcher ours = {
      .arena = run->arena, .queue = run->arena->queue, .plan = plan, .nanos = ours_nanos};
  launcher theirs = {
      .arena = run->arena, .queue = run->arena->queue, .kernel = bare->kernel, .nanos = bare_nanos};
  bool is_done = time_alone(run, &ours, &theirs);
  for (int32_t threads = 2; threads <= THREADS && is_done; threads *= 2) {
    char name[64];
    snprintf(name, sizeof name, "enqueue, %d threads at once", (int)threads);
    is_done = crowd(run->arena, plan, threads, ours_nanos) &&
              crowd(run->arena, NULL, threads, bare_nanos) &&
              report_time(run, name, ours_nanos, threads * CALLS, bare_nanos, "bare");
  }
  return is_done;
}

bool bench_suite_latency_run(bench_run *run) {
  bare_kernel bare = {0};
  rlo_plan *plan = NULL;
  rlo_problem *problem = calloc(1, sizeof *problem);
  double *nanos = calloc((size_t)2 * THREADS * CALLS, sizeof *nanos);
  bool is_done = problem != NULL && nanos != NULL;
  if (!is_done) {
    bench_fail("out of memory");
  }
  is_done = is_done && time_planning(run) && lower(&tiny, problem) &&
            bench_arena_reserve(run->arena, problem->src_bytes, problem->dst_bytes) &&
            create_bare(run->arena, &bare);
  if (is_done && (rlo_plan_create(run->arena->context, problem, NULL, &plan) != RLO_OK ||
                  rlo_plan_prepare(plan) != RLO_OK)) {
    is_done = bench_fail_last("planning");
  }
  is_done = is_done && time_enqueueing(run, plan, &bare, nanos, nanos + (size_t)THREADS * CALLS) &&
            bench_latency_engine_run(run);
  rlo_plan_release(plan);
  release_bare(&bare);
  free(nanos);
  free(problem);
  return is_done;
}
