/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/piece.h"

#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem whole;
static rlo_problem piece;
static rlo_problem rebased;

static void expect_footprint(rlo__problem_side side, int64_t base_byte, int64_t extent,
                             int64_t stride, int64_t run_bytes, bool is_exact) {
  rlo__lattice lattice;
  expect_ok(rlo__problem_footprint(&piece, side, &lattice));
  ck_assert_int_eq(lattice.base_byte, base_byte);
  ck_assert_int_eq(lattice.num_dims, extent > 1 ? 1 : 0);
  if (extent > 1) {
    ck_assert_int_eq(lattice.extents[0], extent);
    ck_assert_int_eq(lattice.strides[0], stride);
  }
  ck_assert_int_eq(lattice.run_bytes, run_bytes);
  ck_assert_int_eq(lattice.is_exact, is_exact);
}

/* The relayout of docs/architecture.md: the first two of three columns of tiles
 * need 256 elements of each of the 20 rows, though the tiles have 24. */
RLO_TEST(test_piece__columns_of_tiles) {
  test_plan_lower("f32[20,300]{1,0}", "f32[20,300]{1,0:T(8,128)fill(zero)}", NULL, &whole);
  expect_ok(rlo_problem_canonicalize(&whole, 0, NULL, NULL));
  ck_assert_int_eq(whole.num_axes, 4);
  ck_assert_int_eq(whole.extents[1], 3);
  piece = whole;
  expect_footprint(RLO__SIDE_SOURCE, 0, 1, 0, 24000, true);
  expect_footprint(RLO__SIDE_DESTINATION, 0, 1, 0, 36864, true);
  expect_ok(rlo__problem_restrict(&whole, 1, 0, 2, &piece));
  expect_footprint(RLO__SIDE_SOURCE, 0, 20, 1200, 1024, true);
  expect_footprint(RLO__SIDE_DESTINATION, 0, 3, 12288, 8192, true);
  ck_assert_int_eq(piece.read_bytes, 20 * 1024);
  ck_assert_int_eq(piece.written_bytes, 3 * 8192);
  rlo__lattice lattice;
  expect_ok(rlo__problem_footprint(&piece, RLO__SIDE_SOURCE, &lattice));
  expect_ok(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &lattice, &rebased));
  ck_assert_int_eq(rebased.src_bytes, 20 * 1024);
  ck_assert_int_eq(rebased.src.axis[0], 8 * 256);
  ck_assert_int_eq(rebased.src.axis[1], 128);
  ck_assert_int_eq(rebased.src.axis[2], 256);
  ck_assert_int_eq(rebased.src.axis[3], 1);
  expect_ok(rlo__problem_restrict(&whole, 1, 2, 3, &piece));
  expect_footprint(RLO__SIDE_SOURCE, 1024, 20, 1200, 176, true);
  expect_ok(rlo__problem_restrict(&whole, 0, 2, 3, &piece));
  expect_footprint(RLO__SIDE_SOURCE, 19200, 1, 0, 4800, true);
}

/* In bytes, one axis on either side. */
static void make_bytes(int64_t extent, int64_t src_step, int64_t src_bytes) {
  test_plan_make(8, 1, &extent, &src_step, (int64_t[]){1}, &piece);
  piece.src_bytes = src_bytes;
  piece.dst_bytes = extent;
}

/* A lattice of other dims than the problem's own, in which a step carries. */
RLO_TEST(test_piece__a_step_that_carries_is_not_linear) {
  rlo__lattice run = {.num_dims = 1, .extents = {2}, .strides = {4}, .run_bytes = 3};
  make_bytes(3, 2, 7);
  expect_refusal(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &run, &rebased), RLO_UNSUPPORTED,
                 "the source is not linear in packed memory of a lattice of 1 "
                 "dims; in that of its hull it is");
  rlo__lattice dims = {.num_dims = 2, .extents = {2, 3}, .strides = {8, 2}, .run_bytes = 1};
  make_bytes(4, 4, 13);
  ck_assert_int_eq(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &dims, &rebased), RLO_UNSUPPORTED);
  dims = rlo__lattice_hull(&dims);
  ck_assert_int_eq(dims.run_bytes, 13);
  expect_ok(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &dims, &rebased));
  ck_assert_int_eq(rebased.src.axis[0], 4);
}

