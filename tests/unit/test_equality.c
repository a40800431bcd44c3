/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/xla/layout_util.h"
#include "support/suite.h"

static const int64_t dims[] = {4, 6};

/* A shape with something in every field of a dense layout. */
static rlo_shape full_shape(void) {
  rlo_layout layout = rlo_layout_row_major(2);
  layout.has_padded_dimensions = true;
  layout.padded_dimensions[0] = 4;
  layout.padded_dimensions[1] = 8;
  layout.fill = RLO_FILL_BITS;
  layout.fill_bits[0] = 7;
  ck_assert_int_eq(rlo_layout_add_tile(&layout, (int64_t[]){2, 4}, 2), RLO_OK);
  layout.tail_alignment_elems = 8;
  layout.element_size_bits = 64;
  layout.memory_space = 300;
  layout.metadata_prefix_bytes = 16;
  ck_assert_int_eq(rlo_layout_add_split(&layout, 1, (int64_t[]){2, 5}, 2), RLO_OK);
  rlo_shape shape;
  ck_assert_msg(rlo_shape_make_with_layout(RLO_DTYPE_F32, dims, 2, &layout, &shape) == RLO_OK, "%s",
                rlo_error_last()->message);
  return shape;
}

/* Change one thing, which the bits pass over. */
static uint32_t change(rlo_shape *shape, int thing) {
  rlo_layout *layout = &shape->layout;
  switch (thing) {
    case 0:
      layout->tiles[0].dims[0] = 4;
      return RLO_EQUAL_IGNORE_TILES;
    case 1:
      layout->num_tiles = 0;
      return RLO_EQUAL_IGNORE_TILES;
    case 2:
      layout->tail_alignment_elems = 1;
      return RLO_EQUAL_IGNORE_TAIL_PADDING;
    case 3:
      layout->element_size_bits = 0;
      return RLO_EQUAL_IGNORE_ELEMENT_SIZE;
    case 4:
      layout->memory_space += 256;
      return RLO_EQUAL_IGNORE_MEMORY_SPACE;
    case 5:
      layout->split_configs[0].indices[1] = 4;
      return RLO_EQUAL_IGNORE_SPLIT_CONFIGS;
    case 6:
      layout->split_configs[0].dimension = 0;
      return RLO_EQUAL_IGNORE_SPLIT_CONFIGS;
    case 7:
      layout->num_split_configs = 0;
      return RLO_EQUAL_IGNORE_SPLIT_CONFIGS;
    case 8:
      layout->metadata_prefix_bytes = 0;
      return RLO_EQUAL_IGNORE_METADATA_PREFIX;
    case 9:
      layout->index_dtype = RLO_DTYPE_U32;
      return RLO_EQUAL_IGNORE_INDEX_DTYPE;
    case 10:
      layout->pointer_dtype = RLO_DTYPE_U32;
      return RLO_EQUAL_IGNORE_POINTER_DTYPE;
    case 11:
      layout->padded_dimensions[1] = 12;
      return RLO_EQUAL_IGNORE_PADDING;
    case 12:
      layout->fill = RLO_FILL_ZERO;
      return RLO_EQUAL_IGNORE_FILL;
    case 13:
      layout->minor_to_major[0] = 0;
      layout->minor_to_major[1] = 1;
      return RLO_EQUAL_IGNORE_LAYOUT;
    case 14:
      layout->kind = RLO_LAYOUT_STRIDED;
      return RLO_EQUAL_IGNORE_LAYOUT;
    case 15:
      shape->dtype = RLO_DTYPE_S32;
      return RLO_EQUAL_IGNORE_ELEMENT_TYPE;
    case 16:
      shape->dtype = RLO_DTYPE_BF16;
      return RLO_EQUAL_IGNORE_FP_PRECISION;
    case 17:
      shape->is_dynamic[1] = true;
      return RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS;
    case 18:
      shape->dims[0] = 3;
      return RLO_EQUAL_IGNORE_DIMENSIONS;
    default:
      ck_abort_msg("no thing %d", thing);
  }
}

