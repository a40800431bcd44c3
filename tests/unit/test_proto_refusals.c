/* SPDX-License-Identifier: Apache-2.0 */

/* Messages that are refused: damaged, wrong or too large. */

#include <stdlib.h>
#include <string.h>

#include "relayout/xla/proto.h"
#include "support/suite.h"
#include "unit/proto_bytes.h"

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
    {BYTES("\x10\x0b\x1a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), RLO_PARSE},
    {BYTES("\x10\x8b\x80\x80\x80\x10"), RLO_PARSE},
    {BYTES("\x10" MIN64), RLO_PARSE},
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
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x02\x38\x28\x2a\x03\x0a\x01\x00"), RLO_UNSUPPORTED},
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
    {BYTES("\x10\x0b\x1a\x0a\x80\x80\x80\x80\x10\x80\x80\x80\x80\x10"), RLO_OVERFLOW},
    /* minor_to_major of another rank, twice the same, out of range. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x00"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x02\x00\x03\x2a\x04\x0a\x02\x01\x01"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x07\x0a\x05\x80\x80\x80\x80\x10"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0c\x0a\x0a" MINUS_ONE), RLO_INVALID_ARGUMENT},
    /* padded_dimensions: too few, too small. padding_value 6, -1. */
    {BYTES("\x10\x0b\x1a\x02\x02\x03\x2a\x07\x0a\x02\x01\x00\x12\x01\x05"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x06\x0a\x01\x00\x12\x01\x01"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x18\x06"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0e\x0a\x01\x00\x18" MINUS_ONE), RLO_INVALID_ARGUMENT},
    /* A complex type has no lowest value. */
    {BYTES("\x10\x0f\x1a\x01\x02\x2a\x05\x0a\x01\x00\x18\x03"), RLO_UNSUPPORTED},
    /* Tiles: empty, 0, -2, `*` at the end. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x32\x00"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x08\x0a\x01\x00\x32\x03\x0a\x01\x00"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x11\x0a\x01\x00\x32\x0c\x0a\x0a"
           "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x11\x0a\x01\x00\x32\x0c\x0a\x0a" MIN64), RLO_INVALID_ARGUMENT},
    /* Element size -1, 16; tail -1; metadata prefix -1. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0e\x0a\x01\x00\x38" MINUS_ONE), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x38\x10"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0f\x0a\x01\x00\x80\x01" MINUS_ONE), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0e\x0a\x01\x00\x78" MINUS_ONE), RLO_INVALID_ARGUMENT},
    /* Sparse: format, dim_level_types, physical_shape, index type. */
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x20\x02"), RLO_UNSUPPORTED},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x20\x03"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0e\x0a\x01\x00\x20" MINUS_ONE), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x06\x0a\x01\x00\x4a\x01\x01"), RLO_UNSUPPORTED},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x08\x0a\x01\x00\x20\x02\x4a\x01\x00"), RLO_UNSUPPORTED},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x0f\x0a\x01\x00\x4a\x0a" MINUS_ONE), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x06\x0a\x01\x00\x4a\x01\x04"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x52\x00"), RLO_UNSUPPORTED},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x58\x08"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x02\x2a\x05\x0a\x01\x00\x60\x08"), RLO_INVALID_ARGUMENT},
    /* Splits: no cut point, beyond the size, of dimension 2^32 and -2^63. */
    {BYTES("\x10\x0b\x1a\x01\x09\x2a\x06\x0a\x01\x00\x8a\x01\x00"), RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x09\x2a\x09\x0a\x01\x00\x8a\x01\x03\x12\x01\x09"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x09\x2a\x0f\x0a\x01\x00\x8a\x01\x09"
           "\x08\x80\x80\x80\x80\x10\x12\x01\x03"),
     RLO_INVALID_ARGUMENT},
    {BYTES("\x10\x0b\x1a\x01\x09\x2a\x14\x0a\x01\x00\x8a\x01\x0e\x08" MIN64 "\x12\x01\x03"),
     RLO_INVALID_ARGUMENT},
};

RLO_TABLE_TEST(test_proto__refuses_messages, refused) {
  rlo_shape shape;
  memset(&shape, 0x5a, sizeof shape);
  const rlo_shape before = shape;
  ck_assert_int_eq(parse_exact_shape(refused[_i].bytes, refused[_i].size_bytes, &shape),
                   refused[_i].status);
  ck_assert_mem_eq(&shape, &before, sizeof shape);
}

