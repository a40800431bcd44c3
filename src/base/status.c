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
static _Thread_local rlo__saved_error record;

RLO_PRINTF(1, 0)

static void start_record(const char *format, va_list arguments, rlo_status status) {
  /* The arguments may be texts of the record itself. */
  if (format != NULL) {
    (void)rlo__sentence_print(record.message, sizeof record.message, format, arguments);
  } else {
    record.message[0] = '\0';
  }
  record.status = status;
  record.cl_call = NULL;
  record.cl_code = 0;
  record.build_log[0] = '\0';
}

rlo_status rlo_error_set(rlo_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  start_record(format, arguments, status);
  va_end(arguments);
  return status;
}

rlo_status rlo__status_fail_cl(rlo_status status, const char *cl_call, int32_t cl_code,
                               const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  start_record(format, arguments, status);
  va_end(arguments);
  record.cl_call = cl_call;
  record.cl_code = cl_code;
  return status;
}

void rlo__status_set_build_log(const char *log, size_t log_bytes) {
  size_t max_length = log_bytes < BUILD_LOG_BYTES ? log_bytes : BUILD_LOG_BYTES;
  /* Drivers end the log with a NUL, which `log_bytes` may include. */
  size_t length = log == NULL ? 0 : strnlen(log, max_length);
  if (length > 0) {
    memmove(record.build_log, log, length);
  }
  record.build_log[length] = '\0';
}

rlo_status rlo__status_prefix(rlo_status status, const char *format, ...) {
  if (status == RLO_OK) {
    return RLO_OK;
  }
  char words[2 * MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  const size_t length = rlo__sentence_print(words, MESSAGE_BYTES, format, arguments);
  va_end(arguments);
  memcpy(words + length, record.message, strlen(record.message) + 1);
  (void)rlo__sentence_escape(record.message, sizeof record.message, words);
  return status;
}

void rlo__status_callback_begin(void) {
  record.status = RLO_OK;
  record.message[0] = '\0';
}

rlo_status rlo__status_callback_end(rlo_status status, const char *format, ...) {
  if (status == RLO_OK || record.status == status) {
    return status;
  }
  va_list arguments;
  va_start(arguments, format);
  start_record(format, arguments, status);
  va_end(arguments);
  return RLO_FAIL(status, "%s failed with %s and no message", record.message,
                  rlo_status_name(status));
}

void rlo__status_save(rlo_status status, rlo__saved_error *out) {
  *out = record;
  out->status = status;
}

rlo_status rlo__status_restore(const rlo__saved_error *saved) {
  record = *saved;
  return saved->status;
}

const rlo_error *rlo_error_last(void) {
  static _Thread_local rlo_error last;
  last = (rlo_error){.status = record.status,
                     .message = record.message,
                     .cl_call = record.cl_call != NULL ? record.cl_call : "",
                     .cl_code = record.cl_code,
                     .build_log = record.build_log};
  return &last;
}

/* One row per status. */
#define STATUS_TABLE(row)                                                                         \
  row(RLO_OK) row(RLO_INVALID_ARGUMENT) row(RLO_OUT_OF_RANGE) row(RLO_OVERFLOW)                   \
      row(RLO_UNSUPPORTED) row(RLO_NOT_FOUND) row(RLO_ALREADY_EXISTS) row(RLO_OUT_OF_MEMORY)      \
          row(RLO_DEVICE) row(RLO_BUILD_FAILED) row(RLO_IO) row(RLO_DATA_LOSS) row(RLO_CANCELLED) \
              row(RLO_PARSE) row(RLO_INTERNAL)

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
