/* SPDX-License-Identifier: Apache-2.0 */
#include "host/packed.h"

#include <string.h>

#include "base/checked.h"
#include "host/cast.h"

/* Rows of conversions take and make a block of bytes that hold packed units. */
enum { BLOCK = RLO__HOST_CAST_BLOCK };

static const rlo__host_cast none;
static const float zeros[BLOCK];
static const rlo__host_numbers no_numbers = {zeros, 0};

static rlo__host_row_fn row_of(const rlo__host_kernels *kernels, int32_t bits, bool packs) {
  static const int rows[][2] = {[1] = {RLO__HOST_ROW_UNPACK_1, RLO__HOST_ROW_PACK_1},
                                [2] = {RLO__HOST_ROW_UNPACK_2, RLO__HOST_ROW_PACK_2},
                                [4] = {RLO__HOST_ROW_UNPACK_4, RLO__HOST_ROW_PACK_4}};
  return kernels->cast_rows[rows[bits][packs]];
}

void rlo__host_unpack(const rlo__host_kernels *kernels, int32_t bits, uint8_t *dst,
                      const uint8_t *packed, int64_t at, int64_t count) {
  const int64_t per_byte = 8 / bits;
  const rlo__host_row_fn row = row_of(kernels, bits, false);
  const uint8_t *src = packed + at / per_byte;
  const int64_t before = at % per_byte;
  if (before > 0) {
    const int64_t head = rlo__min(per_byte - before, count);
    for (int64_t k = 0; k < head; ++k) {
      dst[k] = (uint8_t)(*src >> ((before + k) * bits) & ((1 << bits) - 1));
    }
    src += 1;
    dst += head;
    count -= head;
  }
  const int64_t bytes = rlo__ceil_div(count, per_byte);
  uint8_t few[BLOCK] = {0};
  if (bytes < BLOCK) {
    src = memcpy(few, src, (size_t)bytes);
  }
  for (int64_t done = 0; done < bytes; done += BLOCK) {
    const int64_t first = rlo__max(rlo__min(done, bytes - BLOCK), 0);
    row(&none, dst + first * per_byte, src + first, BLOCK, no_numbers);
  }
}

/** Replaces a few units of a byte, from unit `at` of it on. */
static void set_units(uint8_t *byte, int32_t bits, int64_t at, const uint8_t *src, int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    const int64_t shift = (at + k) * bits;
    *byte = (uint8_t)((*byte & ~(((1 << bits) - 1) << shift)) | src[k] << shift);
  }
}

void rlo__host_pack(const rlo__host_kernels *kernels, int32_t bits, uint8_t *packed, int64_t at,
                    const uint8_t *src, int64_t count) {
  const int64_t per_byte = 8 / bits;
  const rlo__host_row_fn row = row_of(kernels, bits, true);
  uint8_t *dst = packed + at / per_byte;
  const int64_t before = at % per_byte;
  if (before > 0) {
    const int64_t head = rlo__min(per_byte - before, count);
    set_units(dst, bits, before, src, head);
    dst += 1;
    src += head;
    count -= head;
  }
  const int64_t bytes = count / per_byte;
  uint8_t few[BLOCK];
  uint8_t *to = bytes < BLOCK ? few : dst;
  for (int64_t done = 0; done < bytes; done += BLOCK) {
    const int64_t first = rlo__max(rlo__min(done, bytes - BLOCK), 0);
    row(&none, to + first, src + first * per_byte, BLOCK, no_numbers);
  }
  if (bytes < BLOCK) {
    memcpy(dst, few, (size_t)bytes);
  }
  set_units(dst + bytes, bits, 0, src + bytes * per_byte, count % per_byte);
}
