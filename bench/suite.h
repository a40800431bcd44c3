/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_SUITE_H
#define RLO_BENCH_SUITE_H

#include "report.h"

enum { BENCH_MAX_BUDGETS = 6, BENCH_MAX_COMMANDS = 8 };

/** The request for the suite `files`. Borrowed from the command line. */
typedef struct bench_files_request {
  /** Where its files are. */
  const char *folder;
  /** "32MiB,256MiB", as `relayout convert --memory` takes each. */
  const char *budgets;
  /** NAME:INPUT:COMMAND each. */
  const char *commands[BENCH_MAX_COMMANDS];
  int32_t num_commands;
} bench_files_request;

/** The input of a suite that measures in its own way. */
typedef struct bench_run {
  bench_arena *arena;
  bench_report *report;
  /** Those of the suite that --case leaves; none if it has no add_cases. */
  const bench_case_list *cases;
  double size_factor;
  int32_t device_number;
  /** How long opening the device took. */
  double open_ms;
  const bench_files_request *files;
  /** This program, to be run again. */
  const char *program;
} bench_run;

/** A suite: relayouts to be timed, or something else. */
typedef struct bench_suite {
  const char *name;
  const char *summary;
  /** Append the cases. NULL if `run` has its own. */
  bool (*add_cases)(bench_case_list *list);
  /** Measure and report figures. NULL: the cases are timed beside the copy
   *  kernel. */
  bool (*run)(bench_run *run);
  /** Without --rounds and --size-factor; 0: as the other suites. */
  int32_t rounds;
  double size_factor;
} bench_suite;

extern const bench_suite bench_suites[];
extern const int32_t bench_num_suites;

/** NULL if there is none of that name. */
const bench_suite *bench_suite_find(const char *name);

bool bench_suite_ttc57_add(bench_case_list *list);
bool bench_suite_types_add(bench_case_list *list);
bool bench_suite_ml_add(bench_case_list *list);
bool bench_suite_pad_add(bench_case_list *list);
bool bench_suite_tile_add(bench_case_list *list);
bool bench_suite_skinny_add(bench_case_list *list);
bool bench_suite_small_add(bench_case_list *list);
bool bench_suite_rows_add(bench_case_list *list);
bool bench_suite_ops_add(bench_case_list *list);
bool bench_suite_service_add(bench_case_list *list);
bool bench_suite_service_run(bench_run *run);
bool bench_suite_files_add(bench_case_list *list);
bool bench_suite_files_run(bench_run *run);
bool bench_suite_host_run(bench_run *run);
bool bench_suite_latency_run(bench_run *run);
bool bench_suite_compile_run(bench_run *run);

/** Plans, builds and launches the cases of ttc57 (or only the first) and prints
 *  the cost: the work of the fresh process that `compile` starts. */
bool bench_suite_compile_child(const bench_run *run, bool is_only_first);

#endif
