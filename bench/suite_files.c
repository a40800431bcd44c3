/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: the command `relayout convert` within several budgets of memory,
 * against `cp` of the same input and what else moves arrays between files.
 * Programs are measured as a whole, from their start until what they made is on
 * the disk, in turns, and all with their input in the same state: not in
 * memory, or all of it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "bench.h"
#include "contestant.h"
#include "disk.h"
#include "process.h"
#include "timer.h"

#define COUNT_OF(array) ((int32_t)(sizeof(array) / sizeof *(array)))

enum {
  NUM_CACHES = 2,
  /** For programs that are not ours. */
  LIMIT_SECONDS = 1800,
  MAX_PATH_BYTES = 1024
};

/** At their full size each side has 9.6 GB. */
static const bench_case_spec cases[] = {
    {.name = "f32 transposed", .dtype = "f32", .dims = "40000,60000", .permutation = "1,0"},
    {.name = "u8 NHWC to NCHW", .dtype = "u8", .dims = "63776,224,224,3", .permutation = "0,3,1,2"},
    {.name = "f32 batch transposed",
     .dtype = "f32",
     .dims = "9600,500,500",
     .permutation = "0,2,1"},
    {.name = "bf16 padded and tiled",
     .dtype = "bf16",
     .dims = "59995,79990",
     .dst_layout = "{1,0:T(8,128)(2,1)fill(zero)}"},
};

static const char *const cache_names[NUM_CACHES] = {
    [BENCH_CACHE_COLD] = "cold", [BENCH_CACHE_WARM] = "warm"};

typedef struct files {
  bench_run *run;
  char folder[MAX_PATH_BYTES];
  char src[MAX_PATH_BYTES + 16], dst[MAX_PATH_BYTES + 16];
  char log[MAX_PATH_BYTES + 16];
  bench_contestants list;
  /** [contestant * rounds + round], of one state of one case. */
  double *nanos;
  /** The ratios to the copy, for the means: of each state, contestant and
   *  case. 0: there is none. */
  double *ratios;
} files;

/** One case, while it is measured. */
typedef struct file_case {
  const bench_case *item;
  int32_t number;
  rlo_problem *problem;
  /** The sums of the input, and of the right output once one has been checked.
   */
  bench_sum src_sum, dst_sum;
  /** Does not take part any more. */
  bool is_out[BENCH_MAX_CONTESTANTS];
  int32_t passes[BENCH_MAX_CONTESTANTS];
  int64_t peak_bytes[BENCH_MAX_CONTESTANTS];
} file_case;

bool bench_suite_files_add(bench_case_list *list) {
  return bench_case_add_all(list, cases, COUNT_OF(cases));
}

/* ------------------------------------------------------------------ signals */

static volatile sig_atomic_t is_stopped;

static void stop(int signal_number) {
  (void)signal_number;
  is_stopped = 1;
}

/** The files are large: a signal ends the suite, not the process. */
static void catch_signals(void (*handler)(int)) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = handler};
  sigemptyset(&action.sa_mask);
  for (int32_t n = 0; n < COUNT_OF(numbers); ++n) {
    sigaction(numbers[n], &action, NULL);
  }
}

static bool goes_on(void) {
  return !is_stopped || bench_fail("stopped by a signal");
}

/* -------------------------------------------------------------------- a run */

/** A contestant that cannot go on. @return false if it has to. */
static bool leave_out(const files *f, file_case *c, int32_t number, const char *why) {
  const bench_contestant *who = &f->list.items[number];
  c->is_out[number] = true;
  fprintf(f->run->report->table, "%s: %s: left out, %s\n", c->item->name, who->name, why);
  return (who->kind != BENCH_CONTESTANT_COPY && !bench_contestant_is_ours(who)) ||
         bench_fail("%s: %s: %s", c->item->name, who->name, why);
}

/** The passes that the command says it made: the last of its objects. */
static int32_t read_passes(const files *f) {
  static const char key[] = "\"num_passes\":";
  char line[4096];
  int32_t passes = 0;
  FILE *log = fopen(f->log, "r");
  while (log != NULL && fgets(line, sizeof line, log) != NULL) {
    const char *found = strstr(line, key);
    passes = found != NULL ? (int32_t)strtol(found + sizeof key - 1, NULL, 10) : passes;
  }
  if (log != NULL) {
    fclose(log);
  }
  return passes;
}

/** Look at what a contestant has made: the first that makes the output cell by
 *  cell, the others all bytes against that. */
