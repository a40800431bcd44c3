/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device_memory.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"
#include "runtime/command_watch.h"
#include "runtime/operand.h"
#include "runtime/plan_handle.h"

struct rlo__device_queue {
  rlo_context *context;
  cl_command_queue queue;
  rlo__command_watch watch;
  rlo__mutex mutex;
  bool has_mutex;
  /** Guarded by the mutex; the last freed first. */
  rlo__device_memory *free_list;
  int32_t num_free;
  int64_t free_bytes;
};

rlo_status rlo__device_queue_create(rlo_context *context,
                                    bool is_profiling,
                                    rlo__device_queue **out_queue) {
  RLO_TRY(rlo__context_check_process(context));
  rlo__device_queue *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->context = rlo_context_retain(context);
  rlo_status status = RLO_OK;
  cl_int code = CL_SUCCESS;
  RLO_TRY_GOTO(rlo__mutex_init(&made->mutex));
  made->has_mutex = true;
  RLO_TRY_GOTO(rlo__command_watch_init(&made->watch));
  made->queue =
      clCreateCommandQueue(context->cl_context,
                           context->cl_device,
                           is_profiling ? CL_QUEUE_PROFILING_ENABLE : 0,
                           &code);
  RLO_TRY_GOTO(rlo__cl_error_check("clCreateCommandQueue", code));
  *out_queue = made;
  return RLO_OK;
fail:
  rlo__device_queue_release(made);
  return status;
}

static void destroy_memory(rlo__device_memory *memory) {
  rlo_context *context = memory->queue->context;
  bool is_here = rlo__context_check_process(context) == RLO_OK;
  if (memory->ready != NULL && is_here) {
    clReleaseEvent(memory->ready);
  }
  if (!memory->is_external) {
    rlo_buffer_release(context, memory->buffer);
  } else if (is_here) {
    clReleaseMemObject(memory->buffer);
  }
  rlo__free(memory);
}

/** Empties the free list and returns it. */
static rlo__device_memory *take_free_list(rlo__device_queue *queue) {
  rlo__mutex_lock(&queue->mutex);
  rlo__device_memory *list = queue->free_list;
  queue->free_list = NULL;
  queue->num_free = 0;
  queue->free_bytes = 0;
  rlo__mutex_unlock(&queue->mutex);
  return list;
}

static bool destroy_free_list(rlo__device_queue *queue) {
  rlo__device_memory *list = take_free_list(queue);
  bool was_any = list != NULL;
  while (list != NULL) {
    rlo__device_memory *next = list->next;
    destroy_memory(list);
    list = next;
  }
  return was_any;
}

void rlo__device_queue_release(rlo__device_queue *queue) {
  if (queue == NULL) {
    return;
  }
  if (queue->has_mutex) {
    destroy_free_list(queue);
    rlo__mutex_deinit(&queue->mutex);
  }
  const bool is_here = rlo__context_check_process(queue->context) == RLO_OK;
  rlo__command_watch_deinit(&queue->watch, is_here);
  if (queue->queue != NULL && is_here) {
    clReleaseCommandQueue(queue->queue);
  }
  rlo_context_release(queue->context);
  rlo__free(queue);
}

rlo_context *rlo__device_queue_context(const rlo__device_queue *queue) {
  return queue->context;
}

cl_command_queue rlo__device_queue_cl_queue(const rlo__device_queue *queue) {
  return queue->queue;
}

/* ---------------------------------------------------------------- memories */

static rlo__device_memory *take_from_free_list(rlo__device_queue *queue,
                                               int64_t bytes) {
  rlo__mutex_lock(&queue->mutex);
  rlo__device_memory **link = &queue->free_list;
  while (*link != NULL && (*link)->bytes != bytes) {
    link = &(*link)->next;
  }
  rlo__device_memory *found = *link;
  if (found != NULL) {
    *link = found->next;
    found->next = NULL;
    --queue->num_free;
    queue->free_bytes -= bytes;
  }
  rlo__mutex_unlock(&queue->mutex);
  return found;
}

