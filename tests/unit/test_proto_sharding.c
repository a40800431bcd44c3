/* SPDX-License-Identifier: Apache-2.0 */

/* Shardings as messages. */

#include <stdlib.h>
#include <string.h>

#include "relayout/xla/proto.h"
#include "support/expect.h"
#include "support/short_memory.h"
#include "support/suite.h"
#include "unit/proto_bytes.h"

static rlo_status parse_exact(const void *bytes, size_t size_bytes, rlo_sharding **out_sharding,
                              rlo_proto_origin **out_origin) {
  void *copy = test_exact_copy(bytes, size_bytes);
  rlo_status status = rlo_proto_parse_sharding(copy, size_bytes, out_sharding, out_origin);
  free(copy);
  return status;
}

static void expect_text(const rlo_sharding *sharding, const char *text) {
  char printed[256];
  rlo_sharding_format(sharding, printed, sizeof printed);
  ck_assert_str_eq(printed, text);
}

static void expect_words(rlo_status status, rlo_status wanted, const char *words) {
  ck_assert_int_eq(status, wanted);
  ck_assert_msg(strstr(rlo_error_last()->message, words) != NULL, "%s", rlo_error_last()->message);
}

/* Messages as protobuf writes them, and the shardings they are. */
static const struct {
  const char *bytes;
  size_t size_bytes;
  const char *text;
} messages[] = {
    {BYTES(""), "{replicated}"},
    {BYTES("\x08\x01\x1a\x01\x01\x22\x02\xac\x02"), "{maximal device=300}"},
    {BYTES("\x08\x04"), "{manual}"},
    {BYTES("\x08\x05"), "{unknown}"},
    {BYTES("\x08\x06"), "{unreduced}"},
    {BYTES("\x08\x03\x1a\x02\x02\x02\x22\x04\x03\x02\x01\x00"), "{devices=[2,2]3,2,1,0}"},
    {BYTES("\x08\x03\x1a\x03\x02\x01\x04\x4a\x02\x04\x02\x52\x02\x01\x00"),
     "{devices=[2,1,4]<=[4,2]T(1,0)}"},
    {BYTES("\x08\x03\x1a\x02\x04\x02\x30\x01\x4a\x01\x08\x52\x01\x00"),
     "{devices=[4,2]<=[8] last_tile_dim_replicate}"},
    {BYTES("\x08\x03\x1a\x03\x04\x02\x02\x42\x02\x06\x00\x4a\x01\x10\x52\x01"
           "\x00"),
     "{devices=[4,2,2]<=[16] last_tile_dims={unreduced, replicated}}"},
    {BYTES("\x08\x03\x1a\x02\x02\x02\x42\x01\x04\x22\x04\x01\x00\x03\x02"),
     "{devices=[2,2]1,0,3,2 last_tile_dims={manual}}"},
};

RLO_TABLE_TEST(test_proto_sharding__reads_and_writes, messages) {
  rlo_sharding *sharding;
  expect_ok(parse_exact(messages[_i].bytes, messages[_i].size_bytes, &sharding, NULL));
  expect_text(sharding, messages[_i].text);
  char written[64];
  size_t count = 0;
  expect_ok(rlo_proto_format_sharding(sharding, NULL, written, sizeof written, &count));
  ck_assert_uint_eq(count, messages[_i].size_bytes);
  rlo_sharding *again;
  expect_ok(parse_exact(written, count, &again, NULL));
  expect_text(again, messages[_i].text);
  rlo_sharding_release(again);
  rlo_sharding_release(sharding);
}

