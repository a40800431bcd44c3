/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/index.h"
#include "relayout/index_map.h"
#include "relayout/text.h"
#include "support/random.h"
#include "support/random_shape.h"

static rlo_shape parsed(const char *text) {
  rlo_shape shape;
  rlo_status status = rlo_shape_parse(text, strlen(text), &shape);
  ck_assert_msg(status == RLO_OK, "'%s': %s", text, rlo_error_last()->message);
  return shape;
}

static int64_t slots_of(const rlo_shape *shape) {
  rlo_shape_extent extent;
  ck_assert_int_eq(rlo_shape_measure(shape, &extent), RLO_OK);
  return extent.slots;
}

static int64_t slot_of(const rlo_shape *shape, const int64_t *index) {
  int64_t slot = -1;
  rlo_status status = rlo_index_to_linear(shape, index, &slot);
  ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
  return slot;
}

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

START_TEST(test_index__places_an_element)
{
  rlo_shape shape = parsed(elements[_i].shape);
  int64_t index[RLO_MAX_RANK];
  bool is_element = false;

  ck_assert_int_eq(slot_of(&shape, elements[_i].index), elements[_i].slot);
  if (strstr(elements[_i].shape, "strides(0") != NULL) {
    return;
  }
  ck_assert_int_eq(
      rlo_index_from_linear(&shape, elements[_i].slot, index, &is_element),
      RLO_OK);
  ck_assert(is_element);
  for (int32_t k = 0; k < shape.rank; ++k) {
    ck_assert_int_eq(index[k], elements[_i].index[k]);
  }
}

END_TEST

