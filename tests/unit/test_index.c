/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/index.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Single elements: XLA's own vectors, and those derived from its formula. */
static const struct {
  const char *shape;
  int64_t index[7];
  int64_t slot;
} elements[] = {
    /* IndexUtil's tests. */
    {"f32[100]{0}", {42}, 42},
    {"f32[10,20]{0,1}", {0, 0}, 0},
    {"f32[10,20]{0,1}", {9, 19}, 199},
    {"f32[10,20]{0,1}", {3, 5}, 53},
    {"f32[10,20]{1,0}", {0, 0}, 0},
    {"f32[10,20]{1,0}", {9, 19}, 199},
    {"f32[10,20]{1,0}", {3, 5}, 65},
    {"f32[10,20,30]{2,1,0}", {3, 5, 7}, 1957},
    {"f32[10,20,30]{2,1,0}", {8, 15, 27}, 5277},
    {"f32[10,20,30]{1,2,0}", {3, 5, 7}, 1945},
    {"f32[10,20,30]{1,2,0}", {8, 15, 27}, 5355},
    {"f32[10,20,30,40]{3,2,1,0}", {3, 5, 7, 9}, 78289},
    {"f32[10,20,30,40]{3,2,1,0}", {8, 15, 27, 33}, 211113},
    {"f32[5,8,10,4]{3,2,1,0}", {0, 1, 0, 0}, 40},
    /* Tiles. */
    {"f32[3,5]{1,0:T(2,2)}", {2, 3}, 17},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {0}, 0},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {128}, 1},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {1}, 2},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {127}, 254},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {129}, 3},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {255}, 255},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {256}, 256},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {1023}, 1023},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", {1024}, 1024},
    {"bf16[2,8,128]{2,1,0:T(8,128)(2,1)}", {0, 0, 0}, 0},
    {"bf16[2,8,128]{2,1,0:T(8,128)(2,1)}", {0, 2, 0}, 256},
    {"f32[8,4]{1,0:T(2,2)}", {3, 1}, 11},
    {"f32[8,4]{1,0}", {3, 1}, 13},
    {"f32[8]{0:T(2,2)}", {5}, 9},
    {"f32[3]{0:T(8,128)}", {2}, 2},
    {"u32[]{:T(128)}", {0}, 0},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", {0, 0, 1, 0, 0}, 3},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", {0, 0, 0, 0, 3}, 6},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", {0, 0, 0, 1, 0}, 19},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", {1, 2, 3, 4, 5}, 8307},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", {1, 6, 7, 10, 9}, 12430},
    {"f32[32,256]{1,0:T(8,128)}", {0, 1}, 1},
    {"f32[32,256]{1,0:T(8,128)}", {1, 0}, 128},
    {"f32[32,256]{1,0:T(8,128)}", {3, 5}, 389},
    {"f32[32,256]{1,0:T(8,128)}", {8, 0}, 2048},
    {"f32[32,256]{1,0:T(8,128)}", {0, 128}, 1024},
    {"f32[32,256]{1,0:T(8,128)}", {31, 255}, 8191},
    {"f32[32,256]{1,0:T(8,128)(2,1)}", {0, 1}, 2},
    {"f32[32,256]{1,0:T(8,128)(2,1)}", {1, 0}, 1},
    {"f32[32,256]{1,0:T(8,128)(2,1)}", {3, 5}, 267},
    {"f32[32,256]{1,0:T(8,128)(2,1)}", {8, 0}, 2048},
    {"f32[32,256]{1,0:T(8,128)(2,1)}", {0, 128}, 1024},
    {"f32[32,256]{1,0:T(8,128)(2,1)}", {31, 255}, 8191},
    {"f32[6]{0:T(4)(2,2)}", {5}, 3},
    {"f32[2,3,4]{1,2,0:T(2,2)}", {1, 2, 3}, 30},
    /* nChw16c and a row pitch, as tiles. */
    {"f32[2,6,3,3]{3,2,1,0:T(4,1,1)}", {1, 5, 2, 1}, 137},
    {"f32[3,5]{1,0:T(8)}", {2, 3}, 19},
    /* Views. */
    {"f32[2,3]{:strides(8,1)offset(3)}", {1, 2}, 13},
    {"f32[2,3]{:strides(8,-1)offset(3)}", {1, 2}, 9},
    {"f32[2,3]{:strides(0,1)}", {1, 2}, 2},
    {"f32[]{:strides()offset(3)}", {0}, 3},
};