/* A lattice may hold more than the footprint. */
RLO_TEST(test_piece__packed_memory_of_a_larger_lattice) {
  rlo__lattice rows = {
      .base_byte = 10, .num_dims = 1, .extents = {5}, .strides = {100}, .run_bytes = 20};
  make_bytes(3, -100, 500);
  piece.src.base = 317;
  expect_ok(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &rows, &rebased));
  ck_assert_int_eq(rebased.src_bytes, 100);
  ck_assert_int_eq(rebased.src.axis[0], -20);
  ck_assert_int_eq(rebased.src.base, 67);
}

RLO_TEST(test_piece__what_touches_nothing_has_no_bytes) {
  make_bytes(5, 1, 5);
  expect_ok(rlo__problem_restrict(&piece, 0, 2, 2, &piece));
  expect_footprint(RLO__SIDE_SOURCE, 0, 1, 0, 0, true);
  expect_footprint(RLO__SIDE_DESTINATION, 0, 1, 0, 0, true);
  ck_assert_int_eq(piece.read_bytes, 0);
  rlo__lattice none = {.is_exact = true};
  expect_ok(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &none, &piece));
  ck_assert_int_eq(piece.src_bytes, 0);
}

RLO_TEST(test_piece__refusals) {
  make_bytes(5, 1, 5);
  rlo_problem *out = &rebased;
  out->num_axes = 7;
  expect_refusal(rlo__problem_restrict(&piece, 1, 0, 1, out), RLO_INVALID_ARGUMENT,
                 "axis 1 of a problem of 1 axes");
  expect_refusal(rlo__problem_restrict(&piece, -1, 0, 1, out), RLO_INVALID_ARGUMENT,
                 "axis -1 of a problem of 1 axes");
  expect_refusal(rlo__problem_restrict(&piece, 0, 0, 6, out), RLO_OUT_OF_RANGE,
                 "axis 0 is cut to [0, 6); it is [0, 5)");
  expect_refusal(rlo__problem_restrict(&piece, 0, -1, 2, out), RLO_OUT_OF_RANGE,
                 "axis 0 is cut to [-1, 2); it is [0, 5)");
  expect_refusal(rlo__problem_restrict(&piece, 0, 3, 2, out), RLO_OUT_OF_RANGE,
                 "axis 0 is cut to [3, 2); it is [0, 5)");
  piece.src.axis[0] = INT64_MAX / 2;
  expect_refusal(rlo__problem_restrict(&piece, 0, 3, 5, out), RLO_OVERFLOW,
                 "a position of the piece does not fit in 64 bits");
  rlo__lattice lattice;
  ck_assert_int_eq(rlo__problem_footprint(&piece, RLO__SIDE_SOURCE, &lattice), RLO_OVERFLOW);
  ck_assert_int_eq(out->num_axes, 7);
}

/* The footprint begins with a whole number of bytes and units, here 24 bits. */
RLO_TEST(test_piece__a_footprint_rounded_beyond_64_bits) {
  make_bytes(2, 1, 2);
  piece.unit_bits = 3;
  piece.src.base = INT64_MIN / 3;
  rlo__lattice lattice;
  expect_refusal(rlo__problem_footprint(&piece, RLO__SIDE_SOURCE, &lattice), RLO_OVERFLOW,
                 "a position of the footprint, in bits, does not fit in 64 "
                 "bits");
}

RLO_TEST(test_piece__sums_keep_their_order) {
  test_plan_sum("f32[4,5,6]", 1, &piece);
  int32_t summed = 0;
  while (piece.dst.axis[summed] != 0) {
    ++summed;
  }
  expect_refusal(rlo__problem_restrict(&piece, summed, 1, 5, &rebased), RLO_UNSUPPORTED,
                 "axis 2 is summed; a cut would change the order of the sum");
  expect_ok(rlo__problem_restrict(&piece, summed, 0, 5, &rebased));
  expect_ok(rlo__problem_restrict(&piece, 0, 1, 2, &rebased));
  piece.num_guards = 1;
  piece.guards[0] = (rlo_guard){.kind = RLO_GUARD_SKIP, .limit = 7};
  piece.guards[0].form.axis[0] = piece.guards[0].form.axis[summed] = 1;
  expect_refusal(rlo__problem_restrict(&piece, 0, 1, 2, &rebased), RLO_UNSUPPORTED,
                 "axis 2 is summed, and a guard or a quotient ties it to an "
                 "axis that is cut");
  piece.num_guards = 0;
  piece.arithmetic.is_sequential = true;
  expect_refusal(rlo__problem_restrict(&piece, 0, 1, 2, &rebased), RLO_UNSUPPORTED,
                 "a sequential problem is not cut: its points are combined in "
                 "the order of the whole box");
}

