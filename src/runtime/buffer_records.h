/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_BUFFER_RECORDS_H
#define RLO_RUNTIME_BUFFER_RECORDS_H

#include "base/table.h"
#include "base/thread.h"
#include "relayout/opencl.h"

typedef struct rlo__buffer_record {
  rlo__table_node node;
  cl_mem buffer;
  int64_t bytes;
} rlo__buffer_record;

/** The buffers of rlo_buffer_create that are not released, with their sizes:
 *  what returns to the budget must not depend on a query that may fail.
 *  Threads: safe. */
typedef struct rlo__buffer_records {
  rlo__mutex mutex;
  bool has_mutex;
  rlo__table table;
} rlo__buffer_records;

/** Fails with RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__buffer_records_init(rlo__buffer_records *records);

/** Frees the records of buffers that were never released, which are their
 *  callers'. Zeros are legal. */
void rlo__buffer_records_deinit(rlo__buffer_records *records);

/** Takes ownership of a record, which is of rlo__alloc. */
void rlo__buffer_records_add(rlo__buffer_records *records,
                             rlo__buffer_record *record);

/** Removes and returns the record of a buffer; NULL if there is none. */
rlo__buffer_record *rlo__buffer_records_take(rlo__buffer_records *records,
                                             cl_mem buffer);

#endif
