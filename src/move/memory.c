/* SPDX-License-Identifier: Apache-2.0 */
#include "move/memory.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/threshold.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"
#include "runtime/context.h"
#include "runtime/operand.h"

enum {
  /** The offset of the bytes of a memory of the host's own: they follow the
   *  struct. */
  HOST_OFFSET = (sizeof(rlo__memory) + 63) / 64 * 64
};

/* ---------------------------------------------------------------- memories */

/* What a memory of the host's own takes if it is large enough for pages, else 0. */
static size_t bytes_in_pages(const rlo__place *place, int64_t bytes) {
  const bool has_pages = place->context == NULL && bytes >= rlo__thresholds.base_huge_page_bytes;
  return has_pages ? HOST_OFFSET + (size_t)bytes : 0;
}

rlo_status rlo__memory_create(rlo__place *place, int64_t bytes, rlo__memory **out_memory) {
  const bool is_host = place->context == NULL;
  const size_t in_pages = bytes_in_pages(place, bytes);
  rlo__memory *made = in_pages > 0
                          ? rlo__alloc_pages(in_pages)
                          : rlo__alloc(is_host ? HOST_OFFSET + (size_t)bytes : sizeof *made);
  RLO_TRY_MEMORY(made);
  *made = (rlo__memory){
      .place = place, .host = is_host ? (char *)made + HOST_OFFSET : NULL, .bytes = bytes};
  rlo_status status = is_host ? RLO_OK : rlo__place_take_buffer(place, bytes, &made->buffer);
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  *out_memory = made;
  return RLO_OK;
}

rlo_status rlo__memory_wrap(rlo__place *place, cl_mem buffer, int64_t offset_bytes, int64_t bytes,
                            int64_t element_bytes, cl_event ready, rlo__memory **out) {
  const rlo__operand_need need = {
      .side = RLO__OPERAND_SRC, .bytes = bytes, .element_bytes = element_bytes};
  rlo__operand operand = {.memory = buffer, .offset_bytes = offset_bytes};
  RLO_TRY(rlo__context_check_process(place->context));
  RLO_TRY(rlo__operand_resolve(place->context, &need, &operand));
  if (ready != NULL) {
    cl_context event_context = NULL;
    RLO_TRY(RLO_CL(clGetEventInfo, ready, CL_EVENT_CONTEXT, sizeof event_context, &event_context,
                   NULL));
    RLO_FAIL_IF(event_context != place->context->cl_context, RLO_INVALID_ARGUMENT,
                "the event is of another context than the engine");
  }
  rlo__memory *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  *made = (rlo__memory){.place = place,
                        .buffer = buffer,
                        .offset_bytes = offset_bytes,
                        .bytes = bytes,
                        .is_external = true,
                        .ready = ready};
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
  *out = made;
  return RLO_OK;
}

static rlo_status create_buffer_over_host(const rlo_context *context, void *host, int64_t bytes,
                                          cl_mem *out_buffer) {
  RLO_TRY(rlo__context_check_process(context));
  RLO_TRY(rlo__context_check_buffer(context, bytes));
  cl_int code = CL_SUCCESS;
  *out_buffer = clCreateBuffer(context->cl_context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                               (size_t)bytes, host, &code);
  return rlo__cl_error_check("clCreateBuffer", code);
}

rlo_status rlo__memory_over_host(rlo__place *place, void *host, int64_t bytes,
                                 rlo__memory **out_memory) {
  rlo__memory *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  *made = (rlo__memory){.place = place, .host = host, .bytes = bytes, .is_external = true};
  rlo_status status = place->context == NULL
                          ? RLO_OK
                          : create_buffer_over_host(place->context, host, bytes, &made->buffer);
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  *out_memory = made;
  return RLO_OK;
}

void rlo__memory_free(rlo__memory *memory) {
  if (memory == NULL) {
    return;
  }
  rlo__place *place = memory->place;
  if (place->context != NULL) {
    const bool is_here = rlo__context_check_process(place->context) == RLO_OK;
    if (memory->ready != NULL && is_here) {
      clReleaseEvent(memory->ready);
    }
    if (!memory->is_external) {
      rlo__place_give_buffer(place, memory->buffer, memory->bytes);
    } else if (is_here) {
      clReleaseMemObject(memory->buffer);
    }
  }
  const size_t in_pages = memory->is_external ? 0 : bytes_in_pages(place, memory->bytes);
  if (in_pages > 0) {
    rlo__free_pages(memory, in_pages);
  } else {
    rlo__free(memory);
  }
}

cl_event rlo__memory_gate(const rlo__memory *memory) {
  return memory != NULL && memory->is_external ? memory->ready : NULL;
}