RLO_TIMEOUT(120);

RLO_TABLE_TEST(test_index__places_an_element, elements) {
  rlo_shape shape = test_shape_of(elements[_i].shape);
  int64_t index[RLO_MAX_RANK];
  bool is_element = false;

  ck_assert_int_eq(test_slot_of(&shape, elements[_i].index), elements[_i].slot);
  if (strstr(elements[_i].shape, "strides(0") != NULL) {
    return;
  }
  ck_assert_int_eq(rlo_index_from_linear(&shape, elements[_i].slot, index, &is_element), RLO_OK);
  ck_assert(is_element);
  for (int32_t k = 0; k < shape.rank; ++k) {
    ck_assert_int_eq(index[k], elements[_i].index[k]);
  }
}

/* Whole maps, the elements in logical row-major order. */
static const struct {
  const char *shape;
  int64_t count;
  int64_t slots[32];
  int64_t num_slots;
} maps[] = {
    {"f32[3,5]{1,0:T(2,2)}", 15, {0, 1, 4, 5, 8, 2, 3, 6, 7, 10, 12, 13, 16, 17, 20}, 24},
    {"f32[4,8]{1,0:T(2,4)(2,1)}",
     32,
     {0,  2,  4,  6,  8,  10, 12, 14, 1,  3,  5,  7,  9,  11, 13, 15,
      16, 18, 20, 22, 24, 26, 28, 30, 17, 19, 21, 23, 25, 27, 29, 31},
     32},
    {"f32[3,5]{0,1:T(2,2)}", 15, {0, 2, 8, 10, 16, 1, 3, 9, 11, 17, 4, 6, 12, 14, 20}, 24},
    /* The worked example of padding. */
    {"f32[2,3]{0,1:pad(3,5)fill(zero)}", 6, {0, 3, 6, 1, 4, 7}, 15},
    {"f32[2,3]{1,0:pad(3,5)fill(zero)}", 6, {0, 1, 2, 5, 6, 7}, 15},
    {"f32[2,3]{0,1}", 6, {0, 2, 4, 1, 3, 5}, 6},
    {"f32[2,3]{1,0}", 6, {0, 1, 2, 3, 4, 5}, 6},
    /* The tail changes no element. */
    {"f32[2,3]{0,1:L(16)}", 6, {0, 2, 4, 1, 3, 5}, 16},
    {"f32[2,3]{:strides(8,1)offset(3)}", 6, {3, 4, 5, 11, 12, 13}, 14},
    {"f32[2,3]{:strides(-1,2)offset(1)}", 6, {1, 3, 5, 0, 2, 4}, 6},
    {"f32[2,3]{:strides(0,1)}", 6, {0, 1, 2, 0, 1, 2}, 3},
};

RLO_TABLE_TEST(test_index__places_a_whole_array, maps) {
  rlo_shape shape = test_shape_of(maps[_i].shape);
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t count = 0;

  ck_assert_int_eq(test_slots_of(&shape), maps[_i].num_slots);
  do {
    ck_assert_int_lt(count, maps[_i].count);
    ck_assert_int_eq(test_slot_of(&shape, index), maps[_i].slots[count]);
    ++count;
  } while (rlo_index_bump(&shape, index));
  ck_assert_int_eq(count, maps[_i].count);
}

