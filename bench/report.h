/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_REPORT_H
#define RLO_BENCH_REPORT_H

#include <stdio.h>

#include "measure.h"

/** A figure that is no rate: a time or a number. */
typedef struct bench_figure {
  const char *suite;
  char name[96];
  double value;
  /** "us", "ms", "programs" */
  const char *unit;
  /** The figure that it is held against, in the same unit; negative: none. */
  double reference;
  /** The name of that figure, in a few words. */
  const char *reference_name;
  /** The rate as a fraction of the reference's, the median over the rounds of
   *  that within one round; 0: there is none. */
  double ratio;
  /** The figures of which `ratio` is the median; set when the figure is kept.
   */
  int32_t rounds;
  /** Passes over the bytes; 0: it does not say. */
  int32_t passes;
  /** The most memory that the process held, in bytes; 0: not known. */
  int64_t peak_bytes;
} bench_figure;

typedef enum bench_format { BENCH_FORMAT_TEXT, BENCH_FORMAT_JSON, BENCH_FORMAT_CSV } bench_format;

/** Everything a run found. Rows and figures go in as they are found. */
typedef struct bench_report {
  bench_format format;
  const bench_arena *arena;
  const bench_settings *settings;
  double size_factor;
  /** Where the table is shown meanwhile. */
  FILE *table;
  bench_row *rows;
  int32_t num_rows;
  bench_figure *figures;
  int32_t num_figures;
} bench_report;

/** Begin a suite: its title and the head of its table. */
void bench_report_suite(const bench_report *report, const char *name, const char *summary);

/** Keep a row and show it. */
bool bench_report_row(bench_report *report, const bench_row *row);

/** Keep a figure and show it. */
bool bench_report_figure(bench_report *report, const bench_figure *figure);

/** Reports the geometric mean of ratios, beside the worst of them.
 *  @param unit   "of copy" */
bool bench_report_mean(bench_report *report, const char *suite, const char *name, const char *unit,
                       const double *ratios, int32_t count);

/** End a suite: show its geometric means and its worst case. */
void bench_report_suite_end(const bench_report *report, const char *name);

/** Print what was kept, if it is to be JSON or CSV. */
void bench_report_print(const bench_report *report, FILE *file);

void bench_report_deinit(bench_report *report);

/** Geometric mean of a contestant's fractions over the rows of a suite.
 *  @param against  -1: of the limit; else of the rate of that
 *                  contestant, over the rows in which both took part.
 *  @return 0 if there is no such row. */
double bench_report_geomean(const bench_report *report, const char *suite, int32_t peer,
                            int32_t against);

/** The same of best_fraction. */
double bench_report_best_geomean(const bench_report *report, const char *suite, int32_t peer,
                                 int32_t against);

#endif
