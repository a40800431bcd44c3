/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum {
  PAGE_BYTES = 4096,
  /** Large buffers of an allocator begin a little behind a page. */
  SKEW_BYTES = 128
};

bool bench_arena_init(int32_t device_number, bench_arena *out_arena) {
  memset(out_arena, 0, sizeof *out_arena);
  if (rlo_context_create_default(device_number, NULL, &out_arena->context) != RLO_OK) {
    return bench_fail_last("opening the device");
  }
  cl_device_id device = rlo_context_cl_device(out_arena->context);
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof out_arena->device_name, out_arena->device_name,
                  NULL);
  clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof out_arena->driver_version,
                  out_arena->driver_version, NULL);
  cl_ulong cache_bytes = 0;
  clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof cache_bytes, &cache_bytes, NULL);
  out_arena->cache_bytes = (int64_t)cache_bytes;
  out_arena->device_name[sizeof out_arena->device_name - 1] = '\0';
  out_arena->driver_version[sizeof out_arena->driver_version - 1] = '\0';
  const rlo_device_info *info = rlo_context_device_info(out_arena->context);
  out_arena->is_host_memory = info->device_class == RLO_DEVICE_CLASS_CPU;
  out_arena->threads = info->compute_units < 1 ? 1 : info->compute_units;
  cl_int code = CL_SUCCESS;
  out_arena->queue =
      clCreateCommandQueue(rlo_context_cl_context(out_arena->context), device, 0, &code);
  if (code != CL_SUCCESS) {
    bench_arena_deinit(out_arena);
    return bench_fail_cl("clCreateCommandQueue", code);
  }
  return true;
}

static void release_buffers(bench_arena *arena) {
  if (arena->src != NULL) {
    clReleaseMemObject(arena->src);
  }
  if (arena->dst != NULL) {
    clReleaseMemObject(arena->dst);
  }
  free(arena->src_memory);
  free(arena->dst_memory);
  arena->src = NULL;
  arena->dst = NULL;
  arena->src_memory = NULL;
  arena->dst_memory = NULL;
}

void bench_arena_deinit(bench_arena *arena) {
  release_buffers(arena);
  if (arena->queue != NULL) {
    clReleaseCommandQueue(arena->queue);
  }
  rlo_context_release(arena->context);
  memset(arena, 0, sizeof *arena);
}

static void *allocate(int64_t bytes) {
  size_t pages = ((size_t)bytes + SKEW_BYTES) / PAGE_BYTES + 1;
  return aligned_alloc(PAGE_BYTES, pages * PAGE_BYTES);
}

static void fill_source(uint8_t *bytes, int64_t count) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (int64_t i = 0; i + 8 <= count; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    /* An exponent that begins with 01 is that of a plain number. */
    uint64_t word = (state & 0xbfffbfffbfffbfffu) | 0x2000200020002000u;
    memcpy(bytes + i, &word, sizeof word);
  }
}

static bool create_buffer(const bench_arena *arena, int64_t bytes, void *host, cl_mem *out_buffer) {
  cl_int code = CL_SUCCESS;
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  flags |= arena->is_host_memory ? CL_MEM_USE_HOST_PTR : 0;
  *out_buffer = clCreateBuffer(rlo_context_cl_context(arena->context), flags, (size_t)bytes,
                               arena->is_host_memory ? host : NULL, &code);
  return code == CL_SUCCESS || bench_fail_cl("clCreateBuffer", code);
}

bool bench_arena_reserve(bench_arena *arena, int64_t src_bytes, int64_t dst_bytes) {
  release_buffers(arena);
  arena->src_capacity_bytes = (src_bytes + 63) / 64 * 64;
  arena->dst_capacity_bytes = (dst_bytes + 63) / 64 * 64 + BENCH_GUARD_BYTES;
  arena->src_memory = allocate(arena->src_capacity_bytes);
  arena->dst_memory = allocate(arena->dst_capacity_bytes);
  if (arena->src_memory == NULL || arena->dst_memory == NULL) {
    return bench_fail("no memory for arrays of %lld and %lld bytes", (long long)src_bytes,
                      (long long)dst_bytes);
  }
  arena->host_src = (uint8_t *)arena->src_memory + SKEW_BYTES;
  arena->host_dst = (uint8_t *)arena->dst_memory + SKEW_BYTES;
  fill_source(arena->host_src, arena->src_capacity_bytes);
  if (!create_buffer(arena, arena->src_capacity_bytes, arena->host_src, &arena->src) ||
      !create_buffer(arena, arena->dst_capacity_bytes, arena->host_dst, &arena->dst)) {
    return false;
  }
  if (arena->is_host_memory) {
    return true;
  }
  cl_int code =
      clEnqueueWriteBuffer(arena->queue, arena->src, CL_TRUE, 0, (size_t)arena->src_capacity_bytes,
                           arena->host_src, 0, NULL, NULL);
  return code == CL_SUCCESS || bench_fail_cl("clEnqueueWriteBuffer", code);
}

bool bench_arena_clear_dst(bench_arena *arena, int64_t bytes) {
  size_t count = (size_t)bytes + BENCH_GUARD_BYTES;
  memset(arena->host_dst, BENCH_SENTINEL, count);
  if (arena->is_host_memory) {
    return true;
  }
  cl_int code = clEnqueueWriteBuffer(arena->queue, arena->dst, CL_TRUE, 0, count, arena->host_dst,
                                     0, NULL, NULL);
  return code == CL_SUCCESS || bench_fail_cl("clEnqueueWriteBuffer", code);
}

bool bench_arena_fetch_dst(bench_arena *arena, int64_t bytes) {
  if (arena->is_host_memory) {
    return true;
  }
  cl_int code =
      clEnqueueReadBuffer(arena->queue, arena->dst, CL_TRUE, 0, (size_t)bytes + BENCH_GUARD_BYTES,
                          arena->host_dst, 0, NULL, NULL);
  return code == CL_SUCCESS || bench_fail_cl("clEnqueueReadBuffer", code);
}
