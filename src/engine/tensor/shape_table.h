/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_SHAPE_TABLE_H
#define RLO_ENGINE_SHAPE_TABLE_H

#include <stdatomic.h>

#include "base/thread.h"
#include "relayout/shape.h"

/**
 * The shapes of an engine's tensors, each kept once: a shape is 5 KiB, too much
 * to copy and to compare at every call. Equal shapes are one rlo__shared_shape
 * with one id.
 */
typedef struct rlo__shared_shape {
  /** First, so that a shape leads to where it is shared. Never changes. */
  rlo_shape shape;
  /** What a memory of this shape holds: rlo_shape_extent. */
  int64_t bytes;
  int64_t elements;
  /** Some bits belong to no element and take no fill: a new memory of this
   *  shape begins as zeros. */
  bool has_gaps;
  /** Not 0; never used again for another shape of the table. */
  uint64_t id;
  uint64_t hash;
  atomic_int_fast64_t num_references;
  struct rlo__shared_shape *next;
} rlo__shared_shape;

enum { RLO__SHAPE_TABLE_BUCKETS = 256 };

typedef struct rlo__shape_table {
  rlo__mutex mutex;
  uint64_t next_id;
  rlo__shared_shape *buckets[RLO__SHAPE_TABLE_BUCKETS];
} rlo__shape_table;

/** RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__shape_table_init(rlo__shape_table *table);

/** Every shape must have been released. */
void rlo__shape_table_deinit(rlo__shape_table *table);

/** The shared shape equal to this one, with a reference more. @return RLO_OK;
 *  what rlo_shape_validate says; RLO_OUT_OF_MEMORY. Threads: safe. */
RLO_NODISCARD rlo_status rlo__shape_table_get(rlo__shape_table *table,
                                              const rlo_shape *shape,
                                              rlo__shared_shape **out_shape);

rlo__shared_shape *rlo__shared_shape_retain(rlo__shared_shape *shape);

/** NULL is legal. Threads: safe. */
void rlo__shared_shape_release(rlo__shape_table *table,
                               rlo__shared_shape *shape);

#endif
