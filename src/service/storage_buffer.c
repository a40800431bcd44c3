/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/threshold.h"
#include "move/place.h"
#include "relayout/storage_opencl.h"
#include "runtime/cl_error.h"
#include "runtime/context.h"
#include "service/storage.h"

/** Blocking transfers on one queue: the next one waits while one runs. */
enum { GOOD_DEPTH = 2 };

typedef struct buffer_storage {
  rlo_storage storage;
  /** The storage's own. */
  rlo__place *place;
  /** Retained; NULL: no bytes. */
  cl_mem buffer;
  /** Where position 0 is in the buffer. */
  int64_t offset_bytes;
} buffer_storage;

/* ---------------------------------------------------------------- transfers */

/** The bytes that one command moves: rows of `run_bytes`, as a box in the
 * buffer and packed in host memory. */
typedef struct box {
  /** Bytes, rows and planes of rows. */
  size_t region[3];
  /** Between rows, and between planes; 0 for one of them. */
  size_t pitch[2];
  /** The dimensions of the lattice that the box has. */
  int32_t num_dims;
} box;

/** The largest box of OpenCL's that the last dimensions of a lattice are. */
static box make_box(const rlo__lattice *lattice) {
  box b = {.region = {(size_t)lattice->run_bytes, 1, 1}};
  int64_t least = lattice->run_bytes;
  int32_t last = lattice->num_dims - 1;
  while (b.num_dims < 2 && b.num_dims <= last) {
    int64_t stride = lattice->strides[last - b.num_dims];
    int64_t extent = lattice->extents[last - b.num_dims];
    bool is_pitch = stride >= least && (b.num_dims == 0 || stride % lattice->strides[last] == 0);
    if (!is_pitch) {
      break;
    }
    b.pitch[b.num_dims++] = (size_t)stride;
    b.region[b.num_dims] = (size_t)extent;
    least = stride * extent;
  }
  return b;
}

/** NVIDIA's driver refuses a box whose last row would end behind the buffer if
 *  it were as long as the pitch. */
static bool ends_in_buffer(const buffer_storage *from, const box *b, size_t at) {
  const size_t end =
      at - at % b->pitch[0] + b->region[1] * b->pitch[0] + (b->region[2] - 1) * b->pitch[1];
  return end <= (size_t)(from->offset_bytes + from->storage.traits.bytes);
}

static rlo_status move_box(const buffer_storage *from, const box *b, int64_t offset, char *packed,
                           bool is_write);

/** Moves a box without its last row or plane, and then that. */
static rlo_status move_parts(const buffer_storage *from, const box *b, int64_t offset, char *packed,
                             bool is_write) {
  const int32_t d = b->num_dims;
  box first = *b;
  box last = *b;
  --first.region[d];
  last.region[d] = 1;
  last.pitch[--last.num_dims] = 0;
  if (first.region[d] > 0) {
    RLO_TRY(move_box(from, &first, offset, packed, is_write));
  }
  return move_box(from, &last, offset + (int64_t)(first.region[d] * b->pitch[d - 1]),
                  packed + first.region[0] * first.region[1] * first.region[2], is_write);
}

/** Moves a box between the buffer, from the storage's `offset` on, and packed
 *  memory. */
static rlo_status move_box(const buffer_storage *from, const box *b, int64_t offset, char *packed,
                           bool is_write) {
  cl_command_queue queue = from->place->queue;
  size_t at = (size_t)(from->offset_bytes + offset);
  if (b->num_dims == 0) {
    return !is_write ? RLO_CL(clEnqueueReadBuffer, queue, from->buffer, CL_TRUE, at, b->region[0],
                              packed, 0, NULL, NULL)
                     : RLO_CL(clEnqueueWriteBuffer, queue, from->buffer, CL_TRUE, at, b->region[0],
                              packed, 0, NULL, NULL);
  }
  if (!ends_in_buffer(from, b, at)) {
    return move_parts(from, b, offset, packed, is_write);
  }
  size_t plane = b->pitch[1] != 0 ? at / b->pitch[1] : 0;
  size_t in_plane = at - plane * b->pitch[1];
  const size_t origin[3] = {in_plane % b->pitch[0], in_plane / b->pitch[0], plane};
  const size_t host_origin[3] = {0, 0, 0};
  return !is_write
             ? RLO_CL(clEnqueueReadBufferRect, queue, from->buffer, CL_TRUE, origin, host_origin,
                      b->region, b->pitch[0], b->pitch[1], 0, 0, packed, 0, NULL, NULL)
             : RLO_CL(clEnqueueWriteBufferRect, queue, from->buffer, CL_TRUE, origin, host_origin,
                      b->region, b->pitch[0], b->pitch[1], 0, 0, packed, 0, NULL, NULL);
}

