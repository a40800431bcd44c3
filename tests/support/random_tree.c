/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_tree.h"

#include <check.h>

#include "support/expect.h"
#include "support/random_descriptor.h"

static rlo_shape_tree *random_leaf(test_random *random) {
  rlo_shape_tree *tree = NULL;
  rlo_shape shape = test_random_descriptor(random);
  rlo_status status = RLO_OK;
  switch (test_random_in(random, 0, 5)) {
    case 0:
      status = rlo_shape_tree_make_token(&tree);
      break;
    case 1:
      status = rlo_shape_tree_make_opaque(&tree);
      break;
    case 2:
      status = rlo_shape_tree_make_buffer(&shape, &tree);
      break;
    default:
      status = rlo_shape_tree_make_array(&shape, &tree);
      break;
  }
  expect_ok(status);
  return tree;
}

/* Grown from its leaves: now and then the last few become a tuple. */
rlo_shape_tree *test_random_tree(test_random *random, int64_t most) {
  enum { ROOM = 16 };

  rlo_shape_tree *parts[ROOM];
  int64_t count = 0;
  for (int64_t n = test_random_in(random, 1, most); n > 0; --n) {
    bool is_full = count == ROOM;
    if (!is_full && !test_random_once_in(random, 4)) {
      parts[count++] = random_leaf(random);
      continue;
    }
    int64_t taken = test_random_in(random, is_full ? 1 : 0, count);
    rlo_shape_tree *tuple = NULL;
    expect_ok(rlo_shape_tree_make_tuple((const rlo_shape_tree *const *)parts + count - taken, taken,
                                        &tuple));
    for (; taken > 0; --taken) {
      rlo_shape_tree_release(parts[--count]);
    }
    parts[count++] = tuple;
  }
  while (count > 1) {
    rlo_shape_tree_release(parts[--count]);
  }
  return parts[0];
}
