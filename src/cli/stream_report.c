/* SPDX-License-Identifier: Apache-2.0 */
/* TIOCGWINSZ and struct winsize are not part of POSIX 2008. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/sentence.h"
#include "base/str.h"
#include "display.h"
#include "message.h"
#include "report.h"
#include "stream_inside.h"

/* ----------------------------------------------------------------- progress */

/* Nothing is shown of what takes no longer. */
#define FIRST_SECONDS 1.0
#define LINE_SECONDS  0.1
#define LINES_SECONDS 10.0
#define EVENT_SECONDS 1.0
/* A rate is of the last so many seconds, to twice as many. */
#define RATE_SECONDS 5.0

/* The widest line that is drawn. */
#define MAX_COLUMNS     200
#define MIN_BAR_COLUMNS 10
#define MAX_BAR_COLUMNS 32

/* Room for the text of a line. */
typedef struct line_text {
  char text[MAX_COLUMNS + 1];
} line_text;

static rlo__progress_kind choose_kind(const rlo__stream_options *options) {
  const char *terminal = getenv("TERM");
  const bool can_redraw =
      isatty(STDERR_FILENO) != 0 && (terminal == NULL || strcmp(terminal, "dumb") != 0);
  return options->is_quiet             ? RLO__PROGRESS_NONE
         : can_redraw                  ? RLO__PROGRESS_LINE
         : options->is_progress_wanted ? RLO__PROGRESS_LINES
                                       : RLO__PROGRESS_NONE;
}

void rlo__progress_begin(rlo__progress *progress, const rlo__stream *stream,
                         const rlo__stream_result *result) {
  const rlo__progress_kind kind = choose_kind(stream->options);
  *progress = (rlo__progress){
      .kind = kind,
      .name =
          !stream->outputs[0].is_dropped ? stream->outputs[0].path : stream->sources[0].file.path,
      .place = stream->options->devices.is_none ? "the host" : result->device_names,
      .is_verifying = stream->is_verifying,
      .next_seconds = kind == RLO__PROGRESS_LINE ? FIRST_SECONDS : LINES_SECONDS,
      .next_event_seconds = EVENT_SECONDS,
  };
}

/* The stage that threads were busy with longest. */
static const char *bottleneck(const rlo_job_info *info) {
  static const char *const names[RLO_STAGE_COUNT] = {"read", "run", "write"};
  int longest = 0;
  for (int stage = 1; stage < RLO_STAGE_COUNT; ++stage) {
    if (info->stage_seconds[stage] > info->stage_seconds[longest]) {
      longest = stage;
    }
  }
  return names[longest];
}

/* The bytes without those that were done earlier. */
static int64_t bytes_now(const rlo_job_info *info) {
  return info->bytes_done - info->bytes_resumed;
}

static const char *rate_text(double bytes, double seconds) {
  return rlo__bytes_text(seconds > 0 ? (int64_t)(bytes / seconds) : 0);
}

/* Adds a field, or nothing of it where it does not fit. */
RLO_PRINTF(3, 4)

static void append_field(rlo__str *line, int columns, const char *format, ...) {
  line_text field;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(field.text, sizeof(field.text), format, arguments);
  va_end(arguments);
  if (line->length + strlen(field.text) <= (size_t)columns) {
    rlo__str_append(line, field.text);
  }
}

static void append_left(rlo__str *line, int columns, double left) {
  if (left < 0 || left > 1e6) {
    return;
  }
  const int64_t seconds = (int64_t)(left + 0.5);
  const int64_t unit = seconds < 3600 ? 60 : 3600;
  append_field(line, columns, "  %" PRId64 ":%02" PRId64 "%s left", seconds / unit,
               seconds % unit * 60 / unit, seconds < 3600 ? "" : " h");
}

static double done_fraction(const rlo_job_info *info) {
  return info->bytes_total <= 0 ? 1.0 : (double)info->bytes_done / (double)info->bytes_total;
}

