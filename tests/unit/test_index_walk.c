/* SPDX-License-Identifier: Apache-2.0 */

#include "relayout/index.h"
#include "support/shape_of.h"
#include "support/suite.h"

RLO_TEST(test_index_walk__compares_in_row_major_order) {
  static const int64_t a[] = {1, 2, 3};
  static const int64_t b[] = {1, 3, 0};
  ck_assert_int_eq(rlo_index_compare(a, b, 3), -1);
  ck_assert_int_eq(rlo_index_compare(b, a, 3), 1);
  ck_assert_int_eq(rlo_index_compare(a, a, 3), 0);
  ck_assert_int_eq(rlo_index_compare(a, b, 1), 0);
  ck_assert_int_eq(rlo_index_compare(NULL, NULL, 0), 0);
}

/* The visits of a walk, its first few indices of rank 2, and where it stops. */
typedef struct record {
  int64_t visits;
  int64_t stop_after;
  rlo_status answer;
  int64_t seen[8][2];
} record;

static rlo_status note(const int64_t *index, bool *go_on, void *payload) {
  record *r = payload;
  ck_assert(*go_on);
  if (r->visits < 8) {
    r->seen[r->visits][0] = index[0];
    r->seen[r->visits][1] = index[1];
  }
  ++r->visits;
  if (r->visits == r->stop_after) {
    *go_on = false;
    return r->answer;
  }
  return RLO_OK;
}

static const struct {
  const char *shape;
  int64_t visits;
} walks[] = {
    {"f32[]", 1},    {"f32[0]", 0},          {"f32[16]", 16},          {"f32[4,16]", 64},
    {"f32[4,0]", 0}, {"f32[6,11,17]", 1122}, {"f32[6,11,5,17]", 5610},
};

RLO_TABLE_TEST(test_index_walk__visits_every_element, walks) {
  rlo_shape shape = test_shape_of(walks[_i].shape);
  record r = {0};
  ck_assert_int_eq(rlo_shape_for_each_index(&shape, NULL, NULL, NULL, note, &r), RLO_OK);
  ck_assert_int_eq(r.visits, walks[_i].visits);
}

RLO_TEST(test_index_walk__takes_steps) {
  rlo_shape shape = test_shape_of("f32[6,8]");
  record r = {0};
  ck_assert_int_eq(rlo_shape_for_each_index(&shape, (int64_t[]){2, 3}, (int64_t[]){3, 1},
                                            (int64_t[]){2, 1}, note, &r),
                   RLO_OK);
  ck_assert_int_eq(r.visits, 2);
  ck_assert_int_eq(r.seen[0][0], 2);
  ck_assert_int_eq(r.seen[0][1], 3);
  ck_assert_int_eq(r.seen[1][0], 4);
  ck_assert_int_eq(r.seen[1][1], 3);
}

RLO_TEST(test_index_walk__follows_the_layout) {
  static const char *const texts[] = {"f32[2,3]{0,1}", "f32[2,3]{:strides(-1,2)offset(1)}"};
  for (size_t i = 0; i < 2; ++i) {
    rlo_shape shape = test_shape_of(texts[i]);
    record r = {0};
    ck_assert_int_eq(rlo_shape_for_each_index(&shape, NULL, NULL, NULL, note, &r), RLO_OK);
    ck_assert_int_eq(r.visits, 6);
    ck_assert_int_eq(r.seen[1][0], 1);
    ck_assert_int_eq(r.seen[1][1], 0);
    ck_assert_int_eq(r.seen[2][0], 0);
    ck_assert_int_eq(r.seen[2][1], 1);
  }
}

RLO_TEST(test_index_walk__pins_a_dimension) {
  rlo_shape shape = test_shape_of("f32[6,8]");
  record r = {0};
  ck_assert_int_eq(rlo_shape_for_each_index(&shape, (int64_t[]){5, 0}, (int64_t[]){0, 8},
                                            (int64_t[]){0, 3}, note, &r),
                   RLO_OK);
  ck_assert_int_eq(r.visits, 3);
  ck_assert_int_eq(r.seen[2][0], 5);
  ck_assert_int_eq(r.seen[2][1], 6);
  record none = {0};
  ck_assert_int_eq(rlo_shape_for_each_index(&shape, NULL, (int64_t[]){0, 8}, NULL, note, &none),
                   RLO_OK);
  ck_assert_int_eq(none.visits, 0);
}

RLO_TEST(test_index_walk__stops_when_told) {
  rlo_shape shape = test_shape_of("f32[6,8]");
  record r = {.stop_after = 3, .answer = RLO_OK};
  ck_assert_int_eq(rlo_shape_for_each_index(&shape, NULL, NULL, NULL, note, &r), RLO_OK);
  ck_assert_int_eq(r.visits, 3);
  record failing = {.stop_after = 2, .answer = RLO_CANCELLED};
  ck_assert_int_eq(rlo_shape_for_each_index(&shape, NULL, NULL, NULL, note, &failing),
                   RLO_CANCELLED);
  ck_assert_int_eq(failing.visits, 2);
}

static const struct {
  int64_t base, count, step;
  rlo_status status;
} refused[] = {
    {-1, 2, 1, RLO_INVALID_ARGUMENT},    {0, -1, 1, RLO_INVALID_ARGUMENT},
    {0, 2, -1, RLO_INVALID_ARGUMENT},    {0, 2, 0, RLO_INVALID_ARGUMENT},
    {5, 2, 1, RLO_OUT_OF_RANGE},         {6, 0, 0, RLO_OUT_OF_RANGE},
    {1, INT64_MAX, 1, RLO_OUT_OF_RANGE}, {5, 2, 2, RLO_OK},
    {0, INT64_MAX, INT64_MAX, RLO_OK},
};

RLO_TABLE_TEST(test_index_walk__checks_before_it_visits, refused) {
  rlo_shape shape = test_shape_of("f32[6,8]");
  record r = {0};
  ck_assert_int_eq(rlo_shape_for_each_index(&shape, (int64_t[]){refused[_i].base, 0},
                                            (int64_t[]){refused[_i].count, 1},
                                            (int64_t[]){refused[_i].step, 1}, note, &r),
                   refused[_i].status);
  ck_assert_int_eq(r.visits, refused[_i].status == RLO_OK ? 1 : 0);
}
