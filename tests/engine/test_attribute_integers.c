/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "engine_case.h"
#include "relayout/gradient.h"
#include "relayout/kernel.h"
#include "support/shape_of.h"

/* Integers in attributes, to the last bit: what pads and factors become. On the
 * host. */

RLO_FIXTURE(begin_plain, end);
RLO_TIMEOUT(60);

typedef struct padded {
  const char *dtype;
  rlo_attribute value;
  uint64_t bits;
  rlo_status status;
  const char *why;
} padded;

/* Runs PadV2 with a value, and reads the element of up to 64 bits that it
 * writes. */
static rlo_status pad_with(const char *dtype, const rlo_attribute *value, uint64_t *out_bits) {
  char text[32];
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  snprintf(text, sizeof text, "%s[0]", dtype);
  const rlo_shape shape = test_shape_of(text);
  const rlo_attribute items[] = {rlo_attribute_i64s("paddings", DIMS(1, 0), 2), *value};
  const rlo_attributes attributes = {items, 2};
  expect_ok(rlo_tensor_create(engine, &shape, NULL, &x));
  rlo_status status =
      rlo_run_kernel(engine, RLO_KERNEL_NAME_PAD_V2, &x, 1, &attributes, &y, 1, NULL);
  if (status == RLO_OK) {
    *out_bits = 0;
    expect_ok(rlo_tensor_read(y, out_bits, rlo_tensor_bytes(y)));
  }
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  return status;
}

static rlo_attribute integer(int64_t value) {
  return rlo_attribute_i64("value", value);
}

/* An integer that needs all 64 bits: its word, and none above. */
#define LARGE(name, value) rlo_attribute_i64s(name, DIMS((int64_t)(UINT64_C(1) * (value)), 0), 2)

static rlo_attribute words(const int64_t *list, int32_t count) {
  return rlo_attribute_i64s("value_bits", list, count);
}

