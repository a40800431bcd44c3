/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/proto.h"
#include "relayout/text.h"
#include "support/random_shape.h"

/* Bytes of a string literal, NULs included. */
#define BYTES(literal) (literal), sizeof(literal) - 1
#define COUNT(table)   ((int)(sizeof(table) / sizeof(table)[0]))
/* INT64_MIN and -1 as varints. */
#define MIN64     "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
#define MINUS_ONE "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"

static const rlo_proto_options padded = {sizeof padded, true, NULL};

static rlo_shape shape_of(const char *text) {
  rlo_shape shape;
  ck_assert_int_eq(rlo_shape_parse(text, strlen(text), &shape), RLO_OK);
  return shape;
}

/* A copy of the exact size, so that a sanitizer sees a byte too many. */
static void *exact_copy(const void *bytes, size_t size_bytes) {
  void *copy = malloc(size_bytes > 0 ? size_bytes : 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, bytes, size_bytes);
  return copy;
}

static rlo_status parse_shape(const void *bytes,
                              size_t size_bytes,
                              rlo_shape *out_shape) {
  void *copy = exact_copy(bytes, size_bytes);
  rlo_status status = rlo_proto_parse_shape(copy, size_bytes, out_shape, NULL);
  free(copy);
  return status;
}

static void expect_text(const rlo_shape *shape, const char *expected) {
  char text[512];
  rlo_shape_format(shape, text, sizeof text);
  ck_assert_str_eq(text, expected);
}

/* --------------------------------------------------------------- one array */

