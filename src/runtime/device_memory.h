/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_DEVICE_MEMORY_H
#define RLO_RUNTIME_DEVICE_MEMORY_H

#include "relayout/opencl.h"
#include "runtime/context.h"

/**
 * An in-order queue and the device memory for work on it. Every command that
 * uses a memory of the library's own is on the queue, so a freed memory can be
 * reused at once: commands that still read it come before those that write it
 * next. Some freed memories stay in a free list for that.
 */
typedef struct rlo__device_queue rlo__device_queue;

typedef struct rlo__device_memory {
  rlo__device_queue *queue;
  /** The library's own, within the context's budget; or the caller's, retained.
   */
  cl_mem buffer;
  int64_t offset_bytes;
  int64_t bytes;
  /** The buffer is the caller's. */
  bool is_external;
  /** Completes when the data is written; NULL: it is, or the order of the queue
   *  ensures it. */
  cl_event ready;
  /** The command of the queue that writes the data last
   *  (runtime/command_watch.h); 0: none does. */
  int64_t written_by;
  struct rlo__device_memory *next;
} rlo__device_memory;

/** Retains the context. @param is_profiling  whether the device measures each
 *  command. @return RLO_OK; RLO_UNSUPPORTED in a child of fork;
 *  RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__device_queue_create(
    rlo_context *context, bool is_profiling, rlo__device_queue **out_queue);

/** Every memory must have been freed. Does not wait. NULL is legal. */
void rlo__device_queue_release(rlo__device_queue *queue);

/** Borrows the context or its queue. */
rlo_context *rlo__device_queue_context(const rlo__device_queue *queue);
cl_command_queue rlo__device_queue_cl_queue(const rlo__device_queue *queue);

/** As rlo_buffer_create; takes a memory of this size from the free list if
 *  there is one. Threads: safe, like every function here. */
RLO_NODISCARD rlo_status rlo__device_memory_create(
    rlo__device_queue *queue, int64_t bytes, rlo__device_memory **out_memory);

/**
 * Makes a memory of a caller's buffer; retains buffer and event.
 * @return RLO_OK; RLO_OUT_OF_RANGE if the buffer is too small;
 *         RLO_INVALID_ARGUMENT for a buffer or event of another context, or an
 *         offset that is not a multiple of element_bytes; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__device_memory_wrap(rlo__device_queue *queue,
                                                 cl_mem buffer,
                                                 int64_t offset_bytes,
                                                 int64_t bytes,
                                                 int64_t element_bytes,
                                                 cl_event ready,
                                                 rlo__device_memory **out);

/**
 * Makes a memory of host memory, without copying it, for devices that share the
 * host's. The host does not touch its bytes between a command that uses them
 * and rlo__device_memory_wait. Not counted against the context's budget.
 * @param host  borrowed while the memory lives.
 * @return RLO_OK; RLO_UNSUPPORTED in a child of fork; RLO_OUT_OF_MEMORY, also
 *         for more than the device's largest buffer; RLO_DEVICE.
 */
RLO_NODISCARD rlo_status
rlo__device_memory_over_host(rlo__device_queue *queue,
                             void *host,
                             int64_t bytes,
                             rlo__device_memory **out_memory);

/** Waits for the command that writes a memory of host memory, after which the
 *  host sees the bytes. @return RLO_OK; RLO_DEVICE if it has failed. */
RLO_NODISCARD rlo_status rlo__device_memory_wait(rlo__device_memory *memory);

/** NULL is legal. */
void rlo__device_memory_free(rlo__device_memory *memory);

/** The event that commands on the data must wait for; borrowed. NULL if the
 *  order of the queue suffices, or if `memory` is NULL. */
cl_event rlo__device_memory_gate(const rlo__device_memory *memory);

/** Sets the event of the queue's command that writes the data; takes ownership
 *  of it. */
void rlo__device_memory_set_ready(rlo__device_memory *memory, cl_event event);

/** RLO_OK; RLO_DEVICE if a command that the data depends on is known to have
 *  failed. NULL is legal. Does not wait. */
RLO_NODISCARD rlo_status
rlo__device_memory_check(const rlo__device_memory *memory);

/** Sets the first `bytes` of a memory to 0, in the order of the queue. */
RLO_NODISCARD rlo_status rlo__device_memory_clear(rlo__device_memory *memory,
                                                  int64_t bytes);

/** Copy from and to the host. Wait for the copy. */
RLO_NODISCARD rlo_status rlo__device_memory_write(rlo__device_memory *memory,
                                                  const void *data,
                                                  int64_t bytes);
RLO_NODISCARD rlo_status rlo__device_memory_read(rlo__device_memory *memory,
                                                 void *out_data,
                                                 int64_t bytes);

/**
 * Enqueues plans in order, all into one memory, with scratch memory where they
 * need it. Fails if a source is known to be of a command that has failed.
 * @param operands  for each plan, the index in `sources` of the one it reads.
 * @param indices   for each plan, the index of the one that holds the indices
 *                  it loads; -1: none.
 * @param sources   memories; NULL for 0 bytes.
 */
RLO_NODISCARD rlo_status rlo__device_memory_run(rlo__device_memory *dst,
                                                rlo_plan *const *plans,
                                                const int32_t *operands,
                                                const int32_t *indices,
                                                int32_t count,
                                                void *const *sources);

/** Flushes the queue and retains the event after which the data is written;
 *  NULL if it is written already. Whether a command has failed that the data
 *  depends on, and is not the one that writes it, is known only if it has done
 *  so before. */
RLO_NODISCARD rlo_status rlo__device_memory_publish(rlo__device_memory *memory,
                                                    cl_event *out_ready);

#endif
