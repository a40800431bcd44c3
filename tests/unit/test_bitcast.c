/* SPDX-License-Identifier: Apache-2.0 */

#include "relayout/xla/bitcast.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_util.h"
#include "support/shape_of.h"
#include "support/suite.h"

static bool reshape_is_bitcast(const char *src_text, const char *dst_text, uint32_t flags) {
  rlo_shape src = test_shape_of(src_text);
  rlo_shape dst = test_shape_of(dst_text);
  bool answer;
  ck_assert_msg(rlo_shape_reshape_is_bitcast(&src, &dst, flags, &answer) == RLO_OK, "%s to %s: %s",
                src_text, dst_text, rlo_error_last()->message);
  return answer;
}

static bool is_same_bytes(const char *src_text, const char *dst_text, uint32_t flags) {
  rlo_shape src = test_shape_of(src_text);
  rlo_shape dst = test_shape_of(dst_text);
  bool answer;
  ck_assert_int_eq(rlo_shape_is_same_bytes(&src, &dst, flags, &answer), RLO_OK);
  return answer;
}

static const struct {
  const char *src, *dst;
  uint32_t flags;
  bool is_bitcast;
} reshapes[] = {
    /* XLA's tests. */
    {"f32[3,4]{1,0}", "f32[6,2]{1,0}", 0, true},
    {"f32[3,4]{0,1}", "f32[6,2]{1,0}", 0, false},
    {"f32[3,4]{1,0}", "f32[6,2]{0,1}", 0, false},
    {"f32[3,4]{0,1}", "f32[6,2]{0,1}", 0, false},
    {"f32[3,2,2]{1,0,2}", "f32[6,2]{0,1}", 0, true},
    {"f32[3,2,2]{0,1,2}", "f32[6,2]{0,1}", 0, false},
    {"f32[3,2,2]{1,0,2}", "f16[6,2]{0,1}", 0, false},
    {"f32[3,2,2]{1,0,2}", "f16[6,2]{0,1}", RLO_BITCAST_IGNORE_ELEMENT_TYPE, true},
    /* XLA's test of two unit indices misses these. */
    {"f32[8,128]{1,0:T(8,128)}", "f32[1024]", 0, true},
    {"f32[16,256]{1,0:T(8,128)}", "f32[4096]", 0, false},
    {"f32[16,256]{1,0:T(8,128)}", "f32[2,8,256]{2,1,0:T(8,128)}", 0, true},
    {"f32[16,256]{1,0:T(8,128)}", "f32[4,4,256]{2,1,0:T(8,128)}", 0, false},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", "f32[112,110]{1,0:T(2,3)}", 0, true},
    {"f32[10,100]{1,0:T(*,128)}", "f32[1000]{0:T(128)}", 0, true},
    {"f32[10,100]{1,0:T(*,128)}", "f32[1000]", 0, true},
    {"f32[1000]", "f32[10,100]{1,0:T(*,128)}", 0, false},
    {"f32[1000]", "f32[10,100]{1,0:T(*,128)}", RLO_BITCAST_IGNORE_PADDING, true},
    {"f32[4,6]{1,0:pad(4,8)}", "f32[4,2,3]{:strides(8,3,1)}", 0, true},
    {"f32[4,6]{1,0:pad(4,8)}", "f32[24]", 0, false},
    {"f32[2,3]{:strides(-3,-1)offset(5)}", "f32[6]{:strides(-1)offset(5)}", 0, true},
    {"f32[0,3]{0,1}", "f32[3,5,0]", 0, true},
    {"f32[]", "f32[1,1,1]{0,2,1}", 0, true},
    {"f32[]{:T(128)}", "f32[1,1]{1,0:T(8,16)}", 0, true},
    {"f32[]{:T(64)}", "f32[1,1]{1,0:T(8,16)}", 0, false},
    /* More quotients than a problem holds: compared element by element. */
    {"f32[7,16,4]{2,1,0:T(*,2)(5)(1,7)(32,6,4)(16,6,3,8)(2,7,4)(2,7)}",
     "f32[7,16,4]{2,1,0:T(*,2)(5)(1,7)(32,6,4)(16,6,3,8)(2,7,4)(2,7)}", 0, true},
    {"f32[7,8]{1,0:T(16,8)(2,3)(*,6)(4,2)(8,32)(5,8)}",
     "f32[8,7]{1,0:T(16,8)(2,3)(*,6)(4,2)(8,32)(5,8)}", 0, false},
    /* Bits. */
    {"s4[4,2]{1,0:E(4)}", "s8[4]", RLO_BITCAST_REINTERPRET, true},
    {"s8[4]", "s4[4,2]{1,0:E(4)}", RLO_BITCAST_REINTERPRET, true},
    {"s4[4,2]{0,1:E(4)}", "s8[4]", RLO_BITCAST_REINTERPRET, false},
    {"s4[4,2]", "s8[8]", RLO_BITCAST_REINTERPRET, true},
    {"s4[4,2]", "s8[4]", RLO_BITCAST_REINTERPRET, false},
    {"c64[3,5]", "f32[3,5,2]", RLO_BITCAST_REINTERPRET, true},
    {"c64[3,5]", "f32[2,3,5]{0,2,1}", RLO_BITCAST_REINTERPRET, false},
    {"f32[3]", "s32[3]", RLO_BITCAST_REINTERPRET, true},
    {"s4[8]{0:E(4)}", "s4[8]", 0, false},
};

