/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/index.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/random_descriptor.h"

static rlo_status parse(const char *text, rlo_shape *out_shape) {
  /* A copy of the exact size, so that a sanitizer sees a byte too many. */
  size_t length = strlen(text);
  char *copy = malloc(length > 0 ? length : 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, text, length);
  rlo_status status = rlo_shape_parse(copy, length, out_shape);
  free(copy);
  return status;
}

static rlo_shape parsed(const char *text) {
  rlo_shape shape;
  rlo_status status = parse(text, &shape);
  ck_assert_msg(status == RLO_OK, "'%s': %s", text, rlo_error_last()->message);
  return shape;
}

/* What is printed as it was written. */
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

START_TEST(test_text__prints_what_it_parses)
{
  const char *text = fixed_points[_i];
  char buffer[1024];
  rlo_shape shape = parsed(text);

  size_t length = rlo_shape_format(&shape, buffer, sizeof buffer);
  ck_assert_str_eq(buffer, text);
  ck_assert_uint_eq(length, strlen(text));
}

END_TEST

/* Other spellings, and how they are printed. */
static const struct {
  const char *text;
  const char *printed;
} spellings[] = {
    {"f32[2,3]", "f32[2,3]{1,0}"},
    {"f32[7]", "f32[7]{0}"},
    {"f32 [2,3] {1,0}", "f32[2,3]{1,0}"},
    {" f32\t[ 2 ,\n3 ]\r{ 0 , 1 : T ( 2 , * , 4 ) E ( 64 ) } ",
     "f32[2,3]{0,1:T(2,*,4)E(64)}"},
    {"f32[123,456,789]{0,1,2:T(2, * , 128)}",
     "f32[123,456,789]{0,1,2:T(2,*,128)}"},
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
    {"c128[2]{0:fill(0x00000000000000000000000000000007)}",
     "c128[2]{0:fill(0x7)}"},
    {"f32[2]{:strides(1)offset(0)}", "f32[2]{:strides(1)}"},
    {"f32[-0,007]", "f32[0,7]{1,0}"},
    {"f32[<= 3, ? ]", "f32[<=3,?]{1,0}"},
    {"f32[2]{0:M(0)}", "f32[2]{0}"},
    {"f32[9]{0:SC( 0 : 1 , 2 )}", "f32[9]{0:SC(0:1,2)}"},
    /* The levels of sparse dimensions are read and forgotten. */
    {"f32[2]{0:D(D)}", "f32[2]{0}"},
    {"f32[2,3]{1,0:D(C+, S ~,H+~,D)T(2)}", "f32[2,3]{1,0:T(2)}"},
};

START_TEST(test_text__reads_other_spellings)
{
  char buffer[128];
  rlo_shape shape = parsed(spellings[_i].text);

  rlo_shape_format(&shape, buffer, sizeof buffer);
  ck_assert_str_eq(buffer, spellings[_i].printed);
}

END_TEST

#define ORDER "D T L # * E S SC P M pad fill strides offset"