RLO_TEST(test_proto__says_where) {
  rlo_shape shape;
  ck_assert_int_eq(parse_exact_shape(BYTES("\x10\x0b\x2a\x03\x0a\x02\x01"), &shape), RLO_DATA_LOSS);
  ck_assert_str_eq(rlo_error_last()->message, "byte 5: 2 bytes are promised, 1 are there");
  ck_assert_int_eq(parse_exact_shape(BYTES("\x10\x0b\x28\x01"), &shape), RLO_PARSE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "byte 2: field 5 of ShapeProto cannot be of wire type 0");
  ck_assert_int_eq(rlo_proto_parse_shape(NULL, 3, &shape, NULL), RLO_INVALID_ARGUMENT);
}

/* A field with so many bytes, at `bytes`; returns the place behind it. */
static unsigned char *put_field(unsigned char *bytes, unsigned char tag, size_t content_bytes) {
  *bytes++ = tag;
  for (; content_bytes >= 0x80; content_bytes >>= 7) {
    *bytes++ = (unsigned char)(content_bytes | 0x80);
  }
  *bytes++ = (unsigned char)content_bytes;
  return bytes;
}

RLO_TEST(test_proto__bounds_what_a_message_may_be) {
  rlo_shape shape;
  rlo_shape_tree *tree = NULL;
  size_t size_bytes = (size_t)RLO_PROTO_MAX_BYTES + 1;
  unsigned char *bytes = calloc(size_bytes, 1);
  ck_assert_ptr_nonnull(bytes);
  /* Too long. */
  ck_assert_int_eq(rlo_proto_parse_shape(bytes, size_bytes, &shape, NULL), RLO_UNSUPPORTED);
  /* Too many fields: elements without anything. */
  for (size_t i = 0; i + 2 < size_bytes; i += 2) {
    put_field(bytes + i, 0x22, 0);
  }
  ck_assert_int_eq(rlo_proto_parse_tree(bytes, size_bytes - 1, &tree, NULL), RLO_UNSUPPORTED);
  /* More dimensions, tiles and cut points than there is room for. */
  unsigned char *end = put_field(bytes, 0x10, 0x0b);
  end = put_field(end, 0x1a, 33);
  memset(end, 1, 33);
  ck_assert_int_eq(rlo_proto_parse_shape(bytes, (size_t)(end - bytes) + 33, &shape, NULL),
                   RLO_UNSUPPORTED);
  rlo_layout layout;
  int32_t rank;
  for (int i = 0; i < 9; ++i) {
    memcpy(bytes + (ptrdiff_t)5 * i, "\x32\x03\x0a\x01\x02", 5);
  }
  ck_assert_int_eq(rlo_proto_parse_layout(bytes, 40, &layout, &rank, NULL), RLO_OK);
  ck_assert_int_eq(rlo_proto_parse_layout(bytes, 45, &layout, &rank, NULL), RLO_UNSUPPORTED);
  rlo_tile tile;
  end = put_field(bytes, 0x0a, 33);
  memset(end, 1, 33);
  ck_assert_int_eq(rlo_proto_parse_tile(bytes, 35, &tile, NULL), RLO_UNSUPPORTED);
  free(bytes);
}

/* Messages in messages, written from the innermost outwards. */
static size_t nest(unsigned char *bytes, size_t capacity, unsigned char tag, const char *around,
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

RLO_TEST(test_proto__bounds_the_depth) {
  enum { CAPACITY = 1 << 20 };

  static unsigned char bytes[CAPACITY];
  rlo_shape_tree *tree = NULL;
  /* Tuples in tuples; the innermost message is empty. */
  for (int depth = 99; depth <= 100; ++depth) {
    size_t at = nest(bytes, CAPACITY, 0x22, "\x10\x0d", depth);
    ck_assert_int_eq(rlo_proto_parse_tree(bytes + at, CAPACITY - at, &tree, NULL),
                     depth < 100 ? RLO_INVALID_ARGUMENT : RLO_UNSUPPORTED);
    ck_assert_ptr_null(tree);
  }
  size_t start = nest(bytes, CAPACITY, 0x22, "\x10\x0d", 100000);
  ck_assert_int_eq(rlo_proto_parse_tree(bytes + start, CAPACITY - start, &tree, NULL),
                   RLO_UNSUPPORTED);
  /* The same with physical shapes of layouts. */
  rlo_layout layout;
  int32_t rank;
  start = CAPACITY;
  for (int i = 0; i < 60; ++i) {
    unsigned char head[16];
    for (int half = 0; half < 2; ++half) {
      size_t head_bytes =
          (size_t)(put_field(head, half == 0 ? 0x2a : 0x52, CAPACITY - start) - head);
      start -= head_bytes;
      memcpy(bytes + start, head, head_bytes);
    }
  }
  ck_assert_int_eq(rlo_proto_parse_layout(bytes + start, CAPACITY - start, &layout, &rank, NULL),
                   RLO_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "lie in each other"));
}
