/* SPDX-License-Identifier: Apache-2.0 */
#include "value_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "relayout/index.h"
#include "relayout/xla/shape_util.h"

bool rlo__values_may_be_cut(const rlo_shape *src, const rlo_shape *dst) {
  int64_t bits = rlo_shape_element_size_bits(src);
  return src->dtype == dst->dtype && src->dtype != RLO_DTYPE_PRED &&
         bits != rlo_shape_element_size_bits(dst) &&
         bits > rlo_dtype_value_bits(src->dtype);
}

int64_t rlo__values_granule_bytes(const rlo_shape *shape) {
  int64_t bits = rlo_shape_element_size_bits(shape);
  int64_t bytes = 1;
  while (bytes * 8 % bits != 0) {
    ++bytes;
  }
  return bytes;
}

static bool bit_at(const unsigned char *bytes, int64_t bit) {
  return (bytes[bit / 8] >> (bit % 8) & 1) != 0;
}

/* The sizes of an element. */
typedef struct element {
  int64_t bits;
  int32_t value_bits;
  bool is_signed;
  bool has_sign;
} element;

/* Whether an element that begins at a bit is a value of its type. */
static bool is_value(const element *e,
                     const unsigned char *bytes,
                     int64_t first_bit) {
  bool sign = e->is_signed && bit_at(bytes, first_bit + e->value_bits - 1);
  bool has_one = false;
  bool has_zero = false;
  for (int64_t b = e->value_bits; b < e->bits; ++b) {
    bool bit = bit_at(bytes, first_bit + b);
    has_one = has_one || bit;
    has_zero = has_zero || !bit;
  }
  bool is_zero_allowed = !sign || !e->has_sign;
  return (!has_one && is_zero_allowed) || (!has_zero && sign);
}

/* Writes "-97", or "0x17" of what is no integer of at most 64 bits. */
static void write_element(const element *e,
                          bool is_integer,
                          const unsigned char *bytes,
                          int64_t first_bit,
                          char *out_text,
                          size_t capacity) {
  if (!is_integer || e->bits > 64) {
    size_t length = (size_t)snprintf(out_text, capacity, "0x");
    bool has_digit = false;
    for (int64_t digit = (e->bits + 3) / 4 - 1; digit >= 0; --digit) {
      unsigned value = 0;
      for (int64_t b = 3; b >= 0; --b) {
        int64_t at = 4 * digit + b;
        value = 2 * value + (at < e->bits && bit_at(bytes, first_bit + at));
      }
      has_digit = has_digit || value != 0;
      if ((has_digit || digit == 0) && length < capacity) {
        length +=
            (size_t)snprintf(out_text + length, capacity - length, "%x", value);
      }
    }
    return;
  }
  uint64_t value = 0;
  for (int64_t b = 0; b < 64; ++b) {
    /* The sign of the whole element goes on to the left. */
    int64_t at = b < e->bits ? b : e->is_signed ? e->bits - 1 : -1;
    value |= (uint64_t)(at >= 0 && bit_at(bytes, first_bit + at)) << b;
  }
  if (e->is_signed) {
    snprintf(out_text, capacity, "%" PRId64, (int64_t)value);
  } else {
    snprintf(out_text, capacity, "%" PRIu64, value);
  }
}

/* Writes "s4 holds -8 to 7", or "f4e2m1fn has 4 bits". */
static void write_type(const element *e,
                       rlo_dtype dtype,
                       char *out_text,
                       size_t capacity) {
  const char *name = rlo_dtype_name(dtype);
  if (!rlo_dtype_is_integral(dtype) || e->value_bits > 32) {
    snprintf(out_text, capacity, "%s has %d bits", name, e->value_bits);
    return;
  }
  int64_t count = INT64_C(1) << e->value_bits;
  int64_t lowest = e->is_signed ? -count / 2 : 0;
  snprintf(out_text,
           capacity,
           "%s holds %" PRId64 " to %" PRId64,
           name,
           lowest,
           lowest + count - 1);
}

/* Writes "1,2"; the slot, if it belongs to several elements. */
static void write_place(const rlo_shape *shape,
                        const int64_t *index,
                        bool is_known,
                        int64_t slot,
                        char *out_text,
                        size_t capacity) {
  if (!is_known || shape->rank == 0) {
    size_t written = (size_t)snprintf(out_text, capacity, "the element");
    if (!is_known && written < capacity) {
      snprintf(
          out_text + written, capacity - written, " in slot %" PRId64, slot);
    }
    return;
  }
  size_t length = (size_t)snprintf(out_text, capacity, "element ");
  for (int32_t k = 0; k < shape->rank && length < capacity; ++k) {
    length += (size_t)snprintf(out_text + length,
                               capacity - length,
                               "%s%" PRId64,
                               k == 0 ? "" : ",",
                               index[k]);
  }
}

/* A slot has bits above the value: an error if it holds an element. */
static rlo_status report(const rlo__checked_values *values,
                         const rlo_address_map *map,
                         const element *e,
                         int64_t slot,
                         const unsigned char *bytes,
                         int64_t first_bit) {
  const rlo_shape *shape = values->shape;
  int64_t index[RLO_MAX_RANK] = {0};
  bool is_element = true;
  bool is_known =
      rlo_address_map_element(map, slot, index, &is_element) == RLO_OK;
  if (is_known && !is_element) {
    return RLO_OK;
  }
  char place[RLO_MAX_RANK * 20 + 32];
  char value[64];
  char type[64];
  write_place(shape, index, is_known, slot, place, sizeof(place));
  write_element(e,
                rlo_dtype_is_integral(shape->dtype),
                bytes,
                first_bit,
                value,
                sizeof(value));
  write_type(e, shape->dtype, type, sizeof(type));
  return rlo_error_set(
      RLO_OUT_OF_RANGE, "%s of %s is %s; %s", place, values->path, value, type);
}

rlo_status rlo__values_check(const rlo__checked_values *values,
                             int64_t offset_bytes,
                             const unsigned char *bytes,
                             size_t num_bytes) {
  const rlo_shape *shape = values->shape;
  const element e = {
      rlo_shape_element_size_bits(shape),
      rlo_dtype_value_bits(shape->dtype),
      rlo_dtype_is_signed(shape->dtype) && rlo_dtype_is_integral(shape->dtype),
      values->has_signs};
  rlo_address_map map;
  rlo_status status = rlo_address_map_make(shape, &map);
  if (status != RLO_OK) {
    return status;
  }
  /* Most elements of this kind are bytes. */
  bool is_byte_value[256];
  for (int b = 0; b < 256; ++b) {
    const unsigned char byte = (unsigned char)b;
    is_byte_value[b] = e.bits == 8 && is_value(&e, &byte, 0);
  }
  int64_t begin = offset_bytes * 8;
  int64_t end = begin + (int64_t)num_bytes * 8;
  int64_t slot = (begin + e.bits - 1) / e.bits;
  for (; slot < map.slots && (slot + 1) * e.bits <= end; ++slot) {
    int64_t bit = slot * e.bits - begin;
    if (is_byte_value[bytes[bit / 8]] || is_value(&e, bytes, bit)) {
      continue;
    }
    status = report(values, &map, &e, slot, bytes, bit);
    if (status != RLO_OK) {
      return status;
    }
  }
  return RLO_OK;
}