/* Every refusal names the position, what was expected and what was found. */
static const struct {
  const char *text;
  rlo_status status;
  const char *message;
} refusals[] = {
    {"",
     RLO_PARSE,
     "position 0: expected an element type, found the end of "
     "the text"},
    {"foo[2]", RLO_PARSE, "position 0: expected an element type, found 'foo'"},
    {"F32[2]", RLO_PARSE, "position 0: expected an element type, found 'F32'"},
    {"invalid[2]",
     RLO_PARSE,
     "position 0: expected an element type, found 'invalid'"},
    {"32[2]", RLO_PARSE, "position 0: expected an element type, found '32'"},
    {"f32", RLO_PARSE, "position 3: expected '[', found the end of the text"},
    {"f32{0}", RLO_PARSE, "position 3: expected '[', found '{'"},
    {"f32[",
     RLO_PARSE,
     "position 4: expected a dimension >= 0, found the end of the text"},
    {"f32[2",
     RLO_PARSE,
     "position 5: expected ',' or ']', found the end of the text"},
    {"f32[2,]", RLO_PARSE, "position 6: expected a dimension >= 0, found ']'"},
    {"f32[,2]", RLO_PARSE, "position 4: expected a dimension >= 0, found ','"},
    {"f32[2 3]", RLO_PARSE, "position 6: expected ',' or ']', found '3'"},
    {"f32[2x3]",
     RLO_PARSE,
     "position 4: expected a dimension >= 0, found '2x3'"},
    {"f32[-2]", RLO_PARSE, "position 4: expected a dimension >= 0, found '-2'"},
    {"f32[- 2]", RLO_PARSE, "position 4: expected a dimension >= 0, found '-'"},
    {"f32[+2]", RLO_PARSE, "position 4: expected a dimension >= 0, found '+'"},
    {"f32[2.5]", RLO_PARSE, "position 5: expected ',' or ']', found '.'"},
    {"f32[0x10]",
     RLO_PARSE,
     "position 4: expected a dimension >= 0, found '0x10'"},
    {"f32[2,3]x",
     RLO_PARSE,
     "position 8: expected the end of the text, found 'x'"},
    {"f32[2,3]{1,0}{1,0}",
     RLO_PARSE,
     "position 13: expected the end of the text, found '{'"},
    {"f32[123,456]foobar{0,1}",
     RLO_PARSE,
     "position 12: expected the end of the text, found 'foobar'"},
    {"f32[123,456]dense{foo}",
     RLO_PARSE,
     "position 12: expected the end of the text, found 'dense'"},
    {"f32[123,456]{foo}",
     RLO_PARSE,
     "position 13: expected the number of a dimension or ':', found 'foo'"},
    {"f32[]{}",
     RLO_PARSE,
     "position 6: expected the number of a dimension or ':', found '}'"},
    {"f32[2]{}",
     RLO_PARSE,
     "position 7: expected the number of a dimension or ':', found '}'"},
    {"f32[2]{0",
     RLO_PARSE,
     "position 8: expected ',', ':' or '}', found the end of the text"},
    {"f32[2]{0,}",
     RLO_PARSE,
     "position 9: expected the number of a dimension, found '}'"},
    {"f32[123,456,789]{1:T(2, * , 128)}",
     RLO_PARSE,
     "position 17: expected 3 entries of minor_to_major, found 1"},
    {"f32[2,3]{:T(8,128)}",
     RLO_PARSE,
     "position 9: expected 2 entries of minor_to_major, found 0"},
    {"f32[2,3]{1,0,2}",
     RLO_PARSE,
     "position 13: expected 2 entries of minor_to_major, found more"},
    {"f32[]{0}",
     RLO_PARSE,
     "position 6: expected 0 entries of minor_to_major, found more"},
    {"f32[2,3]{2,1}",
     RLO_INVALID_ARGUMENT,
     "position 9: minor_to_major[0]=2 is out of range for rank 2"},
    {"f32[2,3]{1,-1}",
     RLO_INVALID_ARGUMENT,
     "position 11: minor_to_major[1]=-1 is out of range for rank 2"},
    {"f32[2,3]{1,4294967296}",
     RLO_INVALID_ARGUMENT,
     "position 11: minor_to_major[1]=4294967296 is out of range for rank 2"},
    {"f32[2,3]{1,1}",
     RLO_INVALID_ARGUMENT,
     "minor_to_major: permutation[1]=1 repeats permutation[0]"},
    {"f32[2]{0:T}", RLO_PARSE, "position 10: expected '(', found '}'"},
    {"f32[2]{0:T()}",
     RLO_PARSE,
     "position 11: expected a tile dimension >= 1 or '*', found ')'"},
    {"f32[2]{0:T(-1,128)}",
     RLO_PARSE,
     "position 11: expected a tile dimension >= 1 or '*', found '-1'"},
    {"f32[2]{0:T(2,0)}",
     RLO_PARSE,
     "position 13: expected a tile dimension >= 1 or '*', found '0'"},
    {"f32[2]{0:T(2 4)}",
     RLO_PARSE,
     "position 13: expected ',' or ')', found '4'"},
    {"f32[2]{0:T(2,*)}",
     RLO_INVALID_ARGUMENT,
     "position 10: tile dimension 1, the last, cannot be '*'"},
    {"f32[2]{0:L(0)}",
     RLO_PARSE,
     "position 11: expected an alignment >= 1, found '0'"},
    {"f32[2]{0:E(-1)}",
     RLO_PARSE,
     "position 11: expected a number of bits >= 0, found '-1'"},
    {"f32[2]{0:E(4)}",
     RLO_INVALID_ARGUMENT,
     "an element size of 4 bits cannot hold the 32 bits of f32"},
    {"f32[2]{0:S(x)}",
     RLO_PARSE,
     "position 11: expected the number of a memory space, found 'x'"},
    {"f32[2]{0:E(64)T(8)}",
     RLO_PARSE,
     "position 14: expected '}' or, once and in this order, " ORDER
     ", found 'T'"},
    {"f32[2]{0:T(8)T(8)}",
     RLO_PARSE,
     "position 13: expected '}' or, once and in this order, " ORDER
     ", found 'T'"},
    {"f32[2]{0:fill(zero)pad(3)}",
     RLO_PARSE,
     "position 19: expected '}' or, once and in this order, " ORDER
     ", found 'pad'"},
    {"f32[2]{0:t(8)}",
     RLO_PARSE,
     "position 9: expected '}' or, once and in this order, " ORDER
     ", found 't'"},
    {"f32[2]{0:pad(3,5)}", RLO_PARSE, "position 14: expected ')', found ','"},
    {"f32[2,5]{1,0:pad(3)}", RLO_PARSE, "position 18: expected ',', found ')'"},
    {"f32[2,5]{1,0:pad(3,3)}",
     RLO_INVALID_ARGUMENT,
     "padded_dimensions[1]=3 is below dimension 1 of size 5"},
    {"f32[2]{0:fill(red)}",
     RLO_PARSE,
     "position 14: expected zero, one, lowest, highest, unknown, invalid or 0x "
     "and digits, found 'red'"},
    {"f32[2]{0:fill(0x)}",
     RLO_PARSE,
     "position 14: expected zero, one, lowest, highest, unknown, invalid or 0x "
     "and digits, found '0x'"},
    {"f32[2]{0:fill(0x100000000)}",
     RLO_INVALID_ARGUMENT,
     "bit 32 of the fill lies beyond the 32 bits of an element"},
    {"c128[2]{0:fill(0x000000000000000000000000000000000)}",
     RLO_PARSE,
     "position 15: expected at most 32 hexadecimal digits, found "
     "'0x000000000000000000000000000000000'"},
    {"c64[2]{0:fill(lowest)}",
     RLO_UNSUPPORTED,
     "fill: c64 has no lowest value"},
    {"f32[2,3]{1,0:strides(3,1)}",
     RLO_PARSE,
     "position 9: expected no minor_to_major before strides, found 2 entries"},
    {"f32[2]{:strides(1)fill(zero)}",
     RLO_PARSE,
     "position 18: expected '}' or, once and in this order, " ORDER
     ", found 'fill'"},
    {"f32[2]{:fill(zero)strides(1)}",
     RLO_INVALID_ARGUMENT,
     "a strided layout cannot have a fill"},
    {"f32[2]{:T(8)strides(1)}",
     RLO_INVALID_ARGUMENT,
     "a strided layout cannot have tiles"},
    {"f32[2]{0:offset(3)}",
     RLO_PARSE,
     "position 9: expected strides before an offset, found 'offset'"},
    {"f32[2]{:strides(-1)}",
     RLO_OUT_OF_RANGE,
     "the strided layout reaches slot -1; slots begin at 0"},
    {"f32[99999999999999999999]",
     RLO_OVERFLOW,
     "position 4: '99999999999999999999' does not fit 64 bits"},
    {"f32[9223372036854775808]",
     RLO_OVERFLOW,
     "position 4: '9223372036854775808' does not fit 64 bits"},
    {"f32[2]{:strides(-9223372036854775809)}",
     RLO_OVERFLOW,
     "position 16: '-9223372036854775809' does not fit 64 bits"},
    {"f32[2] /* two",
     RLO_PARSE,
     "position 13: expected '*/' after the comment of position 7, found the "
     "end of the text"},
    {"f32[2] /",
     RLO_PARSE,
     "position 7: expected the end of the text, found '/'"},
    {"f32[2]\x01",
     RLO_PARSE,
     "position 6: expected the end of the text, found '\\x01'"},
    {"f32[2]\xff",
     RLO_PARSE,
     "position 6: expected the end of the text, found '\\xff'"},
    {"f32[2]abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
     RLO_PARSE,
     "position 6: expected the end of the text, found "
     "'abcdefghijklmnopqrstuvwxyzabcdefghijklmn...'"},
    /* Dynamic dimensions. */
    {"f32[<=]", RLO_PARSE, "position 6: expected a dimension >= 0, found ']'"},
    {"f32[<=?]", RLO_PARSE, "position 6: expected a dimension >= 0, found '?'"},
    {"f32[<=-1]",
     RLO_PARSE,
     "position 6: expected a dimension >= 0, found '-1'"},
    {"f32[< =2]",
     RLO_PARSE,
     "position 4: expected a dimension >= 0, found '<'"},
    {"f32[=2]", RLO_PARSE, "position 4: expected a dimension >= 0, found '='"},
    {"f32[?2]", RLO_PARSE, "position 5: expected ',' or ']', found '2'"},
    {"f32[?]{0:pad(3)}",
     RLO_INVALID_ARGUMENT,
     "dimension 0 has no bound, so nothing can be padded to a width"},
    /* Annotations that are carried. */
    {"f32[2]{0:SC}", RLO_PARSE, "position 11: expected '(', found '}'"},
    {"f32[2]{0:SC()}",
     RLO_PARSE,
     "position 12: expected the number of a physical dimension, found ')'"},
    {"f32[2]{0:SC(0)}", RLO_PARSE, "position 13: expected ':', found ')'"},
    {"f32[2]{0:SC(0:)}",
     RLO_PARSE,
     "position 14: expected a cut point, found ')'"},
    {"f32[2]{0:SC(-1:1)}",
     RLO_PARSE,
     "position 12: expected the number of a physical dimension, found '-1'"},
    {"f32[2]{0:SC(4294967296:1)}",
     RLO_PARSE,
     "position 12: expected the number of a physical dimension, found "
     "'4294967296'"},
    {"f32[2]{0:SC(1:1)}",
     RLO_INVALID_ARGUMENT,
     "split of dimension 1: the rank is 1"},
    {"f32[2]{0:SC(0:2)}",
     RLO_INVALID_ARGUMENT,
     "split of dimension 0: cut point 2 is not below its size 2"},
    {"f32[9]{0:SC(0:4,4)}",
     RLO_INVALID_ARGUMENT,
     "position 11: split of dimension 0: cut point 4 is not above 4; they must "
     "be "
     "above 0 and strictly increasing"},
    {"f32[9]{0:SC(0:4)(0:5)}",
     RLO_INVALID_ARGUMENT,
     "position 16: dimension 0 is split twice"},
    {"f32[99]{0:SC(0:1,2,3,4,5,6,7,8,9)}",
     RLO_UNSUPPORTED,
     "position 31: more than 8 cut points in one dimension"},
    {"f32[2]{0:M(-1)}",
     RLO_PARSE,
     "position 11: expected a number of bytes >= 0, found '-1'"},
    {"f32[2]{0:M(1)S(1)}",
     RLO_PARSE,
     "position 13: expected '}' or, once and in this order, " ORDER
     ", found 'S'"},
    {"f32[2]{0:D()}",
     RLO_PARSE,
     "position 11: expected D, C, S or H, found ')'"},
    {"f32[2]{0:D(D,)}",
     RLO_PARSE,
     "position 13: expected D, C, S or H, found ')'"},
    {"f32[2]{0:D(D~+)}", RLO_PARSE, "position 13: expected ')', found '+'"},
    {"f32[2]{0:T(2)D(D)}",
     RLO_PARSE,
     "position 13: expected '}' or, once and in this order, " ORDER
     ", found 'D'"},
    {"f32[2]{0:#(s32)}",
     RLO_PARSE,
     "position 11: expected the name of an unsigned integer type, found 's32'"},
    {"f32[2]{0:*()}",
     RLO_PARSE,
     "position 11: expected the name of an unsigned integer type, found ')'"},
    {"f32[2]{0:#(u32)}",
     RLO_INVALID_ARGUMENT,
     "only sparse arrays have an index or a pointer type, and they are not "
     "supported"},
    {"f32[2]{0:*(u16)}",
     RLO_INVALID_ARGUMENT,
     "only sparse arrays have an index or a pointer type, and they are not "
     "supported"},
    {"s32[10,20]{0,1:P(s32[10,20]{1,0})}",
     RLO_UNSUPPORTED,
     "position 15: only sparse arrays have a physical shape, P(...), and they "
     "are not supported"},
    /* Shapes that are no arrays. */
    {"(f32[2])",
     RLO_UNSUPPORTED,
     "position 0: a tuple is not an array; rlo_shape_tree_parse reads it"},
    {" b(s32[])",
     RLO_UNSUPPORTED,
     "position 1: a buffer is not an array; rlo_shape_tree_parse reads it"},
    {"token[]",
     RLO_UNSUPPORTED,
     "position 0: a token is not an array; rlo_shape_tree_parse reads it"},
    {"opaque[]",
     RLO_UNSUPPORTED,
     "position 0: an opaque value is not an array; rlo_shape_tree_parse reads "
     "it"},
};

