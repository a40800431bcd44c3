/* SPDX-License-Identifier: Apache-2.0 */
#include "io/proto_message.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/status.h"

static void *alloc_for_protobuf(void *allocator_data, size_t size_bytes) {
  bool *has_failed = allocator_data;
  void *memory = rlo__alloc(size_bytes);
  if (memory == NULL && has_failed != NULL) {
    *has_failed = true;
  }
  return memory;
}

static void free_for_protobuf(void *allocator_data, void *memory) {
  (void)allocator_data;
  rlo__free(memory);
}

static ProtobufCAllocator make_allocator(bool *has_failed) {
  return (ProtobufCAllocator){.alloc = alloc_for_protobuf,
                              .free = free_for_protobuf,
                              .allocator_data = has_failed};
}

static const ProtobufCMessageDescriptor *descriptor_of(rlo__proto_kind kind) {
  switch (kind) {
    case RLO__PROTO_TILE:
      return &relayout_wire__tile_proto__descriptor;
    case RLO__PROTO_SPLIT:
      return &relayout_wire__split_config_proto__descriptor;
    case RLO__PROTO_LAYOUT:
      return &relayout_wire__layout_proto__descriptor;
    case RLO__PROTO_SHAPE:
      return &relayout_wire__shape_proto__descriptor;
    default:
      return &relayout_wire__program_shape_proto__descriptor;
  }
}

void rlo_proto_origin_release(rlo_proto_origin *origin) {
  if (origin == NULL) {
    return;
  }
  ProtobufCAllocator allocator = make_allocator(NULL);
  protobuf_c_message_free_unpacked(origin->message, &allocator);
  rlo__free(origin);
}

rlo_status rlo__proto_unpack(const void *bytes,
                             size_t size_bytes,
                             rlo__proto_kind kind,
                             rlo_proto_origin **out_origin) {
  /* protobuf-c reads no byte of an empty message, but wants a pointer. */
  static const uint8_t nothing;

  *out_origin = NULL;
  RLO_TRY(rlo__proto_check(bytes, size_bytes, kind));
  rlo_proto_origin *origin = rlo__alloc(sizeof *origin);
  if (origin == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  bool has_failed = false;
  ProtobufCAllocator allocator = make_allocator(&has_failed);
  origin->kind = kind;
  origin->message =
      protobuf_c_message_unpack(descriptor_of(kind),
                                &allocator,
                                size_bytes,
                                size_bytes > 0 ? bytes : &nothing);
  if (origin->message == NULL) {
    rlo__free(origin);
    if (has_failed) {
      return RLO_OUT_OF_MEMORY;
    }
    return RLO_FAIL(RLO_INTERNAL,
                    "protobuf-c refused a message of %zu bytes that was found "
                    "good",
                    size_bytes);
  }
  *out_origin = origin;
  return RLO_OK;
}

rlo_status rlo__proto_pack(const ProtobufCMessage *message,
                           rlo__proto_kind kind,
                           void *buffer,
                           size_t capacity,
                           size_t *out_bytes) {
  *out_bytes = protobuf_c_message_get_packed_size(message);
  if (*out_bytes > RLO_PROTO_MAX_BYTES) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "a message of %zu bytes is beyond the limit of %d",
                    *out_bytes,
                    RLO_PROTO_MAX_BYTES);
  }
  if (*out_bytes > capacity) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "a message of %zu bytes does not fit the room for %zu",
                    *out_bytes,
                    capacity);
  }
  if (*out_bytes > 0) {
    protobuf_c_message_pack(message, buffer);
  }
  /* What is written can be read again: here, beyond the limits is beyond. */
  return rlo__proto_check(buffer, *out_bytes, kind);
}

enum { CHUNK_BYTES = 65536 };

struct rlo__proto_chunk {
  struct rlo__proto_chunk *next;
  size_t used_bytes;
  size_t capacity_bytes;
  /* What follows has this alignment. */
  max_align_t parts[];
};

void *rlo__proto_arena_take(rlo__proto_arena *arena,
                            size_t count,
                            size_t part_bytes) {
  /* Numbers of what is at hand already: no product of them overflows. */
  size_t align = sizeof(max_align_t);
  size_t bytes = (count * part_bytes + align - 1) / align * align;
  struct rlo__proto_chunk *chunk = arena->chunks;
  if (chunk == NULL || chunk->capacity_bytes - chunk->used_bytes < bytes) {
    size_t capacity_bytes = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    chunk = rlo__alloc(sizeof *chunk + capacity_bytes);
    if (chunk == NULL) {
      return NULL;
    }
    chunk->capacity_bytes = capacity_bytes;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
  }
  void *parts = (unsigned char *)chunk->parts + chunk->used_bytes;
  chunk->used_bytes += bytes;
  return parts;
}

void rlo__proto_arena_deinit(rlo__proto_arena *arena) {
  while (arena->chunks != NULL) {
    struct rlo__proto_chunk *chunk = arena->chunks;
    arena->chunks = chunk->next;
    rlo__free(chunk);
  }
}
