/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_ARENA_H
#define RLO_BENCH_ARENA_H

#include <relayout/opencl.h>
#include <stdbool.h>
#include <stdint.h>

/** The value of every byte of a destination before a contestant writes it. */
#define BENCH_SENTINEL 0xee

/** Bytes behind a destination that have to stay as they are. */
#define BENCH_GUARD_BYTES 4096

/**
 * A device, a queue, and the two buffers that all cases share.
 *
 * On a CPU device the buffers lie over host_src and host_dst, so that the peers
 * on the host work in the very same memory. On others those are staging
 * memory, and no host peer runs.
 */
typedef struct bench_arena {
  rlo_context *context;
  cl_command_queue queue;
  char device_name[128];
  char driver_version[128];
  /** Threads of the peers on the host: as many as the device has units. */
  int32_t threads;
  bool is_host_memory;
  /** The size of the device's cache of global memory; 0 if it reports none. */
  int64_t cache_bytes;
  int64_t src_capacity_bytes, dst_capacity_bytes;
  uint8_t *host_src, *host_dst;
  void *src_memory, *dst_memory;
  cl_mem src, dst;
} bench_arena;

/** Open a device; -1 is the default one. No buffers yet. */
bool bench_arena_init(int32_t device_number, bench_arena *out_arena);
void bench_arena_deinit(bench_arena *arena);

/** Make the buffers hold that much, and fill the source with bits that are no
 *  NaN in any type of 2, 4 or 8 bytes: peers compute with them. */
bool bench_arena_reserve(bench_arena *arena, int64_t src_bytes, int64_t dst_bytes);

/** Set the first `bytes` of the destination, and the guard behind them, to the
 *  sentinel. */
bool bench_arena_clear_dst(bench_arena *arena, int64_t bytes);

/** Make host_dst show the first `bytes` of the destination and the guard. */
bool bench_arena_fetch_dst(bench_arena *arena, int64_t bytes);

#endif
