/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "relayout/xla/text.h"
#include "support/expect.h"
#include "support/short_memory.h"
#include "support/suite.h"

static rlo_program_shape *parsed(const char *text) {
  rlo_program_shape *program = NULL;
  rlo_status status = rlo_program_shape_parse(text, strlen(text), &program);
  ck_assert_msg(status == RLO_OK, "'%s': %s", text, rlo_error_last()->message);
  return program;
}

/* Texts to parse, and the texts they print as, with layouts and without. */
static const struct {
  const char *text;
  const char *printed;
  const char *human;
} programs[] = {
    {"(a: f32[2], (unknown): s32[]) -> f32[]", "(a: f32[2]{0}, (unknown): s32[]) -> f32[]",
     "(a: f32[2], (unknown): s32[]) -> f32[]"},
    {"() -> ()", "() -> ()", "() -> ()"},
    {"(Arg_0.1: (f32[2,3]{0,1:T(2)}, token[]), x-y_z.9: b(s8[4])) -> (f32[?])",
     "(Arg_0.1: (f32[2,3]{0,1:T(2)}, token[]), x-y_z.9: b(s8[4]{0})) -> "
     "(f32[?]{0})",
     "(Arg_0.1: (f32[2,3], token[]), x-y_z.9: b(s8[4])) -> (f32[?])"},
    {" ( a /* x */ : f32 [] , // y\n ( unknown ) : () ) -> opaque [] ",
     "(a: f32[], (unknown): ()) -> opaque[]", "(a: f32[], (unknown): ()) -> opaque[]"},
    {"(f32: f32[], b: f32[], token: f32[], unknown: f32[]) -> token[]",
     "(f32: f32[], b: f32[], token: f32[], unknown: f32[]) -> token[]",
     "(f32: f32[], b: f32[], token: f32[], unknown: f32[]) -> token[]"},
    {"(a: f32[], b: f32[], c: f32[], d: f32[], e: f32[], f: f32[]) -> f32[]",
     "(a: f32[], b: f32[], c: f32[], d: f32[], e: f32[], f: f32[]) -> f32[]",
     "(a: f32[], b: f32[], c: f32[], d: f32[], e: f32[], f: f32[]) -> f32[]"},
};

