/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/xla/bitcast.h"
#include "relayout/xla/shape_util.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

static const struct {
  const char *shape;
  int32_t permutation[5];
  const char *result;
} permuted[] = {
    /* XLA's ReorderLogicalDimensions. */
    {"f32[16,3,12,17]{1,2,0,3}", {0, 2, 1, 3}, "f32[16,12,3,17]{2,1,0,3}"},
    {"f32[10,20,30]{2,1,0}", {1, 2, 0}, "f32[20,30,10]{1,0,2}"},
    {"f32[2,3]{0,1:pad(3,5)fill(zero)}", {1, 0}, "f32[3,2]{1,0:pad(5,3)fill(zero)}"},
    {"s4[2,3,4]{1,2,0:T(8,128)L(4)E(4)S(1)}", {2, 0, 1}, "s4[4,2,3]{2,0,1:T(8,128)L(4)E(4)S(1)}"},
    {"f32[2,3]{:strides(8,1)offset(3)}", {1, 0}, "f32[3,2]{:strides(1,8)offset(3)}"},
};

RLO_TABLE_TEST(test_shape_edit__permutes_dims, permuted) {
  rlo_shape shape = test_shape_of(permuted[_i].shape);
  ck_assert_int_eq(rlo_shape_permute_dims(&shape, permuted[_i].permutation, &shape), RLO_OK);
  test_expect_shape(&shape, permuted[_i].result);
}

RLO_TEST(test_shape_edit__permutes_dims_ignoring_the_layout) {
  rlo_shape shape = test_shape_of("f32[2,3,4]{0,2,1:pad(2,3,8)}");
  rlo_shape result;
  static const int32_t permutation[] = {1, 2, 0};
  ck_assert_int_eq(rlo_shape_permute_dims_ignoring_layout(&shape, permutation, &result), RLO_OK);
  test_expect_shape(&result, "f32[3,4,2]{0,2,1:pad(3,8,2)}");
  shape = test_shape_of("f32[2,3]{:strides(8,1)}");
  ck_assert_int_eq(rlo_shape_permute_dims_ignoring_layout(&shape, (int32_t[]){1, 0}, &result),
                   RLO_UNSUPPORTED);
}

RLO_TEST(test_shape_edit__dynamic_flags_go_with_their_dim) {
  rlo_shape shape = test_shape_of("f32[2,3,4]");
  shape.is_dynamic[1] = true;
  ck_assert_int_eq(rlo_shape_permute_dims(&shape, (int32_t[]){1, 2, 0}, &shape), RLO_OK);
  ck_assert(shape.is_dynamic[0] && !shape.is_dynamic[1] && !shape.is_dynamic[2]);
  ck_assert_int_eq(rlo_shape_prepend_major_dim(&shape, 7, &shape), RLO_OK);
  ck_assert(!shape.is_dynamic[0] && shape.is_dynamic[1]);
  ck_assert_int_eq(rlo_shape_delete_dims(&shape, (int32_t[]){0}, 1, &shape), RLO_OK);
  ck_assert(shape.is_dynamic[0]);
  /* An unbounded dimension is edited too. */
  shape.dims[0] = RLO_DIM_UNBOUNDED;
  ck_assert_int_eq(rlo_shape_permute_dims(&shape, (int32_t[]){2, 1, 0}, &shape), RLO_OK);
  ck_assert(shape.is_dynamic[2] && shape.dims[2] == RLO_DIM_UNBOUNDED);
  ck_assert_int_eq(rlo_shape_append_minor_dim(&shape, 1, &shape), RLO_OK);
  ck_assert_int_eq(rlo_shape_drop_degenerate_dims(&shape, &shape), RLO_OK);
  ck_assert_int_eq(shape.rank, 3);
}

static const struct {
  const char *shape, *result;
  int32_t permutation[5];
} descending[] = {
    {"f32[128,24,4,48,48]{2,4,3,1,0}", "f32[128,24,48,48,4]", {0, 1, 3, 4, 2}},
    {"f32[2,3,5,7]{0,3,2,1}", "f32[3,5,7,2]", {1, 2, 3, 0}},
    {"s4[2,3,5]{0,2,1:T(2,128)L(8)E(4)S(3)}", "s4[3,5,2]{2,1,0:T(2,128)L(8)E(4)S(3)}", {1, 2, 0}},
    {"f32[2,3]{0,1:pad(4,5)fill(one)}", "f32[3,2]{1,0:pad(5,4)fill(one)}", {1, 0}},
    {"f32[2,3,4]{:strides(1,-20,4)offset(40)}",
     "f32[3,4,2]{:strides(-20,4,1)offset(40)}",
     {1, 2, 0}},
    {"f32[]", "f32[]", {0}},
};

