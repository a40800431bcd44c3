/* SPDX-License-Identifier: Apache-2.0 */
/* A run for programs: JSON and CSV. */
#include <string.h>

#include "report.h"

static void print_string(FILE *file, const char *text) {
  fputc('"', file);
  for (const char *at = text; *at != '\0'; ++at) {
    unsigned char byte = (unsigned char)*at;
    if (byte == '"' || byte == '\\') {
      fprintf(file, "\\%c", byte);
    } else if (byte < 0x20) {
      fprintf(file, "\\u%04x", byte);
    } else {
      fputc(byte, file);
    }
  }
  fputc('"', file);
}

static void print_key(FILE *file, const char *key, const char *value) {
  fprintf(file, ", \"%s\": ", key);
  print_string(file, value);
}

static void print_entry(FILE *file, const char *name, const bench_entry *entry,
                        const char *separator) {
  fputs(separator, file);
  print_string(file, name);
  if (entry->is_wrong) {
    fputs(": \"wrong\"", file);
  } else if (!entry->is_timed) {
    fputs(": null", file);
  } else {
    fprintf(file,
            ": {\"us\": %.3f, \"best_us\": %.3f, \"gb_per_s\": %.4f, "
            "\"fraction\": %.5f, \"best_fraction\": %.5f}",
            entry->nanos / 1e3, entry->best_nanos / 1e3, entry->gb_per_s, entry->fraction,
            entry->best_fraction);
  }
}

static void print_row(const bench_report *report, const bench_row *row, FILE *file) {
  fputs("{\"suite\": ", file);
  print_string(file, row->suite);
  print_key(file, "case", row->name);
  print_key(file, "src", row->src);
  print_key(file, "dst", row->dst);
  print_key(file, "family", row->family);
  print_key(file, "schedule", row->schedule);
  print_key(file, "parameters", row->parameters);
  fprintf(file,
          ", \"predicted_fraction\": %.3f, \"read_bytes\": %lld, "
          "\"written_bytes\": %lld",
          row->predicted_fraction, (long long)row->read_bytes, (long long)row->written_bytes);
  print_key(file, "limit", report->settings->peers[row->limit_peer]->name);
  fprintf(file, ", \"limit_gb_per_s\": %.4f, \"contestants\": {", row->limit_gb_per_s);
  for (int32_t p = 0; p < report->settings->num_peers; ++p) {
    print_entry(file, report->settings->peers[p]->name, &row->entries[p], p == 0 ? "" : ", ");
  }
  fputs("}}", file);
}

static void print_geomeans(const bench_report *report, FILE *file) {
  const char *separator = "";
  const char *last = NULL;
  for (int32_t i = 0; i < report->num_rows; ++i) {
    const char *suite = report->rows[i].suite;
    if (last != NULL && strcmp(last, suite) == 0) {
      continue;
    }
    last = suite;
    fputs(separator, file);
    separator = ",\n  ";
    print_string(file, suite);
    fprintf(file, ": {\"fraction\": %.5f, \"best_fraction\": %.5f",
            bench_report_geomean(report, suite, BENCH_PEER_LIBRARY, -1),
            bench_report_best_geomean(report, suite, BENCH_PEER_LIBRARY, -1));
    for (int32_t p = BENCH_PEER_LIBRARY + 1; p < report->settings->num_peers; ++p) {
      const char *peer = report->settings->peers[p]->name;
      double times = bench_report_geomean(report, suite, BENCH_PEER_LIBRARY, p);
      if (times > 0) {
        fprintf(file, ", \"times_%s\": %.4f, \"best_times_%s\": %.4f", peer, times, peer,
                bench_report_best_geomean(report, suite, BENCH_PEER_LIBRARY, p));
      }
    }
    fputc('}', file);
  }
}

