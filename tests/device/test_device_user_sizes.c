/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of the sizes that users have, 4 to 40 MiB, transposed by the kernels
 * that the planner chooses; on PoCL between pages that nobody may touch.
 */
#include <stdlib.h>
#include <string.h>

#include "support/device_suite.h"
#include "support/expect.h"
#include "support/guarded_pages.h"
#include "support/user_array.h"

RLO_TIMEOUT(2000);
RLO_FILE_FIXTURE(open_device, close_device);

static cl_mem wrap(const test_guarded_pages *pages) {
  return test_context_buffer(device.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                             pages->size_bytes, pages->bytes);
}

/** Drivers other than PoCL may move the bytes here only now. */
static void fetch(cl_mem buffer, const test_guarded_pages *pages) {
  cl_int code;
  void *mapped = clEnqueueMapBuffer(device.queue, buffer, CL_TRUE, CL_MAP_READ, 0,
                                    pages->size_bytes, 0, NULL, NULL, &code);
  expect_cl(code);
  ck_assert_ptr_eq(mapped, pages->bytes);
  expect_cl(clEnqueueUnmapMemObject(device.queue, buffer, mapped, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
}

static void run_plan(const test_user_array *a, cl_mem src, cl_mem dst) {
  rlo_plan *plan = test_context_plan(device.context, &a->problem, NULL);
  expect_ok(rlo_enqueue(plan, device.queue, src, 0, dst, 0, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  rlo_plan_release(plan);
}

static void run(const test_user_array *a, int number) {
  const size_t bytes = (size_t)a->total_bytes;
  const bool is_at_end = number % 2 == 0;
  test_guarded_pages src = test_guarded_pages_make(bytes, 0, is_at_end, 0x33);
  test_guarded_pages dst = test_guarded_pages_make(bytes, 0, is_at_end, 0xee);
  test_user_array_fill(a, src.bytes);
  cl_mem from = wrap(&src);
  cl_mem to = wrap(&dst);
  run_plan(a, from, to);
  fetch(to, &dst);
  clReleaseMemObject(from);
  clReleaseMemObject(to);
  test_user_array_expect(a, dst.bytes, "the device");
  ck_assert(test_guarded_pages_are_kept(&dst, 0xee));
  test_guarded_pages_release(&src);
  test_guarded_pages_release(&dst);
}

RLO_TEST(test_device_user_sizes__random_arrays) {
  test_random random = test_random_begin("test_device_user_sizes");
  test_user_array a;
  for (int number = 0; number < test_num_user_arrays(); ++number) {
    test_user_array_draw(&random, &a);
    run(&a, number);
  }
}