RLO_TABLE_TEST(test_shape_edit__makes_descending, descending) {
  rlo_shape shape = test_shape_of(descending[_i].shape);
  rlo_shape result;
  int32_t permutation[RLO_MAX_RANK];
  bool is_bitcast;
  ck_assert_int_eq(
      rlo_shape_make_descending_with_same_physical_layout(&shape, &result, permutation), RLO_OK);
  test_expect_shape(&result, descending[_i].result);
  ck_assert_mem_eq(permutation, descending[_i].permutation,
                   (size_t)shape.rank * sizeof permutation[0]);
  ck_assert_int_eq(rlo_shape_transpose_is_bitcast(&shape, &result, permutation, 0, &is_bitcast),
                   RLO_OK);
  ck_assert(is_bitcast);
  ck_assert_int_eq(rlo_shape_make_descending_with_same_physical_layout(&shape, &shape, NULL),
                   RLO_OK);
  test_expect_shape(&shape, descending[_i].result);
}

RLO_TEST(test_shape_edit__inserts_dims) {
  rlo_shape shape = test_shape_of("f32[10,20,30]{0,2,1}");
  rlo_shape result;
  ck_assert_int_eq(rlo_shape_prepend_major_dim(&shape, 40, &result), RLO_OK);
  test_expect_shape(&result, "f32[40,10,20,30]{1,3,2,0}");
  ck_assert_int_eq(rlo_shape_append_major_dim(&shape, 40, &result), RLO_OK);
  test_expect_shape(&result, "f32[10,20,30,40]{0,2,1,3}");
  ck_assert_int_eq(rlo_shape_append_minor_dim(&shape, 40, &result), RLO_OK);
  test_expect_shape(&result, "f32[10,20,30,40]{3,0,2,1}");
  ck_assert_int_eq(rlo_shape_insert_dims(&shape, 1, (int64_t[]){40}, 1, &result), RLO_OK);
  test_expect_shape(&result, "f32[10,40,20,30]{0,3,2,1}");
  ck_assert_int_eq(rlo_shape_insert_dims(&shape, 1, (int64_t[]){40, 50}, 2, &result), RLO_OK);
  test_expect_shape(&result, "f32[10,40,50,20,30]{0,4,3,2,1}");
  ck_assert_int_eq(rlo_shape_insert_dims(&shape, 3, NULL, 0, &result), RLO_OK);
  test_expect_shape(&result, "f32[10,20,30]{0,2,1}");

  shape = test_shape_of("f32[2,3]{0,1:T(2,2)pad(4,5)fill(zero)}");
  ck_assert_int_eq(rlo_shape_append_major_dim(&shape, 6, &result), RLO_OK);
  test_expect_shape(&result, "f32[2,3,6]{0,1,2:T(2,2)pad(4,5,6)fill(zero)}");
}

RLO_TEST(test_shape_edit__inserts_only_where_there_is_room) {
  rlo_shape shape = test_shape_of("f32[10,20]{:strides(1,10)}");
  rlo_shape result;
  int64_t many[RLO_MAX_RANK] = {0};
  ck_assert_int_eq(rlo_shape_insert_dims(&shape, 1, (int64_t[]){1}, 1, &result), RLO_OK);
  test_expect_shape(&result, "f32[10,1,20]{:strides(1,0,10)}");
  ck_assert_int_eq(rlo_shape_append_minor_dim(&shape, 2, &result), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_shape_insert_dims(&shape, 3, (int64_t[]){1}, 1, &result), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_shape_insert_dims(&shape, 0, many, RLO_MAX_RANK, &result), RLO_UNSUPPORTED);
  shape = test_shape_of("f32[10,20]");
  ck_assert_int_eq(rlo_shape_append_major_dim(&shape, -1, &result), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_append_major_dim(&shape, INT64_MAX, &result), RLO_OVERFLOW);
}

