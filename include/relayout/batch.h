/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_BATCH_H
#define RELAYOUT_BATCH_H

#include "relayout/problem.h"

RLO_BEGIN_DECLS

/*
 * Many relayouts at once: all tensors of a model, or thousands of small views of a few
 * buffers; on the host here, on a device in few launches by relayout/batch_opencl.h.
 *
 * Items run in any order. So no item writes a byte that another one reads: their whole
 * arrays are checked where both are in one memory. Nor does it write one that another
 * item writes, which is the caller's promise, because arrays may lie between each other;
 * only two items of one problem at one place are refused.
 */

/** A problem, and where its arrays begin. */
typedef struct rlo_batch_item {
  /** Borrowed for the call. Items that share a pointer are planned once. */
  const rlo_problem *problem;
  /** The memories that it reads and writes, by their numbers, from 0 on. Items may share
   *  them, and an item may read and write the same one. */
  int32_t src, dst;
  /** From the beginning of the memory to that of the array; multiples of the element's
   *  size. */
  int64_t src_offset_bytes, dst_offset_bytes;
} rlo_batch_item;

/**
 * Runs items on host memory, as rlo_run_host does a problem: items of some size in shares
 * on all threads, small ones spread over them.
 * @param memories      host addresses, borrowed, at any alignment; `num_memories` of them.
 * @param num_threads   1 or more: the calling thread and those that the call starts.
 * @return as rlo_batch_create, but that offsets have any alignment; as rlo_run_host.
 * Threads: safe on distinct destinations.
 */
RLO_API RLO_NODISCARD rlo_status rlo_batch_run_host(const rlo_batch_item *items, int32_t count,
                                                    void *const *memories, int32_t num_memories,
                                                    int32_t num_threads);

RLO_END_DECLS

#endif
