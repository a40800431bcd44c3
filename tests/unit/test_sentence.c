/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/sentence.h"
#include "base/status.h"
#include "support/random.h"
#include "support/suite.h"

static char got[RLO__SENTENCE_BYTES];

RLO_PRINTF(2, 3)

static const char *print(size_t capacity, const char *format, ...) {
  va_list arguments;
  memset(got, 'x', sizeof got);
  va_start(arguments, format);
  size_t length = rlo__sentence_print(got, capacity, NULL, format, arguments);
  va_end(arguments);
  ck_assert_uint_eq(length, strlen(got));
  ck_assert_uint_lt(length, capacity);
  return got;
}

#define EXPECT_AS_PRINTF(...)                           \
  do {                                                  \
    char wanted[512];                                   \
    (void)snprintf(wanted, sizeof wanted, __VA_ARGS__); \
    ck_assert_str_eq(print(512, __VA_ARGS__), wanted);  \
  } while (0)

RLO_TEST(test_sentence__numbers_and_texts_are_as_printf_has_them) {
  EXPECT_AS_PRINTF("no conversion");
  EXPECT_AS_PRINTF("%d%%, %i of %u", -7, 3, 4000000000u);
  EXPECT_AS_PRINTF("%" PRId64 " %" PRIu64 " %zu %jd %td",
                   INT64_MIN,
                   UINT64_MAX,
                   SIZE_MAX,
                   (intmax_t)-5,
                   (ptrdiff_t)-6);
  EXPECT_AS_PRINTF("%lld %lu %hd %hhu", -1ll, 2ul, (short)-3, (unsigned char)4);
  EXPECT_AS_PRINTF("%05.1f|%-8g|%+e|%Lf", 2.25, 1e9, -1.5, (long double)3);
  EXPECT_AS_PRINTF("%#x %08o %c %p", 255u, 8u, 'c', (void *)got);
  EXPECT_AS_PRINTF("%*d|%-*d|%.*f", 6, 7, 6, 7, 2, 3.14159);
  EXPECT_AS_PRINTF("%s, %10s|%-10s|%.2s|%.*s", "a", "b", "c", "def", 1, "gh");
  EXPECT_AS_PRINTF("%*s|%-*s|%*s|%*d", 5, "a", 5, "b", -5, "c", -6, 7);
  EXPECT_AS_PRINTF("%ls %lc", L"wide", (wint_t)L'w');
  EXPECT_AS_PRINTF("naïve ☃ %s", "größer 𝄞 日本");
}

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
#endif

