/* SPDX-License-Identifier: Apache-2.0 */
#include "service/piece_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "relayout/ops.h"
#include "service/piece_grid.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/sanitized.h"
#include "support/shape_of.h"
#include "support/suite.h"

static const int64_t KIB = 1024;
static const int64_t MIB = 1024 * 1024;

static rlo_problem whole;
static rlo_storage_traits file;
static rlo__piece_budget budget;
static rlo__piece_plan plan;
static rlo_problem box, piece;

static void begin(void) {
  file = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  file.granule_bytes = 1;
  file.good_read_bytes = 64 * KIB;
  file.good_write_bytes = 256 * KIB;
  file.good_depth = 8;
  budget = (rlo__piece_budget){.host_bytes = 256 * MIB,
                               .alignment_bytes = 1,
                               .piece_bytes = 64 * MIB,
                               .box_bytes = INT64_MAX,
                               .num_slots = 8};
}

RLO_FIXTURE(begin, NULL);

static rlo_status make(void) {
  return rlo__piece_plan_make(&whole, &file, &file, &budget, &plan);
}

/* Files of 8 to 16 GiB, on either side or against memory, which nobody has to
 * have. */
typedef struct large {
  const char *src, *dst, *permutation;
  int64_t host_mib;
  /** The shortest runs, of files on both sides. */
  int64_t read_run_bytes, write_run_bytes;
} large;

static const large larges[] = {
    {"f32[40000,60000]", "f32[60000,40000]", "1,0", 2048, 45000, 80000},
    {"f32[40000,60000]", "f32[60000,40000]", "1,0", 128, 6000, 32000},
    {"f32[40000,60000]", "f32[60000,40000]", "1,0", 1, 500, 1500},
    {"f32[65536,65536]", "f32[65536,65536]", "1,0", 256, 8192, 45000},
    {"f32[65536,65536]", "f32[65536,65536]", NULL, 256, 4 << 20, 32 << 20},
    {"u8[131072,131072]", "u8[131072,131072]", "1,0", 256, 4096, 22000},
    {"u4[131072,262144]{1,0:E(4)}", "u4[262144,131072]{1,0:E(4)}", "1,0", 256, 2048, 15000},
    {"f32[4096,64,128,128]", "f32[4096,128,128,64]", "0,2,3,1", 256, 4 << 20, 32 << 20},
    {"f32[64,64,64,64,16,16]", "f32[16,64,64,16,64,64]", "5,3,1,4,2,0", 256, 22000, 256 << 10},
    {"bf16[131072,65536]", "bf16[131072,65536]{1,0:T(8,128)(2,1)}", NULL, 256, 4 << 20, 32 << 20},
    {"f32[65535,65533]", "f32[65535,65533]{0,1:T(8,128)fill(zero)}", NULL, 256, 24000, 128 << 10},
    {"f32[65536,65536]", "bf16[65536,65536]{0,1}", NULL, 256, 11000, 32000},
};

/* Rows, tiles and padding: nothing but what the problem needs is moved. */
static void expect_bytes(void) {
  ck_assert_int_eq(plan.bytes_read, whole.read_bytes);
  ck_assert_int_eq(plan.bytes_written, whole.dst_bytes);
}

static void expect_budget(void) {
  ck_assert_int_le(rlo__piece_plan_staging(&plan, &budget).bytes, budget.host_bytes);
  ck_assert_int_le(plan.piece_bytes[0] + plan.piece_bytes[1], budget.piece_bytes);
  ck_assert_int_ge(plan.num_pieces, budget.num_slots);
}

/* A plan of what no machine can hold is made before anybody notices. */
static void expect_quick(const char *what) {
  double best = 1.0;
  for (int n = 0; n < 3; ++n) {
    clock_t start = clock();
    expect_ok(make());
    double seconds = (double)(clock() - start) / (double)CLOCKS_PER_SEC;
    best = seconds < best ? seconds : best;
  }
  printf("%s: %.2f ms, %" PRId64 " boxes, %" PRId64 " pieces, runs of %" PRId64 " and %" PRId64
         ", %.1f MiB\n",
         what, best * 1e3, plan.num_boxes, plan.num_pieces, plan.read_run_bytes,
         plan.write_run_bytes, (double)rlo__piece_plan_staging(&plan, &budget).bytes / (double)MIB);
  ck_assert_msg(!TEST_TIMES_COUNT || best < 0.010, "%s: %.1f ms", what, best * 1e3);
}

