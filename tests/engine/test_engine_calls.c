/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/call/kernel_call.h"
#include "engine_case.h"
#include "relayout/gradient.h"
#include "relayout/kernel.h"
#include "relayout/text.h"
#include "support/shape_of.h"

/* Calls on the host: tensors, constants, plans, memory, recording. */

/* ------------------------------------------------------------------ tensors */

static void count_release(void *payload) {
  ++*(int *)payload;
}

RLO_FIXTURE(begin_plain, end);

RLO_TEST(test_engine_calls__wrapped_memory) {
  const int32_t data[] = {1, 2, 3, 4, 5, 6};
  const rlo_shape shape = test_shape_of("s32[2,3]");
  int released = 0;
  rlo_tensor *x = NULL;
  rlo_tensor *view = NULL;
  const void *seen = NULL;
  expect_ok(rlo_tensor_wrap_host(engine, &shape, data, count_release, &released, &x));
  expect_ok(rlo_tensor_host_data(x, &seen));
  ck_assert_ptr_eq(seen, data);
  const rlo_shape flat = test_shape_of("s32[6]");
  expect_ok(rlo_tensor_view(x, &flat, &view));
  rlo_tensor_release(x);
  ck_assert_int_eq(released, 0);
  int32_t got[6];
  expect_ok(rlo_tensor_read(view, got, sizeof got));
  ck_assert_mem_eq(got, data, sizeof data);
  rlo_tensor_release(view);
  ck_assert_int_eq(released, 1);
  expect_refusal(rlo_tensor_wrap_host(engine, &shape, NULL, count_release, &released, &x),
                 RLO_INVALID_ARGUMENT, "'data' is NULL; the shape takes 24 bytes");
  ck_assert_int_eq(released, 1);
}

RLO_TEST(test_engine_calls__views_move_nothing) {
  rlo_tensor *x = count_up(DIMS(2, 3), 2);
  rlo_tensor *view = NULL;
  const rlo_shape turned = test_shape_of("s32[3,2]{0,1}");
  const rlo_shape cut = test_shape_of("s32[2,2]");
  expect_refusal(rlo_tensor_view(x, &turned, &view), RLO_INVALID_ARGUMENT,
                 "the view's shape is no bitcast of the tensor's: elements "
                 "would have to move");
  ck_assert_int_eq(rlo_tensor_view(x, &cut, &view), RLO_INVALID_ARGUMENT);
  rlo_tensor_release(x);
}

/* A view needs the same element size; any other relayout packs or unpacks. */
RLO_TEST(test_engine_calls__relayouts_between_element_sizes) {
  rlo_shape packed = test_shape_of("s4[3]{0:E(4)}");
  rlo_shape plain = test_shape_of("s4[3]");
  const uint8_t data[] = {0x21, 0xf8};
  const uint8_t wanted[] = {1, 2, 8};
  uint8_t got[3] = {0};
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  expect_ok(rlo_tensor_create(engine, &packed, data, &x));
  expect_ok(rlo_op_relayout(x, &plain, &y));
  ck_assert(!rlo_tensor_shares_memory(x, y));
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_mem_eq(got, wanted, sizeof wanted);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
}

RLO_TEST(test_engine_calls__constants) {
  const char *const texts[] = {"f32[2,3]{0,1:pad(3,5)fill(zero)}", "bf16[5]", "u8[]", "s64[0,3]"};
  for (int32_t k = 0; k < COUNT(texts); ++k) {
    const rlo_shape shape = test_shape_of(texts[k]);
    rlo_tensor *x = NULL;
    expect_ok(rlo_tensor_create_constant(engine, &shape, RLO_DTYPE_ONE, &x));
    uint8_t bytes[64];
    expect_ok(rlo_tensor_read(x, bytes, rlo_tensor_bytes(x)));
    if (k == 0) {
      const float wanted[15] = {1, 1, 0, 1, 1, 0, 1, 1};
      ck_assert_mem_eq(bytes, wanted, sizeof wanted);
    } else if (k == 1) {
      const uint16_t wanted[] = {0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x3f80};
      ck_assert_mem_eq(bytes, wanted, sizeof wanted);
    } else if (k == 2) {
      ck_assert_int_eq(bytes[0], 1);
    }
    rlo_tensor_release(x);
  }
  const rlo_shape shape = test_shape_of("f8e8m0fnu[3]");
  rlo_tensor *x = NULL;
  ck_assert_int_eq(rlo_tensor_create_constant(engine, &shape, RLO_DTYPE_ZERO, &x), RLO_UNSUPPORTED);
}