static bool check(const files *f, file_case *c, int32_t number) {
  const bench_contestant *who = &f->list.items[number];
  const bench_sum *right = who->kind == BENCH_CONTESTANT_COPY ? &c->src_sum : &c->dst_sum;
  char reason[256];
  bench_sum sum;
  if (who->kind == BENCH_CONTESTANT_COMMAND) {
    return true;
  }
  if (!bench_disk_sum(f->dst, &sum)) {
    return false;
  }
  if (right->bytes == 0) {
    if (!bench_disk_verify(c->item, c->problem, f->src, f->dst, reason)) {
      return leave_out(f, c, number, reason);
    }
    c->dst_sum = sum;
  }
  return bench_sum_equal(&sum, right) || leave_out(f, c, number, "its output is wrong");
}

/** Run a contestant once and look at what it made; it may leave. */
static bool run_once(const files *f, file_case *c, int32_t number, double *out_nanos) {
  const bench_contestant *who = &f->list.items[number];
  bench_usage usage;
  bench_arguments with;
  if (!bench_contestant_call(&f->list, who, c->item, f->src, f->dst, &with)) {
    c->is_out[number] = true;
    return true;
  }
  const bench_process process = {
      .arguments = with.items,
      .output = f->log,
      .made = f->dst,
      .limit_seconds = bench_contestant_is_ours(who) ? 0 : LIMIT_SECONDS};
  if (!bench_process_run(&process, &usage) || !goes_on()) {
    return false;
  }
  if (!usage.is_done) {
    return leave_out(f, c, number, usage.is_late ? "it takes too long" : "it failed");
  }
  *out_nanos = usage.nanos;
  if (usage.peak_bytes > c->peak_bytes[number]) {
    c->peak_bytes[number] = usage.peak_bytes;
  }
  c->passes[number] = bench_contestant_is_ours(who) ? read_passes(f) : 0;
  return check(f, c, number) && goes_on();
}

/** Bring the disk and the cache into the state that a turn begins with. */
static bool prepare(const files *f, const bench_contestant *who, bench_cache cache,
                    bool *out_is_ready) {
  bench_disk_remove(f->dst);
  *out_is_ready =
      bench_disk_set_cache(who->kind == BENCH_CONTESTANT_COMMAND ? who->input : f->src, cache);
  return goes_on();
}

/** @param out_can_be  false: the system does not bring about this state. */
static bool take_turns(files *f, file_case *c, bench_cache cache, bool *out_can_be) {
  const int32_t rounds = f->run->report->settings->rounds;
  *out_can_be = true;
  for (int32_t i = 0; i < rounds; ++i) {
    for (int32_t n = 0; n < f->list.count; ++n) {
      if (c->is_out[n]) {
        continue;
      }
      if (!prepare(f, &f->list.items[n], cache, out_can_be)) {
        return false;
      }
      if (!*out_can_be) {
        return true;
      }
      if (!run_once(f, c, n, &f->nanos[n * rounds + i])) {
        return false;
      }
    }
  }
  return true;
}

/* ------------------------------------------------------------------ reports */

static double *ratio_of(const files *f, bench_cache cache, int32_t number, int32_t case_number) {
  return &f->ratios[((int32_t)cache * BENCH_MAX_CONTESTANTS + number) * f->run->cases->count +
                    case_number];
}

static bool report_contestant(const files *f, const file_case *c, bench_cache cache,
                              int32_t number) {
  const bench_contestant *who = &f->list.items[number];
  const int32_t rounds = f->run->report->settings->rounds;
  static double scratch[BENCH_MAX_ROUNDS];
  const double *nanos = f->nanos + number * rounds;
  double copied = 2.0 * (double)c->src_sum.bytes;
  double moved = who->kind == BENCH_CONTESTANT_COPY
                     ? copied
                     : (double)(c->problem->read_bytes + c->problem->written_bytes);
  for (int32_t i = 0; i < rounds; ++i) {
    scratch[i] = moved / nanos[i] * f->nanos[i] / copied;
  }
  double *ratio = ratio_of(f, cache, number, c->number);
  *ratio = bench_median(scratch, rounds);
  memcpy(scratch, f->nanos, (size_t)rounds * sizeof *scratch);
  bench_figure figure = {.suite = "files",
                         .unit = "s",
                         .reference = bench_median(scratch, rounds) / 1e9,
                         .reference_name = "by cp",
                         .ratio = *ratio,
                         .peak_bytes = c->peak_bytes[number],
                         .passes = c->passes[number]};
  memcpy(scratch, nanos, (size_t)rounds * sizeof *scratch);
  figure.value = bench_median(scratch, rounds) / 1e9;
  snprintf(figure.name, sizeof figure.name, "%.40s, %s: %.30s%s", c->item->name, cache_names[cache],
           who->name, who->kind == BENCH_CONTESTANT_COMMAND ? " (not checked)" : "");
  return bench_report_figure(f->run->report, &figure);
}

