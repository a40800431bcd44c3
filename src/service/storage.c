/* SPDX-License-Identifier: Apache-2.0 */
#include "service/storage.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "base/threshold.h"

enum { DEFAULT_DEPTH = 8 };

/* ------------------------------------------------------------------- traits */

static rlo_status check_trait(const char *name, int64_t value) {
  RLO_FAIL_IF(value < 0, RLO_INVALID_ARGUMENT,
              "%s of the storage traits is %" PRId64 "; at least 0", name, value);
  return RLO_OK;
}

static int64_t or_default(int64_t value, int64_t when_zero) {
  return value != 0 ? value : when_zero;
}

rlo_status rlo__storage_read_traits(const rlo_storage_traits *traits,
                                    rlo_storage_traits *out_traits) {
  rlo_storage_traits read = *out_traits;
  RLO_TRY(
      rlo__options_read("storage traits", "RLO_STORAGE_TRAITS_INIT", traits, &read, sizeof read));
  RLO_TRY(check_trait("bytes", read.bytes));
  RLO_TRY(check_trait("granule_bytes", read.granule_bytes));
  RLO_TRY(check_trait("good_read_bytes", read.good_read_bytes));
  RLO_TRY(check_trait("good_write_bytes", read.good_write_bytes));
  RLO_TRY(check_trait("good_depth", read.good_depth));
  read.struct_size = sizeof read;
  read.granule_bytes = or_default(read.granule_bytes, 1);
  read.good_read_bytes = or_default(
      read.good_read_bytes, rlo__max(rlo__thresholds.service_good_read_bytes, read.granule_bytes));
  read.good_write_bytes =
      or_default(read.good_write_bytes,
                 rlo__max(rlo__thresholds.service_good_write_bytes, read.granule_bytes));
  read.good_depth = read.good_depth != 0 ? read.good_depth : DEFAULT_DEPTH;
  *out_traits = read;
  return RLO_OK;
}

rlo_status rlo_storage_get_traits(const rlo_storage *storage, rlo_storage_traits *out_traits) {
  RLO_REQUIRE(storage, out_traits);
  return rlo__report_write("storage traits", "RLO_STORAGE_TRAITS_INIT", &storage->traits,
                           out_traits, sizeof *out_traits);
}

/* ---------------------------------------------------------------- lifecycle */

void rlo__storage_init(rlo_storage *storage, const rlo__storage_kind *kind,
                       const rlo_storage_traits *traits) {
  storage->kind = kind;
  storage->traits = *traits;
  atomic_init(&storage->num_references, 1);
  for (int n = 0; n < 2; ++n) {
    atomic_init(&storage->counters[n].smallest, INT64_MAX);
  }
}

rlo_storage *rlo_storage_retain(rlo_storage *storage) {
  if (storage != NULL) {
    atomic_fetch_add_explicit(&storage->num_references, 1, memory_order_relaxed);
  }
  return storage;
}

void rlo_storage_release(rlo_storage *storage) {
  if (storage != NULL &&
      atomic_fetch_sub_explicit(&storage->num_references, 1, memory_order_acq_rel) == 1) {
    storage->kind->destroy(storage);
  }
}

/* --------------------------------------------------------------- statistics */

