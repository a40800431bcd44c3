/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_KERNEL_POOL_H
#define RLO_RUNTIME_KERNEL_POOL_H

#include <stdatomic.h>

#include "base/thread.h"
#include "relayout/opencl.h"

/**
 * A kernel out of a pool. Whoever took it is the only one to set its arguments
 * and to enqueue it, because clSetKernelArg is the one call of OpenCL that
 * threads may not share an object in. An enqueued command has its own copy of
 * the arguments, so the kernel may go back when clEnqueueNDRangeKernel has
 * returned.
 */
typedef struct rlo__pooled_kernel {
  cl_kernel kernel;
  /** Whose constant arguments are set; 0: nobody's. Kept by the user. */
  uint64_t arguments_of;
  struct rlo__pooled_kernel *next;
} rlo__pooled_kernel;

/** The idle kernels of one program. */
typedef struct rlo__kernel_pool {
  rlo__mutex mutex;
  rlo__pooled_kernel *idle;
  /** Borrowed. */
  cl_program program;
  const char *kernel_name;
  /** Counts what was created, for the statistics of the cache. Borrowed. */
  atomic_int_fast64_t *num_created;
} rlo__kernel_pool;

/** Begin with no kernel. The program, the name and the counter must outlive
 *  the pool. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status
rlo__kernel_pool_init(rlo__kernel_pool *pool,
                      cl_program program,
                      const char *kernel_name,
                      atomic_int_fast64_t *num_created);

/** Release every kernel; all must be back. */
void rlo__kernel_pool_deinit(rlo__kernel_pool *pool);

/** Take a kernel, made now if none is idle. No lock is held while the driver
 *  works. @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. Threads: safe. */
RLO_NODISCARD rlo_status rlo__kernel_pool_take(rlo__kernel_pool *pool,
                                               rlo__pooled_kernel **out_kernel);

/** Give a kernel back. Threads: safe. */
void rlo__kernel_pool_give(rlo__kernel_pool *pool, rlo__pooled_kernel *kernel);

#endif