enum { NUM_THINGS = 19, NUM_LAYOUT_THINGS = 13 };

RLO_LOOP_TEST(test_equality__each_thing_counts_unless_ignored, 0, NUM_THINGS) {
  rlo_shape a = full_shape();
  rlo_shape b = a;
  uint32_t ignore = change(&b, _i);
  ck_assert(rlo_shape_equal(&a, &a));
  ck_assert(!rlo_shape_equal(&a, &b));
  ck_assert(!rlo_shape_equal(&b, &a));
  /* Passing over every other part of the layout does not help. */
  ck_assert(!rlo_shape_equal_with(&a, &b, RLO_EQUAL_MINOR_TO_MAJOR_ONLY & ~ignore));
  ck_assert(rlo_shape_equal_with(&a, &b, ignore));
  ck_assert(rlo_shape_equal_with(&b, &a, ignore));
  ck_assert(rlo_shape_hash(&a) != rlo_shape_hash(&b));
}

RLO_TEST(test_equality__minor_to_major_only) {
  rlo_shape a = full_shape();
  rlo_shape b = a;
  for (int thing = 0; thing < NUM_LAYOUT_THINGS; ++thing) {
    change(&b, thing);
  }
  ck_assert(rlo_layout_equal_with(&a.layout, &b.layout, 2, RLO_EQUAL_MINOR_TO_MAJOR_ONLY));
  ck_assert(rlo_shape_equal_with(&a, &b, RLO_EQUAL_MINOR_TO_MAJOR_ONLY));
  change(&b, 13);
  ck_assert(!rlo_layout_equal_with(&a.layout, &b.layout, 2, RLO_EQUAL_MINOR_TO_MAJOR_ONLY));
}

RLO_TEST(test_equality__fp_precision_is_of_floats_only) {
  rlo_shape a = full_shape();
  rlo_shape b = a;
  b.dtype = RLO_DTYPE_S32;
  ck_assert(!rlo_shape_equal_with(&a, &b, RLO_EQUAL_IGNORE_FP_PRECISION));
  a.dtype = RLO_DTYPE_C64;
  ck_assert(!rlo_shape_equal_with(&a, &b, RLO_EQUAL_IGNORE_FP_PRECISION));
}

/* XLA: dynamic flags that differ make unequal, but compatible. */
RLO_TEST(test_equality__compatible_ignores_layouts_and_dynamic_flags) {
  rlo_shape a = full_shape();
  rlo_shape b = a;
  change(&b, 17);
  ck_assert(rlo_shape_compatible(&a, &b));
  change(&b, 14);
  ck_assert(rlo_shape_compatible(&a, &b));
  ck_assert(!rlo_shape_equal(&a, &b));
  change(&b, 18);
  ck_assert(!rlo_shape_compatible(&a, &b));
}

RLO_TEST(test_equality__ranks_always_count) {
  rlo_shape a = full_shape();
  rlo_shape b = a;
  b.rank = 1;
  ck_assert(!rlo_shape_equal_with(&a, &b, RLO_EQUAL_IGNORE_DIMENSIONS | RLO_EQUAL_IGNORE_LAYOUT));
  ck_assert(!rlo_shape_same_dims(&a, &b));
  b.rank = 2;
  ck_assert(rlo_shape_same_dims(&a, &b));
}

RLO_TEST(test_equality__equal_shapes_hash_equal) {
  rlo_shape a;
  rlo_shape b;
  memset(&a, 0, sizeof a);
  memset(&b, 0xff, sizeof b);
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &a), RLO_OK);
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &b), RLO_OK);
  b.layout.tail_alignment_elems = 1;
  b.layout.padded_dimensions[0] = 99;
  b.layout.strides_elems[0] = 99;
  b.dims[2] = 99;
  ck_assert(rlo_shape_equal(&a, &b));
  ck_assert_uint_eq(rlo_shape_hash(&a), rlo_shape_hash(&b));
  ck_assert_uint_eq(rlo_layout_hash(&a.layout, 2), rlo_layout_hash(&b.layout, 2));
}
