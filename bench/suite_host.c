/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host mover against what copying does on the host with as many threads:
 * the better of memcpy and of non-temporal stores, in turns with it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "suite.h"
#include "timer.h"
#include "turns.h"

enum { NUM_HANDS = 3, COPY_GRAIN_BYTES = 64 };

/** The mover, and the two that copy. */
static const bench_peer *const hands[NUM_HANDS] = {&bench_peer_host, &bench_peer_memcpy,
                                                   &bench_peer_memcpy_cached};

/** The medians of one case. */
typedef struct host_result {
  double gb_per_s;
  double copy_gb_per_s;
  double ratio;
} host_result;

/** Reduces the times of a case. */
static void summarize(const bench_move *move, int32_t rounds, double *nanos, host_result *out) {
  const double copied_bytes = 2.0 * (double)move->copy_bytes;
  double *copy = nanos + rounds;
  for (int32_t i = 0; i < rounds; ++i) {
    copy[i] = fmin(copy[i], copy[rounds + i]);
  }
  out->ratio = bench_turns_ratio(nanos, copy, rounds) * (double)move->moved_bytes / copied_bytes;
  out->gb_per_s = (double)move->moved_bytes / bench_median(nanos, rounds);
  out->copy_gb_per_s = copied_bytes / bench_median(copy, rounds);
}

static bool measure(const bench_run *run, const bench_arena *arena, const bench_case *item,
                    rlo_problem *problem, host_result *out) {
  const int32_t rounds = run->report->settings->rounds;
  bench_move move = {.arena = arena, .item = item, .problem = problem};
  if (!bench_case_lower(item, problem)) {
    return false;
  }
  int64_t smaller =
      problem->src_bytes < problem->dst_bytes ? problem->src_bytes : problem->dst_bytes;
  move.copy_bytes = smaller - smaller % COPY_GRAIN_BYTES;
  move.moved_bytes = problem->read_bytes + problem->written_bytes;
  double *nanos = calloc((size_t)NUM_HANDS * (size_t)rounds, sizeof *nanos);
  if (nanos == NULL) {
    return bench_fail("out of memory");
  }
  bool is_done = bench_turns_take(&move, hands, NUM_HANDS, rounds, nanos);
  for (int32_t n = 0; n < NUM_HANDS && is_done; ++n) {
    is_done =
        nanos[n * rounds] > 0 || bench_fail("%s: %s cannot do it", item->name, hands[n]->name);
  }
  if (is_done) {
    summarize(&move, rounds, nanos, out);
  }
  free(nanos);
  return is_done;
}

static bool report(const bench_run *run, const char *name, const host_result *result) {
  bench_figure figure = {.suite = "host",
                         .value = result->gb_per_s,
                         .unit = "GB/s",
                         .reference = result->copy_gb_per_s,
                         .reference_name = "by a copy",
                         .ratio = result->ratio};
  snprintf(figure.name, sizeof figure.name, "%s", name);
  return bench_report_figure(run->report, &figure);
}

static bool run_list(const bench_run *run, const char *suite, const bench_case_list *list,
                     int32_t threads) {
  bench_arena arena = *run->arena;
  arena.threads = threads;
  rlo_problem *problem = calloc(1, sizeof *problem);
  double *ratios = calloc((size_t)list->count + 1, sizeof *ratios);
  bool is_done = (problem != NULL && ratios != NULL) || bench_fail("out of memory");
  for (int32_t i = 0; i < list->count && is_done; ++i) {
    host_result result = {0};
    char name[80];
    is_done = measure(run, &arena, &list->items[i], problem, &result);
    ratios[i] = result.ratio;
    snprintf(name, sizeof name, "%.54s, %d", list->items[i].name, (int)threads);
    is_done = is_done && report(run, name, &result);
  }
  char mean_name[64];
  snprintf(mean_name, sizeof mean_name, "%s, %d thread%s: geometric mean", suite, (int)threads,
           threads == 1 ? "" : "s");
  is_done =
      is_done && bench_report_mean(run->report, "host", mean_name, "of copy", ratios, list->count);
  free(problem);
  free(ratios);
  return is_done;
}

static bool run_suite(bench_run *run, const char *name, bool (*add_cases)(bench_case_list *list)) {
  bench_case_list list = {.size_factor = run->size_factor};
  bool is_done = add_cases(&list) && bench_reserve_for_cases(run->arena, &list);
  is_done = is_done && run_list(run, name, &list, 1);
  if (run->arena->threads > 1) {
    is_done = is_done && run_list(run, name, &list, run->arena->threads);
  }
  bench_case_list_deinit(&list);
  return is_done;
}

bool bench_suite_host_run(bench_run *run) {
  return run_suite(run, "ttc57", bench_suite_ttc57_add) &&
         run_suite(run, "ml", bench_suite_ml_add) && run_suite(run, "tile", bench_suite_tile_add);
}
