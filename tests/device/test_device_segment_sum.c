/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/opencl.h"
#include "relayout/text.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/random_indexed.h"
#include "support/shape_of.h"

/* Segment sums on a device, held against the host bit by bit: whole memories,
 * with guard bands on both sides. */

RLO_FILE_FIXTURE(open_device_unordered, close_device);
RLO_TIMEOUT(600);

/* Numbers of this type: of floats the highest bit of the exponent is 0. */
static void fill_numbers(test_random *random, rlo_dtype dtype, uint8_t *bytes, int64_t count) {
  int64_t size = rlo_dtype_value_bits(dtype) / 8;
  for (int64_t b = 0; b < count; ++b) {
    bytes[b] = (uint8_t)(test_random_bits(random) >> 56);
    if (rlo_dtype_is_floating(dtype) && b % size == size - 1) {
      bytes[b] &= 0xbf;
    }
  }
}

typedef struct sum_case {
  const test_indexed *x;
  /** The type of the sums, if another than that of the rows. */
  rlo_dtype dst_dtype;
  rlo_device_class device_class;
  const char *family;
} sum_case;

/* False if the device's result is another than the host's. */
static test_outcome run_sum(test_random *random, const sum_case *c) {
  const test_indexed *x = c->x;
  rlo_segment_sum *sum;
  rlo_shape dst_shape = x->array;
  if (c->dst_dtype != x->array.dtype) {
    dst_shape = test_shape_make(c->dst_dtype, x->array.dims, x->array.rank);
  }
  ck_assert_msg(rlo_segment_sum_create(&x->rows, &x->indices, x->dim, x->batch_dims, &dst_shape,
                                       &sum) == RLO_OK,
                "%s: %s", x->words, rlo_error_last()->message);
  rlo_segment_sum_sizes sizes;
  rlo_segment_sum_get_sizes(sum, &sizes);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.device_class = c->device_class;
  options.family = c->family;
  rlo_plan *plan;
  rlo_status status = rlo_plan_create_segment_sum(device.context, sum, &options, &plan);
  if (status == RLO_UNSUPPORTED && c->family != NULL) {
    rlo_segment_sum_release(sum);
    return TEST_REFUSED;
  }
  ck_assert_msg(status == RLO_OK, "%s: %s", x->words, rlo_error_last()->message);
  int64_t src_size = rlo_dtype_value_bits(x->rows.dtype) / 8;
  int64_t dst_size = rlo_dtype_value_bits(c->dst_dtype) / 8;
  test_arena src =
      test_arena_make(src_size * test_random_in(random, 0, 5), sizes.src_bytes, 8, 0x50);
  fill_numbers(random, x->rows.dtype, src.before + src.begin, sizes.src_bytes);
  test_arena ids = test_arena_make(8 * test_random_in(random, 0, 2), sizes.ids_bytes, 8, 0x10);
  memcpy(ids.before + ids.begin, x->index_memory, (size_t)sizes.ids_bytes);
  test_arena dst =
      test_arena_make(dst_size * test_random_in(random, 0, 5), sizes.dst_bytes, 8, 0xd0);
  rlo_plan_info info = test_plan_info_of(plan);
  ck_assert_int_eq(info.src_bytes, sizes.src_bytes);
  ck_assert_int_eq(info.index_bytes, sizes.ids_bytes);
  ck_assert_int_eq(info.dst_bytes, sizes.dst_bytes);
  test_arena_upload(&src, device.context);
  test_arena_upload(&ids, device.context);
  test_arena_upload(&dst, device.context);
  expect_ok(rlo_segment_sum_run_host(sum, src.before + src.begin, ids.before + ids.begin,
                                     dst.expected + dst.begin));
  const bool is_right = run_in_arenas(plan, random, x->words, &src, &ids, &dst);
  if (!is_right) {
    printf("%s in %s: the sums differ\n", x->words, rlo_dtype_name(c->dst_dtype));
  }
  rlo_segment_sum_release(sum);
  return is_right ? TEST_RAN : TEST_FAILED;
}

