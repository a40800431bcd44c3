/* SPDX-License-Identifier: Apache-2.0 */

/* Arrays, layouts and tiles as messages. */

#include <string.h>

#include "base/alloc.h"
#include "relayout/xla/proto.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"
#include "unit/proto_bytes.h"

static const rlo_proto_options padded = {sizeof padded, true, NULL};

/* Messages as protobuf writes them, and the arrays they are. */
static const struct {
  const char *bytes;
  size_t size_bytes;
  const char *text;
} messages[] = {
    {BYTES("\x10\x0b\x2a\x00"), "f32[]"},
    {BYTES("\x10\x0b\x1a\x02\x02\x03\x2a\x04\x0a\x02\x01\x00\x32\x02\x00\x00"), "f32[2,3]{1,0}"},
    {BYTES("\x10\x10\x1a\x03\x80\x02\x05\x2a\x04\x0a\x02\x00\x01"
           "\x32\x02\x00\x01"),
     "bf16[256,<=5]{0,1}"},
    {BYTES("\x10\x08\x1a\x0a" MIN64 "\x2a\x03\x0a\x01\x00\x32\x01\x01"), "u32[?]{0}"},
    /* Padding of 2017: fields 2 and 3 of the layout. */
    {BYTES("\x10\x0b\x1a\x02\x02\x03"
           "\x2a\x0a\x0a\x02\x00\x01\x12\x02\x03\x05\x18\x01"
           "\x32\x02\x00\x00"),
     "f32[2,3]{0,1:pad(3,5)fill(zero)}"},
    {BYTES("\x10\x0b\x1a\x01\x03\x2a\x05\x0a\x01\x00\x18\x05\x32\x01\x00"),
     "f32[3]{0:fill(unknown)}"},
    /* Tiles, the combining one with INT64_MIN. */
    {BYTES("\x10\x10\x1a\x02\x08\x08\x2a\x19\x0a\x02\x01\x00"
           "\x32\x0d\x0a\x0b" MIN64 "\x04"
           "\x32\x04\x0a\x02\x02\x01"
           "\x32\x02\x00\x00"),
     "bf16[8,8]{1,0:T(*,4)(2,1)}"},
    /* Element size, memory space, metadata prefix, tail, splits. */
    {BYTES("\x10\x15\x1a\x01\x09\x2a\x13\x0a\x01\x00\x38\x04\x40\x05\x78\x10"
           "\x80\x01\x20\x8a\x01\x04\x12\x02\x03\x06"
           "\x32\x01\x00"),
     "s4[9]{0:L(32)E(4)S(5)SC(0:3,6)M(16)}"},
};

RLO_TABLE_TEST(test_proto__reads_and_writes_arrays, messages) {
  rlo_shape shape;
  expect_ok(parse_exact_shape(messages[_i].bytes, messages[_i].size_bytes, &shape));
  ck_assert_str_eq(test_text_of(&shape), messages[_i].text);
  char written[256];
  size_t count = 0;
  expect_ok(rlo_proto_format_shape(&shape, &padded, written, sizeof written, &count));
  ck_assert_uint_eq(count, messages[_i].size_bytes);
  ck_assert_mem_eq(written, messages[_i].bytes, count);
}

