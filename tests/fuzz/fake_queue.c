/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fake_objects.h"

static fake_kernel_fn run_kernel;
static void *current_tag;
static int64_t num_commands;
static cl_int next_command_code;

void fake_driver_set_kernel(fake_kernel_fn run) {
  run_kernel = run;
}

void fake_driver_set_tag(void *tag) {
  current_tag = tag;
}

bool fake_driver_fail_next_command(cl_int code) {
  next_command_code = code;
  return code != CL_SUCCESS;
}

int64_t fake_driver_num_commands(void) {
  return num_commands;
}

/* ------------------------------------------------------ queues and commands */

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int *errcode) {
  (void)properties;
  CHECK(context, CONTEXT);
  CALL_THAT_MAKES();
  cl_command_queue made = fake_make(sizeof *made, QUEUE);
  made->context = context;
  made->device = device;
  fake_keep(context);
  return made;
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what, size_t room,
                             void *out, size_t *size) {
  CHECK(queue, QUEUE);
  CALL();
  switch (what) {
    case CL_QUEUE_CONTEXT:
      ANSWER(cl_context, queue->context);
    case CL_QUEUE_DEVICE:
      ANSWER(cl_device_id, queue->device);
    default:
      return CL_INVALID_VALUE;
  }
}

static void finish(cl_command_queue queue);

/* Ends the events that a command waits for; returns the code with which it
 * ends, CL_SUCCESS: it runs. */
