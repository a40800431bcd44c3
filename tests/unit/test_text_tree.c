/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "relayout/xla/text.h"
#include "support/exact_copy.h"
#include "support/expect.h"
#include "support/random_tree.h"
#include "support/sanitized.h"
#include "support/shape_of.h"
#include "support/short_memory.h"
#include "support/suite.h"

/* Without optimization time is only compared. */
#if defined(__OPTIMIZE__)
#define IS_FAST TEST_TIMES_COUNT
#else
#define IS_FAST 0
#endif

static rlo_status parse(const char *text, rlo_shape_tree **out_tree) {
  char *copy = test_exact_copy(text, strlen(text));
  rlo_status status = rlo_shape_tree_parse(copy, strlen(text), out_tree);
  free(copy);
  return status;
}

static rlo_shape_tree *parsed(const char *text) {
  rlo_shape_tree *tree = NULL;
  rlo_status status = parse(text, &tree);
  ck_assert_msg(status == RLO_OK, "'%s': %s", text, rlo_error_last()->message);
  return tree;
}

static char *printed(const rlo_shape_tree *tree) {
  size_t length = rlo_shape_tree_format(tree, NULL, 0);
  char *text = malloc(length + 1);
  ck_assert_ptr_nonnull(text);
  ck_assert_uint_eq(rlo_shape_tree_format(tree, text, length + 1), length);
  ck_assert_uint_eq(strlen(text), length);
  return text;
}

/* Texts that print as they are written; those of XLA's tests come first. */
static const char *const fixed_points[] = {
    "((opaque[], f32[], u32[1,2]{1,0}, s32[3,4]{0,1}), u32[1,2]{1,0}, token[])",
    "f32[]{:T(256)}",
    "u32[1,2]{1,0}",
    "f32[2,3,4]{0,1,2:T(512)}",
    "bf16[2,3,4]{1,2,0:T(16,256)(2,1)}",
    "pred[8,8,8]{0,2,1:T(8,128)E(32)}",
    "bf16[8,2,3,1004]{3,2,1,0:T(2,*,*,128)}",
    "opaque[]",
    "token[]",
    "b(s32[])",
    "b(f32[8,16]{1,0})",
    "b(s32[3,4]{1,0})",
    "()",
    "(())",
    "((), ())",
    "(f32[])",
    "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])",
    "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[], f32[], f32[], "
    "f32[], f32[], /*index=10*/())",
    "((), (), (), (), (), /*index=5*/(f32[], f32[], f32[], f32[], f32[], "
    "/*index=5*/f32[]))",
    "(((f32[2]{0})), b(pred[<=3]{0}), f32[?,4]{0,1})",
};

RLO_TIMEOUT(120);

RLO_TABLE_TEST(test_text_tree__prints_what_it_parses, fixed_points) {
  rlo_shape_tree *tree = parsed(fixed_points[_i]);
  char *text = printed(tree);
  ck_assert_str_eq(text, fixed_points[_i]);
  free(text);
  rlo_shape_tree_release(tree);
}

static const struct {
  const char *text;
  const char *printed;
} spellings[] = {
    /* From XLA's tests. */
    {"f32[123,456]", "f32[123,456]{1,0}"},
    {"f32[?,784]", "f32[?,784]{1,0}"},
    {"f32[123,<=456]", "f32[123,<=456]{1,0}"},
    {"f32[<=23,44,<=55]", "f32[<=23,44,<=55]{2,1,0}"},
    {"(f32[42], u32[<=123,<=456])", "(f32[42]{0}, u32[<=123,<=456]{1,0})"},
    {"(f32[1572864],s8[5120,1024])", "(f32[1572864]{0}, s8[5120,1024]{1,0})"},
    {"(f32[1],(f32[2], token[]), opaque[], f32[3])",
     "(f32[1]{0}, (f32[2]{0}, token[]), opaque[], f32[3]{0})"},
    {"f32[123,456,789]{0,1,2:T(2, * , 128)}", "f32[123,456,789]{0,1,2:T(2,*,128)}"},
    /* White space and comments. */
    {" ( /* one */ f32 [ ] // two\n , token [ ] , b ( s8 [ ] ) ) ", "(f32[], token[], b(s8[]))"},
    {"(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])",
     "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])"},
    {"(/*index=5*/f32[])", "(f32[])"},
    {"( )", "()"},
    {"opaque_type[]", "opaque[]"},
    {"f32[2]{0:D(D)E(32)}", "f32[2]{0}"},
};