static rlo_status transfer(rlo_storage *storage, const rlo__lattice *lattice, char *packed,
                           bool is_write) {
  const buffer_storage *from = (const buffer_storage *)storage;
  RLO_TRY(rlo__context_check_process(from->place->context));
  box b = make_box(lattice);
  int64_t bytes = (int64_t)(b.region[0] * b.region[1] * b.region[2]);
  const char *end = packed + rlo__lattice_bytes(lattice);
  /* The dimensions that the box has not. */
  rlo__lattice boxes = *lattice;
  boxes.num_dims -= b.num_dims;
  rlo__run_walk walk = {.offset = lattice->base_byte};
  for (; packed < end; packed += bytes) {
    RLO_TRY(move_box(from, &b, walk.offset, packed, is_write));
    rlo__storage_count(storage, is_write, walk.offset, bytes, 0, 0);
    rlo__run_walk_step(&walk, &boxes);
  }
  return RLO_OK;
}

static void destroy(rlo_storage *storage) {
  buffer_storage *made = (buffer_storage *)storage;
  if (made->buffer != NULL && rlo__context_check_process(made->place->context) == RLO_OK) {
    clReleaseMemObject(made->buffer);
  }
  rlo__place_release(made->place);
  rlo__free(made);
}

static const rlo__storage_kind buffer_kind = {.transfer = transfer, .destroy = destroy};

/* ----------------------------------------------------------------- creation */

static rlo_status check_buffer(const rlo_context *context, cl_mem buffer, int64_t offset_bytes,
                               int64_t bytes, cl_mem_flags *out_flags) {
  cl_mem_object_type type = 0;
  cl_context owner = NULL;
  size_t size = 0;
  RLO_TRY(RLO_CL(clGetMemObjectInfo, buffer, CL_MEM_TYPE, sizeof type, &type, NULL));
  RLO_TRY(RLO_CL(clGetMemObjectInfo, buffer, CL_MEM_CONTEXT, sizeof owner, &owner, NULL));
  RLO_TRY(RLO_CL(clGetMemObjectInfo, buffer, CL_MEM_SIZE, sizeof size, &size, NULL));
  RLO_TRY(RLO_CL(clGetMemObjectInfo, buffer, CL_MEM_FLAGS, sizeof *out_flags, out_flags, NULL));
  RLO_FAIL_IF(type != CL_MEM_OBJECT_BUFFER, RLO_INVALID_ARGUMENT,
              "the memory object is of type 0x%x and not a buffer", (unsigned)type);
  RLO_FAIL_IF(owner != context->cl_context, RLO_INVALID_ARGUMENT,
              "the buffer is of another context");
  RLO_FAIL_IF((*out_flags & CL_MEM_HOST_NO_ACCESS) != 0, RLO_INVALID_ARGUMENT,
              "the buffer is CL_MEM_HOST_NO_ACCESS: its bytes go through the host");
  RLO_FAIL_IF((uint64_t)offset_bytes > size || (uint64_t)bytes > size - (size_t)offset_bytes,
              RLO_OUT_OF_RANGE,
              "%" PRId64 " bytes at byte %" PRId64 " do not lie in a buffer of %zu bytes", bytes,
              offset_bytes, size);
  return RLO_OK;
}

static rlo_status check_arguments(const rlo_context *context, cl_mem buffer, int64_t offset_bytes,
                                  int64_t bytes) {
  RLO_FAIL_IF(offset_bytes < 0 || bytes < 0, RLO_INVALID_ARGUMENT,
              "%" PRId64 " bytes at byte %" PRId64 " of a buffer; both have to be at least 0",
              bytes, offset_bytes);
  RLO_FAIL_IF(buffer == NULL && bytes > 0, RLO_INVALID_ARGUMENT,
              "'buffer' is NULL; %" PRId64 " bytes are needed", bytes);
  return rlo__context_check_process(context);
}

rlo_status rlo_storage_from_buffer(rlo_context *context, cl_mem buffer, int64_t offset_bytes,
                                   int64_t bytes, rlo_storage **out_storage) {
  RLO_REQUIRE(out_storage);
  *out_storage = NULL;
  RLO_REQUIRE(context);
  RLO_TRY(check_arguments(context, buffer, offset_bytes, bytes));
  cl_mem_flags flags = 0;
  if (buffer != NULL) {
    RLO_TRY(check_buffer(context, buffer, offset_bytes, bytes, &flags));
  }
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = bytes;
  traits.good_read_bytes = rlo__thresholds.service_buffer_good_bytes;
  traits.good_write_bytes = rlo__thresholds.service_buffer_good_bytes;
  traits.good_depth = GOOD_DEPTH;
  traits.is_read_only = (flags & CL_MEM_HOST_READ_ONLY) != 0;
  RLO_TRY(rlo__storage_read_traits(NULL, &traits));
  buffer_storage *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  rlo__storage_init(&made->storage, &buffer_kind, &traits);
  made->storage.is_write_only = (flags & CL_MEM_HOST_WRITE_ONLY) != 0;
  made->offset_bytes = offset_bytes;
  rlo_status status = rlo__place_create(context, NULL, false, &made->place);
  if (status == RLO_OK && buffer != NULL) {
    status = RLO_CL(clRetainMemObject, buffer);
  }
  if (status != RLO_OK) {
    rlo__place_release(made->place);
    rlo__free(made);
    return status;
  }
  made->buffer = buffer;
  *out_storage = &made->storage;
  return RLO_OK;
}