START_TEST(test_text__refuses_with_the_position)
{
  rlo_shape shape;
  rlo_shape before;
  memset(&shape, 0x5a, sizeof shape);
  before = shape;

  rlo_status status = parse(refusals[_i].text, &shape);
  ck_assert_msg(status == refusals[_i].status,
                "'%s' gives %s",
                refusals[_i].text,
                rlo_status_name(status));
  ck_assert_str_eq(rlo_error_last()->message, refusals[_i].message);
  ck_assert_mem_eq(&shape, &before, sizeof shape);
}

END_TEST

START_TEST(test_text__limits_what_a_descriptor_holds)
{
  char text[256] = "f32[1";
  rlo_shape shape;

  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    strcat(text, ",1");
  }
  strcat(text, "]");
  ck_assert_int_eq(parse(text, &shape), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "position 68: a rank above the limit of 32");

  strcpy(text, "f32[1]{0:T");
  for (int32_t t = 0; t <= RLO_MAX_TILES; ++t) {
    strcat(text, "(1)");
  }
  strcat(text, "}");
  ck_assert_int_eq(parse(text, &shape), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "position 34: more than 8 tiles in one layout");

  strcpy(text, "f32[1]{0:T(1");
  for (int32_t k = 0; k < RLO_MAX_TILE_RANK; ++k) {
    strcat(text, ",1");
  }
  strcat(text, ")}");
  ck_assert_int_eq(parse(text, &shape), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "position 75: a tile of more than 32 dimensions");
}

