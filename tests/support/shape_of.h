/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_SHAPE_OF_H
#define RLO_TESTS_SUPPORT_SHAPE_OF_H

#include "relayout/chain.h"
#include "relayout/shape.h"

/**
 * Shapes as suites name them, by their text, and what lies where in them.
 */

/** rlo_shape_parse on a copy of the text's exact size. */
rlo_status test_parse_shape(const char *text, rlo_shape *out_shape);

/** Returns the shape of a text; fails the test if there is none. */
rlo_shape test_shape_of(const char *text);

/** Call the functions of these names, and fail the test if they fail. */
rlo_shape test_shape_make(rlo_dtype dtype, const int64_t *dims, int32_t rank);
rlo_chain *test_chain_of(const rlo_shape *shape);

/** The text of a shape, of 2047 bytes at most. It stays as it is until the
 *  fourth call after this one. */
const char *test_text_of(const rlo_shape *shape);

/** Fail the test unless the shape is that of the text. */
void test_expect_shape(const rlo_shape *shape, const char *text);

/** Returns the number of slots of the shape's memory. */
int64_t test_slots_of(const rlo_shape *shape);

/** Returns the slot of the element at `index`; fails the test if it has
 *  none. */
int64_t test_slot_of(const rlo_shape *shape, const int64_t *index);

#endif
