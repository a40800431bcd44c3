/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine_case.h"
#include "relayout/kernel.h"
#include "support/shape_of.h"

/* The problems that a call of a kernel lowers to, on the host. */

RLO_FIXTURE(begin_plain, end);

/* A kernel on one or two arrays, and the layout of a result. */
typedef struct lowered {
  const char *kernel;
  int32_t num_inputs;
  rlo_attribute attributes[2];
  int32_t output;
  const char *dst;
} lowered;

static rlo_status lower(const lowered *c, rlo_tensor *const *inputs, const rlo_shape *dst,
                        rlo_problem_list **out_problems) {
  const rlo_shape *const shapes[] = {rlo_tensor_shape(inputs[0]), rlo_tensor_shape(inputs[1])};
  const int32_t count = (c->attributes[0].name != NULL) + (c->attributes[1].name != NULL);
  const rlo_attributes attributes = {c->attributes, count};
  return rlo_lower_kernel(engine, c->kernel, shapes, c->num_inputs, &attributes, c->output, dst,
                          out_problems);
}

/* Runs the kernel, and the problems that it lowers to, on the host. */
static void expect_lowered(const lowered *c, rlo_tensor *const *inputs) {
  const int32_t count = (c->attributes[0].name != NULL) + (c->attributes[1].name != NULL);
  const rlo_attributes attributes = {c->attributes, count};
  const rlo_shape dst = test_shape_of(c->dst);
  rlo_tensor *results[3] = {NULL};
  rlo_tensor *placed = NULL;
  int32_t num_results = 0;
  uint8_t wanted[512];
  uint8_t got[512] = {0};
  expect_ok(rlo_run_kernel(engine, c->kernel, inputs, c->num_inputs, &attributes, results, 3,
                           &num_results));
  expect_ok(rlo_op_relayout(results[c->output], &dst, &placed));
  int64_t bytes = rlo_tensor_bytes(placed);
  ck_assert_int_le(bytes, sizeof wanted);
  expect_ok(rlo_tensor_read(placed, wanted, bytes));
  const void *operands[2] = {NULL};
  expect_ok(rlo_tensor_host_data(inputs[0], &operands[0]));
  expect_ok(rlo_tensor_host_data(inputs[1], &operands[1]));
  rlo_problem_list *problems = NULL;
  expect_ok(lower(c, inputs, &dst, &problems));
  expect_ok(rlo_problem_list_run_host(problems, operands, got));
  ck_assert_mem_eq(got, wanted, (size_t)bytes);
  rlo_problem_list_release(problems);
  rlo_tensor_release(placed);
  for (int32_t n = 0; n < num_results; ++n) {
    rlo_tensor_release(results[n]);
  }
}

RLO_TEST(test_engine_problems__problems_of_a_kernel) {
  static const int64_t pads[] = {1, 2, 0, 3};
  static const int64_t sizes[] = {1, 2};
  const lowered cases[] = {
      {"Transpose", 1, {{0}}, 0, "s32[4,3]{0,1:T(2,4)}"},
      {"Identity", 1, {{0}}, 0, "s32[3,4]{1,0:pad(3,5)}"},
      {"Cast", 1, {rlo_attribute_string("dtype", "f16")}, 0, "f16[3,4]{0,1}"},
      {"PadV2",
       1,
       {rlo_attribute_i64s("paddings", pads, 4), rlo_attribute_i64("value", 7)},
       0,
       "s32[6,7]{1,0:T(4,4)fill(one)}"},
      {"MirrorPad", 1, {rlo_attribute_i64s("paddings", pads, 4)}, 0, "s32[6,7]{0,1}"},
      {"SplitV", 1, {rlo_attribute_i64s("num_or_size_splits", sizes, 2)}, 1, "s32[2,4]{0,1}"},
      {"Concat", 2, {rlo_attribute_i64("axis", 1)}, 0, "s32[3,8]{0,1:T(2,2)}"},
      {"Rescale", 1, {rlo_attribute_f64("factor", 3)}, 0, "s32[3,4]{0,1}"},
      {"AddN", 2, {{0}}, 0, "s32[3,4]{0,1:pad(4,4)}"},
  };
  rlo_tensor *x = count_up(DIMS(3, 4), 2);
  rlo_tensor *const inputs[] = {x, x};
  for (int32_t n = 0; n < COUNT(cases); ++n) {
    expect_lowered(&cases[n], inputs);
  }
  /* Without a layout it is the one that the kernel gives its result. */
  rlo_problem_list *problems = NULL;
  expect_ok(lower(&cases[0], inputs, NULL, &problems));
  ck_assert_int_eq(rlo_problem_list_count(problems), 1);
  ck_assert_int_eq(rlo_problem_list_get(problems, 0)->dst_bytes, 48);
  rlo_problem_list_release(problems);
  rlo_tensor_release(x);
}

