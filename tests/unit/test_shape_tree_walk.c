/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/text.h"
#include "support/expect.h"
#include "support/suite.h"

static rlo_shape_tree *parsed(const char *text) {
  rlo_shape_tree *tree = NULL;
  rlo_status status = rlo_shape_tree_parse(text, strlen(text), &tree);
  ck_assert_msg(status == RLO_OK, "'%s': %s", text, rlo_error_last()->message);
  return tree;
}

static void expect_nothing_alive(void) {
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

static const char nested[] = "(f32[2]{0}, (token[], (b(s8[3]{0}), ())), opaque[], s32[])";

/* Writes what it sees as "{1,0}token " and so on. */
static rlo_status note(const rlo_subshape *subshape, void *payload) {
  char *text = payload;
  ck_assert(subshape->shape != NULL ||
            (subshape->kind != RLO_SHAPE_KIND_ARRAY && subshape->kind != RLO_SHAPE_KIND_BUFFER));
  strcat(text, "{");
  for (int32_t i = 0; i < subshape->index_count; ++i) {
    sprintf(text + strlen(text), i > 0 ? ",%d" : "%d", (int)subshape->index[i]);
  }
  strcat(text, "}");
  if (subshape->kind == RLO_SHAPE_KIND_TUPLE) {
    sprintf(text + strlen(text), "/%d", (int)subshape->num_elements);
  } else if (subshape->shape != NULL) {
    strcat(text, rlo_dtype_name(subshape->shape->dtype));
  }
  /* To stop at the opaque value is the payload's first letter's wish. */
  return text[0] == '!' && subshape->kind == RLO_SHAPE_KIND_OPAQUE ? RLO_CANCELLED : RLO_OK;
}

RLO_TEST(test_shape_tree_walk__walks_in_every_order) {
  rlo_shape_tree *tree = parsed(nested);
  char text[256] = "";

  expect_ok(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_PRE_ORDER, note, text));
  ck_assert_str_eq(text, "{}/4{0}f32{1}/2{1,0}{1,1}/2{1,1,0}s8{1,1,1}/0{2}{3}s32");
  strcpy(text, "");
  expect_ok(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_POST_ORDER, note, text));
  ck_assert_str_eq(text, "{0}f32{1,0}{1,1,0}s8{1,1,1}/0{1,1}/2{1}/2{2}{3}s32{}/4");
  strcpy(text, "");
  expect_ok(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, note, text));
  ck_assert_str_eq(text, "{0}f32{1,0}{1,1,0}s8{2}{3}s32");
  strcpy(text, "!");
  ck_assert_int_eq(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, note, text),
                   RLO_CANCELLED);
  ck_assert_str_eq(text, "!{0}f32{1,0}{1,1,0}s8{2}");
  ck_assert_int_eq(rlo_shape_tree_for_each_subshape(tree, (rlo_walk_order)3, note, text),
                   RLO_INVALID_ARGUMENT);
  rlo_shape_tree_release(tree);

  tree = parsed("()");
  strcpy(text, "");
  expect_ok(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_POST_ORDER, note, text));
  expect_ok(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, note, text));
  ck_assert_str_eq(text, "{}/0");
  rlo_shape_tree_release(tree);
  expect_nothing_alive();
}

/* Relations of two trees, as digits: equal, compatible, equal structure, equal
 * but for tiles, equal layouts. */
static const struct {
  const char *a;
  const char *b;
  const char *relations;
} pairs[] = {
    {"f32[2,3]", "f32[2,3]", "11111"},
    {"f32[3,2]{0,1}", "f32[3,2]{1,0}", "01100"},
    {"(f32[<=2])", "(f32[2])", "01101"},
    {"(f32[2])", "(f32[3])", "00101"},
    {"(f32[2])", "(s32[2])", "00101"},
    {"(f32[2])", "(f32[2,1])", "00100"},
    {"(f32[2]{0:T(8)})", "(f32[2])", "01110"},
    {"((f32[2]{0:T(8)}))", "((f32[2]))", "01110"},
    {"(f32[2]{0:S(1)})", "(f32[2])", "01100"},
    {"(f32[2]{0:M(8)})", "(f32[2])", "01100"},
    {"f32[2]", "(f32[2])", "00000"},
    {"(f32[2], token[])", "(f32[2], opaque[])", "00100"},
    {"(f32[2])", "(b(f32[2]))", "00100"},
    {"(f32[2])", "(token[])", "00100"},
    {"(f32[2], ())", "(f32[2], token[])", "00000"},
    {"((f32[2]), f32[2])", "((f32[2], f32[2]))", "00000"},
    {"((), (token[]))", "((token[]), ())", "00000"},
    {"((token[], ()))", "((token[]), ())", "00000"},
    {"()", "()", "11111"},
    {"token[]", "token[]", "11111"},
};

