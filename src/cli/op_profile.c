/* SPDX-License-Identifier: Apache-2.0 */
#include "op_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "files.h"
#include "message.h"
#include "report.h"

bool rlo__profile_is_wanted(const rlo__profile_options *options) {
  return options->is_printed || options->trace_path != NULL;
}

int rlo__profile_options_check(const rlo__profile_options *options,
                               const rlo__stream_options *stream) {
  if (rlo__profile_is_wanted(options) &&
      (rlo__stream_is_asked_for(stream) || stream->is_resumed)) {
    return rlo__fail_usage("op",
                           "%s measures kernels on whole arrays: it excludes "
                           "--memory, --io direct, --passes, --dry-run and "
                           "--resume, which are for pieces",
                           options->is_printed ? "--profile" : "--trace");
  }
  return RLO__EXIT_OK;
}

int rlo__profile_path_check(const rlo__profile_options *options,
                            const char *const *paths,
                            int32_t count) {
  const char *path = options->trace_path;
  for (int32_t n = 0; path != NULL && n < count; ++n) {
    if (strcmp(paths[n], path) == 0 || rlo__path_is_same_file(paths[n], path)) {
      return rlo__fail("%s is the file of an array; write the trace to another",
                       path);
    }
  }
  return RLO__EXIT_OK;
}

int rlo__op_profile_init(rlo__op_profile *profile) {
  profile->table = tmpfile();
  profile->json = tmpfile();
  profile->trace = tmpfile();
  return profile->table != NULL && profile->json != NULL &&
                 profile->trace != NULL
             ? RLO__EXIT_OK
             : rlo__fail("cannot make a temporary file for the profile: %s",
                         strerror(errno));
}

void rlo__op_profile_deinit(rlo__op_profile *profile) {
  FILE *const files[] = {profile->table, profile->json, profile->trace};
  for (size_t n = 0; n < sizeof(files) / sizeof(files[0]); ++n) {
    if (files[n] != NULL) {
      fclose(files[n]);
    }
  }
  *profile = (rlo__op_profile){0};
}

/* -------------------------------------------------------------------- table */

enum {
  /* Of a cell that others are aligned with; a longer one moves its line. */
  MAX_WIDTH = 40,
  /* Further shapes are counted. */
  MAX_SHAPES = 3,
  NUM_TEXTS = 3,
  CELL_BYTES = 1024
};

/* The columns of text: the kernel, its inputs, its results. */
typedef struct cells {
  char text[NUM_TEXTS][CELL_BYTES];
} cells;

static void list_shapes(const rlo_shape *const *shapes,
                        int32_t count,
                        char text[CELL_BYTES]) {
  size_t length = 0;
  text[0] = '\0';
  for (int32_t n = 0; n < count && length < CELL_BYTES; ++n) {
    rlo__shape_text shape;
    const bool is_last = n == MAX_SHAPES && count > MAX_SHAPES + 1;
    length +=
        (size_t)(is_last ? snprintf(text + length,
                                    CELL_BYTES - length,
                                    ", %d more",
                                    count - n)
                         : snprintf(text + length,
                                    CELL_BYTES - length,
                                    "%s%s",
                                    n == 0 ? "" : ", ",
                                    rlo__shape_text_make(shapes[n], &shape)));
    if (is_last) {
      return;
    }
  }
}

static void make_cells(const rlo_profile_entry *entry, cells *out) {
  snprintf(
      out->text[0], CELL_BYTES, "%*s%s", 2 * entry->depth, "", entry->name);
  list_shapes(entry->input_shapes, entry->num_inputs, out->text[1]);
  list_shapes(entry->output_shapes, entry->num_outputs, out->text[2]);
}

static void widen(const cells *row, int widths[NUM_TEXTS]) {
  for (int32_t k = 0; k < NUM_TEXTS; ++k) {
    size_t length = strlen(row->text[k]);
    if (length > MAX_WIDTH) {
      length = MAX_WIDTH;
    }
    if ((int)length > widths[k]) {
      widths[k] = (int)length;
    }
  }
}

static void print_row(FILE *file,
                      const cells *row,
                      const int widths[NUM_TEXTS],
                      const rlo_profile_entry *entry) {
  rlo__bytes_text bytes;
  for (int32_t k = 0; k < NUM_TEXTS; ++k) {
    fprintf(file, "%-*s  ", widths[k], row->text[k]);
  }
  fprintf(
      file,
      "%9s  %10.3f  ",
      rlo__bytes_text_make(entry->input_bytes + entry->output_bytes, &bytes),
      (double)entry->host_ns * 1e-6);
  if (entry->has_device_time) {
    fprintf(file, "%10.3f\n", (double)entry->device_ns * 1e-6);
  } else {
    fprintf(file, "%10s\n", "-");
  }
}

