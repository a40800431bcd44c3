/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine_case.h"
#include "relayout/kernel.h"
#include "support/shape_of.h"

/* Attributes and inputs on the host: what is refused and why. */

typedef struct refused {
  const char *kernel;
  rlo_attribute items[4];
  int32_t count;
  rlo_status status;
  const char *why;
} refused;

RLO_FIXTURE(begin_plain, end);

/* Each on an s32[2,3,4]. */
RLO_TEST(test_engine_calls__wrong_attributes) {
  const refused cases[] = {
      {"Transpose",
       {rlo_attribute_i64s("perm", DIMS(0, 2, -1), 3)},
       1,
       RLO_INVALID_ARGUMENT,
       "Transpose: perm: dimensions 2 and -1 are one and the same of an array "
       "of rank 3"},
      {"Transpose",
       {rlo_attribute_i64s("perm", DIMS(0, 1, 3), 3)},
       1,
       RLO_OUT_OF_RANGE,
       "Transpose: perm: dimension 3 of an array of rank 3; -3 to 2 are "
       "possible"},
      {"Transpose",
       {rlo_attribute_i64s("perm", DIMS(0, 1), 2)},
       1,
       RLO_INVALID_ARGUMENT,
       "Transpose: 'perm' has 2 numbers; 3 are wanted"},
      {"Transpose",
       {rlo_attribute_i64("perm", 1)},
       1,
       RLO_INVALID_ARGUMENT,
       "Transpose: 'perm' has 1 numbers; 3 are wanted"},
      {"Transpose",
       {rlo_attribute_f64("perm", 1)},
       1,
       RLO_INVALID_ARGUMENT,
       "Transpose: attribute 'perm' is a number, not a list of integers"},
      {"Transpose",
       {rlo_attribute_i64s("permutation", DIMS(0, 1, 2), 3)},
       1,
       RLO_INVALID_ARGUMENT,
       "Transpose: there is no attribute 'permutation'; it takes 'perm'; did you mean 'perm'?"},
      {"Transpose",
       {rlo_attribute_i64s("perm", DIMS(0, 1, 2), 3), rlo_attribute_i64s("perm", DIMS(0, 1, 2), 3)},
       2,
       RLO_INVALID_ARGUMENT,
       "Transpose: attribute 'perm' is given twice"},
      {"Transpose",
       {rlo_attribute_i64s("perm", NULL, 3)},
       1,
       RLO_INVALID_ARGUMENT,
       "Transpose: attribute 'perm' is a list of integers without its values"},
      {"Identity",
       {rlo_attribute_i64("copy", true)},
       1,
       RLO_INVALID_ARGUMENT,
       "Identity: there is no attribute 'copy'; it takes none"},
      {"Reverse",
       {rlo_attribute_i64s("dims", DIMS(0, -3), 2)},
       1,
       RLO_INVALID_ARGUMENT,
       "Reverse: dims: dimensions 0 and -3 are one and the same of an array of "
       "rank 3"},
      {"Reverse",
       {rlo_attribute_i64s("dims", DIMS(3), 1)},
       1,
       RLO_OUT_OF_RANGE,
       "Reverse: dims: dimension 3 of an array of rank 3; -3 to 2 are "
       "possible"},
      {"Reverse", {{0}}, 0, RLO_NOT_FOUND, "Reverse: attribute 'dims' is missing"},
      {"Roll",
       {rlo_attribute_i64s("shifts", DIMS(1, 2), 2), rlo_attribute_i64s("dims", DIMS(0), 1)},
       2,
       RLO_INVALID_ARGUMENT,
       "Roll: 2 shifts for 1 dimensions"},
      {"Roll",
       {rlo_attribute_i64s("shifts", DIMS(1), 1), rlo_attribute_i64s("dims", DIMS(-4), 1)},
       2,
       RLO_OUT_OF_RANGE,
       "Roll: dims: dimension -4 of an array of rank 3; -3 to 2 are "
       "possible"},
      {"Reshape", {rlo_attribute_i64s("shape", DIMS(5, 5), 2)}, 1, RLO_INVALID_ARGUMENT, NULL},
      {"ExpandDims",
       {rlo_attribute_i64("axis", 4)},
       1,
       RLO_OUT_OF_RANGE,
       "ExpandDims: axis: dimension 4 of an array of rank 4; -4 to 3 are "
       "possible"},
      {"Slice",
       {rlo_attribute_i64s("begin", DIMS(0, 0, 5), 3),
        rlo_attribute_i64s("size", DIMS(1, 1, 1), 3)},
       2,
       RLO_OUT_OF_RANGE,
       "Slice: begin[2]=5 in a dimension of size 4"},
      {"Slice",
       {rlo_attribute_i64s("begin", DIMS(0, 0, 1), 3),
        rlo_attribute_i64s("size", DIMS(1, 1, 4), 3)},
       2,
       RLO_OUT_OF_RANGE,
       "Slice: size[2]=4; from 1 on, 3 are left (-1 takes all)"},
      {"StridedSlice",
       {rlo_attribute_i64s("begin", DIMS(0), 1), rlo_attribute_i64s("end", DIMS(2), 1),
        rlo_attribute_i64s("strides", DIMS(0), 1)},
       3,
       RLO_INVALID_ARGUMENT,
       NULL},
      {"StridedSlice",
       {rlo_attribute_i64s("begin", DIMS(2), 1), rlo_attribute_i64s("end", DIMS(3), 1),
        rlo_attribute_i64("shrink_axis_mask", 1)},
       3,
       RLO_OUT_OF_RANGE,
       "StridedSlice: begin[0]=2 is one index of a dimension of size 2"},
      {"StridedSlice",
       {rlo_attribute_i64s("begin", DIMS(1), 1), rlo_attribute_i64s("end", DIMS(0), 1),
        rlo_attribute_i64s("strides", DIMS(-1), 1), rlo_attribute_i64("shrink_axis_mask", 1)},
       4,
       RLO_INVALID_ARGUMENT,
       "StridedSlice: strides[0]=-1 of a dimension that shrink_axis_mask takes "
       "one index of; it is at least 1 there"},
      {"StridedSlice",
       {rlo_attribute_i64s("begin", DIMS(0, 0), 2), rlo_attribute_i64s("end", DIMS(0, 0), 2),
        rlo_attribute_i64("ellipsis_mask", 3)},
       3,
       RLO_INVALID_ARGUMENT,
       "StridedSlice: ellipsis_mask=3 has more than one bit"},
      {"StridedSlice",
       {rlo_attribute_i64s("begin", DIMS(0, 0, 0, 0), 4),
        rlo_attribute_i64s("end", DIMS(1, 1, 1, 1), 4)},
       2,
       RLO_INVALID_ARGUMENT,
       "StridedSlice: begin[3] is for a dimension beyond the 3 there are"},
      {"PadV2",
       {rlo_attribute_i64s("paddings", DIMS(1, 1), 2)},
       1,
       RLO_INVALID_ARGUMENT,
       "PadV2: 'paddings' has 2 numbers; 3 pairs are wanted, before and after each dimension"},
      {"PadV2",
       {rlo_attribute_i64s("paddings", DIMS(1, 1, 0, 0, 0, 0), 6), rlo_attribute_f64("value", 2.5)},
       2,
       RLO_INVALID_ARGUMENT,
       "PadV2: the value 2.5 is no integer; the type is s32"},
      {"PadV2",
       {rlo_attribute_i64s("paddings", DIMS(1, 1, 0, 0, 0, 0), 6), rlo_attribute_f64("value", 3e9)},
       2,
       RLO_OUT_OF_RANGE,
       "PadV2: the value 3e+09 does not fit type s32"},
      {"PadV2",
       {rlo_attribute_i64s("paddings", DIMS(1, 1, 0, 0, 0, 0), 6), rlo_attribute_i64("value", 1),
        rlo_attribute_i64s("value_bits", DIMS(1), 1)},
       3,
       RLO_INVALID_ARGUMENT,
       "PadV2: both 'value' and 'value_bits' are given"},
      {"PadV2",
       {rlo_attribute_i64s("paddings", DIMS(-3, 0, 0, 0, 0, 0), 6)},
       1,
       RLO_INVALID_ARGUMENT,
       NULL},
      {"MirrorPad",
       {rlo_attribute_i64s("paddings", DIMS(2, 0, 0, 0, 0, 0), 6)},
       1,
       RLO_INVALID_ARGUMENT,
       NULL},
      {"MirrorPad",
       {rlo_attribute_i64s("paddings", DIMS(1, 0, 0, 0, 0, 0), 6),
        rlo_attribute_string("mode", "wrap")},
       2,
       RLO_INVALID_ARGUMENT,
       "MirrorPad: 'mode' is 'wrap'; it is 'reflect', 'symmetric' or 'edge'"},
      {"BroadcastTo",
       {rlo_attribute_i64s("shape", DIMS(3, 4), 2)},
       1,
       RLO_INVALID_ARGUMENT,
       "BroadcastTo: 'shape' has rank 2, input 'x' rank 3"},
      {"BroadcastTo",
       {rlo_attribute_i64s("shape", DIMS(2, 3, 5), 3)},
       1,
       RLO_INVALID_ARGUMENT,
       NULL},
      {"Tile", {rlo_attribute_i64s("reps", DIMS(1, -1, 1), 3)}, 1, RLO_INVALID_ARGUMENT, NULL},
      {"ConcatV2",
       {rlo_attribute_i64("axis", -4)},
       1,
       RLO_OUT_OF_RANGE,
       "ConcatV2: axis: dimension -4 of an array of rank 3; -3 to 2 are "
       "possible"},
      {"SplitV",
       {rlo_attribute_i64("num_or_size_splits", 3), rlo_attribute_i64("axis", 2)},
       2,
       RLO_INVALID_ARGUMENT,
       "SplitV: 3 equal parts of a dimension of size 4; 1 to 1024 that divide "
       "it are possible"},
      {"SplitV",
       {rlo_attribute_i64s("num_or_size_splits", DIMS(-1, -1), 2)},
       1,
       RLO_INVALID_ARGUMENT,
       "SplitV: num_or_size_splits[1]=-1 is negative or too large (one may be "
       "-1)"},
      {"SplitV",
       {rlo_attribute_i64s("num_or_size_splits", DIMS(1, 2), 2)},
       1,
       RLO_INVALID_ARGUMENT,
       NULL},
      {"Unpack",
       {rlo_attribute_i64("axis", 3)},
       1,
       RLO_OUT_OF_RANGE,
       "Unpack: axis: dimension 3 of an array of rank 3; -3 to 2 are "
       "possible"},
      {"SpaceToBatchND",
       {rlo_attribute_i64s("block_shape", DIMS(2), 1),
        rlo_attribute_i64s("paddings", DIMS(0, 0), 2)},
       2,
       RLO_INVALID_ARGUMENT,
       NULL},
      {"DepthToSpace",
       {rlo_attribute_i64("block_size", 2), rlo_attribute_string("data_format", "CHWN")},
       2,
       RLO_INVALID_ARGUMENT,
       "DepthToSpace: 'data_format' is 'CHWN'; it is 'NHWC' or 'NCHW'"},
      {"Cast", {rlo_attribute_string("dtype", "float")}, 1, RLO_NOT_FOUND, NULL},
      {"Sum",
       {rlo_attribute_i64s("dims", DIMS(1, -2), 2)},
       1,
       RLO_INVALID_ARGUMENT,
       "Sum: dims: dimensions 1 and -2 are one and the same of an array of "
       "rank 3"},
  };
  rlo_tensor *x = count_up(DIMS(2, 3, 4), 3);
  for (int32_t k = 0; k < COUNT(cases); ++k) {
    const refused *c = &cases[k];
    const rlo_attributes attributes = {c->items, c->count};
    rlo_tensor *ys[4] = {NULL};
    int32_t count = 0;
    rlo_status got = rlo_run_kernel(engine, c->kernel, &x, 1, &attributes, ys, 4, &count);
    const char *words = rlo_error_last()->message;
    ck_assert_msg(got == c->status, "case %d, %s: %s: %s", k, c->kernel, rlo_status_name(got),
                  words);
    ck_assert_msg(strncmp(words, c->kernel, strlen(c->kernel)) == 0,
                  "case %d: '%s' does not begin with %s", k, words, c->kernel);
    if (c->why != NULL) {
      ck_assert_str_eq(words, c->why);
    }
    ck_assert_ptr_null(ys[0]);
    /* Inferring says the same without a tensor. */
    rlo_shape shape;
    const rlo_shape *const shapes[] = {rlo_tensor_shape(x)};
    ck_assert_int_eq(rlo_infer_kernel(engine, c->kernel, shapes, 1, &attributes, &shape, 1, &count),
                     c->status);
  }
  rlo_tensor_release(x);
}

