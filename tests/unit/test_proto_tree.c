/* SPDX-License-Identifier: Apache-2.0 */

/* Trees and programs as messages. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/xla/proto.h"
#include "relayout/xla/text.h"
#include "support/exact_copy.h"
#include "support/expect.h"
#include "support/low_thresholds.h"
#include "support/random.h"
#include "support/short_memory.h"
#include "support/suite.h"
#include "unit/proto_bytes.h"

static const rlo_proto_options padded = {sizeof padded, true, NULL};

static rlo_shape_tree *tree_of(const char *text) {
  rlo_shape_tree *tree = NULL;
  expect_ok(rlo_shape_tree_parse(text, strlen(text), &tree));
  return tree;
}

RLO_TEST(test_proto__reads_and_writes_tuples) {
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
  expect_ok(rlo_proto_parse_tree(bytes, sizeof bytes - 1, &tree, NULL));
  rlo_shape_tree *expected = tree_of("(f32[2], (), token[], opaque[], b(s32[3]))");
  ck_assert(rlo_shape_tree_equal(tree, expected));
  char written[256];
  size_t count = 0;
  expect_ok(rlo_proto_format_tree(tree, NULL, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
  rlo_shape_tree_release(tree);
  rlo_shape_tree_release(expected);
}

static const char *const trees[] = {
    "f32[]",
    "()",
    "token[]",
    "b(f32[8,16]{0,1:T(2,4)})",
    "((opaque[], f32[], u32[1,2]{1,0}, s32[3,4]{0,1}), u32[<=1,?], token[])",
    "(((((f32[3]{0:pad(5)fill(one)})))))",
};

RLO_TABLE_TEST(test_proto__round_trips_trees, trees) {
  rlo_shape_tree *tree = tree_of(trees[_i]);
  char bytes[1024];
  size_t count = 0;
  expect_ok(rlo_proto_format_tree(tree, &padded, bytes, sizeof bytes, &count));
  rlo_shape_tree *again = NULL;
  expect_ok(rlo_proto_parse_tree(bytes, count, &again, NULL));
  ck_assert(rlo_shape_tree_equal(tree, again));
  rlo_shape_tree_release(tree);
  rlo_shape_tree_release(again);
}

static const struct {
  const char *bytes;
  size_t size_bytes;
  rlo_status status;
  const char *message;
} bad_trees[] = {
    {BYTES(""), RLO_INVALID_ARGUMENT, "0 is not an element_type"},
    {BYTES("\x10\x0d\x22\x02\x10\x11\x22\x06\x10\x0d\x22\x02\x10\x63"), RLO_INVALID_ARGUMENT,
     "element 1: element 0: 99 is not an element_type"},
    {BYTES("\x10\x0d\x1a\x01\x02"), RLO_INVALID_ARGUMENT, "a tuple cannot have dimensions"},
    {BYTES("\x10\x0d\x2a\x00"), RLO_INVALID_ARGUMENT, "a tuple cannot have a layout"},
    {BYTES("\x10\x11\x32\x01\x00"), RLO_INVALID_ARGUMENT, "a token cannot have dimensions"},
    {BYTES("\x10\x0e\x22\x02\x10\x0b"), RLO_INVALID_ARGUMENT,
     "an opaque value needs 0 of tuple_shapes, not 1"},
    {BYTES("\x10\x22"), RLO_INVALID_ARGUMENT, "a buffer needs 1 of tuple_shapes, not 0"},
    {BYTES("\x10\x22\x22\x02\x10\x0b\x22\x02\x10\x0b"), RLO_INVALID_ARGUMENT,
     "a buffer needs 1 of tuple_shapes, not 2"},
    {BYTES("\x10\x22\x22\x02\x10\x0d"), RLO_INVALID_ARGUMENT, "13 is not an element_type"},
};

RLO_TABLE_TEST(test_proto__refuses_trees, bad_trees) {
  rlo_shape_tree *tree = NULL;
  rlo_proto_origin *origin = NULL;
  int64_t live_count = rlo__alloc_live_count();
  ck_assert_int_eq(
      rlo_proto_parse_tree(bad_trees[_i].bytes, bad_trees[_i].size_bytes, &tree, &origin),
      bad_trees[_i].status);
  ck_assert_str_eq(rlo_error_last()->message, bad_trees[_i].message);
  ck_assert_ptr_null(tree);
  ck_assert_ptr_null(origin);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

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

RLO_TEST(test_proto__writes_only_what_it_reads) {
  static char bytes[1 << 16];
  size_t count = 0;
  rlo_shape_tree *tree = nested_tuples(95);
  rlo_shape_tree *again = NULL;
  expect_ok(rlo_proto_format_tree(tree, NULL, bytes, sizeof bytes, &count));
  expect_ok(rlo_proto_parse_tree(bytes, count, &again, NULL));
  ck_assert(rlo_shape_tree_equal(tree, again));
  rlo_shape_tree_release(tree);
  rlo_shape_tree_release(again);
  tree = nested_tuples(96);
  ck_assert_int_eq(rlo_proto_format_tree(tree, NULL, bytes, sizeof bytes, &count), RLO_UNSUPPORTED);
  rlo_shape_tree_release(tree);
  tree = nested_tuples(RLO_SHAPE_TREE_MAX_DEPTH);
  ck_assert_int_eq(rlo_proto_format_tree(tree, NULL, bytes, sizeof bytes, &count), RLO_UNSUPPORTED);
  rlo_shape_tree_release(tree);
}

RLO_TEST(test_proto__reads_and_writes_programs) {
  /* (x: f32[2], (unknown): token[]) -> (), with field 100 in several places */
  static const char bytes[] =
      "\x0a\x10\x10\x0b\x1a\x01\x02\x2a\x03\x0a\x01\x00\x32\x01\x00" FIELD_100(
          "\x21") "\x0a\x05\x10\x11" FIELD_100("\x22") "\x12\x05\x10"
                  "\x0d" FIELD_100("\x23") "\x1a\x01x\x1a\x00" FIELD_100(
                      "\x24");
  rlo_program_shape *program = NULL;
  rlo_proto_origin *origin = NULL;
  expect_ok(rlo_proto_parse_program(bytes, sizeof bytes - 1, &program, &origin));
  char text[128];
  rlo_program_shape_format(program, text, sizeof text);
  ck_assert_str_eq(text, "(x: f32[2]{0}, (unknown): token[]) -> ()");
  char written[256];
  size_t count = 0;
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.origin = origin;
  expect_ok(rlo_proto_format_program(program, &options, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof bytes - 1);
  ck_assert_mem_eq(written, bytes, count);
  rlo_program_shape_release(program);
  rlo_proto_origin_release(origin);
}

