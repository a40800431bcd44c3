/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PROGRAM_CACHE_H
#define RLO_RUNTIME_PROGRAM_CACHE_H

#include "base/log.h"
#include "codegen/codegen.h"
#include "runtime/kernel_pool.h"
#include "runtime/program_build.h"

/**
 * The programs of one context, built once each. A program is known by its
 * whole source text and build options, which are stored and compared: a hash
 * only leads to them. With a disk cache, a program is looked for there before
 * it is built, and may be put there when it is.
 */
typedef struct rlo__program_cache rlo__program_cache;

/** A built program, shared by the plans that run it. Borrowed parts only. */
typedef struct rlo__program {
  rlo__kernel_pool kernels;
  /** What the compiled kernel allows and needs, of this device. */
  int64_t max_work_group_items;
  int64_t local_memory_bytes;
} rlo__program;

typedef struct rlo__program_cache_stats {
  /** From source. */
  int64_t num_built;
  /** Found in memory. */
  int64_t num_hits;
  int64_t num_kernels_created;
} rlo__program_cache_stats;

/** What a cache works with, borrowed: it must outlive the cache. */
typedef struct rlo__program_cache_parts {
  cl_context context;
  cl_device_id device;
  const rlo__log_sink *log;
  /** NULL: nothing is kept on disk. */
  rlo__disk_cache *disk;
  /** Programs that nobody uses which are kept all the same; beyond, the one
   *  unused for longest goes. */
  int64_t max_idle;
} rlo__program_cache_parts;

/** @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__program_cache_create(
    const rlo__program_cache_parts *parts, rlo__program_cache **out_cache);

/** Every program must have been put back. NULL is legal. */
void rlo__program_cache_destroy(rlo__program_cache *cache);

/**
 * Get a program, built now if nobody has built it. One thread builds, without
 * holding a lock; others that want the same program wait for it and share what
 * came of it, a failure too. A failure is not kept: who asks later tries again.
 *
 * @param spec  borrowed for the call, but for its source, which is static.
 * @param out_program  goes to rlo__program_cache_put.
 * @return RLO_OK; RLO_BUILD_FAILED with the log; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 * Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__program_cache_get(rlo__program_cache *cache,
                                                const rlo__program_spec *spec,
                                                rlo__build_priority priority,
                                                rlo__program **out_program);

/** Give a program back. It stays for the next who wants it, while there are not
 *  too many that nobody uses. NULL is legal. Threads: safe. */
void rlo__program_cache_put(rlo__program_cache *cache, rlo__program *program);

void rlo__program_cache_get_stats(rlo__program_cache *cache,
                                  rlo__program_cache_stats *out_stats);

#endif
