/* SPDX-License-Identifier: Apache-2.0 */
/* TIOCGWINSZ and struct winsize are not part of POSIX 2008. */
#define _DEFAULT_SOURCE
#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "display.h"

/* Nothing is shown of what takes no longer. */
#define FIRST_SECONDS 1.0
#define LINE_SECONDS  0.1
#define LINES_SECONDS 10.0
/* Over which the rate is averaged. */
#define RATE_SECONDS 5.0

#define MIN_BAR_COLUMNS 10
#define MAX_BAR_COLUMNS 32

rlo__progress_kind rlo__progress_kind_choose(bool is_wanted, bool is_quiet) {
  if (is_quiet) {
    return RLO__PROGRESS_NONE;
  }
  const char *terminal = getenv("TERM");
  bool can_redraw = isatty(STDERR_FILENO) != 0 &&
                    (terminal == NULL || strcmp(terminal, "dumb") != 0);
  return can_redraw  ? RLO__PROGRESS_LINE
         : is_wanted ? RLO__PROGRESS_LINES
                     : RLO__PROGRESS_NONE;
}

void rlo__progress_begin(rlo__progress *progress,
                         rlo__progress_kind kind,
                         const char *name) {
  *progress = (rlo__progress){
      .kind = kind,
      .name = name,
      .next_seconds =
          kind == RLO__PROGRESS_LINE ? FIRST_SECONDS : LINES_SECONDS,
  };
}

const char *rlo__progress_bottleneck(const rlo_job_info *info) {
  static const char *const names[RLO_STAGE_COUNT] = {"read", "run", "write"};
  int longest = 0;
  for (int stage = 1; stage < RLO_STAGE_COUNT; ++stage) {
    if (info->stage_seconds[stage] > info->stage_seconds[longest]) {
      longest = stage;
    }
  }
  return names[longest];
}

static void update_rate(rlo__progress *progress, const rlo_job_info *info) {
  double seconds = info->seconds - progress->rate_seconds;
  if (seconds <= 0) {
    return;
  }
  if (progress->rate_seconds == 0) {
    /* That was done earlier. */
    progress->rate_bytes = info->bytes_resumed;
  }
  double rate = (double)(info->bytes_done - progress->rate_bytes) / seconds;
  /* Weights fall with time, whatever the times between two looks are. */
  double old_weight =
      progress->rate_seconds == 0 ? 0 : exp(-seconds / RATE_SECONDS);
  progress->rate = old_weight * progress->rate + (1 - old_weight) * rate;
  progress->rate_seconds = info->seconds;
  progress->rate_bytes = info->bytes_done;
}

/* Appends to a line of at most `columns` characters. */
RLO_PRINTF(3, 4)

static void append(char *line, int columns, const char *format, ...) {
  size_t length = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line + length, (size_t)columns + 1 - length, format, arguments);
  va_end(arguments);
}

static void append_left(const rlo__progress *progress,
                        const rlo_job_info *info,
                        char *line,
                        int columns) {
  double left = info->seconds_left;
  if (left < 0 && progress->rate > 0) {
    left = (double)(info->bytes_total - info->bytes_done) / progress->rate;
  }
  if (left < 0 || left > 1e6) {
    return;
  }
  int64_t seconds = (int64_t)(left + 0.5);
  if (seconds < 3600) {
    append(line,
           columns,
           "  %" PRId64 ":%02" PRId64 " left",
           seconds / 60,
           seconds % 60);
  } else {
    append(line,
           columns,
           "  %" PRId64 ":%02" PRId64 " h left",
           seconds / 3600,
           seconds / 60 % 60);
  }
}

static double done_fraction(const rlo_job_info *info) {
  return info->bytes_total <= 0
             ? 1.0
             : (double)info->bytes_done / (double)info->bytes_total;
}

/* "47%  18.9/40.0 GB  812 MB/s  pass 1/1  0:26 left  waits for: write" */
static void make_numbers(const rlo__progress *progress,
                         const rlo_job_info *info,
                         char *line,
                         int columns) {
  rlo__bytes_text done;
  rlo__bytes_text total;
  rlo__bytes_text rate;
  line[0] = '\0';
  append(line,
         columns,
         "%3.0f%%  %s of %s  %s/s",
         floor(100 * done_fraction(info)),
         rlo__bytes_text_make(info->bytes_done, &done),
         rlo__bytes_text_make(info->bytes_total, &total),
         rlo__bytes_text_make((int64_t)progress->rate, &rate));
  if (info->num_passes > 1) {
    append(line, columns, "  pass %d/%d", info->pass, info->num_passes);
  }
  if (info->state == RLO_JOB_FINISHING) {
    append(line, columns, "  waits for the disk");
    return;
  }
  append_left(progress, info, line, columns);
  append(line, columns, "  waits for: %s", rlo__progress_bottleneck(info));
}

