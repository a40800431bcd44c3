/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/sentence.h"

void rlo__print_escaped(FILE *out, const char *text) {
  char step[RLO__SENTENCE_STEP_BYTES];
  const char *plain = text;
  while (*text != '\0') {
    const char *at = text;
    const size_t bytes = rlo__sentence_next(&text, step);
    if (at + bytes != text) {
      fwrite(plain, 1, (size_t)(at - plain), out);
      fwrite(step, 1, bytes, out);
      plain = text;
    }
  }
  fputs(plain, out);
}

static char *held;
static size_t held_capacity;
static const char *program = "relayout";
static const char *place_path;
static int64_t place_line;

void rlo__message_set_program(const char *name) {
  program = name;
}

void rlo__message_set_place(const char *path, int64_t line) {
  place_path = path;
  place_line = line;
}

void rlo__message_hold(char *buffer, size_t capacity) {
  held = buffer;
  held_capacity = capacity;
}

static void put(const char *text) {
  if (held == NULL) {
    fputs(text, stderr);
    return;
  }
  size_t length = strlen(held);
  snprintf(held + length, held_capacity - length, "%s", text);
}

static void put_escaped(const char *text) {
  char escaped[RLO__SENTENCE_BYTES];
  (void)rlo__sentence_escape(escaped, sizeof(escaped), text);
  put(escaped);
}

RLO_PRINTF(1, 0)

static void print_line(const char *format, va_list arguments) {
  char sentence[RLO__SENTENCE_BYTES];
  put("relayout: ");
  if (place_path != NULL) {
    char line[32];
    snprintf(line, sizeof(line), ":%" PRId64 ": ", place_line);
    put_escaped(place_path);
    put(line);
  }
  (void)rlo__sentence_print(sentence, sizeof(sentence), format, arguments);
  put(sentence);
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
  /* Positions count from the beginning. */
  const int most = 120;
  return rlo__fail("'%.*s%s': %s", most, text, strlen(text) > (size_t)most ? "..." : "",
                   rlo_error_last()->message);
}

/* A compiler's text of many lines. */
static void put_log(const char *log) {
  while (*log != '\0') {
    const size_t length = strcspn(log, "\n");
    char line[512];
    snprintf(line, sizeof(line), "%.*s", (int)length, log);
    put_escaped(line);
    put("\n");
    log += length + (log[length] == '\n' ? 1 : 0);
  }
}

int rlo__fail_last(void) {
  const rlo_error *error = rlo_error_last();
  rlo__fail("%s", error->message);
  if (error->build_log[0] != '\0') {
    put_log(error->build_log);
  }
  return RLO__EXIT_FAILURE;
}

int rlo__check(rlo_status status) {
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

int rlo__fail_usage(const char *verb, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  put("Try '");
  put(program);
  put(verb == NULL ? "" : " ");
  put(verb == NULL ? "" : verb);
  put(" --help'.\n");
  return RLO__EXIT_USAGE;
}

int rlo__finish_output(int code) {
  if (fflush(stdout) != 0 || ferror(stdout)) {
    int failed = rlo__fail("cannot write to standard output: %s", strerror(errno));
    return code == RLO__EXIT_OK ? failed : code;
  }
  return code;
}
