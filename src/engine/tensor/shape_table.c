/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/shape_table.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

/* Equal shapes have equal hashes; not every field takes part. */
static uint64_t hash_shape(const rlo_shape *shape) {
  const rlo_layout *layout = &shape->layout;
  const bool is_dense = layout->kind == RLO_LAYOUT_DENSE;
  rlo__hash hash = rlo__hash_init((uint64_t)shape->dtype);
  for (int32_t k = 0; k < shape->rank; ++k) {
    rlo__hash_i64(&hash, shape->dims[k]);
    rlo__hash_i64(&hash, is_dense ? layout->minor_to_major[k] : layout->strides_elems[k]);
  }
  rlo__hash_i64(&hash, is_dense ? layout->num_tiles : -1);
  return rlo__hash_finish_u64(&hash);
}

rlo_status rlo__shape_table_init(rlo__shape_table *table) {
  *table = (rlo__shape_table){.next_id = 1};
  rlo__table_init(&table->shapes, offsetof(rlo__shared_shape, node));
  return rlo__mutex_init(&table->mutex);
}

void rlo__shape_table_deinit(rlo__shape_table *table) {
  rlo__table_deinit(&table->shapes);
  rlo__mutex_deinit(&table->mutex);
}

static bool has_gaps(const rlo_shape *shape, const rlo_shape_extent *extent) {
  const rlo_layout *layout = &shape->layout;
  bool is_filled = layout->kind == RLO_LAYOUT_DENSE && layout->fill != RLO_FILL_INVALID &&
                   layout->fill != RLO_FILL_UNKNOWN;
  return (!is_filled && extent->elements != extent->slots) ||
         extent->slots % 8 * extent->element_bits % 8 != 0;
}

static bool is_same(const void *entry, const void *key) {
  const rlo__shared_shape *shared = entry;
  return rlo_shape_equal(&shared->shape, key);
}

rlo_status rlo__shape_table_get(rlo__shape_table *table, const rlo_shape *shape,
                                rlo__shared_shape **out_shape) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  const uint64_t hash = hash_shape(shape);
  rlo__mutex_lock(&table->mutex);
  rlo__shared_shape *found = rlo__table_find(&table->shapes, hash, is_same, shape);
  if (found != NULL) {
    rlo__shared_shape_retain(found);
  } else if ((found = rlo__alloc(sizeof *found)) != NULL) {
    *found = (rlo__shared_shape){.shape = *shape,
                                 .bytes = extent.physical_bytes,
                                 .elements = extent.elements,
                                 .has_gaps = has_gaps(shape, &extent),
                                 .id = table->next_id++,
                                 .num_references = 1};
    rlo__table_insert(&table->shapes, found, hash);
  }
  rlo__mutex_unlock(&table->mutex);
  *out_shape = found;
  return found != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

rlo__shared_shape *rlo__shared_shape_retain(rlo__shared_shape *shape) {
  atomic_fetch_add_explicit(&shape->num_references, 1, memory_order_relaxed);
  return shape;
}

void rlo__shared_shape_release(rlo__shape_table *table, rlo__shared_shape *shape) {
  if (shape == NULL) {
    return;
  }
  /* Drop the last reference under the mutex, so that no lookup can revive it.
   */
  int_fast64_t count = atomic_load(&shape->num_references);
  while (count > 1) {
    if (atomic_compare_exchange_weak(&shape->num_references, &count, count - 1)) {
      return;
    }
  }
  rlo__mutex_lock(&table->mutex);
  bool is_last = atomic_fetch_sub(&shape->num_references, 1) == 1;
  if (is_last) {
    rlo__table_remove(&table->shapes, shape);
  }
  rlo__mutex_unlock(&table->mutex);
  if (is_last) {
    rlo__free(shape);
  }
}
