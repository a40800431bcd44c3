/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <string.h>

#include "relayout/text.h"
#include "support/expect.h"
#include "support/shape_of.h"

/*
 * Family rows where the rows of several blocks follow one another in the
 * destination and share lines: each block leaves bytes of its first line to the
 * one before it and writes those of its last line, beyond its last row. Large
 * enough for stores past the caches.
 */

typedef struct rows_case {
  const char *src;
  const char *dst;
} rows_case;

// clang-format off
static const rows_case cases[] = {
    {"f32[130,150,33]{2,1,0}", "f32[130,150,33]{2,0,1}"},
    {"f32[700,9,101]{2,1,0}", "f32[700,9,101]{2,0,1}"},
    {"f32[3,1100,201]{2,1,0}", "f32[3,1100,201]{2,0,1}"},
    {"f32[41,500,31]{2,1,0}", "f32[41,500,31]{2,0,1:T(1,8,16)fill(zero)}"},
};

// clang-format on

void bytes_rows(void) {
  for (size_t n = 0; n < 2 * sizeof cases / sizeof cases[0]; ++n) {
    const rows_case *c = &cases[n / 2];
    rlo_shape src = test_shape_of(c->src);
    rlo_shape dst = test_shape_of(c->dst);
    test_case t = {
        .src = &src, .dst = &dst, .family = "rows", .dst_shift_bytes = n % 2 == 0 ? 0 : 20};
    test_outcome outcome = test_device_run(&device, &t, NULL);
    ck_assert(outcome == TEST_RAN || outcome == TEST_LEFT);
  }
}