RLO_TABLE_TEST(test_program_shape__reads_and_prints, programs) {
  char buffer[256];
  rlo_program_shape *program = parsed(programs[_i].text);

  ck_assert_uint_eq(rlo_program_shape_format(program, buffer, sizeof buffer),
                    strlen(programs[_i].printed));
  ck_assert_str_eq(buffer, programs[_i].printed);
  rlo_program_shape *again = parsed(buffer);
  ck_assert(rlo_program_shape_equal(program, again));
  rlo_program_shape_release(again);
  ck_assert_uint_eq(rlo_program_shape_human_string(program, buffer, sizeof buffer),
                    strlen(programs[_i].human));
  ck_assert_str_eq(buffer, programs[_i].human);
  rlo_program_shape_release(program);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

#define LEAF "an element type, token, opaque, b(...) or '('"

static const struct {
  const char *text;
  rlo_status status;
  const char *message;
} refusals[] = {
    {"", RLO_PARSE, "position 0: expected '(', found the end of the text"},
    {"f32[]", RLO_PARSE, "position 0: expected '(', found 'f32'"},
    {"(f32[2]) -> f32[]", RLO_PARSE, "position 4: expected ':', found '['"},
    {"(a f32[2]) -> f32[]", RLO_PARSE, "position 3: expected ':', found 'f32'"},
    {"(9: f32[2]) -> f32[]", RLO_PARSE,
     "position 1: expected the name of a parameter or '(unknown)', found '9'"},
    {"((known): f32[]) -> f32[]", RLO_PARSE, "position 2: expected 'unknown', found 'known'"},
    {"(a: f32[],) -> f32[]", RLO_PARSE,
     "position 10: expected the name of a parameter or '(unknown)', found ')'"},
    {"(a: f32[] b: f32[]) -> f32[]", RLO_PARSE, "position 10: expected ',' or ')', found 'b'"},
    {"(a: ) -> f32[]", RLO_PARSE, "position 4: expected " LEAF ", found ')'"},
    {"(a: f32[])", RLO_PARSE, "position 10: expected '->', found the end of the text"},
    {"(a: f32[]) - > f32[]", RLO_PARSE, "position 11: expected '->', found '-'"},
    {"(a: f32[]) ->", RLO_PARSE, "position 13: expected " LEAF ", found the end of the text"},
    {"() -> f32[] f32[]", RLO_PARSE, "position 12: expected the end of the text, found 'f32'"},
    {"(a: f32[2]{1}) -> f32[]", RLO_INVALID_ARGUMENT,
     "position 11: minor_to_major[0]=1 is out of range for rank 1"},
};

RLO_TABLE_TEST(test_program_shape__refuses_with_the_position, refusals) {
  const char *text = refusals[_i].text;
  rlo_program_shape *program = NULL;
  ck_assert_int_eq(rlo_program_shape_parse(text, strlen(text), &program), refusals[_i].status);
  ck_assert_str_eq(rlo_error_last()->message, refusals[_i].message);
  ck_assert_ptr_null(program);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_program_shape__hands_out_its_parts) {
  rlo_shape_tree *parts[2];
  const char *names[] = {"x", NULL};
  rlo_program_shape *program = NULL;
  expect_ok(rlo_shape_tree_make_token(&parts[0]));
  expect_ok(rlo_shape_tree_make_nil(&parts[1]));

  expect_ok(rlo_program_shape_create(parts, names, 2, parts[1], &program));
  ck_assert_int_eq(rlo_program_shape_parameter_count(program), 2);
  ck_assert_ptr_eq(rlo_program_shape_parameter(program, 0), parts[0]);
  ck_assert_ptr_eq(rlo_program_shape_parameter(program, 1), parts[1]);
  ck_assert_ptr_null(rlo_program_shape_parameter(program, 2));
  ck_assert_ptr_null(rlo_program_shape_parameter(program, -1));
  ck_assert_str_eq(rlo_program_shape_parameter_name(program, 0), "x");
  ck_assert_str_eq(rlo_program_shape_parameter_name(program, 1), "");
  ck_assert_ptr_null(rlo_program_shape_parameter_name(program, 2));
  ck_assert_ptr_eq(rlo_program_shape_result(program), parts[1]);
  rlo_program_shape_release(program);

  expect_ok(rlo_program_shape_create(parts, NULL, 2, parts[1], &program));
  ck_assert_str_eq(rlo_program_shape_parameter_name(program, 0), "");
  rlo_program_shape_release(program);

  static const char *const bad_names[] = {"1a", "a b", "a:", ".a", "-", "\xc3"};
  for (size_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; ++i) {
    names[1] = bad_names[i];
    ck_assert_int_eq(rlo_program_shape_create(parts, names, 2, parts[1], &program),
                     RLO_INVALID_ARGUMENT);
    ck_assert_ptr_null(program);
  }
  ck_assert_int_eq(rlo_program_shape_create(parts, NULL, -1, parts[1], &program),
                   RLO_INVALID_ARGUMENT);
  rlo_program_shape_release(NULL);
  rlo_shape_tree_release(parts[0]);
  rlo_shape_tree_release(parts[1]);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_program_shape__compares_all_but_names) {
  static const char *const texts[] = {"(a: f32[2]) -> f32[]",
                                      "(b: f32[2]) -> f32[]",
                                      "(a: f32[3]) -> f32[]",
                                      "(a: f32[2]) -> f64[]",
                                      "(a: f32[2], b: f32[2]) -> f32[]",
                                      "() -> f32[]"};
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      rlo_program_shape *a = parsed(texts[i]);
      rlo_program_shape *b = parsed(texts[j]);
      ck_assert(rlo_program_shape_equal(a, b) == (i == j || (i < 2 && j < 2)));
      rlo_program_shape_release(a);
      rlo_program_shape_release(b);
    }
  }
}

RLO_TEST(test_program_shape__survives_every_failed_allocation) {
  static const char text[] =
      "(a: f32[2], (unknown): (s8[], token[]), c: f32[], d: f32[], e: f32[]) "
      "-> (f32[])";
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    rlo_program_shape *program = NULL;
    run.status = rlo_program_shape_parse(text, sizeof text - 1, &program);
    rlo_program_shape_release(program);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
  ck_assert_int_gt(run.num_tries, 20);
}
