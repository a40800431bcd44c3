/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ir/form.h"
#include "ir/lower.h"
#include "relayout/index.h"
#include "relayout/ops.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

static rlo_problem problem;

static void lower(const rlo_shape *src, const rlo_shape *dst) {
  expect_ok(rlo_relayout_lower(src, dst, NULL, &problem));
}

/* The canonical problem of two shapes. */
static void lower_texts(const char *src_text, const char *dst_text) {
  rlo_shape src = test_shape_of(src_text);
  rlo_shape dst = test_shape_of(dst_text);
  lower(&src, &dst);
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
}

static void expect_axis(int32_t a, int64_t extent, int64_t src, int64_t dst) {
  ck_assert_int_eq(problem.extents[a], extent);
  ck_assert_int_eq(problem.src.axis[a], src);
  ck_assert_int_eq(problem.dst.axis[a], dst);
}

RLO_TIMEOUT(60);

static void expect_untouched(const void *bytes, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    ck_assert_uint_eq(((const uint8_t *)bytes)[n], 0x5a);
  }
}

/* Guards and terms are most of a problem's bytes, and most problems have few of
 * them: neither lowering nor the canonical form clears or copies the others. */
RLO_TEST(test_lower__touches_what_it_counts) {
  rlo_shape src = test_shape_of("f32[20,300]");
  rlo_shape dst = test_shape_of("f32[20,300]{1,0:T(8,128)fill(zero)}");
  memset(&problem, 0x5a, sizeof problem);
  lower(&src, &dst);
  for (int32_t turn = 0; turn < 2; ++turn) {
    const size_t num_guards = (size_t)problem.num_guards;
    ck_assert_uint_eq(num_guards, 2);
    ck_assert_int_eq(problem.num_terms, 0);
    expect_untouched(&problem.terms, sizeof problem.terms);
    expect_untouched(&problem.guards[num_guards],
                     sizeof problem.guards - num_guards * sizeof problem.guards[0]);
    expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  }
}

/* f32[20,300]{1,0} to T(8,128): the box runs over the physical cells. */
RLO_TEST(test_lower__plain_to_tiled_is_rows_with_pad_guards) {
  lower_texts("f32[20,300]", "f32[20,300]{1,0:T(8,128)fill(zero)}");
  ck_assert_int_eq(problem.num_axes, 4);
  expect_axis(0, 3, 2400, 3072);
  expect_axis(1, 3, 128, 1024);
  expect_axis(2, 8, 300, 128);
  expect_axis(3, 128, 1, 1);
  ck_assert_int_eq(problem.num_guards, 2);
  ck_assert_int_eq(problem.guards[0].kind, RLO_GUARD_PAD);
  ck_assert_int_eq(problem.guards[0].limit, 20);
  ck_assert_int_eq(problem.guards[0].form.axis[0], 8);
  ck_assert_int_eq(problem.guards[0].form.axis[2], 1);
  ck_assert_int_eq(problem.guards[1].limit, 300);
  ck_assert_int_eq(problem.guards[1].form.axis[1], 128);
  ck_assert_int_eq(problem.guards[1].form.axis[3], 1);
  ck_assert_int_eq(problem.src_bytes, 24000);
  ck_assert_int_eq(problem.dst_bytes, 24 * 384 * 4);
  ck_assert_int_eq(problem.read_bytes, 24000);
  ck_assert_int_eq(problem.written_bytes, 24 * 384 * 4);
}

/* And back: splitting at 8 and 128 removes every quotient. */
RLO_TEST(test_lower__tiled_to_plain_splits_at_the_tile) {
  rlo_shape src = test_shape_of("f32[20,300]{1,0:T(8,128)fill(zero)}");
  rlo_shape dst = test_shape_of("f32[20,300]");
  lower(&src, &dst);
  ck_assert_int_eq(problem.num_terms, 2);
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  ck_assert_int_eq(problem.num_terms, 0);
  ck_assert_int_eq(problem.num_axes, 4);
  expect_axis(0, 3, 3072, 2400);
  expect_axis(1, 8, 128, 300);
  expect_axis(2, 3, 1024, 128);
  expect_axis(3, 128, 1, 1);
  ck_assert_int_eq(problem.num_guards, 2);
  ck_assert_int_eq(problem.guards[0].kind, RLO_GUARD_SKIP);
  ck_assert_int_eq(problem.guards[1].kind, RLO_GUARD_SKIP);
}