rlo_status rlo__device_memory_create(rlo__device_queue *queue,
                                     int64_t bytes,
                                     rlo__device_memory **out_memory) {
  rlo__device_memory *memory = take_from_free_list(queue, bytes);
  if (memory == NULL) {
    memory = rlo__alloc(sizeof *memory);
    if (memory == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    memory->queue = queue;
    memory->bytes = bytes;
    rlo_status status =
        rlo_buffer_create(queue->context, bytes, &memory->buffer);
    if (status == RLO_OUT_OF_MEMORY && destroy_free_list(queue)) {
      /* The free list took the room; it is empty now. */
      status = rlo_buffer_create(queue->context, bytes, &memory->buffer);
    }
    if (status != RLO_OK) {
      rlo__free(memory);
      return status;
    }
  }
  *out_memory = memory;
  return RLO_OK;
}

rlo_status rlo__device_memory_wrap(rlo__device_queue *queue,
                                   cl_mem buffer,
                                   int64_t offset_bytes,
                                   int64_t bytes,
                                   int64_t element_bytes,
                                   cl_event ready,
                                   rlo__device_memory **out) {
  const rlo__operand_need need = {
      .side = RLO__OPERAND_SRC, .bytes = bytes, .element_bytes = element_bytes};
  rlo__operand operand;
  RLO_TRY(rlo__context_check_process(queue->context));
  RLO_TRY(rlo__operand_resolve(
      queue->context, &need, buffer, offset_bytes, &operand));
  if (ready != NULL) {
    cl_context event_context = NULL;
    RLO_TRY(RLO_CL(clGetEventInfo,
                   ready,
                   CL_EVENT_CONTEXT,
                   sizeof event_context,
                   &event_context,
                   NULL));
    if (event_context != queue->context->cl_context) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "the event is of another context than the engine");
    }
  }
  rlo__device_memory *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->queue = queue;
  made->buffer = buffer;
  made->offset_bytes = offset_bytes;
  made->bytes = bytes;
  made->is_external = true;
  rlo_status status = RLO_CL(clRetainMemObject, buffer);
  if (status == RLO_OK && ready != NULL) {
    status = RLO_CL(clRetainEvent, ready);
    if (status != RLO_OK) {
      clReleaseMemObject(buffer);
    }
  }
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  made->ready = ready;
  *out = made;
  return RLO_OK;
}

rlo_status rlo__device_memory_over_host(rlo__device_queue *queue,
                                        void *host,
                                        int64_t bytes,
                                        rlo__device_memory **out_memory) {
  RLO_TRY(rlo__context_check_process(queue->context));
  RLO_TRY(rlo__context_check_buffer(queue->context, bytes));
  cl_int code = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(queue->context->cl_context,
                                 CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                 (size_t)bytes,
                                 host,
                                 &code);
  RLO_TRY(rlo__cl_error_check("clCreateBuffer", code));
  rlo__device_memory *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    clReleaseMemObject(buffer);
    return RLO_OUT_OF_MEMORY;
  }
  made->queue = queue;
  made->buffer = buffer;
  made->bytes = bytes;
  made->is_external = true;
  *out_memory = made;
  return RLO_OK;
}

void rlo__device_memory_free(rlo__device_memory *memory) {
  if (memory == NULL) {
    return;
  }
  rlo__device_queue *queue = memory->queue;
  bool is_reusable = false;
  if (!memory->is_external &&
      rlo__context_check_process(queue->context) == RLO_OK) {
    if (memory->ready != NULL) {
      clReleaseEvent(memory->ready);
      memory->ready = NULL;
    }
    memory->written_by = 0;
    rlo__mutex_lock(&queue->mutex);
    is_reusable = queue->num_free < rlo__thresholds.runtime_free_memories &&
                  queue->free_bytes + memory->bytes <=
                      queue->context->memory_budget_bytes /
                          rlo__thresholds.runtime_free_share;
    if (is_reusable) {
      memory->next = queue->free_list;
      queue->free_list = memory;
      ++queue->num_free;
      queue->free_bytes += memory->bytes;
    }
    rlo__mutex_unlock(&queue->mutex);
  }
  if (!is_reusable) {
    destroy_memory(memory);
  }
}