/* "47%  18.9 of 40.0 GB  812 MB/s  pass 1/2  0:26 left  waits for: write" */
static void make_numbers(rlo__progress *p, const rlo_job_info *info, int columns, line_text *out) {
  rlo__str line = rlo__str_over(out->text, (size_t)columns + 1);
  if (info->seconds - p->marks[1].seconds >= RATE_SECONDS) {
    p->marks[0] = p->marks[1];
    p->marks[1].seconds = info->seconds;
    p->marks[1].bytes = bytes_now(info);
  }
  append_field(&line, columns, "%3.0f%%", floor(100 * done_fraction(info)));
  append_field(&line, columns, "  %s of %s", rlo__bytes_text(info->bytes_done),
               rlo__bytes_text(info->bytes_total));
  append_field(&line, columns, "  %s/s",
               rate_text((double)(bytes_now(info) - p->marks[0].bytes),
                         info->seconds - p->marks[0].seconds));
  if (info->num_passes > 1) {
    append_field(&line, columns, "  pass %d/%d", info->pass, info->num_passes);
  }
  if (info->state == RLO_JOB_FINISHING) {
    append_field(&line, columns, "  waits for the disk");
    return;
  }
  append_left(&line, columns, info->seconds_left);
  append_field(&line, columns, "  waits for: %s", bottleneck(info));
}

static void append_bar(rlo__str *line, double fraction, int width) {
  static const char full[] = "================================";
  const int inner = (width > MAX_BAR_COLUMNS ? MAX_BAR_COLUMNS : width) - 3;
  const int done = (int)(fraction * (inner - 1));
  rlo__str_printf(line, "[%.*s>%*s] ", done, full, inner - 1 - done, "");
}

/* Appends as much of a name as has room, escaped, and two blanks. */
static void append_name(rlo__str *line, const char *name, size_t room) {
  char step[RLO__SENTENCE_STEP_BYTES];
  while (*name != '\0') {
    const size_t bytes = rlo__sentence_next(&name, step);
    if (line->length + bytes > room) {
      break;
    }
    rlo__str_append_bytes(line, step, bytes);
  }
  rlo__str_append(line, "  ");
}

static const char *phase_text(const rlo__progress *progress) {
  return progress->is_verifying ? "verify " : "";
}

/* Name, bar and numbers; what does not fit is left out, the bar first. */
static void make_line(rlo__progress *progress, const rlo_job_info *info, int columns,
                      line_text *out) {
  line_text numbers;
  make_numbers(progress, info, columns, &numbers);
  rlo__str line = rlo__str_over(out->text, (size_t)columns + 1);
  int room = columns - (int)strlen(numbers.text) - 2;
  if (room > 0) {
    append_field(&line, room, "%s", phase_text(progress));
    append_name(&line, progress->name, (size_t)room);
  }
  room += 2 - (int)line.length;
  if (room >= MIN_BAR_COLUMNS) {
    append_bar(&line, done_fraction(info), room);
  }
  rlo__str_append(&line, numbers.text);
}

static int terminal_columns(void) {
  struct winsize size;
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  /* The last column is left free: some terminals begin a new line after it. */
  return (int)rlo__max(1, rlo__min(MAX_COLUMNS, is_known ? size.ws_col - 1 : 79));
}

/* Without escape sequences: spaces cover what was longer before. */
static void draw(rlo__progress *progress, const char *line, int columns) {
  const int length = (int)strlen(line);
  const int rest = (int)rlo__min(progress->drawn_columns, columns);
  fprintf(stderr, "\r%s%*s", line, rest > length ? rest - length : 0, "");
  fflush(stderr);
  progress->drawn_columns = length;
}

/* Shows it on standard error. */
static void show_line(rlo__progress *progress, const rlo_job_info *info) {
  line_text line;
  if (progress->kind == RLO__PROGRESS_NONE || info->seconds < progress->next_seconds) {
    return;
  }
  if (progress->kind == RLO__PROGRESS_LINE) {
    const int columns = terminal_columns();
    make_line(progress, info, columns, &line);
    draw(progress, line.text, columns);
    progress->next_seconds = info->seconds + LINE_SECONDS;
  } else {
    make_numbers(progress, info, MAX_COLUMNS, &line);
    fputs(phase_text(progress), stderr);
    rlo__print_escaped(stderr, progress->name);
    fprintf(stderr, ": %s\n", line.text + strspn(line.text, " "));
    progress->next_seconds += LINES_SECONDS;
  }
}