/* `entries` are `count`, and as many `rows` to fill in. */
static void print_table(FILE *file,
                        const rlo_profile_entry *entries,
                        cells *rows,
                        int64_t count) {
  static const cells head = {{"kernel", "inputs", "results"}};
  int widths[NUM_TEXTS] = {0};
  widen(&head, widths);
  for (int64_t n = 0; n < count; ++n) {
    make_cells(&entries[n], &rows[n]);
    widen(&rows[n], widths);
  }
  for (int32_t k = 0; k < NUM_TEXTS; ++k) {
    fprintf(file, "%-*s  ", widths[k], head.text[k]);
  }
  fprintf(file, "%9s  %10s  %10s\n", "bytes", "host ms", "device ms");
  for (int64_t n = 0; n < count; ++n) {
    print_row(file, &rows[n], widths, &entries[n]);
  }
}

/* --------------------------------------------------------------------- JSON */

static void add_shapes(rlo__report *r,
                       const char *key,
                       const rlo_shape *const *shapes,
                       int32_t count) {
  rlo__report_open(r, key, '[');
  for (int32_t n = 0; n < count; ++n) {
    rlo__shape_text text;
    RLO__REPORT(
        r, RLO__STRING(NULL, NULL, rlo__shape_text_make(shapes[n], &text)));
  }
  rlo__report_close(r);
}

/* The keys that the array and the trace have in common. */
static void add_keys(rlo__report *r, const rlo_profile_entry *entry) {
  RLO__REPORT(r, RLO__STRING("backend", NULL, entry->backend_name));
  add_shapes(r, "inputs", entry->input_shapes, entry->num_inputs);
  add_shapes(r, "results", entry->output_shapes, entry->num_outputs);
  RLO__REPORT(r,
              RLO__INT("input_bytes", NULL, entry->input_bytes),
              RLO__INT("output_bytes", NULL, entry->output_bytes),
              RLO__INT("num_commands", NULL, entry->num_commands));
}

static void write_array(FILE *file,
                        const rlo_profile_entry *entries,
                        int64_t count) {
  rlo__report r = {.is_json = true, .file = file};
  rlo__report_open(&r, NULL, '[');
  for (int64_t n = 0; n < count; ++n) {
    const rlo_profile_entry *entry = &entries[n];
    rlo__report_open(&r, NULL, '{');
    RLO__REPORT(&r, RLO__STRING("kernel", NULL, entry->name));
    add_keys(&r, entry);
    RLO__REPORT(&r,
                RLO__INT("thread", NULL, entry->thread),
                RLO__INT("depth", NULL, entry->depth),
                RLO__INT("begin_ns", NULL, entry->begin_ns),
                RLO__INT("host_ns", NULL, entry->host_ns));
    if (entry->has_device_time) {
      RLO__REPORT(&r,
                  RLO__INT("device_begin_ns", NULL, entry->device_begin_ns),
                  RLO__INT("device_ns", NULL, entry->device_ns));
    } else {
      RLO__REPORT(&r,
                  RLO__STRING("device_begin_ns", NULL, NULL),
                  RLO__STRING("device_ns", NULL, NULL));
    }
    rlo__report_close(&r);
  }
  rlo__report_end(&r);
}

/* -------------------------------------------------------------------- trace */

/* Processes of the trace: what ran on the host, by thread, and on the device.
 */
typedef enum trace_process { TRACE_HOST = 1, TRACE_DEVICE = 2 } trace_process;

static void write_process(rlo__report *r,
                          trace_process process,
                          const char *name) {
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(r,
              RLO__STRING("name", NULL, "process_name"),
              RLO__STRING("ph", NULL, "M"),
              RLO__INT("pid", NULL, process));
  RLO__REPORT_OBJECT(r, "args", RLO__STRING("name", NULL, name));
  rlo__report_close(r);
}

static void write_event(rlo__report *r,
                        const rlo_profile_entry *entry,
                        trace_process process) {
  const bool is_device = process == TRACE_DEVICE;
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(
      r,
      RLO__STRING("name", NULL, entry->name),
      RLO__STRING("cat", NULL, "kernel"),
      RLO__STRING("ph", NULL, "X"),
      RLO__MICROS("ts", is_device ? entry->device_begin_ns : entry->begin_ns),
      RLO__MICROS("dur", is_device ? entry->device_ns : entry->host_ns),
      RLO__INT("pid", NULL, process),
      RLO__INT("tid", NULL, is_device ? 0 : entry->thread));
  rlo__report_open(r, "args", '{');
  add_keys(r, entry);
  rlo__report_close(r);
  rlo__report_close(r);
}

