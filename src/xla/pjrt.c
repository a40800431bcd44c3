/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/pjrt.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "desc/strides.h"
#include "xla/wire.h"

/* The size of a struct in its first version, which ends with `member`. */
#define SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)NULL)->member))

static rlo_status check_struct_size(const char *name, size_t given, size_t min) {
  RLO_FAIL_IF(given < min, RLO_INVALID_ARGUMENT, "%s: a struct_size of %zu is below %zu", name,
              given, min);
  return RLO_OK;
}

/* `rank` is that of a shape, so it has no sign. */
static rlo_status check_count(const char *name, const int64_t *values, size_t count, int32_t rank) {
  RLO_FAIL_IF(count != (size_t)rank, RLO_INVALID_ARGUMENT, "%zu %s do not go with rank %d", count,
              name, rank);
  RLO_FAIL_IF(count > 0 && values == NULL, RLO_INVALID_ARGUMENT, "the %zu %s are NULL", count,
              name);
  return RLO_OK;
}

static rlo_status read_tiled(const rlo_pjrt_tiled *tiled, int32_t rank, rlo_layout *out_layout) {
  RLO_TRY(check_struct_size("PJRT_Buffer_MemoryLayout_Tiled", tiled->struct_size,
                            SIZE_UP_TO(rlo_pjrt_tiled, num_tiles)));
  RLO_TRY(check_count("entries of minor_to_major", tiled->minor_to_major,
                      tiled->minor_to_major_size, rank));
  RLO_TRY(rlo__layout_from_wire(tiled->minor_to_major, (size_t)rank, out_layout));
  RLO_FAIL_IF(tiled->num_tiles > 0 && (tiled->tile_dims == NULL || tiled->tile_dim_sizes == NULL),
              RLO_INVALID_ARGUMENT, "the dimensions or the sizes of %zu tiles are NULL",
              tiled->num_tiles);
  const int64_t *dims = tiled->tile_dims;
  for (size_t t = 0; t < tiled->num_tiles; ++t) {
    RLO_TRY(rlo__layout_add_wire_tile(out_layout, dims, tiled->tile_dim_sizes[t]));
    dims += tiled->tile_dim_sizes[t];
  }
  return RLO_OK;
}

static rlo_status read_strides(const rlo_pjrt_strides *strides, const int64_t *dims, int32_t rank,
                               int64_t element_bytes, int64_t available_bytes,
                               rlo_layout *out_layout, int64_t *out_lowest_elems) {
  RLO_TRY(check_struct_size("PJRT_Buffer_MemoryLayout_Strides", strides->struct_size,
                            SIZE_UP_TO(rlo_pjrt_strides, num_byte_strides)));
  RLO_TRY(check_count("byte_strides", strides->byte_strides, strides->num_byte_strides, rank));
  return rlo__layout_from_byte_strides(dims, strides->byte_strides, rank, element_bytes,
                                       available_bytes, out_layout, out_lowest_elems);
}

static rlo_status write_view(const rlo_pjrt_view *view, rlo_pjrt_view *out_view) {
  return rlo__report_write("PJRT view", "RLO_PJRT_VIEW_INIT", view, out_view, sizeof *view);
}

rlo_status rlo_shape_from_pjrt(rlo_dtype dtype, const int64_t *dims, int32_t rank,
                               const rlo_pjrt_layout *layout, int64_t available_bytes,
                               rlo_pjrt_view *out_view) {
  RLO_REQUIRE(out_view);
  RLO_REQUIRE_LIST(dims, rank);
  rlo_pjrt_view view = RLO_PJRT_VIEW_INIT;
  /* This checks type and dimensions, too. */
  RLO_TRY(rlo_shape_make(dtype, dims, rank, &view.shape));
  if (layout == NULL) {
    return write_view(&view, out_view);
  }
  RLO_TRY(check_struct_size("PJRT_Buffer_MemoryLayout", layout->struct_size,
                            SIZE_UP_TO(rlo_pjrt_layout, type)));
  int64_t element_bytes = rlo_dtype_storage_bits(dtype) / 8;
  int64_t lowest_elems = 0;
  rlo_layout ours;
  switch (layout->type) {
    case RLO_PJRT_LAYOUT_TILED:
      RLO_TRY(read_tiled(&layout->form.tiled, rank, &ours));
      break;
    case RLO_PJRT_LAYOUT_STRIDES:
      RLO_TRY(read_strides(&layout->form.strides, dims, rank, element_bytes, available_bytes, &ours,
                           &lowest_elems));
      break;
    default:
      return RLO_FAIL(RLO_INVALID_ARGUMENT, "%d is no type of a PJRT layout", (int)layout->type);
  }
  RLO_TRY(rlo_shape_make_with_layout(dtype, dims, rank, &ours, &view.shape));
  /* It fits: the shape has as many bytes. */
  view.offset_bytes = lowest_elems * element_bytes;
  return write_view(&view, out_view);
}

