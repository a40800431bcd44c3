/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_CONTESTANT_H
#define RLO_BENCH_CONTESTANT_H

#include "suite.h"

enum { BENCH_MAX_CONTESTANTS = 2 + 2 * BENCH_MAX_BUDGETS + BENCH_MAX_COMMANDS };

typedef enum bench_contestant_kind {
  BENCH_CONTESTANT_COPY,
  BENCH_CONTESTANT_HOST,
  BENCH_CONTESTANT_DEVICE,
  BENCH_CONTESTANT_NUMPY,
  /** A command that the user names; nobody knows what it has to make. */
  BENCH_CONTESTANT_COMMAND
} bench_contestant_kind;

/** A program that moves an array from file to file. */
typedef struct bench_contestant {
  bench_contestant_kind kind;
  char name[64];
  /** The budget of relayout. */
  char memory[32];
  /** The file that a command reads, borrowed, and what the shell runs. */
  char input[1024];
  const char *command;
} bench_contestant;

typedef struct bench_contestants {
  /** Borrowed. */
  const bench_run *run;
  /** The copy is the first. */
  bench_contestant items[BENCH_MAX_CONTESTANTS];
  int32_t count;
  /** A Python that has NumPy; NULL if there is none. */
  const char *python;
} bench_contestants;

/** The arguments of a program, and room for its words. */
typedef struct bench_arguments {
  const char *items[24];
  int32_t count;
  char from[512], to[512], order[64], dims[256], device[16];
} bench_arguments;

/** Lists who takes part: cp, relayout on the host and on the device with each
 *  budget, NumPy if a Python has it, and the user's commands.
 *  @param log  a path for what programs print. */
bool bench_contestants_list(const bench_run *run, const char *log, bench_contestants *out);

/** Tells if it is the library's command. */
bool bench_contestant_is_ours(const bench_contestant *who);

/**
 * Makes the words that a program is called with, to do a case from one path to
 * another.
 * @param list, who, src, dst  borrowed by `out`.
 * @return false if it cannot do the case.
 */
bool bench_contestant_call(const bench_contestants *list, const bench_contestant *who,
                           const bench_case *item, const char *src, const char *dst,
                           bench_arguments *out);

#endif
