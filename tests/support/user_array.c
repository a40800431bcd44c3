/* SPDX-License-Identifier: Apache-2.0 */
#include "support/user_array.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/shape_of.h"

enum { MIB = 1 << 20 };

static const struct {
  int64_t bytes;
  const char *dtype;
} widths[] = {{1, "u8"}, {2, "u16"}, {4, "f32"}, {8, "f64"}, {16, "c128"}};

int test_num_user_arrays(void) {
  return getenv("RELAYOUT_TEST_ALL") == NULL ? TEST_USER_ARRAYS : TEST_ALL_USER_ARRAYS;
}

static const char *dtype_of(int64_t bytes) {
  size_t n = 0;
  while (widths[n].bytes != bytes) {
    ++n;
  }
  return widths[n].dtype;
}

static void describe(const test_user_array *a, char *out, size_t capacity) {
  int at = snprintf(out, capacity, "%s[", dtype_of(a->element_bytes));
  for (int32_t k = 0; k < a->rank; ++k) {
    at += snprintf(out + at, capacity - (size_t)at, "%s%lld", k == 0 ? "" : ",",
                   (long long)a->dims[k]);
  }
  at += snprintf(out + at, capacity - (size_t)at, "] --perm ");
  for (int32_t k = 0; k < a->rank; ++k) {
    at += snprintf(out + at, capacity - (size_t)at, "%s%d", k == 0 ? "" : ",",
                   (int)a->permutation[k]);
  }
}

static void lower(test_user_array *a) {
  char text[2][160];
  for (int side = 0; side < 2; ++side) {
    int at = snprintf(text[side], sizeof *text, "%s[", dtype_of(a->element_bytes));
    for (int32_t k = 0; k < a->rank; ++k) {
      at += snprintf(text[side] + at, sizeof *text - (size_t)at, "%s%lld", k == 0 ? "" : ",",
                     (long long)a->dims[side == 0 ? k : a->permutation[k]]);
    }
    snprintf(text[side] + at, sizeof *text - (size_t)at, "]");
  }
  const rlo_shape src = test_shape_of(text[0]);
  const rlo_shape dst = test_shape_of(text[1]);
  expect_ok(rlo_relayout_lower(&src, &dst, a->permutation, &a->problem));
  a->total_bytes = a->problem.src_bytes;
}

void test_user_array_set(test_user_array *a, const char *dims, const char *permutation,
                         int64_t element_bytes) {
  *a = (test_user_array){.element_bytes = element_bytes};
  for (char *end; *dims != '\0'; dims = *end == ',' ? end + 1 : end) {
    a->dims[a->rank++] = strtoll(dims, &end, 10);
  }
  for (int32_t k = 0; k < a->rank; ++k) {
    a->permutation[k] = permutation[2 * k] - '0';
  }
  lower(a);
}

/** About 2^x, for x uniform in [0, 2^-8 * most]. */
static int64_t draw_size(test_random *random, int64_t most) {
  const int64_t x = test_random_in(random, 0, most);
  const int64_t low = INT64_C(1) << (x >> 8);
  return low + low * (x & 255) / 256 + test_random_in(random, 0, low / 256);
}

void test_user_array_draw(test_random *random, test_user_array *a) {
  const int64_t most_axis = (int64_t)22 << 8;
  int64_t bytes = 0;
  while (bytes < 4 * MIB || bytes > 40 * MIB) {
    *a = (test_user_array){.rank = (int32_t)test_random_in(random, 2, 4)};
    a->element_bytes = widths[test_random_in(random, 0, 4)].bytes;
    bytes = a->element_bytes;
    for (int32_t k = 0; k < a->rank; ++k) {
      a->dims[k] = draw_size(random, most_axis);
      bytes = bytes > 40 * MIB ? bytes : bytes * a->dims[k];
    }
  }
  for (int32_t k = 0; k < a->rank; ++k) {
    const int32_t other = (int32_t)test_random_in(random, 0, k);
    a->permutation[k] = a->permutation[other];
    a->permutation[other] = k;
  }
  lower(a);
}

/** 16 bytes for each element; narrower elements have the first of them. */
static void write_value(int64_t element, uint64_t out[2]) {
  out[0] = ((uint64_t)element + 1) * UINT64_C(0x9e3779b97f4a7c15);
  out[0] ^= out[0] >> 29;
  out[1] = ~out[0] + (uint64_t)element;
}

void test_user_array_fill(const test_user_array *a, uint8_t *src) {
  const int64_t count = a->total_bytes / a->element_bytes;
  for (int64_t element = 0; element < count; ++element) {
    uint64_t value[2];
    write_value(element, value);
    memcpy(src + element * a->element_bytes, value, (size_t)a->element_bytes);
  }
}

/* By lengths that the compiler knows: there are some 10^8 elements. */
static bool is_value(const uint8_t *at, const uint64_t value[2], int64_t bytes) {
  switch (bytes) {
    case 1:
      return memcmp(at, value, 1) == 0;
    case 2:
      return memcmp(at, value, 2) == 0;
    case 4:
      return memcmp(at, value, 4) == 0;
    case 8:
      return memcmp(at, value, 8) == 0;
    default:
      return memcmp(at, value, 16) == 0;
  }
}

void test_user_array_expect(const test_user_array *a, const uint8_t *dst, const char *who) {
  int64_t steps[4];
  int64_t index[4] = {0};
  int64_t element = 0;
  for (int32_t k = 0; k < a->rank; ++k) {
    steps[k] = 1;
    for (int32_t n = a->permutation[k] + 1; n < a->rank; ++n) {
      steps[k] *= a->dims[n];
    }
  }
  for (int64_t at = 0; at < a->total_bytes; at += a->element_bytes) {
    uint64_t value[2];
    write_value(element, value);
    if (!is_value(dst + at, value, a->element_bytes)) {
      char text[160];
      describe(a, text, sizeof text);
      ck_abort_msg("%s, %s: byte %lld is wrong", who, text, (long long)at);
    }
    for (int32_t k = a->rank - 1; k >= 0; --k) {
      element += steps[k];
      if (++index[k] < a->dims[a->permutation[k]]) {
        break;
      }
      element -= steps[k] * index[k];
      index[k] = 0;
    }
  }
}
