/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_DESCRIPTOR_H
#define RLO_TESTS_SUPPORT_RANDOM_DESCRIPTOR_H

#include "relayout/shape.h"
#include "support/random.h"

/** A small random shape with everything that a shape and its layout can say,
 *  carried fields and unbounded dimensions included. It is valid (by
 *  rlo_shape_validate_unbounded), and its text is shorter than 512 bytes. */
rlo_shape test_random_descriptor(test_random *random);

#endif