/* Whole maps, the elements in logical row-major order. */
static const struct {
  const char *shape;
  int64_t count;
  int64_t slots[32];
  int64_t num_slots;
} maps[] = {
    {"f32[3,5]{1,0:T(2,2)}",
     15,
     {0, 1, 4, 5, 8, 2, 3, 6, 7, 10, 12, 13, 16, 17, 20},
     24},
    {"f32[4,8]{1,0:T(2,4)(2,1)}",
     32,
     {0,  2,  4,  6,  8,  10, 12, 14, 1,  3,  5,  7,  9,  11, 13, 15,
      16, 18, 20, 22, 24, 26, 28, 30, 17, 19, 21, 23, 25, 27, 29, 31},
     32},
    {"f32[3,5]{0,1:T(2,2)}",
     15,
     {0, 2, 8, 10, 16, 1, 3, 9, 11, 17, 4, 6, 12, 14, 20},
     24},
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

START_TEST(test_index__places_a_whole_array)
{
  rlo_shape shape = parsed(maps[_i].shape);
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t count = 0;

  ck_assert_int_eq(slots_of(&shape), maps[_i].num_slots);
  do {
    ck_assert_int_lt(count, maps[_i].count);
    ck_assert_int_eq(slot_of(&shape, index), maps[_i].slots[count]);
    ++count;
  } while (rlo_index_bump(&shape, index));
  ck_assert_int_eq(count, maps[_i].count);
}

END_TEST

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

START_TEST(test_index__counts_slots)
{
  rlo_shape shape = parsed(sizes[_i].shape);
  ck_assert_int_eq(slots_of(&shape), sizes[_i].slots);
}

END_TEST

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

START_TEST(test_index__knows_equivalent_layouts)
{
  rlo_shape a = parsed(equivalents[_i].a);
  rlo_shape b = parsed(equivalents[_i].b);
  int64_t index[RLO_MAX_RANK] = {0};

  ck_assert_int_eq(slots_of(&a), slots_of(&b));
  do {
    ck_assert_int_eq(slot_of(&a, index), slot_of(&b, index));
  } while (rlo_index_bump(&a, index));
}

END_TEST

START_TEST(test_index__combines_like_a_reshape)
{
  /* T(*,*,2,*,3) of [2,7,8,11,10] is T(2,3) of [112,110]. */
  rlo_shape a = parsed("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}");
  rlo_shape b = parsed("f32[112,110]{1,0:T(2,3)}");
  int64_t index[RLO_MAX_RANK] = {0};

  do {
    const int64_t reshaped[] = {(index[0] * 7 + index[1]) * 8 + index[2],
                                index[3] * 10 + index[4]};
    ck_assert_int_eq(slot_of(&a, index), slot_of(&b, reshaped));
  } while (rlo_index_bump(&a, index));
}

END_TEST

START_TEST(test_index__round_trips_large_arrays)
{
  static const char *const texts[] = {
      "u8[10,20,30,40,30,20,10]{6,5,4,3,2,1,0}",
      "u8[10,20,30,40,30,20,10]{0,1,2,3,4,5,6}",
      "u8[10,20,30,40,30,20,10]{4,5,1,2,6,0,3}"};
  static const int64_t slots[] = {
      0, 1439999999, 1145567336, 43883404, 617295214, 1117613654};

  for (size_t t = 0; t < sizeof texts / sizeof texts[0]; ++t) {
    rlo_shape shape = parsed(texts[t]);
    for (size_t s = 0; s < sizeof slots / sizeof slots[0]; ++s) {
      int64_t index[7];
      bool is_element = false;
      ck_assert_int_eq(
          rlo_index_from_linear(&shape, slots[s], index, &is_element), RLO_OK);
      ck_assert(is_element);
      ck_assert(rlo_index_in_bounds(&shape, index));
      ck_assert_int_eq(slot_of(&shape, index), slots[s]);
    }
  }
}

END_TEST

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

START_TEST(test_index__inverts_the_whole_memory)
{
  rlo_shape shape = parsed(inverted[_i]);
  int64_t num_slots = slots_of(&shape);
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t owners[256];
  int64_t elements_found = 0;
  int64_t elements_there = 0;

  /* Who owns each slot, found forwards, by the number of the element. */
  ck_assert_int_le(num_slots, 256);
  for (int64_t slot = 0; slot < num_slots; ++slot) {
    owners[slot] = -1;
  }
  do {
    int64_t slot = slot_of(&shape, index);
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
    ck_assert_int_eq(rlo_index_from_linear(&shape, slot, index, &is_element),
                     RLO_OK);
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

END_TEST

/* The map by XLA's words alone: lists of dimensions and coordinates that are
 * rewritten tile by tile, without any address. */
typedef struct naive_map {
  int64_t dims[64];
  int64_t index[64];
  int32_t count;
} naive_map;

static void naive_erase(naive_map *map, int32_t at) {
  --map->count;
  for (int32_t p = at; p < map->count; ++p) {
    map->dims[p] = map->dims[p + 1];
    map->index[p] = map->index[p + 1];
  }
}

static void naive_tile(naive_map *map, const rlo_tile *tile) {
  int64_t sizes_left[RLO_MAX_TILE_RANK];
  int32_t left = 0;

  while (map->count < tile->rank) {
    for (int32_t p = map->count; p > 0; --p) {
      map->dims[p] = map->dims[p - 1];
      map->index[p] = map->index[p - 1];
    }
    map->dims[0] = 1;
    map->index[0] = 0;
    ++map->count;
  }
  for (int32_t k = 0; k < tile->rank; ++k) {
    int32_t at = map->count - (tile->rank - k);
    if (tile->dims[k] == RLO_TILE_COMBINE) {
      map->index[at + 1] += map->index[at] * map->dims[at + 1];
      map->dims[at + 1] *= map->dims[at];
      naive_erase(map, at);
    } else {
      sizes_left[left++] = tile->dims[k];
    }
  }
  int32_t first = map->count - left;
  for (int32_t k = 0; k < left; ++k) {
    int64_t size = sizes_left[k];
    map->dims[map->count + k] = size;
    map->index[map->count + k] = map->index[first + k] % size;
    map->dims[first + k] = (map->dims[first + k] + size - 1) / size;
    map->index[first + k] /= size;
  }
  map->count += left;
}

static int64_t naive_slot(const rlo_shape *shape,
                          const int64_t *index,
                          int64_t *out_slots) {
  const rlo_layout *layout = &shape->layout;
  naive_map map;

  map.count = shape->rank;
  for (int32_t p = 0; p < map.count; ++p) {
    int32_t k = layout->minor_to_major[map.count - 1 - p];
    map.index[p] = index[k];
    map.dims[p] = layout->has_padded_dimensions ? layout->padded_dimensions[k]
                                                : shape->dims[k];
  }
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    naive_tile(&map, &layout->tiles[t]);
  }
  int64_t slot = 0;
  int64_t slots = 1;
  for (int32_t p = 0; p < map.count; ++p) {
    slot = slot * map.dims[p] + map.index[p];
    slots *= map.dims[p];
  }
  int64_t tail = layout->tail_alignment_elems;
  while (tail > 1 && slots % tail != 0) {
    ++slots;
  }
  *out_slots = slots;
  return slot;
}

START_TEST(test_index__agrees_with_the_definition)
{
  test_random random = test_random_begin("test_index");

  for (int round = 0; round < 3000; ++round) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    int64_t dims[4];
    rlo_layout layout = rlo_layout_row_major(rank);
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 6);
    }
    for (int32_t k = rank - 1; k > 0; --k) {
      int32_t other = (int32_t)test_random_in(&random, 0, k);
      int32_t kept = layout.minor_to_major[k];
      layout.minor_to_major[k] = layout.minor_to_major[other];
      layout.minor_to_major[other] = kept;
    }
    layout.has_padded_dimensions = test_random_once_in(&random, 2);
    for (int32_t k = 0; k < rank; ++k) {
      layout.padded_dimensions[k] = dims[k] + test_random_in(&random, 0, 2);
    }
    for (int64_t t = test_random_in(&random, 0, 3); t > 0; --t) {
      int32_t tile_rank = (int32_t)test_random_in(&random, 1, 3);
      int64_t tile[3];
      for (int32_t k = 0; k < tile_rank; ++k) {
        tile[k] = test_random_in(&random, 1, 4);
        if (k < tile_rank - 1 && test_random_once_in(&random, 3)) {
          tile[k] = RLO_TILE_COMBINE;
        }
      }
      ck_assert_int_eq(rlo_layout_add_tile(&layout, tile, tile_rank), RLO_OK);
    }
    layout.tail_alignment_elems = test_random_in(&random, 0, 9);

    rlo_shape shape;
    char text[256];
    ck_assert_int_eq(
        rlo_shape_make_with_layout(RLO_DTYPE_U8, dims, rank, &layout, &shape),
        RLO_OK);
    rlo_shape_format(&shape, text, sizeof text);
    int64_t index[RLO_MAX_RANK] = {0};
    for (int32_t k = 0; k < rank; ++k) {
      index[k] = test_random_in(&random, 0, dims[k] - 1);
    }
    int64_t slots;
    int64_t expected = naive_slot(&shape, index, &slots);
    int64_t slot = slot_of(&shape, index);
    ck_assert_msg(slot == expected,
                  "%s: slot %lld, not %lld",
                  text,
                  (long long)slot,
                  (long long)expected);
    ck_assert_msg(slots_of(&shape) == slots, "%s", text);

    int64_t back[RLO_MAX_RANK];
    bool is_element = false;
    ck_assert_int_eq(rlo_index_from_linear(&shape, slot, back, &is_element),
                     RLO_OK);
    ck_assert_msg(is_element, "%s", text);
    for (int32_t k = 0; k < rank; ++k) {
      ck_assert_msg(back[k] == index[k], "%s", text);
    }
  }
}