static cl_int wait_for_others(const command *c) {
  cl_int code = c->fails_with;
  for (cl_uint n = 0; n < c->num_events; ++n) {
    cl_event event = c->events[n];
    if (event->status == CL_QUEUED && event->queue != NULL) {
      finish(event->queue);
    }
    if (event->status < 0) {
      code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
  }
  return code;
}

static void execute(const command *c) {
  unsigned char *memory = c->num_memories > 0 ? c->memories[0]->memory + c->offset : NULL;
  switch (c->kind) {
    case RUN:
      run_kernel(c->tag, c->memories, c->num_memories);
      break;
    case READ:
      memcpy(c->host, memory, c->bytes);
      break;
    case WRITE:
      memcpy(memory, c->host, c->bytes);
      break;
    case MARK:
      break;
  }
}

static void end_command(command *c) {
  cl_int code = wait_for_others(c);
  if (code == CL_SUCCESS) {
    execute(c);
  }
  c->event->status = code;
  c->event->queue = NULL;
  fake_drop(c->event);
  for (cl_uint n = 0; n < c->num_events; ++n) {
    fake_drop(c->events[n]);
  }
  free(c->events);
  for (int32_t n = 0; n < c->num_memories; ++n) {
    fake_drop(c->memories[n]);
  }
}

static void finish(cl_command_queue queue) {
  fake_keep(queue);
  while (queue->num_pending > 0) {
    command first = queue->pending[0];
    --queue->num_pending;
    memmove(queue->pending, queue->pending + 1, (size_t)queue->num_pending * sizeof first);
    end_command(&first);
  }
  fake_drop(queue);
}

/* Adds a command; the caller fills in what it does. */
static command *add(cl_command_queue queue, command_kind kind, cl_uint count,
                    const cl_event *events, cl_event *out_event, const char *function) {
  fake_check(queue, QUEUE, function);
  if (queue->num_pending == MAX_PENDING) {
    finish(queue);
  }
  command *c = &queue->pending[queue->num_pending++];
  memset(c, 0, sizeof *c);
  c->kind = kind;
  c->fails_with = next_command_code;
  next_command_code = CL_SUCCESS;
  c->event = fake_make(sizeof *c->event, EVENT);
  c->event->status = CL_QUEUED;
  c->event->queue = queue;
  c->event->context = queue->context;
  fake_keep(queue->context);
  fake_keep(c->event);
  c->events = calloc(count + 1, sizeof(cl_event));
  c->num_events = count;
  for (cl_uint n = 0; n < count; ++n) {
    fake_check(events[n], EVENT, function);
    if (events[n]->context != queue->context) {
      fake_stop(function, "an event of another context");
    }
    fake_keep(events[n]);
    c->events[n] = events[n];
  }
  if (out_event != NULL) {
    *out_event = c->event;
  } else {
    fake_release(c->event, function);
  }
  ++num_commands;
  return c;
}

static void add_memory(command *c, cl_mem memory) {
  fake_keep(memory);
  c->memories[c->num_memories++] = memory;
}

DEFINE_RETAIN(clRetainCommandQueue, cl_command_queue, QUEUE)

cl_int clReleaseCommandQueue(cl_command_queue queue) {
  CHECK(queue, QUEUE);
  finish(queue);
  fake_release(queue, __func__);
  return CL_SUCCESS;
}

cl_int clFlush(cl_command_queue queue) {
  CHECK(queue, QUEUE);
  CALL();
  return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue queue) {
  CHECK(queue, QUEUE);
  CALL();
  finish(queue);
  return CL_SUCCESS;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint count, const cl_event *events, cl_event *out_event) {
  (void)offset;
  CHECK(kernel, KERNEL);
  CALL();
  size_t items = 1;
  for (cl_uint d = 0; d < dimensions; ++d) {
    if (global[d] == 0 || local[d] == 0 || global[d] % local[d] != 0) {
      fake_stop(__func__, "sizes that a driver would refuse");
    }
    items *= local[d];
  }
  if (items > kernel->program->max_items) {
    fake_stop(__func__, "a group of more work-items than the kernel can run");
  }
  command *c = add(queue, RUN, count, events, out_event, __func__);
  c->tag = current_tag;
  for (int32_t n = 0; n < MAX_ARGUMENTS; ++n) {
    cl_mem memory = NULL;
    if (kernel->arguments[n].bytes == sizeof memory) {
      memcpy(&memory, kernel->arguments[n].value, sizeof memory);
    }
    if (memory != NULL && fake_find_memory(memory) != NULL) {
      add_memory(c, memory);
    }
  }
  return CL_SUCCESS;
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *events,
                                   cl_event *out_event) {
  CALL();
  (void)add(queue, MARK, count, events, out_event, __func__);
  return CL_SUCCESS;
}

static cl_int transfer(cl_command_queue queue, command_kind kind, cl_mem memory,
                       cl_bool is_blocking, size_t offset, size_t bytes, void *host, cl_uint count,
                       const cl_event *events, cl_event *out_event) {
  fake_check(memory, MEMORY, "transfer");
  if (offset > memory->bytes || bytes > memory->bytes - offset) {
    fake_stop("transfer", "beyond the buffer");
  }
  command *c = add(queue, kind, count, events, out_event, "transfer");
  add_memory(c, memory);
  c->offset = offset;
  c->bytes = bytes;
  c->host = host;
  if (is_blocking) {
    finish(queue);
  }
  return CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool is_blocking,
                           size_t offset, size_t bytes, void *host, cl_uint count,
                           const cl_event *events, cl_event *out_event) {
  CALL();
  return transfer(queue, READ, memory, is_blocking, offset, bytes, host, count, events, out_event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool is_blocking,
                            size_t offset, size_t bytes, const void *host, cl_uint count,
                            const cl_event *events, cl_event *out_event) {
  CALL();
  return transfer(queue, WRITE, memory, is_blocking, offset, bytes, (void *)(uintptr_t)host, count,
                  events, out_event);
}

/* ------------------------------------------------------------------- events */

cl_int clWaitForEvents(cl_uint count, const cl_event *events) {
  CALL();
  cl_int code = CL_SUCCESS;
  for (cl_uint n = 0; n < count; ++n) {
    CHECK(events[n], EVENT);
    if (events[n]->queue != NULL) {
      finish(events[n]->queue);
    }
    if (events[n]->status < 0) {
      code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
  }
  return code;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t room, void *out, size_t *size) {
  CHECK(event, EVENT);
  CALL();
  switch (what) {
    case CL_EVENT_CONTEXT:
      ANSWER(cl_context, event->context);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      ANSWER(cl_int, event->status);
    default:
      return CL_INVALID_VALUE;
  }
}

DEFINE_RETAIN(clRetainEvent, cl_event, EVENT)
DEFINE_RELEASE(clReleaseEvent, cl_event, EVENT)