static const struct {
  const char *shape;
  int64_t slots;
} sizes[] = {
    {"f32[3,5]{1,0:T(2,2)}", 24},
    {"bf16[2048]{0:T(1024)(128)(2,1)}", 2048},
    {"bf16[2,8,128]{2,1,0:T(8,128)(2,1)}", 2048},
    {"f32[8,4]{1,0:T(2,2)}", 32},
    {"f32[8]{0:T(2,2)}", 16},
    {"f32[3]{0:T(8,128)}", 1024},
    {"u32[]{:T(128)}", 128},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", 12432},
    {"f32[112,110]{1,0:T(2,3)}", 12432},
    {"f32[32,256]{1,0:T(8,128)}", 8192},
    {"f32[32,256]{1,0:T(8,128)(2,1)}", 8192},
    {"f32[6]{0:T(4)(2,2)}", 8},
    {"f32[2,3,4]{1,2,0:T(2,2)}", 32},
    {"bf16[4,2]{1,0:T(8,128)(2,1)}", 1024},
    {"f32[2,6,3,3]{3,2,1,0:T(4,1,1)}", 144},
    {"f32[32,48,3,2]{3,2,1,0:T(16,1,1,1)(16,1,1,16,1,1,1)}", 9216},
    {"f32[3,5]{1,0:T(8)}", 24},
    {"f32[10,20]{1,0:pad(15,21)}", 315},
    {"f32[24,128]{1,0:T(8,128)}", 3072},
    {"f32[0]{0:T(8,128)L(64)}", 0},
    {"f32[3,5]{1,0:T(2,2)L(7)}", 28},
    {"f32[8388608,8,4]{2,1,0:T(8,128)}", INT64_C(8589934592)},
};

RLO_TABLE_TEST(test_index__counts_slots, sizes) {
  rlo_shape shape = test_shape_of(sizes[_i].shape);
  ck_assert_int_eq(test_slots_of(&shape), sizes[_i].slots);
}

/* Two spellings of one map. */
static const struct {
  const char *a;
  const char *b;
} equivalents[] = {
    {"f32[2,3]{1,0:pad(3,5)}", "f32[2,3]{1,0:T(3,5)}"},
    {"f32[2,3]{0,1:pad(3,5)}", "f32[2,3]{0,1:T(5,3)}"},
    {"f32[3,5]{1,0:T(8)}", "f32[3,5]{1,0:pad(3,8)}"},
    {"f32[4,256]{1,0:T(1,128)}", "f32[4,256]{1,0}"},
    {"f32[24,128]{1,0:T(8,128)}", "f32[24,128]{1,0}"},
    {"f32[4,6]{1,0:T(1,1)}", "f32[4,6]{1,0}"},
    {"f32[4,6]{1,0:T(*,2)}", "f32[4,6]{1,0}"},
    {"f32[3,4]{1,0}", "f32[3,4]{:strides(4,1)}"},
    {"f32[3,4]{0,1}", "f32[3,4]{:strides(1,3)}"},
};

RLO_TABLE_TEST(test_index__knows_equivalent_layouts, equivalents) {
  rlo_shape a = test_shape_of(equivalents[_i].a);
  rlo_shape b = test_shape_of(equivalents[_i].b);
  int64_t index[RLO_MAX_RANK] = {0};

  ck_assert_int_eq(test_slots_of(&a), test_slots_of(&b));
  do {
    ck_assert_int_eq(test_slot_of(&a, index), test_slot_of(&b, index));
  } while (rlo_index_bump(&a, index));
}

RLO_TEST(test_index__combines_like_a_reshape) {
  /* T(*,*,2,*,3) of [2,7,8,11,10] is T(2,3) of [112,110]. */
  rlo_shape a = test_shape_of("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}");
  rlo_shape b = test_shape_of("f32[112,110]{1,0:T(2,3)}");
  int64_t index[RLO_MAX_RANK] = {0};

  do {
    const int64_t reshaped[] = {(index[0] * 7 + index[1]) * 8 + index[2], index[3] * 10 + index[4]};
    ck_assert_int_eq(test_slot_of(&a, index), test_slot_of(&b, reshaped));
  } while (rlo_index_bump(&a, index));
}

