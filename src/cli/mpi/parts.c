/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include "relayout/xla/shape_util.h"

static int64_t gcd(int64_t a, int64_t b) {
  return b == 0 ? a : gcd(b, a % b);
}

/* How many indices of the most major dimension belong together: those of a
 * tile, and as many as fill whole bytes. 0: no part of it is one run of bytes,
 * or not for sure. */
static int64_t find_grain(const rlo_shape *array) {
  const rlo_layout *layout = &array->layout;
  if (array->rank == 0 || layout->kind != RLO_LAYOUT_DENSE ||
      layout->tail_alignment_elems > 1) {
    return 0;
  }
  int64_t grain = 1;
  for (int32_t n = 0; n < layout->num_tiles; ++n) {
    const rlo_tile *tile = &layout->tiles[n];
    for (int32_t d = 0; d < tile->rank; ++d) {
      if (tile->dims[d] == RLO_TILE_COMBINE) {
        return 0;
      }
    }
    /* Later tiles may cut the first one, but not what is around it. */
    if (tile->rank > layout->tiles[0].rank || tile->rank > array->rank) {
      return 0;
    }
    if (n == 0 && tile->rank == array->rank) {
      grain = tile->dims[0];
    }
  }
  int64_t whole_bytes = 8 / gcd(8, rlo_shape_element_size_bits(array));
  return grain > INT64_MAX / whole_bytes ? 0 : grain * whole_bytes;
}

static rlo_status make_whole(const rlo_shape *array, rlo__part *part) {
  *part = (rlo__part){.shape = *array};
  for (int32_t d = 0; d < array->rank; ++d) {
    part->limit[d] = array->dims[d];
  }
  return rlo_shape_array_size(array, &part->bytes);
}

/* Cuts the whole array to start <= index < limit in its most major dimension.
 * The padding behind it belongs to the end. */
static rlo_status cut(const rlo_shape *array,
                      int64_t start,
                      int64_t limit,
                      rlo__part *part) {
  int32_t major = array->layout.minor_to_major[array->rank - 1];
  rlo_status status = make_whole(array, part);
  part->start[major] = start;
  part->limit[major] = limit;
  part->shape.dims[major] = limit - start;
  if (array->layout.has_padded_dimensions) {
    part->shape.layout.padded_dimensions[major] =
        limit == array->dims[major]
            ? array->layout.padded_dimensions[major] - start
            : limit - start;
  }
  part->bytes = 0;
  return status != RLO_OK || start == limit
             ? status
             : rlo_shape_array_size(&part->shape, &part->bytes);
}

rlo_status rlo__part_make(const rlo_shape *array,
                          int num_ranks,
                          int rank,
                          rlo__part *out_part) {
  int64_t grain = find_grain(array);
  int64_t size =
      grain == 0 ? 0
                 : array->dims[array->layout.minor_to_major[array->rank - 1]];
  if (size <= grain) {
    rlo_status status = make_whole(array, out_part);
    out_part->bytes = rank == 0 ? out_part->bytes : 0;
    return status;
  }
  int64_t grains = (size - 1) / grain + 1;
  int64_t step = ((grains - 1) / num_ranks + 1) * grain;
  int64_t start = rank > (size - 1) / step ? size : rank * step;
  int64_t limit = size - start < step ? size : start + step;
  rlo__part before;
  rlo_status status = cut(array, 0, start, &before);
  if (status == RLO_OK) {
    status = cut(array, start, limit, out_part);
  }
  out_part->offset_bytes = before.bytes;
  return status;
}
