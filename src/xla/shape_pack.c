/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/shape_pack.h"

#include <string.h>

/* Reads or writes. One list of fields serves both directions, so that they
 * cannot differ. */
typedef struct codec {
  /* Output; NULL to read. */
  uint8_t *sink;
  /* Input; NULL to write. */
  const uint8_t *source;
  size_t count;
} codec;

/* Varint: seven bits a byte, low bits first. The sign is the lowest bit, so
 * that small values of both signs are short. */
static void code(codec *c, int64_t *value) {
  if (c->sink != NULL) {
    uint64_t bits = (uint64_t)*value << 1;
    bits = *value < 0 ? ~bits : bits;
    while (bits >= 0x80) {
      c->sink[c->count++] = (uint8_t)(bits | 0x80);
      bits >>= 7;
    }
    c->sink[c->count++] = (uint8_t)bits;
    return;
  }
  uint64_t bits = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint8_t byte = c->source[c->count++];
    bits |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      break;
    }
  }
  uint64_t magnitude = bits >> 1;
  *value = (bits & 1) != 0 ? -(int64_t)magnitude - 1 : (int64_t)magnitude;
}

static void code_int32(codec *c, int32_t *value) {
  int64_t wide = *value;
  code(c, &wide);
  *value = (int32_t)wide;
}

static void code_bool(codec *c, bool *value) {
  int64_t wide = *value;
  code(c, &wide);
  *value = wide != 0;
}

static void code_list(codec *c, int64_t *values, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    code(c, &values[i]);
  }
}

static void code_dense(codec *c, rlo_layout *layout, int32_t rank) {
  for (int32_t i = 0; i < rank; ++i) {
    code_int32(c, &layout->minor_to_major[i]);
  }
  code_bool(c, &layout->has_padded_dimensions);
  if (layout->has_padded_dimensions) {
    code_list(c, layout->padded_dimensions, rank);
  }
  int32_t fill = (int32_t)layout->fill;
  code_int32(c, &fill);
  layout->fill = (rlo_fill)fill;
  if (layout->fill == RLO_FILL_BITS) {
    for (size_t i = 0; i < sizeof layout->fill_bits; ++i) {
      int64_t wide = layout->fill_bits[i];
      code(c, &wide);
      layout->fill_bits[i] = (uint8_t)wide;
    }
  }
  code_int32(c, &layout->num_tiles);
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    code_int32(c, &layout->tiles[t].rank);
    code_list(c, layout->tiles[t].dims, layout->tiles[t].rank);
  }
  code(c, &layout->tail_alignment_elems);
  code_int32(c, &layout->num_split_configs);
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    rlo_split_config *split = &layout->split_configs[s];
    code_int32(c, &split->dimension);
    code_int32(c, &split->num_indices);
    code_list(c, split->indices, split->num_indices);
  }
}

static void code_shape(codec *c, rlo_shape *shape) {
  int32_t dtype = (int32_t)shape->dtype;
  code_int32(c, &dtype);
  shape->dtype = (rlo_dtype)dtype;
  code_int32(c, &shape->rank);
  code_list(c, shape->dims, shape->rank);
  for (int32_t k = 0; k < shape->rank; ++k) {
    code_bool(c, &shape->is_dynamic[k]);
  }

  rlo_layout *layout = &shape->layout;
  int32_t kind = (int32_t)layout->kind;
  code_int32(c, &kind);
  layout->kind = (rlo_layout_kind)kind;
  code(c, &layout->element_size_bits);
  code(c, &layout->memory_space);
  code(c, &layout->metadata_prefix_bytes);
  if (layout->kind == RLO_LAYOUT_STRIDED) {
    code_list(c, layout->strides_elems, shape->rank);
    code(c, &layout->offset_elems);
  } else {
    code_dense(c, layout, shape->rank);
  }
}

size_t rlo__shape_pack(const rlo_shape *shape,
                       uint8_t out_bytes[RLO__SHAPE_PACK_MAX_BYTES]) {
  rlo_shape copy = *shape;
  codec c = {.sink = out_bytes};
  code_shape(&c, &copy);
  return c.count;
}

size_t rlo__shape_unpack(const uint8_t *bytes, rlo_shape *out_shape) {
  codec c = {.source = bytes};
  memset(out_shape, 0, sizeof *out_shape);
  code_shape(&c, out_shape);
  return c.count;
}