RLO_TEST(test_device_segment_sum__random_sums_are_exact) {
  const int32_t cases = test_is_short() ? 12 : test_case_count(70, 40, 10);
  /* The plain shapes below are optimised. */
  test_device_optimise(false);
  int32_t num_forced = 0;
  static const rlo_dtype dtypes[] = {RLO_DTYPE_S32, RLO_DTYPE_F32, RLO_DTYPE_BF16, RLO_DTYPE_F16,
                                     RLO_DTYPE_U8,  RLO_DTYPE_S64, RLO_DTYPE_F64};
  test_random random = test_random_begin("test_device_segment_sum");
  for (int32_t i = 0; i < cases; ++i) {
    uint64_t case_seed = random.state;
    rlo_dtype dtype = dtypes[test_random_in(&random, 0, 6)];
    test_indexed x;
    test_random_indexed(&random, dtype, test_is_short() ? 200 : 3000, true, &x);
    sum_case c = {&x, dtype, RLO_DEVICE_CLASS_CPU, NULL};
    if (test_random_once_in(&random, 4)) {
      c.device_class = RLO_DEVICE_CLASS_GPU;
    }
    if (test_random_once_in(&random, 4)) {
      c.dst_dtype = RLO_DTYPE_F32;
    }
    if (c.device_class == RLO_DEVICE_CLASS_CPU) {
      c.family = test_random_once_in(&random, 3) ? "compute" : "segment_sum";
    }
    test_outcome outcome = run_sum(&random, &c);
    num_forced += outcome == TEST_RAN && c.family != NULL && strcmp(c.family, "segment_sum") == 0;
    if (outcome == TEST_REFUSED) {
      c.family = NULL;
      outcome = run_sum(&random, &c);
    }
    ck_assert_msg(outcome == TEST_RAN, "case %d: RELAYOUT_TEST_SEED=%llu makes it the first",
                  (int)i, (unsigned long long)case_seed);
    free(x.index_memory);
  }
  printf("%d of %d by segment_sum\n", (int)num_forced, (int)cases);
  ck_assert_int_ge(num_forced, cases / 6);
}

/* Plain shapes, given in words, with random ids. */
static void run_shapes(test_random *random, const char *rows, const char *ids, const char *array,
                       int32_t dim) {
  test_indexed x;
  memset(&x, 0, sizeof x);
  x.rows = test_shape_of(rows);
  x.indices = test_shape_of(ids);
  x.array = test_shape_of(array);
  x.dim = dim;
  snprintf(x.words, sizeof x.words, "%s, %s, %s", rows, ids, array);
  int64_t count = 1;
  for (int32_t k = 0; k < x.indices.rank; ++k) {
    count *= x.indices.dims[k];
  }
  int32_t *numbers = malloc((size_t)count * sizeof *numbers);
  ck_assert_ptr_nonnull(numbers);
  for (int64_t n = 0; n < count; ++n) {
    numbers[n] = (int32_t)test_random_in(random, -1, x.array.dims[dim]);
  }
  x.index_memory = numbers;
  static const rlo_device_class classes[] = {RLO_DEVICE_CLASS_CPU, RLO_DEVICE_CLASS_GPU};
  for (size_t n = 0; n < 2; ++n) {
    sum_case c = {&x, x.array.dtype, classes[n], NULL};
    ck_assert_int_eq(run_sum(random, &c), TEST_RAN);
  }
  free(numbers);
}

RLO_TEST(test_device_segment_sum__rows_of_embeddings) {
  test_device_optimise(true);
  test_random random = test_random_begin("test_device_segment_sum");
  run_shapes(&random, "f32[3000,64]", "s32[3000]", "f32[500,64]", 0);
  run_shapes(&random, "bf16[400,77]", "s32[400]", "bf16[3000,77]", 0);
  run_shapes(&random, "f16[50,40,33]", "s32[50,40]", "f32[7,33]", 0);
}

/* More rows of a segment than a block of the sum has. */
RLO_TEST(test_device_segment_sum__long_segments) {
  test_device_optimise(true);
  test_random random = test_random_begin("test_device_segment_sum");
  run_shapes(&random, "f32[9000,19]", "s32[9000]", "f32[3,19]", 0);
  run_shapes(&random, "f32[5,9000]", "s32[9000]", "f32[5,2]", 1);
  run_shapes(&random, "s16[20000]", "s32[20000]", "s16[4]", 0);
}