/* Other ways to say it, which are legal too. */
static const struct {
  const char *bytes;
  size_t size_bytes;
  const char *text;
} other_ways[] = {
    {BYTES("\x10\x0b"), "f32[]"},
    /* No layout, and no flags. */
    {BYTES("\x10\x0b\x1a\x02\x02\x03"), "f32[2,3]{1,0}"},
    /* Numbers one by one, fields in another order. */
    {BYTES("\x18\x02\x18\x03\x2a\x04\x08\x00\x08\x01\x10\x0b"), "f32[2,3]{0,1}"},
    /* Numbers longer than they need to be. */
    {BYTES("\x10\x8b\x00\x1a\x03\x82\x80\x00"), "f32[2]{0}"},
    /* Said twice: the last one counts. */
    {BYTES("\x10\x0b\x10\x08"), "u32[]"},
    /* A combining tile by the documentation. */
    {BYTES("\x10\x0b\x1a\x02\x08\x08\x2a\x13\x0a\x02\x01\x00"
           "\x32\x0d\x0a\x0b" MINUS_ONE "\x04"),
     "f32[8,8]{1,0:T(*,4)}"},
    /* The element size of the type; a tail of 1. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x08\x0a\x01\x00\x38\x20\x80\x01\x01"), "f32[2]{0}"},
    /* format DENSE, dim_level_types DENSE, dim_unique, dim_ordered. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0e\x0a\x01\x00\x20\x01\x4a\x01\x00"
           "\x6a\x01\x01\x72\x01\x01"),
     "f32[2]{0}"},
    /* Unknown fields of each wire type. */
    {BYTES("\x10\x0b\xa0\x06\x01\xa1\x06"
           "12345678\xa2\x06\x02\xff\xff\xa5\x06"
           "1234"),
     "f32[]"},
};

RLO_TABLE_TEST(test_proto__reads_other_ways, other_ways) {
  rlo_shape shape;
  expect_ok(parse_exact_shape(other_ways[_i].bytes, other_ways[_i].size_bytes, &shape));
  ck_assert_str_eq(test_text_of(&shape), other_ways[_i].text);
}

static const struct {
  const char *text;
  bool has_padding_fields;
} not_written[] = {
    {"f32[2,3]{1,0:pad(3,5)fill(zero)}", false}, {"f32[2,3]{1,0:pad(3,5)}", false},
    {"f32[2,3]{1,0:T(2,2)fill(zero)}", false},   {"f32[2,3]{1,0:pad(3,5)fill(0x7fc00000)}", true},
    {"f32[2,3]{:strides(8,1)}", true},
};

