/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/index.h"
#include "relayout/ops.h"
#include "relayout/xla/text.h"
#include "support/expect.h"
#include "support/random_descriptor.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Texts that print as they are written. */
static const char *const fixed_points[] = {
    /* From XLA's tests. */
    "u32[1,2]{1,0}",
    "f32[123,456]{0,1}",
    "f32[123,456]{0,1:T(2,128)}",
    "f32[123,456,789]{0,1,2:T(2,*,128)}",
    "bf16[123,456,789]{2,1,0:T(2,*,128)(2,1)}",
    "s4[123,456]{1,0:T(2,128)E(4)}",
    "pred[123,456]{1,0:T(2,128)S(3)}",
    "u32[]{:T(128)}",
    "f32[]{:T(256)}",
    "s32[3,4]{0,1}",
    "f32[2,3,4]{0,1,2:T(512)}",
    "bf16[2,3,4]{1,2,0:T(16,256)(2,1)}",
    "pred[8,8,8]{0,2,1:T(8,128)E(32)}",
    "bf16[8,2,3,1004]{3,2,1,0:T(2,*,*,128)}",
    "f32[1572864]{0}",
    "s8[5120,1024]{1,0}",
    "f32[2,3,4,5]{3,2,1,0:T(42,123)(4,5)}",
    "f32[2,3,4,5]{3,2,1,0:T(*,*,42,123)}",
    "f32[2,3,4,5]{3,2,1,0:L(100)}",
    "f32[2,3,4,5]{3,2,1,0:E(42)}",
    "f32[2,3,4,5]{3,2,1,0:S(3)}",
    "f32[2,3,4,5]{3,2,1,0:T(42,123)(4,5)L(100)E(42)}",
    "f32[?,784]{1,0}",
    "f32[123,<=456]{1,0}",
    "f32[<=23,44,<=55]{2,1,0}",
    "f32[123,456]{1,0:T(16,128)M(1024)}",
    "pred[123,456]{1,0:S(3)SC(0:10)(1:4,5)}",
    "pred[123,456]{1,0:SC(1:50,200)}",
    "f32[?,<=0]{0,1:T(8,128)}",
    /* Cut points of a dimension without bound. */
    "u2[?]{0:E(2)SC(0:59)}",
    "f32[4,?]{0,1:SC(0:7,9)(1:3)}",
    "f32[?]{:strides(3)}",
    "f32[2]{:M(8)strides(3)}",
    "f32[4]{0:T(2)L(8)E(64)S(2)SC(0:1,3)M(8)pad(6)fill(one)}",
    /* Ours. */
    "f32[]",
    "f32[0]{0}",
    "f32[3,0,5]{2,1,0}",
    "f32[64,100]{1,0:T(8,128)(2,1)L(1024)E(128)S(1)pad(72,100)fill(lowest)}",
    "f32[2,3]{0,1:pad(3,5)fill(zero)}",
    "f32[2,3]{0,1:pad(3,5)fill(0x7fc00000)}",
    "f32[2,3]{1,0:fill(one)}",
    "f32[2,3]{1,0:fill(highest)}",
    "f32[2,3]{1,0:fill(unknown)}",
    "f32[2,3]{1,0:fill(0x0)}",
    "f32[2,3]{1,0:S(-1)}",
    "c128[2]{0:fill(0x123456789abcdef0fedcba9876543210)}",
    "c128[2]{0:fill(0xf)}",
    "c128[2]{0:fill(0x100)}",
    "f32[2,3]{:strides(8,1)offset(3)}",
    "f32[2,3]{:strides(8,-1)offset(3)}",
    "f32[2,3]{:strides(0,0)}",
    "f32[2,3]{:E(64)S(2)strides(8,1)}",
    "f32[]{:strides()offset(3)}",
    "f32[]{:strides()}",
    "u1[]{:pad()}",
    "f8e4m3b11fnuz[7]{0}",
    "f32[9223372036854775807,0]{1,0}",
    "pred[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"
    "{31,30,29,28,27,26,25,24,23,22,21,20,19,18,17,16,15,14,13,12,11,10,9,8,7,"
    "6,5,4,3,2,1,0}",
};