/* A tile of 8 against a tile of 3 leaves a quotient for the gather family. */
RLO_TEST(test_lower__tiles_that_do_not_divide_leave_a_quotient) {
  lower_texts("f32[100]{0:T(2,8)fill(zero)}", "f32[100]{0:T(2,3)fill(zero)}");
  ck_assert_int_eq(problem.num_terms, 1);
  ck_assert_int_eq(problem.terms[0].divisor, 8);
}

/* floor((8*i + j + 9) / 4) = 2*i + 2 + floor((j + 1) / 4). */
RLO_TEST(test_lower__equal_quotients_are_one_term) {
  rlo_problem *box = calloc(1, sizeof *box);
  ck_assert_ptr_nonnull(box);
  box->num_axes = 2;
  box->extents[0] = box->extents[1] = 100;
  rlo_form form = {.base = 9, .axis = {8, 1}};
  rlo_form same = {.base = 1, .axis = {0, 1}};
  rlo_form out[2];
  expect_ok(rlo__lower_quotient(box, &form, 4, &out[0]));
  expect_ok(rlo__lower_quotient(box, &same, 4, &out[1]));
  ck_assert_int_eq(box->num_terms, 1);
  ck_assert(rlo__form_equal(&box->terms[0].form, &same));
  ck_assert_int_eq(out[0].base, 2);
  ck_assert_int_eq(out[0].axis[0], 2);
  ck_assert_int_eq(out[0].term[0], 1);
  ck_assert_int_eq(out[1].axis[0], 0);
  ck_assert_int_eq(out[1].term[0], 1);
  expect_ok(rlo__lower_quotient(box, &same, 8, &out[1]));
  ck_assert_int_eq(box->num_terms, 2);
  free(box);
}

/* Tiles of both sides that divide each other meet in their refinement. */
RLO_TEST(test_lower__tiles_that_divide_leave_none) {
  lower_texts("f32[256,256]{1,0:T(8,128)fill(zero)}", "f32[256,256]{1,0:T(16,16)fill(zero)}");
  ck_assert_int_eq(problem.num_terms, 0);
  ck_assert_int_eq(problem.num_guards, 0);
}

RLO_TEST(test_lower__identity_is_one_axis) {
  lower_texts("f32[20,300]", "f32[20,300]");
  ck_assert_int_eq(problem.num_axes, 1);
  expect_axis(0, 6000, 1, 1);
}

/* Without a fill nothing may be written but elements: equal tiled layouts
 * still differ in what stands in the padding. */
RLO_TEST(test_lower__unknown_fill_skips) {
  lower_texts("f32[5]{0:T(4)fill(zero)}", "f32[5]{0:T(4)fill(unknown)}");
  ck_assert_int_eq(problem.num_guards, 0);
  ck_assert_int_eq(problem.num_axes, 1);
  expect_axis(0, 5, 1, 1);
  ck_assert_int_eq(problem.written_bytes, 20);
}