RLO_TEST(test_engine_calls__wrong_layouts) {
  rlo_tensor *x = count_up(DIMS(2, 3), 2);
  rlo_tensor *y = NULL;
  rlo_shape shape = test_shape_of("s32[2,3]");
  shape.layout.minor_to_major[0] = 0;
  shape.layout.minor_to_major[1] = 0;
  ck_assert_int_eq(rlo_op_relayout(x, &shape, &y), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_eq(strstr(rlo_error_last()->message, "Relayout: 'shape': "),
                   rlo_error_last()->message);
  shape = test_shape_of("s32[3,2]");
  expect_refusal(rlo_op_relayout(x, &shape, &y), RLO_INVALID_ARGUMENT,
                 "Relayout: 'shape' has another type or other dimensions than "
                 "input 'x'; a relayout changes the layout only");
  rlo_tensor_release(x);
}

RLO_TEST(test_engine_calls__getters_of_attributes) {
  const rlo_attribute items[] = {rlo_attribute_i64("axis", 7), rlo_attribute_f64("value", 0.5),
                                 rlo_attribute_i64("flag", true),
                                 rlo_attribute_string("mode", "reflect"),
                                 rlo_attribute_i64s("dims", DIMS(4, 5), 2)};
  const rlo_attributes attributes = {items, COUNT(items)};
  rlo_attributes *clone = NULL;
  expect_ok(rlo_attributes_clone(&attributes, &clone));
  int64_t integer = 0;
  double number = 0;
  const char *text = NULL;
  rlo_i64_list list;
  expect_ok(rlo_attributes_get_i64(clone, "axis", &integer));
  ck_assert_int_eq(integer, 7);
  expect_ok(rlo_attributes_get_f64(clone, "axis", &number));
  ck_assert_double_eq(number, 7.0);
  expect_ok(rlo_attributes_get_f64(clone, "value", &number));
  ck_assert_double_eq(number, 0.5);
  expect_ok(rlo_attributes_get_i64(clone, "flag", &integer));
  ck_assert_int_eq(integer, 1);
  expect_ok(rlo_attributes_get_string(clone, "mode", &text));
  ck_assert_str_eq(text, "reflect");
  expect_ok(rlo_attributes_get_i64s(clone, "dims", &list));
  ck_assert_int_eq(list.count, 2);
  ck_assert_int_eq(list.values[1], 5);
  expect_refusal(rlo_attributes_get_i64(clone, "mode", &integer), RLO_INVALID_ARGUMENT,
                 "attribute 'mode' is a string, not an integer");
  expect_refusal(rlo_attributes_get_i64(clone, "shape", &integer), RLO_NOT_FOUND,
                 "attribute 'shape' is missing");
  rlo_attributes_release(clone);
}

RLO_TEST(test_engine_calls__wrong_inputs) {
  rlo_engine *other = NULL;
  rlo_tensor *x = count_up(DIMS(2, 3), 2);
  rlo_tensor *ys[2] = {NULL};
  rlo_tensor *const two[] = {x, x};
  rlo_tensor *const none[] = {NULL};
  expect_ok(rlo_engine_create(NULL, &other));
  expect_refusal(rlo_run_kernel(engine, "Identity", two, 2, NULL, ys, 1, NULL),
                 RLO_INVALID_ARGUMENT, "kernel 'Identity' has 2 inputs; it takes 1: 'x'");
  expect_refusal(rlo_run_kernel(engine, "Pack", two, 0, NULL, ys, 1, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'Pack' has 0 inputs; it takes at least 1: 'inputs' "
                 "(any number)");
  expect_refusal(rlo_run_kernel(engine, "Identity", none, 1, NULL, ys, 1, NULL),
                 RLO_INVALID_ARGUMENT, "kernel 'Identity': input 'x' is NULL");
  expect_refusal(rlo_run_kernel(other, "Identity", two, 1, NULL, ys, 1, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'Identity': input 'x' is of another engine");
  expect_refusal(rlo_run_kernel(engine, NULL, two, 1, NULL, ys, 1, NULL), RLO_INVALID_ARGUMENT,
                 "'kernel_name' is NULL");
  /* The call has as many results as there is room for. */
  int32_t count = 0;
  expect_refusal(rlo_run_kernel(engine, "Unpack", two, 1, NULL, ys, 1, &count), RLO_OUT_OF_RANGE,
                 "kernel 'Unpack' has 2 results; there is room for 1");
  ck_assert_int_eq(count, 2);
  ck_assert_ptr_null(ys[0]);
  expect_refusal(rlo_run_kernel(engine, "Identity", two, 1, NULL, ys, 2, NULL),
                 RLO_INVALID_ARGUMENT,
                 "kernel 'Identity' has 1 results, not 2, and there is no "
                 "place for that number");
  rlo_engine_release(other);
  rlo_tensor_release(x);
}