END_TEST

START_TEST(test_text__bounds_the_text)
{
  static char text[RLO_TEXT_MAX_BYTES + 1];
  rlo_shape shape;

  memset(text, ' ', sizeof text);
  memcpy(text, "f32[2]", 6);
  ck_assert_int_eq(rlo_shape_parse(text, RLO_TEXT_MAX_BYTES, &shape), RLO_OK);
  ck_assert_int_eq(rlo_shape_parse(text, RLO_TEXT_MAX_BYTES + 1, &shape),
                   RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_shape_parse(NULL, 0, &shape), RLO_PARSE);
  ck_assert_int_eq(rlo_shape_parse(NULL, 1, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_parse("f32[2]\0", 7, &shape), RLO_PARSE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "position 6: expected the end of the text, found '\\x00'");
}

END_TEST

START_TEST(test_text__every_prefix_is_refused)
{
  static const char text[] =
      "f32[64,100]{1,0:T(8,128)(2,1)L(1024)E(64)S(1)pad(72,100)fill(lowest)}";
  rlo_shape shape;

  for (size_t length = 0; length < sizeof text - 1; ++length) {
    rlo_status status = rlo_shape_parse(text, length, &shape);
    /* "f32[64,100]" is a whole shape. */
    ck_assert_int_eq(status, length == 11 ? RLO_OK : RLO_PARSE);
  }
}

END_TEST

START_TEST(test_text__keeps_every_field)
{
  rlo_shape shape = parsed(
      "f32[64,100]{1,0:T(8,*,128)(2,1)L(1024)E(64)S(5)pad(72,100)"
      "fill(0x0102030405060708)}");
  const rlo_layout *layout = &shape.layout;

  ck_assert_int_eq(shape.dtype, RLO_DTYPE_F32);
  ck_assert_int_eq(shape.rank, 2);
  ck_assert_int_eq(shape.dims[0], 64);
  ck_assert_int_eq(shape.dims[1], 100);
  ck_assert_int_eq(layout->kind, RLO_LAYOUT_DENSE);
  ck_assert_int_eq(layout->minor_to_major[0], 1);
  ck_assert_int_eq(layout->minor_to_major[1], 0);
  ck_assert_int_eq(layout->num_tiles, 2);
  ck_assert_int_eq(layout->tiles[0].rank, 3);
  ck_assert_int_eq(layout->tiles[0].dims[0], 8);
  ck_assert(layout->tiles[0].dims[1] == RLO_TILE_COMBINE);
  ck_assert_int_eq(layout->tiles[0].dims[2], 128);
  ck_assert_int_eq(layout->tiles[1].rank, 2);
  ck_assert_int_eq(layout->tiles[1].dims[0], 2);
  ck_assert_int_eq(layout->tiles[1].dims[1], 1);
  ck_assert_int_eq(layout->tail_alignment_elems, 1024);
  ck_assert_int_eq(layout->element_size_bits, 64);
  ck_assert_int_eq(layout->memory_space, 5);
  ck_assert(layout->has_padded_dimensions);
  ck_assert_int_eq(layout->padded_dimensions[0], 72);
  ck_assert_int_eq(layout->padded_dimensions[1], 100);
  ck_assert_int_eq(layout->fill, RLO_FILL_BITS);
  for (int i = 0; i < 16; ++i) {
    ck_assert_int_eq(layout->fill_bits[i], i < 8 ? 8 - i : 0);
  }

  shape = parsed("u8[2,3]{:strides(-8,1)offset(30)}");
  ck_assert_int_eq(shape.layout.kind, RLO_LAYOUT_STRIDED);
  ck_assert_int_eq(shape.layout.strides_elems[0], -8);
  ck_assert_int_eq(shape.layout.strides_elems[1], 1);
  ck_assert_int_eq(shape.layout.offset_elems, 30);
}

END_TEST

START_TEST(test_text__unbounded_arrays_have_no_size)
{
  rlo_shape shape = parsed("f32[?,<=3]{0,1:T(8)}");
  rlo_shape same = parsed("f32[?,<=3]");
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
  ck_assert_int_eq(rlo_relayout_lower(&shape, &same, NULL, &problem),
                   RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "dimension 0 has no bound; only a bounded array has sizes "
                   "and positions");

  /* With a bound, sizes are those of the bound. */
  shape = parsed("f32[<=2,3]");
  ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_OK);
  ck_assert_int_eq(extent.bytes, 24);
}