cl_event rlo__device_memory_gate(const rlo__device_memory *memory) {
  return memory != NULL && memory->is_external ? memory->ready : NULL;
}

void rlo__device_memory_set_ready(rlo__device_memory *memory, cl_event event) {
  if (memory->ready != NULL) {
    clReleaseEvent(memory->ready);
  }
  memory->ready = event;
  memory->written_by = rlo__command_watch_add(&memory->queue->watch, event);
}

/* --------------------------------------------------------------- transfers */

rlo_status rlo__device_memory_clear(rlo__device_memory *memory, int64_t bytes) {
  const int64_t max_bytes = rlo__thresholds.runtime_fill_bytes;
  /* One byte long, so that any size is a multiple of it. */
  const cl_uchar zero = 0;
  rlo__device_queue *queue = memory->queue;
  RLO_TRY(rlo__context_check_process(queue->context));
  for (int64_t at = 0; at < bytes; at += max_bytes) {
    bool is_last = bytes - at <= max_bytes;
    cl_event event = NULL;
    RLO_TRY(RLO_CL(clEnqueueFillBuffer,
                   queue->queue,
                   memory->buffer,
                   &zero,
                   sizeof zero,
                   (size_t)(memory->offset_bytes + at),
                   (size_t)(is_last ? bytes - at : max_bytes),
                   0,
                   NULL,
                   &event));
    rlo__command_log_add(event);
    /* The last one stays. */
    rlo__device_memory_set_ready(memory, event);
  }
  return RLO_OK;
}

rlo_status rlo__device_memory_write(rlo__device_memory *memory,
                                    const void *data,
                                    int64_t bytes) {
  rlo__device_queue *queue = memory->queue;
  RLO_TRY(rlo__context_check_process(queue->context));
  memory->written_by = 0;
  return RLO_CL(clEnqueueWriteBuffer,
                queue->queue,
                memory->buffer,
                CL_TRUE,
                (size_t)memory->offset_bytes,
                (size_t)bytes,
                data,
                0,
                NULL,
                NULL);
}

rlo_status rlo__device_memory_check(const rlo__device_memory *memory) {
  if (memory == NULL) {
    return RLO_OK;
  }
  if (memory->written_by > 0) {
    return rlo__command_watch_check(&memory->queue->watch, memory->written_by);
  }
  /* The caller's event. */
  if (memory->ready == NULL) {
    return RLO_OK;
  }
  cl_int execution = CL_COMPLETE;
  RLO_TRY(RLO_CL(clGetEventInfo,
                 memory->ready,
                 CL_EVENT_COMMAND_EXECUTION_STATUS,
                 sizeof execution,
                 &execution,
                 NULL));
  return execution < 0 ? rlo__status_fail_cl(
                             RLO_DEVICE,
                             "clGetEventInfo",
                             execution,
                             "the command that writes this data has failed "
                             "with %s (%d)",
                             rlo__cl_error_name(execution),
                             (int)execution)
                       : RLO_OK;
}

rlo_status rlo__device_memory_read(rlo__device_memory *memory,
                                   void *out_data,
                                   int64_t bytes) {
  rlo__device_queue *queue = memory->queue;
  RLO_TRY(rlo__context_check_process(queue->context));
  /* PoCL waits forever for an event that has failed already. */
  RLO_TRY(rlo__device_memory_check(memory));
  cl_event gate = rlo__device_memory_gate(memory);
  RLO_TRY(RLO_CL(clEnqueueReadBuffer,
                 queue->queue,
                 memory->buffer,
                 CL_TRUE,
                 (size_t)memory->offset_bytes,
                 (size_t)bytes,
                 out_data,
                 gate != NULL ? 1 : 0,
                 gate != NULL ? &gate : NULL,
                 NULL));
  return rlo__device_memory_check(memory);
}