RLO_TABLE_TEST(test_piece_plan__large_files, larges) {
  const large *l = &larges[_i];
  test_plan_lower(l->src, l->dst, l->permutation, &whole);
  budget.host_bytes = l->host_mib * MIB;
  expect_quick(l->src);
  expect_bytes();
  expect_budget();
  ck_assert_int_ge(plan.read_run_bytes, l->read_run_bytes);
  ck_assert_int_ge(plan.write_run_bytes, l->write_run_bytes);
}

RLO_TABLE_TEST(test_piece_plan__large_files_and_memory, larges) {
  const large *l = &larges[_i];
  test_plan_lower(l->src, l->dst, l->permutation, &whole);
  budget.host_bytes = l->host_mib * MIB;
  for (int memory = 1; memory < 4; ++memory) {
    budget.is_memory[0] = memory & 1;
    budget.is_memory[1] = memory >> 1;
    expect_quick(l->src);
    expect_bytes();
    expect_budget();
    ck_assert_int_eq(plan.num_boxes, plan.num_pieces);
    ck_assert(budget.is_memory[plan.gathered]);
    if (memory == 3) {
      ck_assert_int_eq(rlo__piece_plan_staging(&plan, &budget).bytes, 0);
    } else if (l->host_mib >= 128) {
      ck_assert_int_ge(memory == 1 ? plan.write_run_bytes : plan.read_run_bytes, 32 * KIB);
    }
  }
}

/* Both halves of an example by hand: boxes of 16 x 64 elements, of which two
 * are 8 KiB, pieces of 16 x 16. */
static void make_small(void) {
  test_plan_lower("f32[64,64]", "f32[64,64]", "1,0", &whole);
  file.good_read_bytes = 64;
  file.good_write_bytes = 256;
  budget.host_bytes = 16 * KIB;
  budget.piece_bytes = 4 * KIB;
  budget.num_slots = 2;
  expect_ok(make());
}

RLO_TEST(test_piece_plan__boxes_and_pieces_in_the_order_of_memory) {
  make_small();
  ck_assert_int_gt(plan.num_boxes, 1);
  ck_assert_int_gt(plan.num_pieces, plan.num_boxes);
  int64_t last = -1;
  int64_t pieces = 0;
  for (int64_t n = 0; n < plan.num_boxes; ++n) {
    expect_ok(rlo__piece_plan_box(&plan, n, &box));
    const rlo_form *form = rlo__side_form(&box, plan.gathered);
    ck_assert_int_gt(form->base, last);
    last = form->base;
    int64_t last_of_box = -1;
    int64_t count = rlo__piece_plan_num_pieces(&plan, n);
    for (int64_t k = 0; k < count; ++k) {
      expect_ok(rlo__piece_plan_cut(&plan, n, k, &box, &piece));
      form = plan.gathered == RLO__SIDE_SOURCE ? &piece.dst : &piece.src;
      ck_assert_int_gt(form->base, last_of_box);
      last_of_box = form->base;
    }
    pieces += count;
  }
  ck_assert_int_eq(pieces, plan.num_pieces);
}

RLO_TEST(test_piece_plan__what_has_no_points_has_no_boxes) {
  test_plan_lower("f32[0,5]", "f32[5,0]", "1,0", &whole);
  budget.host_bytes = 0;
  expect_ok(make());
  ck_assert_int_eq(plan.num_boxes, 0);
  ck_assert_int_eq(plan.num_pieces, 0);
  ck_assert_int_eq(rlo__piece_plan_staging(&plan, &budget).bytes, 0);
}

/* The nibbles of a row of 5 share a byte with the next row: a piece begins with
 * every second row. */
RLO_TEST(test_piece_plan__pieces_of_nibbles_begin_with_bytes) {
  test_plan_lower("u4[5,100]{1,0:E(4)}", "u4[100,5]{1,0:E(4)}", "1,0", &whole);
  budget.host_bytes = 64;
  expect_ok(make());
  ck_assert_int_gt(plan.num_pieces, 1);
  ck_assert_int_eq(plan.bytes_written, 250);
  ck_assert_int_eq(plan.piece[0] % 2, 0);
}

RLO_TEST(test_piece_plan__a_compressed_chunk_stays_whole) {
  test_plan_lower("f32[64,64]{1,0:T(16,16)}", "f32[64,64]", NULL, &whole);
  file.granule_bytes = KIB;
  rlo_storage_traits plain = file;
  plain.granule_bytes = 1;
  budget.host_bytes = 40 * KIB;
  expect_ok(rlo__piece_plan_make(&whole, &file, &plain, &budget, &plan));
  ck_assert_int_gt(plan.num_pieces, 1);
  ck_assert_int_eq(plan.read_run_bytes % KIB, 0);
}

