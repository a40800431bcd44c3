/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PROGRAM_CACHE_H
#define RLO_RUNTIME_PROGRAM_CACHE_H

#include "base/log.h"
#include "codegen/codegen.h"
#include "runtime/kernel_pool.h"
#include "runtime/program_build.h"

/**
 * The programs of one context, each built once. The key of a program is its
 * whole source text with its build options, compared in full. With a disk
 * cache, a program is looked up there before it is built, and may be stored
 * there afterwards.
 */
typedef struct rlo__program_cache rlo__program_cache;

/** A built program, shared by the plans that run it. Borrowed parts only. */
typedef struct rlo__program {
  rlo__kernel_pool kernels;
  /** Limits and needs of the compiled kernel on this device. */
  int64_t max_work_group_items;
  int64_t local_memory_bytes;
} rlo__program;

typedef struct rlo__program_cache_stats {
  /** Built from source. */
  int64_t num_built;
  /** Found in memory. */
  int64_t num_hits;
  int64_t num_kernels_created;
} rlo__program_cache_stats;

/** The parts that a cache uses. Borrowed: they must outlive the cache. */
typedef struct rlo__program_cache_parts {
  cl_context context;
  cl_device_id device;
  const rlo__log_sink *log;
  /** NULL: nothing is stored on disk. */
  rlo__disk_cache *disk;
  /** Limit of unused programs in the cache; beyond it, the one unused for
   *  longest is released. */
  int64_t max_idle;
} rlo__program_cache_parts;

/** @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__program_cache_create(
    const rlo__program_cache_parts *parts, rlo__program_cache **out_cache);

/** Every program must have been released with rlo__program_cache_put. NULL is
 *  legal. */
void rlo__program_cache_destroy(rlo__program_cache *cache);

/**
 * Returns a program, and builds it if necessary. One thread builds, without
 * holding a lock; others that need the same program wait for it and share the
 * result, also if it is a failure. A failure is not stored: a later call tries
 * again.
 *
 * @param spec  borrowed for the call, except its source, which is static.
 * @param out_program  the caller calls rlo__program_cache_put.
 * @return RLO_OK; RLO_BUILD_FAILED with the log; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 * Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__program_cache_get(rlo__program_cache *cache,
                                                const rlo__program_spec *spec,
                                                rlo__build_priority priority,
                                                rlo__program **out_program);

/** Drops a reference. An unused program stays in the cache up to the limit.
 * NULL is legal. Threads: safe. */
void rlo__program_cache_put(rlo__program_cache *cache, rlo__program *program);

void rlo__program_cache_get_stats(rlo__program_cache *cache,
                                  rlo__program_cache_stats *out_stats);

#endif
