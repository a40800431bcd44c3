/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sentence.h"
#include "base/status.h"
#include "support/random.h"
#include "support/suite.h"

static char got[1024];

RLO_PRINTF(2, 3)

static const char *print(size_t capacity, const char *format, ...) {
  va_list arguments;
  memset(got, 'x', sizeof got);
  va_start(arguments, format);
  size_t length = rlo__sentence_print(got, capacity, format, arguments);
  va_end(arguments);
  ck_assert_uint_eq(length, strlen(got));
  ck_assert_uint_lt(length, capacity);
  return got;
}

RLO_TEST(test_sentence__what_a_terminal_would_obey_is_escaped) {
  static const char *rows[][2] = {
      {"\x1b[31mred\n\t\x7f\r", "\\x1b[31mred\\x0a\\x09\\x7f\\x0d"},
      {"na\xc3\xafve \xe2\x98\x83 \xf0\x9d\x84\x9e", "na\xc3\xafve \xe2\x98\x83 \xf0\x9d\x84\x9e"},
      /* The last control character of two bytes, and what follows it. */
      {"\xc2\x9f\xc2\xa0", "\\xc2\\x9f\xc2\xa0"},
      /* Marks that turn the direction, and their neighbours. */
      {"\xe2\x80\xa9\xe2\x80\xaa", "\xe2\x80\xa9\\xe2\\x80\\xaa"},
      {"\xe2\x80\xae\xe2\x80\xaf", "\\xe2\\x80\\xae\xe2\x80\xaf"},
      {"\xe2\x81\xa5\xe2\x81\xa6", "\xe2\x81\xa5\\xe2\\x81\\xa6"},
      {"\xe2\x81\xa9\xe2\x81\xaa", "\\xe2\\x81\\xa9\xe2\x81\xaa"},
      /* A byte that begins nothing, and characters that are cut off. */
      {"\x80z", "\\x80z"},
      {"\xe2\x82", "\\xe2\\x82"},
      {"\xf0\x9d\x84z", "\\xf0\\x9d\\x84z"},
      {"\xff\xf8\x88\x80\x80\x80", "\\xff\\xf8\\x88\\x80\\x80\\x80"},
      /* Longer forms, a surrogate, and beyond the last character. */
      {"\xc0\xaf\xc1\xbf", "\\xc0\\xaf\\xc1\\xbf"},
      {"\xe0\x9f\xbf\xe0\xa0\x80", "\\xe0\\x9f\\xbf\xe0\xa0\x80"},
      {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
      {"\xed\xa0\x80\xed\x9f\xbf", "\\xed\\xa0\\x80\xed\x9f\xbf"},
      {"\xf4\x90\x80\x80\xf4\x8f\xbf\xbf", "\\xf4\\x90\\x80\\x80\xf4\x8f\xbf\xbf"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    ck_assert_str_eq(print(200, "%s", rows[k][0]), rows[k][1]);
  }
  ck_assert_str_eq(print(200, "%d%% of '%-3s'\n", 5, "a"), "5% of 'a  '\\x0a");
}

RLO_TEST(test_sentence__of_a_long_one_both_ends_are_kept) {
  ck_assert_str_eq(print(17, "%s", "0123456789abcdef"), "0123456789abcdef");
  ck_assert_str_eq(print(16, "%s", "0123456789abcdef"), "012345...abcdef");
  /* Nothing is cut within a character or \xNN. */
  ck_assert_str_eq(print(16, "%s", "01234\xe2\x98\x83 0123456789"), "01234...456789");
  ck_assert_str_eq(print(16, "%s", "0123456789 \xe2\x98\x83 0123"), "012345... 0123");
  ck_assert_str_eq(print(16, "%s", "012\x01 0123456789"), "012...456789");
}

/* Any bytes: nothing but printed characters, and no more than fit. */
RLO_TEST(test_sentence__random_bytes) {
  test_random random = test_random_begin("test_sentence");
  for (int n = 0; n < 1000; ++n) {
    char text[400];
    const int64_t length = test_random_in(&random, 0, 399);
    for (int64_t k = 0; k < length; ++k) {
      text[k] = (char)test_random_in(&random, 1, 255);
    }
    text[length] = '\0';
    print((size_t)test_random_in(&random, 16, sizeof got), "'%s'", text);
    ck_assert_ptr_nonnull(strchr(got, '\''));
    for (const char *c = got; *c != '\0'; ++c) {
      ck_assert((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
  }
}

RLO_TEST(test_sentence__the_nearest_name) {
  static const char *const names[] = {"convert", "op",    "describe",    "u32",
                                      "f32",     "PadV2", "output order"};
  static const char *const rows[][2] = {
      /* A letter that lacks, is too many, is another; two that are exchanged. */
      {"convrt", "convert"},
      {"convertt", "convert"},
      {"konvert", "convert"},
      {"ocnvert", "convert"},
      {"p", ""},
      {"opp", "op"},
      {"oq", ""},
      /* Several in one place. The first of two; none that lacks more than a third. */
      {"connnvert", "convert"},
      {"i32", "u32"},
      {"f23", "f32"},
      {"cvrt", ""},
      /* A beginning, from three letters on, and what goes on. */
      {"des", "describe"},
      {"de", ""},
      {"describes-it-at-length-and-longer-than-there-is-any-room", "describe"},
      {"CONVERT", "convert"},
      {"pad_v-2", "PadV2"},
      {"pad", "PadV2"},
      {"Output_Ordr", "output order"},
      {"", ""},
      {"--", ""},
  };
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    rlo__nearest nearest = rlo__nearest_begin(rows[k][0], strlen(rows[k][0]));
    for (size_t n = 0; n < sizeof names / sizeof names[0]; ++n) {
      rlo__nearest_try(&nearest, names[n]);
    }
    char hint[80] = "";
    if (rows[k][1][0] != '\0') {
      (void)snprintf(hint, sizeof hint, "; did you mean '%s'?", rows[k][1]);
    }
    ck_assert_msg(strcmp(nearest.hint, hint) == 0, "'%s'%s", rows[k][0], nearest.hint);
  }
  rlo__nearest cut = rlo__nearest_begin("opera", 2);
  rlo__nearest_try(&cut, "op");
  ck_assert_uint_eq(cut.distance, 0);
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
  ck_assert_ptr_nonnull(strstr(message, "n...n"));
  ck_assert_ptr_nonnull(strstr(message, "'; try another"));
  ck_assert_uint_eq(strlen(message), 511);
  /* A record may quote the one before it, and get words before it. */
  (void)rlo_error_set(RLO_NOT_FOUND, "none");
  (void)rlo_error_set(RLO_NOT_FOUND, "then: %s", rlo_error_last()->message);
  (void)rlo__status_prefix(RLO_NOT_FOUND, "'%.3s': ", name);
  ck_assert_str_eq(rlo_error_last()->message, "'\\x1bnn': then: none");
}
