/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/xla/text.h"
#include "support/expect.h"
#include "support/random_tree.h"
#include "support/shape_of.h"
#include "support/short_memory.h"
#include "support/suite.h"

static rlo_shape_tree *parsed(const char *text) {
  rlo_shape_tree *tree = NULL;
  rlo_status status = rlo_shape_tree_parse(text, strlen(text), &tree);
  ck_assert_msg(status == RLO_OK, "'%s': %s", text, rlo_error_last()->message);
  return tree;
}

/* Compares with a text, and releases. */
static void expect_tree(rlo_shape_tree *tree, const char *text) {
  char buffer[1024];
  ck_assert_ptr_nonnull(tree);
  ck_assert_uint_lt(rlo_shape_tree_format(tree, buffer, sizeof buffer), sizeof buffer);
  ck_assert_str_eq(buffer, text);
  rlo_shape_tree_release(tree);
}

static void expect_nothing_alive(void) {
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(NULL, expect_nothing_alive);

static const char nested[] = "(f32[2]{0}, (token[], (b(s8[3]{0}), ())), opaque[], s32[])";

RLO_TIMEOUT(120);

RLO_TEST(test_shape_tree__makes_every_kind) {
  static const int64_t dims[] = {2, 3};
  rlo_shape_tree *parts[5];
  rlo_shape_tree *tree = NULL;

  rlo_shape shape = test_shape_make(RLO_DTYPE_F32, dims, 2);
  expect_ok(rlo_shape_tree_make_array(&shape, &parts[0]));
  expect_ok(rlo_shape_tree_make_buffer(&shape, &parts[1]));
  expect_ok(rlo_shape_tree_make_token(&parts[2]));
  expect_ok(rlo_shape_tree_make_opaque(&parts[3]));
  expect_ok(rlo_shape_tree_make_nil(&parts[4]));
  static const rlo_shape_kind kinds[] = {RLO_SHAPE_KIND_ARRAY, RLO_SHAPE_KIND_BUFFER,
                                         RLO_SHAPE_KIND_TOKEN, RLO_SHAPE_KIND_OPAQUE,
                                         RLO_SHAPE_KIND_TUPLE};
  for (int i = 0; i < 5; ++i) {
    ck_assert_int_eq(rlo_shape_tree_kind(parts[i]), kinds[i]);
    ck_assert_int_eq(rlo_shape_tree_subshape_count(parts[i]), 1);
    ck_assert_int_eq(rlo_shape_tree_leaf_count(parts[i]), i < 4 ? 1 : 0);
    ck_assert_int_eq(rlo_shape_tree_depth(parts[i]), 0);
    ck_assert(rlo_shape_tree_is_empty_tuple(parts[i]) == (i == 4));
    ck_assert(!rlo_shape_tree_is_nested_tuple(parts[i]));
  }
  expect_ok(rlo_shape_tree_make_tuple((const rlo_shape_tree *const *)parts, 5, &tree));
  for (int i = 0; i < 5; ++i) {
    rlo_shape_tree_release(parts[i]);
  }
  ck_assert_int_eq(rlo_shape_tree_tuple_element_count(tree), 5);
  ck_assert(rlo_shape_tree_is_nested_tuple(tree));
  expect_tree(tree, "(f32[2,3]{1,0}, b(f32[2,3]{1,0}), token[], opaque[], ())");
}

RLO_TEST(test_shape_tree__refuses_what_is_no_shape) {
  rlo_shape shape;
  rlo_shape_tree *tree = parsed("()");
  rlo_shape_tree *kept = tree;
  memset(&shape, 0, sizeof shape);

  ck_assert_int_eq(rlo_shape_tree_make_array(&shape, &tree), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(tree);
  ck_assert_int_eq(rlo_shape_tree_make_buffer(&shape, &tree), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_tree_make_tuple(NULL, 1, &tree), RLO_INVALID_ARGUMENT);
  expect_refusal(rlo_shape_tree_make_tuple(NULL, -1, &tree), RLO_INVALID_ARGUMENT,
                 "a tuple cannot have -1 elements");
  rlo_shape_tree_release(kept);
  rlo_shape_tree_release(NULL);
  ck_assert_ptr_null(rlo_shape_tree_retain(NULL));
}

RLO_TEST(test_shape_tree__counts_references) {
  rlo_shape_tree *tree = parsed("(f32[])");

  ck_assert_ptr_eq(rlo_shape_tree_retain(tree), tree);
  rlo_shape_tree_release(tree);
  ck_assert_int_eq(rlo_shape_tree_leaf_count(tree), 1);
  rlo_shape_tree_release(tree);
}

RLO_TEST(test_shape_tree__bounds_depth_and_number) {
  rlo_shape_tree *tree = NULL;
  rlo_shape_tree *outer = NULL;
  expect_ok(rlo_shape_tree_make_nil(&tree));
  for (int i = 0; i < RLO_SHAPE_TREE_MAX_DEPTH; ++i) {
    const rlo_shape_tree *elements[] = {tree};
    expect_ok(rlo_shape_tree_make_tuple(elements, 1, &outer));
    rlo_shape_tree_release(tree);
    tree = outer;
  }
  ck_assert_int_eq(rlo_shape_tree_depth(tree), RLO_SHAPE_TREE_MAX_DEPTH);
  const rlo_shape_tree *one[] = {tree};
  expect_refusal(rlo_shape_tree_make_tuple(one, 1, &outer), RLO_UNSUPPORTED,
                 "257 tuples inside one another are beyond the limit of 256");
  rlo_shape_tree_release(tree);

  /* 2^15 tokens and their tuple, twice, leave no room for the root. */
  enum { MANY = 1 << 15 };

  rlo_shape_tree *token = NULL;
  const rlo_shape_tree **elements = malloc(MANY * sizeof *elements);
  ck_assert_ptr_nonnull(elements);
  expect_ok(rlo_shape_tree_make_token(&token));
  for (int i = 0; i < MANY; ++i) {
    elements[i] = token;
  }
  expect_ok(rlo_shape_tree_make_tuple(elements, MANY, &tree));
  ck_assert_int_eq(rlo_shape_tree_leaf_count(tree), MANY);
  const rlo_shape_tree *two[] = {tree, tree};
  expect_refusal(rlo_shape_tree_make_tuple(two, 2, &outer), RLO_UNSUPPORTED,
                 "65539 tuples and leaves in one tree are beyond the limit "
                 "of 65536");
  ck_assert_ptr_null(outer);
  free(elements);
  rlo_shape_tree_release(token);
  rlo_shape_tree_release(tree);
}

RLO_TEST(test_shape_tree__edits_tuples) {
  rlo_shape_tree *tuple = parsed("(f32[], (s8[], token[]), ())");
  rlo_shape_tree *element = parsed("(u8[], opaque[])");
  rlo_shape_tree *result = NULL;

  expect_ok(rlo_shape_tree_append_to_tuple(tuple, element, &result));
  expect_tree(result, "(f32[], (s8[], token[]), (), (u8[], opaque[]))");
  expect_ok(rlo_shape_tree_update_tuple(tuple, 0, element, &result));
  expect_tree(result, "((u8[], opaque[]), (s8[], token[]), ())");
  expect_ok(rlo_shape_tree_update_tuple(tuple, 2, element, &result));
  expect_tree(result, "(f32[], (s8[], token[]), (u8[], opaque[]))");
  expect_ok(rlo_shape_tree_slice_tuple(tuple, 1, 3, &result));
  expect_tree(result, "((s8[], token[]), ())");
  expect_ok(rlo_shape_tree_slice_tuple(tuple, 0, 3, &result));
  expect_tree(result, "(f32[], (s8[], token[]), ())");
  expect_ok(rlo_shape_tree_slice_tuple(tuple, 3, 3, &result));
  expect_tree(result, "()");

  expect_refusal(rlo_shape_tree_update_tuple(tuple, 3, element, &result), RLO_OUT_OF_RANGE,
                 "element 3 is outside of a tuple with 3");
  ck_assert_int_eq(rlo_shape_tree_update_tuple(tuple, -1, element, &result), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_shape_tree_slice_tuple(tuple, 2, 1, &result), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_shape_tree_slice_tuple(tuple, -1, 1, &result), RLO_OUT_OF_RANGE);
  expect_refusal(rlo_shape_tree_slice_tuple(tuple, 0, 4, &result), RLO_OUT_OF_RANGE,
                 "the elements from 0 to 4 are no part of a tuple with 3");
  rlo_shape_tree *leaf = parsed("f32[]");
  expect_refusal(rlo_shape_tree_append_to_tuple(leaf, element, &result), RLO_INVALID_ARGUMENT,
                 "the root is no tuple");
  ck_assert_int_eq(rlo_shape_tree_update_tuple(leaf, 0, element, &result), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_tree_slice_tuple(leaf, 0, 0, &result), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(result);
  rlo_shape_tree_release(leaf);
  rlo_shape_tree_release(element);
  expect_tree(tuple, "(f32[], (s8[], token[]), ())");
}

RLO_TEST(test_shape_tree__flattens) {
  rlo_shape_tree *tree = parsed(nested);
  rlo_shape_tree *flat = NULL;

  expect_ok(rlo_shape_tree_flatten(tree, &flat));
  expect_tree(flat, "(f32[2]{0}, token[], b(s8[3]{0}), opaque[], s32[])");
  rlo_shape_tree_release(tree);
  tree = parsed("f32[]");
  expect_ok(rlo_shape_tree_flatten(tree, &flat));
  expect_tree(flat, "(f32[])");
  rlo_shape_tree_release(tree);
}

RLO_TEST(test_shape_tree__follows_paths) {
  static const struct {
    int64_t index[4];
    int32_t count;
    const char *text;
  } places[] = {
      {{0}, 0, nested},
      {{0}, 1, "f32[2]{0}"},
      {{1}, 1, "(token[], (b(s8[3]{0}), ()))"},
      {{1, 0}, 2, "token[]"},
      {{1, 1}, 2, "(b(s8[3]{0}), ())"},
      {{1, 1, 0}, 3, "b(s8[3]{0})"},
      {{1, 1, 1}, 3, "()"},
      {{2}, 1, "opaque[]"},
      {{3}, 1, "s32[]"},
  };

  rlo_shape_tree *tree = parsed(nested);
  rlo_shape shape;

  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    const int64_t *index = places[i].index;
    int32_t count = places[i].count;
    rlo_shape_tree *part = NULL;
    ck_assert(rlo_shape_tree_index_is_valid(tree, index, count));
    expect_ok(rlo_shape_tree_get_subshape(tree, index, count, &part));
    rlo_shape_kind kind = rlo_shape_tree_kind(part);
    ck_assert(rlo_shape_tree_is_leaf_index(tree, index, count) == (kind != RLO_SHAPE_KIND_TUPLE));
    bool has_shape = kind == RLO_SHAPE_KIND_ARRAY || kind == RLO_SHAPE_KIND_BUFFER;
    ck_assert_int_eq(rlo_shape_tree_get_array(tree, index, count, &shape),
                     has_shape ? RLO_OK : RLO_INVALID_ARGUMENT);
    expect_tree(part, places[i].text);
  }
  ck_assert_int_eq(rlo_shape_tree_subshape_count(tree), 9);
  ck_assert_int_eq(rlo_shape_tree_leaf_count(tree), 5);
  ck_assert_int_eq(rlo_shape_tree_depth(tree), 3);

  static const int64_t buffer[] = {1, 1, 0};
  expect_ok(rlo_shape_tree_get_array(tree, buffer, 3, &shape));
  ck_assert_int_eq(shape.dtype, RLO_DTYPE_S8);
  ck_assert_int_eq(shape.dims[0], 3);
  expect_refusal(rlo_shape_tree_get_array(tree, buffer, 2, &shape), RLO_INVALID_ARGUMENT,
                 "subshape {1,1}: a tuple is no array");
  rlo_shape_tree_release(tree);
}

RLO_TEST(test_shape_tree__refuses_paths_to_nowhere) {
  static const struct {
    int64_t index[3];
    int32_t count;
    rlo_status status;
    const char *message;
  } places[] = {
      {{4}, 1, RLO_OUT_OF_RANGE, "entry 0 of the path looks for element 4 of a tuple with 4"},
      {{-1}, 1, RLO_OUT_OF_RANGE, "entry 0 of the path looks for element -1 of a tuple with 4"},
      {{1, 2}, 2, RLO_OUT_OF_RANGE, "entry 1 of the path looks for element 2 of a tuple with 2"},
      {{0, 0},
       2,
       RLO_OUT_OF_RANGE,
       "entry 1 of the path looks for element 0 of an array, which has none"},
      {{1, 0, 0},
       3,
       RLO_OUT_OF_RANGE,
       "entry 2 of the path looks for element 0 of a token, which has none"},
      {{0}, -1, RLO_INVALID_ARGUMENT, "a path of -1 entries is no path"},
  };

  rlo_shape_tree *tree = parsed(nested);

  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    const int64_t *index = places[i].index;
    int32_t count = places[i].count;
    rlo_shape_tree *part = NULL;
    rlo_shape shape;
    ck_assert(!rlo_shape_tree_index_is_valid(tree, index, count));
    ck_assert(!rlo_shape_tree_is_leaf_index(tree, index, count));
    ck_assert_int_eq(rlo_shape_tree_get_subshape(tree, index, count, &part), places[i].status);
    ck_assert_str_eq(rlo_error_last()->message, places[i].message);
    ck_assert_ptr_null(part);
    ck_assert_int_eq(rlo_shape_tree_get_array(tree, index, count, &shape), places[i].status);
  }
  ck_assert(!rlo_shape_tree_index_is_valid(tree, NULL, 1));
  ck_assert(rlo_shape_tree_index_is_valid(tree, NULL, 0));
  rlo_shape_tree_release(tree);
}

static rlo_status to_column_major(const rlo_shape *shape, rlo_shape *out_shape, void *payload) {
  int *calls = payload;
  ++*calls;
  if (shape->dtype == RLO_DTYPE_S64) {
    return RLO_CANCELLED;
  }
  if (shape->dtype == RLO_DTYPE_U64) {
    out_shape->dims[0] = -1;
    return RLO_OK;
  }
  out_shape->layout = rlo_layout_column_major(shape->rank);
  return RLO_OK;
}

RLO_TEST(test_shape_tree__maps_arrays) {
  int calls = 0;
  rlo_shape_tree *result = NULL;
  rlo_shape_tree *tree = parsed("(f32[2,3], (token[], (b(s8[3,4])), ()), opaque[], (s32[]))");

  expect_ok(rlo_shape_tree_map_arrays(tree, to_column_major, &calls, &result));
  ck_assert_int_eq(calls, 3);
  expect_tree(result, "(f32[2,3]{0,1}, (token[], (b(s8[3,4]{0,1})), ()), opaque[], (s32[]))");
  rlo_shape_tree_release(tree);

  tree = parsed("(f32[2], (s64[2]))");
  ck_assert_int_eq(rlo_shape_tree_map_arrays(tree, to_column_major, &calls, &result),
                   RLO_CANCELLED);
  ck_assert_ptr_null(result);
  rlo_shape_tree_release(tree);
  tree = parsed("(f32[2], (u64[2]))");
  expect_refusal(rlo_shape_tree_map_arrays(tree, to_column_major, &calls, &result),
                 RLO_INVALID_ARGUMENT, "subshape {1,0}: dimension 0 of size -1 is negative");
  rlo_shape_tree_release(tree);
}

RLO_TEST(test_shape_tree__copies_layouts) {
  rlo_shape_tree *from = parsed("(f32[2,3]{0,1:T(2)}, (s8[], token[]))");
  rlo_shape_tree *to = parsed("(s16[4,5], (s8[], token[]))");
  rlo_shape_tree *result = NULL;

  expect_ok(rlo_shape_tree_copy_layouts(from, to, &result));
  expect_tree(result, "(s16[4,5]{0,1:T(2)}, (s8[], token[]))");
  rlo_shape_tree_release(to);

  to = parsed("(s16[4,5], (s8[4], token[]))");
  expect_refusal(rlo_shape_tree_copy_layouts(from, to, &result), RLO_INVALID_ARGUMENT,
                 "subshape {1,0}: the layout of rank 0 is not for an array "
                 "of rank 1");
  rlo_shape_tree_release(to);
  to = parsed("(s16[4,5], (s8[], opaque[]))");
  expect_refusal(rlo_shape_tree_copy_layouts(from, to, &result), RLO_INVALID_ARGUMENT,
                 "subshape {1,1}: the trees differ in structure here");
  rlo_shape_tree_release(to);
  to = parsed("(s16[4,5], (s8[], token[]), token[])");
  expect_refusal(rlo_shape_tree_copy_layouts(from, to, &result), RLO_INVALID_ARGUMENT,
                 "the trees differ in structure here");
  rlo_shape_tree_release(to);
  rlo_shape_tree_release(from);
}

/* Taking a tree apart and putting it together again, at random. */
RLO_TEST(test_shape_tree__is_the_tuple_of_its_elements) {
  test_random random = test_random_begin("test_shape_tree");

  for (int round = 0; round < 500; ++round) {
    rlo_shape_tree *tree = test_random_tree(&random, 60);
    int64_t count = rlo_shape_tree_tuple_element_count(tree);
    if (rlo_shape_tree_kind(tree) == RLO_SHAPE_KIND_TUPLE) {
      rlo_shape_tree *back = NULL;
      expect_ok(rlo_shape_tree_make_nil(&back));
      int64_t leaves = 0;
      for (int64_t i = 0; i < count; ++i) {
        rlo_shape_tree *element = NULL;
        rlo_shape_tree *longer = NULL;
        expect_ok(rlo_shape_tree_get_subshape(tree, &i, 1, &element));
        expect_ok(rlo_shape_tree_append_to_tuple(back, element, &longer));
        leaves += rlo_shape_tree_leaf_count(element);
        rlo_shape_tree_release(element);
        rlo_shape_tree_release(back);
        back = longer;
      }
      ck_assert(rlo_shape_tree_equal(tree, back));
      ck_assert_int_eq(leaves, rlo_shape_tree_leaf_count(tree));
      ck_assert_int_eq(rlo_shape_tree_depth(back), rlo_shape_tree_depth(tree));
      rlo_shape_tree_release(back);
    }
    rlo_shape_tree_release(tree);
  }
}

static rlo_status count_one(const rlo_subshape *subshape, void *payload) {
  int *count = payload;
  ck_assert_ptr_nonnull(subshape);
  ++*count;
  return RLO_OK;
}

static rlo_status edit_all(const rlo_shape_tree *tree) {
  rlo_shape_tree *result = NULL;
  rlo_status status = rlo_shape_tree_flatten(tree, &result);
  rlo_shape_tree_release(result);
  if (status == RLO_OK) {
    status = rlo_shape_tree_copy_layouts(tree, tree, &result);
    rlo_shape_tree_release(result);
  }
  if (status == RLO_OK) {
    status = rlo_shape_tree_append_to_tuple(tree, tree, &result);
    rlo_shape_tree_release(result);
  }
  if (status == RLO_OK) {
    int count = 0;
    status = rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, count_one, &count);
  }
  return status;
}

RLO_TEST(test_shape_tree__survives_every_failed_allocation) {
  rlo_shape_tree *tree = parsed(nested);
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    run.status = edit_all(tree);
  }
  ck_assert_int_gt(run.num_tries, 8);
  rlo_shape_tree_release(tree);
}