void rlo__memory_set_ready(rlo__memory *memory, cl_event event) {
  if (memory->ready != NULL) {
    clReleaseEvent(memory->ready);
  }
  memory->ready = event;
  if (!memory->place->is_external) {
    memory->written_by = rlo__place_add_command(memory->place, event);
  }
}

/* --------------------------------------------------------------- transfers */

rlo_status rlo__memory_clear(rlo__memory *memory, int64_t bytes) {
  const int64_t max_bytes = rlo__thresholds.runtime_fill_bytes;
  /* One byte long, so that any size is a multiple of it. */
  const cl_uchar zero = 0;
  rlo__place *place = memory->place;
  if (place->context == NULL) {
    memset(memory->host, 0, (size_t)bytes);
    return RLO_OK;
  }
  RLO_TRY(rlo__context_check_process(place->context));
  for (int64_t at = 0; at < bytes; at += max_bytes) {
    bool is_last = bytes - at <= max_bytes;
    cl_event event = NULL;
    RLO_TRY(RLO_CL(clEnqueueFillBuffer, place->queue, memory->buffer, &zero, sizeof zero,
                   (size_t)(memory->offset_bytes + at), (size_t)(is_last ? bytes - at : max_bytes),
                   0, NULL, &event));
    rlo__command_log_add(event);
    /* The last one stays. */
    rlo__memory_set_ready(memory, event);
  }
  return RLO_OK;
}

rlo_status rlo__memory_write(rlo__memory *memory, const void *data, int64_t bytes) {
  rlo__place *place = memory->place;
  if (place->context == NULL) {
    memcpy(memory->host, data, (size_t)bytes);
    return RLO_OK;
  }
  RLO_TRY(rlo__context_check_process(place->context));
  memory->written_by = 0;
  return RLO_CL(clEnqueueWriteBuffer, place->queue, memory->buffer, CL_TRUE,
                (size_t)memory->offset_bytes, (size_t)bytes, data, 0, NULL, NULL);
}

rlo_status rlo__memory_check_commands(const rlo__memory *memory) {
  if (memory == NULL) {
    return RLO_OK;
  }
  if (memory->written_by > 0) {
    return rlo__place_check_command(memory->place, memory->written_by);
  }
  /* The caller's event. */
  if (memory->ready == NULL) {
    return RLO_OK;
  }
  cl_int execution = CL_COMPLETE;
  RLO_TRY(RLO_CL(clGetEventInfo, memory->ready, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution,
                 &execution, NULL));
  return execution < 0
             ? rlo__status_fail_cl(RLO_DEVICE, "clGetEventInfo", execution,
                                   "the command that writes this data has failed with %s (%d)",
                                   rlo__cl_error_name(execution), (int)execution)
             : RLO_OK;
}

rlo_status rlo__memory_read(rlo__memory *memory, void *out_data, int64_t bytes) {
  rlo__place *place = memory->place;
  if (place->context == NULL) {
    memcpy(out_data, memory->host, (size_t)bytes);
    return RLO_OK;
  }
  RLO_TRY(rlo__context_check_process(place->context));
  /* PoCL waits forever for an event that has failed already. */
  RLO_TRY(rlo__memory_check_commands(memory));
  cl_event gate = rlo__memory_gate(memory);
  RLO_TRY(RLO_CL(clEnqueueReadBuffer, place->queue, memory->buffer, CL_TRUE,
                 (size_t)memory->offset_bytes, (size_t)bytes, out_data, gate != NULL ? 1 : 0,
                 gate != NULL ? &gate : NULL, NULL));
  return rlo__memory_check_commands(memory);
}

rlo_status rlo__memory_wait(rlo__memory *memory) {
  rlo__place *place = memory->place;
  RLO_TRY(rlo__context_check_process(place->context));
  RLO_TRY(RLO_CL(clFinish, place->queue));
  RLO_TRY(rlo__memory_check_commands(memory));
  cl_int code = CL_SUCCESS;
  void *host = clEnqueueMapBuffer(place->queue, memory->buffer, CL_TRUE, CL_MAP_READ, 0,
                                  (size_t)memory->bytes, 0, NULL, NULL, &code);
  RLO_TRY(rlo__cl_error_check("clEnqueueMapBuffer", code));
  return RLO_CL(clEnqueueUnmapMemObject, place->queue, memory->buffer, host, 0, NULL, NULL);
}

rlo_status rlo__memory_publish(rlo__memory *memory, cl_event *out_ready) {
  rlo__place *place = memory->place;
  *out_ready = NULL;
  RLO_TRY(rlo__context_check_process(place->context));
  RLO_TRY(RLO_CL(clFlush, place->queue));
  RLO_TRY(rlo__memory_check_commands(memory));
  if (memory->ready != NULL) {
    RLO_TRY(RLO_CL(clRetainEvent, memory->ready));
    *out_ready = memory->ready;
  }
  return RLO_OK;
}
