/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_SHARDING_H
#define RLO_TESTS_SUPPORT_RANDOM_SHARDING_H

#include "relayout/sharding.h"
#include "support/random.h"

enum { TEST_MAX_DEVICES = 4096 };

/** A sharding of any kind that names boxes, for arrays of this shape on
 *  `num_devices` of 1 to TEST_MAX_DEVICES devices: copies, summands where
 *  `may_be_unreduced`, empty tiles and boxes. The caller releases it. Returns
 *  what making it returned: programs without Check draw too. */
rlo_status test_random_sharding(test_random *random, const rlo_shape *shape, int64_t num_devices,
                                bool may_be_unreduced, rlo_sharding **out);

/** Which summand of an array a device holds, from 0. */
int64_t test_addend_of(const rlo_sharding *sharding, int64_t device);

/** How many summands make up each element, on as many devices. */
int64_t test_count_addends(const rlo_sharding *sharding, int64_t num_devices);

#endif