static void add(atomic_int_fast64_t *sum, int64_t value) {
  atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

static bool ends_with_storage(const rlo_storage *storage, int64_t offset, int64_t bytes) {
  return offset + bytes == storage->traits.bytes;
}

void rlo__storage_count(rlo_storage *storage, bool is_write, int64_t offset, int64_t bytes,
                        int64_t skipped, int64_t direct) {
  rlo__storage_counters *c = &storage->counters[is_write];
  add(&c->num, 1);
  add(&c->bytes, bytes - skipped);
  add(&c->skipped_bytes, skipped);
  add(&c->direct_bytes, direct);
  int_fast64_t old = atomic_load_explicit(&c->smallest, memory_order_relaxed);
  while (bytes < old && !ends_with_storage(storage, offset, bytes) &&
         !atomic_compare_exchange_weak(&c->smallest, &old, bytes)) {
  }
}

/* ---------------------------------------------------------------- transfers */

/** Checks that positions `begin` to `begin` + `bytes` - 1 exist. */
static rlo_status check_range(const rlo_storage *storage, int64_t begin, int64_t bytes) {
  int64_t limit = storage->traits.bytes;
  RLO_FAIL_IF(begin < 0 || bytes < 0 || begin > limit || bytes > limit - begin, RLO_OUT_OF_RANGE,
              "%" PRId64 " bytes at byte %" PRId64 " do not lie in a storage of %" PRId64 " bytes",
              bytes, begin, limit);
  return RLO_OK;
}

static rlo_status check_granules(const rlo_storage *storage, const rlo__lattice *lattice) {
  int64_t granule = storage->traits.granule_bytes;
  int64_t num_runs = rlo__lattice_bytes(lattice) / lattice->run_bytes;
  RLO_FAIL_IF(!rlo__lattice_is_granular(lattice, granule, storage->traits.bytes),
              RLO_INVALID_ARGUMENT,
              "%" PRId64 " runs of %" PRId64 " bytes, first at byte %" PRId64
              ", are not whole granules of %" PRId64 " bytes",
              num_runs, lattice->run_bytes, lattice->base_byte, granule);
  return RLO_OK;
}

static rlo_status check_writable(const rlo_storage *storage) {
  RLO_FAIL_IF(storage->traits.is_read_only, RLO_INVALID_ARGUMENT,
              "a write to a storage that can only be read");
  return RLO_OK;
}

rlo_status rlo__storage_transfer(rlo_storage *storage, const rlo__lattice *lattice, char *packed,
                                 bool is_write) {
  const rlo__lattice hull = rlo__lattice_hull(lattice);
  RLO_TRY(is_write ? check_writable(storage) : RLO_OK);
  RLO_FAIL_IF(!is_write && storage->is_write_only, RLO_INVALID_ARGUMENT,
              "a read of a storage that can only be written");
  RLO_TRY(check_range(storage, hull.base_byte, hull.run_bytes));
  if (lattice->run_bytes == 0) {
    return RLO_OK;
  }
  RLO_TRY(check_granules(storage, lattice));
  return storage->kind->transfer(storage, lattice, packed, is_write);
}

rlo_status rlo__storage_read(rlo_storage *storage, int64_t offset, int64_t bytes, void *into) {
  const rlo__lattice run = {.base_byte = offset, .run_bytes = bytes};
  return rlo__storage_transfer(storage, &run, into, false);
}

rlo_status rlo__storage_write(rlo_storage *storage, int64_t offset, int64_t bytes,
                              const void *from) {
  const rlo__lattice run = {.base_byte = offset, .run_bytes = bytes};
  /* Only read. */
  return rlo__storage_transfer(storage, &run, (char *)(uintptr_t)from, true);
}

/* ------------------------------------------------------------------- others */

rlo_status rlo__storage_reserve(rlo_storage *storage, int64_t bytes) {
  RLO_TRY(check_writable(storage));
  RLO_TRY(check_range(storage, 0, bytes));
  if (storage->kind->reserve == NULL || bytes == 0) {
    return RLO_OK;
  }
  return storage->kind->reserve(storage, bytes);
}

rlo_status rlo__storage_flush(rlo_storage *storage) {
  if (storage->kind->flush == NULL || storage->traits.is_read_only) {
    return RLO_OK;
  }
  return storage->kind->flush(storage);
}

void rlo__storage_set_streamed(rlo_storage *storage) {
  if (storage->kind->set_streamed != NULL) {
    storage->kind->set_streamed(storage);
  }
}

rlo_status rlo__storage_get_identity(const rlo_storage *storage,
                                     rlo__storage_identity *out_identity) {
  *out_identity = (rlo__storage_identity){.is_file = false};
  if (storage->kind->get_identity == NULL) {
    return RLO_OK;
  }
  return storage->kind->get_identity(storage, out_identity);
}

bool rlo__storage_is_same_file(const rlo__storage_identity *a, const rlo__storage_identity *b) {
  return a->is_file && b->is_file && a->device == b->device && a->inode == b->inode;
}

rlo_status rlo__storage_check_identity(const rlo_storage *storage,
                                       const rlo__storage_identity *identity) {
  rlo__storage_identity now;
  RLO_TRY(rlo__storage_get_identity(storage, &now));
  RLO_FAIL_IF(now.is_file != identity->is_file || now.device != identity->device ||
                  now.inode != identity->inode,
              RLO_DATA_LOSS,
              "the source is another file: inode %" PRIu64 " of device %" PRIu64
              " in place of %" PRIu64 " of %" PRIu64,
              now.inode, now.device, identity->inode, identity->device);
  RLO_FAIL_IF(now.bytes != identity->bytes, RLO_DATA_LOSS,
              "the source has changed: it had %" PRId64 " bytes and has %" PRId64, identity->bytes,
              now.bytes);
  RLO_FAIL_IF(now.modified_nanos != identity->modified_nanos, RLO_DATA_LOSS,
              "the source has changed: it was written to %.3f s after the first look at it",
              (double)(now.modified_nanos - identity->modified_nanos) / 1e9);
  RLO_FAIL_IF(now.number != identity->number, RLO_DATA_LOSS,
              "the source has changed: its 'identify' gave %" PRIu64 " and gives %" PRIu64,
              identity->number, now.number);
  return RLO_OK;
}

/* ------------------------------------------------------------------- memory */

void rlo__lattice_copy(const rlo__lattice *lattice, char *memory, int64_t bytes, char *packed,
                       bool is_write) {
  const int64_t run_bytes = lattice->run_bytes;
  const char *end_packed = packed + rlo__lattice_bytes(lattice);
  rlo__run_walk walk = {.offset = lattice->base_byte};
  for (; packed < end_packed; packed += run_bytes) {
    int64_t begin = rlo__max(walk.offset, 0);
    int64_t end = rlo__min(walk.offset + run_bytes, bytes);
    char *at = packed + begin - walk.offset;
    if (end > begin) {
      memcpy(is_write ? memory + begin : at, is_write ? at : memory + begin, (size_t)(end - begin));
    }
    rlo__run_walk_step(&walk, lattice);
  }
}

static rlo_status transfer_memory(rlo_storage *storage, const rlo__lattice *lattice, char *packed,
                                  bool is_write) {
  rlo__lattice_copy(lattice, storage->memory, storage->traits.bytes, packed, is_write);
  rlo__storage_count(storage, is_write, lattice->base_byte, rlo__lattice_bytes(lattice), 0, 0);
  return RLO_OK;
}

static void destroy_memory(rlo_storage *storage) {
  rlo__free(storage);
}

static const rlo__storage_kind memory_kind = {.transfer = transfer_memory,
                                              .destroy = destroy_memory};

static rlo_status create_memory(void *memory, int64_t bytes, bool is_read_only,
                                rlo_storage **out_storage) {
  RLO_REQUIRE(out_storage);
  *out_storage = NULL;
  RLO_REQUIRE_LIST(memory, bytes);
  RLO_FAIL_IF(bytes < 0 || (uint64_t)bytes > SIZE_MAX, RLO_INVALID_ARGUMENT,
              "memory of %" PRId64 " bytes; 0 to %zu are possible", bytes, SIZE_MAX);
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = bytes;
  traits.good_read_bytes = rlo__thresholds.service_memory_good_bytes;
  traits.good_write_bytes = rlo__thresholds.service_memory_good_bytes;
  traits.is_read_only = is_read_only;
  RLO_TRY(rlo__storage_read_traits(NULL, &traits));
  rlo_storage *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  rlo__storage_init(made, &memory_kind, &traits);
  made->memory = memory;
  *out_storage = made;
  return RLO_OK;
}

rlo_status rlo_storage_from_memory(void *memory, int64_t bytes, rlo_storage **out_storage) {
  return create_memory(memory, bytes, false, out_storage);
}

rlo_status rlo_storage_from_const_memory(const void *memory, int64_t bytes,
                                         rlo_storage **out_storage) {
  /* Never written through: the storage is read-only. */
  return create_memory((void *)(uintptr_t)memory, bytes, true, out_storage);
}

/* ---------------------------------------------------- functions of the user */

typedef struct callback_storage {
  rlo_storage storage;
  rlo_storage_ops ops;
  void *payload;
} callback_storage;

static rlo_status transfer_user(rlo_storage *storage, const rlo__lattice *lattice, char *packed,
                                bool is_write) {
  const callback_storage *user = (const callback_storage *)storage;
  const rlo_storage_ops *ops = &user->ops;
  const int64_t bytes = lattice->run_bytes;
  const char *end = packed + rlo__lattice_bytes(lattice);
  rlo__run_walk walk = {.offset = lattice->base_byte};
  for (; packed < end; packed += bytes) {
    RLO_TRY(RLO__CALLBACK(is_write ? ops->write(user->payload, walk.offset, bytes, packed)
                                   : ops->read(user->payload, walk.offset, bytes, packed),
                          "'%s' of a storage", is_write ? "write" : "read"));
    rlo__storage_count(storage, is_write, walk.offset, bytes, 0, 0);
    rlo__run_walk_step(&walk, lattice);
  }
  return RLO_OK;
}

static rlo_status reserve_user(rlo_storage *storage, int64_t bytes) {
  const callback_storage *user = (const callback_storage *)storage;
  if (user->ops.reserve == NULL) {
    return RLO_OK;
  }
  return RLO__CALLBACK(user->ops.reserve(user->payload, bytes), "'reserve' of a storage");
}

static rlo_status flush_user(rlo_storage *storage) {
  const callback_storage *user = (const callback_storage *)storage;
  if (user->ops.flush == NULL) {
    return RLO_OK;
  }
  return RLO__CALLBACK(user->ops.flush(user->payload), "'flush' of a storage");
}

static rlo_status get_identity_user(const rlo_storage *storage,
                                    rlo__storage_identity *out_identity) {
  const callback_storage *user = (const callback_storage *)storage;
  if (user->ops.identify == NULL) {
    return RLO_OK;
  }
  return RLO__CALLBACK(user->ops.identify(user->payload, &out_identity->number),
                       "'identify' of a storage");
}

static void destroy_user(rlo_storage *storage) {
  callback_storage *user = (callback_storage *)storage;
  if (user->ops.release != NULL) {
    user->ops.release(user->payload);
  }
  rlo__free(user);
}

static const rlo__storage_kind callback_kind = {.transfer = transfer_user,
                                                .reserve = reserve_user,
                                                .flush = flush_user,
                                                .get_identity = get_identity_user,
                                                .destroy = destroy_user};

rlo_status rlo_storage_create(const rlo_storage_ops *ops, void *payload,
                              const rlo_storage_traits *traits, rlo_storage **out_storage) {
  RLO_REQUIRE(out_storage);
  *out_storage = NULL;
  RLO_REQUIRE(ops, traits);
  rlo_storage_ops read_ops = RLO_STORAGE_OPS_INIT;
  RLO_TRY(rlo__options_read("storage functions", "RLO_STORAGE_OPS_INIT", ops, &read_ops,
                            sizeof read_ops));
  rlo_storage_traits read = RLO_STORAGE_TRAITS_INIT;
  RLO_TRY(rlo__storage_read_traits(traits, &read));
  read.is_read_only = read.is_read_only || read_ops.write == NULL;
  RLO_FAIL_IF(read_ops.read == NULL && read.is_read_only, RLO_INVALID_ARGUMENT,
              "the storage has no function that reads and %s",
              read_ops.write == NULL ? "none that writes" : "is only read");
  callback_storage *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  rlo__storage_init(&made->storage, &callback_kind, &read);
  made->storage.is_write_only = read_ops.read == NULL;
  made->ops = read_ops;
  made->payload = payload;
  *out_storage = &made->storage;
  return RLO_OK;
}
