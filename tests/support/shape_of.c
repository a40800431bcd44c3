/* SPDX-License-Identifier: Apache-2.0 */
#include "support/shape_of.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/index.h"
#include "relayout/text.h"
#include "support/exact_copy.h"
#include "support/expect.h"

rlo_status test_parse_shape(const char *text, rlo_shape *out_shape) {
  size_t length = strlen(text);
  char *copy = test_exact_copy(text, length);
  rlo_status status = rlo_shape_parse(copy, length, out_shape);
  free(copy);
  return status;
}

rlo_shape test_shape_of(const char *text) {
  rlo_shape shape;
  rlo_status status = test_parse_shape(text, &shape);
  ck_assert_msg(status == RLO_OK, "'%s': %s", text, rlo_error_last()->message);
  return shape;
}

rlo_shape test_shape_make(rlo_dtype dtype, const int64_t *dims, int32_t rank) {
  rlo_shape shape;
  expect_ok(rlo_shape_make(dtype, dims, rank, &shape));
  return shape;
}

rlo_chain *test_chain_of(const rlo_shape *shape) {
  rlo_chain *chain = NULL;
  expect_ok(rlo_chain_create(shape, &chain));
  return chain;
}

const char *test_text_of(const rlo_shape *shape) {
  static char texts[4][2048];
  static int next;
  char *text = texts[next++ % 4];
  rlo_shape_format(shape, text, sizeof texts[0]);
  return text;
}

void test_expect_shape(const rlo_shape *shape, const char *text) {
  rlo_shape expected = test_shape_of(text);
  ck_assert_msg(rlo_shape_equal(shape, &expected), "%s, not %s", test_text_of(shape), text);
}

int64_t test_slots_of(const rlo_shape *shape) {
  rlo_shape_extent extent;
  expect_ok(rlo_shape_measure(shape, &extent));
  return extent.slots;
}

int64_t test_slot_of(const rlo_shape *shape, const int64_t *index) {
  int64_t slot = -1;
  rlo_status status = rlo_index_to_linear(shape, index, &slot);
  expect_ok(status);
  return slot;
}
