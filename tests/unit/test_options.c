/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>

#include "base/options.h"
#include "support/expect.h"
#include "support/suite.h"

typedef struct options {
  size_t struct_size;
  int64_t old;
  int64_t recent;
} options;

static const options defaults = {sizeof(options), 1, 2};

static rlo_status read(const options *in, options *out) {
  *out = defaults;
  return rlo__options_read("test options", "TEST_INIT", in, out, sizeof *out);
}

/* The sizes differ between machines. */
static void expect_sizes(const char *name, size_t size) {
  char message[160];
  (void)snprintf(message, sizeof message,
                 "struct_size of the test %s is %zu; this library knows %zu "
                 "bytes: begin with TEST_INIT",
                 name, size, sizeof(options));
  ck_assert_str_eq(rlo_error_last()->message, message);
}

RLO_TEST(test_options__of_this_version) {
  const options in = {sizeof in, 7, 8};
  options out;
  expect_ok(read(&in, &out));
  ck_assert(out.old == 7 && out.recent == 8);
}

RLO_TEST(test_options__null_is_the_defaults) {
  options out;
  expect_ok(read(NULL, &out));
  ck_assert(out.old == 1 && out.recent == 2);
}

RLO_TEST(test_options__of_an_older_header) {
  const options in = {offsetof(options, recent), 7, 8};
  options out;
  expect_ok(read(&in, &out));
  ck_assert(out.old == 7 && out.recent == 2);
  const options empty = {sizeof(size_t), 7, 8};
  expect_ok(read(&empty, &out));
  ck_assert(out.old == 1 && out.recent == 2);
}

RLO_TEST(test_options__of_a_wrong_size) {
  const size_t sizes[] = {0, 1, sizeof(size_t) - 1, sizeof(options) + 1, SIZE_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const options in = {sizes[i], 7, 8};
    options out;
    ck_assert_int_eq(read(&in, &out), RLO_INVALID_ARGUMENT);
    ck_assert(out.old == 1 && out.recent == 2);
  }
  const options in = {3, 7, 8};
  options out;
  ck_assert_int_eq(read(&in, &out), RLO_INVALID_ARGUMENT);
  expect_sizes("options", 3);
}

RLO_TEST(test_options__a_report_fits_an_older_header) {
  options out = {offsetof(options, recent), 7, 8};
  expect_ok(rlo__report_write("test report", "TEST_INIT", &defaults, &out, sizeof out));
  ck_assert_uint_eq(out.struct_size, offsetof(options, recent));
  ck_assert(out.old == 1 && out.recent == 8);
  out.struct_size = sizeof out;
  expect_ok(rlo__report_write("test report", "TEST_INIT", &defaults, &out, sizeof out));
  ck_assert(out.old == 1 && out.recent == 2);
}

RLO_TEST(test_options__a_report_of_a_wrong_size_is_left_alone) {
  options out = {sizeof out + 1, 7, 8};
  ck_assert_int_eq(rlo__report_write("test report", "TEST_INIT", &defaults, &out, sizeof out),
                   RLO_INVALID_ARGUMENT);
  expect_sizes("report", sizeof out + 1);
  out.struct_size = 0;
  ck_assert_int_eq(rlo__report_write("test report", "TEST_INIT", &defaults, &out, sizeof out),
                   RLO_INVALID_ARGUMENT);
  ck_assert(out.old == 7 && out.recent == 8);
}