END_TEST

START_TEST(test_index__every_slot_has_at_most_one_element)
{
  test_random random = test_random_begin("test_index");

  for (int round = 0; round < 300; ++round) {
    char text[128];
    int64_t tile[4];
    int64_t index[RLO_MAX_RANK] = {0};
    int64_t found = 0;
    for (int i = 0; i < 4; ++i) {
      tile[i] = test_random_in(&random, 1, 4);
    }
    rlo_layout layout = rlo_layout_column_major(2);
    const int64_t dims[] = {test_random_in(&random, 1, 5),
                            test_random_in(&random, 1, 5)};
    ck_assert_int_eq(rlo_layout_add_tile(&layout, tile, 2), RLO_OK);
    ck_assert_int_eq(rlo_layout_add_tile(&layout, tile + 1, 3), RLO_OK);
    rlo_shape shape;
    ck_assert_int_eq(
        rlo_shape_make_with_layout(RLO_DTYPE_U8, dims, 2, &layout, &shape),
        RLO_OK);
    rlo_shape_format(&shape, text, sizeof text);
    int64_t num_slots = slots_of(&shape);
    for (int64_t slot = 0; slot < num_slots; ++slot) {
      bool is_element;
      ck_assert_int_eq(rlo_index_from_linear(&shape, slot, index, &is_element),
                       RLO_OK);
      if (is_element) {
        ++found;
        ck_assert_msg(slot_of(&shape, index) == slot, "%s", text);
      }
    }
    ck_assert_msg(found == dims[0] * dims[1], "%s", text);
  }
}

