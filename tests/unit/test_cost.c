/* SPDX-License-Identifier: Apache-2.0 */

#include "relayout/xla/shape_util.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

#define D RLO_COST_DIMENSIONS
#define A RLO_COST_ADDED
#define T RLO_COST_TAIL

static const struct {
  const char *shape;
  int64_t elements, slots;
  int32_t num_parts;
  rlo_cost_part parts[4];
} costs[] = {
    {"f32[]", 1, 1, 0, {{D, 0, 0, 0}}},
    {"f32[2,3]", 6, 6, 2, {{D, 1, 2, 2}, {D, 2, 3, 3}}},
    {"f32[2,3]{0,1:pad(3,5)}", 6, 15, 2, {{D, 2, 3, 5}, {D, 1, 2, 3}}},
    {"f32[2,3]{1,0:pad(2,4)}", 6, 8, 2, {{D, 2, 3, 4}, {D, 1, 2, 2}}},
    {"bf16[4,2]{1,0:T(8,128)(2,1)}", 8, 1024, 2, {{D, 2, 2, 128}, {D, 1, 4, 8}}},
    {"f32[3]{0:T(8,128)}", 3, 1024, 2, {{D, 1, 3, 128}, {A, 0, 1, 8}}},
    {"f32[]{:T(8)}", 1, 8, 1, {{A, 0, 1, 8}}},
    /* Merged dimensions are one part, also with what lies before them. */
    {"f32[2,3]{1,0:T(*,8)}", 6, 8, 1, {{D, 3, 6, 8}}},
    {"f32[5,2,3]{2,1,0:T(*,4)}", 30, 40, 2, {{D, 6, 6, 8}, {D, 1, 5, 5}}},
    {"f32[2,3]{1,0:T(*,8)pad(2,4)}", 6, 8, 1, {{D, 3, 6, 8}}},
    /* A tile that does not divide the one before wastes inside of it. */
    {"f32[10]{0:T(8)(3)}", 10, 18, 1, {{D, 1, 10, 18}}},
    {"f32[3,3]{1,0:L(16)}", 9, 16, 3, {{T, 0, 9, 16}, {D, 1, 3, 3}, {D, 2, 3, 3}}},
    {"f32[9]{0:T(4)L(4)}", 9, 12, 2, {{D, 1, 9, 12}, {T, 0, 12, 12}}},
    {"f32[0,3]{1,0:pad(2,4)}", 0, 8, 2, {{D, 1, 0, 2}, {D, 2, 3, 4}}},
    {"f32[0,3]{1,0:T(8,128)}", 0, 0, 2, {{D, 2, 3, 128}, {D, 1, 0, 0}}},
    {"f32[2,3]{:strides(8,1)}", 6, 11, 0, {{D, 0, 0, 0}}},
    {"u1[1,2147483647,1073741823]{2,1,0:E(1)pad(1,2147483648,1073741824)}",
     2305843005992468481,
     2305843009213693952,
     3,
     {{D, 4, 1073741823, 1073741824}, {D, 2, 2147483647, 2147483648}, {D, 1, 1, 1}}},
};

RLO_TIMEOUT(120);

RLO_TABLE_TEST(test_cost__names_each_part, costs) {
  rlo_shape shape = test_shape_of(costs[_i].shape);
  rlo_shape_cost cost;
  ck_assert_int_eq(rlo_shape_predict_cost(&shape, &cost), RLO_OK);
  ck_assert_int_eq(cost.elements, costs[_i].elements);
  ck_assert_int_eq(cost.slots, costs[_i].slots);
  ck_assert_int_eq(cost.num_parts, costs[_i].num_parts);
  for (int32_t i = 0; i < cost.num_parts && i < 4; ++i) {
    const rlo_cost_part *expected = &costs[_i].parts[i];
    ck_assert_int_eq(cost.parts[i].kind, expected->kind);
    ck_assert_uint_eq(cost.parts[i].dimensions, expected->dimensions);
    ck_assert_int_eq(cost.parts[i].elements, expected->elements);
    ck_assert_int_eq(cost.parts[i].slots, expected->slots);
  }
}

RLO_TEST(test_cost__multiplies_to_the_whole) {
  test_random random = test_random_begin("test_cost");
  int with_waste = 0;
  for (int round = 0; round < 5000; ++round) {
    int64_t dims[5];
    int32_t rank = (int32_t)test_random_in(&random, 0, 5);
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 7);
    }
    rlo_shape shape = test_random_shape(&random, RLO_DTYPE_U8, dims, rank,
                                        TEST_PAD | TEST_TILE | TEST_COMBINE | TEST_TAIL);
    rlo_shape_cost cost;
    ck_assert_int_eq(rlo_shape_predict_cost(&shape, &cost), RLO_OK);
    int64_t elements = 1;
    int64_t slots = 1;
    int64_t tail_elements = 1;
    int64_t tail_slots = 1;
    uint32_t seen = 0;
    for (int32_t i = 0; i < cost.num_parts; ++i) {
      const rlo_cost_part *part = &cost.parts[i];
      if (i > 0) {
        const rlo_cost_part *before = &cost.parts[i - 1];
        ck_assert(before->slots * part->elements >= part->slots * before->elements);
      }
      ck_assert_uint_eq(seen & part->dimensions, 0);
      seen |= part->dimensions;
      if (part->kind == RLO_COST_TAIL) {
        tail_elements = part->elements;
        tail_slots = part->slots;
      } else {
        elements *= part->elements;
        slots *= part->slots;
      }
    }
    ck_assert_uint_eq(seen, (UINT32_C(1) << rank) - 1);
    ck_assert_int_eq(elements, cost.elements);
    ck_assert_int_eq(slots, tail_slots == 1 ? cost.slots : tail_elements);
    ck_assert(tail_slots == 1 || tail_slots == cost.slots);
    with_waste += cost.slots > cost.elements;
  }
  ck_assert_int_gt(with_waste, 1000);
}

RLO_TEST(test_cost__refuses_what_has_no_size) {
  rlo_shape shape = test_shape_of("f32[?,2]");
  rlo_shape_cost cost;
  ck_assert_int_eq(rlo_shape_predict_cost(&shape, &cost), RLO_UNSUPPORTED);
  rlo_shape empty = test_shape_of("f32[0,9223372036854775807]{1,0:T(8)}");
  ck_assert_int_eq(rlo_shape_predict_cost(&empty, &cost), RLO_OVERFLOW);
  empty = test_shape_of("f32[9223372036854775807,2,0]{1,0,2:T(*,*,1)}");
  ck_assert_int_eq(rlo_shape_predict_cost(&empty, &cost), RLO_OVERFLOW);
}