RLO_TEST(test_index__round_trips_large_arrays) {
  static const char *const texts[] = {"u8[10,20,30,40,30,20,10]{6,5,4,3,2,1,0}",
                                      "u8[10,20,30,40,30,20,10]{0,1,2,3,4,5,6}",
                                      "u8[10,20,30,40,30,20,10]{4,5,1,2,6,0,3}"};
  static const int64_t slots[] = {0, 1439999999, 1145567336, 43883404, 617295214, 1117613654};

  for (size_t t = 0; t < sizeof texts / sizeof texts[0]; ++t) {
    rlo_shape shape = test_shape_of(texts[t]);
    for (size_t s = 0; s < sizeof slots / sizeof slots[0]; ++s) {
      int64_t index[7];
      bool is_element = false;
      ck_assert_int_eq(rlo_index_from_linear(&shape, slots[s], index, &is_element), RLO_OK);
      ck_assert(is_element);
      ck_assert(rlo_index_in_bounds(&shape, index));
      ck_assert_int_eq(test_slot_of(&shape, index), slots[s]);
    }
  }
}

static const char *const inverted[] = {
    "f32[2,3]{0,1:pad(3,5)}",
    "f32[3,5]{1,0:T(2,2)L(100)}",
    "f32[3,5]{0,1:T(2,2)pad(5,6)}",
    "f32[4,2]{1,0:T(8,16)(2,1)}",
    "f32[7]{0:T(4)(3)(2)}",
    "f32[2,3,5]{1,2,0:T(*,4)}",
    "f32[2,3,5]{2,1,0:T(*,*,7)(3)pad(3,3,6)}",
    "f32[3]{0:T(2,2)}",
    "f32[]{:T(4)L(3)}",
    "f32[]",
    "f32[2,3]{:strides(8,1)offset(3)}",
    "f32[2,3]{:strides(-8,2)offset(9)}",
    "f32[2,3]{:strides(-1,-2)offset(5)}",
    "f32[1,3]{:strides(0,4)}",
    "f32[3,1,2]{:strides(5,-9,-2)offset(2)}",
    "f32[]{:strides()offset(3)}",
};

RLO_TABLE_TEST(test_index__inverts_the_whole_memory, inverted) {
  rlo_shape shape = test_shape_of(inverted[_i]);
  int64_t num_slots = test_slots_of(&shape);
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t owners[256];
  int64_t elements_found = 0;
  int64_t elements_there = 0;

  /* The owner of each slot, by the number of the element, found forwards. */
  ck_assert_int_le(num_slots, 256);
  for (int64_t slot = 0; slot < num_slots; ++slot) {
    owners[slot] = -1;
  }
  do {
    int64_t slot = test_slot_of(&shape, index);
    ck_assert_int_ge(slot, 0);
    ck_assert_int_lt(slot, num_slots);
    ck_assert_int_eq(owners[slot], -1);
    owners[slot] = elements_there++;
  } while (rlo_index_bump(&shape, index));

  for (int64_t slot = 0; slot < num_slots; ++slot) {
    bool is_element;
    for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
      index[k] = -7;
    }
    ck_assert_int_eq(rlo_index_from_linear(&shape, slot, index, &is_element), RLO_OK);
    ck_assert_int_eq(is_element, owners[slot] >= 0);
    int64_t number = 0;
    for (int32_t k = 0; k < shape.rank; ++k) {
      number = number * shape.dims[k] + index[k];
      if (!is_element) {
        ck_assert_int_eq(index[k], -7);
      }
    }
    if (is_element) {
      ck_assert_int_eq(number, owners[slot]);
      ++elements_found;
    }
  }
  ck_assert_int_eq(elements_found, elements_there);
}

/* Tile 0 splits twice, tile 1 combines and splits once. */
RLO_TEST(test_index__steps_name_their_tile) {
  rlo_shape shape = test_shape_of("f32[16,256]{1,0:T(8,128)(*,4)}");
  rlo_address_map map;
  static const rlo_step_kind kinds[] = {RLO_STEP_SPLIT, RLO_STEP_SPLIT, RLO_STEP_COMBINE,
                                        RLO_STEP_SPLIT};
  static const int32_t tiles[] = {0, 0, 1, 1};
  ck_assert_int_eq(rlo_address_map_make(&shape, &map), RLO_OK);
  ck_assert_int_eq(map.num_steps, 4);
  for (int32_t s = 0; s < map.num_steps; ++s) {
    ck_assert_int_eq(map.steps[s].kind, kinds[s]);
    ck_assert_int_eq(map.steps[s].tile, tiles[s]);
  }
}