RLO_TEST(test_lower__tail_takes_the_fill) {
  rlo_shape src = test_shape_of("f32[5]");
  rlo_shape dst = src;
  dst.layout.tail_alignment_elems = 8;
  dst.layout.fill = RLO_FILL_ONE;
  lower(&src, &dst);
  float from[5] = {1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
  float to[8];
  memset(to, 0xee, sizeof to);
  expect_ok(rlo_problem_run_host(&problem, from, to));
  ck_assert_mem_eq(from, to, sizeof from);
  for (int i = 5; i < 8; ++i) {
    ck_assert(to[i] == 1.0f);
  }
}

/* [2,3] = a b c / d e f, {0,1:pad(3,5)fill(zero)}. */
RLO_TEST(test_lower__seed_example) {
  rlo_shape src = test_shape_make(RLO_DTYPE_U8, (int64_t[]){2, 3}, 2);
  rlo_shape dst = src;
  dst.layout = rlo_layout_column_major(2);
  dst.layout.has_padded_dimensions = true;
  dst.layout.padded_dimensions[0] = 3;
  dst.layout.padded_dimensions[1] = 5;
  dst.layout.fill = RLO_FILL_BITS;
  dst.layout.fill_bits[0] = '0';
  lower(&src, &dst);
  char out[16] = "***************";
  expect_ok(rlo_problem_run_host(&problem, "abcdef", out));
  ck_assert_str_eq(out, "ad0be0cf0000000");
}

RLO_TEST(test_lower__zero_elements_still_fill) {
  rlo_shape src = test_shape_make(RLO_DTYPE_U8, (int64_t[]){0, 3}, 2);
  rlo_shape dst = src;
  dst.layout.has_padded_dimensions = true;
  dst.layout.padded_dimensions[0] = 2;
  dst.layout.padded_dimensions[1] = 3;
  dst.layout.fill = RLO_FILL_ONE;
  lower(&src, &dst);
  expect_ok(rlo_problem_canonicalize(&problem, 128, NULL, NULL));
  char out[7] = "******";
  expect_ok(rlo_problem_run_host(&problem, NULL, out));
  ck_assert_str_eq(out, "\1\1\1\1\1\1");
}

RLO_TEST(test_lower__refuses_other_shapes) {
  rlo_shape a = test_shape_of("f32[2,3]");
  rlo_shape b = test_shape_of("f32[3,2]");
  expect_refusal(rlo_relayout_lower(&a, &b, NULL, &problem), RLO_INVALID_ARGUMENT,
                 "destination dimension 0 is 3, source dimension 0 is 2; "
                 "they must be equal");
  expect_ok(rlo_relayout_lower(&a, &b, (int32_t[]){1, 0}, &problem));
  ck_assert_int_eq(rlo_relayout_lower(&a, &b, (int32_t[]){1, 1}, &problem), RLO_INVALID_ARGUMENT);
  b = test_shape_of("f32[2,3,1]");
  ck_assert_int_eq(rlo_relayout_lower(&a, &b, NULL, &problem), RLO_INVALID_ARGUMENT);
  b = a;
  b.dtype = RLO_DTYPE_S32;
  ck_assert_int_eq(rlo_relayout_lower(&a, &b, NULL, &problem), RLO_INVALID_ARGUMENT);
  b = a;
  b.layout.element_size_bits = 64;
  expect_ok(rlo_relayout_lower(&a, &b, NULL, &problem));
}

RLO_TEST(test_lower__refuses_a_destination_that_folds) {
  rlo_shape src = test_shape_of("f32[2,3]");
  rlo_shape dst = src;
  memset(&dst.layout, 0, sizeof dst.layout);
  dst.layout.kind = RLO_LAYOUT_STRIDED;
  dst.layout.strides_elems[0] = 2;
  dst.layout.strides_elems[1] = 1;
  ck_assert_int_eq(rlo_relayout_lower(&src, &dst, NULL, &problem), RLO_INVALID_ARGUMENT);
  dst.layout.strides_elems[0] = 3;
  expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
}

/* The lowering against the index functions, which share no code with it but
 * the address map: every element lands on its slot. */
RLO_TEST(test_lower__agrees_with_the_index) {
  static uint32_t from[1 << 15];
  static uint32_t to[1 << 15];
  test_random random = test_random_begin("test_lower__agrees_with_the_index");
  for (int n = 0; n < 2000; ++n) {
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random, RLO_DTYPE_U32, (int32_t)test_random_in(&random, 0, 5), 200, &src,
                     &dst, permutation);
    expect_ok(rlo_relayout_lower(&src, &dst, permutation, &problem));
    rlo_shape_extent extent;
    expect_ok(rlo_shape_measure(&dst, &extent));
    if (problem.src_bytes > (int64_t)sizeof from || problem.dst_bytes > (int64_t)sizeof to ||
        extent.elements == 0) {
      continue;
    }
    for (uint32_t i = 0; i < 1 << 15; ++i) {
      from[i] = i;
    }
    memset(to, 0xee, sizeof to);
    expect_ok(rlo_problem_run_host(&problem, from, to));
    int64_t index[RLO_MAX_RANK] = {0};
    do {
      int64_t src_index[RLO_MAX_RANK];
      int64_t src_slot;
      int64_t dst_slot;
      for (int32_t k = 0; k < dst.rank; ++k) {
        src_index[permutation[k]] = index[k];
      }
      expect_ok(rlo_index_to_linear(&src, src_index, &src_slot));
      expect_ok(rlo_index_to_linear(&dst, index, &dst_slot));
      ck_assert_msg(to[dst_slot] == from[src_slot], "case %d", n);
    } while (rlo_index_bump(&dst, index));
  }
}
