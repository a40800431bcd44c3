/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_BATCH_H
#define RLO_PLAN_BATCH_H

#include "plan/launch.h"

/**
 * The launch of a batch: the kernel of its items' launches, compiled by the same
 * constants, whose groups read the arguments of their items from tables
 * (cl/batch.cl). Items share it if their launches have the same file and constants.
 */

#define RLO__BATCH          "RLO_BATCH"
#define RLO__ITEM_ARGUMENTS "RLO_ITEM_ARGUMENTS"

enum {
  /** Longs that the length of a record is a multiple of, so that vectors in it are
   *  aligned. */
  RLO__BATCH_RECORD_LONGS = 16
};

/** An item in the tables. */
typedef struct rlo__batch_row {
  /** Bytes from those of the memories on. */
  int64_t src_offset_bytes, dst_offset_bytes;
  /** Its record, in longs from the tables on, and its first group. */
  int64_t record_at, first_group;
} rlo__batch_row;

/** Where the tables of a launch begin, in bytes, and what it runs. */
typedef struct rlo__batch_tables {
  int64_t items_at, groups_at;
  int64_t num_groups;
} rlo__batch_tables;

/**
 * Writes the launch of a batch. It takes the source, the destination, and the tables as
 * its indices.
 * @param item   the launch of one of its items.
 * @param batch  initialized.
 * @return as rlo__launch_argument.
 */
RLO_NODISCARD rlo_status rlo__batch_launch(const rlo__launch *item, const rlo__batch_tables *tables,
                                           rlo__launch *batch);

/** Longs of the record of an item's launch. */
int64_t rlo__batch_record_longs(const rlo__launch *item);

/** Writes the record. @param out_record  zeros. */
void rlo__batch_record_write(const rlo__launch *item, int64_t *out_record);

#endif
