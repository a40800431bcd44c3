/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <stdarg.h>
#include <string.h>

#include "base/sentence.h"

enum {
  MESSAGE_BYTES = sizeof((rlo__saved_error *)0)->message,
  BUILD_LOG_BYTES = sizeof((rlo__saved_error *)0)->build_log - 1
};

/** The size is fixed, so that RLO_OUT_OF_MEMORY can be recorded, too. */
typedef struct record {
  rlo_error error;
  char message[MESSAGE_BYTES];
  char build_log[BUILD_LOG_BYTES + 1];
} record;

static _Thread_local record this_thread;

/** Returns the record of this thread. Its strings are never NULL. */
static record *get_record(void) {
  record *r = &this_thread;
  if (r->error.message == NULL) {
    r->error.message = r->message;
    r->error.cl_call = "";
    r->error.build_log = r->build_log;
  }
  return r;
}

RLO_PRINTF(1, 0)

static void start_record(const char *format,
                         va_list arguments,
                         rlo_status status) {
  record *r = get_record();
  if (format != NULL) {
    (void)rlo__sentence_print(r->message, sizeof r->message, format, arguments);
  } else {
    r->message[0] = '\0';
  }
  r->error.status = status;
  r->error.cl_call = "";
  r->error.cl_code = 0;
  r->build_log[0] = '\0';
}

rlo_status rlo_error_set(rlo_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  start_record(format, arguments, status);
  va_end(arguments);
  return status;
}

rlo_status rlo__status_fail_cl(rlo_status status,
                               const char *cl_call,
                               int32_t cl_code,
                               const char *format,
                               ...) {
  va_list arguments;
  va_start(arguments, format);
  start_record(format, arguments, status);
  va_end(arguments);
  record *r = get_record();
  r->error.cl_call = cl_call != NULL ? cl_call : "";
  r->error.cl_code = cl_code;
  return status;
}

void rlo__status_set_build_log(const char *log, size_t log_bytes) {
  record *r = get_record();
  size_t max_length = log_bytes < BUILD_LOG_BYTES ? log_bytes : BUILD_LOG_BYTES;
  if (log == NULL) {
    max_length = 0;
  }
  /* Drivers end the log with a NUL, which `log_bytes` may include. */
  size_t length = 0;
  while (length < max_length && log[length] != '\0') {
    ++length;
  }
  if (length > 0) {
    memmove(r->build_log, log, length);
  }
  r->build_log[length] = '\0';
}

rlo_status rlo__status_prefix(rlo_status status, const char *format, ...) {
  record *r = get_record();
  char words[2 * MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  const size_t length =
      rlo__sentence_print(words, MESSAGE_BYTES, format, arguments);
  va_end(arguments);
  memcpy(words + length, r->message, strlen(r->message) + 1);
  (void)rlo__sentence_escape(r->message, sizeof r->message, words);
  return status;
}

void rlo__status_callback_begin(void) {
  record *r = get_record();
  r->error.status = RLO_OK;
  r->message[0] = '\0';
}

rlo_status rlo__status_callback_end(rlo_status status,
                                    const char *format,
                                    ...) {
  if (status == RLO_OK || get_record()->error.status == status) {
    return status;
  }
  char words[MESSAGE_BYTES];
  va_list arguments;
  words[0] = '\0';
  va_start(arguments, format);
  if (format != NULL) {
    (void)rlo__sentence_print(words, sizeof words, format, arguments);
  }
  va_end(arguments);
  return RLO_FAIL(status,
                  "%s failed with %s and no message",
                  words,
                  rlo_status_name(status));
}

void rlo__status_save(rlo_status status, rlo__saved_error *out) {
  const record *r = get_record();
  out->status = status;
  out->cl_call = r->error.cl_call;
  out->cl_code = r->error.cl_code;
  memcpy(out->message, r->message, sizeof out->message);
  memcpy(out->build_log, r->build_log, sizeof out->build_log);
}

rlo_status rlo__status_restore(const rlo__saved_error *saved) {
  record *r = get_record();
  r->error.status = saved->status;
  r->error.cl_call = saved->cl_call;
  r->error.cl_code = saved->cl_code;
  memcpy(r->message, saved->message, sizeof r->message);
  memcpy(r->build_log, saved->build_log, sizeof r->build_log);
  return saved->status;
}

const rlo_error *rlo_error_last(void) {
  return &get_record()->error;
}

/* One row per status. */
#define STATUS_TABLE(row)                                                \
  row(RLO_OK) row(RLO_INVALID_ARGUMENT) row(RLO_OUT_OF_RANGE)            \
      row(RLO_OVERFLOW) row(RLO_UNSUPPORTED) row(RLO_NOT_FOUND)          \
          row(RLO_ALREADY_EXISTS) row(RLO_OUT_OF_MEMORY) row(RLO_DEVICE) \
              row(RLO_BUILD_FAILED) row(RLO_IO) row(RLO_DATA_LOSS)       \
                  row(RLO_CANCELLED) row(RLO_PARSE) row(RLO_INTERNAL)

const char *rlo_status_name(rlo_status status) {
  /* No default label, so that the compiler warns of a status without a row. */
  switch (status) {
#define STATUS_CASE(name) \
  case name:              \
    return #name;
    STATUS_TABLE(STATUS_CASE)
#undef STATUS_CASE
  }
  return "RLO_UNKNOWN";
}