/* An element and a parameter that are written and were not read have no origin.
 */
RLO_TEST(test_proto__keeps_the_fields_of_elements_that_were_read) {
  static const char bytes[] = "\x10\x0d\x22\x05\x10\x11" FIELD_100("\x31");
  static const char expected[] = "\x10\x0d\x22\x05\x10\x11" FIELD_100("\x31") "\x22\x02\x10\x11";
  rlo_shape_tree *tree = NULL;
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  rlo_proto_origin *origin = NULL;
  expect_ok(rlo_proto_parse_tree(bytes, sizeof bytes - 1, &tree, &origin));
  rlo_shape_tree_release(tree);
  tree = tree_of("(token[], token[])");
  options.origin = origin;
  char written[64];
  size_t count = 0;
  expect_ok(rlo_proto_format_tree(tree, &options, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof expected - 1);
  ck_assert_mem_eq(written, expected, count);
  rlo_shape_tree_release(tree);
  rlo_proto_origin_release(origin);
}

RLO_TEST(test_proto__keeps_the_fields_of_parameters_that_were_read) {
  static const char bytes[] = "\x0a\x05\x10\x11" FIELD_100("\x32") "\x12\x02\x10\x11\x1a\x01x";
  static const char expected[] =
      "\x0a\x05\x10\x11" FIELD_100("\x32") "\x0a\x02\x10\x11\x12\x02\x10\x11\x1a\x01x\x1a\x01y";
  static const char text[] = "(x: token[], y: token[]) -> token[]";
  rlo_program_shape *program = NULL;
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  rlo_proto_origin *origin = NULL;
  expect_ok(rlo_proto_parse_program(bytes, sizeof bytes - 1, &program, &origin));
  rlo_program_shape_release(program);
  expect_ok(rlo_program_shape_parse(text, sizeof text - 1, &program));
  options.origin = origin;
  char written[64];
  size_t count = 0;
  expect_ok(rlo_proto_format_program(program, &options, written, sizeof written, &count));
  ck_assert_uint_eq(count, sizeof expected - 1);
  ck_assert_mem_eq(written, expected, count);
  rlo_program_shape_release(program);
  rlo_proto_origin_release(origin);
}

/* A program whose message takes several chunks of memory, arrays of all ranks,
 * so that each kind of allocation is the first of a chunk somewhere. */
static rlo_program_shape *large_program(void) {
  enum { MAX_PARAMETERS = 600, ROOM = MAX_PARAMETERS * 96 };

  /* Chunks are small where thresholds are low. */
  const int num_parameters = test_thresholds_are_low() ? 60 : MAX_PARAMETERS;
  char *text = malloc(ROOM);
  ck_assert_ptr_nonnull(text);
  size_t length = 0;
  for (int i = 0; i < num_parameters; ++i) {
    length += (size_t)snprintf(text + length, ROOM - length, "%sp%d: f32[", i > 0 ? ", " : "(", i);
    for (int k = 0; k < i * 7 % 33; ++k) {
      length += (size_t)snprintf(text + length, ROOM - length, k > 0 ? ",1" : "1");
    }
    text[length++] = ']';
  }
  length += (size_t)snprintf(text + length, ROOM - length, ") -> token[]");
  rlo_program_shape *program = NULL;
  expect_ok(rlo_program_shape_parse(text, length, &program));
  free(text);
  return program;
}

RLO_TEST(test_proto__tells_that_memory_ends_while_it_writes) {
  static char bytes[1 << 18];
  rlo_program_shape *program = large_program();
  int64_t live_count = rlo__alloc_live_count();
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    size_t count = 0;
    run.status = rlo_proto_format_program(program, NULL, bytes, sizeof bytes, &count);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
  ck_assert_int_gt(run.num_tries, 4);
  rlo_program_shape_release(program);
}

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

RLO_TABLE_TEST(test_proto__refuses_programs, bad_programs) {
  rlo_program_shape *program = NULL;
  int64_t live_count = rlo__alloc_live_count();
  ck_assert_int_eq(
      rlo_proto_parse_program(bad_programs[_i].bytes, bad_programs[_i].size_bytes, &program, NULL),
      bad_programs[_i].status);
  ck_assert_ptr_null(program);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
}

/* ------------------------------------------------------------- damaged */

/* A program with something of everything. */
static size_t make_program(char *bytes, size_t capacity) {
  static const char text[] =
      "(x: (f32[20,300]{1,0:T(8,128)(2,1)L(2048)S(1)SC(1:10)fill(zero)}, "
      "b(s4[<=7]{0:E(4)}), token[]), y.1: bf16[3,?]{0,1:M(8)}) -> "
      "(pred[2]{0:pad(5)}, opaque[])";
  rlo_program_shape *program = NULL;
  expect_ok(rlo_program_shape_parse(text, sizeof text - 1, &program));
  size_t count = 0;
  expect_ok(rlo_proto_format_program(program, &padded, bytes, capacity, &count));
  rlo_program_shape_release(program);
  return count;
}

/* Whatever comes in, an error or a program comes out that can be written and
 * read again. */
static bool survives(const char *bytes, size_t count) {
  void *copy = test_exact_copy(bytes, count);
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
  expect_ok(rlo_proto_format_program(program, &options, written, sizeof written, &written_count));
  rlo_program_shape *again = NULL;
  expect_ok(rlo_proto_parse_program(written, written_count, &again, NULL));
  ck_assert(rlo_program_shape_equal(program, again));
  rlo_program_shape_release(program);
  rlo_program_shape_release(again);
  rlo_proto_origin_release(origin);
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
  return true;
}

RLO_TEST(test_proto__survives_damage) {
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

/* Each allocation fails in turn. */
RLO_TEST(test_proto__survives_without_memory) {
  char bytes[1024];
  size_t count = make_program(bytes, sizeof bytes);
  int64_t live_count = rlo__alloc_live_count();
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    rlo_program_shape *program = NULL;
    rlo_proto_origin *origin = NULL;
    run.status = rlo_proto_parse_program(bytes, count, &program, &origin);
    if (run.status == RLO_OK) {
      char written[1024];
      size_t written_count = 0;
      rlo_proto_options options = {sizeof options, true, origin};
      run.status =
          rlo_proto_format_program(program, &options, written, sizeof written, &written_count);
    }
    rlo_program_shape_release(program);
    rlo_proto_origin_release(origin);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), live_count);
  ck_assert_int_gt(run.num_tries, 20);
}
