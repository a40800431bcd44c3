/* SPDX-License-Identifier: Apache-2.0 */
#include "support/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/expect.h"
#include "support/suite.h"

enum { GUARD_BYTES = 32, GUARD = 0x5a };

unsigned char *test_guarded_make(size_t bytes) {
  unsigned char *memory = malloc(bytes + GUARD_BYTES);
  ck_assert_ptr_nonnull(memory);
  memset(memory, GUARD, bytes + GUARD_BYTES);
  return memory;
}

void expect_guard(const unsigned char *memory, size_t from, size_t bytes) {
  for (size_t k = from; k < bytes + GUARD_BYTES; ++k) {
    ck_assert_msg(memory[k] == GUARD, "byte %zu was written", k);
  }
}

void expect_report_written(const test_report *report, size_t bytes) {
  unsigned char *out = test_guarded_make(bytes);
  memcpy(out, &bytes, sizeof bytes);
  expect_ok(report->write(out));
  size_t kept;
  memcpy(&kept, out, sizeof kept);
  ck_assert_uint_eq(kept, bytes);
  expect_guard(out, bytes, bytes);
  free(out);
}

void expect_report_refused(const test_report *report, size_t bytes, const char *message) {
  unsigned char *out = test_guarded_make(report->bytes);
  memcpy(out, &bytes, sizeof bytes);
  ck_assert_int_eq(report->write(out), RLO_INVALID_ARGUMENT);
  ck_assert_msg(strncmp(rlo_error_last()->message, message, strlen(message)) == 0, "%s",
                rlo_error_last()->message);
  expect_guard(out, sizeof bytes, report->bytes);
  free(out);
}

void expect_report_fits(const test_report *report) {
  expect_report_written(report, report->bytes);
  expect_report_written(report, report->older_bytes);
  expect_report_written(report, sizeof(size_t));
  const size_t unknown[] = {0, sizeof(size_t) - 1, report->bytes + 8};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
    char message[200];
    (void)snprintf(message, sizeof message,
                   "struct_size of the %s is %zu; this library knows %zu "
                   "bytes: begin with ",
                   report->name, unknown[i], report->bytes);
    expect_report_refused(report, unknown[i], message);
  }
}
