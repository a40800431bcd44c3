/* SPDX-License-Identifier: Apache-2.0 */
#include "support/watched_storage.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/storage.h"
#include "support/expect.h"
#include "support/sanitized.h"
#include "support/temp_file.h"

enum {
  /** In memory a sanitizer sees more than the bytes around a storage tell:
   *  also what is read of them. */
  MEMORY_GUARD_BYTES = TEST_IS_SANITIZED ? 0 : 64,
  FILE_GUARD_BYTES = 100,
  GUARD = 0xa5
};

/* ---------------------------------------------------------------- functions */

static void note_range(watched_storage *w, const void *memory, int64_t bytes) {
  uintptr_t begin = (uintptr_t)memory;
  uintptr_t end = begin + (uintptr_t)bytes;
  uintptr_t low = atomic_load(&w->low);
  while (begin < low && !atomic_compare_exchange_weak(&w->low, &low, begin)) {
  }
  uintptr_t high = atomic_load(&w->high);
  while (end > high && !atomic_compare_exchange_weak(&w->high, &high, end)) {
  }
}

static rlo_status watch(watched_storage *w, bool is_write, int64_t offset, int64_t bytes,
                        const void *memory) {
  int number = atomic_fetch_add(&w->num_calls, 1) + 1;
  if (w->on_call != NULL) {
    w->on_call(w->payload);
  }
  note_range(w, memory, bytes);
  if (offset < 0 || bytes < 1 || offset + bytes > w->bytes) {
    return rlo_error_set(RLO_INTERNAL, "beyond the storage");
  }
  if (offset % w->granule_bytes != 0 ||
      (bytes % w->granule_bytes != 0 && offset + bytes != w->bytes)) {
    return rlo_error_set(RLO_INTERNAL, "not in granules");
  }
  if (w->storage->traits.is_forward) {
    if (offset < w->positions[is_write]) {
      return rlo_error_set(RLO_INTERNAL, "goes back");
    }
    w->positions[is_write] = offset + bytes;
  }
  if (number == w->fails_at) {
    return w->fails_silently ? w->failure : rlo_error_set(w->failure, "call %d fails", number);
  }
  return RLO_OK;
}

static rlo_status read_now(void *payload, int64_t offset, int64_t bytes, void *into) {
  watched_storage *w = payload;
  rlo_status status = watch(w, false, offset, bytes, into);
  if (status == RLO_OK) {
    memcpy(into, w->memory + offset, (size_t)bytes);
  }
  return status;
}

static rlo_status write_now(void *payload, int64_t offset, int64_t bytes, const void *from) {
  watched_storage *w = payload;
  rlo_status status = watch(w, true, offset, bytes, from);
  if (status == RLO_OK) {
    rlo__mutex_lock(&w->mutex);
    memcpy(w->memory + offset, from, (size_t)bytes);
    rlo__mutex_unlock(&w->mutex);
  }
  return status;
}

static rlo_status reserve(void *payload, int64_t bytes) {
  watched_storage *w = payload;
  ck_assert_int_le(bytes, w->bytes);
  atomic_fetch_add(&w->num_reserves, 1);
  return RLO_OK;
}

static rlo_status flush(void *payload) {
  watched_storage *w = payload;
  size_t bytes = (size_t)w->bytes;
  uint8_t *taken = malloc(bytes + 1);
  ck_assert_ptr_nonnull(taken);
  rlo__mutex_lock(&w->mutex);
  memcpy(taken, w->memory, bytes);
  rlo__mutex_unlock(&w->mutex);
  if (w->on_flush != NULL) {
    w->on_flush(w->payload);
  }
  if (w->flush_failure == RLO_OK) {
    rlo__mutex_lock(&w->mutex);
    memcpy(w->durable, taken, bytes);
    rlo__mutex_unlock(&w->mutex);
  }
  free(taken);
  atomic_fetch_add(&w->num_flushes, 1);
  return w->flush_failure == RLO_OK ? RLO_OK : rlo_error_set(w->flush_failure, "a flush fails");
}

/* ---------------------------------------------------------------- lifecycle */

static void init_functions(watched_storage *w, const rlo_storage_traits *traits) {
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.read = read_now;
  ops.write = write_now;
  ops.reserve = reserve;
  ops.flush = flush;
  rlo_storage_traits made = RLO_STORAGE_TRAITS_INIT;
  if (traits != NULL) {
    made = *traits;
  }
  made.bytes = w->bytes;
  w->durable = malloc((size_t)w->bytes + 1);
  ck_assert_ptr_nonnull(w->durable);
  memcpy(w->durable, w->memory, (size_t)w->bytes);
  expect_ok(rlo__mutex_init(&w->mutex));
  expect_ok(rlo_storage_create(&ops, w, &made, &w->storage));
}

static void init_file(watched_storage *w, const void *content, const rlo_storage_traits *traits) {
  uint8_t guard[FILE_GUARD_BYTES];
  memset(guard, GUARD, sizeof guard);
  w->fd = temp_file_open();
  w->file_offset = FILE_GUARD_BYTES;
  int64_t end = w->file_offset + w->bytes;
  ck_assert_int_eq(pwrite(w->fd, guard, sizeof guard, 0), FILE_GUARD_BYTES);
  ck_assert_int_eq(pwrite(w->fd, content, (size_t)w->bytes, w->file_offset), w->bytes);
  ck_assert_int_eq(pwrite(w->fd, guard, sizeof guard, end), FILE_GUARD_BYTES);
  expect_ok(rlo_storage_from_fd(w->fd, w->file_offset, w->bytes, traits, &w->storage));
}