RLO_TEST(test_piece_plan__a_source_that_begins_within_a_granule) {
  test_plan_make(8, 1, (int64_t[]){100}, (int64_t[]){1}, (int64_t[]){1}, &whole);
  whole.src.base = 3;
  whole.src_bytes = 200;
  whole.dst_bytes = 100;
  file.granule_bytes = 8;
  budget.host_bytes = 64;
  rlo_storage_traits plain = file;
  plain.granule_bytes = 1;
  expect_ok(rlo__piece_plan_make(&whole, &file, &plain, &budget, &plan));
  ck_assert_int_gt(plan.num_pieces, 1);
  /* Two granules more than it needs, at most. */
  ck_assert_int_le(plan.bytes_read, 100 + 14 * plan.num_pieces);
}

/* No guard tells alone that all points are skipped. */
RLO_TEST(test_piece_plan__memory_of_no_byte) {
  test_plan_make(8, 2, (int64_t[]){4, 4}, (int64_t[]){1, 1}, (int64_t[]){4, 1}, &whole);
  whole.num_guards = 2;
  whole.guards[0] = (rlo_guard){RLO_GUARD_SKIP, {.base = 0, .axis = {1, 2}}, 2};
  whole.guards[1] = (rlo_guard){RLO_GUARD_SKIP, {.base = 3, .axis = {-1, -2}}, 2};
  whole.src_bytes = whole.dst_bytes = 0;
  budget.is_memory[0] = budget.is_memory[1] = true;
  expect_ok(make());
}

/* Quotients, so that parts have hulls: units are whole granules, or are read
 * with what else their granules hold. */
static const struct {
  int64_t granule_bytes;
  bool is_unit;
} hulls[] = {{1, true}, {2, true}, {4, false}, {64, false}};

RLO_TABLE_TEST(test_piece_plan__hulls_of_granules, hulls) {
  test_plan_lower("u16[90,100]{1,0:T(7,5)}", "u16[90,100]{1,0:T(8,16)}", NULL, &whole);
  file.bytes = whole.src_bytes;
  rlo_storage_traits plain = file;
  file.granule_bytes = hulls[_i].granule_bytes;
  budget.host_bytes = 16 * KIB;
  expect_ok(rlo__piece_plan_make(&whole, &plain, &plain, &budget, &plan));
  const rlo__piece_plan of_bytes = plan;
  expect_ok(rlo__piece_plan_make(&whole, &file, &plain, &budget, &plan));
  ck_assert_int_gt(plan.num_pieces, 1);
  if (hulls[_i].is_unit) {
    ck_assert_int_eq(plan.bytes_read, of_bytes.bytes_read);
    ck_assert_int_eq(plan.num_pieces, of_bytes.num_pieces);
  }
}

/* What is written is whole granules of 16 bytes, within the storage, and no more of them than
 * planned. */
static void expect_granules_written(void) {
  int64_t bytes = 0;
  for (int64_t b = 0; b < plan.num_boxes; ++b) {
    expect_ok(rlo__piece_plan_box(&plan, b, &box));
    for (int64_t p = 0; p < rlo__piece_plan_num_pieces(&plan, b); ++p) {
      expect_ok(rlo__piece_plan_cut(&plan, b, p, &box, &piece));
      const rlo_problem *written = plan.gathered == RLO__SIDE_DESTINATION ? &box : &piece;
      rlo__lattice moved;
      expect_ok(rlo__grid_moved(written, RLO__SIDE_DESTINATION, 16, file.bytes, plan.is_of_chunks,
                                &moved));
      const rlo__lattice hull = rlo__lattice_hull(&moved);
      ck_assert(rlo__lattice_is_granular(&moved, 16, file.bytes));
      ck_assert_int_le(hull.base_byte + hull.run_bytes, file.bytes);
      bytes += plan.gathered == RLO__SIDE_SOURCE || p == 0 ? rlo__lattice_bytes(&moved) : 0;
    }
  }
  ck_assert_int_ge(plan.bytes_written, bytes);
}

/* A part of one row of an axis moves the granules that the plan counts, also where the
 * guard leaves some of its points. */
