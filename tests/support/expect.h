/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_EXPECT_H
#define RLO_TESTS_SUPPORT_EXPECT_H

#include "relayout/status.h"

/** Fails the test with the last error's message unless `status` is RLO_OK. */
void expect_ok(rlo_status status);

/** Fails the test unless a call failed with `wanted` and left this message. */
void expect_refusal(rlo_status got, rlo_status wanted, const char *message);

#endif
