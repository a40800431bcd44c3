/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/** Which fraction of an entry. */
typedef enum fraction_kind { FRACTION_MEDIAN, FRACTION_BEST } fraction_kind;

static double fraction_of(const bench_entry *entry, fraction_kind kind) {
  return kind == FRACTION_BEST ? entry->best_fraction : entry->fraction;
}

static double geomean(const bench_report *report, const char *suite, int32_t peer, int32_t against,
                      fraction_kind kind) {
  double sum = 0;
  int32_t count = 0;
  for (int32_t i = 0; i < report->num_rows; ++i) {
    const bench_row *row = &report->rows[i];
    const bench_entry *entry = &row->entries[peer];
    if (strcmp(row->suite, suite) != 0 || !entry->is_timed) {
      continue;
    }
    double ratio = fraction_of(entry, kind);
    if (against >= 0) {
      if (!row->entries[against].is_timed) {
        continue;
      }
      ratio /= fraction_of(&row->entries[against], kind);
    }
    sum += log(ratio);
    count += 1;
  }
  return count == 0 ? 0 : exp(sum / count);
}

double bench_report_geomean(const bench_report *report, const char *suite, int32_t peer,
                            int32_t against) {
  return geomean(report, suite, peer, against, FRACTION_MEDIAN);
}

double bench_report_best_geomean(const bench_report *report, const char *suite, int32_t peer,
                                 int32_t against) {
  return geomean(report, suite, peer, against, FRACTION_BEST);
}

void bench_report_suite(const bench_report *report, const char *name, const char *summary) {
  fprintf(report->table, "\n%s: %s\n", name, summary);
}

static void show_head(const bench_report *report) {
  const bench_settings *settings = report->settings;
  fprintf(report->table, "%-30s %-7s %8s %7s %-6s %7s %6s %6s %6s %6s", "case", "family",
          "MB moved", "limit", "by", "GB/s", "of it", "best", "plan", "copy");
  for (int32_t p = BENCH_PEER_LIBRARY + 1; p < settings->num_peers; ++p) {
    fprintf(report->table, " %12s", settings->peers[p]->name);
  }
  fputc('\n', report->table);
}

static void show_row(const bench_report *report, const bench_row *row) {
  const bench_entry *entries = row->entries;
  fprintf(report->table, "%-30s %-7s %8.1f %7.2f %-6s %7.2f %6.3f %6.3f %6.2f %6.3f", row->name,
          row->family, (double)(row->read_bytes + row->written_bytes) / 1e6, row->limit_gb_per_s,
          report->settings->peers[row->limit_peer]->name, entries[BENCH_PEER_LIBRARY].gb_per_s,
          entries[BENCH_PEER_LIBRARY].fraction, entries[BENCH_PEER_LIBRARY].best_fraction,
          row->predicted_fraction, entries[BENCH_PEER_COPY].fraction);
  for (int32_t p = BENCH_PEER_LIBRARY + 1; p < report->settings->num_peers; ++p) {
    if (entries[p].is_timed) {
      fprintf(report->table, " %12.3f", entries[p].fraction);
    } else {
      fprintf(report->table, " %12s", entries[p].is_wrong ? "wrong" : "-");
    }
  }
  if (report->settings->measure_seconds > 0) {
    fprintf(report->table, "  %s", row->schedule);
  }
  fputc('\n', report->table);
  fflush(report->table);
}

bool bench_report_row(bench_report *report, const bench_row *row) {
  size_t count = (size_t)report->num_rows + 1;
  bench_row *rows = realloc(report->rows, count * sizeof *rows);
  if (rows == NULL) {
    return bench_fail("out of memory");
  }
  report->rows = rows;
  rows[count - 1] = *row;
  report->num_rows += 1;
  if (count == 1 || rows[count - 2].suite != row->suite) {
    show_head(report);
  }
  show_row(report, row);
  return true;
}

bool bench_report_figure(bench_report *report, const bench_figure *figure) {
  size_t count = (size_t)report->num_figures + 1;
  bench_figure *figures = realloc(report->figures, count * sizeof *figures);
  if (figures == NULL) {
    return bench_fail("out of memory");
  }
  report->figures = figures;
  figures[count - 1] = *figure;
  figures[count - 1].rounds = figure->ratio > 0 ? report->settings->rounds : 0;
  report->num_figures += 1;
  fprintf(report->table, "%-50s %10.2f %-8s", figure->name, figure->value, figure->unit);
  if (figure->reference >= 0) {
    fprintf(report->table, " %10.2f %s", figure->reference, figure->reference_name);
  }
  if (figure->ratio > 0) {
    fprintf(report->table, " %7.3f of it", figure->ratio);
  }
  if (figure->peak_bytes > 0) {
    fprintf(report->table, " %8.1f MiB at most", (double)figure->peak_bytes / (1024.0 * 1024.0));
  }
  if (figure->passes > 0) {
    fprintf(report->table, ", %d pass%s", (int)figure->passes, figure->passes == 1 ? "" : "es");
  }
  fputc('\n', report->table);
  fflush(report->table);
  return true;
}

bool bench_report_mean(bench_report *report, const char *suite, const char *name, const char *unit,
                       const double *ratios, int32_t count) {
  double sum = 0;
  double worst = HUGE_VAL;
  for (int32_t i = 0; i < count; ++i) {
    sum += log(ratios[i]);
    worst = fmin(worst, ratios[i]);
  }
  bench_figure figure = {.suite = suite,
                         .value = exp(sum / count),
                         .unit = unit,
                         .reference = worst,
                         .reference_name = "at worst"};
  snprintf(figure.name, sizeof figure.name, "%s", name);
  return bench_report_figure(report, &figure);
}

void bench_report_suite_end(const bench_report *report, const char *name) {
  const bench_settings *settings = report->settings;
  const bench_row *worst = NULL;
  int32_t count = 0;
  int32_t count_by_kernel = 0;
  for (int32_t i = 0; i < report->num_rows; ++i) {
    const bench_row *row = &report->rows[i];
    if (strcmp(row->suite, name) != 0) {
      continue;
    }
    count += 1;
    count_by_kernel += row->limit_peer == BENCH_PEER_COPY;
    if (worst == NULL ||
        row->entries[BENCH_PEER_LIBRARY].fraction < worst->entries[BENCH_PEER_LIBRARY].fraction) {
      worst = row;
    }
  }
  if (worst == NULL) {
    return;
  }
  fprintf(report->table,
          "%s: geometric mean %.3f of the limit (best %.3f), worst %.3f (%s)\n"
          "  the copy kernel %.3f of it; the limit in %d of %d cases\n",
          name, bench_report_geomean(report, name, BENCH_PEER_LIBRARY, -1),
          bench_report_best_geomean(report, name, BENCH_PEER_LIBRARY, -1),
          worst->entries[BENCH_PEER_LIBRARY].fraction, worst->name,
          bench_report_geomean(report, name, BENCH_PEER_COPY, -1), (int)count_by_kernel,
          (int)count);
  for (int32_t p = BENCH_PEER_LIBRARY + 1; p < settings->num_peers; ++p) {
    double times = bench_report_geomean(report, name, BENCH_PEER_LIBRARY, p);
    if (times > 0) {
      fprintf(report->table, "  %.2f times as fast as %s (best %.2f)\n", times,
              settings->peers[p]->name,
              bench_report_best_geomean(report, name, BENCH_PEER_LIBRARY, p));
    }
  }
}

void bench_report_deinit(bench_report *report) {
  free(report->rows);
  free(report->figures);
  report->rows = NULL;
  report->figures = NULL;
}
