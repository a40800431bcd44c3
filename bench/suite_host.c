/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host mover against what copying does on the host with as many threads:
 * the better of memcpy and of non-temporal stores, in turns with it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "suite.h"
#include "timer.h"
#include "verify.h"

enum { NUM_HANDS = 3, COPY_GRAIN_BYTES = 64, MAX_ROUNDS = 1001 };

/** The mover, and the two that copy. */
static const bench_peer *const hands[NUM_HANDS] = {
    &bench_peer_host, &bench_peer_memcpy, &bench_peer_memcpy_cached};

/** What one case has come to: medians. */
typedef struct host_result {
  double gb_per_s;
  double copy_gb_per_s;
  double ratio;
} host_result;

static bool time_once(const bench_peer *peer, void *state, double *out_nanos) {
  double start = bench_nanos_now();
  bool is_done = peer->run(state);
  *out_nanos = bench_nanos_now() - start;
  return is_done;
}

static bool take_turns(const bench_move *move,
                       int32_t rounds,
                       void **states,
                       host_result *out) {
  static double rates[MAX_ROUNDS];
  static double copies[MAX_ROUNDS];
  static double ratios[MAX_ROUNDS];
  for (int32_t i = -1; i < rounds; ++i) {
    double nanos[NUM_HANDS];
    for (int32_t n = 0; n < NUM_HANDS; ++n) {
      if (!time_once(hands[n], states[n], &nanos[n])) {
        return false;
      }
    }
    if (i >= 0) { /* the first one warms up */
      double copy = nanos[1] < nanos[2] ? nanos[1] : nanos[2];
      rates[i] = (double)move->moved_bytes / nanos[0];
      copies[i] = 2.0 * (double)move->copy_bytes / copy;
      ratios[i] = rates[i] / copies[i];
    }
  }
  out->gb_per_s = bench_median(rates, rounds);
  out->copy_gb_per_s = bench_median(copies, rounds);
  out->ratio = bench_median(ratios, rounds);
  return true;
}

/** Runs the mover once and looks at what it wrote. */
static bool check(const bench_move *move, void *state) {
  char reason[256];
  bench_arena arena = *move->arena;
  return bench_arena_clear_dst(&arena, move->problem->dst_bytes) &&
         hands[0]->run(state) &&
         (bench_verify(move->item,
                       move->problem,
                       arena.host_src,
                       arena.host_dst,
                       reason) ||
          bench_fail("%s: %s", move->item->name, reason));
}

static bool measure(const bench_run *run,
                    const bench_arena *arena,
                    const bench_case *item,
                    rlo_problem *problem,
                    host_result *out) {
  void *states[NUM_HANDS] = {NULL};
  bench_move move = {.arena = arena, .item = item, .problem = problem};
  if (!bench_case_lower(item, problem)) {
    return false;
  }
  int64_t smaller = problem->src_bytes < problem->dst_bytes
                        ? problem->src_bytes
                        : problem->dst_bytes;
  move.copy_bytes = smaller - smaller % COPY_GRAIN_BYTES;
  move.moved_bytes = problem->read_bytes + problem->written_bytes;
  bool is_done = true;
  for (int32_t n = 0; n < NUM_HANDS && is_done; ++n) {
    states[n] = hands[n]->create(&move);
    is_done = states[n] != NULL;
  }
  is_done = is_done && check(&move, states[0]) &&
            take_turns(&move, run->report->settings->rounds, states, out);
  for (int32_t n = 0; n < NUM_HANDS; ++n) {
    if (states[n] != NULL) {
      hands[n]->release(states[n]);
    }
  }
  return is_done;
}

static bool report(const bench_run *run,
                   const char *name,
                   const host_result *result,
                   const char *reference_name) {
  bench_figure figure = {.suite = "host",
                         .value = result->gb_per_s,
                         .unit = "GB/s",
                         .reference = result->copy_gb_per_s,
                         .reference_name = reference_name};
  snprintf(figure.name, sizeof figure.name, "%s", name);
  return bench_report_figure(run->report, &figure);
}

static bool report_mean(const bench_run *run,
                        const char *suite,
                        int32_t threads,
                        const double *ratios,
                        int32_t count) {
  double sum = 0;
  double worst = HUGE_VAL;
  for (int32_t i = 0; i < count; ++i) {
    sum += log(ratios[i]);
    worst = ratios[i] < worst ? ratios[i] : worst;
  }
  bench_figure figure = {.suite = "host",
                         .value = exp(sum / count),
                         .unit = "of copy",
                         .reference = worst,
                         .reference_name = "at worst"};
  snprintf(figure.name,
           sizeof figure.name,
           "%s, %d thread%s: geometric mean",
           suite,
           (int)threads,
           threads == 1 ? "" : "s");
  return bench_report_figure(run->report, &figure);
}

static bool run_list(const bench_run *run,
                     const char *suite,
                     const bench_case_list *list,
                     int32_t threads) {
  bench_arena arena = *run->arena;
  arena.threads = threads;
  rlo_problem *problem = calloc(1, sizeof *problem);
  double *ratios = calloc((size_t)list->count + 1, sizeof *ratios);
  bool is_done =
      (problem != NULL && ratios != NULL) || bench_fail("out of memory");
  for (int32_t i = 0; i < list->count && is_done; ++i) {
    host_result result = {0};
    char name[64];
    is_done = measure(run, &arena, &list->items[i], problem, &result);
    ratios[i] = result.ratio;
    snprintf(name, sizeof name, "%.54s, %d", list->items[i].name, (int)threads);
    is_done = is_done && report(run, name, &result, "by a copy");
  }
  is_done = is_done && report_mean(run, suite, threads, ratios, list->count);
  free(problem);
  free(ratios);
  return is_done;
}

static bool run_suite(bench_run *run,
                      const char *name,
                      bool (*add_cases)(bench_case_list *list)) {
  bench_case_list list = {.size_factor = run->size_factor};
  int64_t src_bytes = 1;
  int64_t dst_bytes = 1;
  bool is_done = add_cases(&list);
  for (int32_t i = 0; i < list.count && is_done; ++i) {
    int64_t src = 0;
    int64_t dst = 0;
    is_done = bench_case_bytes(&list.items[i], &src, &dst);
    src_bytes = src > src_bytes ? src : src_bytes;
    dst_bytes = dst > dst_bytes ? dst : dst_bytes;
  }
  is_done = is_done && bench_arena_reserve(run->arena, src_bytes, dst_bytes);
  is_done = is_done && run_list(run, name, &list, 1);
  if (run->arena->threads > 1) {
    is_done = is_done && run_list(run, name, &list, run->arena->threads);
  }
  bench_case_list_deinit(&list);
  return is_done;
}

bool bench_suite_host_run(bench_run *run) {
  return run_suite(run, "ttc57", bench_suite_ttc57_add) &&
         run_suite(run, "ml", bench_suite_ml_add) &&
         run_suite(run, "tile", bench_suite_tile_add);
}