RLO_TABLE_TEST(test_bitcast__reshapes, reshapes) {
  ck_assert_msg(reshape_is_bitcast(reshapes[_i].src, reshapes[_i].dst, reshapes[_i].flags) ==
                    reshapes[_i].is_bitcast,
                "%s to %s", reshapes[_i].src, reshapes[_i].dst);
}

static const struct {
  const char *src, *dst;
  int32_t permutation[4];
  bool is_bitcast;
} transposes[] = {
    {"f32[10,5]{1,0}", "f32[5,10]{0,1}", {1, 0}, true},
    {"f32[10,5]{1,0}", "f32[5,10]{1,0}", {1, 0}, false},
    {"f32[10,5]{1,0}", "f32[10,5]{1,0}", {1, 0}, false},
    /* Dimensions of size 1 may lie anywhere. */
    {"f32[1,5]{1,0}", "f32[5,1]{1,0}", {1, 0}, true},
    {"f32[4,1,5]{2,1,0}", "f32[1,4,5]{2,1,0}", {1, 0, 2}, true},
    /* Tiles are of physical dimensions. */
    {"f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1:T(8,128)}", {1, 0}, true},
    {"f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1}", {1, 0}, false},
    {"f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1:T(8,64)}", {1, 0}, false},
    {"f32[4,6]{1,0:pad(8,8)}", "f32[6,4]{0,1:T(8,8)}", {1, 0}, true},
    {"f32[4,6]{1,0:pad(8,8)fill(zero)}", "f32[6,4]{0,1:T(8,8)fill(zero)}", {1, 0}, true},
    {"f32[4,6]{1,0:pad(8,8)}", "f32[6,4]{0,1:T(8,8)fill(zero)}", {1, 0}, false},
    {"s4[4,6]{1,0:E(4)}", "s4[6,4]{0,1:E(4)}", {1, 0}, true},
    {"s4[4,6]{1,0:E(4)}", "s4[6,4]{0,1}", {1, 0}, false},
    {"f32[4,6]", "f32[6,4]{:strides(1,6)}", {1, 0}, true},
    {"f32[4,6]", "s32[6,4]{0,1}", {1, 0}, false},
};

RLO_TABLE_TEST(test_bitcast__transposes, transposes) {
  rlo_shape src = test_shape_of(transposes[_i].src);
  rlo_shape dst = test_shape_of(transposes[_i].dst);
  bool answer;
  ck_assert_int_eq(
      rlo_shape_transpose_is_bitcast(&src, &dst, transposes[_i].permutation, 0, &answer), RLO_OK);
  ck_assert_msg(answer == transposes[_i].is_bitcast, "%s to %s", transposes[_i].src,
                transposes[_i].dst);
}

