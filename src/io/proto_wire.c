/* SPDX-License-Identifier: Apache-2.0 */
#include "io/proto_wire.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"

/* Forms of fields on the wire. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

typedef enum field_form {
  /* One number, or a number that fits 32 bits. */
  FORM_NUMBER = 1,
  FORM_NUMBER32,
  /* Numbers, each by itself or all together. */
  FORM_NUMBERS,
  FORM_NUMBERS32,
  /* A message, or any number of them. */
  FORM_MESSAGE,
  FORM_MESSAGES,
  FORM_STRING
} field_form;

typedef struct field_rule {
  uint32_t number;
  field_form form;
  /* Of a message. */
  rlo__proto_kind kind;
} field_rule;

enum { MOST_RULES = 17 };

/* shape.proto again: a row ends at the first field without a number. */
static const struct {
  const char *name;
  field_rule fields[MOST_RULES];
} messages[RLO__PROTO_NUM_KINDS] = {
    [RLO__PROTO_TILE] = {"TileProto", {{1, FORM_NUMBERS, 0}}},
    [RLO__PROTO_SPLIT] = {"SplitConfigProto",
                          {{1, FORM_NUMBER, 0}, {2, FORM_NUMBERS, 0}}},
    [RLO__PROTO_LAYOUT] = {"LayoutProto",
                           {{1, FORM_NUMBERS, 0},
                            {2, FORM_NUMBERS, 0},
                            {3, FORM_NUMBER32, 0},
                            {4, FORM_NUMBER32, 0},
                            {5, FORM_NUMBER, 0},
                            {6, FORM_MESSAGES, RLO__PROTO_TILE},
                            {7, FORM_NUMBER, 0},
                            {8, FORM_NUMBER, 0},
                            {9, FORM_NUMBERS32, 0},
                            {10, FORM_MESSAGE, RLO__PROTO_SHAPE},
                            {11, FORM_NUMBER32, 0},
                            {12, FORM_NUMBER32, 0},
                            {13, FORM_NUMBERS, 0},
                            {14, FORM_NUMBERS, 0},
                            {15, FORM_NUMBER, 0},
                            {16, FORM_NUMBER, 0},
                            {17, FORM_MESSAGES, RLO__PROTO_SPLIT}}},
    [RLO__PROTO_SHAPE] = {"ShapeProto",
                          {{2, FORM_NUMBER32, 0},
                           {3, FORM_NUMBERS, 0},
                           {4, FORM_MESSAGES, RLO__PROTO_SHAPE},
                           {5, FORM_MESSAGE, RLO__PROTO_LAYOUT},
                           {6, FORM_NUMBERS, 0}}},
    [RLO__PROTO_PROGRAM] = {"ProgramShapeProto",
                            {{1, FORM_MESSAGES, RLO__PROTO_SHAPE},
                             {2, FORM_MESSAGE, RLO__PROTO_SHAPE},
                             {3, FORM_STRING, 0}}},
};

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
  enum { MOST_BYTES = 10 };

  size_t start = s->at;
  uint64_t value = 0;
  for (int count = 0; count < MOST_BYTES; ++count) {
    if (s->at == s->end) {
      return fail_cut_off(start, what);
    }
    uint8_t byte = s->bytes[s->at++];
    if (count == MOST_BYTES - 1 && byte > 1) {
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

/* As protobuf writes them: the sign goes up to bit 63. */
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
  enum { MOST_BYTES = 5 };

  size_t start = s->at;
  uint64_t length = 0;
  RLO_TRY(scan_varint(s, "a length", &length));
  if (s->at - start > MOST_BYTES) {
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

static const field_rule *find_rule(rlo__proto_kind kind, uint32_t number) {
  for (int i = 0; i < MOST_RULES; ++i) {
    const field_rule *rule = &messages[kind].fields[i];
    if (rule->number == number) {
      return rule;
    }
  }
  return NULL;
}

static rlo_status scan_tag(scanner *s,
                           rlo__proto_kind kind,
                           uint32_t *out_number,
                           int *out_wire) {
  enum { MOST_BYTES = 5 };

  size_t start = s->at;
  uint64_t tag = 0;
  RLO_TRY(scan_varint(s, "the number of a field", &tag));
  uint64_t number = tag >> 3;
  if (s->at - start > MOST_BYTES || tag > UINT32_MAX || number == 0) {
    return RLO_FAIL(RLO_PARSE,
                    "byte %zu: %s has no field number %" PRIu64,
                    start,
                    messages[kind].name,
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

/* Whether a field may have this wire type. */
static bool fits_wire(field_form form, int wire) {
  switch (form) {
    case FORM_NUMBER:
    case FORM_NUMBER32:
      return wire == WIRE_VARINT;
    case FORM_NUMBERS:
    case FORM_NUMBERS32:
      return wire == WIRE_VARINT || wire == WIRE_BYTES;
    default:
      return wire == WIRE_BYTES;
  }
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
 * keeping what the first says; protobuf-c makes zeros of them. */
static rlo_status check_single(size_t position,
                               rlo__proto_kind kind,
                               const field_rule *rule,
                               uint32_t *seen) {
  uint32_t bit = UINT32_C(1) << rule->number;
  if (rule->form == FORM_MESSAGE && (*seen & bit) != 0) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "byte %zu: field %" PRIu32
                    " of %s is there twice, and would have to be merged",
                    position,
                    rule->number,
                    messages[kind].name);
  }
  *seen |= bit;
  return RLO_OK;
}

/* A field of a known number that begins at `start`; its tag has been read. */
static rlo_status scan_known(scanner *s,
                             size_t start,
                             rlo__proto_kind kind,
                             const field_rule *rule,
                             int wire);

/* The message that takes all of the range. RLO_PROTO_MAX_DEPTH bounds the
 * recursion. */
static rlo_status scan_message(scanner *s, rlo__proto_kind kind) {
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
    const field_rule *rule = find_rule(kind, number);
    if (rule == NULL) {
      RLO_TRY(scan_unknown(s, number, wire));
    } else {
      RLO_TRY(check_single(start, kind, rule, &seen));
      RLO_TRY(scan_known(s, start, kind, rule, wire));
    }
  }
  --s->depth;
  return RLO_OK;
}

static rlo_status scan_known(scanner *s,
                             size_t start,
                             rlo__proto_kind kind,
                             const field_rule *rule,
                             int wire) {
  if (!fits_wire(rule->form, wire)) {
    return RLO_FAIL(RLO_PARSE,
                    "byte %zu: field %" PRIu32
                    " of %s cannot be of wire type %d",
                    start,
                    rule->number,
                    messages[kind].name,
                    wire);
  }
  bool is_32 = rule->form == FORM_NUMBER32 || rule->form == FORM_NUMBERS32;
  if (wire == WIRE_VARINT) {
    return scan_number(s, is_32);
  }
  size_t length = 0;
  RLO_TRY(scan_length(s, &length));
  if (rule->form == FORM_STRING) {
    return scan_string(s, length);
  }
  size_t outer_end = s->end;
  s->end = s->at + length;
  if (rule->form == FORM_MESSAGE || rule->form == FORM_MESSAGES) {
    RLO_TRY(scan_message(s, rule->kind));
  } else {
    RLO_TRY(scan_numbers(s, is_32));
  }
  s->end = outer_end;
  return RLO_OK;
}

rlo_status rlo__proto_check(const uint8_t *bytes,
                            size_t size_bytes,
                            rlo__proto_kind kind) {
  if (bytes == NULL && size_bytes > 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %zu bytes of the message are NULL",
                    size_bytes);
  }
  if (size_bytes > RLO_PROTO_MAX_BYTES) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "a message of %zu bytes is beyond the limit of %d",
                    size_bytes,
                    RLO_PROTO_MAX_BYTES);
  }
  scanner s = {.bytes = bytes, .end = size_bytes};
  return scan_message(&s, kind);
}