RLO_TEST(test_attribute_integers__values_to_pad_with) {
  const padded cases[] = {
      {"s64", integer(9007199254740993), 9007199254740993, RLO_OK, NULL},
      {"u64", integer(9007199254740993), 9007199254740993, RLO_OK, NULL},
      {"s64", integer(INT64_MAX), INT64_MAX, RLO_OK, NULL},
      {"s64", integer(INT64_MIN), UINT64_C(1) << 63, RLO_OK, NULL},
      {"u64", LARGE("value", UINT64_MAX), UINT64_MAX, RLO_OK, NULL},
      {"u64", LARGE("value", INT64_MAX), INT64_MAX, RLO_OK, NULL},
      {"u64", LARGE("value", (UINT64_C(1) << 63) + 1), (UINT64_C(1) << 63) + 1, RLO_OK, NULL},
      {"s8", integer(-128), 0x80, RLO_OK, NULL},
      {"u8", integer(255), 0xff, RLO_OK, NULL},
      {"s4", integer(-8), 0x8, RLO_OK, NULL},
      {"pred", integer(1), 1, RLO_OK, NULL},
      /* Rounded once: a double between would be half way, and round down. */
      {"f32", integer((INT64_C(1) << 60) + (INT64_C(1) << 36) + 1), 0x5d800001, RLO_OK, NULL},
      {"f64", integer(9007199254740993), 0x4340000000000000, RLO_OK, NULL},
      {"f16", LARGE("value", UINT64_MAX), 0x7c00, RLO_OK, NULL},
      {"u64", words(DIMS(-1), 1), UINT64_MAX, RLO_OK, NULL},
      {"u8", words(DIMS(255), 1), 0xff, RLO_OK, NULL},
      {"u8", words(DIMS(255, 0), 2), 0xff, RLO_OK, NULL},
      {"c64", words(DIMS(INT64_MIN), 1), UINT64_C(1) << 63, RLO_OK, NULL},
      {"s64", LARGE("value", UINT64_C(1) << 63), 0, RLO_OUT_OF_RANGE,
       "PadV2: the value 9223372036854775808 does not fit type s64"},
      {"s32", integer(INT64_C(1) << 31), 0, RLO_OUT_OF_RANGE,
       "PadV2: the value 2147483648 does not fit type s32"},
      {"u64", integer(-1), 0, RLO_OUT_OF_RANGE, "PadV2: the value -1 does not fit type u64"},
      {"s8", integer(-129), 0, RLO_OUT_OF_RANGE, "PadV2: the value -129 does not fit type s8"},
      {"u8", integer(256), 0, RLO_OUT_OF_RANGE, "PadV2: the value 256 does not fit type u8"},
      {"s4", integer(8), 0, RLO_OUT_OF_RANGE, "PadV2: the value 8 does not fit type s4"},
      {"pred", integer(2), 0, RLO_OUT_OF_RANGE, "PadV2: the value 2 does not fit type pred"},
      {"u64", rlo_attribute_i64s("value", DIMS(0, 1), 2), 0, RLO_INVALID_ARGUMENT,
       "PadV2: attribute 'value' has 2 words of 64 bits; it is a number, or a "
       "word of bits and 0"},
      {"u64", rlo_attribute_i64s("value", NULL, 0), 0, RLO_INVALID_ARGUMENT,
       "PadV2: attribute 'value' has 0 words of 64 bits; it is a number, or a "
       "word of bits and 0"},
      {"u8", words(DIMS(0x1ff), 1), 0, RLO_OUT_OF_RANGE,
       "PadV2: 'value_bits' has bit 8; a value of type u8 has the 8 bits "
       "below"},
      {"s8", words(DIMS(-1), 1), 0, RLO_OUT_OF_RANGE,
       "PadV2: 'value_bits' has bit 8; a value of type s8 has the 8 bits "
       "below"},
      {"s4", words(DIMS(16), 1), 0, RLO_OUT_OF_RANGE,
       "PadV2: 'value_bits' has bit 4; a value of type s4 has the 4 bits "
       "below"},
      {"u64", words(DIMS(0, 1), 2), 0, RLO_OUT_OF_RANGE,
       "PadV2: 'value_bits' has bit 64; a value of type u64 has the 64 bits "
       "below"},
  };
  for (int32_t k = 0; k < COUNT(cases); ++k) {
    const padded *c = &cases[k];
    uint64_t bits = 0;
    rlo_status got = pad_with(c->dtype, &c->value, &bits);
    ck_assert_msg(got == c->status && bits == c->bits, "case %d, %s: %s, %llx", k, c->dtype,
                  rlo_status_name(got), (unsigned long long)bits);
    if (c->why != NULL) {
      ck_assert_str_eq(rlo_error_last()->message, c->why);
    }
  }
}

/* A pred takes its whole byte: any that is not 0 is true. */
RLO_TEST(test_attribute_integers__true_to_pad_with) {
  const uint8_t element = 1;
  const uint8_t truth = 2;
  const rlo_shape shapes[] = {test_shape_of("pred[1]"), test_shape_of("pred[]")};
  rlo_tensor *inputs[2] = {NULL, NULL};
  rlo_tensor *y = NULL;
  uint8_t got[2] = {9, 9};
  expect_ok(rlo_tensor_create(engine, &shapes[0], &element, &inputs[0]));
  expect_ok(rlo_tensor_create(engine, &shapes[1], &truth, &inputs[1]));
  expect_ok(rlo_op_pad(inputs[0], DIMS(1), NULL, NULL, inputs[1], &y));
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_uint_eq(got[0], 1);
  ck_assert_uint_eq(got[1], 1);
  rlo_tensor_release(y);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
}

