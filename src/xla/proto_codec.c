/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/proto_codec.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/threshold.h"

/* Forms of fields on the wire. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* Bytes of 64 bits, and of the tag of a field and of a length. */
enum { MAX_VARINT_BYTES = 10, MAX_SHORT_VARINT_BYTES = 5 };

static const rlo__field_row *find_field(const rlo__proto_kind *kind, uint64_t number) {
  for (size_t k = 0; k < kind->num_fields; ++k) {
    if (kind->fields[k].number == number) {
      return &kind->fields[k];
    }
  }
  return NULL;
}

static bool is_number(const rlo__field_row *field) {
  return field->type != RLO__TYPE_MESSAGE && field->type != RLO__TYPE_STRING;
}

/* ------------------------------------------------------------------- memory */

enum { LEAST_CHUNK_BYTES = 1024 };

struct rlo__proto_chunk {
  struct rlo__proto_chunk *next;
  size_t used_bytes;
  size_t capacity_bytes;
  /* The memory that is given out, with this alignment. */
  max_align_t parts[];
};

void *rlo__proto_take(rlo__proto_arena *arena, size_t count, size_t part_bytes) {
  /* Counts of objects that exist in memory: their product does not overflow. */
  size_t align = sizeof(max_align_t);
  size_t bytes = (count * part_bytes + align - 1) / align * align;
  struct rlo__proto_chunk *chunk = arena->chunks;
  if (chunk == NULL || chunk->capacity_bytes - chunk->used_bytes < bytes) {
    size_t capacity_bytes =
        chunk == NULL ? LEAST_CHUNK_BYTES : (size_t)rlo__thresholds.xla_proto_chunk_bytes;
    capacity_bytes = bytes > capacity_bytes ? bytes : capacity_bytes;
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

rlo__proto_message *rlo__proto_new(rlo__proto_arena *arena, const rlo__proto_kind *kind,
                                   const rlo__proto_message *origin) {
  rlo__proto_message *message = rlo__proto_take(arena, 1, kind->message_bytes);
  if (message != NULL) {
    if (origin != NULL) {
      *message = *origin;
    }
    message->kind = kind;
    message->origin = origin;
  }
  return message;
}

static uint64_t load_number(const rlo__field_row *field, const char *place) {
  int64_t number = 0;
  memcpy(&number, place, field->bytes);
  return (uint64_t)(field->type == RLO__TYPE_INT32 ? (int32_t)number : number);
}

const char *rlo__proto_values(const rlo__field_row *field, const rlo__proto_message *message,
                              size_t *out_count) {
  const char *bytes = (const char *)message;
  const char *place = bytes + field->offset;
  const char *list;
  if (!field->is_repeated) {
    *out_count = load_number(field, place) != 0;
    return place;
  }
  memcpy(out_count, bytes + field->count_offset, sizeof *out_count);
  memcpy(&list, place, sizeof list);
  return list;
}

void rlo_proto_origin_release(rlo_proto_origin *origin) {
  if (origin != NULL) {
    rlo__proto_arena_deinit(&origin->arena);
    rlo__free(origin);
  }
}

/* A place behind the last element of a list of pointers or numbers; NULL as
 * rlo__alloc. Lists are full at 0, 1, 2, 4, ... elements. */
static void *append(rlo__proto_arena *arena, void *list_place, size_t *count, size_t part_bytes) {
  char *list;
  memcpy(&list, list_place, sizeof list);
  if ((*count & (*count - 1)) == 0) {
    char *longer = rlo__proto_take(arena, *count == 0 ? 1 : 2 * *count, part_bytes);
    if (longer == NULL) {
      return NULL;
    }
    if (*count > 0) {
      memcpy(longer, list, *count * part_bytes);
    }
    list = longer;
    memcpy(list_place, &list, sizeof list);
  }
  return list + (*count)++ * part_bytes;
}

/* ------------------------------------------------------------------ reading */

/* A range of the bytes; positions count from the first of all. */
typedef struct reader {
  const uint8_t *bytes;
  size_t at;
  size_t end;
  int32_t depth;
  int64_t num_fields;
  rlo__proto_arena *arena;
} reader;

static rlo_status fail_cut_off(size_t position, const char *what) {
  return RLO_FAIL(RLO_DATA_LOSS, "byte %zu: the message ends inside %s", position, what);
}

/* A number of seven bits a byte, lowest first; no byte but the last has its
 * top bit clear. */
static rlo_status read_varint(reader *r, const char *what, uint64_t *out) {
  size_t start = r->at;
  uint64_t value = 0;
  for (int count = 0; count < MAX_VARINT_BYTES; ++count) {
    if (r->at == r->end) {
      return fail_cut_off(start, what);
    }
    uint8_t byte = r->bytes[r->at++];
    if (count == MAX_VARINT_BYTES - 1 && byte > 1) {
      break;
    }
    value |= (uint64_t)(byte & 0x7f) << (7 * count);
    if (byte < 0x80) {
      *out = value;
      return RLO_OK;
    }
  }
  return RLO_FAIL(RLO_PARSE, "byte %zu: %s is longer than 64 bits", start, what);
}

/* The length of what follows. */
static rlo_status read_length(reader *r, size_t *out_length) {
  size_t start = r->at;
  uint64_t length = 0;
  RLO_TRY(read_varint(r, "a length", &length));
  RLO_FAIL_IF(r->at - start > MAX_SHORT_VARINT_BYTES, RLO_PARSE,
              "byte %zu: a length takes more than 5 bytes", start);
  RLO_FAIL_IF(length > r->end - r->at, RLO_DATA_LOSS,
              "byte %zu: %" PRIu64 " bytes are promised, %zu are there", start, length,
              r->end - r->at);
  *out_length = (size_t)length;
  return RLO_OK;
}

static rlo_status read_tag(reader *r, const rlo__proto_kind *kind, uint64_t *out_tag) {
  size_t start = r->at;
  uint64_t tag = 0;
  RLO_TRY(read_varint(r, "the number of a field", &tag));
  RLO_FAIL_IF(r->at - start > MAX_SHORT_VARINT_BYTES || tag > UINT32_MAX || tag >> 3 == 0,
              RLO_PARSE, "byte %zu: %s has no field number %" PRIu64, start, kind->name, tag >> 3);
  RLO_FAIL_IF(++r->num_fields > RLO_PROTO_MAX_FIELDS, RLO_UNSUPPORTED,
              "byte %zu: the message has more than %d fields", start, RLO_PROTO_MAX_FIELDS);
  *out_tag = tag;
  return RLO_OK;
}

/* A field that is not listed, and begins at `start`. */
static rlo_status read_unknown(reader *r, size_t start, uint64_t tag, rlo__proto_message *message) {
  const size_t at = r->at;
  uint64_t number = 0;
  size_t length = 0;
  switch (tag & 7) {
    case WIRE_VARINT:
      RLO_TRY(read_varint(r, "a number", &number));
      break;
    case WIRE_FIXED64:
    case WIRE_FIXED32:
      length = (tag & 7) == WIRE_FIXED64 ? 8 : 4;
      break;
    case WIRE_BYTES:
      RLO_TRY(read_length(r, &length));
      break;
    default:
      return RLO_FAIL(RLO_PARSE,
                      "byte %zu: field %" PRIu64 " is of the wire type %" PRIu64
                      ", which is none of shapes",
                      at, tag >> 3, tag & 7);
  }
  if (r->end - r->at < length) {
    return fail_cut_off(at, "a number");
  }
  r->at += length;
  rlo__proto_unknown *unknown =
      append(r->arena, &message->unknown, &message->n_unknown, sizeof *unknown);
  uint8_t *copy = rlo__proto_take(r->arena, 1, r->at - start);
  if (unknown == NULL || copy == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(copy, r->bytes + start, r->at - start);
  *unknown = (rlo__proto_unknown){copy, r->at - start};
  return RLO_OK;
}

/* The place of a field's next value. A field that is there once has one. */
static void *next_place(reader *r, const rlo__field_row *field, void *message) {
  char *bytes = message;
  void *count = bytes + field->count_offset;
  return field->is_repeated ? append(r->arena, bytes + field->offset, count, field->bytes)
                            : bytes + field->offset;
}

static rlo_status read_number(reader *r, const rlo__field_row *field, void *message) {
  size_t start = r->at;
  uint64_t value = 0;
  RLO_TRY(read_varint(r, "a number", &value));
  /* protobuf sign-extends numbers of 32 bits to 64. */
  const int64_t number = field->type == RLO__TYPE_BOOL ? value != 0 : (int64_t)value;
  RLO_FAIL_IF(field->type == RLO__TYPE_INT32 && (int32_t)number != number, RLO_PARSE,
              "byte %zu: the number %" PRId64 " does not fit 32 bits with a sign", start, number);
  void *place = next_place(r, field, message);
  RLO_TRY_MEMORY(place);
  /* The low bytes come first. */
  memcpy(place, &number, field->bytes);
  return RLO_OK;
}

/* The message that takes all of the range. RLO_PROTO_MAX_DEPTH bounds the
 * recursion. */
static rlo_status read_message(reader *r, rlo__proto_message *message);

/* A string or a message, which takes all of the range. */
static rlo_status read_part(reader *r, const rlo__field_row *field, void *message) {
  const bool is_string = field->type == RLO__TYPE_STRING;
  const uint8_t *bytes = r->bytes + r->at;
  const size_t length = r->end - r->at;
  RLO_FAIL_IF(is_string && memchr(bytes, '\0', length) != NULL, RLO_PARSE,
              "byte %zu: a name contains a NUL", r->at);
  void *part = is_string ? rlo__proto_take(r->arena, 1, length + 1)
                         : (void *)rlo__proto_new(r->arena, field->kind, NULL);
  void *place = next_place(r, field, message);
  if (part == NULL || place == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(place, &part, sizeof part);
  if (!is_string) {
    return read_message(r, part);
  }
  memcpy(part, bytes, length);
  r->at = r->end;
  return RLO_OK;
}

/* protobuf would merge messages of one field, numbers left out in the second
 * keeping the values of the first. */
static rlo_status check_single(size_t start, const rlo__field_row *field,
                               const rlo__proto_message *message) {
  size_t count = 0;
  (void)rlo__proto_values(field, message, &count);
  RLO_FAIL_IF(field->type == RLO__TYPE_MESSAGE && !field->is_repeated && count > 0, RLO_UNSUPPORTED,
              "byte %zu: field %" PRIu32 " of %s is there twice, and would have to be merged",
              start, field->number, message->kind->name);
  return RLO_OK;
}

/* A known field that begins at `start`; its tag has been read. Repeated numbers
 * stand alone or together. */
static rlo_status read_known(reader *r, size_t start, const rlo__field_row *field, int wire,
                             rlo__proto_message *message) {
  RLO_TRY(check_single(start, field, message));
  if (is_number(field) && wire == WIRE_VARINT) {
    return read_number(r, field, message);
  }
  RLO_FAIL_IF(wire != WIRE_BYTES || (is_number(field) && !field->is_repeated), RLO_PARSE,
              "byte %zu: field %" PRIu32 " of %s cannot be of wire type %d", start, field->number,
              message->kind->name, wire);
  size_t length = 0;
  RLO_TRY(read_length(r, &length));
  size_t outer_end = r->end;
  r->end = r->at + length;
  if (!is_number(field)) {
    RLO_TRY(read_part(r, field, message));
  }
  while (r->at < r->end) {
    RLO_TRY(read_number(r, field, message));
  }
  r->end = outer_end;
  return RLO_OK;
}

static rlo_status read_message(reader *r, rlo__proto_message *message) {
  RLO_FAIL_IF(r->depth == RLO_PROTO_MAX_DEPTH, RLO_UNSUPPORTED,
              "byte %zu: more than %d messages lie in each other", r->at, RLO_PROTO_MAX_DEPTH);
  ++r->depth;
  while (r->at < r->end) {
    size_t start = r->at;
    uint64_t tag = 0;
    RLO_TRY(read_tag(r, message->kind, &tag));
    const rlo__field_row *field = find_field(message->kind, tag >> 3);
    RLO_TRY(field == NULL ? read_unknown(r, start, tag, message)
                          : read_known(r, start, field, (int)(tag & 7), message));
  }
  --r->depth;
  return RLO_OK;
}

static rlo_status check_size(size_t size_bytes) {
  RLO_FAIL_IF(size_bytes > RLO_PROTO_MAX_BYTES, RLO_UNSUPPORTED,
              "a message of %zu bytes is beyond the limit of %d", size_bytes, RLO_PROTO_MAX_BYTES);
  return RLO_OK;
}

rlo_status rlo__proto_unpack(const void *bytes, size_t size_bytes, const rlo__proto_kind *kind,
                             rlo_proto_origin **out_origin) {
  RLO_TRY(check_size(size_bytes));
  rlo_proto_origin *origin = rlo__alloc(sizeof *origin);
  RLO_TRY_MEMORY(origin);
  *out_origin = origin;
  /* An empty message may have no address. */
  reader r = {.bytes = bytes != NULL ? bytes : (const void *)"",
              .end = size_bytes,
              .arena = &origin->arena};
  origin->message = rlo__proto_new(&origin->arena, kind, NULL);
  return origin->message == NULL ? RLO_OUT_OF_MEMORY : read_message(&r, origin->message);
}

/* ------------------------------------------------------------------ writing */

/* Writes from the last byte to the first, so that what stands behind a length
 * is there before it. `end` is NULL for who only counts. */
typedef struct writer {
  uint8_t *end;
  size_t length;
} writer;

static void put(writer *w, const void *bytes, size_t count) {
  w->length += count;
  if (w->end != NULL && count > 0) {
    memcpy(w->end - w->length, bytes, count);
  }
}

static void put_varint(writer *w, uint64_t value) {
  uint8_t bytes[MAX_VARINT_BYTES];
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) {
    bytes[count++] = (uint8_t)(value | 0x80);
  }
  bytes[count++] = (uint8_t)value;
  put(w, bytes, count);
}

/* Puts a head before what was written since the length was `before`. */
static void put_head(writer *w, const rlo__field_row *field, size_t before) {
  put_varint(w, w->length - before);
  put_varint(w, (uint64_t)field->number << 3 | WIRE_BYTES);
}

static void put_message(writer *w, const rlo__proto_message *message);

static void put_field(writer *w, const rlo__field_row *field, const rlo__proto_message *message) {
  size_t count = 0;
  const char *values = rlo__proto_values(field, message, &count);
  const size_t behind = w->length;
  for (size_t k = count; k-- > 0;) {
    const char *value = values + k * field->bytes;
    const size_t before = w->length;
    if (is_number(field)) {
      put_varint(w, load_number(field, value));
      continue;
    }
    const void *part;
    memcpy(&part, value, sizeof part);
    if (field->type == RLO__TYPE_STRING) {
      put(w, part, strlen(part));
    } else {
      put_message(w, part);
    }
    put_head(w, field, before);
  }
  if (is_number(field) && field->is_repeated && count > 0) {
    put_head(w, field, behind);
  } else if (is_number(field) && count > 0) {
    put_varint(w, (uint64_t)field->number << 3 | WIRE_VARINT);
  }
}

static void put_message(writer *w, const rlo__proto_message *message) {
  for (size_t k = message->n_unknown; k-- > 0;) {
    put(w, message->unknown[k].bytes, message->unknown[k].num_bytes);
  }
  for (size_t k = message->kind->num_fields; k-- > 0;) {
    put_field(w, &message->kind->fields[k], message);
  }
}

rlo_status rlo__proto_pack(const rlo__proto_message *message, void *buffer, size_t capacity,
                           size_t *out_bytes) {
  writer counter = {NULL, 0};
  put_message(&counter, message);
  *out_bytes = counter.length;
  RLO_TRY(check_size(*out_bytes));
  RLO_FAIL_IF(*out_bytes > capacity, RLO_OUT_OF_RANGE,
              "a message of %zu bytes does not fit the room for %zu", *out_bytes, capacity);
  if (*out_bytes > 0) {
    writer w = {(uint8_t *)buffer + *out_bytes, 0};
    put_message(&w, message);
  }
  /* A message that is written can be read again, so the reader's limits hold
   * here. */
  rlo_proto_origin *again = NULL;
  rlo_status status = rlo__proto_unpack(buffer, *out_bytes, message->kind, &again);
  rlo_proto_origin_release(again);
  return status;
}
