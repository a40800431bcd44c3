/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_PROCESS_H
#define RLO_BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/** A program that is run and measured as a whole. */
typedef struct bench_process {
  /** It and what it is called with, ending with NULL; found on PATH. */
  const char *const *arguments;
  /** The file that its standard output goes to. */
  const char *output;
  /** The file or folder that it makes, made durable while the clock runs. */
  const char *made;
  /** It is killed after so many seconds; 0: never. */
  int32_t limit_seconds;
} bench_process;

/** The time and the memory that it took. */
typedef struct bench_usage {
  /** It ended by itself, with exit code 0. */
  bool is_done;
  /** It was killed at the limit. */
  bool is_late;
  /** From its start until what it made was durable. */
  double nanos;
  /** The most memory that it, or the largest process that it waited for, held
   *  at once. */
  int64_t peak_bytes;
} bench_usage;

/**
 * Runs a program and waits for it. Another process of this program starts it
 * and measures: the system counts the memory of whoever starts a program as
 * the program's own.
 * @return false, having said why, if it could not be run at all.
 */
bool bench_process_run(const bench_process *process, bench_usage *out_usage);

/** Tells if this process is one that bench_process_run has started. Then main
 *  returns bench_process_child before it does anything else. */
bool bench_process_is_child(int argc, char **argv);
int bench_process_child(char **argv);

#endif
