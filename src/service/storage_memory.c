/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/threshold.h"
#include "service/storage_kind.h"

static rlo_status read_runs(rlo_storage *storage,
                            const rlo__runs *runs,
                            void *into) {
  const char *memory = storage->memory;
  size_t run_bytes = (size_t)runs->run_bytes;
  rlo__run_walk walk = {.offset = runs->offset};
  char *next = into;
  for (int64_t n = 0; n < runs->num_runs; ++n) {
    memcpy(next, memory + walk.offset, run_bytes);
    next += run_bytes;
    rlo__run_walk_step(&walk, runs);
  }
  rlo__storage_count_read(
      storage, runs->offset, runs->num_runs * runs->run_bytes, 0);
  return RLO_OK;
}

static rlo_status write_runs(rlo_storage *storage,
                             const rlo__runs *runs,
                             const void *from) {
  char *memory = storage->memory;
  size_t run_bytes = (size_t)runs->run_bytes;
  rlo__run_walk walk = {.offset = runs->offset};
  const char *next = from;
  for (int64_t n = 0; n < runs->num_runs; ++n) {
    memcpy(memory + walk.offset, next, run_bytes);
    next += run_bytes;
    rlo__run_walk_step(&walk, runs);
  }
  rlo__storage_count_write(
      storage, runs->offset, runs->num_runs * runs->run_bytes);
  return RLO_OK;
}

static void destroy(rlo_storage *storage) {
  rlo__free(storage);
}

static const rlo__storage_kind memory_kind = {
    .read = read_runs, .write = write_runs, .destroy = destroy};

static rlo_status create(void *memory,
                         int64_t bytes,
                         bool is_read_only,
                         rlo_storage **out_storage) {
  RLO_REQUIRE(out_storage);
  *out_storage = NULL;
  RLO_REQUIRE_LIST(memory, bytes);
  if (bytes < 0 || (uint64_t)bytes > SIZE_MAX) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "memory of %" PRId64 " bytes; 0 to %zu are possible",
                    bytes,
                    SIZE_MAX);
  }
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = bytes;
  traits.good_read_bytes = rlo__thresholds.service_memory_good_bytes;
  traits.good_write_bytes = rlo__thresholds.service_memory_good_bytes;
  traits.is_read_only = is_read_only;
  RLO_TRY(rlo__storage_read_traits(NULL, &traits));
  rlo_storage *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__storage_init(made, &memory_kind, &traits);
  made->memory = memory;
  *out_storage = made;
  return RLO_OK;
}

rlo_status rlo_storage_from_memory(void *memory,
                                   int64_t bytes,
                                   rlo_storage **out_storage) {
  return create(memory, bytes, false, out_storage);
}

rlo_status rlo_storage_from_const_memory(const void *memory,
                                         int64_t bytes,
                                         rlo_storage **out_storage) {
  /* Never written through: the storage is read-only. */
  return create((void *)(uintptr_t)memory, bytes, true, out_storage);
}
