/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "relayout/version.h"
#include "support/expect.h"
#include "support/suite.h"

RLO_TEST(test_status__names_every_status) {
  static const struct {
    rlo_status status;
    const char *name;
  } rows[] = {
      {RLO_OK, "RLO_OK"},
      {RLO_INVALID_ARGUMENT, "RLO_INVALID_ARGUMENT"},
      {RLO_OUT_OF_RANGE, "RLO_OUT_OF_RANGE"},
      {RLO_OVERFLOW, "RLO_OVERFLOW"},
      {RLO_UNSUPPORTED, "RLO_UNSUPPORTED"},
      {RLO_NOT_FOUND, "RLO_NOT_FOUND"},
      {RLO_ALREADY_EXISTS, "RLO_ALREADY_EXISTS"},
      {RLO_OUT_OF_MEMORY, "RLO_OUT_OF_MEMORY"},
      {RLO_DEVICE, "RLO_DEVICE"},
      {RLO_BUILD_FAILED, "RLO_BUILD_FAILED"},
      {RLO_IO, "RLO_IO"},
      {RLO_DATA_LOSS, "RLO_DATA_LOSS"},
      {RLO_CANCELLED, "RLO_CANCELLED"},
      {RLO_PARSE, "RLO_PARSE"},
      {RLO_INTERNAL, "RLO_INTERNAL"},
  };

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    ck_assert_int_eq((int)rows[i].status, (int)i);
    ck_assert_str_eq(rlo_status_name(rows[i].status), rows[i].name);
  }
}

RLO_TEST(test_status__names_a_stranger_unknown) {
  ck_assert_str_eq(rlo_status_name((rlo_status)15), "RLO_UNKNOWN");
  ck_assert_str_eq(rlo_status_name((rlo_status)1000), "RLO_UNKNOWN");
}

RLO_TEST(test_status__a_fresh_record_has_no_null) {
  const rlo_error *e = rlo_error_last();
  expect_ok(e->status);
  ck_assert_str_eq(e->message, "");
  ck_assert_str_eq(e->cl_call, "");
  ck_assert_str_eq(e->build_log, "");
  ck_assert_int_eq(e->cl_code, 0);
}

RLO_TEST(test_status__keeps_the_words) {
  rlo_status status = RLO_FAIL(RLO_OUT_OF_RANGE, "index %d is beyond dimension %d", 7, 5);
  ck_assert_int_eq(status, RLO_OUT_OF_RANGE);
  expect_refusal(rlo_error_last()->status, RLO_OUT_OF_RANGE, "index 7 is beyond dimension 5");
}

RLO_TEST(test_status__cuts_long_words) {
  char words[2000];
  memset(words, 'x', sizeof words);
  words[sizeof words - 1] = '\0';
  ck_assert_int_eq(RLO_FAIL(RLO_PARSE, "%s", words), RLO_PARSE);
  ck_assert_uint_eq(strlen(rlo_error_last()->message), 511);
}

RLO_TEST(test_status__may_quote_the_message_before) {
  ck_assert_int_eq(RLO_FAIL(RLO_IO, "disk full"), RLO_IO);
  expect_refusal(RLO_FAIL(RLO_DATA_LOSS, "no result: %s", rlo_error_last()->message), RLO_DATA_LOSS,
                 "no result: disk full");
}

RLO_TEST(test_status__names_the_cl_call) {
  rlo_status status =
      rlo__status_fail_cl(RLO_DEVICE, "clCreateBuffer", -61, "a buffer of %d bytes", 12);
  ck_assert_int_eq(status, RLO_DEVICE);
  ck_assert_str_eq(rlo_error_last()->cl_call, "clCreateBuffer");
  ck_assert_int_eq(rlo_error_last()->cl_code, -61);
  ck_assert_str_eq(rlo_error_last()->message, "a buffer of 12 bytes");
}

RLO_TEST(test_status__a_new_failure_clears_the_old) {
  ck_assert_int_eq(rlo__status_fail_cl(RLO_BUILD_FAILED, "clBuildProgram", -11, "no"),
                   RLO_BUILD_FAILED);
  rlo__status_set_build_log("line 1\n", 7);
  ck_assert_str_eq(rlo_error_last()->build_log, "line 1\n");
  ck_assert_int_eq(RLO_FAIL(RLO_PARSE, "bad"), RLO_PARSE);
  ck_assert_str_eq(rlo_error_last()->cl_call, "");
  ck_assert_int_eq(rlo_error_last()->cl_code, 0);
  ck_assert_str_eq(rlo_error_last()->build_log, "");
}

RLO_TEST(test_status__cuts_a_long_build_log) {
  char *log = malloc(10000);
  ck_assert_ptr_nonnull(log);
  memset(log, 'y', 10000);
  rlo__status_set_build_log(log, 10000);
  ck_assert_uint_eq(strlen(rlo_error_last()->build_log), 8192);
  free(log);
  rlo__status_set_build_log(NULL, 5);
  ck_assert_str_eq(rlo_error_last()->build_log, "");
}

