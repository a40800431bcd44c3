/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_COALESCING_WARP_TRACE_H
#define RLO_TESTS_COALESCING_WARP_TRACE_H

#include <stddef.h>
#include <stdint.h>

/**
 * A kernel that clang compiled for this machine, with a call before each load
 * and store, run one work-item after another: the real kernel's own addresses,
 * counted as a GPU's memory would serve them. Barriers do nothing, so what is
 * moved is wrong; where it is moved from and to does not depend on that.
 *
 * 32 work-items in a row are a warp. Their accesses by one instruction, the
 * n-th time that each of them comes by it, are one request.
 */

/** Traffic with one memory. */
typedef struct warp_traffic {
  /** Bytes that the work-items asked for. */
  int64_t bytes;
  /** 32-byte sectors that requests touch, each counted for each request. */
  int64_t request_sectors;
  /** Bytes and sectors that groups touch, each counted once for each group:
   * what is left where a cache joins the requests of a group. */
  int64_t group_bytes;
  int64_t group_sectors;
} warp_traffic;

typedef struct warp_counts {
  warp_traffic read;
  warp_traffic written;
  /** Requests for local memory: the times that its 32 banks of 4 bytes serve
   *  them, and how often they would have to if no two work-items met in one. */
  int64_t bank_rounds;
  int64_t least_bank_rounds;
} warp_counts;

typedef struct warp_run {
  /** rlo_run of the compiled file, and its arguments. */
  void (*entry)(const void *const *arguments);
  const void *const *arguments;
  /** Memory that is read and written; any other is private or local. */
  const uint8_t *src;
  size_t src_bytes;
  const uint8_t *dst;
  size_t dst_bytes;
  size_t num_groups;
  size_t local_size;
} warp_run;

/** Run all work-items of one group and add up their traffic. */
void warp_run_group(const warp_run *run, size_t group, warp_counts *counts);

#endif
