/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put_list(const char *format, va_list arguments) RLO_PRINTF(1, 0);
static void put(const char *format, ...) RLO_PRINTF(1, 2);
static void print_line(const char *format, va_list arguments) RLO_PRINTF(1, 0);

static char *held;
static size_t held_capacity;
static const char *place_path;
static int64_t place_line;

void rlo__message_set_place(const char *path, int64_t line) {
  place_path = path;
  place_line = line;
}

void rlo__message_hold(char *buffer, size_t capacity) {
  held = buffer;
  held_capacity = capacity;
}

static void put_list(const char *format, va_list arguments) {
  if (held == NULL) {
    vfprintf(stderr, format, arguments);
    return;
  }
  size_t length = strlen(held);
  vsnprintf(held + length, held_capacity - length, format, arguments);
}

static void put(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_list(format, arguments);
  va_end(arguments);
}

static void print_line(const char *format, va_list arguments) {
  put("relayout: ");
  if (place_path != NULL) {
    put("%s:%" PRId64 ": ", place_path, place_line);
  }
  put_list(format, arguments);
  put("\n");
}

int rlo__fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  return RLO__EXIT_FAILURE;
}

int rlo__fail_in_text(const char *text) {
  enum { MAX_SHOWN = 120 };

  return rlo__fail("'%.*s%s': %s",
                   (int)MAX_SHOWN,
                   text,
                   strlen(text) > MAX_SHOWN ? "..." : "",
                   rlo_error_last()->message);
}

int rlo__fail_on_device(void) {
  const rlo_error *error = rlo_error_last();
  return error->status == RLO_UNSUPPORTED
             ? rlo__fail("%s; try --host", error->message)
             : rlo__fail_last();
}

int rlo__fail_last(void) {
  const rlo_error *error = rlo_error_last();
  rlo__fail("%s", error->message);
  if (error->build_log[0] != '\0') {
    put("%s\n", error->build_log);
  }
  return RLO__EXIT_FAILURE;
}

int rlo__fail_usage(const char *verb, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  put("Try 'relayout %s%s--help'.\n",
      verb == NULL ? "" : verb,
      verb == NULL ? "" : " ");
  return RLO__EXIT_USAGE;
}

int rlo__finish_output(int code) {
  if (fflush(stdout) != 0 || ferror(stdout)) {
    int failed =
        rlo__fail("cannot write to standard output: %s", strerror(errno));
    return code == RLO__EXIT_OK ? failed : code;
  }
  return code;
}