/* Fields in the order of their numbers are the bytes themselves. */
RLO_TEST(test_proto_sharding__writes_what_xla_writes) {
  static const char wanted[] = "\x08\x03\x1a\x03\x02\x01\x04\x4a\x02\x04\x02\x52\x02\x01\x00";
  static const char text[] = "{devices=[2,1,4]<=[4,2]T(1,0)}";
  rlo_sharding *sharding;
  expect_ok(rlo_sharding_parse(text, strlen(text), &sharding));
  char written[sizeof wanted - 1];
  size_t count = 0;
  ck_assert_int_eq(rlo_proto_format_sharding(sharding, NULL, NULL, 0, &count), RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(count, sizeof written);
  expect_ok(rlo_proto_format_sharding(sharding, NULL, written, sizeof written, &count));
  ck_assert_mem_eq(written, wanted, sizeof written);
  rlo_sharding_release(sharding);
}

/* The same by other writers: numbers one by one, the parameters of a
 * replicated sharding, an iota that is not canonical. */
static const struct {
  const char *bytes;
  size_t size_bytes;
  const char *text;
} variants[] = {
    {BYTES("\x08\x03\x18\x02\x20\x01\x20\x00"), "{devices=[2]1,0}"},
    {BYTES("\x1a\x01\x02\x22\x02\x00\x01"), "{replicated}"},
    {BYTES("\x08\x01\x22\x01\x03"), "{maximal device=3}"},
    {BYTES("\x08\x03\x1a\x02\x04\x02\x42\x01\x00\x4a\x01\x08\x52\x01\x00"),
     "{devices=[4,2]<=[8] last_tile_dim_replicate}"},
    {BYTES("\x08\x03\x1a\x01\x08\x4a\x03\x02\x01\x04\x52\x03\x00\x01\x02"), "{devices=[8]<=[8]}"},
    {BYTES("\x08\x03\x1a\x01\x01\x22\x01\x00"), "{devices=[1]<=[1]}"},
};

RLO_TABLE_TEST(test_proto_sharding__reads_what_others_write, variants) {
  rlo_sharding *sharding;
  expect_ok(parse_exact(variants[_i].bytes, variants[_i].size_bytes, &sharding, NULL));
  expect_text(sharding, variants[_i].text);
  rlo_sharding_release(sharding);
}

static const struct {
  const char *bytes;
  size_t size_bytes;
  rlo_status status;
  const char *words;
} refused[] = {
    {BYTES("\x08"), RLO_DATA_LOSS, "ends inside"},
    {BYTES("\x08\x03\x1a\x02\x02"), RLO_DATA_LOSS, "are promised"},
    {BYTES("\x0a\x00"), RLO_PARSE, "cannot be of wire type"},
    {BYTES("\x08\x02\x2a\x00"), RLO_UNSUPPORTED, "of a tuple"},
    {BYTES("\x2a\x00"), RLO_UNSUPPORTED, "of a tuple"},
    {BYTES("\x72\x00"), RLO_UNSUPPORTED, "a named_sharding"},
    {BYTES("\x08\x07"), RLO_INVALID_ARGUMENT, "7 is not a type"},
    {BYTES("\x08\x40"), RLO_INVALID_ARGUMENT, "64 is not a type"},
    {BYTES("\x08" MINUS_ONE), RLO_INVALID_ARGUMENT, "-1 is not a type"},
    {BYTES("\x08\x01"), RLO_INVALID_ARGUMENT, "0 tile_assignment_devices"},
    {BYTES("\x08\x01\x22\x02\x00\x01"), RLO_INVALID_ARGUMENT, "has one"},
    {BYTES("\x08\x01\x22\x0a" MINUS_ONE), RLO_OUT_OF_RANGE, "device -1"},
    {BYTES("\x08\x03"), RLO_INVALID_ARGUMENT, "0 tile_assignment_devices"},
    {BYTES("\x08\x03\x1a\x01\x02"), RLO_INVALID_ARGUMENT, "of 2 cells"},
    {BYTES("\x08\x03\x1a\x01\x02\x22\x03\x00\x01\x02"), RLO_INVALID_ARGUMENT,
     "3 tile_assignment_devices"},
    {BYTES("\x08\x03\x1a\x01\x02\x22\x02\x00\x00"), RLO_INVALID_ARGUMENT, "same device"},
    {BYTES("\x08\x03\x1a\x01\x02\x22\x02\x00\x02"), RLO_INVALID_ARGUMENT, "names device 2"},
    {BYTES("\x08\x03\x1a\x02\x02\x00\x22\x01\x00"), RLO_INVALID_ARGUMENT,
     "dimension 1 of the grid has 0 cells"},
    /* 2^32 * 2^32 cells. */
    {BYTES("\x08\x03\x1a\x0a\x80\x80\x80\x80\x10\x80\x80\x80\x80\x10"
           "\x22\x01\x00"),
     RLO_UNSUPPORTED, "more than 1048576 cells"},
    {BYTES("\x08\x03\x1a\x0a\x80\x80\x80\x80\x10\x80\x80\x80\x80\x10"
           "\x4a\x01\x02\x52\x01\x00"),
     RLO_UNSUPPORTED, "more than 1048576 cells"},
    {BYTES("\x08\x03\x1a\x01\x02\x22\x02\x00\x01\x4a\x01\x02\x52\x01\x00"), RLO_INVALID_ARGUMENT,
     "2 tile_assignment_devices and iota_reshape_dims"},
    {BYTES("\x08\x03\x1a\x01\x02\x4a\x01\x02"), RLO_INVALID_ARGUMENT,
     "0 entries of iota_transpose_perm"},
    {BYTES("\x08\x03\x1a\x01\x02\x52\x01\x00"), RLO_INVALID_ARGUMENT,
     "1 entries of iota_transpose_perm"},
    {BYTES("\x08\x03\x1a\x01\x02\x4a\x01\x03\x52\x01\x00"), RLO_INVALID_ARGUMENT,
     "iota has 3 devices"},
    {BYTES("\x08\x03\x1a\x01\x04\x4a\x02\x02\x02\x52\x02\x00\x00"), RLO_INVALID_ARGUMENT,
     "there twice"},
    {BYTES("\x08\x03\x1a\x01\x02\x30\x01\x42\x01\x00\x22\x02\x00\x01"), RLO_INVALID_ARGUMENT,
     "exclude each other"},
    {BYTES("\x08\x03\x1a\x01\x02\x42\x02\x00\x00\x22\x02\x00\x01"), RLO_INVALID_ARGUMENT,
     "2 of last_tile_dims"},
    {BYTES("\x08\x03\x1a\x01\x02\x42\x01\x05\x22\x02\x00\x01"), RLO_INVALID_ARGUMENT,
     "subgroup 0 is of sharding kind 5"},
    {BYTES("\x08\x03\x1a\x05\x02\x01\x01\x01\x01\x42\x05\x00\x00\x00\x00\x00"
           "\x22\x02\x00\x01"),
     RLO_UNSUPPORTED, "beyond the limits"},
    {BYTES("\x08\x03\x1a\x01\x02\x22\x0b\x00" MINUS_ONE), RLO_INVALID_ARGUMENT,
     "cell 1 of the grid names device -1"},
    {BYTES("\x08\x03\x1a\x01\x04\x4a\x02\x02\x02\x52\x0b\x00" MINUS_ONE), RLO_INVALID_ARGUMENT,
     "-1, is no dimension of it"},
    /* 33 dimensions, none of which is a subgroup. */
    {BYTES("\x08\x03\x1a\x21\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"
           "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"
           "\x01\x01\x01\x01\x01\x01\x22\x01\x00"),
     RLO_UNSUPPORTED, "33 tile_assignment_dimensions, of which 0 are last_tile_dims"},
};

RLO_TABLE_TEST(test_proto_sharding__refuses, refused) {
  rlo_sharding *sharding;
  rlo_proto_origin *origin;
  expect_words(parse_exact(refused[_i].bytes, refused[_i].size_bytes, &sharding, &origin),
               refused[_i].status, refused[_i].words);
  ck_assert_ptr_null(sharding);
  ck_assert_ptr_null(origin);
}

RLO_TEST(test_proto_sharding__iota_has_a_rank) {
  /* One dimension more than there may be. */
  enum { RANK = RLO_SHARDING_MAX_IOTA_RANK + 1 };

  char bytes[2 * RANK + 10] = "\x08\x03\x1a\x01\x02\x4a";
  size_t at = 6;
  bytes[at++] = RANK;
  memset(bytes + at, 1, RANK);
  at += RANK;
  bytes[at++] = '\x52';
  bytes[at++] = RANK;
  for (int k = 0; k < RANK; ++k) {
    bytes[at++] = (char)k;
  }
  rlo_sharding *sharding;
  expect_words(parse_exact(bytes, at, &sharding, NULL), RLO_UNSUPPORTED,
               "iota_reshape_dims are beyond the limit");
}

RLO_TEST(test_proto_sharding__boxes_have_no_message) {
  static const char text[] = "{boxes=[0:1][1:4]}";
  rlo_sharding *sharding;
  expect_ok(rlo_sharding_parse(text, strlen(text), &sharding));
  char written[16];
  size_t count = 0;
  expect_words(rlo_proto_format_sharding(sharding, NULL, written, sizeof written, &count),
               RLO_UNSUPPORTED, "no place for boxes");
  rlo_sharding_release(sharding);
}

/* metadata is field 7, the group of shards 11 and 12. */
RLO_TEST(test_proto_sharding__keeps_unknown_fields) {
  static const char bytes[] =
      "\x08\x03\x1a\x01\x02\x22\x02\x01\x00\x3a\x03\x0a\x01x\x58\x01\x60\x07";
  rlo_sharding *sharding;
  rlo_proto_origin *origin;
  expect_ok(parse_exact(bytes, sizeof bytes - 1, &sharding, &origin));
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.origin = origin;
  char written[64];
  size_t count = 0;
  expect_ok(rlo_proto_format_sharding(sharding, &options, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
  rlo_shape shape;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, NULL, 0, &shape));
  expect_words(rlo_proto_format_shape(&shape, &options, written, sizeof written, &count),
               RLO_INVALID_ARGUMENT, "OpSharding");
  rlo_proto_origin_release(origin);
  rlo_sharding_release(sharding);
}

RLO_TEST(test_proto_sharding__reports_that_memory_is_out) {
  static const char bytes[] = "\x08\x03\x1a\x02\x02\x02\x22\x04\x03\x02\x01\x00";
  rlo_sharding *sharding = NULL;
  rlo_proto_origin *origin = NULL;
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    ck_assert_ptr_null(sharding);
    ck_assert_ptr_null(origin);
    run.status = rlo_proto_parse_sharding(bytes, sizeof bytes - 1, &sharding, &origin);
  }
  ck_assert_int_gt(run.num_tries, 4);
  rlo_proto_origin_release(origin);
  rlo_sharding_release(sharding);
}
