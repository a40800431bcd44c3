/* SPDX-License-Identifier: Apache-2.0 */

/* Digests: the walk through any layout, against an index at a time; and how well
 * elements are mixed. The formula itself is checked by tests/model. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/digest.h"
#include "relayout/index.h"
#include "relayout/status.h"
#include "support/random.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

RLO_TIMEOUT(120);

static rlo_digest digest_of(const rlo_shape *shape, const void *bytes) {
  rlo_shape_extent extent;
  rlo_digest d = RLO_DIGEST_INIT;
  ck_assert_int_eq(rlo_shape_measure(shape, &extent), RLO_OK);
  ck_assert_int_eq(rlo_digest_add(shape, 0, bytes, extent.physical_bytes, &d), RLO_OK);
  ck_assert_int_eq(rlo_digest_finish(shape, &d, &d), RLO_OK);
  return d;
}

static bool is_equal(rlo_digest a, rlo_digest b) {
  return a.high == b.high && a.low == b.low;
}

static void fill(test_random *random, uint8_t *bytes, int64_t count) {
  for (int64_t n = 0; n < count; ++n) {
    bytes[n] = (uint8_t)test_random_bits(random);
  }
}

/* Moves the value of each element, by its index, to row-major elements of the type's
 * own size: the other way to the same digest. */
static uint8_t *to_row_major(const rlo_shape *shape, const uint8_t *bytes, rlo_shape *out) {
  rlo_shape_extent from;
  rlo_shape_extent to;
  ck_assert_int_eq(rlo_shape_make(shape->dtype, shape->dims, shape->rank, out), RLO_OK);
  ck_assert_int_eq(rlo_shape_measure(shape, &from), RLO_OK);
  ck_assert_int_eq(rlo_shape_measure(out, &to), RLO_OK);
  uint8_t *copy = calloc((size_t)to.physical_bytes + 1, 1);
  int64_t index[RLO_MAX_RANK] = {0};
  for (int64_t n = 0; n < to.elements; ++n, rlo_index_bump(shape, index)) {
    const int64_t bit = test_slot_of(shape, index) * from.element_bits;
    const bool is_pred = shape->dtype == RLO_DTYPE_PRED;
    const int64_t bits = is_pred ? from.element_bits : rlo_dtype_value_bits(shape->dtype);
    for (int64_t b = 0; b < bits; ++b) {
      const int one = bytes[(bit + b) / 8] >> (bit + b) % 8 & 1;
      const int64_t at = n * to.element_bits + (is_pred ? 0 : b);
      copy[at / 8] = (uint8_t)(copy[at / 8] | one << at % 8);
    }
  }
  return copy;
}

static const rlo_dtype dtypes[] = {
    RLO_DTYPE_F32, RLO_DTYPE_BF16, RLO_DTYPE_U8, RLO_DTYPE_PRED,     RLO_DTYPE_F64,
    RLO_DTYPE_C64, RLO_DTYPE_C128, RLO_DTYPE_S4, RLO_DTYPE_F6E2M3FN, RLO_DTYPE_U1};

/* A random layout, half of them with an element size of their own. */
static rlo_shape random_case(test_random *random, rlo_dtype dtype, int64_t largest) {
  int64_t dims[5];
  const int32_t rank = (int32_t)test_random_in(random, 0, 5);
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = test_random_once_in(random, 40) ? 0 : test_random_in(random, 1, largest);
  }
  rlo_shape shape = test_random_shape(random, dtype, dims, rank, TEST_ALL | TEST_BROADCAST);
  if (test_random_once_in(random, 2)) {
    shape.layout.element_size_bits = test_random_in(random, rlo_dtype_value_bits(dtype), 128);
  }
  return shape;
}

