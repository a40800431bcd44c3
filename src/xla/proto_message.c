/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/proto_message.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "base/threshold.h"

/* Forms of fields on the wire. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* A range of the bytes; positions count from the first of all. */
typedef struct scanner {
  const uint8_t *bytes;
  size_t at;
  size_t end;
  int32_t depth;
  int64_t num_fields;
} scanner;

static rlo_status fail_cut_off(size_t position, const char *what) {
  return RLO_FAIL(
      RLO_DATA_LOSS, "byte %zu: the message ends inside %s", position, what);
}

/* A number of seven bits a byte, lowest first; no byte but the last has its
 * top bit clear. */
static rlo_status scan_varint(scanner *s, const char *what, uint64_t *out) {
  enum { MAX_BYTES = 10 };

  size_t start = s->at;
  uint64_t value = 0;
  for (int count = 0; count < MAX_BYTES; ++count) {
    if (s->at == s->end) {
      return fail_cut_off(start, what);
    }
    uint8_t byte = s->bytes[s->at++];
    if (count == MAX_BYTES - 1 && byte > 1) {
      break;
    }
    value |= (uint64_t)(byte & 0x7f) << (7 * count);
    if (byte < 0x80) {
      *out = value;
      return RLO_OK;
    }
  }
  return RLO_FAIL(
      RLO_PARSE, "byte %zu: %s is longer than 64 bits", start, what);
}

/* protobuf sign-extends them to 64 bits. */
static rlo_status check_number32(size_t position, uint64_t value) {
  int64_t number = (int64_t)value;
  if (number < INT32_MIN || number > INT32_MAX) {
    return RLO_FAIL(RLO_PARSE,
                    "byte %zu: the number %" PRId64
                    " does not fit 32 bits with a sign",
                    position,
                    number);
  }
  return RLO_OK;
}

static rlo_status scan_number(scanner *s, bool is_32) {
  size_t start = s->at;
  uint64_t value = 0;
  RLO_TRY(scan_varint(s, "a number", &value));
  return is_32 ? check_number32(start, value) : RLO_OK;
}

static rlo_status scan_fixed(scanner *s, size_t size_bytes) {
  if (s->end - s->at < size_bytes) {
    return fail_cut_off(s->at, "a number");
  }
  s->at += size_bytes;
  return RLO_OK;
}

/* The length of what follows. protobuf-c looks at no more than 5 bytes of it,
 * so it may not be written longer than it is. */
static rlo_status scan_length(scanner *s, size_t *out_length) {
  enum { MAX_BYTES = 5 };

  size_t start = s->at;
  uint64_t length = 0;
  RLO_TRY(scan_varint(s, "a length", &length));
  if (s->at - start > MAX_BYTES) {
    return RLO_FAIL(
        RLO_PARSE, "byte %zu: a length takes more than 5 bytes", start);
  }
  if (length > s->end - s->at) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "byte %zu: %" PRIu64 " bytes are promised, %zu are there",
                    start,
                    length,
                    s->end - s->at);
  }
  *out_length = (size_t)length;
  return RLO_OK;
}

static bool is_number(const ProtobufCFieldDescriptor *field) {
  return field->type != PROTOBUF_C_TYPE_MESSAGE &&
         field->type != PROTOBUF_C_TYPE_STRING;
}

/* Whether its numbers must fit 32 bits. */
static bool is_number32(const ProtobufCFieldDescriptor *field) {
  return field->type == PROTOBUF_C_TYPE_INT32 ||
         field->type == PROTOBUF_C_TYPE_ENUM;
}

static rlo_status scan_tag(scanner *s,
                           const ProtobufCMessageDescriptor *kind,
                           uint32_t *out_number,
                           int *out_wire) {
  enum { MAX_BYTES = 5 };

  size_t start = s->at;
  uint64_t tag = 0;
  RLO_TRY(scan_varint(s, "the number of a field", &tag));
  uint64_t number = tag >> 3;
  if (s->at - start > MAX_BYTES || tag > UINT32_MAX || number == 0) {
    return RLO_FAIL(RLO_PARSE,
                    "byte %zu: %s has no field number %" PRIu64,
                    start,
                    kind->short_name,
                    number);
  }
  if (++s->num_fields > RLO_PROTO_MAX_FIELDS) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "byte %zu: the message has more than %d fields",
                    start,
                    RLO_PROTO_MAX_FIELDS);
  }
  *out_number = (uint32_t)number;
  *out_wire = (int)(tag & 7);
  return RLO_OK;
}

