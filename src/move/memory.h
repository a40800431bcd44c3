/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_MOVE_MEMORY_H
#define RLO_MOVE_MEMORY_H

#include "move/place.h"

/** Bytes in a place. On the host they are there; on a device they are in a part
 *  of a buffer, once an event has come. */
typedef struct rlo__memory {
  rlo__place *place;
  /** On the host, or over it: the address of the bytes. */
  void *host;
  /** The library's own, within the context's budget; or the caller's, retained.
   */
  cl_mem buffer;
  int64_t offset_bytes;
  int64_t bytes;
  /** The bytes are the caller's. */
  bool is_external;
  /** Completes when the data is written; NULL: it is, or the order of the queue
   *  ensures it. */
  cl_event ready;
  /** The command of the queue that writes the data last
   *  (rlo__place_add_command); 0: none does. */
  int64_t written_by;
} rlo__memory;

/** Allocates memory, by rlo__place_take_buffer or, on the host, from the
 *  library's allocator, in huge pages if it is large. Threads: safe, like every
 *  function here. */
RLO_NODISCARD rlo_status rlo__memory_create(rlo__place *place, int64_t bytes,
                                            rlo__memory **out_memory);

/**
 * Makes a memory of a caller's buffer; retains buffer and event.
 * @return RLO_OK; RLO_OUT_OF_RANGE if the buffer is too small;
 *         RLO_INVALID_ARGUMENT for a buffer or event of another context, or an
 *         offset that is not a multiple of element_bytes; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__memory_wrap(rlo__place *place, cl_mem buffer, int64_t offset_bytes,
                                          int64_t bytes, int64_t element_bytes, cl_event ready,
                                          rlo__memory **out);

/**
 * Makes a memory of host memory, without copying it: on the host, and on
 * devices that share the host's memory. The host does not touch its bytes
 * between a command that uses them and rlo__memory_wait. Not counted against
 * the context's budget.
 * @param host  borrowed while the memory lives.
 * @return RLO_OK; RLO_UNSUPPORTED in a child of fork; RLO_OUT_OF_MEMORY, also
 *         for more than the device's largest buffer; RLO_DEVICE.
 */
RLO_NODISCARD rlo_status rlo__memory_over_host(rlo__place *place, void *host, int64_t bytes,
                                               rlo__memory **out_memory);

/** Waits for the command that writes a memory of host memory, after which the
 *  host sees the bytes. @return RLO_OK; RLO_DEVICE if it has failed. */
RLO_NODISCARD rlo_status rlo__memory_wait(rlo__memory *memory);

/** NULL is legal. */
void rlo__memory_free(rlo__memory *memory);

/** The event that commands on the data must wait for; borrowed. NULL if the
 *  order of the queue suffices, or if `memory` is NULL. */
cl_event rlo__memory_gate(const rlo__memory *memory);

/** Sets the event of the queue's command that writes the data; takes ownership
 *  of it. */
void rlo__memory_set_ready(rlo__memory *memory, cl_event event);

/** RLO_OK; RLO_DEVICE if a command that the data depends on is known to have
 *  failed. NULL is legal. Does not wait. */
RLO_NODISCARD rlo_status rlo__memory_check_commands(const rlo__memory *memory);

/** Sets the first `bytes` of a memory to 0, in the order of the queue. */
RLO_NODISCARD rlo_status rlo__memory_clear(rlo__memory *memory, int64_t bytes);

/** Copy from and to the host. Wait for the copy. */
RLO_NODISCARD rlo_status rlo__memory_write(rlo__memory *memory, const void *data, int64_t bytes);
RLO_NODISCARD rlo_status rlo__memory_read(rlo__memory *memory, void *out_data, int64_t bytes);

/** Flushes the queue and retains the event after which the data is written;
 *  NULL if it is written already. Whether a command has failed that the data
 *  depends on, and is not the one that writes it, is known only if it has done
 *  so before. */
RLO_NODISCARD rlo_status rlo__memory_publish(rlo__memory *memory, cl_event *out_ready);

#endif
