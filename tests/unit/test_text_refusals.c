/* SPDX-License-Identifier: Apache-2.0 */

/* Parsers refuse texts with the sentences of tests/data/text_refusals.txt.
 * Damaged texts are refused or valid. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/xla/text.h"
#include "support/exact_copy.h"
#include "support/expect.h"
#include "support/random_descriptor.h"
#include "support/shape_of.h"
#include "support/suite.h"

RLO_TIMEOUT(120);

/* ------------------------------------------------------------------ sentences
 */

static rlo_status parse_shape(const char *text, size_t length) {
  rlo_shape shape;
  rlo_shape before;
  memset(&shape, 0x5a, sizeof shape);
  before = shape;
  rlo_status status = rlo_shape_parse(text, length, &shape);
  ck_assert_mem_eq(&shape, &before, sizeof shape);
  return status;
}

static rlo_status parse_tree(const char *text, size_t length) {
  rlo_shape_tree *tree = (rlo_shape_tree *)(void *)&length;
  rlo_status status = rlo_shape_tree_parse(text, length, &tree);
  ck_assert_ptr_null(tree);
  return status;
}

static rlo_status parse_bare(const char *text, size_t length) {
  rlo_bare_layout layout;
  static const rlo_bare_layout zero;
  memset(&layout, 0x5a, sizeof layout);
  rlo_status status = rlo_bare_layout_parse(text, length, &layout);
  ck_assert_mem_eq(&layout, &zero, sizeof layout);
  return status;
}

static const struct {
  const char *name;
  rlo_status (*parse)(const char *text, size_t length);
  int32_t num_rows;
} parsers[] = {{"shape", parse_shape, 110}, {"tree", parse_tree, 30}, {"bare", parse_bare, 16}};

/* Reads \xNN as a byte. */
static void read_bytes(char *text) {
  char *to = text;
  for (const char *from = text; *from != '\0'; ++to) {
    if (strncmp(from, "\\x", 2) == 0) {
      const char digits[3] = {from[2], from[3], '\0'};
      *to = (char)strtol(digits, NULL, 16);
      from += 4;
    } else {
      *to = *from++;
    }
  }
  *to = '\0';
}

/* Every refusal names the position, what was expected and what was found. */
RLO_TABLE_TEST(test_text__refuses_with_the_position, parsers) {
  FILE *file = fopen(RELAYOUT_TEST_DATA_DIR "/text_refusals.txt", "r");
  ck_assert_ptr_nonnull(file);
  char line[1024];
  int32_t num_rows = 0;
  int32_t num_wrong = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    char *fields[4] = {line, NULL, NULL, NULL};
    line[strcspn(line, "\n")] = '\0';
    for (int f = 1; f < 4 && (fields[f] = strchr(fields[f - 1], '\t')) != NULL; ++f) {
      *fields[f]++ = '\0';
    }
    if (fields[3] == NULL || strcmp(fields[0], parsers[_i].name) != 0) {
      continue;
    }
    read_bytes(fields[2]);
    char *copy = test_exact_copy(fields[2], strlen(fields[2]));
    rlo_status status = parsers[_i].parse(copy, strlen(fields[2]));
    free(copy);
    if (strcmp(rlo_status_name(status), fields[1]) != 0 ||
        strcmp(rlo_error_last()->message, fields[3]) != 0) {
      fprintf(stderr, "%s '%s': %s: %s\n  and not %s: %s\n", fields[0], fields[2],
              rlo_status_name(status), rlo_error_last()->message, fields[1], fields[3]);
      ++num_wrong;
    }
    ++num_rows;
  }
  fclose(file);
  ck_assert_int_eq(num_rows, parsers[_i].num_rows);
  ck_assert_int_eq(num_wrong, 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

/* -------------------------------------------------------------------- bounds
 */

RLO_TEST(test_text__limits_what_a_descriptor_holds) {
  char text[256] = "f32[1";
  rlo_shape shape;

  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    strcat(text, ",1");
  }
  strcat(text, "]");
  expect_refusal(test_parse_shape(text, &shape), RLO_UNSUPPORTED,
                 "position 68: a rank above the limit of 32");

  strcpy(text, "f32[1]{0:T");
  for (int32_t t = 0; t <= RLO_MAX_TILES; ++t) {
    strcat(text, "(1)");
  }
  strcat(text, "}");
  expect_refusal(test_parse_shape(text, &shape), RLO_UNSUPPORTED,
                 "position 34: more than 8 tiles in one layout");

  strcpy(text, "f32[1]{0:T(1");
  for (int32_t k = 0; k < RLO_MAX_TILE_RANK; ++k) {
    strcat(text, ",1");
  }
  strcat(text, ")}");
  expect_refusal(test_parse_shape(text, &shape), RLO_UNSUPPORTED,
                 "position 75: a tile of more than 32 dimensions");
}

