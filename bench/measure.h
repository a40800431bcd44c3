/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_MEASURE_H
#define RLO_BENCH_MEASURE_H

#include "peer.h"

/** The result of one contestant in one case. */
typedef struct bench_entry {
  /** False: it cannot do the case, was not asked, or (is_wrong) was wrong. */
  bool is_timed;
  bool is_wrong;
  /** Median over the rounds, of one run. */
  double nanos;
  /** The shortest. */
  double best_nanos;
  /** Bytes it read and wrote in the median time. */
  double gb_per_s;
  /** Median over the rounds of its rate against the limit in the same round. */
  double fraction;
  /** Its best rate against the best limit of a round: the figure that holds
   *  longest on a machine that is not quiet. */
  double best_fraction;
} bench_entry;

/** One case, timed. */
typedef struct bench_row {
  const char *suite;
  char name[64];
  char src[200], dst[200];
  char family[16];
  /** "default", or what measuring found. */
  char schedule[64];
  char parameters[160];
  /** The share that the planner expected; 0 if it was not asked. */
  double predicted_fraction;
  int64_t read_bytes, written_bytes;
  /** The rate of the faster copy, kernel or host, in a round: the median. */
  double limit_gb_per_s;
  /** Which of the two it was in most rounds: its place among the peers. */
  int32_t limit_peer;
  bench_entry entries[BENCH_MAX_PEERS];
} bench_row;

/** Most rounds of a suite. */
enum { BENCH_MAX_ROUNDS = 1001 };

/** How to measure. */
typedef struct bench_settings {
  int32_t rounds;
  /** The seconds of bench_move. */
  double measure_seconds;
  int32_t num_peers;
  const bench_peer *peers[BENCH_MAX_PEERS];
} bench_settings;

/**
 * Time one case: every contestant is run once and checked, once more to see how
 * often it has to be repeated for a millisecond, and then all take turns for
 * `rounds` rounds. The limit of a round is the rate of its faster copy: of the
 * copy kernel, or of the host from BENCH_HOST_COPY_MIN_BYTES on.
 * @param arena  with buffers large enough.
 * @return false if the library failed or wrote a wrong byte.
 */
bool bench_measure_case(bench_arena *arena, const bench_settings *settings, const bench_case *item,
                        bench_row *out_row);

/** Reserves buffers for the largest of the cases. */
bool bench_reserve_for_cases(bench_arena *arena, const bench_case_list *list);

#endif
