/* SPDX-License-Identifier: Apache-2.0 */

#include "relayout/dtype.h"
#include "support/suite.h"

RLO_TEST(test_dtype_order__knows_the_kinds) {
  ck_assert(!rlo_dtype_is_integral(RLO_DTYPE_PRED));
  ck_assert(rlo_dtype_is_integral(RLO_DTYPE_S1));
  ck_assert(rlo_dtype_is_integral(RLO_DTYPE_U64));
  ck_assert(!rlo_dtype_is_integral(RLO_DTYPE_F32));
  ck_assert(rlo_dtype_is_floating(RLO_DTYPE_F4E2M1FN));
  ck_assert(!rlo_dtype_is_floating(RLO_DTYPE_C64));
  ck_assert(rlo_dtype_is_complex(RLO_DTYPE_C128));
  ck_assert(!rlo_dtype_is_complex(RLO_DTYPE_F64));
  ck_assert(!rlo_dtype_is_complex(RLO_DTYPE_INVALID));
}

RLO_TEST(test_dtype_order__knows_signs) {
  ck_assert(rlo_dtype_is_signed(RLO_DTYPE_S4));
  ck_assert(rlo_dtype_is_signed(RLO_DTYPE_BF16));
  ck_assert(rlo_dtype_is_signed(RLO_DTYPE_C64));
  ck_assert(!rlo_dtype_is_signed(RLO_DTYPE_U8));
  ck_assert(!rlo_dtype_is_signed(RLO_DTYPE_PRED));
  ck_assert(!rlo_dtype_is_signed(RLO_DTYPE_F8E8M0FNU));
  ck_assert(!rlo_dtype_is_signed(RLO_DTYPE_INVALID));
}

RLO_TEST(test_dtype_order__knows_what_is_below_a_byte) {
  ck_assert(rlo_dtype_is_sub_byte(RLO_DTYPE_U1));
  ck_assert(rlo_dtype_is_sub_byte(RLO_DTYPE_F6E3M2FN));
  ck_assert(!rlo_dtype_is_sub_byte(RLO_DTYPE_PRED));
  ck_assert(!rlo_dtype_is_sub_byte(RLO_DTYPE_S8));
  ck_assert(!rlo_dtype_is_sub_byte(RLO_DTYPE_INVALID));
}

RLO_TEST(test_dtype_order__takes_complex_numbers_apart) {
  ck_assert_int_eq(rlo_dtype_complex_component(RLO_DTYPE_C64), RLO_DTYPE_F32);
  ck_assert_int_eq(rlo_dtype_complex_component(RLO_DTYPE_C128), RLO_DTYPE_F64);
  ck_assert_int_eq(rlo_dtype_complex_component(RLO_DTYPE_F64), RLO_DTYPE_INVALID);
}

