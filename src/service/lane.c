/* SPDX-License-Identifier: Apache-2.0 */
#include "service/lane.h"

#include "base/alloc.h"
#include "base/status.h"

rlo_status rlo__lane_init(rlo__lane *lane, rlo_context *context, bool copies) {
  lane->copies = copies || rlo_context_device_info(context)->device_class !=
                               RLO_DEVICE_CLASS_CPU;
  return rlo__place_create(context, NULL, false, &lane->place);
}

void rlo__lane_deinit(rlo__lane *lane) {
  if (lane->place != NULL) {
    rlo__lane_trim(lane);
    rlo__place_release(lane->place);
  }
}

int64_t rlo__lane_buffer_bytes(const rlo__lane *lane) {
  return lane->src.bytes + lane->dst.bytes + lane->indices.bytes;
}

static void release_buffer(rlo__lane *lane, rlo__free_buffer *b) {
  rlo_buffer_release(lane->place->context, b->buffer);
  *b = (rlo__free_buffer){NULL, 0};
}

void rlo__lane_trim(rlo__lane *lane) {
  release_buffer(lane, &lane->src);
  release_buffer(lane, &lane->dst);
  release_buffer(lane, &lane->indices);
  lane->index_number = 0;
}

/* A memory of a side; NULL for 0 bytes. */
static rlo_status open_side(rlo__lane *lane,
                            rlo__free_buffer *b,
                            void *host,
                            int64_t bytes,
                            rlo__memory **out_memory) {
  if (bytes == 0) {
    return RLO_OK;
  }
  if (!lane->copies) {
    return rlo__memory_over_host(lane->place, host, bytes, out_memory);
  }
  if (bytes > b->bytes) {
    release_buffer(lane, b);
    RLO_TRY(rlo_buffer_create(lane->place->context, bytes, &b->buffer));
    b->bytes = bytes;
  }
  return rlo__memory_wrap(
      lane->place, b->buffer, 0, bytes, 1, NULL, out_memory);
}

static rlo_status open_indices(rlo__lane *lane,
                               const rlo__lane_piece *piece,
                               rlo__memory **out_memory) {
  /* Indices are only read. */
  void *host = (void *)(uintptr_t)piece->indices;
  RLO_TRY(
      open_side(lane, &lane->indices, host, piece->index_bytes, out_memory));
  if (lane->copies && piece->index_bytes > 0 &&
      piece->index_number != lane->index_number) {
    lane->index_number = 0;
    RLO_TRY(rlo__memory_write(*out_memory, host, piece->index_bytes));
    lane->index_number = piece->index_number;
  }
  return RLO_OK;
}

static rlo_status run(const rlo__lane *lane,
                      const rlo__move *move,
                      const rlo__lane_piece *piece,
                      rlo__memory *src,
                      rlo__memory *indices,
                      rlo__memory *dst) {
  void *const operands[] = {src, indices};
  if (lane->copies && src != NULL) {
    RLO_TRY(rlo__memory_write(src, piece->src, src->bytes));
  }
  if (piece->load_gaps != NULL) {
    RLO_TRY(piece->load_gaps(piece->payload));
    if (lane->copies) {
      RLO_TRY(rlo__memory_write(dst, piece->dst, dst->bytes));
    }
  }
  RLO_TRY(rlo__move_run(move, operands, dst));
  return lane->copies ? rlo__memory_read(dst, piece->dst, dst->bytes)
                      : rlo__memory_wait(dst);
}

rlo_status rlo__lane_run(rlo__lane *lane,
                         const rlo__move *move,
                         const rlo__lane_piece *piece) {
  rlo__memory *src = NULL;
  rlo__memory *indices = NULL;
  rlo__memory *dst = NULL;
  rlo_status status =
      open_side(lane, &lane->src, piece->src, piece->src_bytes, &src);
  if (status == RLO_OK) {
    status = open_side(lane, &lane->dst, piece->dst, piece->dst_bytes, &dst);
  }
  if (status == RLO_OK) {
    status = open_indices(lane, piece, &indices);
  }
  if (status == RLO_OK && dst != NULL) {
    status = run(lane, move, piece, src, indices, dst);
  }
  rlo__memory_free(dst);
  rlo__memory_free(indices);
  rlo__memory_free(src);
  return status;
}