/* PJRT's layouts say nothing of all these. */
static rlo_status check_expressible(const rlo_shape *shape) {
  const rlo_layout *layout = &shape->layout;

  const struct {
    bool is_there;
    const char *name;
  } parts[] = {
      {layout->fill != RLO_FILL_INVALID && layout->fill != RLO_FILL_UNKNOWN, "a fill"},
      {layout->tail_alignment_elems > 1, "a tail alignment"},
      {layout->element_size_bits != 0, "an element size"},
      {layout->memory_space != 0, "a memory space"},
      {layout->num_split_configs != 0, "splits"},
      {layout->metadata_prefix_bytes != 0, "a metadata prefix"},
  };

  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    RLO_FAIL_IF(parts[i].is_there, RLO_UNSUPPORTED, "a PJRT layout cannot have %s", parts[i].name);
  }
  return RLO_OK;
}

static void write_tile(rlo_pjrt_export *out, size_t *count, const int64_t *dims, int32_t rank) {
  rlo_pjrt_tiled *tiled = &out->layout.form.tiled;
  memcpy(out->tile_dims + *count, dims, (size_t)rank * sizeof dims[0]);
  *count += (size_t)rank;
  out->tile_dim_sizes[tiled->num_tiles++] = (size_t)rank;
}

static rlo_status write_tiled(const rlo_shape *shape, rlo_pjrt_export *out) {
  const rlo_layout *layout = &shape->layout;
  RLO_FAIL_IF(layout->kind != RLO_LAYOUT_DENSE, RLO_UNSUPPORTED,
              "a strided layout cannot be written with minor_to_major");
  rlo_pjrt_tiled *tiled = &out->layout.form.tiled;
  *tiled =
      (rlo_pjrt_tiled){.struct_size = sizeof *tiled, .minor_to_major_size = (size_t)shape->rank};
  for (int32_t i = 0; i < shape->rank; ++i) {
    out->minor_to_major[i] = layout->minor_to_major[i];
  }
  size_t count = 0;
  if (layout->has_padded_dimensions && shape->rank > 0) {
    int64_t widths[RLO_MAX_RANK];
    for (int32_t p = 0; p < shape->rank; ++p) {
      int32_t k = layout->minor_to_major[shape->rank - 1 - p];
      widths[p] = rlo__max(1, layout->padded_dimensions[k]);
    }
    write_tile(out, &count, widths, shape->rank);
  }
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    write_tile(out, &count, layout->tiles[t].dims, layout->tiles[t].rank);
  }
  return RLO_OK;
}

static rlo_status write_strides(const rlo_shape *shape, rlo_pjrt_export *out) {
  rlo_pjrt_strides *strides = &out->layout.form.strides;
  *strides =
      (rlo_pjrt_strides){.struct_size = sizeof *strides, .num_byte_strides = (size_t)shape->rank};
  int64_t element_bytes = rlo_dtype_storage_bits(shape->dtype) / 8;
  int64_t offset_elems = 0;
  RLO_TRY(rlo_shape_to_strides(shape, out->byte_strides, &offset_elems));
  for (int32_t k = 0; k < shape->rank; ++k) {
    int64_t stride = out->byte_strides[k];
    RLO_FAIL_IF(!rlo__mul(stride, element_bytes, &out->byte_strides[k]), RLO_OVERFLOW,
                "dimension %d: the stride of %" PRId64 " elements does not fit 64 bits in bytes", k,
                stride);
  }
  RLO_FAIL_IF(!rlo__mul(offset_elems, element_bytes, &out->offset_bytes), RLO_OVERFLOW,
              "the offset of %" PRId64 " elements does not fit 64 bits in bytes", offset_elems);
  return RLO_OK;
}

rlo_status rlo_shape_to_pjrt(const rlo_shape *shape, rlo_pjrt_layout_type type,
                             rlo_pjrt_export *out_export) {
  RLO_REQUIRE(shape, out_export);
  RLO_TRY(rlo_shape_validate(shape));
  RLO_TRY(check_expressible(shape));
  RLO_TRY(check_struct_size("PJRT export", out_export->struct_size,
                            SIZE_UP_TO(rlo_pjrt_export, tile_dim_sizes)));
  rlo_pjrt_export out = RLO_PJRT_EXPORT_INIT;
  out.layout.struct_size = sizeof out.layout;
  out.layout.type = type;
  switch (type) {
    case RLO_PJRT_LAYOUT_TILED:
      RLO_TRY(write_tiled(shape, &out));
      break;
    case RLO_PJRT_LAYOUT_STRIDES:
      RLO_TRY(write_strides(shape, &out));
      break;
    default:
      return RLO_FAIL(RLO_INVALID_ARGUMENT, "%d is no type of a PJRT layout", (int)type);
  }
  RLO_TRY(rlo__report_write("PJRT export", "RLO_PJRT_EXPORT_INIT", &out, out_export, sizeof out));
  /* Only now is it known where the numbers stay. */
  if (type == RLO_PJRT_LAYOUT_TILED) {
    rlo_pjrt_tiled *tiled = &out_export->layout.form.tiled;
    tiled->minor_to_major = out_export->minor_to_major;
    tiled->tile_dims = out_export->tile_dims;
    tiled->tile_dim_sizes = out_export->tile_dim_sizes;
  } else {
    out_export->layout.form.strides.byte_strides = out_export->byte_strides;
  }
  return RLO_OK;
}