RLO_TABLE_TEST(test_shape_tree_walk__compares, pairs) {
  rlo_shape_tree *a = parsed(pairs[_i].a);
  rlo_shape_tree *b = parsed(pairs[_i].b);
  for (int swapped = 0; swapped < 2; ++swapped) {
    const rlo_shape_tree *x = swapped ? b : a;
    const rlo_shape_tree *y = swapped ? a : b;
    const char relations[] = {rlo_shape_tree_equal(x, y) ? '1' : '0',
                              rlo_shape_tree_compatible(x, y) ? '1' : '0',
                              rlo_shape_tree_equal_structure(x, y) ? '1' : '0',
                              rlo_shape_tree_equal_with(x, y, RLO_EQUAL_IGNORE_TILES) ? '1' : '0',
                              rlo_shape_tree_layouts_equal(x, y, 0) ? '1' : '0',
                              '\0'};
    ck_assert_msg(strcmp(relations, pairs[_i].relations) == 0, "%s and %s: %s", pairs[_i].a,
                  pairs[_i].b, relations);
  }
  rlo_shape_tree_release(a);
  rlo_shape_tree_release(b);
}

/* XLA drops the options of its comparison inside tuples. */
RLO_TEST(test_shape_tree_walk__passes_options_into_tuples) {
  rlo_shape_tree *a = parsed("((f32[8]{0:T(8)S(1)}))");
  rlo_shape_tree *b = parsed("((s8[9]{0}))");

  ck_assert(!rlo_shape_tree_layouts_equal(a, b, RLO_EQUAL_IGNORE_TILES));
  ck_assert(
      rlo_shape_tree_layouts_equal(a, b, RLO_EQUAL_IGNORE_TILES | RLO_EQUAL_IGNORE_MEMORY_SPACE));
  ck_assert(rlo_shape_tree_layouts_equal(a, b, RLO_EQUAL_MINOR_TO_MAJOR_ONLY));
  rlo_shape_tree_release(a);
  rlo_shape_tree_release(b);
}

RLO_TEST(test_shape_tree_walk__measures) {
  rlo_shape_tree_extent extent;
  rlo_shape_tree *tree =
      parsed("(f32[10,20]{1,0:T(8,128)}, token[], (b(s4[3]{0:E(4)}), s64[0]), f64[])");

  expect_ok(rlo_shape_tree_measure(tree, &extent));
  ck_assert_int_eq(extent.arrays, 4);
  ck_assert_int_eq(extent.elements, 200 + 3 + 0 + 1);
  ck_assert_int_eq(extent.bytes, 800 + 2 + 0 + 8);
  ck_assert_int_eq(extent.physical_bytes, 4 * 16 * 128 + 2 + 0 + 8);
  rlo_shape_tree_release(tree);

  rlo_shape_tree_extent before = extent;
  tree = parsed("(f32[2], (token[], opaque[]))");
  expect_refusal(rlo_shape_tree_measure(tree, &extent), RLO_UNSUPPORTED,
                 "subshape {1,1}: the size of an opaque value is unknown");
  rlo_shape_tree_release(tree);
  tree = parsed("(f32[2], f32[?])");
  ck_assert_int_eq(rlo_shape_tree_measure(tree, &extent), RLO_UNSUPPORTED);
  rlo_shape_tree_release(tree);
  /* 2^60 - 1 elements are the most that one array of bytes may have. */
  char text[256] = "(s8[1152921504606846975]";
  for (int i = 0; i < 8; ++i) {
    strcat(text, ",s8[1152921504606846975]");
  }
  strcat(text, ")");
  tree = parsed(text);
  expect_refusal(rlo_shape_tree_measure(tree, &extent), RLO_OVERFLOW,
                 "subshape {8}: the sizes of all arrays up to this one do "
                 "not fit 64 bits");
  rlo_shape_tree_release(tree);
  ck_assert_mem_eq(&extent, &before, sizeof extent);
  expect_nothing_alive();
}