END_TEST

START_TEST(test_text__parses_a_layout_alone)
{
  static const int64_t dims[] = {2, 3, 4};
  rlo_layout layout;
  char buffer[64];

  ck_assert_int_eq(
      rlo_layout_parse(" {1,2,0:T(2)} ", 14, RLO_DTYPE_F32, dims, 3, &layout),
      RLO_OK);
  ck_assert_uint_eq(rlo_layout_format(&layout, 3, buffer, sizeof buffer), 12);
  ck_assert_str_eq(buffer, "{1,2,0:T(2)}");

  ck_assert_int_eq(rlo_layout_parse("{}", 2, RLO_DTYPE_F32, NULL, 0, &layout),
                   RLO_OK);
  rlo_layout_format(&layout, 0, buffer, sizeof buffer);
  ck_assert_str_eq(buffer, "{}");

  rlo_layout before = layout;
  ck_assert_int_eq(rlo_layout_parse("{}", 2, RLO_DTYPE_F32, dims, 3, &layout),
                   RLO_PARSE);
  ck_assert_int_eq(rlo_layout_parse("", 0, RLO_DTYPE_F32, dims, 3, &layout),
                   RLO_PARSE);
  ck_assert_int_eq(
      rlo_layout_parse("{0,1,2}x", 8, RLO_DTYPE_F32, dims, 3, &layout),
      RLO_PARSE);
  ck_assert_int_eq(
      rlo_layout_parse(
          "{0,1,2:pad(1,9,9)}", 18, RLO_DTYPE_F32, dims, 3, &layout),
      RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(
      rlo_layout_parse("{0}", 3, RLO_DTYPE_INVALID, dims, 1, &layout),
      RLO_INVALID_ARGUMENT);
  ck_assert_mem_eq(&layout, &before, sizeof layout);
}

END_TEST

START_TEST(test_text__prints_by_snprintf_rules)
{
  static const char whole[] = "f32[2,3]{0,1:pad(3,5)fill(zero)}";
  rlo_shape shape = parsed(whole);
  rlo_shape scalar = parsed("f32[]");

  ck_assert_uint_eq(rlo_shape_format(&shape, NULL, 0), sizeof whole - 1);
  ck_assert_uint_eq(rlo_shape_format(&scalar, NULL, 0), 5);
  for (size_t capacity = 1; capacity < sizeof whole + 3; ++capacity) {
    char buffer[64];
    memset(buffer, '#', sizeof buffer);
    ck_assert_uint_eq(rlo_shape_format(&shape, buffer, capacity),
                      sizeof whole - 1);
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

END_TEST

START_TEST(test_text__prints_broken_descriptors_within_bounds)
{
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
    ck_assert_uint_eq(strlen(buffer),
                      length < sizeof buffer ? length : sizeof buffer - 1);
  }
}

END_TEST

START_TEST(test_text__whatever_is_printed_parses_back_equal)
{
  test_random random = test_random_begin("test_text");

  for (int round = 0; round < 20000; ++round) {
    char text[512];
    char again[512];
    rlo_shape shape = test_random_descriptor(&random);
    size_t length = rlo_shape_format(&shape, text, sizeof text);
    ck_assert_uint_lt(length, sizeof text);
    rlo_shape back = parsed(text);
    ck_assert_msg(rlo_shape_equal(&shape, &back), "%s", text);
    rlo_shape_format(&back, again, sizeof again);
    ck_assert_str_eq(again, text);
  }
}

END_TEST

START_TEST(test_text__mutations_are_refused_or_valid)
{
  static const char alphabet[] =
      "0123456789,:*()[]{}TLESCMD-x #f?<=+~/padillstr";
  test_random random = test_random_begin("test_text");
  int accepted = 0;

  for (int round = 0; round < 50000; ++round) {
    char text[512];
    char again[512];
    rlo_shape shape = test_random_descriptor(&random);
    size_t length = rlo_shape_format(&shape, text, sizeof text);
    for (int64_t n = test_random_in(&random, 1, 3); n > 0; --n) {
      size_t at = (size_t)test_random_in(&random, 0, (int64_t)length - 1);
      size_t letter =
          (size_t)test_random_in(&random, 0, (int64_t)sizeof alphabet - 2);
      text[at] = alphabet[letter];
    }
    rlo_status status = parse(text, &shape);
    if (status != RLO_OK) {
      ck_assert(status == RLO_PARSE || status == RLO_UNSUPPORTED ||
                status == RLO_INVALID_ARGUMENT || status == RLO_OVERFLOW ||
                status == RLO_OUT_OF_RANGE);
      continue;
    }
    ++accepted;
    ck_assert_int_eq(rlo_shape_validate_unbounded(&shape), RLO_OK);
    rlo_shape_format(&shape, again, sizeof again);
    rlo_shape back = parsed(again);
    ck_assert_msg(rlo_shape_equal(&shape, &back), "%s", text);
  }
  ck_assert_int_gt(accepted, 0);
}

END_TEST

int main(void) {
  Suite *suite = suite_create("text");
  TCase *tcase = tcase_create("text");
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase,
                      test_text__prints_what_it_parses,
                      0,
                      (int)(sizeof fixed_points / sizeof fixed_points[0]));
  tcase_add_loop_test(tcase,
                      test_text__reads_other_spellings,
                      0,
                      (int)(sizeof spellings / sizeof spellings[0]));
  tcase_add_loop_test(tcase,
                      test_text__refuses_with_the_position,
                      0,
                      (int)(sizeof refusals / sizeof refusals[0]));
  tcase_add_test(tcase, test_text__limits_what_a_descriptor_holds);
  tcase_add_test(tcase, test_text__bounds_the_text);
  tcase_add_test(tcase, test_text__every_prefix_is_refused);
  tcase_add_test(tcase, test_text__keeps_every_field);
  tcase_add_test(tcase, test_text__unbounded_arrays_have_no_size);
  tcase_add_test(tcase, test_text__parses_a_layout_alone);
  tcase_add_test(tcase, test_text__prints_by_snprintf_rules);
  tcase_add_test(tcase, test_text__prints_broken_descriptors_within_bounds);
  tcase_add_test(tcase, test_text__whatever_is_printed_parses_back_equal);
  tcase_add_test(tcase, test_text__mutations_are_refused_or_valid);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
