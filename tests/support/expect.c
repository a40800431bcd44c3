/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

#include <check.h>

void expect_ok(rlo_status status) {
  ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
}

void expect_refusal(rlo_status got, rlo_status wanted, const char *message) {
  ck_assert_int_eq(got, wanted);
  ck_assert_str_eq(rlo_error_last()->message, message);
}
