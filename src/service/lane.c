/* SPDX-License-Identifier: Apache-2.0 */
#include "service/lane.h"

#include "base/alloc.h"
#include "base/status.h"
#include "runtime/device_memory.h"

/** A buffer that grows. */
typedef struct lane_buffer {
  cl_mem buffer;
  int64_t bytes;
} lane_buffer;

struct rlo__lane {
  rlo_context *context;
  bool copies;
  rlo__device_queue *queue;
  lane_buffer src, dst;
};

rlo_status rlo__lane_create(rlo_context *context,
                            bool copies,
                            rlo__lane **out_lane) {
  *out_lane = NULL;
  rlo__lane *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->context = rlo_context_retain(context);
  made->copies = copies || rlo_context_device_info(context)->device_class !=
                               RLO_DEVICE_CLASS_CPU;
  rlo_status status = rlo__device_queue_create(context, false, &made->queue);
  if (status != RLO_OK) {
    rlo__lane_release(made);
    return status;
  }
  *out_lane = made;
  return RLO_OK;
}

void rlo__lane_release(rlo__lane *lane) {
  if (lane != NULL) {
    rlo__lane_trim(lane);
    rlo__device_queue_release(lane->queue);
    rlo_context_release(lane->context);
    rlo__free(lane);
  }
}

rlo_context *rlo__lane_context(const rlo__lane *lane) {
  return lane->context;
}

bool rlo__lane_copies(const rlo__lane *lane) {
  return lane->copies;
}

int64_t rlo__lane_buffer_bytes(const rlo__lane *lane) {
  return lane->src.bytes + lane->dst.bytes;
}

static void release_buffer(rlo__lane *lane, lane_buffer *b) {
  rlo_buffer_release(lane->context, b->buffer);
  *b = (lane_buffer){NULL, 0};
}

void rlo__lane_trim(rlo__lane *lane) {
  release_buffer(lane, &lane->src);
  release_buffer(lane, &lane->dst);
}

/* Wraps a buffer of at least `bytes` bytes. */
static rlo_status wrap_buffer(rlo__lane *lane,
                              lane_buffer *b,
                              int64_t bytes,
                              rlo__device_memory **out_memory) {
  if (bytes > b->bytes) {
    release_buffer(lane, b);
    RLO_TRY(rlo_buffer_create(lane->context, bytes, &b->buffer));
    b->bytes = bytes;
  }
  return rlo__device_memory_wrap(
      lane->queue, b->buffer, 0, bytes, 1, NULL, out_memory);
}

/* A memory of a side; NULL for 0 bytes. */
static rlo_status open_side(rlo__lane *lane,
                            lane_buffer *b,
                            void *host,
                            int64_t bytes,
                            rlo__device_memory **out_memory) {
  *out_memory = NULL;
  if (bytes == 0) {
    return RLO_OK;
  }
  return lane->copies ? wrap_buffer(lane, b, bytes, out_memory)
                      : rlo__device_memory_over_host(
                            lane->queue, host, bytes, out_memory);
}

static rlo_status run_plan(rlo_plan *plan,
                           rlo__device_memory *src,
                           rlo__device_memory *dst) {
  const int32_t operand = 0;
  const int32_t no_indices = -1;
  void *sources[] = {src};
  return rlo__device_memory_run(dst, &plan, &operand, &no_indices, 1, sources);
}

static rlo_status run_in_buffers(rlo_plan *plan,
                                 rlo__device_memory *src,
                                 const void *src_host,
                                 rlo__device_memory *dst,
                                 void *dst_host,
                                 rlo_status (*before_run)(void *payload),
                                 void *payload) {
  if (src != NULL) {
    RLO_TRY(rlo__device_memory_write(src, src_host, src->bytes));
  }
  if (before_run != NULL) {
    RLO_TRY(before_run(payload));
    RLO_TRY(rlo__device_memory_write(dst, dst_host, dst->bytes));
  }
  RLO_TRY(run_plan(plan, src, dst));
  return rlo__device_memory_read(dst, dst_host, dst->bytes);
}

rlo_status rlo__lane_run(rlo__lane *lane,
                         rlo_plan *plan,
                         void *src,
                         int64_t src_bytes,
                         void *dst,
                         int64_t dst_bytes,
                         rlo_status (*before_run)(void *payload),
                         void *payload) {
  if (dst_bytes == 0) {
    return RLO_OK;
  }
  rlo__device_memory *from = NULL;
  rlo__device_memory *to = NULL;
  rlo_status status = open_side(lane, &lane->src, src, src_bytes, &from);
  if (status == RLO_OK) {
    status = open_side(lane, &lane->dst, dst, dst_bytes, &to);
  }
  if (status == RLO_OK && lane->copies) {
    status = run_in_buffers(plan, from, src, to, dst, before_run, payload);
  } else if (status == RLO_OK) {
    status = before_run != NULL ? before_run(payload) : RLO_OK;
    if (status == RLO_OK) {
      status = run_plan(plan, from, to);
    }
    if (status == RLO_OK) {
      status = rlo__device_memory_wait(to);
    }
  }
  rlo__device_memory_free(to);
  rlo__device_memory_free(from);
  return status;
}
