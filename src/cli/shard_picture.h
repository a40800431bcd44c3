/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_SHARD_PICTURE_H
#define RLO_CLI_SHARD_PICTURE_H

#include "relayout/sharding.h"

/** Prints which devices hold which part of an array, as a grid over the
 *  dimensions that are cut; says so if there are more than two of them, or too
 *  many parts to print. The sharding was validated. */
void rlo__shard_picture_print(const rlo_shape *shape,
                              const rlo_sharding *sharding,
                              int64_t num_devices);

#endif