RLO_TEST(test_index__names_the_coordinate_outside) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  static const int64_t high[] = {1, 3};
  static const int64_t low[] = {-1, 0};
  int64_t slot = 77;

  ck_assert_int_eq(rlo_index_to_linear(&shape, high, &slot), RLO_OUT_OF_RANGE);
  ck_assert_str_eq(rlo_error_last()->message, "index[1]=3 is outside dimension 1 of size 3");
  ck_assert_int_eq(rlo_index_to_linear(&shape, low, &slot), RLO_OUT_OF_RANGE);
  ck_assert_str_eq(rlo_error_last()->message, "index[0]=-1 is outside dimension 0 of size 2");
  ck_assert_int_eq(rlo_index_to_linear(&shape, NULL, &slot), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(slot, 77);

  rlo_shape scalar = test_shape_of("f32[]");
  ck_assert_int_eq(rlo_index_to_linear(&scalar, NULL, &slot), RLO_OK);
  ck_assert_int_eq(slot, 0);

  shape.layout.minor_to_major[0] = 0;
  ck_assert_int_eq(rlo_index_to_linear(&shape, low, &slot), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_index__refuses_slots_outside) {
  static const char *const texts[] = {"f32[2,3]{1,0:L(8)}", "f32[2,4]{:strides(4,1)}", "f32[0,8]"};
  static const int64_t counts[] = {8, 8, 0};

  for (size_t i = 0; i < 3; ++i) {
    rlo_shape shape = test_shape_of(texts[i]);
    int64_t index[2];
    bool is_element;
    ck_assert_int_eq(rlo_index_from_linear(&shape, counts[i], index, &is_element),
                     RLO_OUT_OF_RANGE);
    ck_assert_int_eq(rlo_index_from_linear(&shape, -1, index, &is_element), RLO_OUT_OF_RANGE);
  }
  ck_assert_str_eq(rlo_error_last()->message, "slot -1 is outside the 0 slots");
}

RLO_TEST(test_index__refuses_to_invert_shared_slots) {
  static const char *const texts[] = {
      "f32[2,3]{:strides(0,1)}", "f32[2,3]{:strides(1,1)}", "f32[2,3]{:strides(2,1)}",
      "f32[2,3]{:strides(-2,1)offset(4)}", "f32[2,2,2]{:strides(4,3,1)}"};

  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    rlo_shape shape = test_shape_of(texts[i]);
    int64_t index[3];
    bool is_element;
    ck_assert_int_eq(rlo_index_from_linear(&shape, 1, index, &is_element), RLO_UNSUPPORTED);
  }
}

RLO_TEST(test_index__bumps_in_logical_order) {
  static const int64_t expected[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  rlo_shape shape = test_shape_of("s32[2,2]{0,1}");
  int64_t index[2] = {0, 0};

  for (int i = 0; i < 4; ++i) {
    ck_assert_mem_eq(index, expected[i], sizeof index);
    ck_assert_int_eq(rlo_index_bump(&shape, index), i < 3);
  }
  ck_assert_mem_eq(index, expected[0], sizeof index);

  rlo_shape scalar = test_shape_of("f32[]");
  ck_assert(!rlo_index_bump(&scalar, NULL));
}

RLO_TEST(test_index__knows_its_bounds) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  rlo_shape scalar = test_shape_of("f32[]");
  static const int64_t inside[] = {1, 2};
  static const int64_t high[] = {2, 0};
  static const int64_t low[] = {0, -1};

  ck_assert(rlo_index_in_bounds(&shape, inside));
  ck_assert(!rlo_index_in_bounds(&shape, high));
  ck_assert(!rlo_index_in_bounds(&shape, low));
  ck_assert(rlo_index_in_bounds(&scalar, NULL));
}