static const struct {
  rlo_dtype from, to;
  bool can;
} upcasts[] = {
    {RLO_DTYPE_S8, RLO_DTYPE_S16, true},
    {RLO_DTYPE_S8, RLO_DTYPE_U16, false},
    {RLO_DTYPE_U8, RLO_DTYPE_S8, false},
    {RLO_DTYPE_U8, RLO_DTYPE_S16, true},
    {RLO_DTYPE_PRED, RLO_DTYPE_U1, true},
    {RLO_DTYPE_PRED, RLO_DTYPE_S1, false},
    {RLO_DTYPE_U1, RLO_DTYPE_PRED, false},
    {RLO_DTYPE_S8, RLO_DTYPE_BF16, true},
    {RLO_DTYPE_S16, RLO_DTYPE_F16, false},
    {RLO_DTYPE_U32, RLO_DTYPE_F32, false},
    {RLO_DTYPE_U32, RLO_DTYPE_F64, true},
    {RLO_DTYPE_S4, RLO_DTYPE_F4E2M1FN, false},
    {RLO_DTYPE_S4, RLO_DTYPE_F8E4M3FN, true},
    /* Three bits of mantissa hold 15; 16 needs a longer one than e2m1 has. */
    {RLO_DTYPE_U4, RLO_DTYPE_F8E3M4, true},
    {RLO_DTYPE_U2, RLO_DTYPE_F8E8M0FNU, false},
    {RLO_DTYPE_F16, RLO_DTYPE_F32, true},
    {RLO_DTYPE_BF16, RLO_DTYPE_F16, false},
    {RLO_DTYPE_F16, RLO_DTYPE_BF16, false},
    {RLO_DTYPE_F8E5M2, RLO_DTYPE_F16, true},
    {RLO_DTYPE_F8E4M3, RLO_DTYPE_F8E4M3FN, false}, /* infinity */
    {RLO_DTYPE_F8E4M3FN, RLO_DTYPE_F8E4M3, false}, /* 448 */
    {RLO_DTYPE_F8E4M3FNUZ, RLO_DTYPE_F16, true},
    {RLO_DTYPE_F8E4M3FN, RLO_DTYPE_F8E4M3FNUZ, false},
    {RLO_DTYPE_F4E2M1FN, RLO_DTYPE_F6E2M3FN, true},
    {RLO_DTYPE_F6E2M3FN, RLO_DTYPE_F6E3M2FN, false},
    {RLO_DTYPE_F6E3M2FN, RLO_DTYPE_F8E3M4, false}, /* 28 */
    {RLO_DTYPE_F8E8M0FNU, RLO_DTYPE_F32, true},
    {RLO_DTYPE_F8E8M0FNU, RLO_DTYPE_F16, false},
    {RLO_DTYPE_F32, RLO_DTYPE_F8E8M0FNU, false},
    {RLO_DTYPE_F32, RLO_DTYPE_C64, true},
    {RLO_DTYPE_F64, RLO_DTYPE_C64, false},
    {RLO_DTYPE_C64, RLO_DTYPE_C128, true},
    {RLO_DTYPE_C64, RLO_DTYPE_F64, false},
    {RLO_DTYPE_F32, RLO_DTYPE_S64, false},
    {RLO_DTYPE_F32, RLO_DTYPE_F32, true},
    {RLO_DTYPE_INVALID, RLO_DTYPE_F32, false},
    {RLO_DTYPE_F32, RLO_DTYPE_INVALID, false},
};

RLO_TABLE_TEST(test_dtype_order__upcasts_keep_every_value, upcasts) {
  ck_assert_msg(rlo_dtype_can_upcast(upcasts[_i].from, upcasts[_i].to) == upcasts[_i].can,
                "%s to %s", rlo_dtype_name(upcasts[_i].from), rlo_dtype_name(upcasts[_i].to));
}

static const struct {
  rlo_dtype low, high;
} orders[] = {
    {RLO_DTYPE_F16, RLO_DTYPE_BF16},        {RLO_DTYPE_BF16, RLO_DTYPE_F32},
    {RLO_DTYPE_F32, RLO_DTYPE_F64},         {RLO_DTYPE_S64, RLO_DTYPE_F8E5M2},
    {RLO_DTYPE_F8E4M3FN, RLO_DTYPE_F8E5M2}, {RLO_DTYPE_U8, RLO_DTYPE_S8},
    {RLO_DTYPE_S8, RLO_DTYPE_U16},          {RLO_DTYPE_F32, RLO_DTYPE_C64},
    {RLO_DTYPE_C64, RLO_DTYPE_F64},
};

RLO_TABLE_TEST(test_dtype_order__orders_precision, orders) {
  rlo_dtype low = orders[_i].low;
  rlo_dtype high = orders[_i].high;
  ck_assert_int_eq(rlo_dtype_higher_precision(low, high), high);
  ck_assert_int_eq(rlo_dtype_higher_precision(high, low), high);
  ck_assert_int_eq(rlo_dtype_higher_precision(low, low), low);
  ck_assert_int_eq(rlo_dtype_higher_precision(low, RLO_DTYPE_INVALID), RLO_DTYPE_INVALID);
}