static void append_bar(double fraction, char *line, int columns, int width) {
  char bar[MAX_BAR_COLUMNS + 1];
  int inner = (width > MAX_BAR_COLUMNS ? MAX_BAR_COLUMNS : width) - 3;
  int full = (int)(fraction * inner);
  memset(bar, ' ', sizeof(bar));
  memset(bar, '=', (size_t)full);
  bar[full] = '>';
  append(line, columns, "[%.*s] ", inner, bar);
}

/* Name, bar and numbers; what does not fit is left out, the bar first. */
static void make_line(const rlo__progress *progress,
                      const rlo_job_info *info,
                      int columns,
                      char *line) {
  char numbers[RLO__PROGRESS_MAX_COLUMNS + 1];
  make_numbers(progress, info, numbers, columns);
  line[0] = '\0';
  int room = columns - (int)strlen(numbers) - 2;
  if (room > 0) {
    append(line, columns, "%.*s", room, progress->name);
    for (char *c = line; *c != '\0'; ++c) {
      /* A name must not move the cursor. */
      if ((unsigned char)*c < 0x20 || *c == 0x7f) {
        *c = '?';
      }
    }
    append(line, columns, "  ");
  }
  room = columns - (int)strlen(line) - (int)strlen(numbers);
  if (room >= MIN_BAR_COLUMNS) {
    append_bar(done_fraction(info), line, columns, room);
  }
  append(line, columns, "%s", numbers);
}

static int terminal_columns(void) {
  struct winsize size;
  int columns = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    columns = size.ws_col;
  }
  /* The last column is left free: some terminals begin a new line after it. */
  columns -= 1;
  return columns < 1                           ? 1
         : columns > RLO__PROGRESS_MAX_COLUMNS ? RLO__PROGRESS_MAX_COLUMNS
                                               : columns;
}

/* Without escape sequences: spaces cover what was longer before. */
static void draw(rlo__progress *progress, const char *line, int columns) {
  int length = (int)strlen(line);
  int rest =
      progress->drawn_columns < columns ? progress->drawn_columns : columns;
  fprintf(stderr, "\r%s%*s", line, rest > length ? rest - length : 0, "");
  fflush(stderr);
  progress->drawn_columns = length;
}

void rlo__progress_show(rlo__progress *progress, const rlo_job_info *info) {
  if (progress->kind == RLO__PROGRESS_NONE) {
    return;
  }
  update_rate(progress, info);
  if (info->seconds < progress->next_seconds) {
    return;
  }
  char line[RLO__PROGRESS_MAX_COLUMNS + 1];
  if (progress->kind == RLO__PROGRESS_LINE) {
    int columns = terminal_columns();
    make_line(progress, info, columns, line);
    draw(progress, line, columns);
    progress->next_seconds = info->seconds + LINE_SECONDS;
  } else {
    make_numbers(progress, info, line, RLO__PROGRESS_MAX_COLUMNS);
    fprintf(stderr, "%s: %s\n", progress->name, line + strspn(line, " "));
    progress->next_seconds += LINES_SECONDS;
  }
}

void rlo__progress_end(rlo__progress *progress, const rlo_job_info *info) {
  if (progress->drawn_columns == 0) {
    return;
  }
  if (info->state == RLO_JOB_DONE) {
    rlo__bytes_text total;
    rlo__bytes_text rate;
    char line[RLO__PROGRESS_MAX_COLUMNS + 1] = "";
    int columns = terminal_columns();
    int64_t bytes = info->bytes_total - info->bytes_resumed;
    append(
        line,
        columns,
        "%s in %.1f s, %s/s; waited for: %s",
        rlo__bytes_text_make(bytes, &total),
        info->seconds,
        rlo__bytes_text_make((int64_t)((double)bytes / info->seconds), &rate),
        rlo__progress_bottleneck(info));
    draw(progress, line, columns);
  }
  fputc('\n', stderr);
  progress->drawn_columns = 0;
}
