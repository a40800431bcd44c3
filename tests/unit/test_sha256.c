/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static void digest_of(const void *bytes, size_t count, char *out_text) {
  rlo__sha256 hash = rlo__sha256_init();
  uint8_t digest[RLO__SHA256_BYTES];
  rlo__sha256_update(&hash, bytes, count);
  rlo__sha256_finish(&hash, digest);
  rlo__sha256_print(digest, out_text);
}

/* The examples of the standard, and the empty text. */
RLO_TEST(test_sha256__knows_the_vectors_of_the_standard) {
  char text[2 * RLO__SHA256_BYTES + 1];
  digest_of(NULL, 0, text);
  ck_assert_str_eq(
      text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  digest_of("abc", 3, text);
  ck_assert_str_eq(
      text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const char *two_blocks =
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  digest_of(two_blocks, strlen(two_blocks), text);
  ck_assert_str_eq(
      text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");

  enum { MILLION = 1000000 };

  char *many = malloc(MILLION);
  ck_assert_ptr_nonnull(many);
  memset(many, 'a', MILLION);
  digest_of(many, MILLION, text);
  free(many);
  ck_assert_str_eq(
      text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every length around the ends of a block, in every two pieces. */
RLO_TEST(test_sha256__does_not_mind_in_how_many_pieces_bytes_come) {
  enum { MOST = 130 };

  uint8_t bytes[MOST];
  for (size_t i = 0; i < MOST; ++i) {
    bytes[i] = (uint8_t)(i * 37 + 11);
  }
  for (size_t count = 0; count <= MOST; ++count) {
    char whole[2 * RLO__SHA256_BYTES + 1];
    digest_of(bytes, count, whole);
    for (size_t cut = 0; cut <= count; ++cut) {
      rlo__sha256 hash = rlo__sha256_init();
      uint8_t digest[RLO__SHA256_BYTES];
      char text[2 * RLO__SHA256_BYTES + 1];
      rlo__sha256_update(&hash, bytes, cut);
      rlo__sha256_update(&hash, bytes + cut, count - cut);
      rlo__sha256_finish(&hash, digest);
      rlo__sha256_print(digest, text);
      ck_assert_str_eq(text, whole);
    }
  }
}