/* XLA: for all 6 layouts and 6 permutations of [10,100,1000]. */
RLO_LOOP_TEST(test_bitcast__permuted_dims_are_one, 0, 36) {
  static const int32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  static const int64_t dims[] = {10, 100, 1000};
  rlo_layout layout;
  rlo_shape src;
  rlo_shape dst;
  bool answer;
  ck_assert_int_eq(rlo_layout_from_minor_to_major(orders[_i / 6], 3, &layout), RLO_OK);
  ck_assert_int_eq(rlo_shape_make_with_layout(RLO_DTYPE_F32, dims, 3, &layout, &src), RLO_OK);
  ck_assert_int_eq(rlo_shape_permute_dims(&src, orders[_i % 6], &dst), RLO_OK);
  ck_assert_int_eq(rlo_shape_transpose_is_bitcast(&src, &dst, orders[_i % 6], 0, &answer), RLO_OK);
  ck_assert(answer);
}

RLO_TEST(test_bitcast__refuses_what_it_cannot_read) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  rlo_shape unbounded = shape;
  static const int32_t twice[] = {1, 1};
  bool answer = true;
  unbounded.dims[0] = RLO_DIM_UNBOUNDED;
  unbounded.is_dynamic[0] = true;
  ck_assert_int_eq(rlo_shape_transpose_is_bitcast(&shape, &shape, twice, 0, &answer),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_reshape_is_bitcast(&shape, &unbounded, 0, &answer), RLO_UNSUPPORTED);
  ck_assert(answer);
}

RLO_TEST(test_bitcast__same_bytes) {
  ck_assert(is_same_bytes("f32[2,3]{0,1:pad(3,5)}", "f32[2,3]{0,1:T(5,3)}", 0));
  ck_assert(is_same_bytes("f32[2,3]{0,1:pad(3,5)fill(zero)}", "f32[2,3]{0,1:T(5,3)}", 0));
  ck_assert(!is_same_bytes("f32[2,3]{0,1:pad(3,5)}", "f32[2,3]{0,1:T(5,3)fill(zero)}", 0));
  ck_assert(!is_same_bytes("f32[2,3]", "f32[2,3]{0,1}", 0));
  ck_assert(!is_same_bytes("f32[2,3]", "f32[3,2]", 0));
  ck_assert(is_same_bytes("f32[3]", "f32[3]{0:T(128)}", RLO_BITCAST_IGNORE_PADDING));
  /* A buffer of 3 elements is too small for 128 slots; not the other way. */
  ck_assert(!is_same_bytes("f32[3]", "f32[3]{0:T(128)}", 0));
  ck_assert(is_same_bytes("f32[3]{0:T(128)}", "f32[3]", 0));
  ck_assert(!is_same_bytes("f32[3]{0:L(4)}", "f32[3]{0:L(8)}", 0));
  ck_assert(is_same_bytes("f32[3]{0:L(8)}", "f32[3]{0:L(4)}", 0));
  /* The second tile is undone by the third. */
  ck_assert(is_same_bytes("f32[64,64]{1,0:T(8,8)}", "f32[64,64]{1,0:T(8,8)(2,8)}", 0));
  ck_assert(!is_same_bytes("f32[64,64]{1,0:T(8,8)}", "f32[64,64]{1,0:T(8,8)(2,4)}", 0));
  /* Tiles that do not divide one another, the same on both sides. */
  ck_assert(is_same_bytes("f32[20,6]{1,0:T(4,6)(3,1)}", "f32[20,6]{1,0:T(4,6)(3,1)}", 0));
}

static const struct {
  const char *shape;
  bool is_strided;
  int64_t bytes[3];
  int64_t unpacked[3];
} strides[] = {
    {"f32[3,5,7]", true, {140, 28, 4}, {140, 28, 4}},
    {"f16[5,7,9]", true, {126, 18, 2}, {126, 18, 2}},
    {"s4[2,4]", true, {4, 1}, {4, 1}},
    {"f32[2,3]{0,1:pad(3,5)}", true, {4, 12}, {4, 12}},
    {"f32[2,3]{:strides(-8,1)offset(8)}", true, {-32, 4}, {-32, 4}},
    {"f32[16,256]{1,0:T(8,128)}", false, {0}, {0}},
    {"f32[16,128]{1,0:T(8,128)}", true, {512, 4}, {512, 4}},
    {"f32[4,256]{1,0:T(1,128)}", true, {1024, 4}, {1024, 4}},
    {"f32[10,100]{1,0:T(*,128)}", true, {400, 4}, {400, 4}},
    {"f32[]", true, {0}, {0}},
};

