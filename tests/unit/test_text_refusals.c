/* SPDX-License-Identifier: Apache-2.0 */

/* What rlo_shape_parse refuses, in which words, and that damaged texts are
 * refused or valid. */

#include <string.h>

#include "relayout/text.h"
#include "support/expect.h"
#include "support/random_descriptor.h"
#include "support/shape_of.h"
#include "support/suite.h"

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
    {"f3200000000000000000000000000000[2]",
     RLO_PARSE,
     "position 0: expected an element type, found "
     "'f3200000000000000000000000000000'"},
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
    {"f32[2]{0:pad(3,5)}",
     RLO_PARSE,
     "position 15: expected 1 entries of pad, one for each dimension, found "
     "more"},
    {"f32[2,5]{1,0:pad(3)}",
     RLO_PARSE,
     "position 16: expected 2 entries of pad, one for each dimension, found 1"},
    {"f32[2,5]{1,0:pad()}",
     RLO_PARSE,
     "position 16: expected 2 entries of pad, one for each dimension, found 0"},
    {"f32[2,5]{1,0:pad(3;5)}",
     RLO_PARSE,
     "position 18: expected ',' or ')', found ';'"},
    {"f32[2,5]{1,0:pad(3,)}",
     RLO_PARSE,
     "position 19: expected a padded dimension >= 0, found ')'"},
    {"f32[2,5]{:strides(5)}",
     RLO_PARSE,
     "position 17: expected 2 entries of strides, one for each dimension, "
     "found 1"},
    {"f32[]{:strides(1)}",
     RLO_PARSE,
     "position 15: expected 0 entries of strides, one for each dimension, "
     "found more"},
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
     "position 0: a tuple is not an array, but a tree of shapes"},
    {" b(s32[])",
     RLO_UNSUPPORTED,
     "position 1: a buffer is not an array, but a tree of shapes"},
    {"token[]",
     RLO_UNSUPPORTED,
     "position 0: a token is not an array, but a tree of shapes"},
    {"opaque[]",
     RLO_UNSUPPORTED,
     "position 0: an opaque value is not an array, but a tree of shapes"},
};

RLO_TIMEOUT(120);

RLO_TABLE_TEST(test_text__refuses_with_the_position, refusals) {
  rlo_shape shape;
  rlo_shape before;
  memset(&shape, 0x5a, sizeof shape);
  before = shape;

  rlo_status status = test_parse_shape(refusals[_i].text, &shape);
  ck_assert_msg(status == refusals[_i].status,
                "'%s' gives %s",
                refusals[_i].text,
                rlo_status_name(status));
  ck_assert_str_eq(rlo_error_last()->message, refusals[_i].message);
  ck_assert_mem_eq(&shape, &before, sizeof shape);
}

RLO_TEST(test_text__limits_what_a_descriptor_holds) {
  char text[256] = "f32[1";
  rlo_shape shape;

  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    strcat(text, ",1");
  }
  strcat(text, "]");
  ck_assert_int_eq(test_parse_shape(text, &shape), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "position 68: a rank above the limit of 32");

  strcpy(text, "f32[1]{0:T");
  for (int32_t t = 0; t <= RLO_MAX_TILES; ++t) {
    strcat(text, "(1)");
  }
  strcat(text, "}");
  ck_assert_int_eq(test_parse_shape(text, &shape), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "position 34: more than 8 tiles in one layout");

  strcpy(text, "f32[1]{0:T(1");
  for (int32_t k = 0; k < RLO_MAX_TILE_RANK; ++k) {
    strcat(text, ",1");
  }
  strcat(text, ")}");
  ck_assert_int_eq(test_parse_shape(text, &shape), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "position 75: a tile of more than 32 dimensions");
}

RLO_TEST(test_text__bounds_the_text) {
  static char text[RLO_TEXT_MAX_BYTES + 1];
  rlo_shape shape;

  memset(text, ' ', sizeof text);
  memcpy(text, "f32[2]", 6);
  expect_ok(rlo_shape_parse(text, RLO_TEXT_MAX_BYTES, &shape));
  ck_assert_int_eq(rlo_shape_parse(text, RLO_TEXT_MAX_BYTES + 1, &shape),
                   RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_shape_parse(NULL, 0, &shape), RLO_PARSE);
  ck_assert_int_eq(rlo_shape_parse(NULL, 1, &shape), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_parse("f32[2]\0", 7, &shape), RLO_PARSE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "position 6: expected the end of the text, found '\\x00'");
}

RLO_TEST(test_text__every_prefix_is_refused) {
  static const char text[] =
      "f32[64,100]{1,0:T(8,128)(2,1)L(1024)E(64)S(1)pad(72,100)fill(lowest)}";
  rlo_shape shape;

  for (size_t length = 0; length < sizeof text - 1; ++length) {
    rlo_status status = rlo_shape_parse(text, length, &shape);
    /* "f32[64,100]" is a whole shape. */
    ck_assert_int_eq(status, length == 11 ? RLO_OK : RLO_PARSE);
  }
}

RLO_TEST(test_text__mutations_are_refused_or_valid) {
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
    rlo_status status = test_parse_shape(text, &shape);
    if (status != RLO_OK) {
      ck_assert(status == RLO_PARSE || status == RLO_UNSUPPORTED ||
                status == RLO_INVALID_ARGUMENT || status == RLO_OVERFLOW ||
                status == RLO_OUT_OF_RANGE);
      continue;
    }
    ++accepted;
    expect_ok(rlo_shape_validate_unbounded(&shape));
    rlo_shape_format(&shape, again, sizeof again);
    rlo_shape back = test_shape_of(again);
    ck_assert_msg(rlo_shape_equal(&shape, &back), "%s", text);
  }
  ck_assert_int_gt(accepted, 0);
}
