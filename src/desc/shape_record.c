/* SPDX-License-Identifier: Apache-2.0 */
#include "desc/shape_record.h"

#include <string.h>

#include "base/hash.h"
#include "base/status.h"
#include "relayout/compare.h"

/* Writes or reads a record, or compares a shape with another one. One list of
 * fields serves all three, so that they cannot differ. */
typedef struct codec {
  /* Output; NULL unless a record is written. */
  int64_t *sink;
  /* Input; NULL unless a record is read. */
  const int64_t *source;
  size_t count;
  /* For comparisons: the distance in bytes to the same field of the other shape. */
  uintptr_t distance;
  bool differs;
  /* RLO_EQUAL_* bits: the fields that are not compared. */
  uint32_t ignore;
} codec;

/* Fields of at most 8 bytes each. Only reading changes them, so that threads
 * may share shapes. */
static inline void code_list(codec *c, void *fields, int32_t count, size_t bytes) {
  char *field = fields;
  if (c->sink == NULL && c->source == NULL) {
    const void *others = (const void *)((uintptr_t)fields + c->distance);
    c->differs |= memcmp(fields, others, (size_t)count * bytes) != 0;
    return;
  }
  for (int32_t i = 0; i < count; ++i, field += bytes) {
    if (c->sink != NULL) {
      int64_t number = 0;
      memcpy(&number, field, bytes);
      c->sink[c->count++] = number;
    } else {
      memcpy(field, &c->source[c->count++], bytes);
    }
  }
}

static inline void code(codec *c, void *field, size_t bytes) {
  code_list(c, field, 1, bytes);
}

static bool is_counted(const codec *c, uint32_t flag) {
  return (c->ignore & flag) == 0;
}

static void code_tiles(codec *c, rlo_layout *layout) {
  code(c, &layout->num_tiles, sizeof layout->num_tiles);
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    rlo_tile *tile = &layout->tiles[t];
    code(c, &tile->rank, sizeof tile->rank);
    code_list(c, tile->dims, tile->rank, sizeof tile->dims[0]);
  }
}

static void code_splits(codec *c, rlo_layout *layout) {
  code(c, &layout->num_split_configs, sizeof layout->num_split_configs);
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    rlo_split_config *split = &layout->split_configs[s];
    code(c, &split->dimension, sizeof split->dimension);
    code(c, &split->num_indices, sizeof split->num_indices);
    code_list(c, split->indices, split->num_indices, sizeof split->indices[0]);
  }
}

static void code_fill(codec *c, rlo_layout *layout) {
  code(c, &layout->fill, sizeof layout->fill);
  if (layout->fill == RLO_FILL_BITS) {
    code(c, layout->fill_bits, sizeof layout->fill_bits / 2);
    code(c, layout->fill_bits + 8, sizeof layout->fill_bits / 2);
  }
}

/* A tail alignment of 1 is the same as none. */
static int64_t tail_of(const rlo_layout *layout) {
  return layout->tail_alignment_elems == 1 ? 0 : layout->tail_alignment_elems;
}

static void code_tail(codec *c, rlo_layout *layout) {
  if (c->sink != NULL) {
    c->sink[c->count++] = tail_of(layout);
  } else if (c->source != NULL) {
    layout->tail_alignment_elems = c->source[c->count++];
  } else {
    c->differs |= tail_of(layout) != tail_of((const rlo_layout *)((uintptr_t)layout + c->distance));
  }
}

static void code_dense(codec *c, rlo_layout *layout, int32_t rank) {
  code_list(c, layout->minor_to_major, rank, sizeof layout->minor_to_major[0]);
  if (is_counted(c, RLO_EQUAL_IGNORE_PADDING)) {
    code(c, &layout->has_padded_dimensions, sizeof layout->has_padded_dimensions);
    code_list(c, layout->padded_dimensions, layout->has_padded_dimensions ? rank : 0,
              sizeof layout->padded_dimensions[0]);
  }
  if (is_counted(c, RLO_EQUAL_IGNORE_FILL)) {
    code_fill(c, layout);
  }
  if (is_counted(c, RLO_EQUAL_IGNORE_TILES)) {
    code_tiles(c, layout);
  }
  if (is_counted(c, RLO_EQUAL_IGNORE_TAIL_PADDING)) {
    code_tail(c, layout);
  }
  if (is_counted(c, RLO_EQUAL_IGNORE_SPLIT_CONFIGS)) {
    code_splits(c, layout);
  }
}

static void code_unless(codec *c, uint32_t flag, void *field, size_t bytes) {
  if (is_counted(c, flag)) {
    code(c, field, bytes);
  }
}

static void code_layout(codec *c, rlo_layout *layout, int32_t rank) {
  code(c, &layout->kind, sizeof layout->kind);
  code_unless(c, RLO_EQUAL_IGNORE_ELEMENT_SIZE, &layout->element_size_bits,
              sizeof layout->element_size_bits);
  code_unless(c, RLO_EQUAL_IGNORE_MEMORY_SPACE, &layout->memory_space, sizeof layout->memory_space);
  code_unless(c, RLO_EQUAL_IGNORE_METADATA_PREFIX, &layout->metadata_prefix_bytes,
              sizeof layout->metadata_prefix_bytes);
  code_unless(c, RLO_EQUAL_IGNORE_INDEX_DTYPE, &layout->index_dtype, sizeof layout->index_dtype);
  code_unless(c, RLO_EQUAL_IGNORE_POINTER_DTYPE, &layout->pointer_dtype,
              sizeof layout->pointer_dtype);
  if (layout->kind == RLO_LAYOUT_STRIDED) {
    code_list(c, layout->strides_elems, rank, sizeof layout->strides_elems[0]);
    code(c, &layout->offset_elems, sizeof layout->offset_elems);
  } else {
    code_dense(c, layout, rank);
  }
}