/* x[b, indices[b, r]] whichever way the batch is counted. */
static void gather(rlo_tensor *x, rlo_tensor *indices, int64_t batch_dims, int32_t y[4]) {
  rlo_tensor *result = NULL;
  expect_ok(rlo_op_gather(x, indices, 1, batch_dims, &result));
  expect_ok(rlo_tensor_read(result, y, 4 * sizeof y[0]));
  rlo_tensor_release(result);
}

RLO_TEST(test_engine_problems__batch_dims_from_the_rank_of_the_indices) {
  rlo_tensor *x = count_up(DIMS(2, 3), 2);
  rlo_tensor *indices = count_up(DIMS(2, 2), 2);
  rlo_tensor *y = NULL;
  int32_t front[4];
  int32_t back[4];
  gather(x, indices, 1, front);
  gather(x, indices, -1, back);
  ck_assert_mem_eq(front, back, sizeof front);
  expect_refusal(rlo_op_gather(x, indices, 1, -3, &y), RLO_OUT_OF_RANGE,
                 "GatherV2: 'batch_dims' is -3; indices of rank 2 take -2 to 2");
  expect_refusal(rlo_op_gather(x, indices, 1, 3, &y), RLO_OUT_OF_RANGE,
                 "GatherV2: 'batch_dims' is 3; indices of rank 2 take -2 to 2");
  expect_ok(rlo_op_segment_sum(indices, indices, 4, 1, -1, &y));
  rlo_tensor_release(y);
  rlo_tensor_release(indices);
  rlo_tensor_release(x);
}

static rlo_status never_runs(rlo_kernel_call *call, void *payload) {
  (void)call;
  (void)payload;
  ck_abort_msg("a kernel runs to be lowered");
  return RLO_INTERNAL;
}

RLO_TEST(test_engine_problems__what_has_no_problems) {
  static const int64_t pads[] = {1, 2};
  const lowered padded = {"PadV2", 2, {rlo_attribute_i64s("paddings", pads, 2)}, 0, NULL};
  const lowered sums = {"UnsortedSegmentSum", 2, {rlo_attribute_i64("num_segments", 4)}, 0, NULL};
  const lowered unpacked = {"Unpack", 1, {{0}}, 3, NULL};
  const lowered scaled = {"Rescale", 1, {rlo_attribute_f64("factor", 3)}, 0, NULL};
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  rlo_tensor *x = count_up(DIMS(3), 1);
  rlo_tensor *one = count_up(NULL, 0);
  rlo_problem_list *problems = NULL;
  rlo_tensor *const both[] = {x, one};
  rlo_tensor *const same[] = {x, x};
  expect_refusal(lower(&padded, both, NULL, &problems), RLO_UNSUPPORTED,
                 "PadV2: input 'value' is known only when it runs; the "
                 "attribute 'value' is known before");
  expect_refusal(lower(&sums, same, NULL, &problems), RLO_UNSUPPORTED,
                 "UnsortedSegmentSum: it is more than problems");
  expect_refusal(lower(&unpacked, same, NULL, &problems), RLO_OUT_OF_RANGE,
                 "Unpack: there is no result 3; it has 3");
  const rlo_shape other = test_shape_of("f32[3]");
  expect_refusal(lower(&scaled, same, &other, &problems), RLO_INVALID_ARGUMENT,
                 "Rescale: the destination has another type or other "
                 "dimensions than result 0");
  config.kernel_name = "Rescale";
  config.backend_name = "host";
  config.infer = rlo_infer_elementwise;
  config.run = never_runs;
  expect_ok(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL));
  expect_refusal(lower(&scaled, same, NULL, &problems), RLO_UNSUPPORTED,
                 "kernel 'Rescale' for backend 'host' is a function of the "
                 "user's, which has no problems");
  ck_assert_ptr_null(problems);
  rlo_tensor_release(one);
  rlo_tensor_release(x);
}