RLO_TEST(test_text__bounds_the_text) {
  static char text[RLO_TEXT_MAX_BYTES + 1];
  rlo_shape shape;

  memset(text, ' ', sizeof text);
  memcpy(text, "f32[2]", 6);
  expect_ok(rlo_shape_parse(text, RLO_TEXT_MAX_BYTES, &shape));
  ck_assert_int_eq(rlo_shape_parse(text, RLO_TEXT_MAX_BYTES + 1, &shape), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_shape_parse(NULL, 0, &shape), RLO_PARSE);
  ck_assert_int_eq(rlo_shape_parse(NULL, 1, &shape), RLO_INVALID_ARGUMENT);
  expect_refusal(rlo_shape_parse("f32[2]\0", 7, &shape), RLO_PARSE,
                 "position 6: expected the end of the text, found '\\x00'");
}

RLO_TEST(test_text__every_prefix_is_refused) {
  static const char text[] =
      "f32[64,100]{1,0:T(8,128)(2,1)L(1024)E(64)S(1)pad(72,100)fill(lowest)}";
  rlo_shape shape;

  for (size_t length = 0; length < sizeof text - 1; ++length) {
    rlo_status status = rlo_shape_parse(text, length, &shape);
    /* "f32[64,100]" is a whole shape. */
    ck_assert_int_eq(status, length == 11 ? RLO_OK : RLO_PARSE);
  }
}

RLO_TEST(test_text__mutations_are_refused_or_valid) {
  static const char alphabet[] = "0123456789,:*()[]{}TLESCMD-x #f?<=+~/padillstr";
  test_random random = test_random_begin("test_text");
  int accepted = 0;

  for (int round = 0; round < 50000; ++round) {
    char text[512];
    char again[512];
    rlo_shape shape = test_random_descriptor(&random);
    size_t length = rlo_shape_format(&shape, text, sizeof text);
    for (int64_t n = test_random_in(&random, 1, 3); n > 0; --n) {
      size_t at = (size_t)test_random_in(&random, 0, (int64_t)length - 1);
      size_t letter = (size_t)test_random_in(&random, 0, (int64_t)sizeof alphabet - 2);
      text[at] = alphabet[letter];
    }
    rlo_status status = test_parse_shape(text, &shape);
    if (status != RLO_OK) {
      ck_assert(status == RLO_PARSE || status == RLO_UNSUPPORTED ||
                status == RLO_INVALID_ARGUMENT || status == RLO_OVERFLOW ||
                status == RLO_OUT_OF_RANGE);
      continue;
    }
    ++accepted;
    expect_ok(rlo_shape_validate_unbounded(&shape));
    rlo_shape_format(&shape, again, sizeof again);
    rlo_shape back = test_shape_of(again);
    ck_assert_msg(rlo_shape_equal(&shape, &back), "%s", text);
  }
  ck_assert_int_gt(accepted, 0);
}
