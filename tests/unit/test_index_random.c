/* SPDX-License-Identifier: Apache-2.0 */

/* The index functions on random shapes, against XLA's definition and against
 * each other. */

#include "relayout/index.h"
#include "support/random.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

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

static int64_t naive_slot(const rlo_shape *shape, const int64_t *index, int64_t *out_slots) {
  const rlo_layout *layout = &shape->layout;
  naive_map map;

  map.count = shape->rank;
  for (int32_t p = 0; p < map.count; ++p) {
    int32_t k = layout->minor_to_major[map.count - 1 - p];
    map.index[p] = index[k];
    map.dims[p] = layout->has_padded_dimensions ? layout->padded_dimensions[k] : shape->dims[k];
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

RLO_TIMEOUT(120);

RLO_TEST(test_index__agrees_with_the_definition) {
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
    ck_assert_int_eq(rlo_shape_make_with_layout(RLO_DTYPE_U8, dims, rank, &layout, &shape), RLO_OK);
    const char *text = test_text_of(&shape);
    int64_t index[RLO_MAX_RANK] = {0};
    for (int32_t k = 0; k < rank; ++k) {
      index[k] = test_random_in(&random, 0, dims[k] - 1);
    }
    int64_t slots;
    int64_t expected = naive_slot(&shape, index, &slots);
    int64_t slot = test_slot_of(&shape, index);
    ck_assert_msg(slot == expected, "%s: slot %lld, not %lld", text, (long long)slot,
                  (long long)expected);
    ck_assert_msg(test_slots_of(&shape) == slots, "%s", text);

    int64_t back[RLO_MAX_RANK];
    bool is_element = false;
    ck_assert_int_eq(rlo_index_from_linear(&shape, slot, back, &is_element), RLO_OK);
    ck_assert_msg(is_element, "%s", text);
    for (int32_t k = 0; k < rank; ++k) {
      ck_assert_msg(back[k] == index[k], "%s", text);
    }
  }
}

RLO_TEST(test_index__every_slot_has_at_most_one_element) {
  test_random random = test_random_begin("test_index");

  for (int round = 0; round < 300; ++round) {
    int64_t tile[4];
    int64_t index[RLO_MAX_RANK] = {0};
    int64_t found = 0;
    for (int i = 0; i < 4; ++i) {
      tile[i] = test_random_in(&random, 1, 4);
    }
    rlo_layout layout = rlo_layout_column_major(2);
    const int64_t dims[] = {test_random_in(&random, 1, 5), test_random_in(&random, 1, 5)};
    ck_assert_int_eq(rlo_layout_add_tile(&layout, tile, 2), RLO_OK);
    ck_assert_int_eq(rlo_layout_add_tile(&layout, tile + 1, 3), RLO_OK);
    rlo_shape shape;
    ck_assert_int_eq(rlo_shape_make_with_layout(RLO_DTYPE_U8, dims, 2, &layout, &shape), RLO_OK);
    const char *text = test_text_of(&shape);
    int64_t num_slots = test_slots_of(&shape);
    for (int64_t slot = 0; slot < num_slots; ++slot) {
      bool is_element;
      ck_assert_int_eq(rlo_index_from_linear(&shape, slot, index, &is_element), RLO_OK);
      if (is_element) {
        ++found;
        ck_assert_msg(test_slot_of(&shape, index) == slot, "%s", text);
      }
    }
    ck_assert_msg(found == dims[0] * dims[1], "%s", text);
  }
}

RLO_TEST(test_index__prepared_maps_agree) {
  test_random random = test_random_begin("test_index");
  for (int round = 0; round < 2000; ++round) {
    int64_t dims[4];
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 5);
    }
    rlo_shape shape = test_random_shape(&random, RLO_DTYPE_U8, dims, rank, TEST_ALL);
    rlo_address_map map;
    ck_assert_int_eq(rlo_address_map_make(&shape, &map), RLO_OK);
    int64_t index[4] = {0};
    do {
      int64_t slot = rlo_address_map_slot(&map, index);
      ck_assert_int_eq(slot, test_slot_of(&shape, index));
      int64_t back[4];
      bool is_element;
      ck_assert_int_eq(rlo_address_map_element(&map, slot, back, &is_element), RLO_OK);
      ck_assert(is_element);
      ck_assert_mem_eq(back, index, (size_t)rank * sizeof index[0]);
    } while (rlo_index_bump(&shape, index));
    int64_t found = 0;
    for (int64_t slot = 0; slot < map.slots; ++slot) {
      int64_t back[4];
      bool is_element;
      ck_assert_int_eq(rlo_address_map_element(&map, slot, back, &is_element), RLO_OK);
      found += is_element;
    }
    rlo_shape_extent extent;
    ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_OK);
    ck_assert_int_eq(found, extent.elements);
    ck_assert_int_eq(map.slots, extent.slots);
  }
}

RLO_TEST(test_index__prepares_no_wrong_shape) {
  rlo_shape shape = test_shape_of("f32[2,?]");
  rlo_address_map map;
  ck_assert_int_eq(rlo_address_map_make(&shape, &map), RLO_UNSUPPORTED);
  shape = test_shape_of("f32[2,3]{1,0:L(8)}");
  int64_t index[2];
  bool is_element;
  ck_assert_int_eq(rlo_address_map_make(&shape, &map), RLO_OK);
  ck_assert_int_eq(rlo_address_map_element(&map, 8, index, &is_element), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_address_map_element(&map, -1, index, &is_element), RLO_OUT_OF_RANGE);
  shape = test_shape_of("f32[2,3]{:strides(0,1)}");
  ck_assert_int_eq(rlo_address_map_make(&shape, &map), RLO_OK);
  ck_assert_int_eq(rlo_address_map_element(&map, 0, index, &is_element), RLO_UNSUPPORTED);
}