RLO_TEST(test_shape_edit__deletes_dims) {
  rlo_shape shape = test_shape_of("f32[5,3,2]{2,0,1}");
  rlo_shape result;
  ck_assert_int_eq(rlo_shape_delete_dims(&shape, (int32_t[]){1}, 1, &result), RLO_OK);
  test_expect_shape(&result, "f32[5,2]{1,0}");
  shape = test_shape_of("f32[5,3,2,7,9]{2,0,1,4,3}");
  ck_assert_int_eq(rlo_shape_delete_dims(&shape, (int32_t[]){1, 2, 3}, 3, &result), RLO_OK);
  test_expect_shape(&result, "f32[5,9]{0,1}");
  bool keep[] = {true, false, false, false, true};
  ck_assert_int_eq(rlo_shape_filter_dims(&shape, keep, &result), RLO_OK);
  test_expect_shape(&result, "f32[5,9]{0,1}");
  ck_assert_int_eq(rlo_shape_delete_dims(&shape, (int32_t[]){5}, 1, &result), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_shape_delete_dims(&shape, (int32_t[]){1, 1}, 2, &result),
                   RLO_INVALID_ARGUMENT);
  shape = test_shape_of("f32[5,300,2]{2,1,0:T(8,128)pad(5,304,4)fill(zero)}");
  ck_assert_int_eq(rlo_shape_delete_dims(&shape, (int32_t[]){1}, 1, &result), RLO_OK);
  test_expect_shape(&result, "f32[5,2]{1,0:T(128)pad(5,4)fill(zero)}");
}

static const struct {
  const char *shape, *result;
} dropped[] = {
    {"f32[1,3,1,4,1]", "f32[3,4]"},
    {"f32[1,3,1,4]{1,3,0,2}", "f32[3,4]{0,1}"},
    {"f32[1,1]", "f32[]"},
    {"f32[2,3]", "f32[2,3]"},
    {"f32[1,5,3]{:strides(7,-3,1)offset(12)}", "f32[5,3]{:strides(-3,1)offset(12)}"},
    /* Entries of 1 go with their dimension. */
    {"f32[4,1,300]{2,1,0:T(1,128)}", "f32[4,300]{1,0:T(128)}"},
    {"bf16[4,1,300]{2,1,0:T(1,128)(2,1)}", NULL},
    /* A tile that is longer than the rank puts the dimension back. */
    {"f32[1,300]{1,0:T(8,128)fill(zero)}", "f32[300]{0:T(8,128)fill(zero)}"},
    {"f32[1,1]{1,0:T(8,128)}", "f32[]{:T(8,128)}"},
    /* Elsewhere the rest of the tile stays, as room behind the rows. */
    {"f32[4,1,300]{2,1,0:T(8,128)}", "f32[4,300]{1,0:T(128)(1024)}"},
    {"f32[4,5,1]{2,1,0:T(8,128)}", "f32[4,5]{1,0:T(8)(1)(128)}"},
    {"f32[4,1,6]{2,1,0:pad(4,2,6)}", "f32[4,6]{1,0:T(12)pad(4,6)}"},
};

RLO_TABLE_TEST(test_shape_edit__drops_degenerate_dims, dropped) {
  rlo_shape shape = test_shape_of(dropped[_i].shape);
  rlo_shape result = shape;
  rlo_shape_extent before;
  rlo_shape_extent after;
  bool is_bitcast;
  ck_assert_int_eq(rlo_shape_has_degenerate_dims(&shape),
                   strcmp(dropped[_i].shape, "f32[2,3]") != 0);
  ck_assert_msg(rlo_shape_drop_degenerate_dims(&shape, &result) == RLO_OK, "%s",
                rlo_error_last()->message);
  if (dropped[_i].result != NULL) {
    test_expect_shape(&result, dropped[_i].result);
  }
  ck_assert(!rlo_shape_has_degenerate_dims(&result));
  ck_assert_int_eq(rlo_shape_measure(&shape, &before), RLO_OK);
  ck_assert_int_eq(rlo_shape_measure(&result, &after), RLO_OK);
  ck_assert_int_eq(before.slots, after.slots);
  ck_assert_int_eq(rlo_shape_reshape_is_bitcast(&shape, &result, 0, &is_bitcast), RLO_OK);
  ck_assert(is_bitcast);
}

