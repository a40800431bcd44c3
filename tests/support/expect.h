/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_EXPECT_H
#define RLO_TESTS_SUPPORT_EXPECT_H

#include <check.h>
#include <string.h>

#include "relayout/status.h"

/* Macros, so that a failure names the line and the call. */

/** Fails the test with the last error's message unless `call` returns RLO_OK.
 */
#define expect_ok(call) ck_assert_msg((call) == RLO_OK, "%s: %s", #call, rlo_error_last()->message)

/** Fails the test unless a call of OpenCL returns CL_SUCCESS. */
#define expect_cl(call) ck_assert_int_eq(call, CL_SUCCESS)

/** Fails the test unless `call` fails with `wanted` and leaves this message. */
#define expect_refusal(call, wanted, text)               \
  do {                                                   \
    ck_assert_int_eq(call, wanted);                      \
    ck_assert_str_eq(rlo_error_last()->message, (text)); \
  } while (0)

/** Fails the test unless `call` fails with `wanted` and leaves a message that
 * has `part` in it. */
#define expect_refusal_with(call, wanted, part)                                                 \
  do {                                                                                          \
    ck_assert_int_eq(call, wanted);                                                             \
    ck_assert_msg(strstr(rlo_error_last()->message, (part)) != NULL, "\"%s\" is not in \"%s\"", \
                  (part), rlo_error_last()->message);                                           \
  } while (0)

/** Does what is next, unless something has failed: for code whose calls may each
 *  fail. */
#define THEN(call) (status = status == RLO_OK ? (call) : status)

#endif
