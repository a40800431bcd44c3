/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/index.h"
#include "relayout/text.h"
#include "relayout/xla/shape_util.h"

#include "fuzz.h"

/* Printed and read again it is the same. */
static void check_text(const rlo_shape *shape) {
  size_t length = rlo_shape_format(shape, NULL, 0);
  char *text = malloc(length + 1);
  FUZZ_CHECK(text != NULL);
  FUZZ_CHECK(rlo_shape_format(shape, text, length + 1) == length);
  FUZZ_CHECK(strlen(text) == length);
  if (length <= RLO_TEXT_MAX_BYTES) {
    rlo_shape again;
    FUZZ_CHECK(rlo_shape_parse(text, length, &again) == RLO_OK);
    FUZZ_CHECK(rlo_shape_equal(shape, &again));
  }
  free(text);
}

/* First and last element lie where they are found again. */
static void check_index(const rlo_shape *shape, const rlo_shape_extent *extent) {
  rlo_address_map map;
  FUZZ_CHECK(rlo_address_map_make(shape, &map) == RLO_OK);
  FUZZ_CHECK(map.slots == extent->slots);
  if (extent->elements == 0) {
    return;
  }
  int64_t index[RLO_MAX_RANK] = {0};
  for (int turn = 0; turn < 2; ++turn) {
    int64_t slot = -1;
    FUZZ_CHECK(rlo_index_to_linear(shape, index, &slot) == RLO_OK);
    FUZZ_CHECK(slot >= 0 && slot < extent->slots);
    FUZZ_CHECK(rlo_address_map_slot(&map, index) == slot);
    int64_t back[RLO_MAX_RANK] = {0};
    bool is_element = false;
    rlo_status status = rlo_address_map_element(&map, slot, back, &is_element);
    if (status != RLO_OK) {
      FUZZ_CHECK(status == RLO_UNSUPPORTED && !map.is_dense);
    } else {
      FUZZ_CHECK(is_element);
      FUZZ_CHECK(memcmp(index, back, sizeof(index)) == 0);
    }
    for (int32_t k = 0; k < shape->rank; ++k) {
      index[k] = shape->dims[k] - 1;
    }
  }
}

static void check_cost(const rlo_shape *shape, const rlo_shape_extent *extent) {
  static rlo_shape_cost cost;
  rlo_status status = rlo_shape_predict_cost(shape, &cost);
  if (status != RLO_OK) {
    FUZZ_CHECK(status == RLO_OVERFLOW && extent->slots == 0);
    return;
  }
  FUZZ_CHECK(cost.slots == extent->slots && cost.elements == extent->elements);
  if (extent->elements == 0) {
    return;
  }
  int64_t elements = 1;
  for (int32_t i = 0; i < cost.num_parts; ++i) {
    FUZZ_CHECK(cost.parts[i].elements <= cost.parts[i].slots);
    if (cost.parts[i].kind == RLO_COST_DIMENSIONS) {
      elements *= cost.parts[i].elements;
    }
  }
  FUZZ_CHECK(cost.num_parts == 0 || elements == extent->elements);
}

void fuzz_check_shape(const rlo_shape *shape) {
  FUZZ_CHECK(rlo_shape_validate_unbounded(shape) == RLO_OK);
  check_text(shape);
  rlo_shape_extent extent;
  rlo_status status = rlo_shape_measure(shape, &extent);
  if (rlo_shape_is_unbounded(shape)) {
    FUZZ_CHECK(status == RLO_UNSUPPORTED);
    return;
  }
  FUZZ_CHECK(status == RLO_OK);
  FUZZ_CHECK(extent.elements >= 0 && extent.slots >= 0);
  FUZZ_CHECK(extent.bytes >= 0 && extent.physical_bytes >= 0);
  check_index(shape, &extent);
  check_cost(shape, &extent);
}
