/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "runtime/cl_error.h"
#include "runtime/context.h"

static uint64_t hash_of(cl_mem buffer) {
  rlo__hash hash = rlo__hash_init(0);
  rlo__hash_u64(&hash, (uintptr_t)buffer);
  return rlo__hash_finish_u64(&hash);
}

static bool is_of(const void *entry, const void *key) {
  return ((const rlo__buffer_record *)entry)->buffer == *(const cl_mem *)key;
}

/** Reserves bytes of the budget; RLO_OUT_OF_MEMORY if too few are left. */
static rlo_status reserve(rlo_context *context, int64_t bytes) {
  int_fast64_t held = atomic_load(&context->buffer_bytes);
  do {
    RLO_FAIL_IF(bytes > context->memory_budget_bytes - (int64_t)held, RLO_OUT_OF_MEMORY,
                "a buffer of %lld bytes exceeds the budget: %lld of %lld bytes are in use",
                (long long)bytes, (long long)held, (long long)context->memory_budget_bytes);
  } while (!atomic_compare_exchange_weak(&context->buffer_bytes, &held, held + bytes));
  return RLO_OK;
}

rlo_status rlo__context_check_buffer(const rlo_context *context, int64_t bytes) {
  RLO_FAIL_IF(bytes > context->device_info.max_allocation_bytes, RLO_OUT_OF_MEMORY,
              "a buffer of %lld bytes; %s allows %lld at once", (long long)bytes,
              context->device_name, (long long)context->device_info.max_allocation_bytes);
  return RLO_OK;
}

static rlo_status create(rlo_context *context, cl_mem_flags flags, int64_t bytes,
                         cl_mem *out_buffer) {
  RLO_FAIL_IF(bytes < 1, RLO_INVALID_ARGUMENT, "a buffer of %lld bytes; at least 1",
              (long long)bytes);
  *out_buffer = NULL;
  RLO_TRY(rlo__context_check_process(context));
  RLO_TRY(rlo__context_check_buffer(context, bytes));
  rlo__buffer_record *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  rlo_status status = reserve(context, bytes);
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  cl_int code = CL_SUCCESS;
  made->bytes = bytes;
  made->buffer = clCreateBuffer(context->cl_context, flags, (size_t)bytes, NULL, &code);
  status = rlo__cl_error_check("clCreateBuffer", code);
  if (status != RLO_OK) {
    atomic_fetch_sub(&context->buffer_bytes, bytes);
    rlo__free(made);
    return rlo__status_prefix(status, "a buffer of %lld bytes: ", (long long)bytes);
  }
  *out_buffer = made->buffer;
  rlo__mutex_lock(&context->buffers_mutex);
  rlo__table_insert(&context->buffers, made, hash_of(made->buffer));
  rlo__mutex_unlock(&context->buffers_mutex);
  return RLO_OK;
}

rlo_status rlo_buffer_create(rlo_context *context, int64_t bytes, cl_mem *out_buffer) {
  RLO_REQUIRE(context, out_buffer);
  return create(context, CL_MEM_READ_WRITE, bytes, out_buffer);
}

rlo_status rlo__buffer_create_mappable(rlo_context *context, int64_t bytes, cl_mem *out_buffer) {
  return create(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, out_buffer);
}

void rlo_buffer_release(rlo_context *context, cl_mem buffer) {
  if (context == NULL || buffer == NULL || getpid() != context->pid) {
    return;
  }
  /* The record goes first: once released, the driver may use the handle for another buffer. */
  rlo__mutex_lock(&context->buffers_mutex);
  rlo__buffer_record *known = rlo__table_find(&context->buffers, hash_of(buffer), is_of, &buffer);
  if (known != NULL) {
    rlo__table_remove(&context->buffers, known);
  }
  rlo__mutex_unlock(&context->buffers_mutex);
  if (known != NULL) {
    atomic_fetch_sub(&context->buffer_bytes, known->bytes);
    rlo__free(known);
  }
  clReleaseMemObject(buffer);
}
