/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A compiled kernel may run fewer work-items in a group than its device allows:
 * what was planned for more is planned again, and exact.
 */
#include "cl_faults.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/random_sum.h"
#include "support/shape_of.h"

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(300);

static void unlimit(void) {
  cl_faults_limit_groups(0);
  cl_faults_align_memory(0);
}

RLO_FIXTURE(NULL, unlimit);

static const struct {
  const char *src, *dst;
  int32_t permutation[3];
} pairs[] = {{"f32[70,130]", "f32[130,70]", {1, 0}},
             {"u8[33,65,3]", "u8[3,33,65]", {2, 0, 1}},
             {"f32[40,50]", "f32[40,50]{1,0:T(8,128)fill(zero)}", {0, 1}},
             {"f32[300,2]", "f32[2,300]", {1, 0}}};

enum { NUM_PAIRS = sizeof pairs / sizeof pairs[0] };

static test_outcome run_pair(int32_t n, const char *family, int64_t shift_bytes,
                             rlo_plan_info *out_info) {
  rlo_shape src = test_shape_of(pairs[n].src);
  rlo_shape dst = test_shape_of(pairs[n].dst);
  const test_case c = {.src = &src,
                       .dst = &dst,
                       .permutation = pairs[n].permutation,
                       .family = family,
                       .device_class = RLO_DEVICE_CLASS_GPU,
                       .src_shift_bytes = shift_bytes,
                       .dst_shift_bytes = shift_bytes};
  return test_device_run(&device, &c, out_info);
}

/* On aligned memory and on memory aligned to the element. */
RLO_LOOP_TEST(test_kernel_limits__plan_again, 0, 2 * NUM_PAIRS) {
  const int64_t shift = _i < NUM_PAIRS ? 0 : 4;
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  cl_faults_limit_groups(32);
  ck_assert_int_eq(run_pair(_i % NUM_PAIRS, NULL, shift, &info), TEST_RAN);
}

/* The limit is asked once, when a program is built: a type of its own. */
RLO_TEST(test_kernel_limits__may_be_one) {
  const int32_t permutation[] = {1, 0};
  rlo_shape src = test_shape_of("u16[70,130]");
  rlo_shape dst = test_shape_of("u16[130,70]");
  const test_case c = {
      .src = &src, .dst = &dst, .permutation = permutation, .device_class = RLO_DEVICE_CLASS_GPU};
  cl_faults_limit_groups(1);
  ck_assert_int_eq(test_device_run(&device, &c, NULL), TEST_RAN);
}

/* The power of two in a device's alignment counts, from a byte on. */
RLO_TEST(test_kernel_limits__alignment_is_a_power_of_two) {
  static const struct {
    cl_uint bits;
    int64_t bytes;
  } cases[] = {{1024, 128}, {384, 16}, {24, 1}, {16, 2}, {8, 1}, {1, 1}};

  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    rlo_device_info info = RLO_DEVICE_INFO_INIT;
    cl_faults_align_memory(cases[n].bits);
    expect_ok(rlo_device_query(rlo_context_cl_device(device.context), &info));
    ck_assert_int_eq(info.base_alignment_bytes, cases[n].bytes);
  }
}

/* A buffer of these bytes, or of any. */
static cl_mem buffer_with(void *content, size_t bytes) {
  cl_int code = CL_SUCCESS;
  cl_mem_flags flags = content != NULL ? CL_MEM_COPY_HOST_PTR : 0;
  cl_mem buffer = clCreateBuffer(rlo_context_cl_context(device.context), CL_MEM_READ_WRITE | flags,
                                 bytes, content, &code);
  expect_cl(code);
  return buffer;
}

/* A sum in parts: the parts are planned again, and the sum over them has groups
 * of one. */
RLO_TEST(test_kernel_limits__of_a_sum_in_parts) {
  enum { POINTS = 1 << 18 };

  const test_sum_axis axis = {POINTS, 1, 0};
  static rlo_problem problem;
  static uint16_t src[POINTS];
  float sum = 0.0F;
  float expected = 0.0F;
  test_random random = test_random_begin("test_kernel_limits");
  test_sum_make(RLO_DTYPE_BF16, RLO_DTYPE_F32, &axis, 1, &problem);
  test_sum_fill(&random, RLO_DTYPE_BF16, sizeof src, (uint8_t *)src);
  expect_ok(rlo_problem_run_host(&problem, src, &expected));
  cl_mem memory = buffer_with(src, sizeof src);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.device_class = RLO_DEVICE_CLASS_GPU;
  options.max_scratch_bytes = 4096;
  rlo_plan *plan = test_context_plan(device.context, &problem, &options);
  rlo_plan_info info = test_plan_info_of(plan);
  ck_assert_int_eq(info.num_steps, 2);
  rlo_operands operands = RLO_OPERANDS_INIT;
  operands.src = memory;
  cl_mem others = buffer_with(NULL, 8192);
  operands.dst = operands.scratch = others;
  operands.scratch_offset_bytes = 4096;
  cl_faults_limit_groups(4);
  expect_ok(rlo_enqueue_operands(plan, device.queue, &operands, 0, NULL, NULL));
  test_device_read(device.queue, others, 0, sizeof sum, &sum);
  ck_assert_mem_eq(&sum, &expected, sizeof sum);
  rlo_plan_release(plan);
  clReleaseMemObject(memory);
  clReleaseMemObject(others);
}

/* The kernels that invert the ids have groups of one, the sum is planned again.
 */
RLO_TEST(test_kernel_limits__of_a_segment_sum) {
  enum { ROWS = 600, COLUMNS = 3, SEGMENTS = 7 };

  rlo_shape src = test_shape_of("f32[600,3]");
  rlo_shape ids = test_shape_of("s32[600]");
  rlo_shape dst = test_shape_of("f32[7,3]");
  static float from[ROWS * COLUMNS];
  static int32_t segments[ROWS];
  float got[SEGMENTS * COLUMNS] = {0};
  float expected[SEGMENTS * COLUMNS] = {0};
  for (int32_t n = 0; n < ROWS * COLUMNS; ++n) {
    from[n] = 1.0F / (float)(n + 1);
    segments[n / COLUMNS] = n / COLUMNS * 5 % SEGMENTS;
  }
  rlo_segment_sum *sum = NULL;
  expect_ok(rlo_segment_sum_create(&src, &ids, 0, 0, &dst, &sum));
  expect_ok(rlo_segment_sum_run_host(sum, from, segments, expected));
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  rlo_plan *plan = NULL;
  options.device_class = RLO_DEVICE_CLASS_GPU;
  expect_ok(rlo_plan_create_segment_sum(device.context, sum, &options, &plan));
  rlo_plan_info info = test_plan_info_of(plan);
  cl_faults_limit_groups(8);
  rlo_operands operands = RLO_OPERANDS_INIT;
  operands.src = buffer_with(from, sizeof from);
  operands.indices = buffer_with(segments, sizeof segments);
  operands.dst = buffer_with(got, sizeof got);
  operands.scratch = buffer_with(NULL, (size_t)info.scratch_bytes);
  expect_ok(rlo_enqueue_operands(plan, device.queue, &operands, 0, NULL, NULL));
  test_device_read(device.queue, operands.dst, 0, sizeof got, got);
  ck_assert_mem_eq(got, expected, sizeof got);
  rlo_plan_release(plan);
  rlo_segment_sum_release(sum);
  clReleaseMemObject(operands.src);
  clReleaseMemObject(operands.indices);
  clReleaseMemObject(operands.dst);
  clReleaseMemObject(operands.scratch);
}
