/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_TREE_H
#define RLO_TESTS_SUPPORT_RANDOM_TREE_H

#include "relayout/xla/shape_tree.h"
#include "support/random.h"

/** A random tree with leaves of every kind and at most `most` tuples and
 *  leaves; its arrays are those of test_random_descriptor. */
rlo_shape_tree *test_random_tree(test_random *random, int64_t most);

#endif
