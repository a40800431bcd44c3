/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_BATCH_H
#define RLO_PLAN_BATCH_H

#include "plan/launch.h"

/**
 * The launch of a batch: the kernel of its items' launches, compiled by the same
 * constants, whose groups read the arguments of their items from tables (cl/batch.cl).
 * Items share it if their launches have the same file and constants, and their arguments
 * at the same places among the numbers.
 */

/** The constants that it adds: the work-items of a group; and of each argument of an
 *  item its kind and its place, of which codegen makes the arguments of a call. */
#define RLO__BATCH          "RLO_BATCH"
#define RLO__ITEM_ARGUMENTS "RLO_ITEM_ARGUMENTS"

/**
 * Writes the launch of a batch. It takes the source, the destination, and the tables as
 * its indices.
 * @param item       the launch of one of its items.
 * @param groups_at  where in the tables its groups begin, in longs.
 * @param batch      initialized.
 * @return as rlo__launch_argument.
 */
RLO_NODISCARD rlo_status rlo__batch_launch(const rlo__launch *item, int64_t groups_at,
                                           int64_t num_groups, rlo__launch *batch);

#endif