/* Messages as protobuf writes them, and the arrays they are. */
static const struct {
  const char *bytes;
  size_t size_bytes;
  const char *text;
} messages[] = {
    {BYTES("\x10\x0b\x2a\x00"), "f32[]"},
    {BYTES("\x10\x0b\x1a\x02\x02\x03\x2a\x04\x0a\x02\x01\x00\x32\x02\x00\x00"),
     "f32[2,3]{1,0}"},
    {BYTES("\x10\x10\x1a\x03\x80\x02\x05\x2a\x04\x0a\x02\x00\x01"
           "\x32\x02\x00\x01"),
     "bf16[256,<=5]{0,1}"},
    {BYTES("\x10\x08\x1a\x0a" MIN64 "\x2a\x03\x0a\x01\x00\x32\x01\x01"),
     "u32[?]{0}"},
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

START_TEST(test_proto__reads_and_writes_arrays)
{
  rlo_shape shape;
  ck_assert_int_eq(
      parse_shape(messages[_i].bytes, messages[_i].size_bytes, &shape), RLO_OK);
  expect_text(&shape, messages[_i].text);
  char written[256];
  size_t count = 0;
  ck_assert_int_eq(
      rlo_proto_format_shape(&shape, &padded, written, sizeof written, &count),
      RLO_OK);
  ck_assert_uint_eq(count, messages[_i].size_bytes);
  ck_assert_mem_eq(written, messages[_i].bytes, count);
}

END_TEST

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
    {BYTES("\x18\x02\x18\x03\x2a\x04\x08\x00\x08\x01\x10\x0b"),
     "f32[2,3]{0,1}"},
    /* Numbers longer than they need to be. */
    {BYTES("\x10\x8b\x00\x1a\x03\x82\x80\x00"), "f32[2]{0}"},
    /* Said twice: the last one counts. */
    {BYTES("\x10\x0b\x10\x08"), "u32[]"},
    /* A combining tile by the documentation. */
    {BYTES("\x10\x0b\x1a\x02\x08\x08\x2a\x13\x0a\x02\x01\x00"
           "\x32\x0d\x0a\x0b" MINUS_ONE "\x04"),
     "f32[8,8]{1,0:T(*,4)}"},
    /* The element size of the type; a tail of 1. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x08\x0a\x01\x00\x38\x20\x80\x01\x01"),
     "f32[2]{0}"},
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

START_TEST(test_proto__reads_other_ways)
{
  rlo_shape shape;
  ck_assert_int_eq(
      parse_shape(other_ways[_i].bytes, other_ways[_i].size_bytes, &shape),
      RLO_OK);
  expect_text(&shape, other_ways[_i].text);
}

END_TEST

static const struct {
  const char *bytes;
  size_t size_bytes;
  rlo_status status;
} refused[] = {
    /* Cut off. */
    {BYTES("\x10"), RLO_DATA_LOSS},
    {BYTES("\x90"), RLO_DATA_LOSS},
    {BYTES("\x10\x8b"), RLO_DATA_LOSS},
    {BYTES("\x10\x0b\x1a\x02\x02"), RLO_DATA_LOSS},
    {BYTES("\x10\x0b\x1a\x01\x82"), RLO_DATA_LOSS},
    {BYTES("\x10\x0b\x1a\xff\xff\xff\xff\x0f"), RLO_DATA_LOSS},
    {BYTES("\x10\x0b\x1a\xff\xff\xff\xff\x7f"), RLO_DATA_LOSS},
    {BYTES("\x10\x0b\x2a\x03\x0a\x02\x01"), RLO_DATA_LOSS},
    {BYTES("\x10\x0b\xa1\x06"
           "1234567"),
     RLO_DATA_LOSS},
    {BYTES("\x10\x0b\xa5\x06"
           "123"),
     RLO_DATA_LOSS},
    /* Numbers that are too long. */
    {BYTES("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), RLO_PARSE},
    {BYTES("\x10\x0b\x1a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
     RLO_PARSE},
    {BYTES("\x10\x8b\x80\x80\x80\x10"), RLO_PARSE},
    {BYTES("\x10\x0b\x1a\x81\x80\x80\x80\x80\x00\x02"), RLO_PARSE},
    {BYTES("\x90\x80\x80\x80\x80\x00\x0b"), RLO_PARSE},
    /* Fields that cannot be. */
    {BYTES("\x00\x0b"), RLO_PARSE},
    {BYTES("\x12\x01\x0b"), RLO_PARSE},
    {BYTES("\x10\x0b\x28\x01"), RLO_PARSE},
    {BYTES("\x10\x0b\x19"
           "12345678"),
     RLO_PARSE},
    {BYTES("\x10\x0b\xa3\x06\xa4\x06"), RLO_PARSE},
    {BYTES("\x10\x0b\xa6\x06"), RLO_PARSE},
    /* Two layouts. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x02\x38\x28\x2a\x03\x0a\x01\x00"),
     RLO_UNSUPPORTED},
    /* Read well, and found wanting. */
    {BYTES(""), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\xd0\x0f"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10" MINUS_ONE), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0d"), RLO_UNSUPPORTED},
    {BYTES("\x10\x0e"), RLO_UNSUPPORTED},
    {BYTES("\x10\x11"), RLO_UNSUPPORTED},
    {BYTES("\x10\x22\x22\x02\x10\x0b"), RLO_UNSUPPORTED},
    {BYTES("\x10\x0b\x22\x02\x10\x0b"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x0a" MINUS_ONE), RLO_INVALID_ARGUMENT},
    /* Without a bound, but not dynamic. */
    {BYTES("\x10\x0b\x1a\x0a" MIN64), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x02\x02\x03\x32\x01\x00"), RLO_INVALID_ARGUMENT},
    /* 2^32 * 2^32 elements. */
    {BYTES("\x10\x0b\x1a\x0a\x80\x80\x80\x80\x10\x80\x80\x80\x80\x10"),
     RLO_OVERFLOW},
    /* minor_to_major of another rank, twice the same, out of range. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x00"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x02\x00\x03\x2a\x04\x0a\x02\x01\x01"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x07\x0a\x05\x80\x80\x80\x80\x10"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0c\x0a\x0a" MINUS_ONE),
     RLO_INVALID_ARGUMENT},
    /* padded_dimensions: too few, too small. padding_value 6, -1. */
    {BYTES("\x10\x0b\x1a\x02\x02\x03\x2a\x07\x0a\x02\x01\x00\x12\x01\x05"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x06\x0a\x01\x00\x12\x01\x01"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x18\x06"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0e\x0a\x01\x00\x18" MINUS_ONE),
     RLO_INVALID_ARGUMENT},
    /* A complex type has no lowest value. */
    {BYTES("\x10\x0f\x1a\x01\x02\x2a\x05\x0a\x01\x00\x18\x03"),
     RLO_UNSUPPORTED},
    /* Tiles: empty, 0, -2, `*` at the end. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x32\x00"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x08\x0a\x01\x00\x32\x03\x0a\x01\x00"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x11\x0a\x01\x00\x32\x0c\x0a\x0a"
           "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x11\x0a\x01\x00\x32\x0c\x0a\x0a" MIN64),
     RLO_INVALID_ARGUMENT},
    /* Element size -1, 16; tail -1; metadata prefix -1. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0e\x0a\x01\x00\x38" MINUS_ONE),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x38\x10"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0f\x0a\x01\x00\x80\x01" MINUS_ONE),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0e\x0a\x01\x00\x78" MINUS_ONE),
     RLO_INVALID_ARGUMENT},
    /* Sparse: format, dim_level_types, physical_shape, index type. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x20\x02"),
     RLO_UNSUPPORTED},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x20\x03"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x06\x0a\x01\x00\x4a\x01\x01"),
     RLO_UNSUPPORTED},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x06\x0a\x01\x00\x4a\x01\x04"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x52\x00"),
     RLO_UNSUPPORTED},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x58\x08"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x60\x08"),
     RLO_INVALID_ARGUMENT},
    /* Splits: no cut point, beyond the size, of dimension 2^32. */
    {BYTES("\x10\x0b\x1a\x01\x09\x2a\x06\x0a\x01\x00\x8a\x01\x00"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x09\x2a\x09\x0a\x01\x00\x8a\x01\x03\x12\x01\x09"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x09\x2a\x0f\x0a\x01\x00\x8a\x01\x09"
           "\x08\x80\x80\x80\x80\x10\x12\x01\x03"),
     RLO_INVALID_ARGUMENT},
};

START_TEST(test_proto__refuses_messages)
{
  rlo_shape shape;
  memset(&shape, 0x5a, sizeof shape);
  const rlo_shape before = shape;
  ck_assert_int_eq(
      parse_shape(refused[_i].bytes, refused[_i].size_bytes, &shape),
      refused[_i].status);
  ck_assert_mem_eq(&shape, &before, sizeof shape);
}

END_TEST

START_TEST(test_proto__says_where)
{
  rlo_shape shape;
  ck_assert_int_eq(parse_shape(BYTES("\x10\x0b\x2a\x03\x0a\x02\x01"), &shape),
                   RLO_DATA_LOSS);
  ck_assert_str_eq(rlo_error_last()->message,
                   "byte 5: 2 bytes are promised, 1 are there");
  ck_assert_int_eq(parse_shape(BYTES("\x10\x0b\x28\x01"), &shape), RLO_PARSE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "byte 2: field 5 of ShapeProto cannot be of wire type 0");
  ck_assert_int_eq(rlo_proto_parse_shape(NULL, 3, &shape, NULL),
                   RLO_INVALID_ARGUMENT);
}

END_TEST

/* A field with so many bytes, at `bytes`; returns the place behind it. */
static unsigned char *put_field(unsigned char *bytes,
                                unsigned char tag,
                                size_t content_bytes) {
  *bytes++ = tag;
  for (; content_bytes >= 0x80; content_bytes >>= 7) {
    *bytes++ = (unsigned char)(content_bytes | 0x80);
  }
  *bytes++ = (unsigned char)content_bytes;
  return bytes;
}

START_TEST(test_proto__bounds_what_a_message_may_be)
{
  rlo_shape shape;
  rlo_shape_tree *tree = NULL;
  size_t size_bytes = (size_t)RLO_PROTO_MAX_BYTES + 1;
  unsigned char *bytes = calloc(size_bytes, 1);
  ck_assert_ptr_nonnull(bytes);
  /* Too long. */
  ck_assert_int_eq(rlo_proto_parse_shape(bytes, size_bytes, &shape, NULL),
                   RLO_UNSUPPORTED);
  /* Too many fields: elements without anything. */
  for (size_t i = 0; i + 2 < size_bytes; i += 2) {
    put_field(bytes + i, 0x22, 0);
  }
  ck_assert_int_eq(rlo_proto_parse_tree(bytes, size_bytes - 1, &tree, NULL),
                   RLO_UNSUPPORTED);
  /* More dimensions, tiles and cut points than there is room for. */
  unsigned char *end = put_field(bytes, 0x10, 0x0b);
  end = put_field(end, 0x1a, 33);
  memset(end, 1, 33);
  ck_assert_int_eq(
      rlo_proto_parse_shape(bytes, (size_t)(end - bytes) + 33, &shape, NULL),
      RLO_UNSUPPORTED);
  rlo_layout layout;
  int32_t rank;
  for (int i = 0; i < 9; ++i) {
    memcpy(bytes + (ptrdiff_t)5 * i, "\x32\x03\x0a\x01\x02", 5);
  }
  ck_assert_int_eq(rlo_proto_parse_layout(bytes, 40, &layout, &rank, NULL),
                   RLO_OK);
  ck_assert_int_eq(rlo_proto_parse_layout(bytes, 45, &layout, &rank, NULL),
                   RLO_UNSUPPORTED);
  rlo_tile tile;
  end = put_field(bytes, 0x0a, 33);
  memset(end, 1, 33);
  ck_assert_int_eq(rlo_proto_parse_tile(bytes, 35, &tile, NULL),
                   RLO_UNSUPPORTED);
  free(bytes);
}

END_TEST

/* Messages in messages, written from the innermost outwards. */
static size_t nest(unsigned char *bytes,
                   size_t capacity,
                   unsigned char tag,
                   const char *around,
                   int depth) {
  size_t around_bytes = strlen(around);
  size_t at = capacity;
  for (int i = 0; i < depth; ++i) {
    size_t content_bytes = capacity - at;
    unsigned char head[16];
    size_t head_bytes = (size_t)(put_field(head, tag, content_bytes) - head);
    at -= head_bytes;
    memcpy(bytes + at, head, head_bytes);
    at -= around_bytes;
    memcpy(bytes + at, around, around_bytes);
  }
  return at;
}

START_TEST(test_proto__bounds_the_depth)
{
  enum { CAPACITY = 1 << 20 };

  static unsigned char bytes[CAPACITY];
  rlo_shape_tree *tree = NULL;
  /* Tuples in tuples; the innermost message is empty. */
  for (int depth = 99; depth <= 100; ++depth) {
    size_t at = nest(bytes, CAPACITY, 0x22, "\x10\x0d", depth);
    ck_assert_int_eq(
        rlo_proto_parse_tree(bytes + at, CAPACITY - at, &tree, NULL),
        depth < 100 ? RLO_INVALID_ARGUMENT : RLO_UNSUPPORTED);
    ck_assert_ptr_null(tree);
  }
  size_t start = nest(bytes, CAPACITY, 0x22, "\x10\x0d", 100000);
  ck_assert_int_eq(
      rlo_proto_parse_tree(bytes + start, CAPACITY - start, &tree, NULL),
      RLO_UNSUPPORTED);
  /* The same with physical shapes of layouts. */
  rlo_layout layout;
  int32_t rank;
  start = CAPACITY;
  for (int i = 0; i < 60; ++i) {
    unsigned char head[16];
    for (int half = 0; half < 2; ++half) {
      size_t head_bytes =
          (size_t)(put_field(head, half == 0 ? 0x2a : 0x52, CAPACITY - start) -
                   head);
      start -= head_bytes;
      memcpy(bytes + start, head, head_bytes);
    }
  }
  ck_assert_int_eq(rlo_proto_parse_layout(
                       bytes + start, CAPACITY - start, &layout, &rank, NULL),
                   RLO_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "lie in each other"));
}

END_TEST

/* ----------------------------------------------------------- what is refused
 */

static const struct {
  const char *text;
  bool has_padding_fields;
} not_written[] = {
    {"f32[2,3]{1,0:pad(3,5)fill(zero)}", false},
    {"f32[2,3]{1,0:pad(3,5)}", false},
    {"f32[2,3]{1,0:T(2,2)fill(zero)}", false},
    {"f32[2,3]{1,0:pad(3,5)fill(0x7fc00000)}", true},
    {"f32[2,3]{:strides(8,1)}", true},
};

START_TEST(test_proto__does_not_write_what_it_cannot_say)
{
  rlo_shape shape = shape_of(not_written[_i].text);
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.has_padding_fields = not_written[_i].has_padding_fields;
  char bytes[256];
  size_t count = 0;
  int64_t live_count = rlo__alloc_live_count();
  ck_assert_int_eq(
      rlo_proto_format_shape(&shape, &options, bytes, sizeof bytes, &count),
      RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

END_TEST

START_TEST(test_proto__tells_the_size_when_it_does_not_fit)
{
  rlo_shape shape = shape_of("f32[2,3]{1,0}");
  char bytes[16];
  memset(bytes, 0x5a, sizeof bytes);
  size_t count = 0;
  ck_assert_int_eq(rlo_proto_format_shape(&shape, NULL, NULL, 0, &count),
                   RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(count, 16);
  count = 0;
  ck_assert_int_eq(rlo_proto_format_shape(&shape, NULL, bytes, 15, &count),
                   RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(count, 16);
  ck_assert_int_eq(bytes[0], 0x5a);
  ck_assert_int_eq(rlo_proto_format_shape(&shape, NULL, bytes, 16, &count),
                   RLO_OK);
  shape.dims[0] = -1;
  ck_assert_int_eq(rlo_proto_format_shape(&shape, NULL, bytes, 16, &count),
                   RLO_INVALID_ARGUMENT);
}

END_TEST

/* ----------------------------------------------------------- tiles, layouts */

START_TEST(test_proto__reads_and_writes_tiles)
{
  static const char *const bytes = "\x0a\x0d" MINUS_ONE "\x80\x01\x05";
  rlo_tile tile;
  ck_assert_int_eq(rlo_proto_parse_tile(bytes, 15, &tile, NULL), RLO_OK);
  ck_assert_int_eq(tile.rank, 3);
  ck_assert_int_eq(tile.dims[0], RLO_TILE_COMBINE);
  ck_assert_int_eq(tile.dims[1], 128);
  ck_assert_int_eq(tile.dims[2], 5);
  char written[32];
  size_t count = 0;
  ck_assert_int_eq(
      rlo_proto_format_tile(&tile, NULL, written, sizeof written, &count),
      RLO_OK);
  ck_assert_uint_eq(count, 15);
  ck_assert_mem_eq(written, "\x0a\x0d" MIN64 "\x80\x01\x05", 15);
  tile.dims[2] = 0;
  ck_assert_int_eq(
      rlo_proto_format_tile(&tile, NULL, written, sizeof written, &count),
      RLO_INVALID_ARGUMENT);
  tile.rank = 33;
  ck_assert_int_eq(
      rlo_proto_format_tile(&tile, NULL, written, sizeof written, &count),
      RLO_UNSUPPORTED);
}

END_TEST

START_TEST(test_proto__reads_and_writes_layouts)
{
  static const char bytes[] = "\x0a\x02\x00\x01\x32\x04\x0a\x02\x08\x04";
  rlo_layout layout;
  int32_t rank = 0;
  ck_assert_int_eq(
      rlo_proto_parse_layout(bytes, sizeof bytes - 1, &layout, &rank, NULL),
      RLO_OK);
  ck_assert_int_eq(rank, 2);
  rlo_shape shape = shape_of("f32[9,9]{0,1:T(8,4)}");
  ck_assert(rlo_layout_equal(&layout, &shape.layout, 2));
  char written[32];
  size_t count = 0;
  ck_assert_int_eq(rlo_proto_format_layout(
                       &layout, 2, NULL, written, sizeof written, &count),
                   RLO_OK);
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
}

END_TEST

/* Layouts that no validation has seen. */
START_TEST(test_proto__does_not_write_broken_layouts)
{
  rlo_layout layout = rlo_layout_row_major(2);
  int32_t rank = 2;
  rlo_status expected = RLO_INVALID_ARGUMENT;
  switch (_i) {
    case 0:
      layout.minor_to_major[0] = 0;
      break;
    case 1:
      layout.num_tiles = -1;
      break;
    case 2:
      layout.num_tiles = 1;
      break;
    case 3:
      layout.num_tiles = RLO_MAX_TILES + 1;
      break;
    case 4:
      layout.num_split_configs = -1;
      break;
    case 5:
      layout.num_split_configs = 1;
      layout.split_configs[0].num_indices = 1000;
      expected = RLO_UNSUPPORTED;
      break;
    case 6:
      layout.fill = (rlo_fill)7;
      break;
    case 7:
      rank = -1;
      break;
    default:
      rank = 33;
      expected = RLO_UNSUPPORTED;
      break;
  }
  char bytes[512];
  size_t count = 0;
  ck_assert_int_eq(rlo_proto_format_layout(
                       &layout, rank, &padded, bytes, sizeof bytes, &count),
                   expected);
}

END_TEST

/* ---------------------------------------------------------- unknown fields */

/* Field 100 with a number, in the shape, the layout and both tiles; format
 * and dim_unique; in the order in which they are written again. */
#define FIELD_100(byte) "\xa0\x06" byte

static const char rich[] =
    "\x10\x0b\x1a\x02\x08\x09\x2a\x22"
    "\x0a\x02\x01\x00\x20\x01"
    "\x32\x07\x0a\x02\x02\x02" FIELD_100("\x11")
    "\x32\x07\x0a\x02\x02\x01" FIELD_100("\x12")
    "\x6a\x02\x01\x00" FIELD_100("\x13")
    "\x32\x02\x00\x00" FIELD_100("\x14");

START_TEST(test_proto__keeps_what_it_does_not_know)
{
  char bytes[sizeof rich];
  memcpy(bytes, rich, sizeof rich);
  /* The length of the layout: all but 8 bytes before, 7 behind. */
  bytes[7] = (char)(sizeof rich - 1 - 8 - 7);
  rlo_shape shape;
  rlo_proto_origin *origin = NULL;
  ck_assert_int_eq(
      rlo_proto_parse_shape(bytes, sizeof bytes - 1, &shape, &origin), RLO_OK);
  expect_text(&shape, "f32[8,9]{1,0:T(2,2)(2,1)}");
  char written[256];
  size_t count = 0;
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.origin = origin;
  ck_assert_int_eq(
      rlo_proto_format_shape(&shape, &options, written, sizeof written, &count),
      RLO_OK);
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
  /* After an edit they are where their message still is. */
  shape.layout.num_tiles = 1;
  shape.dims[0] = 7;
  ck_assert_int_eq(
      rlo_proto_format_shape(&shape, &options, written, sizeof written, &count),
      RLO_OK);
  ck_assert_uint_eq(count, sizeof bytes - 1 - 9);
  ck_assert_ptr_nonnull(memchr(written, 0x11, count));
  ck_assert_ptr_null(memchr(written, 0x12, count));
  ck_assert_ptr_nonnull(memchr(written, 0x13, count));
  ck_assert_ptr_nonnull(memchr(written, 0x14, count));
  /* An origin of another message is none. */
  ck_assert_int_eq(
      rlo_proto_format_layout(
          &shape.layout, 2, &options, written, sizeof written, &count),
      RLO_INVALID_ARGUMENT);
  options.origin = NULL;
  options.struct_size = sizeof options + 1;
  ck_assert_int_eq(
      rlo_proto_format_shape(&shape, &options, written, sizeof written, &count),
      RLO_INVALID_ARGUMENT);
  rlo_proto_origin_release(origin);
  rlo_proto_origin_release(NULL);
}

END_TEST

/* -------------------------------------------------------- trees, programs */

static rlo_shape_tree *tree_of(const char *text) {
  rlo_shape_tree *tree = NULL;
  ck_assert_int_eq(rlo_shape_tree_parse(text, strlen(text), &tree), RLO_OK);
  return tree;
}

START_TEST(test_proto__reads_and_writes_tuples)
{
  /* (f32[2]{0}, (), token[], opaque[], b(s32[3]{0})) */
  static const char bytes[] =
      "\x10\x0d"
      "\x22\x0d\x10\x0b\x1a\x01\x02\x2a\x03\x0a\x01\x00\x32\x01\x00"
      "\x22\x02\x10\x0d"
      "\x22\x02\x10\x11"
      "\x22\x02\x10\x0e"
      "\x22\x11\x10\x22"
      "\x22\x0d\x10\x04\x1a\x01\x03\x2a\x03\x0a\x01\x00\x32\x01\x00";
  rlo_shape_tree *tree = NULL;
  ck_assert_int_eq(rlo_proto_parse_tree(bytes, sizeof bytes - 1, &tree, NULL),
                   RLO_OK);
  rlo_shape_tree *expected =
      tree_of("(f32[2], (), token[], opaque[], b(s32[3]))");
  ck_assert(rlo_shape_tree_equal(tree, expected));
  char written[256];
  size_t count = 0;
  ck_assert_int_eq(
      rlo_proto_format_tree(tree, NULL, written, sizeof written, &count),
      RLO_OK);
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
  rlo_shape_tree_release(tree);
  rlo_shape_tree_release(expected);
}

END_TEST

static const char *const trees[] = {
    "f32[]",
    "()",
    "token[]",
    "b(f32[8,16]{0,1:T(2,4)})",
    "((opaque[], f32[], u32[1,2]{1,0}, s32[3,4]{0,1}), u32[<=1,?], token[])",
    "(((((f32[3]{0:pad(5)fill(one)})))))",
};

START_TEST(test_proto__round_trips_trees)
{
  rlo_shape_tree *tree = tree_of(trees[_i]);
  char bytes[1024];
  size_t count = 0;
  ck_assert_int_eq(
      rlo_proto_format_tree(tree, &padded, bytes, sizeof bytes, &count),
      RLO_OK);
  rlo_shape_tree *again = NULL;
  ck_assert_int_eq(rlo_proto_parse_tree(bytes, count, &again, NULL), RLO_OK);
  ck_assert(rlo_shape_tree_equal(tree, again));
  rlo_shape_tree_release(tree);
  rlo_shape_tree_release(again);
}

END_TEST

static const struct {
  const char *bytes;
  size_t size_bytes;
  rlo_status status;
  const char *message;
} bad_trees[] = {
    {BYTES(""), RLO_INVALID_ARGUMENT, "0 is not an element_type"},
    {BYTES("\x10\x0d\x22\x02\x10\x11\x22\x06\x10\x0d\x22\x02\x10\x63"),
     RLO_INVALID_ARGUMENT,
     "element 1: element 0: 99 is not an element_type"},
    {BYTES("\x10\x0d\x1a\x01\x02"),
     RLO_INVALID_ARGUMENT,
     "a tuple cannot have dimensions"},
    {BYTES("\x10\x0d\x2a\x00"),
     RLO_INVALID_ARGUMENT,
     "a tuple cannot have a layout"},
    {BYTES("\x10\x11\x32\x01\x00"),
     RLO_INVALID_ARGUMENT,
     "a token cannot have dimensions"},
    {BYTES("\x10\x0e\x22\x02\x10\x0b"),
     RLO_INVALID_ARGUMENT,
     "an opaque value cannot have 1 tuple_shapes"},
    {BYTES("\x10\x22"),
     RLO_INVALID_ARGUMENT,
     "a buffer needs 1 of tuple_shapes, not 0"},
    {BYTES("\x10\x22\x22\x02\x10\x0b\x22\x02\x10\x0b"),
     RLO_INVALID_ARGUMENT,
     "a buffer needs 1 of tuple_shapes, not 2"},
    {BYTES("\x10\x22\x22\x02\x10\x0d"),
     RLO_INVALID_ARGUMENT,
     "13 is not an element_type"},
};

START_TEST(test_proto__refuses_trees)
{
  rlo_shape_tree *tree = NULL;
  rlo_proto_origin *origin = NULL;
  int64_t live_count = rlo__alloc_live_count();
  ck_assert_int_eq(
      rlo_proto_parse_tree(
          bad_trees[_i].bytes, bad_trees[_i].size_bytes, &tree, &origin),
      bad_trees[_i].status);
  ck_assert_str_eq(rlo_error_last()->message, bad_trees[_i].message);
  ck_assert_ptr_null(tree);
  ck_assert_ptr_null(origin);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

END_TEST

/* A tuple around a tuple, so many times. */
static rlo_shape_tree *nested_tuples(int depth) {
  char *text = malloc(2 * (size_t)depth + 16);
  ck_assert_ptr_nonnull(text);
  memset(text, '(', (size_t)depth);
  memcpy(text + depth, "f32[]", 5);
  memset(text + depth + 5, ')', (size_t)depth);
  text[2 * depth + 5] = '\0';
  rlo_shape_tree *tree = tree_of(text);
  free(text);
  return tree;
}

START_TEST(test_proto__writes_only_what_it_reads)
{
  static char bytes[1 << 16];
  size_t count = 0;
  rlo_shape_tree *tree = nested_tuples(95);
  rlo_shape_tree *again = NULL;
  ck_assert_int_eq(
      rlo_proto_format_tree(tree, NULL, bytes, sizeof bytes, &count), RLO_OK);
  ck_assert_int_eq(rlo_proto_parse_tree(bytes, count, &again, NULL), RLO_OK);
  ck_assert(rlo_shape_tree_equal(tree, again));
  rlo_shape_tree_release(tree);
  rlo_shape_tree_release(again);
  tree = nested_tuples(96);
  ck_assert_int_eq(
      rlo_proto_format_tree(tree, NULL, bytes, sizeof bytes, &count),
      RLO_UNSUPPORTED);
  rlo_shape_tree_release(tree);
  tree = nested_tuples(8000);
  ck_assert_int_eq(
      rlo_proto_format_tree(tree, NULL, bytes, sizeof bytes, &count),
      RLO_UNSUPPORTED);
  rlo_shape_tree_release(tree);
}

END_TEST

START_TEST(test_proto__reads_and_writes_programs)
{
  /* (x: f32[2], (unknown): token[]) -> (), with field 100 in several places */
  static const char bytes[] =
      "\x0a\x10\x10\x0b\x1a\x01\x02\x2a\x03\x0a\x01\x00\x32\x01\x00" FIELD_100(
          "\x21") "\x0a\x05\x10\x11" FIELD_100("\x22") "\x12\x05\x10"
                  "\x0d" FIELD_100("\x23") "\x1a\x01x\x1a\x00" FIELD_100(
                      "\x24");
  rlo_program_shape *program = NULL;
  rlo_proto_origin *origin = NULL;
  ck_assert_int_eq(
      rlo_proto_parse_program(bytes, sizeof bytes - 1, &program, &origin),
      RLO_OK);
  char text[128];
  rlo_program_shape_format(program, text, sizeof text);
  ck_assert_str_eq(text, "(x: f32[2]{0}, (unknown): token[]) -> ()");
  char written[256];
  size_t count = 0;
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.origin = origin;
  ck_assert_int_eq(rlo_proto_format_program(
                       program, &options, written, sizeof written, &count),
                   RLO_OK);
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
  rlo_program_shape_release(program);
  rlo_proto_origin_release(origin);
}

END_TEST

static const struct {
  const char *bytes;
  size_t size_bytes;
  rlo_status status;
} bad_programs[] = {
    {BYTES(""), RLO_INVALID_ARGUMENT},
    {BYTES("\x12\x00"), RLO_INVALID_ARGUMENT},
    /* A name without a parameter, and one that is no name. */
    {BYTES("\x12\x02\x10\x0b\x1a\x01x"), RLO_INVALID_ARGUMENT},
    {BYTES("\x0a\x02\x10\x0b\x12\x02\x10\x0b\x1a\x01 "), RLO_INVALID_ARGUMENT},
    {BYTES("\x0a\x02\x10\x0b\x12\x02\x10\x0b\x1a\x02x\x00"), RLO_PARSE},
    {BYTES("\x0a\x02\x10\x63\x12\x02\x10\x0b"), RLO_INVALID_ARGUMENT},
    {BYTES("\x0a\x02\x10\x0b\x12\x02\x10\x0b\x1a\x02x"), RLO_DATA_LOSS},
    {BYTES("\x12\x02\x10\x0b\x18\x01"), RLO_PARSE},
};

START_TEST(test_proto__refuses_programs)
{
  rlo_program_shape *program = NULL;
  int64_t live_count = rlo__alloc_live_count();
  ck_assert_int_eq(
      rlo_proto_parse_program(
          bad_programs[_i].bytes, bad_programs[_i].size_bytes, &program, NULL),
      bad_programs[_i].status);
  ck_assert_ptr_null(program);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

END_TEST

/* ------------------------------------------------------------ randomly, hard
 */

START_TEST(test_proto__round_trips_arrays)
{
  static const rlo_dtype dtypes[] = {
      RLO_DTYPE_PRED, RLO_DTYPE_S4, RLO_DTYPE_BF16, RLO_DTYPE_F64};
  test_random random = test_random_begin("proto");
  for (int32_t round = 0; round < 1000; ++round) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 5);
    int64_t dims[5];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 0, 300);
    }
    rlo_shape shape =
        test_random_shape(&random,
                          dtypes[round % 4],
                          dims,
                          rank,
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
    ck_assert_int_eq(
        rlo_proto_format_shape(&shape, &padded, bytes, sizeof bytes, &count),
        RLO_OK);
    rlo_shape again;
    ck_assert_int_eq(parse_shape(bytes, count, &again), RLO_OK);
    ck_assert(rlo_shape_equal(&shape, &again));
  }
}

END_TEST

/* A program with something of everything. */
static size_t make_program(char *bytes, size_t capacity) {
  static const char text[] =
      "(x: (f32[20,300]{1,0:T(8,128)(2,1)L(2048)S(1)SC(1:10)fill(zero)}, "
      "b(s4[<=7]{0:E(4)}), token[]), y.1: bf16[3,?]{0,1:M(8)}) -> "
      "(pred[2]{0:pad(5)}, opaque[])";
  rlo_program_shape *program = NULL;
  ck_assert_int_eq(rlo_program_shape_parse(text, sizeof text - 1, &program),
                   RLO_OK);
  size_t count = 0;
  ck_assert_int_eq(
      rlo_proto_format_program(program, &padded, bytes, capacity, &count),
      RLO_OK);
  rlo_program_shape_release(program);
  return count;
}

/* Whatever comes in, an error or a program comes out that can be written and
 * read again. */
static bool survives(const char *bytes, size_t count) {
  void *copy = exact_copy(bytes, count);
  int64_t live_count = rlo__alloc_live_count();
  rlo_program_shape *program = NULL;
  rlo_proto_origin *origin = NULL;
  rlo_status status = rlo_proto_parse_program(copy, count, &program, &origin);
  free(copy);
  ck_assert_int_ne(status, RLO_INTERNAL);
  ck_assert_int_ne(status, RLO_OUT_OF_MEMORY);
  if (status != RLO_OK) {
    ck_assert_ptr_null(program);
    ck_assert_ptr_null(origin);
    ck_assert_int_eq(rlo__alloc_live_count(), live_count);
    return false;
  }
  char written[4096];
  size_t written_count = 0;
  rlo_proto_options options = {sizeof options, true, origin};
  ck_assert_int_eq(
      rlo_proto_format_program(
          program, &options, written, sizeof written, &written_count),
      RLO_OK);
  rlo_program_shape *again = NULL;
  ck_assert_int_eq(
      rlo_proto_parse_program(written, written_count, &again, NULL), RLO_OK);
  ck_assert(rlo_program_shape_equal(program, again));
  rlo_program_shape_release(program);
  rlo_program_shape_release(again);
  rlo_proto_origin_release(origin);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
  return true;
}

START_TEST(test_proto__survives_damage)
{
  char bytes[1024];
  size_t count = make_program(bytes, sizeof bytes);
  ck_assert(survives(bytes, count));
  for (size_t cut = 0; cut < count; ++cut) {
    survives(bytes, cut);
  }
  test_random random = test_random_begin("proto");
  int32_t good_count = 0;
  for (int32_t round = 0; round < 20000; ++round) {
    char damaged[1024];
    memcpy(damaged, bytes, count);
    int64_t damages = test_random_in(&random, 1, 4);
    for (int64_t i = 0; i < damages; ++i) {
      damaged[test_random_in(&random, 0, (int64_t)count - 1)] =
          (char)(unsigned char)test_random_in(&random, 0, 255);
    }
    good_count += survives(damaged, count) ? 1 : 0;
  }
  ck_assert_int_gt(good_count, 0);
}

END_TEST

/* Each allocation fails in turn. */
START_TEST(test_proto__survives_without_memory)
{
  char bytes[1024];
  size_t count = make_program(bytes, sizeof bytes);
  int64_t live_count = rlo__alloc_live_count();
  bool is_done = false;
  int64_t nth = 0;
  while (!is_done) {
    rlo__alloc_set_fault(++nth, false);
    rlo_program_shape *program = NULL;
    rlo_proto_origin *origin = NULL;
    rlo_status status =
        rlo_proto_parse_program(bytes, count, &program, &origin);
    if (status == RLO_OK) {
      char written[1024];
      size_t written_count = 0;
      rlo_proto_options options = {sizeof options, true, origin};
      status = rlo_proto_format_program(
          program, &options, written, sizeof written, &written_count);
    }
    rlo__alloc_set_fault(0, false);
    is_done = status == RLO_OK;
    if (!is_done) {
      ck_assert_int_eq(status, RLO_OUT_OF_MEMORY);
    }
    rlo_program_shape_release(program);
    rlo_proto_origin_release(origin);
    ck_assert_int_eq(rlo__alloc_live_count(), live_count);
  }
  ck_assert_int_gt(nth, 30);
}

END_TEST

int main(void) {
  Suite *suite = suite_create("proto");
  TCase *tcase = tcase_create("proto");
  tcase_add_loop_test(
      tcase, test_proto__reads_and_writes_arrays, 0, COUNT(messages));
  tcase_add_loop_test(
      tcase, test_proto__reads_other_ways, 0, COUNT(other_ways));
  tcase_add_loop_test(tcase, test_proto__refuses_messages, 0, COUNT(refused));
  tcase_add_test(tcase, test_proto__says_where);
  tcase_add_test(tcase, test_proto__bounds_what_a_message_may_be);
  tcase_add_test(tcase, test_proto__bounds_the_depth);
  tcase_add_loop_test(tcase,
                      test_proto__does_not_write_what_it_cannot_say,
                      0,
                      COUNT(not_written));
  tcase_add_test(tcase, test_proto__tells_the_size_when_it_does_not_fit);
  tcase_add_test(tcase, test_proto__reads_and_writes_tiles);
  tcase_add_test(tcase, test_proto__reads_and_writes_layouts);
  tcase_add_loop_test(tcase, test_proto__does_not_write_broken_layouts, 0, 9);
  tcase_add_test(tcase, test_proto__keeps_what_it_does_not_know);
  tcase_add_test(tcase, test_proto__reads_and_writes_tuples);
  tcase_add_loop_test(tcase, test_proto__round_trips_trees, 0, COUNT(trees));
  tcase_add_loop_test(tcase, test_proto__refuses_trees, 0, COUNT(bad_trees));
  tcase_add_test(tcase, test_proto__writes_only_what_it_reads);
  tcase_add_test(tcase, test_proto__reads_and_writes_programs);
  tcase_add_loop_test(
      tcase, test_proto__refuses_programs, 0, COUNT(bad_programs));
  tcase_add_test(tcase, test_proto__round_trips_arrays);
  tcase_add_test(tcase, test_proto__survives_damage);
  tcase_add_test(tcase, test_proto__survives_without_memory);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