RLO_TEST(test_piece_plan__granules_of_which_a_guard_leaves_some) {
  test_plan_make(32, 4, (int64_t[]){24, 2, 8, 5}, (int64_t[]){1, 120, 240, 24},
                 (int64_t[]){80, 40, 5, 1}, &whole);
  whole.num_guards = 1;
  whole.guards[0] = (rlo_guard){RLO_GUARD_SKIP, {.axis = {0, 5, 0, 1}}, 6};
  whole.src_bytes = whole.dst_bytes = 7680;
  rlo_storage_traits plain = file;
  file.granule_bytes = 16;
  file.bytes = plain.bytes = 7680;
  budget.host_bytes = KIB;
  /* Less than 5: some parts write nothing. */
  for (; whole.guards[0].limit >= 4; whole.guards[0].limit -= 2) {
    expect_ok(rlo__piece_plan_make(&whole, &plain, &file, &budget, &plan));
    ck_assert_int_gt(plan.num_boxes, 1);
    expect_granules_written();
  }
}

/* What the pieces of boxes of chunks are and read is what is planned. */
static void expect_counts_of_chunks(int64_t src_granule, int64_t dst_granule) {
  rlo_storage_traits source = file;
  source.granule_bytes = src_granule;
  source.bytes = whole.read_bytes = whole.src_bytes;
  file.granule_bytes = dst_granule;
  file.bytes = whole.dst_bytes;
  budget.host_bytes = 704;
  expect_ok(rlo__piece_plan_make(&whole, &source, &file, &budget, &plan));
  ck_assert(plan.is_of_chunks);
  int64_t num_pieces = 0;
  int64_t bytes = 0;
  for (int64_t b = 0; b < plan.num_boxes; ++b) {
    expect_ok(rlo__piece_plan_box(&plan, b, &box));
    const int64_t end = num_pieces + rlo__piece_plan_num_pieces(&plan, b);
    for (int64_t p = 0; num_pieces < end; ++p, ++num_pieces) {
      rlo__lattice moved;
      expect_ok(rlo__piece_plan_cut(&plan, b, p, &box, &piece));
      expect_ok(
          rlo__grid_moved(&piece, RLO__SIDE_SOURCE, src_granule, whole.src_bytes, true, &moved));
      bytes += rlo__lattice_bytes(&moved);
    }
  }
  ck_assert_int_eq(plan.num_pieces, num_pieces);
  ck_assert_int_ge(plan.bytes_read, bytes);
}

RLO_TEST(test_piece_plan__boxes_along_an_axis_that_repeats_chunks_read_them_again) {
  test_plan_make(32, 4, (int64_t[]){4, 11, 2, 5}, (int64_t[]){16, 0, -10, -2},
                 (int64_t[]){110, 10, 5, 1}, &whole);
  whole.num_guards = 1;
  whole.guards[0] = (rlo_guard){RLO_GUARD_PAD, {.axis = {0, 0, 5, 1}}, 7};
  whole.src.base = 19;
  whole.src_bytes = 68 * 4;
  whole.dst_bytes = 440 * 4;
  expect_counts_of_chunks(32, 2);
}

RLO_TEST(test_piece_plan__boxes_read_chunks_whose_first_points_are_skipped) {
  test_plan_make(32, 3, (int64_t[]){11, 13, 11}, (int64_t[]){11, -3, -1}, (int64_t[]){144, 1, 13},
                 &whole);
  whole.num_guards = 1;
  whole.guards[0] = (rlo_guard){RLO_GUARD_PAD, {.axis = {1}, .base = -2}, 11};
  whole.src.base = 28;
  whole.src_bytes = 139 * 4;
  whole.dst_bytes = 1584 * 4;
  expect_counts_of_chunks(32, 1);
}

RLO_TEST(test_piece_plan__boxes_of_chunks_share_more_values_than_one) {
  /* A quotient of 2 a + b, along whose values the source steps by 16 bytes. */
  test_plan_make(8, 2, (int64_t[]){100, 9}, (int64_t[]){2, 1}, (int64_t[]){9, 1}, &whole);
  whole.num_terms = 1;
  whole.terms[0] = (rlo_term){.kind = RLO_TERM_QUOTIENT, .form = {.axis = {2, 1}}, .divisor = 3};
  whole.src.term[0] = 13;
  whole.src_bytes = 16 * 69;
  whole.dst_bytes = 900;
  expect_counts_of_chunks(16, 9);
}