static void write_trace(FILE *file,
                        const rlo_profile_entry *entries,
                        int64_t count) {
  rlo__report r = {.is_json = true, .file = file};
  rlo__report_open(&r, NULL, '{');
  RLO__REPORT(&r, RLO__STRING("displayTimeUnit", NULL, "ns"));
  rlo__report_open(&r, "traceEvents", '[');
  write_process(&r, TRACE_HOST, "host");
  write_process(&r, TRACE_DEVICE, "device");
  for (int64_t n = 0; n < count; ++n) {
    write_event(&r, &entries[n], TRACE_HOST);
    if (entries[n].has_device_time) {
      write_event(&r, &entries[n], TRACE_DEVICE);
    }
  }
  rlo__report_end(&r);
}

/* ------------------------------------------------------------------ reading */

static int flush_file(FILE *file) {
  return fflush(file) == 0 && !ferror(file)
             ? RLO__EXIT_OK
             : rlo__fail("cannot write the profile: %s", strerror(errno));
}

/* `entries` and `rows` are room for `count`. */
static int write_texts(const rlo__op_profile *profile,
                       rlo_profile *measured,
                       rlo_profile_entry *entries,
                       cells *rows,
                       int64_t count) {
  for (int64_t n = 0; n < count; ++n) {
    entries[n] = (rlo_profile_entry)RLO_PROFILE_ENTRY_INIT;
    if (rlo_profile_get(measured, n, &entries[n]) != RLO_OK) {
      return rlo__fail_last();
    }
  }
  print_table(profile->table, entries, rows, count);
  write_array(profile->json, entries, count);
  write_trace(profile->trace, entries, count);
  int code = flush_file(profile->table);
  if (code == RLO__EXIT_OK) {
    code = flush_file(profile->json);
  }
  return code == RLO__EXIT_OK ? flush_file(profile->trace) : code;
}

int rlo__op_profile_write(const rlo__op_profile *profile,
                          rlo_profile *measured) {
  const int64_t count = rlo_profile_count(measured);
  rlo_profile_entry *entries = calloc((size_t)count + 1, sizeof(*entries));
  cells *rows = calloc((size_t)count + 1, sizeof(*rows));
  int code =
      entries == NULL || rows == NULL
          ? rlo__fail("cannot get memory for a profile of %" PRId64 " kernels",
                      count)
          : write_texts(profile, measured, entries, rows, count);
  free(rows);
  free(entries);
  return code;
}

int rlo__op_profile_rewind(const rlo__op_profile *profile) {
  FILE *const files[] = {profile->table, profile->json, profile->trace};
  for (size_t n = 0; n < 3; ++n) {
    if (fseeko(files[n], 0, SEEK_SET) != 0) {
      return rlo__fail("cannot read the profile: %s", strerror(errno));
    }
  }
  return RLO__EXIT_OK;
}

void rlo__op_profile_report(const rlo__op_profile *profile,
                            rlo__report *report,
                            bool is_on_stderr) {
  FILE *from = report->is_json ? profile->json : profile->table;
  FILE *to = !report->is_json && is_on_stderr ? stderr : report->file;
  rlo__report_key(report, "profile");
  for (int c = getc(from); c != EOF; c = getc(from)) {
    if (!report->is_json || c != '\n') {
      putc(c, to);
    }
  }
}

/* The text of a file, on the heap; NULL if it cannot be read. */
static char *read_text(FILE *file, size_t *out_bytes) {
  if (fseeko(file, 0, SEEK_END) != 0) {
    return NULL;
  }
  const off_t bytes = ftello(file);
  if (bytes < 0 || fseeko(file, 0, SEEK_SET) != 0) {
    return NULL;
  }
  char *text = malloc((size_t)bytes + 1);
  if (text != NULL && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
    free(text);
    return NULL;
  }
  *out_bytes = (size_t)bytes;
  return text;
}

int rlo__op_profile_save(const rlo__op_profile *profile, const char *path) {
  if (path == NULL) {
    return RLO__EXIT_OK;
  }
  rlo__output output = {.path = path};
  char *text = read_text(profile->trace, &output.data_bytes);
  if (text == NULL) {
    return rlo__fail(
        "cannot read the profile for %s: %s", path, strerror(errno));
  }
  output.data = text;
  int code = rlo__outputs_write(&output, 1);
  free(text);
  return code;
}
