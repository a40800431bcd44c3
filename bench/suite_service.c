/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times a service where everything fits: a job from memory to memory in turns
 * with the plan alone over the same memory, the same on the host with the mover
 * alone, and two halves of a device as two contexts with the whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "suite.h"
#include "timer.h"
#include "turns.h"

#define COUNT_OF(array) ((int32_t)(sizeof(array) / sizeof *(array)))

/** Cases of ttc57, by their numbers: ranks 2 to 6, runs short and long. */
static const char *const ttc57_numbers[] = {"1:", "5:", "17:", "25:", "30:", "42:", "50:", "57:"};

/** All of at least 64 MiB. */
static const bench_case_spec large[] = {
    {.name = "u8 transposed", .dtype = "u8", .dims = "14465,7233", .permutation = "1,0"},
    {.name = "f32 transposed", .dtype = "f32", .dims = "10000,10000", .permutation = "1,0"},
    {.name = "f64 transposed", .dtype = "f64", .dims = "4096,2048", .permutation = "1,0"},
    {.name = "bf16 NHWC to NCHW",
     .dtype = "bf16",
     .dims = "64,112,112,64",
     .permutation = "0,3,1,2"},
    {.name = "f32 to T(8,128)",
     .dtype = "f32",
     .dims = "7001,8001",
     .dst_layout = "{1,0:T(8,128)fill(zero)}"},
};

/** The contestants. */
enum { PLAN, JOB, PARTS, MOVER, HOST_JOB, NUM_HANDS };

static const bench_peer *const hands[NUM_HANDS] = {
    [PLAN] = &bench_peer_library,          [JOB] = &bench_peer_service,
    [PARTS] = &bench_peer_service_parts,   [MOVER] = &bench_peer_host,
    [HOST_JOB] = &bench_peer_service_host,
};

/** The pairs that are compared. */
typedef struct pair {
  const char *name;
  const char *reference_name;
  int32_t hand, reference;
} pair;

static const pair pairs[] = {
    {"a job", "by the plan", JOB, PLAN},
    {"a job on two halves", "by one on the whole", PARTS, JOB},
    {"a job on the host", "by the mover", HOST_JOB, MOVER},
};

enum { NUM_PAIRS = sizeof pairs / sizeof *pairs };

static bool is_chosen(const bench_case *item) {
  for (int32_t n = 0; n < COUNT_OF(ttc57_numbers); ++n) {
    if (strncmp(item->name, ttc57_numbers[n], strlen(ttc57_numbers[n])) == 0) {
      return true;
    }
  }
  return false;
}

bool bench_suite_service_add(bench_case_list *list) {
  int32_t kept = list->count;
  bool is_done = bench_suite_ttc57_add(list);
  for (int32_t i = kept; i < list->count; ++i) {
    if (is_chosen(&list->items[i])) {
      list->items[kept++] = list->items[i];
    }
  }
  list->count = kept;
  return is_done && bench_case_add_all(list, large, COUNT_OF(large));
}

static bool report_pair(const bench_run *run, const bench_case *item, const pair *of,
                        int64_t moved_bytes, double *nanos, double *out_ratio) {
  const int32_t rounds = run->report->settings->rounds;
  double *ours = nanos + of->hand * rounds;
  double *theirs = nanos + of->reference * rounds;
  *out_ratio = bench_turns_ratio(ours, theirs, rounds);
  const double bytes = (double)moved_bytes;
  bench_figure figure = {.suite = "service",
                         .value = bytes / bench_median(ours, rounds),
                         .unit = "GB/s",
                         .reference = bytes / bench_median(theirs, rounds),
                         .reference_name = of->reference_name,
                         .ratio = *out_ratio};
  snprintf(figure.name, sizeof figure.name, "%s, %s", item->name, of->name);
  return bench_report_figure(run->report, &figure);
}

/** @param nanos       room for the times of all contestants, and as many again.
 *  @param out_ratios  of each pair; 0: one of the two cannot do it. */
static bool measure(const bench_run *run, const bench_case *item, rlo_problem *problem,
                    double *nanos, double *out_ratios) {
  const size_t rounds = (size_t)run->report->settings->rounds;
  bench_move move = {.arena = run->arena, .item = item, .problem = problem};
  if (!bench_case_lower(item, problem) ||
      !bench_turns_take(&move, hands, NUM_HANDS, (int32_t)rounds, nanos)) {
    return false;
  }
  int64_t moved_bytes = problem->read_bytes + problem->written_bytes;
  double *scratch = nanos + NUM_HANDS * rounds;
  for (int32_t p = 0; p < NUM_PAIRS; ++p) {
    const pair *of = &pairs[p];
    bool can_run =
        nanos[(size_t)of->hand * rounds] > 0 && nanos[(size_t)of->reference * rounds] > 0;
    /* Medians sort. */
    memcpy(scratch, nanos, NUM_HANDS * rounds * sizeof *nanos);
    if (can_run && !report_pair(run, item, of, moved_bytes, scratch, &out_ratios[p])) {
      return false;
    }
  }
  return true;
}

static bool report_means(const bench_run *run, const double *ratios, double *scratch) {
  for (int32_t p = 0; p < NUM_PAIRS; ++p) {
    char name[64];
    int32_t count = 0;
    for (int32_t i = 0; i < run->cases->count; ++i) {
      if (ratios[i * NUM_PAIRS + p] > 0) {
        scratch[count++] = ratios[i * NUM_PAIRS + p];
      }
    }
    snprintf(name, sizeof name, "%s: geometric mean", pairs[p].name);
    if (count == 0) {
      fprintf(run->report->table, "%s: left out, this device cannot do it\n", pairs[p].name);
    } else if (!bench_report_mean(run->report, "service", name, pairs[p].reference_name, scratch,
                                  count)) {
      return false;
    }
  }
  return true;
}

bool bench_suite_service_run(bench_run *run) {
  const bench_case_list *cases = run->cases;
  const size_t rounds = (size_t)run->report->settings->rounds;
  rlo_problem *problem = calloc(1, sizeof *problem);
  double *nanos = calloc(2 * NUM_HANDS * rounds, sizeof *nanos);
  double *ratios = calloc((size_t)cases->count * (NUM_PAIRS + 1), sizeof *ratios);
  bool is_done =
      (problem != NULL && nanos != NULL && ratios != NULL) || bench_fail("out of memory");
  is_done = is_done && bench_reserve_for_cases(run->arena, cases);
  for (int32_t i = 0; i < cases->count && is_done; ++i) {
    is_done = measure(run, &cases->items[i], problem, nanos, &ratios[i * NUM_PAIRS]);
  }
  is_done = is_done && report_means(run, ratios, ratios + cases->count * NUM_PAIRS);
  free(problem);
  free(nanos);
  free(ratios);
  return is_done;
}
