/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/pjrt.h"

#include "fuzz.h"

enum { MOST = 64 };

static void take_numbers(fuzz_reader *reader, int64_t *out, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    /* Bytes with a sign: the numbers that matter here are small. */
    int8_t small = (int8_t)fuzz_take_byte(reader);
    out[i] = small == INT8_MIN ? INT64_MIN : small;
    if (small == INT8_MAX) {
      out[i] = fuzz_take_number(reader);
    }
  }
}

static void check_round_trip(const rlo_pjrt_view *view, rlo_pjrt_layout_type type) {
  static rlo_pjrt_export lent = RLO_PJRT_EXPORT_INIT;
  if (rlo_shape_to_pjrt(&view->shape, type, &lent) != RLO_OK) {
    return;
  }
  rlo_pjrt_view again = RLO_PJRT_VIEW_INIT;
  FUZZ_CHECK(rlo_shape_from_pjrt(view->shape.dtype, view->shape.dims, view->shape.rank,
                                 &lent.layout, RLO_AVAILABLE_UNKNOWN, &again) == RLO_OK);
  FUZZ_CHECK(rlo_shape_compatible(&view->shape, &again.shape));
  fuzz_check_shape(&again.shape);
  /* With memory without end, rows with a pitch become a padded array, which
   * has more slots than the rows reach: too many for 64 bits, perhaps. */
  rlo_status status = rlo_shape_from_pjrt(view->shape.dtype, view->shape.dims, view->shape.rank,
                                          &lent.layout, RLO_AVAILABLE_ALL, &again);
  if (status != RLO_OK) {
    FUZZ_CHECK(status == RLO_OVERFLOW);
    return;
  }
  fuzz_check_shape(&again.shape);
}

/* A PJRT layout, tiled or with strides. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_reader reader = {data, size};
  rlo_dtype dtype = (rlo_dtype)(fuzz_take_byte(&reader) % 40);
  int32_t rank = fuzz_take_byte(&reader) % 40;
  bool has_strides = (fuzz_take_byte(&reader) & 1) != 0;
  int64_t dims[MOST];
  int64_t order[MOST];
  int64_t tile_dims[MOST * 4];
  size_t tile_sizes[MOST];
  take_numbers(&reader, dims, rank);
  int32_t num_order = fuzz_take_byte(&reader) % MOST;
  take_numbers(&reader, order, num_order);
  rlo_pjrt_layout layout = {.struct_size = sizeof(layout)};
  if (has_strides) {
    layout.type = RLO_PJRT_LAYOUT_STRIDES;
    layout.form.strides = (rlo_pjrt_strides){.struct_size = sizeof(rlo_pjrt_strides),
                                             .byte_strides = order,
                                             .num_byte_strides = (size_t)num_order};
  } else {
    int32_t num_tiles = fuzz_take_byte(&reader) % 12;
    int32_t total = 0;
    for (int32_t t = 0; t < num_tiles; ++t) {
      int32_t count = fuzz_take_byte(&reader) % (4 * MOST / 12);
      tile_sizes[t] = (size_t)count;
      take_numbers(&reader, tile_dims + total, count);
      total += count;
    }
    layout.type = RLO_PJRT_LAYOUT_TILED;
    layout.form.tiled = (rlo_pjrt_tiled){.struct_size = sizeof(rlo_pjrt_tiled),
                                         .minor_to_major = order,
                                         .minor_to_major_size = (size_t)num_order,
                                         .tile_dims = tile_dims,
                                         .tile_dim_sizes = tile_sizes,
                                         .num_tiles = (size_t)num_tiles};
  }
  int64_t available_bytes = has_strides ? fuzz_take_number(&reader) : RLO_AVAILABLE_UNKNOWN;
  rlo_pjrt_view view = RLO_PJRT_VIEW_INIT;
  if (rlo_shape_from_pjrt(dtype, dims, rank, &layout, available_bytes, &view) == RLO_OK) {
    fuzz_check_shape(&view.shape);
    check_round_trip(&view, RLO_PJRT_LAYOUT_TILED);
    check_round_trip(&view, RLO_PJRT_LAYOUT_STRIDES);
  }
  return 0;
}
