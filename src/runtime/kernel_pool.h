/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_KERNEL_POOL_H
#define RLO_RUNTIME_KERNEL_POOL_H

#include <stdatomic.h>

#include "base/thread.h"
#include "relayout/opencl.h"
#include "runtime/kernel_parameters.h"

/**
 * A kernel of a pool. Only the thread that took it sets its arguments and
 * enqueues it: clSetKernelArg is the one call of OpenCL that is not thread-safe
 * on a shared object. An enqueued command has its own copy of the arguments, so
 * the kernel may return to the pool when clEnqueueNDRangeKernel has returned.
 */
typedef struct rlo__pooled_kernel {
  cl_kernel kernel;
  /** The id of the prepared launch whose constant arguments are set; 0: none.
   *  Set by the user of the kernel. */
  uint64_t arguments_of;
  /** The parameters of the function; NULL until a user of the kernel asks.
   *  Owned. */
  rlo__kernel_parameters *parameters;
  struct rlo__pooled_kernel *next;
} rlo__pooled_kernel;

/** The idle kernels of one program. */
typedef struct rlo__kernel_pool {
  rlo__mutex mutex;
  rlo__pooled_kernel *idle;
  /** Borrowed. */
  cl_program program;
  const char *kernel_name;
  /** Number of kernels created, for the statistics of the cache. Borrowed. */
  atomic_int_fast64_t *num_created;
} rlo__kernel_pool;

/** Initializes an empty pool. The program, the name and the counter must
 * outlive the pool. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status
rlo__kernel_pool_init(rlo__kernel_pool *pool,
                      cl_program program,
                      const char *kernel_name,
                      atomic_int_fast64_t *num_created);

/** Releases every kernel; all must have been returned. */
void rlo__kernel_pool_deinit(rlo__kernel_pool *pool);

/** Takes an idle kernel or creates one. Holds no lock while the driver works.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. Threads: safe. */
RLO_NODISCARD rlo_status rlo__kernel_pool_take(rlo__kernel_pool *pool,
                                               rlo__pooled_kernel **out_kernel);

/** Returns a kernel to the pool. Threads: safe. */
void rlo__kernel_pool_return(rlo__kernel_pool *pool,
                             rlo__pooled_kernel *kernel);

#endif
