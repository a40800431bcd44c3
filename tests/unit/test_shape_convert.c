/* SPDX-License-Identifier: Apache-2.0 */

#include "relayout/xla/shape_util.h"
#include "support/shape_of.h"
#include "support/suite.h"

static const struct {
  const char *shape;
  rlo_dtype dtype;
  const char *result;
} changes[] = {
    /* XLA: s4 in 4 bits becomes pred and u8 of 8 bits, and u4 of 4. */
    {"s4[3]{0:E(4)}", RLO_DTYPE_PRED, "pred[3]"},
    {"s4[3]{0:E(4)}", RLO_DTYPE_U8, "u8[3]"},
    {"s4[3]{0:E(4)}", RLO_DTYPE_U4, "u4[3]{0:E(4)}"},
    {"s4[3]{0:E(4)}", RLO_DTYPE_U2, "u2[3]{0:E(2)}"},
    {"u2[3]{0:E(2)}", RLO_DTYPE_S4, "s4[3]{0:E(4)}"},
    {"f32[3]", RLO_DTYPE_S4, "s4[3]"},
    {"pred[3]{0:E(32)}", RLO_DTYPE_U4, "u4[3]"},
    {"f32[2,3]{0,1:T(2,2)L(4)S(1)pad(4,4)fill(lowest)}", RLO_DTYPE_BF16,
     "bf16[2,3]{0,1:T(2,2)L(4)S(1)pad(4,4)fill(lowest)}"},
    {"f32[2]{:strides(-1)offset(1)}", RLO_DTYPE_F64, "f64[2]{:strides(-1)offset(1)}"},
};

RLO_TABLE_TEST(test_shape_convert__changes_the_element_type, changes) {
  rlo_shape shape = test_shape_of(changes[_i].shape);
  ck_assert_int_eq(rlo_shape_change_dtype(&shape, changes[_i].dtype, &shape), RLO_OK);
  test_expect_shape(&shape, changes[_i].result);
}

RLO_TEST(test_shape_convert__a_fill_has_to_fit_the_type) {
  rlo_shape shape = test_shape_of("f32[2]{0:pad(4)fill(lowest)}");
  rlo_shape result = shape;
  ck_assert_int_eq(rlo_shape_change_dtype(&shape, RLO_DTYPE_C64, &result), RLO_UNSUPPORTED);
  shape = test_shape_of("f32[2]{0:pad(4)fill(0x7fc00000)}");
  ck_assert_int_eq(rlo_shape_change_dtype(&shape, RLO_DTYPE_U8, &result), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_change_dtype(&shape, RLO_DTYPE_INVALID, &result),
                   RLO_INVALID_ARGUMENT);
  test_expect_shape(&result, "f32[2]{0:pad(4)fill(lowest)}");
}

RLO_TEST(test_shape_convert__packs_and_unpacks) {
  rlo_shape shape = test_shape_of("s4[3]");
  ck_assert_int_eq(rlo_shape_update_element_size(&shape, true, &shape), RLO_OK);
  test_expect_shape(&shape, "s4[3]{0:E(4)}");
  ck_assert_int_eq(rlo_shape_update_element_size(&shape, false, &shape), RLO_OK);
  test_expect_shape(&shape, "s4[3]");
  shape = test_shape_of("pred[3]{0:E(32)}");
  ck_assert_int_eq(rlo_shape_update_element_size(&shape, true, &shape), RLO_OK);
  test_expect_shape(&shape, "pred[3]");
}

static const struct {
  const char *shape, *host;
} hosts[] = {
    {"f32[2,3]{0,1}", "f32[2,3]{0,1}"},
    {"f32[2,3,4]{1,2,0:T(8,128)(2,1)L(8)S(5)pad(2,4,4)fill(zero)}", "f32[2,3,4]{1,2,0}"},
    {"s4[2,3]{0,1:E(4)}", "s4[2,3]{0,1}"},
    {"f32[2,3,4]{:strides(1,-20,4)offset(40)}", "f32[2,3,4]{0,2,1}"},
    {"f32[]{:T(128)}", "f32[]"},
};

RLO_TABLE_TEST(test_shape_convert__device_to_host, hosts) {
  rlo_shape shape = test_shape_of(hosts[_i].shape);
  rlo_shape host;
  shape.layout.metadata_prefix_bytes = _i == 1 ? 64 : 0;
  ck_assert_int_eq(rlo_shape_device_to_host(&shape, &host), RLO_OK);
  test_expect_shape(&host, hosts[_i].host);
  ck_assert(rlo_shape_device_is_host(&host));
  ck_assert_int_eq(rlo_shape_device_is_host(&shape), _i == 0);
}

RLO_TEST(test_shape_convert__drops_padding) {
  rlo_shape shape = test_shape_of("f32[2,3]{0,1:T(2,2)L(4)pad(4,5)fill(one)}");
  ck_assert_int_eq(rlo_shape_without_padding(&shape, &shape), RLO_OK);
  test_expect_shape(&shape, "f32[2,3]{0,1:T(2,2)L(4)fill(one)}");
}

RLO_TEST(test_shape_convert__takes_other_layouts) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  rlo_shape other = test_shape_of("s32[4,5]{0,1:T(2,2)S(1)}");
  rlo_shape result;
  ck_assert_int_eq(rlo_shape_with_layout_of(&shape, &other, &result), RLO_OK);
  test_expect_shape(&result, "f32[2,3]{0,1:T(2,2)S(1)}");
  ck_assert_int_eq(rlo_shape_with_default_layout(&result, &result), RLO_OK);
  test_expect_shape(&result, "f32[2,3]");
  other = test_shape_of("s32[4]");
  ck_assert_int_eq(rlo_shape_with_layout_of(&shape, &other, &result), RLO_INVALID_ARGUMENT);
  other = test_shape_of("s32[1,1]{0,1:pad(1,2)}");
  ck_assert_int_eq(rlo_shape_with_layout_of(&shape, &other, &result), RLO_INVALID_ARGUMENT);
  test_expect_shape(&result, "f32[2,3]");
}

RLO_TEST(test_shape_convert__makes_static) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  rlo_shape plain = shape;
  rlo_shape result;
  shape.is_dynamic[1] = true;
  ck_assert_int_eq(rlo_shape_make_static(&shape, &result), RLO_OK);
  ck_assert(rlo_shape_equal(&result, &plain));
  shape.dims[1] = RLO_DIM_UNBOUNDED;
  ck_assert_int_eq(rlo_shape_make_static(&shape, &result), RLO_UNSUPPORTED);
}