RLO_TIMEOUT(120);

RLO_TABLE_TEST(test_text__prints_what_it_parses, fixed_points) {
  const char *text = fixed_points[_i];
  char buffer[1024];
  rlo_shape shape = test_shape_of(text);

  size_t length = rlo_shape_format(&shape, buffer, sizeof buffer);
  ck_assert_str_eq(buffer, text);
  ck_assert_uint_eq(length, strlen(text));
}

/* Other spellings, and how they are printed. */
static const struct {
  const char *text;
  const char *printed;
} spellings[] = {
    {"f32[2,3]", "f32[2,3]{1,0}"},
    {"f32[7]", "f32[7]{0}"},
    {"f32 [2,3] {1,0}", "f32[2,3]{1,0}"},
    {" f32\t[ 2 ,\n3 ]\r{ 0 , 1 : T ( 2 , * , 4 ) E ( 64 ) } ", "f32[2,3]{0,1:T(2,*,4)E(64)}"},
    {"f32[123,456,789]{0,1,2:T(2, * , 128)}", "f32[123,456,789]{0,1,2:T(2,*,128)}"},
    {"f32/* two */[2,/* by *//* three */3] // done", "f32[2,3]{1,0}"},
    {"f32[2 // two\n,3]", "f32[2,3]{1,0}"},
    {"f32[2,3]/***/", "f32[2,3]{1,0}"},
    {"f32[2,3]{1,0:}", "f32[2,3]{1,0}"},
    {"f32[]{:}", "f32[]"},
    {"f32[2]{0:E(32)}", "f32[2]{0}"},
    {"f32[2]{0:E(0)}", "f32[2]{0}"},
    {"s4[2]{0:E(8)}", "s4[2]{0}"},
    {"f32[2]{0:L(1)S(0)}", "f32[2]{0}"},
    {"f32[2]{0:fill(invalid)}", "f32[2]{0}"},
    {"f32[2]{0:fill(0X00fF)}", "f32[2]{0:fill(0xff)}"},
    {"c128[2]{0:fill(0x00000000000000000000000000000007)}", "c128[2]{0:fill(0x7)}"},
    {"f32[2]{:strides(1)offset(0)}", "f32[2]{:strides(1)}"},
    {"f32[-0,007]", "f32[0,7]{1,0}"},
    {"f32[<= 3, ? ]", "f32[<=3,?]{1,0}"},
    {"f32[2]{0:M(0)}", "f32[2]{0}"},
    /* NumPy's names. */
    {"float32[2,3]", "f32[2,3]{1,0}"},
    {"bool[2]", "pred[2]{0}"},
    {"int4[2]{0:E(4)}", "s4[2]{0:E(4)}"},
    {"float8_e4m3fn[2]", "f8e4m3fn[2]{0}"},
    {"f32[9]{0:SC( 0 : 1 , 2 )}", "f32[9]{0:SC(0:1,2)}"},
    /* The levels of sparse dimensions are read and forgotten. */
    {"f32[2]{0:D(D)}", "f32[2]{0}"},
    {"f32[2,3]{1,0:D(C+, S ~,H+~,D)T(2)}", "f32[2,3]{1,0:T(2)}"},
};

RLO_TABLE_TEST(test_text__reads_other_spellings, spellings) {
  char buffer[128];
  rlo_shape shape = test_shape_of(spellings[_i].text);

  rlo_shape_format(&shape, buffer, sizeof buffer);
  ck_assert_str_eq(buffer, spellings[_i].printed);
}