/* Rescale, and its gradient, of one element. */
static void expect_scaled(const char *dtype, uint64_t element, rlo_attribute factor,
                          uint64_t wanted) {
  char text[32];
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  uint64_t got[2] = {0, 0};
  snprintf(text, sizeof text, "%s[]", dtype);
  const rlo_shape shape = test_shape_of(text);
  const rlo_attributes attributes = {&factor, 1};
  expect_ok(rlo_tensor_create(engine, &shape, &element, &x));
  expect_ok(rlo_run_kernel(engine, RLO_KERNEL_NAME_RESCALE, &x, 1, &attributes, &y, 1, NULL));
  expect_ok(rlo_vjp(engine, RLO_KERNEL_NAME_RESCALE, &x, 1, &attributes, &x, 1, NULL, &dx));
  expect_ok(rlo_tensor_read(y, &got[0], rlo_tensor_bytes(y)));
  expect_ok(rlo_tensor_read(dx, &got[1], rlo_tensor_bytes(dx)));
  for (int32_t k = 0; k < 2; ++k) {
    ck_assert_msg(got[k] == wanted, "%s, %s: %llx, not %llx", dtype, k == 0 ? "y" : "dx",
                  (unsigned long long)got[k], (unsigned long long)wanted);
  }
  rlo_tensor_release(dx);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
}

RLO_TEST(test_attribute_integers__factors) {
  const int64_t odd = 9007199254740993;

  const struct {
    const char *dtype;
    uint64_t x;
    rlo_attribute factor;
    uint64_t y;
  } cases[] = {
      {"s64", 3, rlo_attribute_i64("factor", odd), 27021597764222979},
      {"s64", 3, rlo_attribute_i64("factor", -odd), 0 - UINT64_C(27021597764222979)},
      {"s64", 1, rlo_attribute_i64("factor", INT64_MAX), INT64_MAX},
      {"s64", 1, rlo_attribute_i64("factor", INT64_MIN), UINT64_C(1) << 63},
      {"u64", 1, LARGE("factor", UINT64_MAX), UINT64_MAX},
      {"u64", 1, LARGE("factor", UINT64_C(1) << 63), UINT64_C(1) << 63},
      {"u64", 3, LARGE("factor", (UINT64_C(1) << 63) + 2049), (UINT64_C(1) << 63) + 6147},
      /* Bits above those of the type have no effect. */
      {"s32", 7, rlo_attribute_i64("factor", odd), 7},
      {"s32", 7, rlo_attribute_i64("factor", INT64_MAX), 0xfffffff9},
      {"u8", 7, rlo_attribute_i64("factor", 257), 7},
      {"pred", 1, rlo_attribute_i64("factor", 256), 1},
      {"pred", 1, rlo_attribute_i64("factor", 0), 0},
      /* Rounded once. */
      {"f32", 0x3f800000, rlo_attribute_i64("factor", (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1),
       0x5d800001},
      {"f64", 0x3ff0000000000000, rlo_attribute_i64("factor", odd), 0x4340000000000000},
  };

  for (int32_t k = 0; k < COUNT(cases); ++k) {
    expect_scaled(cases[k].dtype, cases[k].x, cases[k].factor, cases[k].y);
  }
}

RLO_TEST(test_attribute_integers__integers_as_numbers) {
  const rlo_attribute items[] = {
      rlo_attribute_i64("even", INT64_C(1) << 60), rlo_attribute_i64("odd", -9007199254740993),
      rlo_attribute_i64("most", INT64_MAX), LARGE("large", UINT64_C(1) << 63)};
  const rlo_attributes a = {items, 4};
  double number = 0.0;
  expect_ok(rlo_attributes_get_f64(&a, "even", &number));
  ck_assert_double_eq(number, 0x1p60);
  expect_refusal(rlo_attributes_get_f64(&a, "large", &number), RLO_INVALID_ARGUMENT,
                 "attribute 'large' is a list of integers, not a number");
  expect_refusal(rlo_attributes_get_f64(&a, "odd", &number), RLO_OUT_OF_RANGE,
                 "attribute 'odd' is -9007199254740993, which no double holds "
                 "exactly");
  expect_refusal(rlo_attributes_get_f64(&a, "most", &number), RLO_OUT_OF_RANGE,
                 "attribute 'most' is 9223372036854775807, which no double "
                 "holds exactly");
}