static rlo_status scan_unknown(scanner *s, uint32_t number, int wire) {
  size_t length = 0;
  switch (wire) {
    case WIRE_VARINT:
      return scan_number(s, false);
    case WIRE_FIXED64:
      return scan_fixed(s, 8);
    case WIRE_FIXED32:
      return scan_fixed(s, 4);
    case WIRE_BYTES:
      RLO_TRY(scan_length(s, &length));
      s->at += length;
      return RLO_OK;
    default:
      return RLO_FAIL(RLO_PARSE,
                      "byte %zu: field %" PRIu32
                      " is of the wire type %d, which is none of shapes",
                      s->at,
                      number,
                      wire);
  }
}

/* Whether a field may have this wire type: repeated numbers stand alone or
 * together. */
static bool fits_wire(const ProtobufCFieldDescriptor *field, int wire) {
  if (!is_number(field)) {
    return wire == WIRE_BYTES;
  }
  return wire == WIRE_VARINT ||
         (wire == WIRE_BYTES && field->label == PROTOBUF_C_LABEL_REPEATED);
}

/* Numbers up to the end of the range. */
static rlo_status scan_numbers(scanner *s, bool is_32) {
  while (s->at < s->end) {
    RLO_TRY(scan_number(s, is_32));
  }
  return RLO_OK;
}

/* protobuf-c gives strings that end at the first NUL. */
static rlo_status scan_string(scanner *s, size_t length) {
  if (length > 0 && memchr(s->bytes + s->at, '\0', length) != NULL) {
    return RLO_FAIL(RLO_PARSE, "byte %zu: a name contains a NUL", s->at);
  }
  s->at += length;
  return RLO_OK;
}

/* protobuf would merge messages of one field, numbers left out in the second
 * keeping the values of the first; protobuf-c sets them to 0. */
static rlo_status check_single(size_t position,
                               const ProtobufCMessageDescriptor *kind,
                               const ProtobufCFieldDescriptor *field,
                               uint32_t *seen) {
  uint32_t bit = UINT32_C(1) << field->id;
  if (field->type == PROTOBUF_C_TYPE_MESSAGE &&
      field->label != PROTOBUF_C_LABEL_REPEATED && (*seen & bit) != 0) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "byte %zu: field %" PRIu32
                    " of %s is there twice, and would have to be merged",
                    position,
                    field->id,
                    kind->short_name);
  }
  *seen |= bit;
  return RLO_OK;
}

/* A field of a known number that begins at `start`; its tag has been read. */
static rlo_status scan_known(scanner *s,
                             size_t start,
                             const ProtobufCMessageDescriptor *kind,
                             const ProtobufCFieldDescriptor *field,
                             int wire);

/* The message that takes all of the range. RLO_PROTO_MAX_DEPTH bounds the
 * recursion. */
static rlo_status scan_message(scanner *s,
                               const ProtobufCMessageDescriptor *kind) {
  if (s->depth == RLO_PROTO_MAX_DEPTH) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "byte %zu: more than %d messages lie in each other",
                    s->at,
                    RLO_PROTO_MAX_DEPTH);
  }
  ++s->depth;
  uint32_t seen = 0;
  while (s->at < s->end) {
    size_t start = s->at;
    uint32_t number = 0;
    int wire = 0;
    RLO_TRY(scan_tag(s, kind, &number, &wire));
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(kind, number);
    if (field == NULL) {
      RLO_TRY(scan_unknown(s, number, wire));
    } else {
      RLO_TRY(check_single(start, kind, field, &seen));
      RLO_TRY(scan_known(s, start, kind, field, wire));
    }
  }
  --s->depth;
  return RLO_OK;
}

