/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_SHAPE_TABLE_H
#define RLO_ENGINE_SHAPE_TABLE_H

#include <stdatomic.h>

#include "base/table.h"
#include "base/thread.h"
#include "relayout/shape.h"

/**
 * The unique copies of the shapes of an engine's tensors: a shape takes 5 KiB,
 * too much to copy and to compare at every call. Equal shapes are one
 * rlo__shared_shape with one id.
 */
typedef struct rlo__shared_shape {
  /** Constant. First, so that a pointer to it is one to this. */
  rlo_shape shape;
  /** The size of a memory of this shape: physical_bytes of rlo_shape_extent. */
  int64_t bytes;
  int64_t elements;
  /** Some bits belong to no element and take no fill: a new memory of this
   *  shape begins as zeros. */
  bool has_gaps;
  /** A number above 0; never reused for another shape of the table. */
  uint64_t id;
  atomic_int_fast64_t num_references;
  rlo__table_node node;
} rlo__shared_shape;

/** The shared shape of which `shape` is the part; NULL of NULL. */
static inline rlo__shared_shape *rlo__shared_shape_of(const rlo_shape *shape) {
  return (rlo__shared_shape *)(uintptr_t)shape;
}

typedef struct rlo__shape_table {
  rlo__mutex mutex;
  uint64_t next_id;
  rlo__table shapes;
} rlo__shape_table;

/** RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__shape_table_init(rlo__shape_table *table);

/** Every shape must have been released. */
void rlo__shape_table_deinit(rlo__shape_table *table);

/** Returns a new reference to the shared shape that equals `shape`. @return
 *  RLO_OK; the statuses of rlo_shape_validate; RLO_OUT_OF_MEMORY. Threads:
 *  safe. */
RLO_NODISCARD rlo_status rlo__shape_table_get(rlo__shape_table *table, const rlo_shape *shape,
                                              rlo__shared_shape **out_shape);

rlo__shared_shape *rlo__shared_shape_retain(rlo__shared_shape *shape);

/** NULL is legal. Threads: safe. */
void rlo__shared_shape_release(rlo__shape_table *table, rlo__shared_shape *shape);

#endif
