/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/threshold.h"
#include "host/cast.h"
#include "host/kernels.h"

/* Kernels in portable C, of vectors of 16 bytes, and the choice between them
 * and those of the processor. */

typedef struct vector {
  uint8_t bytes[16];
} vector;

static inline vector load(const uint8_t *p) {
  vector v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* The units of one half of a and b in turns; compilers make one instruction of
 * it where there is one. */
static inline vector interleave(vector a, vector b, int first, int unit) {
  vector out;
  for (int k = 0; k < 16; ++k) {
    int n = k / unit;
    const vector *from = n % 2 == 0 ? &a : &b;
    out.bytes[k] = from->bytes[first + n / 2 * unit + k % unit];
  }
  return out;
}

#define PASTE(a, b)        PASTE_VALUES(a, b)
#define PASTE_VALUES(a, b) a##b

#define ISA portable
#define TARGET
#define VECTOR                vector
#define LANES                 1
#define LOAD(src, rows, step) load((src) + (rows)[0])
#define STORE(p, v)           memcpy(p, (v).bytes, 16)
#define STREAM(p, v)          STORE(p, v)
#define LOW(a, b)             interleave(a, b, 0, UNIT)
#define HIGH(a, b)            interleave(a, b, 8, UNIT)
#include "host/kernels_body.h"

#define ISA portable
#define TARGET
#include "host/cast_body.h"

static void copy(uint8_t *dst, const uint8_t *src, size_t bytes) {
  memcpy(dst, src, bytes);
}

static void grains(uint8_t *dst, const int64_t *columns, const uint8_t *src, int64_t src_step,
                   int64_t num_columns, int64_t grain_bytes, const uint8_t *ahead) {
  (void)ahead;
  for (int64_t i = 0; i < num_columns; ++i) {
    memcpy(dst + columns[i], src + i * src_step, (size_t)grain_bytes);
  }
}

static void no_fence(void) {
}

#define GROUPS(kind) \
  { kind##_portable_1, kind##_portable_2, kind##_portable_4, kind##_portable_8, kind##_portable_16 }

static const rlo__host_kernels portable = {
    .vector_bytes = 16,
    .line_rows = GROUPS(line_rows),
    .line_rows_past_caches = GROUPS(line_rows_past_caches),
    .few_rows = GROUPS(few_rows),
    .copy_past_caches = copy,
    .grains_past_caches = grains,
    .cast_rows = rlo__host_rows_portable,
    .fence = no_fence,
};

/* ------------------------------------------------------ for all processors */

const rlo__host_kernels *rlo__host_kernels_get(void) {
  const int64_t bytes = rlo__thresholds.host_vector_bytes;
  const rlo__host_kernels *found = bytes < 16 ? NULL : rlo__host_kernels_x86(bytes);
  return found == NULL ? &portable : found;
}
