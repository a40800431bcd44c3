/* SPDX-License-Identifier: Apache-2.0 */
#include "support/device_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/expect.h"
#include "support/memcheck.h"

test_device device;
cl_command_queue unordered;

void open_device(void) {
  device = test_device_open();
}

void open_device_unordered(void) {
  open_device();
  unordered = test_device_make_queue(&device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

bool arena_is_right(test_arena *a, bool is_scratch) {
  char details[256];
  test_device_read(device.queue, a->buffer, 0, a->bytes, a->after);
  if (is_scratch) {
    memcpy(a->expected + a->begin, a->after + a->begin, (size_t)a->tensor_bytes);
  }
  if (test_arena_is_as_expected(a, details, sizeof details)) {
    return true;
  }
  printf("%s\n", details);
  return false;
}

bool run_in_arenas(rlo_plan *plan, test_random *random, const char *words, test_arena *src,
                   test_arena *ids, test_arena *dst) {
  rlo_plan_info info = test_plan_info_of(plan);
  test_arena scratch = test_arena_make(random != NULL ? 8 * test_random_in(random, 0, 2) : 8,
                                       info.scratch_bytes, 8, 0x90);
  test_arena_upload(&scratch, device.context);
  rlo_operands operands = RLO_OPERANDS_INIT;
  operands.src = src->buffer;
  operands.src_offset_bytes = src->begin;
  operands.dst = dst->buffer;
  operands.dst_offset_bytes = dst->begin;
  operands.scratch = scratch.buffer;
  operands.scratch_offset_bytes = scratch.begin;
  if (ids != NULL) {
    operands.indices = ids->buffer;
    operands.index_offset_bytes = ids->begin;
  } else {
    /* This is left out with ids: family compute loads an entry of their order,
     * which nobody wrote behind the last segment, before it asks the guard that
     * ends the segment. */
    test_memcheck_forget_buffer(&device, scratch.buffer, scratch.begin, scratch.tensor_bytes);
  }
  test_memcheck_forget_local(&device);
  const bool is_ordered = random == NULL || test_random_once_in(random, 2);
  cl_event event = NULL;
  ck_assert_msg(rlo_enqueue_operands(plan, is_ordered ? device.queue : unordered, &operands, 0,
                                     NULL, &event) == RLO_OK,
                "%s: %s\n%s", words, rlo_error_last()->message, rlo_error_last()->build_log);
  rlo_plan_release(plan); /* legal while its work is in flight */
  expect_cl(clWaitForEvents(1, &event));
  clReleaseEvent(event);
  const bool is_right = arena_is_right(dst, false);
  ck_assert_msg(arena_is_right(src, false) && (ids == NULL || arena_is_right(ids, false)) &&
                    arena_is_right(&scratch, true),
                "%s: more than the destination has changed", words);
  test_arena_deinit(&scratch);
  test_arena_deinit(src);
  test_arena_deinit(dst);
  if (ids != NULL) {
    test_arena_deinit(ids);
  }
  return is_right;
}

void expect_programs_within(int64_t max) {
  rlo_context_stats stats = test_context_stats(device.context);
  if (getenv("RELAYOUT_TEST_ALL") == NULL) {
    ck_assert_int_le(stats.programs_built, max);
  }
}

void close_device(void) {
  rlo_context_stats stats = test_context_stats(device.context);
  printf("%lld programs built, %lld kernels, %lld launches\n", (long long)stats.programs_built,
         (long long)stats.kernels_created, (long long)stats.launches);
  if (unordered != NULL) {
    clReleaseCommandQueue(unordered);
    unordered = NULL;
  }
  test_device_close(&device);
}