RLO_TEST(test_status__prefix_goes_in_front) {
  ck_assert_int_eq(RLO_FAIL(RLO_PARSE, "a digit is missing"), RLO_PARSE);
  expect_refusal(rlo__status_prefix(RLO_PARSE, "operand %d: ", 2), RLO_PARSE,
                 "operand 2: a digit is missing");
  expect_ok(rlo__status_prefix(RLO_OK, "operand %d: ", 3));
  ck_assert_str_eq(rlo_error_last()->message, "operand 2: a digit is missing");
  char words[2000];
  memset(words, 'x', sizeof words);
  words[sizeof words - 1] = '\0';
  ck_assert_int_eq(rlo__status_prefix(RLO_PARSE, "%s", words), RLO_PARSE);
  ck_assert_uint_eq(strlen(rlo_error_last()->message), 511);
}

static int num_calls;

static rlo_status callback(rlo_status status, const char *message) {
  expect_ok(rlo_error_last()->status);
  ck_assert_str_eq(rlo_error_last()->message, "");
  ++num_calls;
  return message != NULL ? rlo_error_set(status, "%s", message) : status;
}

/* Fails, and returns another status than the one that it recorded. */
static rlo_status callback_with_stale_record(void) {
  (void)callback(RLO_IO, "no disk");
  return RLO_PARSE;
}

RLO_TEST(test_status__callback_keeps_or_makes_a_message) {
  ck_assert_int_eq(rlo_error_set(RLO_IO, "before"), RLO_IO);
  ck_assert_int_eq(RLO__CALLBACK(callback(RLO_IO, "no disk"), "f"), RLO_IO);
  ck_assert_int_eq(num_calls, 1);
  ck_assert_str_eq(rlo_error_last()->message, "no disk");
  ck_assert_int_eq(RLO__CALLBACK(callback(RLO_IO, NULL), "function '%s'", "f"), RLO_IO);
  expect_refusal(rlo_error_last()->status, RLO_IO,
                 "function 'f' failed with RLO_IO and no message");
  expect_refusal(RLO__CALLBACK(callback_with_stale_record(), "f"), RLO_PARSE,
                 "f failed with RLO_PARSE and no message");
  expect_ok(RLO__CALLBACK(callback(RLO_OK, NULL), "f"));
  expect_ok(rlo_error_last()->status);
  ck_assert_str_eq(rlo_error_last()->message, "");
}

static rlo_status try_twice(rlo_status first, rlo_status second) {
  RLO_TRY(first);
  RLO_TRY(second);
  return RLO_OK;
}

static rlo_status try_with_cleanup(rlo_status inner, int *out_cleanups) {
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(inner);
  return RLO_OK;
fail:
  ++*out_cleanups;
  return status;
}

RLO_TEST(test_status__try_passes_on_the_first_failure) {
  expect_ok(try_twice(RLO_OK, RLO_OK));
  ck_assert_int_eq(try_twice(RLO_IO, RLO_PARSE), RLO_IO);
  ck_assert_int_eq(try_twice(RLO_OK, RLO_PARSE), RLO_PARSE);
  int cleanups = 0;
  expect_ok(try_with_cleanup(RLO_OK, &cleanups));
  ck_assert_int_eq(cleanups, 0);
  ck_assert_int_eq(try_with_cleanup(RLO_IO, &cleanups), RLO_IO);
  ck_assert_int_eq(cleanups, 1);
}

static void *fail_elsewhere(void *payload) {
  (void)payload;
  rlo_status status = RLO_FAIL(RLO_INTERNAL, "elsewhere");
  return status == RLO_INTERNAL ? payload : NULL;
}

RLO_TEST(test_status__a_saved_record_comes_back) {
  (void)rlo__status_fail_cl(RLO_DEVICE, "clFlush", -5, "device %d", 7);
  rlo__status_set_build_log("the log", 7);
  static rlo__saved_error saved;
  rlo__status_save(RLO_DEVICE, &saved);
  (void)RLO_FAIL(RLO_IO, "something else");
  ck_assert_int_eq(rlo__status_restore(&saved), RLO_DEVICE);
  const rlo_error *error = rlo_error_last();
  ck_assert_int_eq(error->status, RLO_DEVICE);
  ck_assert_str_eq(error->message, "device 7");
  ck_assert_str_eq(error->cl_call, "clFlush");
  ck_assert_int_eq(error->cl_code, -5);
  ck_assert_str_eq(error->build_log, "the log");
}

RLO_TEST(test_status__each_thread_has_its_record) {
  ck_assert_int_eq(RLO_FAIL(RLO_PARSE, "here"), RLO_PARSE);
  char mark = 0;
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, &mark), 0);
  void *result = NULL;
  ck_assert_int_eq(pthread_join(thread, &result), 0);
  ck_assert_ptr_eq(result, &mark);
  ck_assert_str_eq(rlo_error_last()->message, "here");
  ck_assert_int_eq(rlo_error_last()->status, RLO_PARSE);
}

RLO_TEST(test_status__the_version_is_that_of_the_header) {
  ck_assert_int_eq(rlo_version(), RLO_VERSION);
  ck_assert_str_eq(rlo_version_string(), RLO_VERSION_STRING);
}
