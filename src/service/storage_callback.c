/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "service/storage.h"
#include "service/storage_kind.h"

typedef struct callback_storage {
  rlo_storage storage;
  rlo_storage_ops ops;
  void *payload;
} callback_storage;

static rlo_status read_runs(rlo_storage *storage,
                            const rlo__runs *runs,
                            void *into) {
  const callback_storage *user = (const callback_storage *)storage;
  rlo__run_walk walk = {.offset = runs->offset};
  char *next = into;
  for (int64_t n = 0; n < runs->num_runs; ++n) {
    RLO_TRY(RLO__CALLBACK(
        user->ops.read(user->payload, walk.offset, runs->run_bytes, next),
        "'read' of a storage"));
    rlo__storage_count_read(storage, walk.offset, runs->run_bytes, 0);
    next += runs->run_bytes;
    rlo__run_walk_step(&walk, runs);
  }
  return RLO_OK;
}

static rlo_status write_runs(rlo_storage *storage,
                             const rlo__runs *runs,
                             const void *from) {
  const callback_storage *user = (const callback_storage *)storage;
  rlo__run_walk walk = {.offset = runs->offset};
  const char *next = from;
  for (int64_t n = 0; n < runs->num_runs; ++n) {
    RLO_TRY(RLO__CALLBACK(
        user->ops.write(user->payload, walk.offset, runs->run_bytes, next),
        "'write' of a storage"));
    rlo__storage_count_write(storage, walk.offset, runs->run_bytes);
    next += runs->run_bytes;
    rlo__run_walk_step(&walk, runs);
  }
  return RLO_OK;
}

static rlo_status reserve(rlo_storage *storage, int64_t bytes) {
  const callback_storage *user = (const callback_storage *)storage;
  if (user->ops.reserve == NULL) {
    return RLO_OK;
  }
  return RLO__CALLBACK(user->ops.reserve(user->payload, bytes),
                       "'reserve' of a storage");
}

static rlo_status flush(rlo_storage *storage) {
  const callback_storage *user = (const callback_storage *)storage;
  if (user->ops.flush == NULL) {
    return RLO_OK;
  }
  return RLO__CALLBACK(user->ops.flush(user->payload), "'flush' of a storage");
}

static rlo_status get_identity(const rlo_storage *storage,
                               rlo__storage_identity *out_identity) {
  const callback_storage *user = (const callback_storage *)storage;
  if (user->ops.identify == NULL) {
    return RLO_OK;
  }
  return RLO__CALLBACK(user->ops.identify(user->payload, &out_identity->number),
                       "'identify' of a storage");
}

static void destroy(rlo_storage *storage) {
  callback_storage *user = (callback_storage *)storage;
  if (user->ops.release != NULL) {
    user->ops.release(user->payload);
  }
  rlo__free(user);
}

static const rlo__storage_kind callback_kind = {.read = read_runs,
                                                .write = write_runs,
                                                .reserve = reserve,
                                                .flush = flush,
                                                .get_identity = get_identity,
                                                .destroy = destroy};

rlo_status rlo_storage_create(const rlo_storage_ops *ops,
                              void *payload,
                              const rlo_storage_traits *traits,
                              rlo_storage **out_storage) {
  RLO_REQUIRE(out_storage);
  *out_storage = NULL;
  RLO_REQUIRE(ops, traits);
  rlo_storage_ops read_ops = RLO_STORAGE_OPS_INIT;
  RLO_TRY(rlo__options_read("storage functions",
                            "RLO_STORAGE_OPS_INIT",
                            ops,
                            &read_ops,
                            sizeof read_ops));
  rlo_storage_traits read = RLO_STORAGE_TRAITS_INIT;
  RLO_TRY(rlo__storage_read_traits(traits, &read));
  read.is_read_only = read.is_read_only || read_ops.write == NULL;
  if (read_ops.read == NULL && read.is_read_only) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT,
        "the storage has no function that reads and %s",
        read_ops.write == NULL ? "none that writes" : "is only read");
  }
  callback_storage *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__storage_init(&made->storage, &callback_kind, &read);
  made->storage.is_write_only = read_ops.read == NULL;
  made->ops = read_ops;
  made->payload = payload;
  *out_storage = &made->storage;
  return RLO_OK;
}