rlo_status rlo__device_memory_wait(rlo__device_memory *memory) {
  rlo__device_queue *queue = memory->queue;
  RLO_TRY(rlo__context_check_process(queue->context));
  RLO_TRY(RLO_CL(clFinish, queue->queue));
  RLO_TRY(rlo__device_memory_check(memory));
  cl_int code = CL_SUCCESS;
  void *host = clEnqueueMapBuffer(queue->queue,
                                  memory->buffer,
                                  CL_TRUE,
                                  CL_MAP_READ,
                                  0,
                                  (size_t)memory->bytes,
                                  0,
                                  NULL,
                                  NULL,
                                  &code);
  RLO_TRY(rlo__cl_error_check("clEnqueueMapBuffer", code));
  return RLO_CL(clEnqueueUnmapMemObject,
                queue->queue,
                memory->buffer,
                host,
                0,
                NULL,
                NULL);
}

/* ----------------------------------------------------------------- running */

/** Collects the events that commands on two memories must wait for. */
static cl_uint collect_two(const rlo__device_memory *a,
                           const rlo__device_memory *b,
                           cl_event out_events[2]) {
  const cl_event gates[2] = {rlo__device_memory_gate(a),
                             rlo__device_memory_gate(b)};
  cl_uint count = 0;
  for (int32_t n = 0; n < 2; ++n) {
    if (gates[n] != NULL) {
      out_events[count++] = gates[n];
    }
  }
  return count;
}

/** Enqueues one plan. */
static rlo_status run_plan(rlo__device_memory *dst,
                           rlo_plan *plan,
                           const rlo__device_memory *src,
                           const rlo__device_memory *index) {
  rlo__device_memory *scratch = NULL;
  cl_event event = NULL;
  RLO_TRY(rlo__device_memory_check(dst));
  RLO_TRY(rlo__device_memory_check(src));
  RLO_TRY(rlo__device_memory_check(index));
  if (plan->info.scratch_bytes > 0) {
    RLO_TRY(rlo__device_memory_create(
        dst->queue, plan->info.scratch_bytes, &scratch));
  }
  cl_event events[2];
  cl_uint num_events = collect_two(src, index, events);
  rlo_operands o = RLO_OPERANDS_INIT;
  o.dst = dst->buffer;
  o.dst_offset_bytes = dst->offset_bytes;
  if (src != NULL) {
    o.src = src->buffer;
    o.src_offset_bytes = src->offset_bytes;
  }
  if (index != NULL) {
    o.indices = index->buffer;
    o.index_offset_bytes = index->offset_bytes;
  }
  if (scratch != NULL) {
    o.scratch = scratch->buffer;
  }
  rlo_status status = rlo_enqueue_operands(plan,
                                           dst->queue->queue,
                                           &o,
                                           num_events,
                                           num_events > 0 ? events : NULL,
                                           &event);
  /* The next user of the scratch memory comes later on the queue. */
  rlo__device_memory_free(scratch);
  if (event != NULL) {
    rlo__device_memory_set_ready(dst, event);
  }
  return status;
}

rlo_status rlo__device_memory_run(rlo__device_memory *dst,
                                  rlo_plan *const *plans,
                                  const int32_t *operands,
                                  const int32_t *indices,
                                  int32_t count,
                                  void *const *sources) {
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY(run_plan(dst,
                     plans[n],
                     sources[operands[n]],
                     indices[n] >= 0 ? sources[indices[n]] : NULL));
  }
  return RLO_OK;
}

rlo_status rlo__device_memory_publish(rlo__device_memory *memory,
                                      cl_event *out_ready) {
  rlo__device_queue *queue = memory->queue;
  *out_ready = NULL;
  RLO_TRY(rlo__context_check_process(queue->context));
  RLO_TRY(RLO_CL(clFlush, queue->queue));
  RLO_TRY(rlo__device_memory_check(memory));
  if (memory->ready != NULL) {
    RLO_TRY(RLO_CL(clRetainEvent, memory->ready));
    *out_ready = memory->ready;
  }
  return RLO_OK;
}
