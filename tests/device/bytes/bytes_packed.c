/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <string.h>

#include "relayout/text.h"
#include "support/expect.h"
#include "support/shape_of.h"

/*
 * Family packed where it cuts: several blocks along an axis, of which the last
 * is smaller, smaller than a tile, or no whole line; several groups of cells;
 * the end of the source, behind which nothing may be read.
 */

typedef struct packed_case {
  const char *src;
  const char *dst;
} packed_case;

// clang-format off
static const packed_case cases[] = {
    /* Cells: whole lines, parts of lines, several to a line. */
    {"f32[3000,4,4]{2,1,0}", "f32[3000,4,4]{1,2,0}"},
    {"f32[1111,3,5]{2,1,0}", "f32[1111,3,5]{1,2,0}"},
    {"f32[301,7,9]{2,1,0}", "f32[301,7,9]{1,2,0}"},
    {"u8[5003,2,3]{2,1,0}", "u8[5003,2,3]{1,2,0}"},
    {"u16[1003,5,7]{2,1,0}", "u16[1003,5,7]{1,2,0}"},
    {"f64[301,3,3,3]{3,2,1,0}", "f64[301,3,3,3]{1,2,3,0}"},
    {"c128[301,5,6]{2,1,0}", "c128[301,5,6]{1,2,0}"},
    {"f32[70,11,3,4]{3,2,1,0}", "f32[70,11,3,4]{2,3,1,0}"},
    /* Direct: whole lines of rows. */
    {"f32[256,100]{0,1}", "f32[256,100]{1,0:T(8,128)}"},
    {"f32[256,128]{0,1}", "f32[256,128]{1,0:T(8,128)}"},
    {"f32[256,128]{1,0:T(8,128)}", "f32[256,128]{0,1}"},
    {"f32[128,96,3,3]{3,2,1,0}", "f32[128,96,3,3]{0,1,3,2}"},
    {"u8[128,48,5,3]{3,2,1,0}", "u8[128,48,5,3]{0,1,3,2}"},
    {"u16[96,50,7,3]{3,2,1,0}", "u16[96,50,7,3]{0,1,3,2}"},
    {"f64[40,50,7,3]{3,2,1,0}", "f64[40,50,7,3]{0,1,3,2}"},
    /* Staged: columns and rows of several small axes, and cut ones. */
    {"f32[7,9,8,5,11,6]{5,4,3,2,1,0}", "f32[7,9,8,5,11,6]{3,0,5,1,4,2}"},
    {"u8[7,9,8,5,11,6]{5,4,3,2,1,0}", "u8[7,9,8,5,11,6]{3,0,5,1,4,2}"},
    {"u16[7,9,8,5,11,6]{5,4,3,2,1,0}", "u16[7,9,8,5,11,6]{3,0,5,1,4,2}"},
    {"c128[7,9,4,5,11,6]{5,4,3,2,1,0}", "c128[7,9,4,5,11,6]{3,0,5,1,4,2}"},
    {"f32[129,67,3]{2,1,0}", "f32[129,67,3]{0,1,2}"},
    {"f32[2,1001,2]{2,1,0}", "f32[2,1001,2]{0,1,2}"},
    {"u8[2100,130]{1,0}", "u8[2100,130]{0,1}"},
    /* Kept rows: shorter and longer than a line, and whole lines. */
    {"u8[130,210,3]{2,1,0}", "u8[130,210,3]{2,0,1}"},
    {"u8[130,210,75]{2,1,0}", "u8[130,210,75]{2,0,1}"},
    {"f32[65,70,33]{2,1,0}", "f32[65,70,33]{2,0,1}"},
    {"f32[65,70,16]{2,1,0}", "f32[65,70,16]{2,0,1}"},
    {"f32[9,501,4,16]{3,2,1,0}", "f32[9,501,4,16]{3,1,2,0}"},
};

/* The last block has fewer columns than a tile, so that it is moved unit by
 * unit. */
static const packed_case edges[] = {
    {"f32[65,33,3]{2,1,0}", "f32[65,33,3]{0,1,2}"},
    {"u8[2100,117]{1,0}", "u8[2100,117]{0,1}"},
    {"f64[129,58]{1,0}", "f64[129,58]{0,1}"},
};

// clang-format on

static void run_case(const packed_case *c, int64_t src_shift, int64_t shift) {
  static rlo_shape src;
  static rlo_shape dst;
  src = test_shape_of(c->src);
  dst = test_shape_of(c->dst);
  test_case t = {.src = &src,
                 .dst = &dst,
                 .family = "packed",
                 .src_shift_bytes = src_shift,
                 .dst_shift_bytes = shift};
  test_outcome outcome = test_device_run(&device, &t, NULL);
  ck_assert(outcome == TEST_RAN || outcome == TEST_LEFT);
}

void bytes_packed(void) {
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    run_case(&cases[n], 0, 0);
    run_case(&cases[n], 16, 48);
  }
}

void bytes_packed_edges(void) {
  for (size_t n = 0; n < sizeof edges / sizeof edges[0]; ++n) {
    run_case(&edges[n], 0, 0);
  }
}