static void init_memory(watched_storage *w, const void *content) {
  size_t shift = w->kind == TEST_STORAGE_ODD_MEMORY ? 1 : 0;
  size_t before = MEMORY_GUARD_BYTES + shift;
  size_t bytes = (size_t)w->bytes;
  size_t block_bytes = before + bytes + MEMORY_GUARD_BYTES;
  w->block = malloc(block_bytes > 0 ? block_bytes : 1);
  ck_assert_ptr_nonnull(w->block);
  w->memory = w->block + before;
  memset(w->block, GUARD, before);
  memset(w->memory + bytes, GUARD, MEMORY_GUARD_BYTES);
  if (bytes > 0) {
    memcpy(w->memory, content, bytes);
  }
}

void watched_storage_init(watched_storage *w, test_storage_kind kind, const void *content,
                          int64_t bytes, const rlo_storage_traits *traits) {
  memset(w, 0, sizeof *w);
  w->kind = kind;
  w->bytes = bytes;
  w->fd = -1;
  bool has_granules = !watched_storage_is_memory(w) && traits != NULL && traits->granule_bytes > 0;
  w->granule_bytes = has_granules ? traits->granule_bytes : 1;
  atomic_init(&w->low, UINTPTR_MAX);
  atomic_init(&w->high, 0);
  if (kind == TEST_STORAGE_FILE) {
    init_file(w, content, traits);
    return;
  }
  init_memory(w, content);
  if (watched_storage_is_memory(w)) {
    expect_ok(rlo_storage_from_memory(w->memory, bytes, &w->storage));
  } else {
    init_functions(w, traits);
  }
}

static void expect_guard(const uint8_t *guard, size_t bytes, const char *side) {
  for (size_t n = 0; n < bytes; ++n) {
    ck_assert_msg(guard[n] == GUARD, "byte %zu of %zu %s the storage was written", n, bytes, side);
  }
}

static void get_of_file(const watched_storage *w, void *out_content) {
  uint8_t guard[FILE_GUARD_BYTES];
  int64_t end = w->file_offset + w->bytes;
  ck_assert_int_eq(pread(w->fd, guard, sizeof guard, 0), FILE_GUARD_BYTES);
  expect_guard(guard, sizeof guard, "before");
  ck_assert_int_eq(pread(w->fd, out_content, (size_t)w->bytes, w->file_offset), w->bytes);
  ck_assert_int_eq(pread(w->fd, guard, sizeof guard, end), FILE_GUARD_BYTES);
  expect_guard(guard, sizeof guard, "behind");
}

void watched_storage_get(const watched_storage *w, void *out_content) {
  if (w->kind == TEST_STORAGE_FILE) {
    get_of_file(w, out_content);
    return;
  }
  expect_guard(w->block, (size_t)(w->memory - w->block), "before");
  expect_guard(w->memory + w->bytes, MEMORY_GUARD_BYTES, "behind");
  if (w->bytes > 0) {
    memcpy(out_content, w->memory, (size_t)w->bytes);
  }
}

bool watched_storage_is_memory(const watched_storage *w) {
  return w->kind == TEST_STORAGE_MEMORY || w->kind == TEST_STORAGE_ODD_MEMORY;
}

void watched_storage_get_durable(watched_storage *w, void *out_content) {
  rlo__mutex_lock(&w->mutex);
  memcpy(out_content, w->durable, (size_t)w->bytes);
  rlo__mutex_unlock(&w->mutex);
}

void watched_storage_deinit(watched_storage *w) {
  rlo_storage_release(w->storage);
  if (w->durable != NULL) {
    rlo__mutex_deinit(&w->mutex);
    free(w->durable);
  }
  if (w->fd >= 0) {
    ck_assert_int_eq(close(w->fd), 0);
  }
  free(w->block);
}

/* -------------------------------------------------------------------- gates */

void test_gate_init(test_gate *gate) {
  memset(gate, 0, sizeof *gate);
  expect_ok(rlo__mutex_init(&gate->mutex));
  expect_ok(rlo__cond_init(&gate->cond));
}

void test_gate_deinit(test_gate *gate) {
  rlo__cond_deinit(&gate->cond);
  rlo__mutex_deinit(&gate->mutex);
}

void test_gate_pass(void *payload) {
  test_gate *gate = payload;
  rlo__mutex_lock(&gate->mutex);
  ++gate->num_waiting;
  rlo__cond_broadcast(&gate->cond);
  while (!gate->is_open) {
    rlo__cond_wait(&gate->cond, &gate->mutex);
  }
  --gate->num_waiting;
  rlo__mutex_unlock(&gate->mutex);
}

void test_gate_await(test_gate *gate, int num_waiting) {
  rlo__mutex_lock(&gate->mutex);
  while (gate->num_waiting < num_waiting) {
    rlo__cond_wait(&gate->cond, &gate->mutex);
  }
  rlo__mutex_unlock(&gate->mutex);
}

void test_gate_open(test_gate *gate) {
  rlo__mutex_lock(&gate->mutex);
  gate->is_open = true;
  rlo__cond_broadcast(&gate->cond);
  rlo__mutex_unlock(&gate->mutex);
}