/* The digest of parts that are added in an order of their own. */
static rlo_digest by_parts(test_random *random, const rlo_shape *shape, const uint8_t *bytes) {
  rlo_shape_extent extent;
  ck_assert_int_eq(rlo_shape_measure(shape, &extent), RLO_OK);
  /* Elements begin between bytes there. */
  const int64_t granule =
      extent.element_bits % 8 == 0 ? extent.element_bits / 8 : extent.element_bits;
  rlo_digest sums[2] = {RLO_DIGEST_INIT, RLO_DIGEST_INIT};
  for (int64_t at = extent.physical_bytes; at > 0;) {
    int64_t begin = (at - 1) / granule * granule;
    begin -= test_random_in(random, 0, begin / granule) * granule;
    ck_assert_int_eq(rlo_digest_add(shape, begin, bytes + begin, at - begin,
                                    &sums[test_random_in(random, 0, 1)]),
                     RLO_OK);
    at = begin;
  }
  rlo_digest_join(&sums[0], &sums[1]);
  ck_assert_int_eq(rlo_digest_finish(shape, &sums[0], &sums[1]), RLO_OK);
  return sums[1];
}

RLO_TABLE_TEST(test_digest__no_layout_changes_it, dtypes) {
  test_random random = test_random_begin("test_digest");
  for (int round = 0; round < 300; ++round) {
    /* Small, and now and then of many windows. */
    const rlo_shape shape = random_case(&random, dtypes[_i], round % 50 == 0 ? 12 : 5);
    rlo_shape_extent extent;
    ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_OK);
    uint8_t *bytes = malloc((size_t)extent.physical_bytes + 1);
    fill(&random, bytes, extent.physical_bytes);
    rlo_shape plain;
    uint8_t *copy = to_row_major(&shape, bytes, &plain);
    const rlo_digest expected = digest_of(&plain, copy);
    ck_assert_msg(is_equal(digest_of(&shape, bytes), expected), "%s", test_text_of(&shape));
    ck_assert_msg(is_equal(by_parts(&random, &shape, bytes), expected), "parts of %s",
                  test_text_of(&shape));
    free(bytes);
    free(copy);
  }
}

static const char *const large[] = {
    "f32[300,260]{0,1}",
    "f32[300,260]{1,0:T(8,128)}",
    "bf16[300,260]{1,0:T(8,128)(2,1)}",
    "bf16[9,5,6,7,11]{0,4,2,3,1}",
    "f32[300,260]{1,0:pad(301,263)}",
    "s4[200000]{0:E(4)}",
    "u8[100,300]{1,0:T(*,16)}",
    "u8[100,300]{1,0}",
    "pred[100,300]{0,1}",
    "pred[100,300]{1,0:E(16)}",
    "c128[100,300]{0,1:T(8,16)}",
    "f32[300,260]{1,0:E(96)}",
    "f6e2m3fn[20000]{0:E(6)}",
};

/* Several windows in all of these. */
RLO_TABLE_TEST(test_digest__long_runs_are_as_short_ones, large) {
  test_random random = test_random_begin("test_digest");
  const rlo_shape shape = test_shape_of(large[_i]);
  rlo_shape_extent extent;
  ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_OK);
  uint8_t *bytes = malloc((size_t)extent.physical_bytes);
  fill(&random, bytes, extent.physical_bytes);
  rlo_shape plain;
  uint8_t *copy = to_row_major(&shape, bytes, &plain);
  ck_assert(is_equal(digest_of(&shape, bytes), digest_of(&plain, copy)));
  ck_assert(is_equal(by_parts(&random, &shape, bytes), digest_of(&plain, copy)));
  copy[20000 / 2] = copy[20000 / 2] == 0;
  ck_assert(!is_equal(digest_of(&shape, bytes), digest_of(&plain, copy)));
  free(bytes);
  free(copy);
}

RLO_TEST(test_digest__type_and_dimensions_count) {
  static const char *const texts[] = {"f32[4,2]", "f32[2,4]", "f32[8]",   "f32[8,1]",
                                      "f32[1,8]", "s32[4,2]", "u32[4,2]", "f32[2,2,2]"};

  enum { COUNT = sizeof(texts) / sizeof(texts[0]) };

  static const float zeros[8];
  rlo_digest digests[COUNT];
  for (int n = 0; n < COUNT; ++n) {
    const rlo_shape shape = test_shape_of(texts[n]);
    digests[n] = digest_of(&shape, zeros);
    for (int other = 0; other < n; ++other) {
      ck_assert_msg(!is_equal(digests[n], digests[other]), "%s %s", texts[n], texts[other]);
    }
  }
}