/* Whatever the tiles: in place, or refused, and rarely that. */
RLO_TEST(test_shape_edit__dropping_never_moves_a_byte) {
  enum { RUNS = 4000 };

  test_random random = test_random_begin("shape_edit");
  int refused = 0;
  for (int run = 0; run < RUNS; ++run) {
    int32_t rank = (int32_t)test_random_in(&random, 1, 5);
    int64_t dims[RLO_MAX_RANK];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_once_in(&random, 2) ? 1 : test_random_in(&random, 1, 9);
    }
    rlo_shape shape = test_random_shape(&random, RLO_DTYPE_F32, dims, rank, TEST_ALL);
    rlo_shape result;
    rlo_status status = rlo_shape_drop_degenerate_dims(&shape, &result);
    ck_assert(status == RLO_OK || status == RLO_UNSUPPORTED);
    if (status != RLO_OK) {
      ++refused;
      continue;
    }
    bool is_bitcast;
    rlo_shape_extent before;
    rlo_shape_extent after;
    ck_assert_int_eq(rlo_shape_measure(&shape, &before), RLO_OK);
    ck_assert_int_eq(rlo_shape_measure(&result, &after), RLO_OK);
    ck_assert_int_eq(before.slots, after.slots);
    ck_assert_int_eq(rlo_shape_reshape_is_bitcast(&shape, &result, 0, &is_bitcast), RLO_OK);
    ck_assert(is_bitcast);
  }
  ck_assert_int_lt(refused, RUNS / 20);
}

/* XLA's drops the tiles and the memory space. */
RLO_TEST(test_shape_edit__moves_dims) {
  rlo_shape shape = test_shape_of("f32[4,5,6]{2,1,0:T(2,2)S(1)}");
  rlo_shape result;
  ck_assert_int_eq(rlo_shape_move_dim_to_major(&shape, 1, &result), RLO_OK);
  test_expect_shape(&result, "f32[4,5,6]{2,0,1:T(2,2)S(1)}");
  ck_assert_int_eq(rlo_shape_move_dim_to_minor(&shape, 0, &result), RLO_OK);
  test_expect_shape(&result, "f32[4,5,6]{0,2,1:T(2,2)S(1)}");
  ck_assert_int_eq(rlo_shape_move_dim_to_major(&shape, 3, &result), RLO_OUT_OF_RANGE);
  shape = test_shape_of("f32[4,5]{:strides(5,1)}");
  ck_assert_int_eq(rlo_shape_move_dim_to_major(&shape, 1, &result), RLO_UNSUPPORTED);
}

RLO_TEST(test_shape_edit__failure_leaves_the_result_alone) {
  rlo_shape shape = test_shape_of("f32[4,5]");
  rlo_shape result = test_shape_of("s8[7]");
  ck_assert_int_eq(rlo_shape_permute_dims(&shape, (int32_t[]){1, 1}, &result),
                   RLO_INVALID_ARGUMENT);
  shape.dtype = RLO_DTYPE_INVALID;
  ck_assert_int_eq(rlo_shape_permute_dims(&shape, (int32_t[]){1, 0}, &result),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_drop_degenerate_dims(&shape, &result), RLO_INVALID_ARGUMENT);
  test_expect_shape(&result, "s8[7]");
}

RLO_TEST(test_shape_edit__refuses_no_dims) {
  rlo_shape shape = test_shape_of("f32[4,5]");
  rlo_shape result;
  expect_refusal(rlo_shape_insert_dims(&shape, 0, (int64_t[]){1}, -1, &result),
                 RLO_INVALID_ARGUMENT, "-1 new dimensions");
  expect_refusal(rlo_shape_insert_dims(&shape, 0, NULL, 1, &result), RLO_INVALID_ARGUMENT,
                 "'sizes' is NULL, but its length is 1");
}

/* A split names its dimension by physical position, which edits change. */
RLO_TEST(test_shape_edit__splits_follow_their_dimension) {
  rlo_shape shape = test_shape_of("f32[4,5]{1,0:SC(1:2)}");
  rlo_shape result;
  expect_ok(rlo_shape_prepend_major_dim(&shape, 3, &result));
  test_expect_shape(&result, "f32[3,4,5]{2,1,0:SC(2:2)}");
  expect_ok(rlo_shape_append_minor_dim(&shape, 3, &result));
  test_expect_shape(&result, "f32[4,5,3]{2,1,0:SC(1:2)}");
}
