/* SPDX-License-Identifier: Apache-2.0 */
#include "value_check.h"

#include <inttypes.h>

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

/* Returns whether an element that begins at a bit is a value of its type. */
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

/* A slot has bits above the value: an error if it holds an element. */
static rlo_status report(const rlo__checked_values *values,
                         const rlo_address_map *map,
                         const element *e,
                         int64_t slot) {
  int64_t index[RLO_MAX_RANK] = {0};
  bool is_element = true;
  if (rlo_address_map_element(map, slot, index, &is_element) == RLO_OK &&
      !is_element) {
    return RLO_OK;
  }
  return rlo_error_set(RLO_OUT_OF_RANGE,
                       "slot %" PRId64
                       " of %s is no %s: it has bits above the lowest %d",
                       slot,
                       values->path,
                       rlo_dtype_name(values->shape->dtype),
                       (int)e->value_bits);
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
    status = report(values, &map, &e, slot);
    if (status != RLO_OK) {
      return status;
    }
  }
  return RLO_OK;
}
