/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "support/suite.h"

static rlo__hash128 hash_words(const uint64_t *words, size_t count) {
  rlo__hash h = rlo__hash_init(1);
  for (size_t i = 0; i < count; ++i) {
    rlo__hash_u64(&h, words[i]);
  }
  return rlo__hash_finish(&h);
}

static rlo__hash128 hash_two_strings(const char *a, const char *b) {
  rlo__hash h = rlo__hash_init(1);
  rlo__hash_string(&h, a);
  rlo__hash_string(&h, b);
  return rlo__hash_finish(&h);
}

RLO_TEST(test_hash__is_the_same_everywhere) {
  /* Keys live in files, so a change of these numbers is a change of format. */
  rlo__hash h = rlo__hash_init(7);
  rlo__hash_i64(&h, -1);
  rlo__hash_string(&h, "transpose of a matrix");
  rlo__hash128 out = rlo__hash_finish(&h);
  ck_assert_msg(out.high == UINT64_C(0xda8692a5865c3763) && out.low == UINT64_C(0x31255e5aa1d3586c),
                "0x%016" PRIx64 " 0x%016" PRIx64, out.high, out.low);
}

RLO_TEST(test_hash__bytes_are_little_endian_words) {
  const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  rlo__hash a = rlo__hash_init(1);
  rlo__hash_bytes(&a, bytes, sizeof bytes);
  rlo__hash b = rlo__hash_init(1);
  rlo__hash_u64(&b, 10);
  rlo__hash_u64(&b, UINT64_C(0x0807060504030201));
  rlo__hash_u64(&b, 0x0a09);
  ck_assert(rlo__hash128_is_equal(rlo__hash_finish(&a), rlo__hash_finish(&b)));
}

RLO_TEST(test_hash__sees_order_number_seed_and_borders) {
  const uint64_t zeros[3] = {0, 0, 0};
  const uint64_t ab[2] = {1, 2};
  const uint64_t ba[2] = {2, 1};
  ck_assert(!rlo__hash128_is_equal(hash_words(ab, 2), hash_words(ba, 2)));
  for (size_t i = 0; i < 3; ++i) {
    ck_assert(!rlo__hash128_is_equal(hash_words(zeros, i), hash_words(zeros, i + 1)));
  }
  ck_assert(!rlo__hash128_is_equal(hash_two_strings("ab", "c"), hash_two_strings("a", "bc")));
  ck_assert(!rlo__hash128_is_equal(hash_two_strings("ab", ""), hash_two_strings("", "ab")));
  rlo__hash one = rlo__hash_init(1);
  rlo__hash two = rlo__hash_init(2);
  ck_assert(rlo__hash_finish_u64(&one) != rlo__hash_finish_u64(&two));
  rlo__hash nothing = rlo__hash_init(1);
  rlo__hash_bytes(&nothing, NULL, 0);
  ck_assert(rlo__hash_finish_u64(&one) != rlo__hash_finish_u64(&nothing));
}

RLO_TEST(test_hash__each_bit_moves_half_of_the_bits) {
  /* 3 words, each input bit flipped, averaged over some bases: every output
   * bit must flip in about half of the cases. 64 trials have a standard
   * deviation of 4, so 8..56 is six of them from the middle at 24576 checks.
   */
  enum { TRIALS = 64 };

  for (int bit = 0; bit < 192; ++bit) {
    int flips[128] = {0};
    for (uint64_t t = 0; t < TRIALS; ++t) {
      uint64_t words[3] = {t, t * 3, 0};
      rlo__hash128 a = hash_words(words, 3);
      words[bit / 64] ^= UINT64_C(1) << (bit % 64);
      rlo__hash128 b = hash_words(words, 3);
      for (int i = 0; i < 64; ++i) {
        flips[i] += (int)(((a.high ^ b.high) >> i) & 1);
        flips[64 + i] += (int)(((a.low ^ b.low) >> i) & 1);
      }
    }
    for (int i = 0; i < 128; ++i) {
      if (flips[i] < 8 || flips[i] > 56) {
        ck_abort_msg("input bit %d moves output bit %d in %d of %d", bit, i, flips[i], TRIALS);
      }
    }
  }
}

static int compare_u64(const void *a, const void *b) {
  const uint64_t *x = a;
  const uint64_t *y = b;
  return (*x > *y) - (*x < *y);
}

RLO_TEST(test_hash__small_shapes_do_not_collide) {
  enum { SIDE = 64, COUNT = SIDE * SIDE * SIDE };

  uint64_t *keys = malloc(sizeof *keys * COUNT);
  ck_assert_ptr_nonnull(keys);
  for (int i = 0; i < COUNT; ++i) {
    rlo__hash h = rlo__hash_init(0);
    rlo__hash_i64(&h, i % SIDE - SIDE / 2);
    rlo__hash_i64(&h, i / SIDE % SIDE);
    rlo__hash_i64(&h, i / SIDE / SIDE);
    keys[i] = rlo__hash_finish_u64(&h);
  }
  qsort(keys, COUNT, sizeof *keys, compare_u64);
  for (int i = 1; i < COUNT; ++i) {
    if (keys[i - 1] == keys[i]) {
      ck_abort_msg("two of %d shapes have one hash", COUNT);
    }
  }
  free(keys);
}