static rlo_status scan_known(scanner *s,
                             size_t start,
                             const ProtobufCMessageDescriptor *kind,
                             const ProtobufCFieldDescriptor *field,
                             int wire) {
  if (!fits_wire(field, wire)) {
    return RLO_FAIL(RLO_PARSE,
                    "byte %zu: field %" PRIu32
                    " of %s cannot be of wire type %d",
                    start,
                    field->id,
                    kind->short_name,
                    wire);
  }
  bool is_32 = is_number32(field);
  if (wire == WIRE_VARINT) {
    return scan_number(s, is_32);
  }
  size_t length = 0;
  RLO_TRY(scan_length(s, &length));
  if (field->type == PROTOBUF_C_TYPE_STRING) {
    return scan_string(s, length);
  }
  size_t outer_end = s->end;
  s->end = s->at + length;
  if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
    RLO_TRY(scan_message(s, field->descriptor));
  } else {
    RLO_TRY(scan_numbers(s, is_32));
  }
  s->end = outer_end;
  return RLO_OK;
}

/*
 * Checks a message before protobuf-c reads it. protobuf-c recurses without a
 * limit, allocates what a length promises, wraps numbers that are too long, and
 * reports no reason. The fields and their types are those of its descriptors.
 */
static rlo_status check(const uint8_t *bytes,
                        size_t size_bytes,
                        const ProtobufCMessageDescriptor *kind) {
  if (size_bytes > RLO_PROTO_MAX_BYTES) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "a message of %zu bytes is beyond the limit of %d",
                    size_bytes,
                    RLO_PROTO_MAX_BYTES);
  }
  scanner s = {.bytes = bytes, .end = size_bytes};
  return scan_message(&s, kind);
}

static void *alloc_for_protobuf(void *allocator_data, size_t size_bytes) {
  bool *has_failed = allocator_data;
  void *memory = rlo__alloc(size_bytes);
  if (memory == NULL) {
    *has_failed = true;
  }
  return memory;
}

static void free_for_protobuf(void *allocator_data, void *memory) {
  (void)allocator_data;
  rlo__free(memory);
}

/* `has_failed` may be NULL for what only frees. */
static ProtobufCAllocator make_allocator(bool *has_failed) {
  return (ProtobufCAllocator){.alloc = alloc_for_protobuf,
                              .free = free_for_protobuf,
                              .allocator_data = has_failed};
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
                             const ProtobufCMessageDescriptor *kind,
                             rlo_proto_origin **out_origin) {
  /* protobuf-c reads no byte of an empty message, but wants a pointer. */
  static const uint8_t nothing;

  *out_origin = NULL;
  RLO_TRY(check(bytes, size_bytes, kind));
  rlo_proto_origin *origin = rlo__alloc(sizeof *origin);
  if (origin == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  bool has_failed = false;
  ProtobufCAllocator allocator = make_allocator(&has_failed);
  origin->message = protobuf_c_message_unpack(
      kind, &allocator, size_bytes, size_bytes > 0 ? bytes : &nothing);
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

rlo_status rlo__proto_options_read(const rlo_proto_options *options,
                                   const ProtobufCMessageDescriptor *kind,
                                   rlo_proto_options *out_options) {
  *out_options = (rlo_proto_options)RLO_PROTO_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("proto options",
                            "RLO_PROTO_OPTIONS_INIT",
                            options,
                            out_options,
                            sizeof *out_options));
  const rlo_proto_origin *origin = out_options->origin;
  if (origin != NULL && origin->message->descriptor != kind) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the origin is a message of another kind: %s",
                    origin->message->descriptor->short_name);
  }
  return RLO_OK;
}

void rlo__proto_take_unknown(ProtobufCMessage *message,
                             const ProtobufCMessage *origin) {
  if (origin != NULL) {
    message->n_unknown_fields = origin->n_unknown_fields;
    message->unknown_fields = origin->unknown_fields;
  }
}

rlo_status rlo__proto_pack(const ProtobufCMessage *message,
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
  return check(buffer, *out_bytes, message->descriptor);
}

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
  /* Counts of objects that exist in memory: their product does not overflow. */
  size_t align = sizeof(max_align_t);
  size_t bytes = (count * part_bytes + align - 1) / align * align;
  struct rlo__proto_chunk *chunk = arena->chunks;
  if (chunk == NULL || chunk->capacity_bytes - chunk->used_bytes < bytes) {
    size_t capacity_bytes =
        rlo__max_size(bytes, (size_t)rlo__thresholds.io_proto_chunk_bytes);
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