RLO_TABLE_TEST(test_proto__does_not_write_what_it_cannot_say, not_written) {
  rlo_shape shape = test_shape_of(not_written[_i].text);
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.has_padding_fields = not_written[_i].has_padding_fields;
  char bytes[256];
  size_t count = 0;
  int64_t live_count = rlo__alloc_live_count();
  ck_assert_int_eq(rlo_proto_format_shape(&shape, &options, bytes, sizeof bytes, &count),
                   RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

RLO_TEST(test_proto__tells_the_size_when_it_does_not_fit) {
  rlo_shape shape = test_shape_of("f32[2,3]{1,0}");
  char bytes[16];
  memset(bytes, 0x5a, sizeof bytes);
  size_t count = 0;
  ck_assert_int_eq(rlo_proto_format_shape(&shape, NULL, NULL, 0, &count), RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(count, 16);
  count = 0;
  ck_assert_int_eq(rlo_proto_format_shape(&shape, NULL, bytes, 15, &count), RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(count, 16);
  ck_assert_int_eq(bytes[0], 0x5a);
  expect_ok(rlo_proto_format_shape(&shape, NULL, bytes, 16, &count));
  shape.dims[0] = -1;
  ck_assert_int_eq(rlo_proto_format_shape(&shape, NULL, bytes, 16, &count), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_proto__reads_and_writes_tiles) {
  static const char *const bytes = "\x0a\x0d" MINUS_ONE "\x80\x01\x05";
  rlo_tile tile;
  expect_ok(rlo_proto_parse_tile(bytes, 15, &tile, NULL));
  ck_assert_int_eq(tile.rank, 3);
  ck_assert_int_eq(tile.dims[0], RLO_TILE_COMBINE);
  ck_assert_int_eq(tile.dims[1], 128);
  ck_assert_int_eq(tile.dims[2], 5);
  char written[32];
  size_t count = 0;
  expect_ok(rlo_proto_format_tile(&tile, NULL, written, sizeof written, &count));
  ck_assert_uint_eq(count, 15);
  ck_assert_mem_eq(written, "\x0a\x0d" MIN64 "\x80\x01\x05", 15);
  tile.dims[2] = 0;
  ck_assert_int_eq(rlo_proto_format_tile(&tile, NULL, written, sizeof written, &count),
                   RLO_INVALID_ARGUMENT);
  tile.rank = 33;
  ck_assert_int_eq(rlo_proto_format_tile(&tile, NULL, written, sizeof written, &count),
                   RLO_UNSUPPORTED);
}

RLO_TEST(test_proto__reads_and_writes_layouts) {
  static const char bytes[] = "\x0a\x02\x00\x01\x32\x04\x0a\x02\x08\x04";
  rlo_layout layout;
  int32_t rank = 0;
  expect_ok(rlo_proto_parse_layout(bytes, sizeof bytes - 1, &layout, &rank, NULL));
  ck_assert_int_eq(rank, 2);
  rlo_shape shape = test_shape_of("f32[9,9]{0,1:T(8,4)}");
  ck_assert(rlo_layout_equal(&layout, &shape.layout, 2));
  char written[32];
  size_t count = 0;
  expect_ok(rlo_proto_format_layout(&layout, 2, NULL, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
}

static rlo_status write_layout(const rlo_layout *layout, int32_t rank) {
  char bytes[512];
  size_t count = 0;
  return rlo_proto_format_layout(layout, rank, &padded, bytes, sizeof bytes, &count);
}

/* Layouts that no validation has seen. */
RLO_TEST(test_proto__does_not_write_broken_layouts) {
  enum { NUM_BROKEN = 8 };

  rlo_layout broken[NUM_BROKEN];
  rlo_layout good = rlo_layout_row_major(2);
  for (int n = 0; n < NUM_BROKEN; ++n) {
    broken[n] = good;
  }
  broken[0].minor_to_major[0] = 0;
  broken[1].num_tiles = -1;
  broken[2].num_tiles = 1;
  broken[3].num_tiles = RLO_MAX_TILES + 1;
  broken[4].num_split_configs = -1;
  broken[5].fill = (rlo_fill)7;
  broken[6].fill = (rlo_fill)-1;
  broken[7].num_split_configs = RLO_MAX_RANK + 1;
  for (int n = 0; n < NUM_BROKEN; ++n) {
    ck_assert_msg(write_layout(&broken[n], 2) == RLO_INVALID_ARGUMENT, "layout %d", n);
  }
  ck_assert_str_eq(rlo_error_last()->message, "a layout cannot have 0 tiles and 33 splits");
  ck_assert_int_eq(write_layout(&good, -1), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(write_layout(&good, 33), RLO_UNSUPPORTED);
  good.num_split_configs = 1;
  good.split_configs[0].num_indices = 1000;
  ck_assert_int_eq(write_layout(&good, 2), RLO_UNSUPPORTED);
}

/* Fields that this reader does not know, in the shape, the layout and both
 * tiles; format and dim_unique; in the order in which they are written again.
 */
static const char rich[] =
    "\x10\x0b\x1a\x02\x08\x09\x2a\x22"
    "\x0a\x02\x01\x00\x20\x01"
    "\x32\x07\x0a\x02\x02\x02" FIELD_100("\x11") "\x32\x07\x0a\x02\x02\x01" FIELD_100(
        "\x12") "\x6a\x02\x01\x00" FIELD_100("\x13") "\x32\x02\x00\x00" FIELD_100("\x14");

RLO_TEST(test_proto__keeps_what_it_does_not_know) {
  char bytes[sizeof rich];
  memcpy(bytes, rich, sizeof rich);
  /* The length of the layout: all but 8 bytes before, 7 behind. */
  bytes[7] = (char)(sizeof rich - 1 - 8 - 7);
  rlo_shape shape;
  rlo_proto_origin *origin = NULL;
  expect_ok(rlo_proto_parse_shape(bytes, sizeof bytes - 1, &shape, &origin));
  ck_assert_str_eq(test_text_of(&shape), "f32[8,9]{1,0:T(2,2)(2,1)}");
  char written[256];
  size_t count = 0;
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.origin = origin;
  expect_ok(rlo_proto_format_shape(&shape, &options, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
  /* After an edit they are where their message still is. */
  shape.layout.num_tiles = 1;
  shape.dims[0] = 7;
  expect_ok(rlo_proto_format_shape(&shape, &options, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof bytes - 1 - 9);
  ck_assert_ptr_nonnull(memchr(written, 0x11, count));
  ck_assert_ptr_null(memchr(written, 0x12, count));
  ck_assert_ptr_nonnull(memchr(written, 0x13, count));
  ck_assert_ptr_nonnull(memchr(written, 0x14, count));
  /* An origin of another message is none. */
  ck_assert_int_eq(
      rlo_proto_format_layout(&shape.layout, 2, &options, written, sizeof written, &count),
      RLO_INVALID_ARGUMENT);
  options.origin = NULL;
  options.struct_size = sizeof options + 1;
  ck_assert_int_eq(rlo_proto_format_shape(&shape, &options, written, sizeof written, &count),
                   RLO_INVALID_ARGUMENT);
  rlo_proto_origin_release(origin);
  rlo_proto_origin_release(NULL);
}

/* Tiles and splits that are added after the message was read have no origin. */
RLO_TEST(test_proto__keeps_the_fields_of_tiles_and_splits_that_were_read) {
  static const char bytes[] = "\x0a\x02\x01\x00\x32\x07\x0a\x02\x02\x02" FIELD_100(
      "\x33") "\x8a\x01\x06\x12\x01\x03" FIELD_100("\x34");
  static const char expected[] =
      "\x0a\x02\x01\x00\x32\x07\x0a\x02\x02\x02" FIELD_100(
          "\x33") "\x32\x04\x0a\x02\x02\x01\x8a\x01\x06\x12\x01\x03"
      FIELD_100("\x34") "\x8a\x01\x05\x08\x01\x12\x01\x04";
  const int64_t tile_dims[] = {2, 1};
  const int64_t cut_point = 4;
  rlo_layout layout;
  int32_t rank = 0;
  rlo_proto_origin *origin = NULL;
  expect_ok(rlo_proto_parse_layout(bytes, sizeof bytes - 1, &layout, &rank, &origin));
  expect_ok(rlo_layout_add_tile(&layout, tile_dims, 2));
  expect_ok(rlo_layout_add_split(&layout, 1, &cut_point, 1));
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.origin = origin;
  char written[128];
  size_t count = 0;
  expect_ok(rlo_proto_format_layout(&layout, rank, &options, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof expected - 1);
  ck_assert_mem_eq(written, expected, count);
  rlo_proto_origin_release(origin);
}

RLO_TEST(test_proto__round_trips_arrays) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_PRED, RLO_DTYPE_S4, RLO_DTYPE_BF16, RLO_DTYPE_F64};
  test_random random = test_random_begin("proto");
  for (int32_t round = 0; round < 1000; ++round) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 5);
    int64_t dims[5];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 0, 300);
    }
    rlo_shape shape = test_random_shape(&random, dtypes[round % 4], dims, rank,
                                        TEST_PAD | TEST_TILE | TEST_COMBINE | TEST_TAIL);
    if (shape.layout.fill == RLO_FILL_BITS) {
      shape.layout.fill = RLO_FILL_HIGHEST;
    }
    /* No numbers are no padded_dimensions. */
    shape.layout.has_padded_dimensions &= rank > 0;
    for (int32_t k = 0; k < rank; ++k) {
      shape.is_dynamic[k] = test_random_once_in(&random, 3);
    }
    char bytes[4096];
    size_t count = 0;
    expect_ok(rlo_proto_format_shape(&shape, &padded, bytes, sizeof bytes, &count));
    rlo_shape again;
    expect_ok(parse_exact_shape(bytes, count, &again));
    ck_assert(rlo_shape_equal(&shape, &again));
  }
}