/* Memory for the whole is not enough where a box may not have it. */
RLO_TEST(test_piece_plan__the_least_memory_of_chunks_is_of_boxes_within_the_budget) {
  test_plan_make(8, 2, (int64_t[]){4, 5}, (int64_t[]){0, 0}, (int64_t[]){5, 1}, &whole);
  whole.num_guards = 2;
  whole.guards[0] = (rlo_guard){RLO_GUARD_SKIP, {.axis = {1, 0}}, 1};
  whole.guards[1] = (rlo_guard){RLO_GUARD_SKIP, {.axis = {0, 1}}, 1};
  whole.src_bytes = 16;
  whole.dst_bytes = 26;
  rlo_storage_traits source = file;
  source.granule_bytes = 6;
  source.bytes = 21;
  file.bytes = 33;
  budget.alignment_bytes = 64;
  budget.piece_bytes = 4;
  budget.box_bytes = 6;
  budget.host_bytes = 4;
  expect_refusal_with(rlo__piece_plan_make(&whole, &source, &file, &budget, &plan),
                      RLO_OUT_OF_RANGE, "suffices is 192");
  budget.host_bytes = 192;
  expect_ok(rlo__piece_plan_make(&whole, &source, &file, &budget, &plan));
}

/* A guard skips the last part, which would lie beyond the storage. */
RLO_TEST(test_piece_plan__a_skipped_part_beyond_the_storage) {
  test_plan_make(24, 2, (int64_t[]){3, 2}, (int64_t[]){2, 1}, (int64_t[]){12, 6}, &whole);
  whole.num_guards = 1;
  whole.guards[0] = (rlo_guard){RLO_GUARD_SKIP, {.axis = {2, 1}}, 5};
  whole.src_bytes = 18;
  whole.dst_bytes = 75;
  rlo_storage_traits plain = file;
  file.granule_bytes = 6;
  file.bytes = 75;
  budget.host_bytes = 12;
  expect_ok(rlo__piece_plan_make(&whole, &plain, &file, &budget, &plan));
  ck_assert_int_ge(plan.bytes_written, 27);
}

RLO_TEST(test_piece_plan__the_last_granule_ends_with_the_storage) {
  test_plan_make(8, 1, (int64_t[]){100}, (int64_t[]){1}, (int64_t[]){1}, &whole);
  whole.src_bytes = whole.dst_bytes = 100;
  file.granule_bytes = 8;
  file.bytes = 100;
  budget.host_bytes = 64;
  expect_ok(make());
  ck_assert_int_gt(plan.num_pieces, 1);
  ck_assert_int_eq(plan.bytes_written, 100);
  /* There the last granule has further bytes. */
  file.bytes = 104;
  expect_ok(make());
  ck_assert_int_gt(plan.num_pieces, 1);
  ck_assert_int_eq(plan.bytes_written, 104);
}

/* Parts of equal extents, of which the end of the storage cuts the granule of one. */
RLO_TEST(test_piece_plan__a_granule_of_equal_parts_ends_with_the_storage) {
  for (int64_t step = -2; step <= 2; step += 4) {
    test_plan_make(32, 1, (int64_t[]){6}, (int64_t[]){1}, (int64_t[]){step}, &whole);
    whole.dst.base = step < 0 ? 10 : 0;
    whole.src_bytes = 24;
    whole.dst_bytes = 44;
    rlo_storage_traits plain = file;
    plain.bytes = 24;
    rlo_storage_traits granular = file;
    granular.granule_bytes = 8;
    granular.bytes = 44;
    budget.host_bytes = 24;
    expect_ok(rlo__piece_plan_make(&whole, &plain, &granular, &budget, &plan));
    ck_assert_int_eq(plan.num_pieces, 6);
    ck_assert_int_eq(plan.bytes_written, 44);
  }
}

RLO_TEST(test_piece_plan__granules_with_gaps_end_with_the_storage) {
  test_plan_make(32, 2, (int64_t[]){3, 3}, (int64_t[]){3, 1}, (int64_t[]){12, 1}, &whole);
  whole.src_bytes = whole.read_bytes = 36;
  whole.dst_bytes = 108;
  const rlo_storage_traits plain = file;
  file.granule_bytes = 16;
  for (file.bytes = 108; file.bytes <= 112; file.bytes += 4) {
    expect_ok(rlo__piece_plan_make(&whole, &plain, &file, &budget, &plan));
    expect_granules_written();
    expect_ok(make());
    expect_granules_written();
  }
}