void rlo__progress_end(rlo__progress *progress, const rlo_job_info *info) {
  line_text line;
  if (progress->drawn_columns == 0) {
    return;
  }
  if (info->state == RLO_JOB_DONE) {
    const int columns = terminal_columns();
    rlo__str text = rlo__str_over(line.text, (size_t)columns + 1);
    append_field(&text, columns, "%s%s in %.1f s", phase_text(progress),
                 rlo__bytes_text(bytes_now(info)), info->seconds);
    append_field(&text, columns, ", %s/s", rate_text((double)bytes_now(info), info->seconds));
    append_field(&text, columns, ", by %s", progress->place);
    append_field(&text, columns, "; waited for: %s", bottleneck(info));
    draw(progress, line.text, columns);
  }
  fputc('\n', stderr);
  progress->drawn_columns = 0;
}

/* ------------------------------------------------------------ standard output
 */

/* The smaller one, of those that are not 0. */
static int64_t smaller(int64_t a, int64_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

void rlo__stream_add_info(const rlo_job_info *one, rlo_job_info *all) {
  all->num_passes = (int32_t)rlo__max(all->num_passes, one->num_passes);
  all->pieces_done += one->pieces_done;
  all->num_pieces += one->num_pieces;
  all->bytes_done += one->bytes_done;
  all->bytes_total += one->bytes_total;
  all->bytes_read += one->bytes_read;
  all->bytes_written += one->bytes_written;
  all->bytes_resumed += one->bytes_resumed;
  all->host_bytes_peak = rlo__max(all->host_bytes_peak, one->host_bytes_peak);
  all->device_bytes_peak = rlo__max(all->device_bytes_peak, one->device_bytes_peak);
  all->smallest_read = smaller(all->smallest_read, one->smallest_read);
  all->smallest_write = smaller(all->smallest_write, one->smallest_write);
  all->seconds += one->seconds;
  for (int stage = 0; stage < RLO_STAGE_COUNT; ++stage) {
    all->stage_seconds[stage] += one->stage_seconds[stage];
  }
}

static void add_estimate(rlo__report *r, const rlo_job_estimate *estimate) {
  rlo__report_line(r, "passes", "%d, of %" PRId64 " pieces together", estimate->num_passes,
                   estimate->num_pieces);
  rlo__report_line(r, "reads", "%s, in runs of %s", rlo__bytes_text(estimate->bytes_read),
                   rlo__bytes_text(estimate->read_run_bytes));
  rlo__report_line(r, "writes", "%s, in runs of %s", rlo__bytes_text(estimate->bytes_written),
                   rlo__bytes_text(estimate->write_run_bytes));
  const bool is_on_device = estimate->device_bytes > 0;
  rlo__report_line(r, "memory", "%s%s%s%s", rlo__bytes_text(estimate->host_bytes),
                   is_on_device ? ", and " : "",
                   is_on_device ? rlo__bytes_text(estimate->device_bytes) : "",
                   is_on_device ? " on each device" : "");
  rlo__report_line(r, "speed", "%.2f of a copy's expected", estimate->expected_fraction);
  RLO__REPORT(r, RLO__INT("num_passes", NULL, estimate->num_passes),
              RLO__INT("num_pieces", NULL, estimate->num_pieces),
              RLO__INT("bytes_read", NULL, estimate->bytes_read),
              RLO__INT("bytes_written", NULL, estimate->bytes_written),
              RLO__INT("read_run_bytes", NULL, estimate->read_run_bytes),
              RLO__INT("write_run_bytes", NULL, estimate->write_run_bytes),
              RLO__INT("host_bytes", NULL, estimate->host_bytes),
              RLO__INT("device_bytes", NULL, estimate->device_bytes),
              RLO__REAL("expected_fraction", estimate->expected_fraction));
}

static void report_info(rlo__report *r, const rlo_job_info *info) {
  RLO__REPORT(r, RLO__INT("num_passes", NULL, info->num_passes),
              RLO__INT("num_pieces", NULL, info->num_pieces),
              RLO__INT("bytes_read", NULL, info->bytes_read),
              RLO__INT("bytes_written", NULL, info->bytes_written),
              RLO__INT("bytes_resumed", NULL, info->bytes_resumed),
              RLO__INT("host_bytes_peak", NULL, info->host_bytes_peak),
              RLO__INT("device_bytes_peak", NULL, info->device_bytes_peak),
              RLO__INT("smallest_read", NULL, info->smallest_read),
              RLO__INT("smallest_write", NULL, info->smallest_write));
}

/* Begins an event, or without one the only report; "null" is a status that
 * there is none. */
static void begin(const rlo__stream *stream, const char *event, const char *status,
                  const rlo__stream_result *result, bool is_done, rlo__report *r) {
  const bool is_plan = strcmp(event, "plan") == 0;
  const bool is_event = stream->is_in_pieces || is_plan;
  const bool is_on_host = stream->options->devices.is_none;
  rlo__report_begin(r, stream->common->is_json, 7);
  RLO__REPORT(r, RLO__STRING(is_event ? "event" : NULL, NULL, event),
              RLO__STRING(is_event && !is_plan ? "status" : NULL, NULL, status));
  stream->report(stream, r, is_done ? result : NULL);
  RLO__REPORT(r, RLO__STRING("device", NULL, is_on_host ? NULL : result->device_names),
              RLO__STRING("chosen_by", NULL, stream->chosen_by));
  if (is_plan) {
    rlo__report_line(r, "runs on", "%s, by %s", is_on_host ? "the host" : result->device_names,
                     stream->chosen_by);
  }
}

void rlo__stream_print_plan(const rlo__stream *stream, const rlo__stream_result *result,
                            const rlo_job_estimate *estimate) {
  if (stream->options->is_dry_run || (stream->is_in_pieces && stream->common->is_json)) {
    rlo__report r;
    begin(stream, "plan", NULL, result, false, &r);
    add_estimate(&r, estimate);
    rlo__report_end(&r);
    fflush(stdout);
  }
}

void rlo__stream_print_end(const rlo__stream *stream, const rlo__stream_result *result,
                           bool is_done) {
  if (!is_done && !(stream->is_in_pieces && stream->common->is_json)) {
    return;
  }
  rlo__report r;
  begin(stream, "end", is_done || result->status != RLO_OK ? rlo_status_name(result->status) : NULL,
        result, is_done, &r);
  if (is_done && stream->is_in_pieces) {
    report_info(&r, &result->info);
  }
  rlo__report_end(&r);
}

/* Prints the event "progress". */
static void print_event(const rlo__stream *stream, const rlo_job_info *info) {
  rlo__report r;
  rlo__report_begin(&r, true, 0);
  RLO__REPORT(
      &r, RLO__STRING("event", NULL, "progress"),
      RLO__STRING("phase", NULL, stream->is_verifying ? "verify" : "run"),
      RLO__INT("pass", NULL, info->pass), RLO__INT("num_passes", NULL, info->num_passes),
      RLO__INT("bytes_done", NULL, info->bytes_done),
      RLO__INT("bytes_total", NULL, info->bytes_total), RLO__REAL("seconds", info->seconds),
      RLO__REAL("seconds_left", info->seconds_left >= 0 ? info->seconds_left : (double)INFINITY),
      RLO__STRING("waits_for", NULL, bottleneck(info)));
  rlo__report_end(&r);
  fflush(stdout);
}

void rlo__progress_show(rlo__progress *progress, const rlo__stream *stream,
                        const rlo_job_info *info) {
  show_line(progress, info);
  if (stream->report != NULL && stream->is_in_pieces && stream->common->is_json &&
      info->seconds >= progress->next_event_seconds) {
    print_event(stream, info);
    progress->next_event_seconds += EVENT_SECONDS;
  }
}

/* -------------------------------------------------------------------- words */

/* Appends an argument as a shell reads it: what a terminal would obey in $'', as POSIX.1-2024 has
 * it. */
static void append_argument(rlo__str *command, const char *argument) {
  static const char plain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./,:=+@%";
  const bool is_plain = argument[0] != '\0' && strspn(argument, plain) == strlen(argument);
  rlo__str_append(command, is_plain ? " " : " '");
  while (*argument != '\0') {
    char step[RLO__SENTENCE_STEP_BYTES];
    const char *at = argument;
    const bool is_quote = *at == '\'';
    const size_t bytes = rlo__sentence_next(&argument, step);
    const bool is_escaped = at + bytes != argument;
    rlo__str_append(command, is_quote ? "'\\" : is_escaped ? "'$'" : "");
    rlo__str_append_bytes(command, step, bytes);
    rlo__str_append(command, is_quote ? "'" : is_escaped ? "''" : "");
  }
  rlo__str_append(command, is_plain ? "" : "'");
}

static void make_command(const rlo__stream *stream, rlo__stream_words *words) {
  const rlo__common_options *common = stream->common;
  rlo__str command = rlo__str_over(words->command, sizeof(words->command));
  rlo__str_append(&command, "relayout");
  for (int n = 0; n < common->num_arguments; ++n) {
    append_argument(&command, common->arguments[n]);
    if (n == 0 && !stream->options->is_resumed) {
      rlo__str_append(&command, " --resume");
    }
  }
  if (rlo__str_is_cut(&command)) {
    strcpy(words->command, "the same arguments and --resume");
  }
}

void rlo__stream_words_make(const rlo__stream *stream, const rlo_job_info *info,
                            rlo__stream_words *out_words) {
  out_words->info = info;
  /* On a terminal the line that is being drawn ends first. */
  out_words->line_end = isatty(STDERR_FILENO) ? "\n" : "";
  char path[PATH_MAX];
  (void)rlo__sentence_escape(
      path, sizeof(path),
      stream->num_outputs == 1 && stream->outputs[0].path != NULL ? stream->outputs[0].path : "");
  snprintf(out_words->removed, sizeof(out_words->removed),
           "relayout: stopped; nothing was written%s%s\n", path[0] == '\0' ? "" : " to ", path);
  make_command(stream, out_words);
}

/* A signal handler may call these. */
static void say(const char *text) {
  ssize_t count = write(STDERR_FILENO, text, strlen(text));
  (void)count;
}

/* " at 47 %", if it is known. */
static void say_share(const rlo_job_info *info) {
  if (info->bytes_total <= 0) {
    return;
  }
  int percent = (int)(100.0 * (double)info->bytes_done / (double)info->bytes_total);
  percent = percent < 0 ? 0 : percent > 100 ? 100 : percent;
  char digits[4] = {(char)('0' + percent / 100), (char)('0' + percent / 10 % 10),
                    (char)('0' + percent % 10), '\0'};
  say(" at ");
  say(digits + (percent < 10 ? 2 : percent < 100 ? 1 : 0));
  say(" %");
}

static void say_stop(const rlo__stream_words *w, bool stays, const char *what) {
  say(w->line_end);
  if (!stays) {
    say(w->removed);
    return;
  }
  say("relayout: stopped");
  say_share(w->info);
  say(what);
  say("; go on with: ");
  say(w->command);
  say("\n");
}

void rlo__stream_words_stop(const void *words, bool stays) {
  say_stop(words, stays, "; what was done up to the last checkpoint stays");
}

void rlo__stream_words_end(const rlo__stream_words *words, bool stays) {
  say_stop(words, stays, "; what is done stays");
}

void rlo__stream_words_fail(const rlo__stream_words *words) {
  say("relayout: what is done stays; go on with: ");
  say(words->command);
  say("\n");
}