END_TEST

START_TEST(test_index__names_the_coordinate_outside)
{
  rlo_shape shape = parsed("f32[2,3]");
  static const int64_t high[] = {1, 3};
  static const int64_t low[] = {-1, 0};
  int64_t slot = 77;

  ck_assert_int_eq(rlo_index_to_linear(&shape, high, &slot), RLO_OUT_OF_RANGE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "index[1]=3 is outside dimension 1 of size 3");
  ck_assert_int_eq(rlo_index_to_linear(&shape, low, &slot), RLO_OUT_OF_RANGE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "index[0]=-1 is outside dimension 0 of size 2");
  ck_assert_int_eq(rlo_index_to_linear(&shape, NULL, &slot),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(slot, 77);

  rlo_shape scalar = parsed("f32[]");
  ck_assert_int_eq(rlo_index_to_linear(&scalar, NULL, &slot), RLO_OK);
  ck_assert_int_eq(slot, 0);

  shape.layout.minor_to_major[0] = 0;
  ck_assert_int_eq(rlo_index_to_linear(&shape, low, &slot),
                   RLO_INVALID_ARGUMENT);
}

END_TEST

START_TEST(test_index__refuses_slots_outside)
{
  static const char *const texts[] = {
      "f32[2,3]{1,0:L(8)}", "f32[2,4]{:strides(4,1)}", "f32[0,8]"};
  static const int64_t counts[] = {8, 8, 0};

  for (size_t i = 0; i < 3; ++i) {
    rlo_shape shape = parsed(texts[i]);
    int64_t index[2];
    bool is_element;
    ck_assert_int_eq(
        rlo_index_from_linear(&shape, counts[i], index, &is_element),
        RLO_OUT_OF_RANGE);
    ck_assert_int_eq(rlo_index_from_linear(&shape, -1, index, &is_element),
                     RLO_OUT_OF_RANGE);
  }
  ck_assert_str_eq(rlo_error_last()->message, "slot -1 is outside the 0 slots");
}

END_TEST

START_TEST(test_index__refuses_to_invert_shared_slots)
{
  static const char *const texts[] = {"f32[2,3]{:strides(0,1)}",
                                      "f32[2,3]{:strides(1,1)}",
                                      "f32[2,3]{:strides(2,1)}",
                                      "f32[2,3]{:strides(-2,1)offset(4)}",
                                      "f32[2,2,2]{:strides(4,3,1)}"};

  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    rlo_shape shape = parsed(texts[i]);
    int64_t index[3];
    bool is_element;
    ck_assert_int_eq(rlo_index_from_linear(&shape, 1, index, &is_element),
                     RLO_UNSUPPORTED);
  }
}

END_TEST

START_TEST(test_index__bumps_in_logical_order)
{
  static const int64_t expected[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  rlo_shape shape = parsed("s32[2,2]{0,1}");
  int64_t index[2] = {0, 0};

  for (int i = 0; i < 4; ++i) {
    ck_assert_mem_eq(index, expected[i], sizeof index);
    ck_assert_int_eq(rlo_index_bump(&shape, index), i < 3);
  }
  ck_assert_mem_eq(index, expected[0], sizeof index);

  rlo_shape scalar = parsed("f32[]");
  ck_assert(!rlo_index_bump(&scalar, NULL));
}

END_TEST

START_TEST(test_index__prepared_maps_agree)
{
  test_random random = test_random_begin("test_index");
  for (int round = 0; round < 2000; ++round) {
    int64_t dims[4];
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 5);
    }
    rlo_shape shape =
        test_random_shape(&random, RLO_DTYPE_U8, dims, rank, TEST_ALL);
    rlo_index_map map;
    ck_assert_int_eq(rlo_index_map_make(&shape, &map), RLO_OK);
    int64_t index[4] = {0};
    do {
      int64_t slot = rlo_index_map_slot(&map, index);
      ck_assert_int_eq(slot, slot_of(&shape, index));
      int64_t back[4];
      bool is_element;
      ck_assert_int_eq(rlo_index_map_element(&map, slot, back, &is_element),
                       RLO_OK);
      ck_assert(is_element);
      ck_assert_mem_eq(back, index, (size_t)rank * sizeof index[0]);
    } while (rlo_index_bump(&shape, index));
    int64_t found = 0;
    for (int64_t slot = 0; slot < map.slots; ++slot) {
      int64_t back[4];
      bool is_element;
      ck_assert_int_eq(rlo_index_map_element(&map, slot, back, &is_element),
                       RLO_OK);
      found += is_element;
    }
    rlo_shape_extent extent;
    ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_OK);
    ck_assert_int_eq(found, extent.elements);
    ck_assert_int_eq(map.slots, extent.slots);
  }
}