RLO_TEST(test_engine_calls__sums) {
  rlo_tensor *x = count_up(DIMS(2, 3), 2);
  rlo_tensor *y = NULL;
  int32_t got[6];
  expect_ok(rlo_op_sum(x, DIMS(-1), 1, false, &y));
  ck_assert_int_eq(rlo_tensor_shape(y)->rank, 1);
  expect_ok(rlo_tensor_read(y, got, 8));
  ck_assert_int_eq(got[0], 3);
  ck_assert_int_eq(got[1], 12);
  rlo_tensor_release(y);
  expect_ok(rlo_op_sum(x, NULL, 0, true, &y));
  ck_assert_int_eq(rlo_tensor_shape(y)->rank, 2);
  expect_ok(rlo_tensor_read(y, got, 4));
  ck_assert_int_eq(got[0], 15);
  rlo_tensor_release(y);
  rlo_tensor *const xs[] = {x, x, x};
  expect_ok(rlo_op_add_n(xs, 3, &y));
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_int_eq(got[5], 15);
  rlo_tensor *z = NULL;
  expect_ok(rlo_op_cast(y, RLO_DTYPE_F32, &z));
  float numbers[6];
  expect_ok(rlo_tensor_read(z, numbers, sizeof numbers));
  ck_assert_double_eq((double)numbers[4], 12.0);
  rlo_tensor *const odd[] = {y, z};
  rlo_tensor *none = NULL;
  expect_refusal(rlo_op_add_n(odd, 2, &none), RLO_INVALID_ARGUMENT,
                 "AddN: input 'inputs[1]' has another type or other dimensions than input "
                 "'inputs[0]'; nothing is converted or broadcast here: Cast and BroadcastTo do "
                 "that");
  rlo_tensor_release(z);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
}

