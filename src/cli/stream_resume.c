/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/threshold.h"
#include "message.h"
#include "stream_inside.h"

/* ----------------------------------------------------------------- journals */

/* Returns whether a job may run a piece twice, and has its source until then.
 */
static bool is_repeatable(const rlo__stream *stream,
                          const rlo__stream_job *job) {
  const rlo_arithmetic *a = &job->problem->arithmetic;
  bool adds = false;
  for (int32_t s = 0; s < a->num_steps; ++s) {
    adds |= a->steps[s].op == RLO_ELEMENT_ACCUMULATE;
  }
  return !adds && job->source < stream->num_sources;
}

int32_t rlo__stream_count_jobs(const rlo__stream *stream,
                               int32_t output,
                               int32_t end) {
  int32_t count = 0;
  for (int32_t n = 0; n < end; ++n) {
    count += stream->jobs[n].output == output;
  }
  return count;
}

bool rlo__stream_has_journal(const rlo__stream *stream, int32_t output) {
  int64_t bytes = 0;
  bool can_resume = stream->outputs[output].path != NULL;
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    /* Files are far smaller than that all of them together would overflow. */
    bytes += stream->outputs[n].bytes;
  }
  for (int32_t n = 0; n < stream->num_jobs; ++n) {
    can_resume &= stream->jobs[n].output != output ||
                  is_repeatable(stream, &stream->jobs[n]);
  }
  return can_resume &&
         rlo__stream_count_jobs(stream, output, stream->num_jobs) > 0 &&
         (stream->options->is_resumed ||
          bytes >= rlo__thresholds.cli_journaled_bytes);
}

void rlo__stream_name_journal(const rlo__stream *stream,
                              int32_t job,
                              const char *first_path,
                              rlo__journal_path *out_path) {
  const int32_t before =
      rlo__stream_count_jobs(stream, stream->jobs[job].output, job);
  rlo__str path = rlo__str_over(out_path->text, sizeof(out_path->text));
  if (first_path != NULL) {
    rlo__str_append(&path, first_path);
  }
  if (first_path != NULL && before > 0) {
    rlo__str_printf(&path, "-%d", before + 1);
  }
}

/* The files that there are of an output. */
typedef struct remains {
  rlo__file_replace file;
  bool has_journal;
  bool has_part;
} remains;

static void look(const rlo__stream *stream, int32_t output, remains *out) {
  const char *path = stream->outputs[output].path;
  bool is_named = path != NULL && rlo__file_replace_begin(
                                      &out->file, path, RLO__FILE_NAMES) == 0;
  out->has_journal = is_named && access(out->file.journal_path, F_OK) == 0;
  out->has_part = is_named && access(out->file.temp_path, F_OK) == 0;
}

void rlo__stream_find_journal(const rlo__stream *stream,
                              int32_t job,
                              rlo__journal_path *out_path) {
  remains r;
  int32_t output = stream->jobs[job].output;
  look(stream, output, &r);
  bool is_resumed = stream->options->is_resumed && r.has_part;
  out_path->text[0] = '\0';
  if (rlo__stream_has_journal(stream, output) &&
      (!r.has_journal || is_resumed)) {
    rlo__stream_name_journal(stream, job, r.file.journal_path, out_path);
  }
}

bool rlo__stream_is_begun(const rlo__stream *stream) {
  bool is_begun = false;
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    remains r;
    look(stream, n, &r);
    is_begun |= rlo__stream_has_journal(stream, n) &&
                stream->options->is_resumed && r.has_part && r.has_journal;
  }
  return is_begun;
}

int rlo__stream_fail_submit(const rlo__stream *stream) {
  if (!rlo__stream_is_begun(stream)) {
    return rlo__fail_last();
  }
  return rlo__fail("%s; without --resume the job begins anew",
                   rlo_error_last()->message);
}

/* -------------------------------------------------------------------- words */

/* Appends an argument as a shell reads it. */
static void append_argument(rlo__str *command, const char *argument) {
  static const char plain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
      "_-./,:=+@%";
  const bool is_plain =
      argument[0] != '\0' && strspn(argument, plain) == strlen(argument);
  rlo__str_append(command, is_plain ? " " : " '");
  for (const char *c = argument; *c != '\0'; ++c) {
    if (*c == '\'') {
      rlo__str_append(command, "'\\''");
    } else {
      rlo__str_append_char(command, *c);
    }
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

void rlo__stream_words_make(const rlo__stream *stream,
                            const rlo_job_info *info,
                            rlo__stream_words *out_words) {
  out_words->info = info;
  /* On a terminal the line that is being drawn ends first. */
  out_words->line_end = isatty(STDERR_FILENO) ? "\n" : "";
  snprintf(out_words->removed,
           sizeof(out_words->removed),
           "relayout: stopped; nothing was written%s%s\n",
           stream->num_outputs == 1 ? " to " : "",
           stream->num_outputs == 1 ? stream->outputs[0].path : "");
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
  int percent =
      (int)(100.0 * (double)info->bytes_done / (double)info->bytes_total);
  percent = percent < 0 ? 0 : percent > 100 ? 100 : percent;
  char digits[4] = {(char)('0' + percent / 100),
                    (char)('0' + percent / 10 % 10),
                    (char)('0' + percent % 10),
                    '\0'};
  say(" at ");
  say(digits + (percent < 10 ? 2 : percent < 100 ? 1 : 0));
  say(" %");
}

void rlo__stream_words_stop(const void *words, bool stays) {
  const rlo__stream_words *w = words;
  say(w->line_end);
  if (!stays) {
    say(w->removed);
    return;
  }
  say("relayout: stopped");
  say_share(w->info);
  say("; go on with: ");
  say(w->command);
  say("\n");
}

void rlo__stream_words_fail(const rlo__stream_words *words) {
  say("relayout: what is done stays; go on with: ");
  say(words->command);
  say("\n");
}