/* Which compilers warn of, and users may pass. */
RLO_TEST(test_sentence__what_no_sentence_of_ours_has) {
  int untouched = 7;
  errno = ENOENT;
  ck_assert_str_eq(print(200, "%s: %m", "a file"),
                   "a file: No such file or directory");
  ck_assert_str_eq(print(200, "a%nb", &untouched), "ab");
  ck_assert_int_eq(untouched, 7);
  ck_assert_str_eq(print(200, "a%"), "a");
  ck_assert_str_eq(print(200, "%d%-", 5), "5");
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

RLO_TEST(test_sentence__what_a_terminal_would_obey_is_escaped) {
  ck_assert_str_eq(print(200, "'%s'", "\x1b[31mred\n\t\x7f"),
                   "'\\x1b[31mred\\x0a\\x09\\x7f'");
  ck_assert_str_eq(print(200, "%c", '\r'), "\\x0d");
  /* A control character of two bytes, one that turns the direction, a byte
   * that begins nothing, one that is cut off, and a longer form of '/'. */
  ck_assert_str_eq(print(200, "%s", "\xc2\x9b"), "\\xc2\\x9b");
  ck_assert_str_eq(print(200, "%s", "\xe2\x80\xae"), "\\xe2\\x80\\xae");
  ck_assert_str_eq(print(200, "%s", "\xe2\x81\xa7"), "\\xe2\\x81\\xa7");
  ck_assert_str_eq(print(200, "%s", "\x80z"), "\\x80z");
  ck_assert_str_eq(print(200, "%s", "\xe2\x82"), "\\xe2\\x82");
  ck_assert_str_eq(print(200, "%s", "\xc0\xaf"), "\\xc0\\xaf");
  ck_assert_str_eq(print(200, "%s", "\xed\xa0\x80"), "\\xed\\xa0\\x80");
  ck_assert_str_eq(print(200, "%s", "\xf4\x90\x80\x80"),
                   "\\xf4\\x90\\x80\\x80");
  /* The words of the format are ours. */
  ck_assert_str_eq(print(200, "a\nb"), "a\nb");
}

RLO_TEST(test_sentence__of_a_long_text_both_ends_are_shown) {
  char text[1000];
  memset(text, 'a', 500);
  memset(text + 500, 'z', 499);
  text[999] = '\0';
  print(2000, "(%s)", text);
  ck_assert_uint_eq(strlen(got), 2 + RLO__SENTENCE_TEXT_CHARS);
  ck_assert_ptr_nonnull(strstr(got, "aaa...zzz"));
  print(2000, "(%.*s)", 998, text);
  ck_assert_uint_eq(strlen(got), 2 + RLO__SENTENCE_TEXT_CHARS);
  print(2000, "(%.400s)", text);
  ck_assert_uint_eq(strlen(got), 402);
  ck_assert_ptr_null(strstr(got, "z"));
  print(2000, "%s", text);
  ck_assert_uint_eq(strlen(got), 999);
  text[RLO__SENTENCE_TEXT_CHARS] = '\0';
  ck_assert_str_eq(print(2000, "%s", text), text);
}

RLO_TEST(test_sentence__the_end_is_cut_between_characters) {
  ck_assert_str_eq(print(6, "abcdefgh"), "abcde");
  ck_assert_str_eq(print(6, "%s", "abcd\x01"), "abcd");
  ck_assert_str_eq(print(6, "%s", "abc\xe2\x98\x83"), "abc");
  ck_assert_str_eq(print(7, "%s", "abc\xe2\x98\x83z"), "abc\xe2\x98\x83");
  ck_assert_str_eq(print(1, "%s", "abc"), "");
}

/* Any bytes: nothing but printed characters, and at most so many. */
RLO_TEST(test_sentence__random_bytes) {
  test_random random = test_random_begin("test_sentence");
  for (int n = 0; n < 1000; ++n) {
    char text[400];
    const int64_t length = test_random_in(&random, 0, 399);
    for (int64_t k = 0; k < length; ++k) {
      text[k] = (char)test_random_in(&random, 1, 255);
    }
    text[length] = '\0';
    print(sizeof got, "'%s'", text);
    ck_assert_uint_le(strlen(got), 2 + 4 * RLO__SENTENCE_TEXT_CHARS);
    for (const char *c = got; *c != '\0'; ++c) {
      ck_assert((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
  }
}

RLO_TEST(test_sentence__records_have_them) {
  char name[5000];
  memset(name, 'n', sizeof name - 1);
  name[0] = '\x1b';
  name[sizeof name - 1] = '\0';
  (void)rlo_error_set(RLO_NOT_FOUND, "there is no '%s'; try another", name);
  const char *message = rlo_error_last()->message;
  ck_assert_ptr_null(strchr(message, '\x1b'));
  ck_assert_ptr_nonnull(strstr(message, "there is no '\\x1bnnn"));
  ck_assert_ptr_nonnull(strstr(message, "...nnn"));
  ck_assert_ptr_nonnull(strstr(message, "try another"));
  /* A record within another is whole. */
  const size_t length = strlen(message);
  (void)rlo_error_set(RLO_NOT_FOUND, "then: %s", rlo_error_last()->message);
  ck_assert_uint_eq(strlen(rlo_error_last()->message), length + 6);
}
