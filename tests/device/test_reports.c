/* SPDX-License-Identifier: Apache-2.0 */
/* The library writes no more than the struct of the caller's header holds,
 * whichever that is: no byte beyond struct_size, and no size that it does not
 * know. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/opencl.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/report.h"
#include "support/shape_of.h"
#include "support/suite.h"

RLO_TIMEOUT(60);

static test_device device;
static rlo_plan *plan;

static rlo_status write_plan_info(void *out) {
  return rlo_plan_get_info(plan, out);
}

static rlo_status write_context_stats(void *out) {
  return rlo_context_get_stats(device.context, out);
}

static rlo_status write_device_info(void *out) {
  return rlo_device_query(rlo_context_cl_device(device.context), out);
}

static rlo_status write_cache_info(void *out) {
  return rlo_cache_inspect("", out);
}

/* Nothing is there to be deleted. */
static rlo_status write_cleared(void *out) {
  return rlo_cache_clear("/nonexistent", out);
}

static const test_report reports[] = {
    {"plan info", sizeof(rlo_plan_info), offsetof(rlo_plan_info, index_bytes), write_plan_info},
    {"context stats", sizeof(rlo_context_stats), offsetof(rlo_context_stats, buffer_bytes),
     write_context_stats},
    {"device info", sizeof(rlo_device_info), offsetof(rlo_device_info, cache_line_bytes),
     write_device_info},
    {"cache info", sizeof(rlo_cache_info), offsetof(rlo_cache_info, num_entries), write_cache_info},
    {"cache info", sizeof(rlo_cache_info), offsetof(rlo_cache_info, num_entries), write_cleared},
};

static void begin(void) {
  rlo_shape src = test_shape_of("f32[64,48]");
  rlo_shape dst = test_shape_of("f32[48,64]");
  const int32_t order[] = {1, 0};
  rlo_problem problem;
  device = test_device_open();
  expect_ok(rlo_relayout_lower(&src, &dst, order, &problem));
  plan = test_context_plan(device.context, &problem, NULL);
}

static void end(void) {
  rlo_plan_release(plan);
  test_device_close(&device);
}

RLO_TABLE_TEST(test_reports__fit_the_header_of_the_caller, reports) {
  begin();
  expect_report_fits(&reports[_i]);
  end();
}

RLO_TEST(test_reports__lists_have_an_element_size) {
  enum { ROOM = 16 };

  const size_t older = offsetof(rlo_device_entry, type);
  rlo_device_entry *entries = calloc(ROOM, sizeof *entries);
  unsigned char *narrow = test_guarded_make(ROOM * older);
  int32_t count;
  ck_assert_ptr_nonnull(entries);
  expect_ok(rlo_device_list(entries, sizeof *entries, ROOM, &count));
  expect_ok(rlo_device_list((rlo_device_entry *)(void *)narrow, older, ROOM, &count));
  count = count < ROOM ? count : ROOM;
  for (int32_t k = 0; k < count; ++k) {
    ck_assert_mem_eq(narrow + (size_t)k * older, &entries[k], older);
  }
  expect_guard(narrow, (size_t)count * older, ROOM * older);
  char message[200];
  (void)snprintf(message, sizeof message,
                 "entries of %zu bytes; this library knows rlo_device_entry of "
                 "up to %zu",
                 sizeof *entries + 8, sizeof *entries);
  expect_refusal(rlo_device_list(entries, sizeof *entries + 8, ROOM, &count), RLO_INVALID_ARGUMENT,
                 message);
  ck_assert_int_eq(rlo_device_list(entries, 0, ROOM, &count), RLO_INVALID_ARGUMENT);
  free(narrow);
  free(entries);
}

/* Options of an older header plan, too; so does a device of one. */
RLO_TEST(test_reports__older_options_are_read) {
  rlo_shape src = test_shape_of("f32[64,48]");
  rlo_problem problem;
  rlo_plan_report *made = NULL;
  rlo_device_info info = RLO_DEVICE_INFO_INIT;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  begin();
  expect_ok(rlo_relayout_lower(&src, &src, NULL, &problem));
  expect_ok(rlo_device_query(rlo_context_cl_device(device.context), &info));
  options.struct_size = offsetof(rlo_plan_options, effort);
  options.effort = (rlo_effort)77; /* not read */
  info.struct_size = offsetof(rlo_device_info, has_f32_denormals);
  expect_ok(rlo_plan_explain(&problem, &info, &options, 0, 0, &made));
  rlo_plan_report_release(made);
  info.struct_size = sizeof info + 8;
  expect_refusal_with(rlo_plan_explain(&problem, &info, NULL, 0, 0, &made), RLO_INVALID_ARGUMENT,
                      "begin with RLO_DEVICE_INFO_INIT");
  rlo_plan *second = test_context_plan(device.context, &problem, &options);
  rlo_plan_release(second);
  options.struct_size = sizeof options + 8;
  ck_assert_int_eq(rlo_plan_create(device.context, &problem, &options, &second),
                   RLO_INVALID_ARGUMENT);
  end();
}