static void code_shape(codec *c, rlo_shape *shape) {
  code(c, &shape->rank, sizeof shape->rank);
  code_unless(c, RLO_EQUAL_IGNORE_ELEMENT_TYPE | RLO_EQUAL_IGNORE_FP_PRECISION, &shape->dtype,
              sizeof shape->dtype);
  if (is_counted(c, RLO_EQUAL_IGNORE_DIMENSIONS)) {
    code_list(c, shape->dims, shape->rank, sizeof shape->dims[0]);
  }
  if (is_counted(c, RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS)) {
    code_list(c, shape->is_dynamic, shape->rank, sizeof shape->is_dynamic[0]);
  }
  if (is_counted(c, RLO_EQUAL_IGNORE_LAYOUT)) {
    code_layout(c, &shape->layout, shape->rank);
  }
}

size_t rlo__shape_record(const rlo_shape *shape, int64_t out_record[RLO__SHAPE_RECORD_MAX]) {
  codec c = {.sink = out_record};
  code_shape(&c, (rlo_shape *)(uintptr_t)shape);
  return c.count;
}

void rlo__shape_from_record(const int64_t *record, rlo_shape *out_shape) {
  codec c = {.source = record};
  memset(out_shape, 0, sizeof *out_shape);
  code_shape(&c, out_shape);
}

/* -------------------------------------------------------- equality and hash */

bool rlo_layout_equal_with(const rlo_layout *a, const rlo_layout *b, int32_t rank,
                           uint32_t ignore) {
  RLO_REQUIRE_OR(false, a, b);
  codec c = {.distance = (uintptr_t)b - (uintptr_t)a, .ignore = ignore};
  code_layout(&c, (rlo_layout *)(uintptr_t)a, rank);
  return !c.differs;
}

bool rlo_layout_equal(const rlo_layout *a, const rlo_layout *b, int32_t rank) {
  return rlo_layout_equal_with(a, b, rank, 0);
}

bool rlo_shape_same_dims(const rlo_shape *a, const rlo_shape *b) {
  return rlo_shape_equal_with(a, b,
                              RLO_EQUAL_IGNORE_LAYOUT | RLO_EQUAL_IGNORE_ELEMENT_TYPE |
                                  RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS);
}

bool rlo_shape_same_dtype_ignoring_fp_precision(const rlo_shape *a, const rlo_shape *b) {
  RLO_REQUIRE_OR(false, a, b);
  return a->dtype == b->dtype ||
         (rlo_dtype_is_floating(a->dtype) && rlo_dtype_is_floating(b->dtype));
}

bool rlo_shape_equal_with(const rlo_shape *a, const rlo_shape *b, uint32_t ignore) {
  RLO_REQUIRE_OR(false, a, b);
  const bool is_precision_ignored = (ignore & RLO_EQUAL_IGNORE_FP_PRECISION) != 0 &&
                                    (ignore & RLO_EQUAL_IGNORE_ELEMENT_TYPE) == 0;
  if (is_precision_ignored && !rlo_shape_same_dtype_ignoring_fp_precision(a, b)) {
    return false;
  }
  codec c = {.distance = (uintptr_t)b - (uintptr_t)a, .ignore = ignore};
  code_shape(&c, (rlo_shape *)(uintptr_t)a);
  return !c.differs;
}

bool rlo_shape_equal(const rlo_shape *a, const rlo_shape *b) {
  return rlo_shape_equal_with(a, b, 0);
}

bool rlo_shape_compatible(const rlo_shape *a, const rlo_shape *b) {
  return rlo_shape_equal_with(a, b, RLO_EQUAL_IGNORE_LAYOUT | RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS);
}

static uint64_t hash_record(uint64_t seed, const int64_t *record, size_t count) {
  rlo__hash hash = rlo__hash_init(seed);
  for (size_t i = 0; i < count; ++i) {
    rlo__hash_i64(&hash, record[i]);
  }
  return rlo__hash_finish_u64(&hash);
}

uint64_t rlo_layout_hash(const rlo_layout *layout, int32_t rank) {
  RLO_REQUIRE_OR(0, layout);
  int64_t record[RLO__SHAPE_RECORD_MAX];
  codec c = {.sink = record};
  code_layout(&c, (rlo_layout *)(uintptr_t)layout, rank);
  return hash_record(0x6c61796f7574, record, c.count);
}

uint64_t rlo_shape_hash(const rlo_shape *shape) {
  RLO_REQUIRE_OR(0, shape);
  int64_t record[RLO__SHAPE_RECORD_MAX];
  size_t count = rlo__shape_record(shape, record);
  return hash_record(0x7368617065, record, count);
}
