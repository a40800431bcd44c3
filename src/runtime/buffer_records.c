/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/buffer_records.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

static uint64_t hash_of(cl_mem buffer) {
  rlo__hash hash = rlo__hash_init(0);
  rlo__hash_u64(&hash, (uintptr_t)buffer);
  return rlo__hash_finish_u64(&hash);
}

static bool is_of(const void *entry, const void *key) {
  return ((const rlo__buffer_record *)entry)->buffer == *(const cl_mem *)key;
}

rlo_status rlo__buffer_records_init(rlo__buffer_records *records) {
  rlo__table_init(&records->table, offsetof(rlo__buffer_record, node));
  RLO_TRY(rlo__mutex_init(&records->mutex));
  records->has_mutex = true;
  return RLO_OK;
}

void rlo__buffer_records_deinit(rlo__buffer_records *records) {
  if (!records->has_mutex) {
    return;
  }
  rlo__buffer_record *record = NULL;
  while ((record = rlo__table_remove_oldest(&records->table)) != NULL) {
    rlo__free(record);
  }
  rlo__table_deinit(&records->table);
  rlo__mutex_deinit(&records->mutex);
}

void rlo__buffer_records_add(rlo__buffer_records *records,
                             rlo__buffer_record *record) {
  rlo__mutex_lock(&records->mutex);
  rlo__table_insert(&records->table, record, hash_of(record->buffer));
  rlo__mutex_unlock(&records->mutex);
}

rlo__buffer_record *rlo__buffer_records_take(rlo__buffer_records *records,
                                             cl_mem buffer) {
  rlo__mutex_lock(&records->mutex);
  rlo__buffer_record *record =
      rlo__table_find(&records->table, hash_of(buffer), is_of, &buffer);
  if (record != NULL) {
    rlo__table_remove(&records->table, record);
  }
  rlo__mutex_unlock(&records->mutex);
  return record;
}