static rlo_plan *plan_words(const char *rows, const char *ids, const char *array,
                            const rlo_plan_options *options) {
  rlo_shape shapes[3];
  shapes[0] = test_shape_of(rows);
  shapes[1] = test_shape_of(ids);
  shapes[2] = test_shape_of(array);
  rlo_segment_sum *sum;
  rlo_plan *plan;
  expect_ok(rlo_segment_sum_create(&shapes[0], &shapes[1], 0, 0, &shapes[2], &sum));
  expect_ok(rlo_plan_create_segment_sum(device.context, sum, options, &plan));
  rlo_segment_sum_release(sum);
  return plan;
}

/* The operands of a small plan in one memory, far from each other. */
static rlo_operands operands_in(const test_arena *m) {
  rlo_operands o = RLO_OPERANDS_INIT;
  o.src = o.indices = o.dst = o.scratch = m->buffer;
  o.index_offset_bytes = 1024;
  o.dst_offset_bytes = 2048;
  o.scratch_offset_bytes = 3072;
  return o;
}

/* One enqueue runs every step of the plan, and prepare builds their programs.
 */
RLO_TEST(test_device_segment_sum__is_a_plan_of_steps) {
  rlo_plan *plan = plan_words("f32[8]", "s32[8]", "f32[3]", NULL);
  test_arena m = test_arena_make(0, 4096, 8, 1);
  test_arena_upload(&m, device.context);
  rlo_operands o = operands_in(&m);
  rlo_plan_info info = test_plan_info_of(plan);
  ck_assert_int_eq(info.num_steps, 5); /* 3 for the ids, zeros, the sum */
  ck_assert_int_ge(info.scratch_bytes, (8 + 3 + 1) * 4);
  ck_assert_int_eq(info.written_bytes, 2 * 3 * 4);
  expect_ok(rlo_plan_prepare(plan));
  rlo_context_stats prepared = test_context_stats(device.context);
  for (int32_t n = 0; n < 2; ++n) {
    expect_ok(rlo_enqueue_operands(plan, unordered, &o, 0, NULL, NULL));
    expect_cl(clFinish(unordered));
  }
  rlo_context_stats after = test_context_stats(device.context);
  ck_assert_int_eq(after.programs_built, prepared.programs_built);
  ck_assert_int_eq(after.launches, prepared.launches + 2 * info.num_steps);
  expect_refusal(rlo_enqueue(plan, device.queue, m.buffer, 0, m.buffer, 64, 0, NULL, NULL),
                 RLO_INVALID_ARGUMENT,
                 "the plan loads 32 bytes of indices; rlo_enqueue_operands "
                 "takes them");
  rlo_plan_release(plan);

  /* Without rows the plan fills with zeros only, without scratch memory. */
  plan = plan_words("f32[0]", "s32[0]", "f32[3]", NULL);
  info = test_plan_info_of(plan);
  ck_assert_int_eq(info.num_steps, 1);
  ck_assert_int_eq(info.scratch_bytes, 0);
  o = (rlo_operands)RLO_OPERANDS_INIT;
  o.dst = m.buffer;
  expect_ok(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  rlo_plan_release(plan);

  /* Without cells no kernel runs, but there is an event. */
  plan = plan_words("f32[8,0]", "s32[8]", "f32[3,0]", NULL);
  info = test_plan_info_of(plan);
  ck_assert_int_eq(info.num_steps, 0);
  ck_assert_str_eq(info.family, "none");
  ck_assert_str_eq(info.schedule, "default");
  o = operands_in(&m);
  cl_event event = NULL;
  expect_ok(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, &event));
  expect_cl(clWaitForEvents(1, &event));
  clReleaseEvent(event);
  rlo_plan_release(plan);
  test_arena_deinit(&m);
}

/* The first step waits for the caller's events, and the last one completes
 * after all of them. */