/** A relayout between two memories, cut for devices that share them. */
typedef struct shared {
  const char *src, *dst, *permutation;
  int32_t num_slots;
  int64_t num_pieces;
  /** Along one axis, so that the runs on both sides stay this long. */
  int64_t run_bytes;
} shared;

static const shared shareds[] = {
    {"f32[7264,7264]", "f32[7264,7264]", "1,0", 4, 4, 7000},
    {"u8[14465,7233]", "u8[7233,14465]", "1,0", 4, 4, 1800},
    /* The short axes that are innermost on a side are not cut. */
    {"f32[96,75,75,96]", "f32[96,75,75,96]", "3,2,1,0", 4, 4, 384},
    /* No piece has more than 64 MiB. */
    {"f32[16384,16384]", "f32[16384,16384]", "1,0", 6, 18, 3600},
    /* The long axis in the middle. */
    {"f32[3,2000000,5]", "f32[5,2000000,3]", "2,1,0", 6, 6, 12},
    {"f32[16,16]", "f32[16,16]", "1,0", 4, 1, 64},
};

RLO_TABLE_TEST(test_piece_plan__equal_pieces_for_devices_that_share_memory, shareds) {
  const shared *c = &shareds[_i];
  test_plan_lower(c->src, c->dst, c->permutation, &whole);
  budget.piece_bytes = INT64_MAX;
  budget.is_memory[0] = budget.is_memory[1] = true;
  budget.num_slots = c->num_slots;
  expect_ok(make());
  ck_assert_int_eq(plan.num_pieces, c->num_pieces);
  ck_assert_int_ge(plan.read_run_bytes, c->run_bytes);
  ck_assert_int_ge(plan.write_run_bytes, c->run_bytes);
  int64_t most = plan.piece_bytes[RLO__SIDE_DESTINATION];
  ck_assert_int_le(most, 64 * MIB);
  ck_assert_int_le(most * c->num_pieces, whole.dst_bytes / 16 * 17 + 64);
}

/* Each part of a triangle has other bytes: more regions than are looked at. */
RLO_TEST(test_piece_plan__parts_that_all_differ) {
  enum { SIZE = 4000 };

  whole = (rlo_problem){.unit_bits = 8,
                        .num_axes = 2,
                        .num_guards = 1,
                        .extents = {SIZE, SIZE},
                        .src_bytes = SIZE * SIZE,
                        .dst_bytes = SIZE * SIZE};
  whole.src.axis[0] = whole.dst.axis[1] = 1;
  whole.src.axis[1] = whole.dst.axis[0] = SIZE;
  whole.guards[0].kind = RLO_GUARD_SKIP;
  whole.guards[0].limit = SIZE;
  whole.guards[0].form.axis[0] = 1;
  whole.guards[0].form.axis[1] = -1;
  budget.host_bytes = 256 << 10;
  expect_ok(make());
  ck_assert_int_gt(plan.num_pieces, 100);
}

RLO_TEST(test_piece_plan__refusals) {
  test_plan_lower("f32[64,64]", "f32[64,64]", "1,0", &whole);
  budget.host_bytes = 11;
  expect_refusal(make(), RLO_OUT_OF_RANGE,
                 "the budget is 11 bytes of staging memory; the least that "
                 "suffices is 12");
  budget.host_bytes = 12;
  expect_ok(make());
  ck_assert_int_eq(rlo__piece_plan_staging(&plan, &budget).bytes, 12);
  ck_assert_int_eq(rlo__piece_plan_staging(&plan, &budget).num_slots, 1);
}

/* A slice that begins within a tile: the guard counts tiles and what is inside
 * of them as one axis. Unguarded, its first and last tiles reach into the rows
 * before and after. */
RLO_TEST(test_piece_plan__a_slice_of_tiles) {
  rlo_shape src = test_shape_of("f32[20000,65536]{1,0:T(8,128)}");
  rlo_problem_list *list;
  rlo_chain *chain = test_chain_of(&src);
  expect_ok(rlo_chain_slice(chain, (int64_t[]){5, 77}, (int64_t[]){19995, 65077}, NULL));
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  whole = *rlo_problem_list_get(list, 0);
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
  expect_quick("slice");
  ck_assert_int_gt(plan.problem.num_guards, 0);
  ck_assert_int_eq(plan.bytes_written, INT64_C(4) * 19990 * 65000);
  /* The tiles at the edges of the slice are read whole. */
  ck_assert_int_eq(plan.bytes_read, INT64_C(4) * 20000 * 65152);
  ck_assert_int_gt(plan.num_boxes, 1);
  expect_budget();
}