END_TEST

START_TEST(test_index__prepares_no_wrong_shape)
{
  rlo_shape shape = parsed("f32[2,?]");
  rlo_index_map map;
  ck_assert_int_eq(rlo_index_map_make(&shape, &map), RLO_UNSUPPORTED);
  shape = parsed("f32[2,3]{1,0:L(8)}");
  int64_t index[2];
  bool is_element;
  ck_assert_int_eq(rlo_index_map_make(&shape, &map), RLO_OK);
  ck_assert_int_eq(rlo_index_map_element(&map, 8, index, &is_element),
                   RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_index_map_element(&map, -1, index, &is_element),
                   RLO_OUT_OF_RANGE);
  shape = parsed("f32[2,3]{:strides(0,1)}");
  ck_assert_int_eq(rlo_index_map_make(&shape, &map), RLO_OK);
  ck_assert_int_eq(rlo_index_map_element(&map, 0, index, &is_element),
                   RLO_UNSUPPORTED);
}

END_TEST

START_TEST(test_index__knows_its_bounds)
{
  rlo_shape shape = parsed("f32[2,3]");
  rlo_shape scalar = parsed("f32[]");
  static const int64_t inside[] = {1, 2};
  static const int64_t high[] = {2, 0};
  static const int64_t low[] = {0, -1};

  ck_assert(rlo_index_in_bounds(&shape, inside));
  ck_assert(!rlo_index_in_bounds(&shape, high));
  ck_assert(!rlo_index_in_bounds(&shape, low));
  ck_assert(rlo_index_in_bounds(&scalar, NULL));
}

END_TEST

int main(void) {
  Suite *suite = suite_create("index");
  TCase *tcase = tcase_create("index");
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase,
                      test_index__places_an_element,
                      0,
                      (int)(sizeof elements / sizeof elements[0]));
  tcase_add_loop_test(tcase,
                      test_index__places_a_whole_array,
                      0,
                      (int)(sizeof maps / sizeof maps[0]));
  tcase_add_loop_test(tcase,
                      test_index__counts_slots,
                      0,
                      (int)(sizeof sizes / sizeof sizes[0]));
  tcase_add_loop_test(tcase,
                      test_index__knows_equivalent_layouts,
                      0,
                      (int)(sizeof equivalents / sizeof equivalents[0]));
  tcase_add_test(tcase, test_index__combines_like_a_reshape);
  tcase_add_test(tcase, test_index__round_trips_large_arrays);
  tcase_add_loop_test(tcase,
                      test_index__inverts_the_whole_memory,
                      0,
                      (int)(sizeof inverted / sizeof inverted[0]));
  tcase_add_test(tcase, test_index__agrees_with_the_definition);
  tcase_add_test(tcase, test_index__every_slot_has_at_most_one_element);
  tcase_add_test(tcase, test_index__names_the_coordinate_outside);
  tcase_add_test(tcase, test_index__refuses_slots_outside);
  tcase_add_test(tcase, test_index__refuses_to_invert_shared_slots);
  tcase_add_test(tcase, test_index__bumps_in_logical_order);
  tcase_add_test(tcase, test_index__knows_its_bounds);
  tcase_add_test(tcase, test_index__prepared_maps_agree);
  tcase_add_test(tcase, test_index__prepares_no_wrong_shape);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