RLO_TEST(test_digest__refuses_what_is_no_part) {
  const rlo_shape shape = test_shape_of("f32[20]");
  const float data[20] = {0};
  rlo_digest sum = RLO_DIGEST_INIT;
  static const int64_t parts[][2] = {{2, 32}, {0, 38},  {64, 32},       {-32, 32},
                                     {96, 0}, {32, -4}, {0, INT64_MAX}, {INT64_MIN, 32}};
  for (size_t n = 0; n < sizeof(parts) / sizeof(parts[0]); ++n) {
    ck_assert_int_eq(rlo_digest_add(&shape, parts[n][0], data, parts[n][1], &sum),
                     RLO_OUT_OF_RANGE);
  }
  ck_assert_int_eq(rlo_digest_add(&shape, 0, data, 38, &sum), RLO_OUT_OF_RANGE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "38 bytes from byte 0 are no part of the array's 80: one begins, and ends "
                   "unless the array does, between elements of 32 bits");
  ck_assert(sum.high == 0 && sum.low == 0);
  ck_assert_int_eq(rlo_digest_add(&shape, 4, data, 76, &sum), RLO_OK);
  rlo_shape bad = shape;
  bad.dims[0] = -1;
  ck_assert_int_ne(rlo_digest_finish(&bad, &sum, &sum), RLO_OK);
}

/* ------------------------------------------------------------------- mixing */

/* Sums, of which type and dimensions are not a part: what finishes them would mix once
 * more, and hide what is not mixed well. */
static rlo_digest sum_of(const rlo_shape *shape, int64_t offset, const void *bytes,
                         int64_t num_bytes) {
  rlo_digest sum = RLO_DIGEST_INIT;
  ck_assert_int_eq(rlo_digest_add(shape, offset, bytes, num_bytes, &sum), RLO_OK);
  return sum;
}

/* Sums of which no two may be equal. */
typedef struct digests {
  rlo_digest *list;
  size_t count, capacity;
} digests;

static void keep(digests *d, rlo_digest digest) {
  if (d->count == d->capacity) {
    d->capacity = 2 * d->capacity + 1024;
    d->list = realloc(d->list, d->capacity * sizeof(*d->list));
  }
  d->list[d->count++] = digest;
}

static int compare_digests(const void *left, const void *right) {
  const rlo_digest *a = left;
  const rlo_digest *b = right;
  const int high = (a->high > b->high) - (a->high < b->high);
  return high != 0 ? high : (a->low > b->low) - (a->low < b->low);
}

