/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the building of programs. A compiler is cold only once in a process and
 * in a cache, so this program runs itself again over one fresh folder, which
 * holds both the library's programs and the driver's own files: first cold,
 * then warm.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "disk.h"
#include "suite.h"
#include "timer.h"

/** The report of a child to its parent. */
typedef struct compile_cost {
  int64_t cases;
  /** Compiled from source, and found on disk. */
  int64_t programs, loaded;
  /** Opening the device. */
  double open_ms;
  /** Waiting for planning and building, before the first launch. */
  double build_ms;
  /** How much longer first launches take than second ones: drivers compile
   *  there too. */
  double first_launch_ms;
} compile_cost;

static const char cost_format[] = "compiled %" SCNd64 " %" SCNd64 " %" SCNd64 " %lf %lf %lf";

/** Plan, build and launch one case twice. */
static bool launch_case(const bench_run *run, const bench_case *item, rlo_problem *problem,
                        compile_cost *cost) {
  rlo_plan *plan = NULL;
  double launches[2] = {0, 0};
  if (rlo_relayout_lower(&item->src, &item->dst, item->permutation, problem) != RLO_OK) {
    return bench_fail_last(item->name);
  }
  double start = bench_nanos_now();
  if (rlo_plan_create(run->arena->context, problem, NULL, &plan) != RLO_OK ||
      rlo_plan_prepare(plan) != RLO_OK) {
    rlo_plan_release(plan);
    return bench_fail_last(item->name);
  }
  cost->build_ms += (bench_nanos_now() - start) / 1e6;
  bool is_done = true;
  for (int32_t i = 0; i < 2 && is_done; ++i) {
    start = bench_nanos_now();
    if (rlo_enqueue(plan, run->arena->queue, run->arena->src, 0, run->arena->dst, 0, 0, NULL,
                    NULL) != RLO_OK) {
      is_done = bench_fail_last(item->name);
    } else {
      clFinish(run->arena->queue);
    }
    launches[i] = (bench_nanos_now() - start) / 1e6;
  }
  if (launches[0] > launches[1]) {
    cost->first_launch_ms += launches[0] - launches[1];
  }
  cost->cases += 1;
  rlo_plan_release(plan);
  return is_done;
}

bool bench_suite_compile_child(const bench_run *run, bool is_only_first) {
  compile_cost cost = {0};
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  bench_case_list list = {.size_factor = run->size_factor};
  rlo_problem *problem = calloc(1, sizeof *problem);
  bool is_done = (problem != NULL || bench_fail("out of memory")) && bench_suite_ttc57_add(&list);
  if (is_only_first && list.count > 1) {
    list.count = 1;
  }
  is_done = is_done && bench_reserve_for_cases(run->arena, &list) &&
            bench_arena_clear_dst(run->arena, run->arena->dst_capacity_bytes - BENCH_GUARD_BYTES);
  for (int32_t i = 0; i < list.count && is_done; ++i) {
    is_done = launch_case(run, &list.items[i], problem, &cost);
  }
  is_done = rlo_context_get_stats(run->arena->context, &stats) == RLO_OK && is_done;
  if (is_done) {
    printf("compiled %" PRId64 " %" PRId64 " %" PRId64 " %.3f %.3f %.3f\n", cost.cases,
           stats.programs_built, stats.disk_hits, run->open_ms, cost.build_ms,
           cost.first_launch_ms);
  }
  free(problem);
  bench_case_list_deinit(&list);
  return is_done;
}

/** Become this program with a cache folder; returns only if that fails. */
static void become_child(const bench_run *run, const char *cache_dir, const char *what,
                         int output) {
  char factor[40];
  char device[16];
  snprintf(factor, sizeof factor, "%.17g", run->size_factor);
  snprintf(device, sizeof device, "%d", (int)run->device_number);
  if (dup2(output, STDOUT_FILENO) < 0 || setenv("POCL_CACHE_DIR", cache_dir, 1) != 0 ||
      setenv("XDG_CACHE_HOME", cache_dir, 1) != 0) {
    return;
  }
  if (run->device_number < 0) {
    execl("/proc/self/exe", run->program, "--compile-child", what, "--size-factor", factor,
          (char *)NULL);
  } else {
    execl("/proc/self/exe", run->program, "--compile-child", what, "--size-factor", factor,
          "--device", device, (char *)NULL);
  }
}

/** @param what  "all" cases or "one". */
static bool run_child(const bench_run *run, const char *cache_dir, const char *what,
                      compile_cost *out_cost) {
  int ends[2];
  char text[256] = "";
  fflush(NULL);
  if (pipe(ends) != 0) {
    return bench_fail("pipe: %s", strerror(errno));
  }
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    become_child(run, cache_dir, what, ends[1]);
    _exit(BENCH_EXIT_FAILED);
  }
  close(ends[1]);
  size_t length = 0;
  while (child > 0 && length + 1 < sizeof text) {
    ssize_t got = read(ends[0], text + length, sizeof text - 1 - length);
    if (got <= 0) {
      break;
    }
    length += (size_t)got;
  }
  close(ends[0]);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
      sscanf(text, cost_format, &out_cost->cases, &out_cost->programs, &out_cost->loaded,
             &out_cost->open_ms, &out_cost->build_ms, &out_cost->first_launch_ms) != 6) {
    return bench_fail("the process that compiles failed (status %d)", status);
  }
  return true;
}

static bool report_number(bench_run *run, const char *name, double value, const char *unit) {
  bench_figure figure = {.suite = "compile", .value = value, .unit = unit, .reference = -1};
  snprintf(figure.name, sizeof figure.name, "%s", name);
  return bench_report_figure(run->report, &figure);
}

static bool measure(bench_run *run, const char *cache_dir) {
  compile_cost cold;
  compile_cost warm;
  compile_cost one;
  return run_child(run, cache_dir, "all", &cold) && run_child(run, cache_dir, "all", &warm) &&
         run_child(run, cache_dir, "one", &one) &&
         report_number(run, "ttc57: cases", (double)cold.cases, "cases") &&
         report_number(run, "ttc57: programs", (double)cold.programs, "programs") &&
         report_number(run, "ttc57: programs compiled again, warm", (double)warm.programs,
                       "programs") &&
         report_number(run, "ttc57: programs from disk, warm", (double)warm.loaded, "programs") &&
         report_number(run, "ttc57: building, cold", cold.build_ms, "ms") &&
         report_number(run, "ttc57: first launches, cold", cold.first_launch_ms, "ms") &&
         report_number(run, "ttc57: building, warm", warm.build_ms, "ms") &&
         report_number(run, "ttc57: first launches, warm", warm.first_launch_ms, "ms") &&
         report_number(run, "case 1 in a second process: opening the device", one.open_ms, "ms") &&
         report_number(run, "case 1 in a second process: stall before it runs",
                       one.build_ms + one.first_launch_ms, "ms");
}

bool bench_suite_compile_run(bench_run *run) {
  const char *parent = getenv("TMPDIR");
  char cache_dir[512];
  snprintf(cache_dir, sizeof cache_dir, "%s/relayout-bench-XXXXXX",
           parent == NULL || parent[0] == '\0' ? "/tmp" : parent);
  if (mkdtemp(cache_dir) == NULL) {
    return bench_fail("%s: %s", cache_dir, strerror(errno));
  }
  bool is_done = measure(run, cache_dir);
  bench_disk_remove(cache_dir);
  return is_done;
}
