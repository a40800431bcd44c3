/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/str.h"
#include "support/expect.h"
#include "support/suite.h"

RLO_TEST(test_str__fits_a_buffer) {
  char buffer[16];
  rlo__str s = rlo__str_over(buffer, sizeof buffer);
  ck_assert_str_eq(rlo__str_text(&s), "");
  rlo__str_append(&s, "dims ");
  rlo__str_printf(&s, "%d,%d", 2, 3);
  rlo__str_append_char(&s, '!');
  ck_assert_str_eq(buffer, "dims 2,3!");
  ck_assert_uint_eq(s.length, 9);
  ck_assert(!rlo__str_is_cut(&s));
  expect_ok(rlo__str_status(&s));
}

RLO_TEST(test_str__refuses_with_a_reason_or_without) {
  char buffer[16];
  rlo__str s = rlo__str_over(buffer, sizeof buffer);
  ck_assert(!RLO__REFUSE(&s, "%d,%d", 2, 3));
  ck_assert_str_eq(buffer, "2,3");
  ck_assert(!RLO__REFUSE(NULL, "%d,%d", 2, 3));
}

RLO_TEST(test_str__cuts_and_counts_as_snprintf) {
  /* Whatever the pieces and the room: the same text and length as one
   * snprintf. */
  static const char whole[] = "abcdefghij0042xyz";
  for (size_t room = 0; room <= sizeof whole + 2; ++room) {
    char buffer[32];
    memset(buffer, '#', sizeof buffer);
    rlo__str s = rlo__str_over(room == 0 ? NULL : buffer, room);
    rlo__str_append(&s, "abcde");
    rlo__str_printf(&s, "%s", "fghij");
    rlo__str_printf(&s, "%04d", 42);
    rlo__str_append_bytes(&s, "xyz", 3);
    ck_assert_uint_eq(s.length, strlen(whole));
    ck_assert(rlo__str_is_cut(&s) == (room < sizeof whole));
    ck_assert_int_eq(rlo__str_status(&s), room < sizeof whole ? RLO_OUT_OF_RANGE : RLO_OK);
    size_t kept = room == 0 ? 0 : room - 1;
    kept = kept < strlen(whole) ? kept : strlen(whole);
    ck_assert_uint_eq(strlen(rlo__str_text(&s)), kept);
    ck_assert_int_eq(memcmp(rlo__str_text(&s), whole, kept), 0);
    ck_assert_int_eq(buffer[room], '#');
  }
}

RLO_TEST(test_str__grows) {
  rlo__str s = rlo__str_growing();
  ck_assert_str_eq(rlo__str_text(&s), "");
  for (int i = 0; i < 1000; ++i) {
    rlo__str_printf(&s, "%03d ", i);
    rlo__str_append(&s, "x");
  }
  ck_assert_uint_eq(s.length, 5000);
  expect_ok(rlo__str_status(&s));
  for (int i = 0; i < 1000; ++i) {
    ck_assert_int_eq(atoi(rlo__str_text(&s) + 5 * i), i);
    ck_assert_int_eq(rlo__str_text(&s)[5 * i + 4], 'x');
  }
  rlo__str_deinit(&s);
  ck_assert_uint_eq(s.length, 0);
  rlo__str_deinit(&s);
  rlo__str_deinit(NULL);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_str__take_hands_the_text_out) {
  rlo__str s = rlo__str_growing();
  char *text = NULL;
  expect_ok(rlo__str_take(&s, &text));
  ck_assert_str_eq(text, "");
  rlo__free(text);
  rlo__str_append(&s, "again");
  expect_ok(rlo__str_take(&s, &text));
  ck_assert_str_eq(text, "again");
  ck_assert_str_eq(rlo__str_text(&s), "");
  rlo__free(text);
  rlo__str_deinit(&s);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_str__survives_every_failed_allocation) {
  int64_t tried_count = 1;
  for (int64_t nth = 1; nth <= tried_count; ++nth) {
    rlo__alloc_set_fault(nth, false);
    rlo__str s = rlo__str_growing();
    for (int i = 0; i < 500; ++i) {
      rlo__str_printf(&s, "%d", i % 10);
      rlo__str_append(&s, "yz");
    }
    ck_assert_uint_eq(s.length, 1500);
    ck_assert(rlo__str_is_cut(&s));
    /* The text is a prefix of the whole, without a gap. */
    const char *text = rlo__str_text(&s);
    for (size_t i = 0; i < strlen(text); ++i) {
      int expected = i % 3 == 0 ? '0' + (int)(i / 3 % 10) : "zy"[i % 3 % 2];
      ck_assert_int_eq(text[i], expected);
    }
    char *taken = NULL;
    ck_assert_int_eq(rlo__str_take(&s, &taken), RLO_OUT_OF_MEMORY);
    ck_assert_ptr_null(taken);
    ck_assert_int_eq(rlo__alloc_live_count(), 0);
    if (nth == 1) {
      rlo__alloc_set_fault(0, false);
      for (int i = 0; i < 1500; ++i) {
        rlo__str_append_char(&s, 'x');
      }
      tried_count = rlo__alloc_tried_count();
      rlo__str_deinit(&s);
    }
  }
  rlo__alloc_set_fault(0, false);
  ck_assert_int_gt(tried_count, 2);
}

RLO_TEST(test_str__truncate_cuts_back) {
  char buffer[8];
  rlo__str s = rlo__str_over(buffer, sizeof buffer);
  rlo__str_append(&s, "abcdefghijk");
  rlo__str_truncate(&s, 20);
  ck_assert_uint_eq(s.length, 11);
  rlo__str_truncate(&s, 9);
  ck_assert_str_eq(buffer, "abcdefg");
  rlo__str_truncate(&s, 3);
  ck_assert_str_eq(buffer, "abc");
  ck_assert(!rlo__str_is_cut(&s));
  rlo__str_append(&s, "D");
  ck_assert_str_eq(buffer, "abcD");
}

/* Where the characters of a wide text are none of the locale. */
RLO_TEST(test_str__what_cannot_be_printed_is_a_failure) {
  const wchar_t foreign[] = {0x2603, 0};
  char buffer[16];
  rlo__str s = rlo__str_over(buffer, sizeof buffer);
  rlo__str_append(&s, "a");
  rlo__str_printf(&s, "b%ls", foreign);
  ck_assert_str_eq(buffer, "a");
  ck_assert_int_ne(rlo__str_status(&s), RLO_OK);
}

RLO_TEST(test_str__a_length_beyond_memory_is_a_failure) {
  rlo__str s = rlo__str_growing();
  rlo__str_append(&s, "a");
  rlo__str_append_bytes(&s, "", SIZE_MAX);
  ck_assert_int_eq(rlo__str_status(&s), RLO_OUT_OF_MEMORY);
  rlo__str_deinit(&s);
}