static int compare_words(const void *left, const void *right) {
  const uint32_t a = *(const uint32_t *)left;
  const uint32_t b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

/* 32 bits of a digest, by one of several ways that keep to themselves. */
static uint32_t cut(rlo_digest d, int way) {
  const uint64_t parts[] = {
      d.low,        d.low >> 32,    d.high,         d.high >> 32,          d.low >> 16,
      d.high >> 16, d.low ^ d.high, d.low - d.high, d.low + (d.low >> 32), (d.high >> 32) - d.low};
  return (uint32_t)parts[way];
}

/* All are distinct, and as many pairs as of random numbers are equal in any 32 of
 * their bits: within 6 times the deviation. */
static void expect_random(digests *d) {
  enum { WAYS = 10 };

  uint32_t *words = malloc(d->count * sizeof(*words));
  const double n = (double)d->count;
  const double expected = n * (n - 1) / 2 / 4294967296.0;
  for (int way = 0; way < WAYS; ++way) {
    double equal = 0;
    size_t run = 0;
    for (size_t k = 0; k < d->count; ++k) {
      words[k] = cut(d->list[k], way);
    }
    qsort(words, d->count, sizeof(*words), compare_words);
    for (size_t k = 1; k < d->count; ++k) {
      run = words[k] == words[k - 1] ? run + 1 : 0;
      equal += (double)run;
    }
    ck_assert_msg(
        equal <= expected + 6 * sqrt(expected) + 3 && equal >= expected - 6 * sqrt(expected) - 3,
        "%zu digests, way %d: %.0f pairs are equal, not %.1f", d->count, way, equal, expected);
  }
  qsort(d->list, d->count, sizeof(*d->list), compare_digests);
  for (size_t k = 1; k < d->count; ++k) {
    ck_assert(!is_equal(d->list[k], d->list[k - 1]));
  }
  free(words);
  free(d->list);
}

/* Small arrays with a structure, of 12 numbers each. */
enum { SMALL = 12 };

static const struct {
  const char *name;
  uint32_t factor, plus;
} arrays[] = {{"zeros", 0, 0},
              {"ones", 0, 0x3f800000},
              {"iota", 1, 0},
              {"iota of a byte", 256, 0},
              {"the largest", 0, UINT32_MAX},
              {"high bits", 1U << 27, 0}};

static void make_array(int n, uint32_t *out) {
  for (uint32_t k = 0; k < SMALL; ++k) {
    out[k] = arrays[n].factor * k + arrays[n].plus;
  }
}

/* Every element becomes each of 4096 others in turn: each bit changes, and values
 * near it. */
RLO_TABLE_TEST(test_digest__a_changed_element_shows, arrays) {
  const rlo_shape shape = test_shape_of("u32[12]");
  digests d = {0};
  uint32_t array[SMALL];
  make_array(_i, array);
  keep(&d, sum_of(&shape, 0, array, sizeof(array)));
  for (int k = 0; k < SMALL; ++k) {
    const uint32_t kept = array[k];
    for (uint32_t x = 1; x <= 4096; ++x) {
      array[k] = kept ^ x;
      keep(&d, sum_of(&shape, 0, array, sizeof(array)));
    }
    for (int bit = 13; bit < 32; ++bit) {
      array[k] = kept ^ 1U << bit;
      keep(&d, sum_of(&shape, 0, array, sizeof(array)));
    }
    array[k] = kept;
  }
  expect_random(&d);
}

/* All orders of 8 of these numbers. */
RLO_TEST(test_digest__an_order_shows) {
  const rlo_shape shape = test_shape_of("u32[8]");
  uint32_t array[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int turns[8] = {0};
  digests d = {0};
  keep(&d, sum_of(&shape, 0, array, sizeof(array)));
  /* Heap's algorithm. */
  for (int k = 1; k < 8;) {
    if (turns[k] < k) {
      const int other = k % 2 == 0 ? 0 : turns[k];
      const uint32_t kept = array[k];
      array[k] = array[other];
      array[other] = kept;
      keep(&d, sum_of(&shape, 0, array, sizeof(array)));
      ++turns[k];
      k = 1;
    } else {
      turns[k++] = 0;
    }
  }
  ck_assert_uint_eq(d.count, 40320);
  expect_random(&d);
}

/* A sparse array: one or two elements that are not 0, anywhere, and shifts of a short
 * pattern. */
RLO_TEST(test_digest__a_place_shows) {
  const rlo_shape shape = test_shape_of("u32[256]");
  static const uint32_t values[] = {1, 2, 0x80000000, 0x3f800000};
  uint32_t array[256] = {0};
  digests d = {0};
  keep(&d, sum_of(&shape, 0, array, sizeof(array)));
  for (int a = 0; a < 256; ++a) {
    for (int n = 0; n < 4; ++n) {
      array[a] = values[n];
      keep(&d, sum_of(&shape, 0, array, sizeof(array)));
      for (int b = 0; n == 0 && b < a; ++b) {
        array[b] = 1;
        keep(&d, sum_of(&shape, 0, array, sizeof(array)));
        array[b] = 0;
      }
    }
    array[a] = 0;
  }
  for (int shift = 0; shift < 250; ++shift) {
    memcpy(array + shift, (const uint32_t[]){0, 3, 1, 4, 1, 5}, 24);
    keep(&d, sum_of(&shape, 0, array, sizeof(array)));
  }
  expect_random(&d);
}

/* Random pairs that differ in a few elements, as many as RELAYOUT_TEST_ALL asks for: the
 * difference of the two digests looks random. */
RLO_TEST(test_digest__pairs_differ_by_what_looks_random) {
  const int64_t pairs = getenv("RELAYOUT_TEST_ALL") != NULL ? 1000000 : 20000;
  test_random random = test_random_begin("test_digest");
  const rlo_shape shape = test_shape_of("f32[4,16]{0,1}");
  uint32_t array[64];
  digests d = {0};
  for (int64_t n = 0; n < pairs; ++n) {
    for (int k = 0; k < 64; ++k) {
      array[k] = (uint32_t)(n % 2 == 0 ? test_random_bits(&random) : 0);
    }
    rlo_digest a = RLO_DIGEST_INIT;
    rlo_digest b = RLO_DIGEST_INIT;
    ck_assert_int_eq(rlo_digest_add(&shape, 0, array, sizeof(array), &a), RLO_OK);
    for (int64_t changes = test_random_in(&random, 1, 3); changes > 0; --changes) {
      array[test_random_in(&random, 0, 63)] ^= (uint32_t)test_random_bits(&random) | 1;
    }
    ck_assert_int_eq(rlo_digest_add(&shape, 0, array, sizeof(array), &b), RLO_OK);
    keep(&d, (rlo_digest){b.high - a.high - (uint64_t)(b.low < a.low), b.low - a.low});
  }
  expect_random(&d);
}

/* Each bit of an element, and of its place, changes each bit of the sum half of the
 * time: 4000 times each, within 6 times the deviation. Of eight elements of an array
 * that is far larger than memory one is not 0. */
static void expect_flips(bool is_place) {
  enum { ROUNDS = 4000, BITS = 40 };

  static int flips[BITS][128];
  test_random random = test_random_begin("test_digest");
  const rlo_shape shape = test_shape_of("u64[1099511627776]");
  memset(flips, 0, sizeof(flips));
  for (int round = 0; round < ROUNDS; ++round) {
    /* Half of the time of few bits, as numbers are. */
    uint64_t array[8] = {round % 2 == 0 ? test_random_bits(&random) : (uint64_t)round};
    const int64_t place = round % 4 < 2 ? round : test_random_in(&random, 0, 1000000000);
    const rlo_digest before = sum_of(&shape, 64 * place, array, 64);
    for (int bit = 0; bit < BITS; ++bit) {
      const int64_t other = is_place && bit < 37 ? place ^ INT64_C(1) << bit : place;
      array[0] ^= other == place ? UINT64_C(1) << bit * 63 / (BITS - 1) : 0;
      const rlo_digest after = sum_of(&shape, 64 * other, array, 64);
      array[0] ^= other == place ? UINT64_C(1) << bit * 63 / (BITS - 1) : 0;
      for (int out = 0; out < 128; ++out) {
        const uint64_t changed = out < 64 ? before.low ^ after.low : before.high ^ after.high;
        flips[bit][out] += (int)(changed >> out % 64 & 1);
      }
    }
  }
  for (int bit = 0; bit < BITS; ++bit) {
    for (int out = 0; out < 128; ++out) {
      ck_assert_msg(abs(flips[bit][out] - ROUNDS / 2) < 6 * 32, "bit %d, bit %d: %d", bit, out,
                    flips[bit][out]);
    }
  }
}

RLO_TEST(test_digest__each_bit_of_an_element_changes_half_of_them) {
  expect_flips(false);
}

RLO_TEST(test_digest__each_bit_of_a_place_changes_half_of_them) {
  expect_flips(true);
}
