/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "relayout/xla/text.h"
#include "support/suite.h"

static rlo_bare_layout parsed(const char *text) {
  rlo_bare_layout layout;
  rlo_status status = rlo_bare_layout_parse(text, strlen(text), &layout);
  ck_assert_msg(status == RLO_OK, "'%s': %s", text, rlo_error_last()->message);
  return layout;
}

/* Texts that print as written; those of XLA's tests of Layout come first. */
static const char *const fixed_points[] = {
    "{}",
    "{1,2,0}",
    "{3,2,1,0:T(42,123)(4,5)}",
    "{3,2,1,0:T(*,*,42,123)}",
    "{3,2,1,0:L(100)}",
    "{3,2,1,0:#(u32)}",
    "{3,2,1,0:*(u16)}",
    "{3,2,1,0:E(42)}",
    "{3,2,1,0:S(3)}",
    "{0,1:SC(0:3)(1:0,4)}",
    "{0,1:P(s32[10,20]{1,0})}",
    "{0,1:M(123)}",
    "{3,2,1,0:T(42,123)(4,5)L(100)E(42)}",
    /* Ours. */
    "{1,0:T(8,128)L(2)#(u8)*(u64)E(16)S(-1)SC(1:3)P((f32[2]{0}, token[]))M(8)}",
    "{1,0:SC(0:1)M(8)pad(3,5)fill(0x7fc00000)}",
    "{:strides(8,-1)offset(3)}",
    "{:strides()}",
    "{:T(128)}",
    "{0:P(b(f32[?]{0:T(8)}))}",
};

RLO_TABLE_TEST(test_text_bare__prints_what_it_parses, fixed_points) {
  const char *text = fixed_points[_i];
  char buffer[256];
  rlo_bare_layout layout = parsed(text);
  size_t length = rlo_bare_layout_format(&layout, buffer, sizeof buffer);
  ck_assert_str_eq(buffer, text);
  ck_assert_uint_eq(length, strlen(text));

  rlo_bare_layout again = parsed(buffer);
  ck_assert(rlo_bare_layout_equal(&layout, &again));
  rlo_bare_layout_deinit(&again);
  rlo_bare_layout_deinit(&layout);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_text_bare__is_different_by_every_field) {
  static const char *const texts[] = {"{0,1}",          "{1,0}",          "{0}",
                                      "{0,1:T(2)}",     "{0,1:L(2)}",     "{0,1:#(u8)}",
                                      "{0,1:*(u8)}",    "{0,1:E(8)}",     "{0,1:S(1)}",
                                      "{0,1:SC(0:1)}",  "{0,1:SC(1:1)}",  "{0,1:SC(0:1,2)}",
                                      "{0,1:P(f32[])}", "{0,1:P(s32[])}", "{0,1:P(())}",
                                      "{0,1:M(1)}",     "{0,1:pad(1,1)}", "{0,1:fill(one)}",
                                      "{:strides(1,1)}"};

  enum { COUNT = sizeof texts / sizeof texts[0] };

  for (int i = 0; i < COUNT; ++i) {
    for (int j = 0; j < COUNT; ++j) {
      rlo_bare_layout a = parsed(texts[i]);
      rlo_bare_layout b = parsed(texts[j]);
      ck_assert_msg(rlo_bare_layout_equal(&a, &b) == (i == j), "%s and %s", texts[i], texts[j]);
      rlo_bare_layout_deinit(&a);
      rlo_bare_layout_deinit(&b);
    }
  }
  rlo_bare_layout_deinit(NULL);
}

/* Making a shape checks a parsed layout against the array. */
RLO_TEST(test_text_bare__is_checked_where_it_meets_an_array) {
  static const int64_t dims[] = {2, 3};
  static const char *const texts[] = {"{0,1:#(u32)}",   "{0,1:SC(0:3)}", "{0,1:SC(2:1)}",
                                      "{0,1:pad(1,3)}", "{0,1:E(8)}",    "{0,1,2}"};
  rlo_shape shape;

  for (size_t i = 0; i < 5; ++i) {
    rlo_bare_layout layout = parsed(texts[i]);
    ck_assert_int_eq(rlo_shape_make_with_layout(RLO_DTYPE_F32, dims, 2, &layout.layout, &shape),
                     RLO_INVALID_ARGUMENT);
    rlo_bare_layout_deinit(&layout);
  }
}