RLO_TABLE_TEST(test_bitcast__finds_byte_strides, strides) {
  rlo_shape shape = test_shape_of(strides[_i].shape);
  int64_t bytes[RLO_MAX_RANK];
  bool is_strided;
  ck_assert_int_eq(rlo_shape_byte_strides(&shape, &is_strided, bytes), RLO_OK);
  ck_assert_int_eq(is_strided, strides[_i].is_strided);
  for (int32_t k = 0; is_strided && k < shape.rank; ++k) {
    ck_assert_int_eq(bytes[k], strides[_i].bytes[k]);
  }
  ck_assert_int_eq(rlo_shape_unpacked_byte_strides(&shape, &is_strided, bytes), RLO_OK);
  ck_assert_int_eq(is_strided, strides[_i].is_strided);
  for (int32_t k = 0; is_strided && k < shape.rank; ++k) {
    ck_assert_int_eq(bytes[k], strides[_i].unpacked[k]);
  }
}

RLO_TEST(test_bitcast__packed_elements_have_no_byte_strides) {
  rlo_shape shape = test_shape_of("s4[2,4]{1,0:E(4)}");
  int64_t bytes[2] = {77, 77};
  bool is_strided;
  ck_assert_int_eq(rlo_shape_byte_strides(&shape, &is_strided, bytes), RLO_OK);
  ck_assert(!is_strided);
  ck_assert_int_eq(bytes[0], 77);
  ck_assert_int_eq(rlo_shape_unpacked_byte_strides(&shape, &is_strided, bytes), RLO_OK);
  ck_assert(is_strided);
  ck_assert_int_eq(bytes[0], 4);
  ck_assert_int_eq(bytes[1], 1);
}

/* XLA: F32[5,8,10,4]{3,2,1,0}, dimension 1 -> 40. */
RLO_TEST(test_bitcast__finds_element_strides) {
  rlo_shape shape = test_shape_of("f32[5,8,10,4]");
  int64_t elems[4];
  int64_t offset;
  bool is_strided;
  ck_assert_int_eq(rlo_shape_strides(&shape, &is_strided, elems, &offset), RLO_OK);
  ck_assert(is_strided);
  ck_assert_int_eq(elems[1], 40);
  ck_assert_int_eq(offset, 0);
  shape = test_shape_of("f32[5,3]{:strides(1,7)offset(9)}");
  ck_assert_int_eq(rlo_shape_strides(&shape, &is_strided, elems, &offset), RLO_OK);
  ck_assert_int_eq(elems[1], 7);
  ck_assert_int_eq(offset, 9);
}

static const struct {
  const char *shape;
  bool is_untiled;
} tilings[] = {
    {"f32[24,128]{1,0:T(8,128)}", true},
    {"f32[4,256]{1,0:T(1,128)}", true},
    {"f32[2,3,4]{2,1,0:T(8,128)}", false},
    {"f32[2,128]{1,0:T(8,128)}", false}, /* the same places, but more slots */
    {"f32[24,256]{1,0:T(8,128)}", false},
    {"f32[24,128]{1,0:T(8,128)(2,128)}", true},
    {"f32[24,128]", true},
};

RLO_TABLE_TEST(test_bitcast__knows_tiles_that_change_nothing, tilings) {
  rlo_shape shape = test_shape_of(tilings[_i].shape);
  bool is_untiled;
  ck_assert_int_eq(rlo_shape_is_untiled(&shape, &is_untiled), RLO_OK);
  ck_assert_int_eq(is_untiled, tilings[_i].is_untiled);
}

/* Large shapes, whose elements nobody could count: milliseconds at most. */
RLO_TEST(test_bitcast__does_not_look_at_elements) {
  rlo_shape src = test_shape_of("f32[1000000,1000000,1000]{2,1,0:T(8,128)}");
  rlo_shape dst = test_shape_of("f32[1000000,1000,1000,1000]{3,2,1,0:T(8,128)}");
  bool answer;
  ck_assert_int_eq(rlo_shape_reshape_is_bitcast(&src, &dst, 0, &answer), RLO_OK);
  ck_assert(answer);
  dst = test_shape_of("f32[1000000,100,10000,1000]{3,2,1,0:T(8,256)}");
  ck_assert_int_eq(rlo_shape_reshape_is_bitcast(&src, &dst, 0, &answer), RLO_OK);
  ck_assert(!answer);
}