RLO_TEST(test_text__reads_a_c_string) {
  const int64_t dims[] = {2, 3};
  rlo_shape shape;
  rlo_layout layout;
  rlo_shape_tree *tree = NULL;
  expect_ok(rlo_shape_parse("f32[2,3]", RLO_TEXT_TERMINATED, &shape));
  ck_assert_int_eq(shape.dims[1], 3);
  expect_ok(rlo_layout_parse("{0,1}", RLO_TEXT_TERMINATED, RLO_DTYPE_F32, dims, 2, &layout));
  expect_ok(rlo_shape_tree_parse("(f32[2])", RLO_TEXT_TERMINATED, &tree));
  rlo_shape_tree_release(tree);
  ck_assert_int_eq(rlo_shape_parse(NULL, RLO_TEXT_TERMINATED, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_parse("f32[2", RLO_TEXT_TERMINATED, &shape), RLO_PARSE);
}

RLO_TEST(test_text__keeps_every_field) {
  static const int64_t dims[] = {64, 100};
  const rlo_layout dense = {
      .kind = RLO_LAYOUT_DENSE,
      .minor_to_major = {1, 0},
      .num_tiles = 2,
      .tiles = {{.rank = 3, .dims = {8, RLO_TILE_COMBINE, 128}}, {.rank = 2, .dims = {2, 1}}},
      .tail_alignment_elems = 1024,
      .element_size_bits = 64,
      .memory_space = 5,
      .has_padded_dimensions = true,
      .padded_dimensions = {72, 100},
      .fill = RLO_FILL_BITS,
      .fill_bits = {8, 7, 6, 5, 4, 3, 2, 1}};
  const rlo_layout strided = {
      .kind = RLO_LAYOUT_STRIDED, .strides_elems = {-1, 64}, .offset_elems = 63};
  rlo_shape wanted;
  rlo_shape shape = test_shape_of(
      "f32[64,100]{1,0:T(8,*,128)(2,1)L(1024)E(64)S(5)pad(72,100)"
      "fill(0x0102030405060708)}");
  expect_ok(rlo_shape_make_with_layout(RLO_DTYPE_F32, dims, 2, &dense, &wanted));
  ck_assert(rlo_shape_equal(&shape, &wanted));
  shape = test_shape_of("u8[64,100]{:strides(-1,64)offset(63)}");
  expect_ok(rlo_shape_make_with_layout(RLO_DTYPE_U8, dims, 2, &strided, &wanted));
  ck_assert(rlo_shape_equal(&shape, &wanted));
}

RLO_TEST(test_text__unbounded_arrays_have_no_size) {
  rlo_shape shape = test_shape_of("f32[?,<=3]{0,1:T(8)}");
  rlo_shape same = test_shape_of("f32[?,<=3]");
  rlo_shape_extent extent;
  rlo_problem problem;
  static const int64_t index[] = {0, 0};
  int64_t slot;

  ck_assert(shape.dims[0] == RLO_DIM_UNBOUNDED);
  ck_assert(shape.is_dynamic[0]);
  ck_assert_int_eq(shape.dims[1], 3);
  ck_assert(shape.is_dynamic[1]);
  ck_assert(rlo_shape_is_unbounded(&shape));
  ck_assert(!rlo_shape_equal(&shape, &same));
  ck_assert(rlo_shape_compatible(&shape, &same));
  ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_index_to_linear(&shape, index, &slot), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_relayout_lower(&shape, &same, NULL, &problem), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "dimension 0 has no bound; only a bounded array has sizes "
                   "and positions");

  /* With a bound, sizes are those of the bound. */
  shape = test_shape_of("f32[<=2,3]");
  expect_ok(rlo_shape_measure(&shape, &extent));
  ck_assert_int_eq(extent.bytes, 24);
}

