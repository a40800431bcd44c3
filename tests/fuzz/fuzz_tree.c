/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/text.h"

#include "fuzz.h"

static rlo_status check_place(const rlo_subshape *place, void *payload) {
  int64_t *count = payload;
  ++*count;
  if (place->shape != NULL) {
    fuzz_check_shape(place->shape);
  }
  return RLO_OK;
}

static void check_tree(const char *text, size_t size) {
  rlo_shape_tree *tree;
  if (rlo_shape_tree_parse(text, size, &tree) != RLO_OK) {
    FUZZ_CHECK(tree == NULL);
    return;
  }
  int64_t count = 0;
  FUZZ_CHECK(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_POST_ORDER, check_place, &count) ==
             RLO_OK);
  FUZZ_CHECK(count == rlo_shape_tree_subshape_count(tree));
  rlo_shape_tree *flat;
  FUZZ_CHECK(rlo_shape_tree_flatten(tree, &flat) == RLO_OK);
  FUZZ_CHECK(rlo_shape_tree_leaf_count(flat) == rlo_shape_tree_leaf_count(tree));
  rlo_shape_tree_release(flat);
  size_t length = rlo_shape_tree_format(tree, NULL, 0);
  char *printed = malloc(length + 1);
  FUZZ_CHECK(printed != NULL);
  FUZZ_CHECK(rlo_shape_tree_format(tree, printed, length + 1) == length);
  rlo_shape_tree *again;
  FUZZ_CHECK(rlo_shape_tree_parse(printed, length, &again) == RLO_OK);
  FUZZ_CHECK(rlo_shape_tree_equal(tree, again));
  rlo_shape_tree_release(again);
  free(printed);
  rlo_shape_tree_release(tree);
}

static void check_program(const char *text, size_t size) {
  rlo_program_shape *program;
  if (rlo_program_shape_parse(text, size, &program) != RLO_OK) {
    FUZZ_CHECK(program == NULL);
    return;
  }
  size_t length = rlo_program_shape_format(program, NULL, 0);
  char *printed = malloc(length + 1);
  FUZZ_CHECK(printed != NULL);
  FUZZ_CHECK(rlo_program_shape_format(program, printed, length + 1) == length);
  rlo_program_shape *again;
  FUZZ_CHECK(rlo_program_shape_parse(printed, length, &again) == RLO_OK);
  FUZZ_CHECK(rlo_program_shape_equal(program, again));
  rlo_program_shape_release(again);
  free(printed);
  rlo_program_shape_release(program);
}

/* The texts of tuples, buffers, tokens and programs. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check_tree((const char *)data, size);
  check_program((const char *)data, size);
  return 0;
}
