/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <unistd.h>

#include "support/suite.h"

/* Tests with known faults: a program that runs one of them must fail. */

RLO_TIMEOUT(1);

RLO_TEST(planted__nothing) {
  ck_assert_int_eq(1 + 1, 2);
}

RLO_TEST(planted__failure) {
  ck_assert_int_eq(1 + 1, 3);
}

RLO_LOOP_TEST(planted__failure_at_the_end, 0, 3) {
  ck_assert_int_lt(_i, 2);
}

RLO_TEST(planted__crash) {
  raise(SIGSEGV);
}

RLO_TEST(planted__hang) {
  for (;;) {
    pause();
  }
}