/* The piece sums f32 to one cell. */
static void become_a_sum(int64_t src_bytes) {
  piece.update = RLO_UPDATE_COMBINE;
  piece.arithmetic =
      (rlo_arithmetic){.src_type = RLO_DTYPE_F32, .dst_type = RLO_DTYPE_F32, .dst_unit_bits = 32};
  piece.src_bytes = src_bytes;
  piece.dst_bytes = 4;
}

/* In packed memory two reduction axes would continue each other. */
RLO_TEST(test_piece__packing_keeps_the_order_of_a_sum) {
  test_plan_make(32, 2, (int64_t[]){3, 5}, (int64_t[]){100, 1}, (int64_t[]){0, 0}, &piece);
  become_a_sum(820);
  expect_footprint(RLO__SIDE_SOURCE, 0, 3, 400, 20, true);
  rlo__lattice lattice;
  expect_ok(rlo__problem_footprint(&piece, RLO__SIDE_SOURCE, &lattice));
  expect_refusal(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &lattice, &rebased), RLO_UNSUPPORTED,
                 "packed memory of a lattice of 1 dims might change the order of a sum; "
                 "that of its hull does not");
  bool is_hull = false;
  expect_ok(rlo__problem_packing(&piece, RLO__SIDE_SOURCE, &lattice, &is_hull));
  ck_assert(is_hull);
  ck_assert_int_eq(lattice.num_dims, 0);
  ck_assert_int_eq(lattice.run_bytes, 820);
  expect_ok(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &lattice, &rebased));
}

/* One reduction axis has one order, unless the whole box has one. */
RLO_TEST(test_piece__packing_keeps_the_order_of_a_sequence) {
  test_plan_make(32, 1, (int64_t[]){3}, (int64_t[]){100}, (int64_t[]){0}, &piece);
  become_a_sum(804);
  rlo__lattice lattice;
  bool is_hull = true;
  expect_ok(rlo__problem_packing(&piece, RLO__SIDE_SOURCE, &lattice, &is_hull));
  ck_assert(!is_hull);
  ck_assert_int_eq(rlo__lattice_bytes(&lattice), 12);
  piece.arithmetic.is_sequential = true;
  expect_ok(rlo__problem_packing(&piece, RLO__SIDE_SOURCE, &lattice, &is_hull));
  ck_assert(is_hull);
  ck_assert_int_eq(lattice.run_bytes, 804);
}

/* Lattices that do not hold what the problem touches, or not by units. */
RLO_TEST(test_piece__lattices_that_do_not_fit_are_refused) {
  static const char message[] =
      "the source is not linear in packed memory of a lattice of 1 dims; in "
      "that of its hull it is";
  rlo__lattice rows = {
      .base_byte = 8, .num_dims = 1, .extents = {3}, .strides = {8}, .run_bytes = 2};
  make_bytes(3, 8, 17);
  expect_refusal(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &rows, &rebased), RLO_UNSUPPORTED,
                 message);
  rows.base_byte = 0;
  expect_ok(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &rows, &rebased));
  ck_assert_int_eq(rebased.src.axis[0], 2);
  /* Rows of 3 bytes are no number of units of 2. */
  rows.run_bytes = 3;
  test_plan_make(16, 1, (int64_t[]){3}, (int64_t[]){4}, (int64_t[]){1}, &piece);
  expect_refusal(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &rows, &rebased), RLO_UNSUPPORTED,
                 message);
  /* A quotient steps as it likes. */
  make_bytes(3, 8, 17);
  piece.num_terms = 1;
  piece.terms[0] = (rlo_term){.kind = RLO_TERM_QUOTIENT, .divisor = 2};
  piece.terms[0].form.axis[0] = 1;
  piece.src.term[0] = 1;
  expect_refusal(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &rows, &rebased), RLO_UNSUPPORTED,
                 message);
  /* Nothing is read: two guards leave no point. */
  make_bytes(3, 8, 17);
  piece.num_guards = 2;
  piece.guards[0] = (rlo_guard){.kind = RLO_GUARD_SKIP, .limit = 1};
  piece.guards[1] = (rlo_guard){.kind = RLO_GUARD_SKIP, .limit = 1};
  piece.guards[0].form.axis[0] = piece.guards[1].form.axis[0] = 1;
  piece.guards[1].form.base = -2;
  rows.base_byte = 8;
  expect_ok(rlo__problem_rebase(&piece, RLO__SIDE_SOURCE, &rows, &rebased));
}