RLO_TABLE_TEST(test_text_tree__reads_other_spellings, spellings) {
  rlo_shape_tree *tree = parsed(spellings[_i].text);
  char *text = printed(tree);
  ck_assert_str_eq(text, spellings[_i].printed);
  free(text);
  rlo_shape_tree_release(tree);
}

RLO_TEST(test_text_tree__bounds_the_nesting) {
  enum { DEPTH = RLO_SHAPE_TREE_MAX_DEPTH };

  size_t length = 2 * DEPTH + strlen("f32[]");
  char *text = malloc(length + 3);
  rlo_shape_tree *tree = NULL;
  ck_assert_ptr_nonnull(text);
  memset(text, '(', DEPTH);
  memcpy(text + DEPTH, "f32[]", strlen("f32[]"));
  memset(text + DEPTH + strlen("f32[]"), ')', DEPTH);
  text[length] = '\0';

  expect_ok(rlo_shape_tree_parse(text, length, &tree));
  ck_assert_int_eq(rlo_shape_tree_depth(tree), DEPTH);
  char *again = printed(tree);
  ck_assert_str_eq(again, text);
  free(again);
  rlo_shape_tree_release(tree);

  memmove(text + 1, text, length);
  text[length + 1] = ')';
  expect_refusal(rlo_shape_tree_parse(text, length + 2, &tree), RLO_UNSUPPORTED,
                 "position 257: 257 tuples inside one another are beyond "
                 "the limit of 256");
  /* Far beyond it, the first one too many is where it ends. */
  memset(text, '(', length);
  ck_assert_int_eq(rlo_shape_tree_parse(text, length, &tree), RLO_UNSUPPORTED);
  free(text);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_text_tree__bounds_rank_number_and_length) {
  rlo_shape_tree *tree = NULL;
  char text[256] = "(f32[1";
  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    strcat(text, ",1");
  }
  strcat(text, "])");
  expect_refusal(parse(text, &tree), RLO_UNSUPPORTED, "position 69: a rank above the limit of 32");

  /* "(),(),..." reaches the number of subshapes long before the length. */
  size_t count = RLO_SHAPE_TREE_MAX_SUBSHAPES;
  char *many = malloc(3 * count + 2);
  ck_assert_ptr_nonnull(many);
  many[0] = '(';
  for (size_t i = 0; i < count; ++i) {
    memcpy(many + 1 + 3 * i, "(),", 3);
  }
  many[3 * count] = ')';
  expect_refusal(rlo_shape_tree_parse(many, 3 * count + 1, &tree), RLO_UNSUPPORTED,
                 "position 196606: 65537 tuples and leaves in one tree "
                 "are beyond the limit of 65536");
  /* One element less, and it is a tree. */
  many[3 * count - 3] = ')';
  expect_ok(rlo_shape_tree_parse(many, 3 * count - 2, &tree));
  ck_assert_int_eq(rlo_shape_tree_subshape_count(tree), RLO_SHAPE_TREE_MAX_SUBSHAPES);
  rlo_shape_tree_release(tree);
  free(many);

  expect_refusal(rlo_shape_tree_parse("()", RLO_TEXT_MAX_TREE_BYTES + 1, &tree), RLO_UNSUPPORTED,
                 "a text of 67108865 bytes is beyond the limit of 67108864");
  ck_assert_int_eq(rlo_shape_tree_parse(NULL, 0, &tree), RLO_PARSE);
  ck_assert_int_eq(rlo_shape_tree_parse(NULL, 1, &tree), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_text_tree__every_prefix_is_refused) {
  static const char text[] = "((f32[64,<=100]{1,0:T(8,128)SC(0:4)M(8)}, ()), b(s8[?]), token[])";
  rlo_shape_tree *tree = NULL;

  for (size_t length = 0; length < sizeof text - 1; ++length) {
    char *copy = test_exact_copy(text, length);
    ck_assert_int_eq(rlo_shape_tree_parse(copy, length, &tree), RLO_PARSE);
    ck_assert_ptr_null(tree);
    free(copy);
  }
  tree = parsed(text);
  rlo_shape_tree_release(tree);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_text_tree__whatever_is_printed_parses_back_equal) {
  test_random random = test_random_begin("test_text_tree");

  for (int round = 0; round < 2000; ++round) {
    rlo_shape_tree *tree = test_random_tree(&random, 60);
    char *text = printed(tree);
    rlo_shape_tree *back = parsed(text);
    ck_assert_msg(rlo_shape_tree_equal(tree, back), "%s", text);
    char *again = printed(back);
    ck_assert_str_eq(again, text);
    free(again);
    free(text);
    rlo_shape_tree_release(back);

    /* Without layouts it is a compatible tree: those are row-major then. */
    size_t length = rlo_shape_tree_human_string(tree, NULL, 0);
    char *human = malloc(length + 1);
    ck_assert_ptr_nonnull(human);
    rlo_shape_tree_human_string(tree, human, length + 1);
    ck_assert_ptr_null(strchr(human, '{'));
    back = parsed(human);
    ck_assert_msg(rlo_shape_tree_compatible(tree, back), "%s", human);
    free(human);
    rlo_shape_tree_release(back);
    rlo_shape_tree_release(tree);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_text_tree__mutations_are_refused_or_valid) {
  static const char alphabet[] = "0123456789,:*()[]{}()TLESCMD f#b?<=/pil";
  test_random random = test_random_begin("test_text_tree");
  int accepted = 0;

  for (int round = 0; round < 10000; ++round) {
    rlo_shape_tree *tree = test_random_tree(&random, 12);
    char *text = printed(tree);
    rlo_shape_tree_release(tree);
    for (int64_t n = test_random_in(&random, 1, 3); n > 0; --n) {
      size_t at = (size_t)test_random_in(&random, 0, (int64_t)strlen(text) - 1);
      size_t letter = (size_t)test_random_in(&random, 0, (int64_t)sizeof alphabet - 2);
      text[at] = alphabet[letter];
    }
    rlo_status status = parse(text, &tree);
    if (status == RLO_OK) {
      ++accepted;
      char *again = printed(tree);
      rlo_shape_tree *back = parsed(again);
      ck_assert_msg(rlo_shape_tree_equal(tree, back), "%s", text);
      rlo_shape_tree_release(back);
      rlo_shape_tree_release(tree);
      free(again);
    } else {
      ck_assert(status == RLO_PARSE || status == RLO_UNSUPPORTED ||
                status == RLO_INVALID_ARGUMENT || status == RLO_OVERFLOW ||
                status == RLO_OUT_OF_RANGE);
    }
    free(text);
  }
  ck_assert_int_gt(accepted, 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_text_tree__survives_every_failed_allocation) {
  static const char text[] = "((f32[2], token[]), b(s8[3]), (), f32[], f32[], f32[], f32[], f32[])";
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    rlo_shape_tree *tree = NULL;
    run.status = parse(text, &tree);
    rlo_shape_tree_release(tree);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
  ck_assert_int_gt(run.num_tries, 4);
}

/* The time of this thread: other work on the machine is no part of a tree. */
static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* The signature of a program's state, and the best of what it has taken. */
typedef struct signature {
  int32_t num_leaves;
  char *text;
  size_t length;
  double parse_ms, print_ms;
} signature;

static signature make_signature(int32_t num_leaves) {
  signature s = {.num_leaves = num_leaves,
                 .text = malloc((size_t)num_leaves * 40),
                 .parse_ms = 1e9,
                 .print_ms = 1e9};
  ck_assert_ptr_nonnull(s.text);
  for (int32_t i = 0; i < num_leaves; ++i) {
    s.length += (size_t)sprintf(s.text + s.length, "%sbf16[%d,1024]{1,0:T(8,128)(2,1)}",
                                i == 0 ? "(" : ", ", (int)i + 1);
  }
  s.text[s.length++] = ')';
  return s;
}

static void time_signature(signature *s) {
  rlo_shape_tree *tree = NULL;
  double start = now_ms();
  expect_ok(rlo_shape_tree_parse(s->text, s->length, &tree));
  double parsed_at = now_ms();
  ck_assert_uint_gt(rlo_shape_tree_format(tree, NULL, 0), s->length);
  double printed_at = now_ms();
  ck_assert_int_eq(rlo_shape_tree_leaf_count(tree), s->num_leaves);
  rlo_shape_tree_release(tree);
  s->parse_ms = parsed_at - start < s->parse_ms ? parsed_at - start : s->parse_ms;
  s->print_ms = printed_at - parsed_at < s->print_ms ? printed_at - parsed_at : s->print_ms;
}

/* In any build, on any machine, a leaf takes about what it takes among few:
 * caches may cost it a few times that, work on all the others a hundred times.
 */
RLO_TEST(test_text_tree__ten_thousand_leaves_take_milliseconds) {
  enum { FEW = 100, MANY = 10000, MOST_TIMES = 10 * MANY / FEW, TRIES = 8 };

  signature few = make_signature(FEW);
  signature many = make_signature(MANY);
  for (int i = 0; i < TRIES; ++i) {
    time_signature(&few);
    time_signature(&many);
  }
  printf(
      "%d leaves, %zu bytes: parsed in %.1f ms, printed in %.1f ms; %d: "
      "%.3f ms, %.3f ms\n",
      MANY, many.length, many.parse_ms, many.print_ms, FEW, few.parse_ms, few.print_ms);
  free(few.text);
  free(many.text);
  ck_assert_double_lt(many.parse_ms, (double)MOST_TIMES * few.parse_ms);
  ck_assert_double_lt(many.print_ms, (double)MOST_TIMES * few.print_ms);
  if (IS_FAST) {
    ck_assert_msg(many.parse_ms < 100, "parsed in %.1f ms", many.parse_ms);
    ck_assert_msg(many.print_ms < 100, "printed in %.1f ms", many.print_ms);
  }
}

RLO_TEST(test_text_tree__prints_by_snprintf_rules) {
  static const char whole[] = "(f32[2]{0}, (token[], ()))";
  rlo_shape_tree *tree = parsed(whole);

  for (size_t capacity = 0; capacity < sizeof whole + 3; ++capacity) {
    char buffer[64];
    memset(buffer, '#', sizeof buffer);
    ck_assert_uint_eq(rlo_shape_tree_format(tree, buffer, capacity), sizeof whole - 1);
    if (capacity > 0) {
      size_t kept = capacity < sizeof whole ? capacity - 1 : sizeof whole - 1;
      ck_assert_mem_eq(buffer, whole, kept);
      ck_assert_int_eq(buffer[kept], '\0');
    }
    ck_assert_int_eq(buffer[capacity], '#');
  }
  rlo_shape_tree_release(tree);
}

RLO_TEST(test_text_tree__prints_without_layouts) {
  char buffer[128];
  static const char array[] = "f32[?,<=3,4]{0,1,2:T(8,128)}";
  rlo_shape shape = test_shape_of(array);
  ck_assert_uint_eq(rlo_shape_human_string(&shape, buffer, sizeof buffer), 12);
  ck_assert_str_eq(buffer, "f32[?,<=3,4]");

  rlo_shape_tree *tree = parsed("(f32[2]{0:T(8)}, b(s8[3]), token[])");
  rlo_shape_tree_human_string(tree, buffer, sizeof buffer);
  ck_assert_str_eq(buffer, "(f32[2], b(s8[3]), token[])");
  rlo_shape_tree_release(tree);
}
