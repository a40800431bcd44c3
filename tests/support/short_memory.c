/* SPDX-License-Identifier: Apache-2.0 */
#include "support/short_memory.h"

#include <check.h>

#include "base/alloc.h"
#include "support/expect.h"

bool test_short_memory_next(test_short_memory *run) {
  rlo__alloc_set_fault(0, false);
  if (run->num_tries == 0) {
    run->live_count = rlo__alloc_live_count();
  } else if (run->status != RLO_OUT_OF_MEMORY) {
    expect_ok(run->status);
    return false;
  }
  ck_assert_int_eq(rlo__alloc_live_count(), run->live_count);
  rlo__alloc_set_fault(++run->num_tries, false);
  return true;
}