RLO_TEST(test_engine_calls__factors_are_finite) {
  const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  const char *const why[] = {"Rescale: factor is NaN; a factor must be finite",
                             "Rescale: factor is infinity; a factor must be finite",
                             "Rescale: factor is -infinity; a factor must be finite"};
  rlo_tensor *x = tensor(DIMS(2), 1, counted);
  rlo_tensor *none = tensor(DIMS(0), 1, NULL);
  rlo_tensor *const inputs[] = {x, none};
  rlo_tensor *y = NULL;
  for (int32_t n = 0; n < 6; ++n) {
    const rlo_attribute factor = rlo_attribute_f64("factor", bad[n % 3]);
    const rlo_attributes attributes = {&factor, 1};
    const rlo_shape *shape = rlo_tensor_shape(inputs[n / 3]);
    rlo_shape result;
    int32_t count = 0;
    expect_refusal(rlo_run_kernel(engine, "Rescale", &inputs[n / 3], 1, &attributes, &y, 1, NULL),
                   RLO_INVALID_ARGUMENT, why[n % 3]);
    expect_refusal(rlo_infer_kernel(engine, "Rescale", &shape, 1, &attributes, &result, 1, &count),
                   RLO_INVALID_ARGUMENT, why[n % 3]);
    rlo_tensor *dx = NULL;
    ck_assert_int_eq(
        rlo_vjp(engine, "Rescale", &inputs[n / 3], 1, &attributes, &inputs[n / 3], 1, NULL, &dx),
        RLO_INVALID_ARGUMENT);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(none);
}

RLO_TEST(test_engine_calls__values_to_pad_with) {
  /* A number and its bits in every kind of type. */
  static const struct {
    const char *dtype;
    double value;
    uint64_t bits;
  } cases[] = {{"f32", 1.5, 0x3fc00000},
               {"f16", 1.5, 0x3e00},
               {"bf16", 1.00390625, 0x3f80},
               {"f64", -0.5, 0xbfe0000000000000},
               {"s8", -128, 0x80},
               {"u64", 18446744073709549568.0, 0xfffffffffffff800},
               {"s64", -9223372036854775808.0, 0x8000000000000000},
               {"s4", -8, 0x8},
               {"pred", 1, 0x1}};

  for (int32_t k = 0; k < COUNT(cases); ++k) {
    rlo_dtype dtype = RLO_DTYPE_INVALID;
    rlo_shape shape;
    rlo_tensor *x = NULL;
    rlo_tensor *y = NULL;
    expect_ok(rlo_dtype_from_name(cases[k].dtype, &dtype));
    expect_ok(rlo_shape_make(dtype, DIMS(0), 1, &shape));
    expect_ok(rlo_tensor_create(engine, &shape, NULL, &x));
    const rlo_attribute items[] = {rlo_attribute_i64s("paddings", DIMS(1, 0), 2),
                                   rlo_attribute_f64("value", cases[k].value)};
    const rlo_attributes attributes = {items, 2};
    expect_ok(rlo_run_kernel(engine, "PadV2", &x, 1, &attributes, &y, 1, NULL));
    uint64_t bits = 0;
    expect_ok(rlo_tensor_read(y, &bits, rlo_tensor_bytes(y)));
    ck_assert_msg(bits == cases[k].bits, "%s: %llx", cases[k].dtype, (unsigned long long)bits);
    rlo_tensor_release(y);
    rlo_tensor_release(x);
  }
  rlo_tensor *x = count_up(DIMS(2), 1);
  rlo_tensor *const inputs[] = {x, x};
  const rlo_attribute item = rlo_attribute_i64s("paddings", DIMS(1, 0), 2);
  const rlo_attributes attributes = {&item, 1};
  rlo_tensor *y = NULL;
  expect_refusal(rlo_run_kernel(engine, "PadV2", inputs, 2, &attributes, &y, 1, NULL),
                 RLO_INVALID_ARGUMENT,
                 "PadV2: input 'value' is s32 of rank 1; a scalar of type s32 is wanted");
  rlo_tensor_release(x);
}

/* -------------------------------------------------------------------- plans */

RLO_TEST(test_engine_calls__plans_are_kept) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.plan_capacity = 2;
  end();
  begin_with(options);
  rlo_tensor *x = count_up(DIMS(4, 4), 2);
  rlo_tensor *twin = count_up(DIMS(4, 4), 2);
  rlo_engine_stats stats = RLO_ENGINE_STATS_INIT;
  static const int64_t reps[][2] = {{1, 2}, {1, 2}, {2, 1}, {1, 2}, {3, 1}, {2, 1}, {1, 2}};
  /* Two are kept, the one unused for longest goes. */
  static const bool is_hit[] = {false, true, false, true, false, false, false};
  int64_t hits = 0;
  for (int32_t k = 0; k < COUNT(is_hit); ++k) {
    rlo_tensor *y = NULL;
    expect_ok(rlo_op_tile(k % 2 == 0 ? x : twin, reps[k], &y));
    rlo_tensor_release(y);
    ck_assert_int_eq(rlo_engine_get_stats(engine, &stats), RLO_OK);
    hits += is_hit[k];
    ck_assert_msg(stats.plan_hits == hits, "call %d", k);
  }
  ck_assert_int_eq(stats.plan_misses, COUNT(is_hit) - hits);
  rlo_tensor_release(x);
  rlo_tensor_release(twin);
}

/* ------------------------------------------------------------------- memory */

/* Runs operations that fuse and operations that do not. */
static rlo_status do_much(void) {
  const int32_t data[6] = {1, 2, 3, 4, 5, 6};
  rlo_shape shape;
  rlo_shape padded;
  rlo_tensor *x = NULL;
  rlo_tensor *t = NULL;
  rlo_tensor *p = NULL;
  rlo_tensor *c = NULL;
  rlo_tensor *s = NULL;
  rlo_tensor *parts[5] = {NULL};
  static const char text[] = "s32[6,5]{1,0:T(4,8)fill(one)}";
  rlo_status status = rlo_shape_make(RLO_DTYPE_S32, DIMS(2, 3), 2, &shape);
  status = status == RLO_OK ? rlo_shape_parse(text, strlen(text), &padded) : status;
  status = status == RLO_OK ? rlo_tensor_create(engine, &shape, data, &x) : status;
  status = status == RLO_OK ? rlo_op_transpose(x, NULL, &t) : status;
  status = status == RLO_OK ? rlo_op_pad(t, DIMS(1, 0), DIMS(2, 3), NULL, NULL, &p) : status;
  status = status == RLO_OK ? rlo_op_relayout(p, &padded, &c) : status;
  status = status == RLO_OK ? rlo_op_unstack(c, 1, 5, parts) : status;
  status = status == RLO_OK ? rlo_op_add_n(parts, 5, &s) : status;
  int32_t got[6] = {0};
  status = status == RLO_OK ? rlo_tensor_read(s, got, sizeof got) : status;
  if (status == RLO_OK) {
    ck_assert_int_eq(got[0], 0);
    ck_assert_int_eq(got[1], 5);
    ck_assert_int_eq(got[3], 9);
  }
  rlo_tensor *const all[] = {x, t, p, c, s};
  for (int32_t k = 0; k < 5; ++k) {
    rlo_tensor_release(all[k]);
    rlo_tensor_release(parts[k]);
  }
  return status;
}

