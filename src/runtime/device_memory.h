/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_DEVICE_MEMORY_H
#define RLO_RUNTIME_DEVICE_MEMORY_H

#include "relayout/opencl.h"
#include "runtime/context.h"

/**
 * Device memory for work on one in-order queue. As everything that touches a
 * memory of ours goes through the queue, one that was freed can serve again at
 * once: what still reads it comes before whatever writes it next. Some freed
 * memories are kept for that.
 */
typedef struct rlo__device_queue rlo__device_queue;

typedef struct rlo__device_memory {
  rlo__device_queue *queue;
  /** Ours within the context's budget; or the caller's, retained. */
  cl_mem buffer;
  int64_t offset_bytes;
  int64_t bytes;
  bool is_lent;
  /** After this the data is there; NULL: it is there, or the queue knows. */
  cl_event ready;
  struct rlo__device_memory *next;
} rlo__device_memory;

/** Retains the context. @return RLO_OK; RLO_UNSUPPORTED in a child of fork;
 *  RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status
rlo__device_queue_create(rlo_context *context, rlo__device_queue **out_queue);

/** Every memory must have been freed. Waits for nothing. NULL is legal. */
void rlo__device_queue_release(rlo__device_queue *queue);

/** The context and its queue; borrowed. */
rlo_context *rlo__device_queue_context(const rlo__device_queue *queue);
cl_command_queue rlo__device_queue_cl_queue(const rlo__device_queue *queue);

/** As rlo_buffer_create, from the memories kept if one fits. Threads: safe, as
 *  everything here. */
RLO_NODISCARD rlo_status rlo__device_memory_create(
    rlo__device_queue *queue, int64_t bytes, rlo__device_memory **out_memory);

/**
 * A memory over a caller's buffer; buffer and event are retained.
 * @return RLO_OK; RLO_OUT_OF_RANGE if the buffer is too small;
 *         RLO_INVALID_ARGUMENT for a buffer or event of another context, or an
 *         offset that is no multiple of element_bytes; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__device_memory_wrap(rlo__device_queue *queue,
                                                 cl_mem buffer,
                                                 int64_t offset_bytes,
                                                 int64_t bytes,
                                                 int64_t element_bytes,
                                                 cl_event ready,
                                                 rlo__device_memory **out);

/** NULL is legal. */
void rlo__device_memory_free(rlo__device_memory *memory);

/** The event that work on the data has to wait for; borrowed. NULL: the queue's
 *  order is enough, as it is where there is no memory. */
cl_event rlo__device_memory_gate(const rlo__device_memory *memory);

/** Remember what makes the data; `event` changes hands. */
void rlo__device_memory_set_ready(rlo__device_memory *memory, cl_event event);

/** Sets the first `bytes` of a memory to 0, in the order of the queue. */
RLO_NODISCARD rlo_status rlo__device_memory_clear(rlo__device_memory *memory,
                                                  int64_t bytes);

/** Copy from and to the host, and wait for that. */
RLO_NODISCARD rlo_status rlo__device_memory_write(rlo__device_memory *memory,
                                                  const void *data,
                                                  int64_t bytes);
RLO_NODISCARD rlo_status rlo__device_memory_read(rlo__device_memory *memory,
                                                 void *out_data,
                                                 int64_t bytes);

/**
 * Run plans in order, each from its operand into one memory.
 * @param operands  for each plan, which of the sources it reads.
 * @param indices   and which holds the indices it loads; -1: none.
 * @param sources   NULL where there are no bytes.
 */
RLO_NODISCARD rlo_status rlo__device_memory_run(rlo__device_memory *dst,
                                                rlo_plan *const *plans,
                                                const int32_t *operands,
                                                const int32_t *indices,
                                                int32_t count,
                                                void *const *sources);

/** The event after which the data is there, retained; NULL: it is there. What
 *  is on the queue has been flushed. */
RLO_NODISCARD rlo_status rlo__device_memory_publish(rlo__device_memory *memory,
                                                    cl_event *out_ready);

#endif
