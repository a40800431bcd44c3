/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PROGRAM_CACHE_H
#define RLO_RUNTIME_PROGRAM_CACHE_H

#include "runtime/program_build.h"

/**
 * The programs of one context, each built once. The key of a program is its
 * whole source text with its build options, compared in full. With a disk
 * cache, a program is looked up there before it is built, and may be stored
 * there afterwards.
 */
typedef struct rlo__program_cache rlo__program_cache;

/** The parameters of a compiled function (source_launch.c). */
typedef struct rlo__kernel_parameters rlo__kernel_parameters;

/** A built program, shared by those who run it. */
typedef struct rlo__program {
  /** Limits and needs of the compiled kernel on this device. */
  int64_t max_work_group_items;
  int64_t local_memory_bytes;
} rlo__program;

/**
 * A kernel of a program. Only the thread that took it sets its arguments and
 * enqueues it: clSetKernelArg is the one call of OpenCL that is not thread-safe
 * on a shared object. An enqueued command has its own copy of the arguments, so
 * the kernel may return to its program when clEnqueueNDRangeKernel has
 * returned.
 */
typedef struct rlo__pooled_kernel {
  cl_kernel kernel;
  /** The id of the planned launch whose constant arguments are set; 0: none.
   *  Set by the user of the kernel. */
  uint64_t arguments_of;
  /** The memories that have been pointers, a bit for each: NVIDIA's driver takes no buffer
   *  any more for an argument that has been one. Set by the user of the kernel. */
  uint32_t pointers;
  /** The parameters of the function; NULL until a user of the kernel asks.
   *  Owned. */
  rlo__kernel_parameters *parameters;
  struct rlo__pooled_kernel *next;
} rlo__pooled_kernel;

/** @param builder  its borrowed parts are set, which must outlive the cache.
 *  @param max_idle  limit of unused programs; beyond it, the one unused for
 *                   longest is released.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__program_cache_create(const rlo__program_builder *builder,
                                                   int64_t max_idle,
                                                   rlo__program_cache **out_cache);

/** Every program must have been released with rlo__program_cache_put. NULL is
 *  legal. */
void rlo__program_cache_destroy(rlo__program_cache *cache);

/**
 * Returns a program, and builds it if necessary. One thread builds, without
 * holding a lock; others that need the same program wait for it. A failure is
 * not stored: the next of them, or a later call, tries again.
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

/** Takes an idle kernel of a program or creates one. Holds no lock while the
 *  driver works. @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__program_take_kernel(rlo__program *program,
                                                  rlo__pooled_kernel **out_kernel);

/** Puts a new kernel of the same program in the place of one that is taken, which has no
 *  argument. @return as rlo__program_take_kernel; on failure nothing has changed. */
RLO_NODISCARD rlo_status rlo__program_renew_kernel(rlo__program *program,
                                                   rlo__pooled_kernel *kernel);

/** Gives a kernel back to its program. Threads: safe. */
void rlo__program_give_kernel(rlo__program *program, rlo__pooled_kernel *kernel);

/** Sets the counters of programs and kernels. */
void rlo__program_cache_get_stats(rlo__program_cache *cache, rlo_context_stats *stats);

#endif