static void print_json(const bench_report *report, FILE *file) {
  fputs("{\"device\": ", file);
  print_string(file, report->arena->device_name);
  print_key(file, "driver", report->arena->driver_version);
  fprintf(file, ", \"threads\": %d, \"rounds\": %d, \"size_factor\": %g,\n",
          (int)report->arena->threads, (int)report->settings->rounds, report->size_factor);
  fputs(" \"rows\": [\n  ", file);
  for (int32_t i = 0; i < report->num_rows; ++i) {
    fputs(i == 0 ? "" : ",\n  ", file);
    print_row(report, &report->rows[i], file);
  }
  fputs("],\n \"figures\": [\n  ", file);
  for (int32_t i = 0; i < report->num_figures; ++i) {
    const bench_figure *figure = &report->figures[i];
    fputs(i == 0 ? "" : ",\n  ", file);
    fputs("{\"suite\": ", file);
    print_string(file, figure->suite);
    print_key(file, "name", figure->name);
    fprintf(file, ", \"value\": %.4f", figure->value);
    print_key(file, "unit", figure->unit);
    if (figure->reference >= 0) {
      fprintf(file, ", \"reference\": %.4f", figure->reference);
      print_key(file, "reference_name", figure->reference_name);
    }
    if (figure->ratio > 0) {
      fprintf(file, ", \"ratio\": %.5f, \"rounds\": %d", figure->ratio, (int)figure->rounds);
    }
    if (figure->passes > 0) {
      fprintf(file, ", \"passes\": %d", (int)figure->passes);
    }
    if (figure->peak_bytes > 0) {
      fprintf(file, ", \"peak_bytes\": %lld", (long long)figure->peak_bytes);
    }
    fputc('}', file);
  }
  fputs("],\n \"geometric_means\": {\n  ", file);
  print_geomeans(report, file);
  fputs("}}\n", file);
}

/** One line for each case and contestant, and one for each figure. */
static void print_csv(const bench_report *report, FILE *file) {
  fputs(
      "suite,number,case,family,moved_bytes,contestant,value,unit,fraction,"
      "best_fraction,limit\n",
      file);
  int32_t number = 0;
  for (int32_t i = 0; i < report->num_rows; ++i) {
    const bench_row *row = &report->rows[i];
    bool is_first = i == 0 || strcmp(row[-1].suite, row->suite) != 0;
    number = is_first ? 1 : number + 1;
    for (int32_t p = 0; p < report->settings->num_peers; ++p) {
      const bench_entry *entry = &row->entries[p];
      if (!entry->is_timed) {
        continue;
      }
      fprintf(file, "%s,%d,\"%s\",%s,%lld,%s,%.4f,GB/s,%.5f,%.5f,%s\n", row->suite, (int)number,
              row->name, row->family, (long long)(row->read_bytes + row->written_bytes),
              report->settings->peers[p]->name, entry->gb_per_s, entry->fraction,
              entry->best_fraction, report->settings->peers[row->limit_peer]->name);
    }
  }
  for (int32_t i = 0; i < report->num_figures; ++i) {
    const bench_figure *figure = &report->figures[i];
    fprintf(file, "%s,%d,\"%s\",,,relayout,%.4f,%s,", figure->suite, (int)i + 1, figure->name,
            figure->value, figure->unit);
    if (figure->ratio > 0) {
      fprintf(file, "%.5f", figure->ratio);
    }
    fputs(",,\n", file);
    if (figure->reference >= 0) {
      fprintf(file, "%s,%d,\"%s\",,,\"%s\",%.4f,%s,,,\n", figure->suite, (int)i + 1, figure->name,
              figure->reference_name, figure->reference, figure->unit);
    }
  }
}

void bench_report_print(const bench_report *report, FILE *file) {
  switch (report->format) {
    case BENCH_FORMAT_JSON:
      print_json(report, file);
      break;
    case BENCH_FORMAT_CSV:
      print_csv(report, file);
      break;
    case BENCH_FORMAT_TEXT:
      break;
  }
}