RLO_TEST(test_device_segment_sum__waits_and_is_waited_for) {
  rlo_plan *plan = plan_words("f32[8]", "s32[8]", "f32[3]", NULL);
  test_arena m = test_arena_make(0, 4096, 8, 1);
  test_arena_upload(&m, device.context);
  rlo_operands o = operands_in(&m);
  cl_int code;
  cl_event gate = clCreateUserEvent(rlo_context_cl_context(device.context), &code);
  expect_cl(code);
  cl_event event = NULL;
  expect_ok(rlo_enqueue_operands(plan, unordered, &o, 1, &gate, &event));
  const cl_float minus_one = -1.0F;
  /* Nothing has run yet: what is written now is what is summed. */
  expect_cl(clEnqueueFillBuffer(device.queue, m.buffer, &minus_one, sizeof minus_one, 0, 32, 0,
                                NULL, NULL));
  const cl_int two = 2;
  expect_cl(clEnqueueFillBuffer(device.queue, m.buffer, &two, sizeof two,
                                (size_t)o.index_offset_bytes, 32, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  expect_cl(clSetUserEventStatus(gate, CL_COMPLETE));
  float sums[3] = {1.0F, 1.0F, 1.0F};
  expect_cl(clEnqueueReadBuffer(device.queue, m.buffer, CL_TRUE, (size_t)o.dst_offset_bytes,
                                sizeof sums, sums, 1, &event, NULL));
  ck_assert(sums[0] == 0.0F && sums[1] == 0.0F && sums[2] == -8.0F);
  clReleaseEvent(event);
  clReleaseEvent(gate);
  test_arena_deinit(&m);
  rlo_plan_release(plan);
}

RLO_TEST(test_device_segment_sum__says_what_is_wrong) {
  rlo_plan *plan = plan_words("f32[8]", "s32[8]", "f32[3]", NULL);
  test_arena m = test_arena_make(0, 4096, 8, 1);
  test_arena_upload(&m, device.context);
  rlo_operands o = operands_in(&m);
  cl_event event = NULL;
  rlo_operands bad = o;
  bad.struct_size = 3;
  expect_refusal_with(rlo_enqueue_operands(plan, device.queue, &bad, 0, NULL, &event),
                      RLO_INVALID_ARGUMENT, "begin with RLO_OPERANDS_INIT");
  bad = o;
  bad.scratch_offset_bytes = 100;
  expect_refusal(rlo_enqueue_operands(plan, device.queue, &bad, 0, NULL, &event),
                 RLO_INVALID_ARGUMENT,
                 "the scratch offset of 100 bytes is not a multiple of the "
                 "element's 8");
  bad = o;
  bad.scratch_offset_bytes = o.index_offset_bytes;
  expect_refusal_with(rlo_enqueue_operands(plan, device.queue, &bad, 0, NULL, &event),
                      RLO_INVALID_ARGUMENT, "indices and scratch overlap");
  bad = o;
  bad.scratch = NULL;
  expect_refusal_with(rlo_enqueue_operands(plan, device.queue, &bad, 0, NULL, &event),
                      RLO_INVALID_ARGUMENT, "the scratch buffer is NULL");
  expect_refusal(rlo_enqueue_operands(NULL, device.queue, &o, 0, NULL, &event),
                 RLO_INVALID_ARGUMENT, "'plan' is NULL");
  ck_assert_ptr_null(event);
  expect_ok(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, &event));
  expect_cl(clWaitForEvents(1, &event));
  clReleaseEvent(event);
  test_arena_deinit(&m);
  rlo_plan_release(plan);
  rlo_plan_release(NULL);
}

/* A promise that is broken is found before the ids are inverted. */
RLO_TEST(test_device_segment_sum__refuses_what_is_aligned_worse_as_a_whole) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.is_aligned = true;
  rlo_plan *plan = plan_words("f32[64,64]", "s32[64]", "f32[8,64]", &options);
  test_arena m = test_arena_make(0, 1 << 16, 8, 1);
  test_arena_upload(&m, device.context);
  rlo_operands o = RLO_OPERANDS_INIT;
  o.src = o.indices = o.dst = o.scratch = m.buffer;
  o.index_offset_bytes = 1 << 14;
  o.dst_offset_bytes = (1 << 15) + 4;
  o.scratch_offset_bytes = (1 << 15) + (1 << 14);
  cl_event event = NULL;
  rlo_context_stats before = test_context_stats(device.context);
  ck_assert_int_eq(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, &event), RLO_UNSUPPORTED);
  rlo_context_stats after = test_context_stats(device.context);
  ck_assert_int_eq(after.launches, before.launches);
  ck_assert_int_eq(after.programs_built, before.programs_built);
  ck_assert_ptr_null(event);
  o.dst_offset_bytes = 1 << 15;
  expect_ok(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, &event));
  expect_cl(clWaitForEvents(1, &event));
  clReleaseEvent(event);
  test_arena_deinit(&m);
  rlo_plan_release(plan);
}