static bool report_means(const files *f) {
  double ratios[COUNT_OF(cases)];
  bool is_done = true;
  for (int32_t k = 0; k < NUM_CACHES * f->list.count && is_done; ++k) {
    bench_cache cache = (bench_cache)(k / f->list.count);
    int32_t number = k % f->list.count;
    int32_t count = 0;
    char name[64];
    for (int32_t i = 0; i < f->run->cases->count; ++i) {
      ratios[count] = *ratio_of(f, cache, number, i);
      count += ratios[count] > 0;
    }
    snprintf(name, sizeof name, "%s: %.30s: geometric mean", cache_names[cache],
             f->list.items[number].name);
    if (count > 0 && f->list.items[number].kind != BENCH_CONTESTANT_COPY) {
      is_done = bench_report_mean(f->run->report, "files", name, "of cp", ratios, count);
    }
  }
  return is_done;
}

/* -------------------------------------------------------------------- cases */

static bool measure_state(files *f, file_case *c, bench_cache cache) {
  bool can_be = true;
  if (!take_turns(f, c, cache, &can_be)) {
    return false;
  }
  if (!can_be) {
    fprintf(f->run->report->table, "%s, %s: left out, the system does not %s\n", c->item->name,
            cache_names[cache],
            cache == BENCH_CACHE_COLD ? "forget the input (is it on a disk?)"
                                      : "keep the input in memory");
    return true;
  }
  for (int32_t n = 0; n < f->list.count; ++n) {
    if (!c->is_out[n] && !report_contestant(f, c, cache, n)) {
      return false;
    }
  }
  return true;
}

static bool check_room(const files *f, const rlo_problem *problem) {
  struct statvfs disk;
  if (statvfs(f->folder, &disk) != 0) {
    return bench_fail("%s: %s", f->folder, strerror(errno));
  }
  /* Two passes need some more than the output. */
  int64_t needed = problem->src_bytes + problem->dst_bytes * 5 / 4;
  int64_t room = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
  return room >= needed || bench_fail("%s has room for %lld bytes; the case needs %lld", f->folder,
                                      (long long)room, (long long)needed);
}

static bool measure_case(files *f, int32_t number, rlo_problem *problem) {
  file_case c = {.item = &f->run->cases->items[number], .number = number, .problem = problem};
  if (!bench_case_lower(c.item, problem) || !check_room(f, problem) ||
      !bench_disk_fill(f->src, problem->src_bytes, &c.src_sum) || !goes_on()) {
    return false;
  }
  double unused;
  for (int32_t n = 0; n < f->list.count; ++n) {
    bench_disk_remove(f->dst);
    if (!run_once(f, &c, n, &unused)) {
      return false;
    }
  }
  /* Some compiled. */
  memset(c.peak_bytes, 0, sizeof c.peak_bytes);
  return measure_state(f, &c, BENCH_CACHE_COLD) && measure_state(f, &c, BENCH_CACHE_WARM);
}

static bool run_all(files *f) {
  const bench_case_list *list = f->run->cases;
  const size_t rounds = (size_t)f->run->report->settings->rounds;
  rlo_problem *problem = calloc(1, sizeof *problem);
  f->nanos = calloc(BENCH_MAX_CONTESTANTS * rounds, sizeof *f->nanos);
  f->ratios =
      calloc((size_t)NUM_CACHES * BENCH_MAX_CONTESTANTS * (size_t)list->count, sizeof *f->ratios);
  bool is_done =
      (problem != NULL && f->nanos != NULL && f->ratios != NULL) || bench_fail("out of memory");
  for (int32_t i = 0; i < list->count && is_done; ++i) {
    is_done = measure_case(f, i, problem);
  }
  is_done = is_done && report_means(f);
  free(problem);
  free(f->nanos);
  free(f->ratios);
  return is_done;
}

bool bench_suite_files_run(bench_run *run) {
  const bench_files_request *wish = run->files;
  files *f = calloc(1, sizeof *f);
  if (f == NULL) {
    return bench_fail("out of memory");
  }
  f->run = run;
  snprintf(f->folder, sizeof f->folder, "%s/relayout-bench-XXXXXX", wish->folder);
  if (mkdtemp(f->folder) == NULL) {
    free(f);
    return bench_fail("%s: %s", wish->folder, strerror(errno));
  }
  snprintf(f->src, sizeof f->src, "%s/in.raw", f->folder);
  snprintf(f->dst, sizeof f->dst, "%s/out.raw", f->folder);
  snprintf(f->log, sizeof f->log, "%s/log", f->folder);
  catch_signals(stop);
  bool is_done = bench_contestants_list(run, f->log, &f->list) && run_all(f);
  bench_disk_remove(f->folder);
  catch_signals(SIG_DFL);
  free(f);
  return is_done;
}