RLO_TEST(test_text__parses_a_layout_alone) {
  static const int64_t dims[] = {2, 3, 4};
  rlo_layout layout;
  char buffer[64];

  expect_ok(rlo_layout_parse(" {1,2,0:T(2)} ", 14, RLO_DTYPE_F32, dims, 3, &layout));
  ck_assert_uint_eq(rlo_layout_format(&layout, 3, buffer, sizeof buffer), 12);
  ck_assert_str_eq(buffer, "{1,2,0:T(2)}");

  expect_ok(rlo_layout_parse("{}", 2, RLO_DTYPE_F32, NULL, 0, &layout));
  rlo_layout_format(&layout, 0, buffer, sizeof buffer);
  ck_assert_str_eq(buffer, "{}");

  rlo_layout before = layout;
  ck_assert_int_eq(rlo_layout_parse("{}", 2, RLO_DTYPE_F32, dims, 3, &layout), RLO_PARSE);
  ck_assert_int_eq(rlo_layout_parse("", 0, RLO_DTYPE_F32, dims, 3, &layout), RLO_PARSE);
  ck_assert_int_eq(rlo_layout_parse("{0,1,2}x", 8, RLO_DTYPE_F32, dims, 3, &layout), RLO_PARSE);
  ck_assert_int_eq(rlo_layout_parse("{0,1,2:pad(1,9,9)}", 18, RLO_DTYPE_F32, dims, 3, &layout),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_parse("{0}", 3, RLO_DTYPE_INVALID, dims, 1, &layout),
                   RLO_INVALID_ARGUMENT);
  ck_assert_mem_eq(&layout, &before, sizeof layout);
}

RLO_TEST(test_text__prints_by_snprintf_rules) {
  static const char whole[] = "f32[2,3]{0,1:pad(3,5)fill(zero)}";
  rlo_shape shape = test_shape_of(whole);
  rlo_shape scalar = test_shape_of("f32[]");

  ck_assert_uint_eq(rlo_shape_format(&shape, NULL, 0), sizeof whole - 1);
  ck_assert_uint_eq(rlo_shape_format(&scalar, NULL, 0), 5);
  for (size_t capacity = 1; capacity < sizeof whole + 3; ++capacity) {
    char buffer[64];
    memset(buffer, '#', sizeof buffer);
    ck_assert_uint_eq(rlo_shape_format(&shape, buffer, capacity), sizeof whole - 1);
    size_t kept = capacity < sizeof whole ? capacity - 1 : sizeof whole - 1;
    ck_assert_mem_eq(buffer, whole, kept);
    ck_assert_int_eq(buffer[kept], '\0');
    ck_assert_int_eq(buffer[capacity], '#');

    memset(buffer, '#', sizeof buffer);
    ck_assert_uint_eq(rlo_shape_format(&scalar, buffer, capacity), 5);
    ck_assert_uint_eq(strlen(buffer), capacity < 6 ? capacity - 1 : 5);
    ck_assert_int_eq(buffer[capacity], '#');
  }
}

RLO_TEST(test_text__prints_broken_descriptors_within_bounds) {
  char buffer[8192];
  rlo_shape shape;

  for (int byte = 0; byte < 256; byte += 51) {
    memset(&shape, byte, sizeof shape);
    /* A bool must be one; everything else may be anything. */
    shape.layout.has_padded_dimensions = byte != 0;
    for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
      shape.is_dynamic[k] = byte != 0;
    }
    size_t length = rlo_shape_format(&shape, buffer, sizeof buffer);
    ck_assert_uint_eq(strlen(buffer), length < sizeof buffer ? length : sizeof buffer - 1);
  }
}

RLO_TEST(test_text__whatever_is_printed_parses_back_equal) {
  test_random random = test_random_begin("test_text");

  for (int round = 0; round < 20000; ++round) {
    char text[512];
    char again[512];
    rlo_shape shape = test_random_descriptor(&random);
    size_t length = rlo_shape_format(&shape, text, sizeof text);
    ck_assert_uint_lt(length, sizeof text);
    rlo_shape back = test_shape_of(text);
    ck_assert_msg(rlo_shape_equal(&shape, &back), "%s", text);
    rlo_shape_format(&back, again, sizeof again);
    ck_assert_str_eq(again, text);
  }
}
