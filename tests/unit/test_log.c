/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/sentence.h"
#include "support/suite.h"

typedef struct heard {
  int count;
  rlo__log_level level;
  char message[2048];
} heard;

static void listen(void *payload, int32_t severity, const char *message) {
  heard *h = payload;
  ++h->count;
  h->level = (rlo__log_level)severity;
  ck_assert_uint_lt(strlen(message), sizeof h->message);
  memcpy(h->message, message, strlen(message) + 1);
}

RLO_TEST(test_log__is_silent_without_a_sink) {
  rlo__log(NULL, RLO__LOG_ERROR, "nobody %d", 1);
  rlo__log_sink sink = {NULL, NULL, RLO__LOG_DEBUG};
  rlo__log(&sink, RLO__LOG_ERROR, "nobody %d", 1);
}

RLO_TEST(test_log__passes_up_to_its_level) {
  heard h = {0};
  rlo__log_sink sink = {listen, &h, RLO__LOG_INFO};
  rlo__log(&sink, RLO__LOG_DEBUG, "details");
  ck_assert_int_eq(h.count, 0);
  rlo__log(&sink, RLO__LOG_INFO, "built %s in %d ms", "rows", 12);
  ck_assert_int_eq(h.count, 1);
  ck_assert_int_eq(h.level, RLO__LOG_INFO);
  ck_assert_str_eq(h.message, "built rows in 12 ms");
  rlo__log(&sink, RLO__LOG_ERROR, "worse");
  ck_assert_int_eq(h.count, 2);
}

RLO_TEST(test_log__cuts_long_lines) {
  heard h = {0};
  rlo__log_sink sink = {listen, &h, RLO__LOG_INFO};
  rlo__log(&sink, RLO__LOG_INFO, "%01500d", 1);
  ck_assert_uint_eq(strlen(h.message), 1023);
}

RLO_TEST(test_log__has_no_newline) {
  heard h = {0};
  rlo__log_sink sink = {listen, &h, RLO__LOG_INFO};
  rlo__log(&sink, RLO__LOG_INFO, "no file \"%s\"", "a\nb");
  ck_assert_str_eq(h.message, "no file \"a\\x0ab\"");
}
