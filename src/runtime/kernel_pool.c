/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kernel_pool.h"

#include "base/alloc.h"
#include "runtime/cl_error.h"

rlo_status rlo__kernel_pool_init(rlo__kernel_pool *pool,
                                 cl_program program,
                                 const char *kernel_name,
                                 atomic_int_fast64_t *num_created) {
  RLO_TRY(rlo__mutex_init(&pool->mutex));
  pool->idle = NULL;
  pool->program = program;
  pool->kernel_name = kernel_name;
  pool->num_created = num_created;
  return RLO_OK;
}

void rlo__kernel_pool_deinit(rlo__kernel_pool *pool) {
  while (pool->idle != NULL) {
    rlo__pooled_kernel *kernel = pool->idle;
    pool->idle = kernel->next;
    clReleaseKernel(kernel->kernel);
    rlo__free(kernel->parameters);
    rlo__free(kernel);
  }
  rlo__mutex_deinit(&pool->mutex);
}

rlo_status rlo__kernel_pool_take(rlo__kernel_pool *pool,
                                 rlo__pooled_kernel **out_kernel) {
  rlo__mutex_lock(&pool->mutex);
  rlo__pooled_kernel *kernel = pool->idle;
  if (kernel != NULL) {
    pool->idle = kernel->next;
  }
  rlo__mutex_unlock(&pool->mutex);
  if (kernel == NULL) {
    kernel = rlo__alloc(sizeof *kernel);
    if (kernel == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    cl_int code = CL_SUCCESS;
    kernel->kernel = clCreateKernel(pool->program, pool->kernel_name, &code);
    rlo_status status = rlo__cl_error_check("clCreateKernel", code);
    if (status != RLO_OK) {
      rlo__free(kernel);
      return rlo__status_prefix(status, "kernel %s: ", pool->kernel_name);
    }
    atomic_fetch_add_explicit(pool->num_created, 1, memory_order_relaxed);
  }
  kernel->next = NULL;
  *out_kernel = kernel;
  return RLO_OK;
}

void rlo__kernel_pool_return(rlo__kernel_pool *pool,
                             rlo__pooled_kernel *kernel) {
  rlo__mutex_lock(&pool->mutex);
  kernel->next = pool->idle;
  pool->idle = kernel;
  rlo__mutex_unlock(&pool->mutex);
}