/* Every allocation fails once, in turn; nothing is lost and nothing breaks. */
RLO_LOOP_TEST(test_engine_calls__memory_runs_out, 0, 2) {
  end();
  int64_t allocations_before = rlo__alloc_live_count();
  int64_t nth = 1;
  /* Some failures are tolerated: a table that cannot grow. */
  for (bool is_reached = true; is_reached; ++nth) {
    ck_assert_int_lt(nth, 5000);
    rlo__alloc_set_fault(nth, false);
    rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
    options.is_fusing = _i == 1;
    options.checks_leaks = true;
    rlo_status status = rlo_engine_create(&options, &engine);
    if (status == RLO_OK) {
      status = do_much();
      is_reached = rlo__alloc_tried_count() >= nth;
      rlo__alloc_set_fault(0, false);
      ck_assert_int_eq(rlo_engine_live_tensors(engine), 0);
      /* The engine goes on. */
      expect_ok(do_much());
      rlo_engine_release(engine);
    }
    rlo__alloc_set_fault(0, false);
    ck_assert_msg(status == RLO_OK || status == RLO_OUT_OF_MEMORY, "allocation %lld: %s: %s",
                  (long long)nth, rlo_status_name(status), rlo_error_last()->message);
    ck_assert_msg(rlo__alloc_live_count() == allocations_before, "allocation %lld leaks %lld",
                  (long long)nth, (long long)(rlo__alloc_live_count() - allocations_before));
    ck_assert(is_reached || status == RLO_OK);
  }
  /* Some hundreds were tried. */
  ck_assert_int_gt(nth, 100);
  begin(false);
}

/* ---------------------------------------------------------------- recording */

typedef struct tape {
  rlo__recorder recorder;
  char words[256];
  rlo_status status;
} tape;

static rlo_status note(rlo__recorder *recorder, const rlo__record *record) {
  tape *t = (tape *)recorder;
  size_t length = strlen(t->words);
  snprintf(t->words + length, sizeof t->words - length, "%s/%d/%d ", record->call->kernel_name,
           record->call->num_inputs, record->call->num_outputs);
  return t->status;
}

static rlo_status turn_twice(rlo_kernel_call *call, void *payload) {
  (void)payload;
  rlo_tensor *once = NULL;
  rlo_status status = rlo_op_transpose(call->inputs[0], NULL, &once);
  THEN(rlo_op_transpose(once, NULL, &call->outputs[0]));
  rlo_tensor_release(once);
  return status;
}

RLO_TEST(test_engine_calls__recorders_see_the_outermost) {
  tape outer = {.recorder = {.engine = engine, .record = note}};
  tape inner = outer;
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Twice";
  config.backend_name = "host";
  config.infer = rlo_infer_elementwise;
  config.run = turn_twice;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  rlo_tensor *x = count_up(DIMS(2, 3), 2);
  rlo_tensor *y = NULL;
  rlo_tensor *parts[2] = {NULL};
  rlo__recorder_push(&outer.recorder);
  expect_ok(rlo_run_kernel(engine, "Twice", &x, 1, NULL, &y, 1, NULL));
  rlo_tensor_release(y);
  rlo__recorder_push(&inner.recorder);
  expect_ok(rlo_op_unstack(x, 0, 2, parts));
  rlo_tensor_release(parts[0]);
  rlo_tensor_release(parts[1]);
  rlo__recorder_enter();
  expect_ok(rlo_op_identity(x, &y));
  rlo__recorder_leave();
  rlo_tensor_release(y);
  /* It is not the newest. */
  rlo__recorder_pop(&outer.recorder);
  inner.status = RLO_OUT_OF_MEMORY;
  y = NULL;
  ck_assert_int_eq(rlo_op_identity(x, &y), RLO_OUT_OF_MEMORY);
  ck_assert_ptr_null(y);
  rlo__recorder_pop(&inner.recorder);
  ck_assert_str_eq(outer.words, "Twice/1/1 Unpack/1/2 ");
  ck_assert_str_eq(inner.words, "Unpack/1/2 Identity/1/1 ");
  rlo_tensor_release(x);
}
