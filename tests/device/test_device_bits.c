/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/threshold.h"
#include "relayout/ops.h"
#include "runtime/context.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/permutation.h"
#include "support/random_shape.h"
#include "support/shape_of.h"

/*
 * Elements that are not 1, 2, 4, 8 or 16 bytes, on both classes of device:
 * packed ones of 1, 2 and 4 bits, and others of any number of bits or bytes.
 * Whole memories are compared with the host's, so that a bit outside of the
 * cells, in the same byte or behind the last one, is seen. Almost each case is
 * a program of its own.
 */

static void begin_file(void) {
  open_device();
}

static void end_file(void) {
  test_device_optimise(true);
  close_device();
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_TIMEOUT(600);

typedef struct bits_case {
  const char *src;
  const char *dst;
  const char *permutation;
  rlo_device_class device_class;
  /** The family that the planner chooses. */
  const char *family;
  /** Bytes before each side. */
  int64_t src_shift, dst_shift;
} bits_case;

#define CPU RLO_DEVICE_CLASS_CPU
#define GPU RLO_DEVICE_CLASS_GPU

static void run_case(const bits_case *c) {
  rlo_shape src = test_shape_of(c->src);
  rlo_shape dst = test_shape_of(c->dst);
  int32_t permutation[RLO_MAX_RANK];
  test_parse_permutation(c->permutation, dst.rank, permutation);
  const test_case run = {.src = &src,
                         .dst = &dst,
                         .permutation = permutation,
                         .device_class = c->device_class,
                         .src_shift_bytes = c->src_shift,
                         .dst_shift_bytes = c->dst_shift};
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  ck_assert_int_eq(test_device_run(&device, &run, &info), TEST_RAN);
  if (c->family != NULL) {
    /* On GPUs tiles go through local memory. */
    const bool has_tiles =
        c->device_class == CPU || device.context->device_info.local_memory_bytes > 0;
    ck_assert_msg(strcmp(info.family, has_tiles ? c->family : "bits") == 0, "%s to %s: %s", c->src,
                  c->dst, info.family);
  }
}

#define RUN_CASES(table)                                          \
  for (size_t n = 0; n < sizeof(table) / sizeof(table)[0]; ++n) { \
    run_case(&(table)[n]);                                        \
  }

// clang-format off
/* Transpositions between whole bytes: rows are joined. Planes have whole blocks
 * of 64 bytes, and edges. */
static const bits_case joined[] = {
    {"s4[300,212]{1,0:E(4)}", "s4[212,300]{1,0:E(4)}", "1,0", CPU, "tile",
     0, 0},
    {"s4[300,212]{1,0:E(4)}", "s4[212,300]{1,0:E(4)}", "1,0", CPU, "tile",
     1, 3},
    {"u2[300,600]{1,0:E(2)}", "u2[600,300]{1,0:E(2)}", "1,0", CPU, "tile",
     0, 0},
    {"u1[1040,520]{1,0:E(1)}", "u1[520,1040]{1,0:E(1)}", "1,0", CPU, "tile",
     5, 0},
    /* Guards along both sides: elements beside the array. */
    {"u2[296,520]{1,0:E(2)}", "u2[296,520]{0,1:E(2)pad(300,528)fill(one)}", "",
     CPU, "tile", 0, 7},
    {"s4[304,400]{1,0:E(4)}", "s4[400,304]{1,0:E(4)}", "1,0", GPU, "tile",
     0, 0},
    {"u1[176,88]{1,0:E(1)}", "u1[176,88]{0,1:E(1)pad(184,96)fill(one)}", "", GPU,
     "tile", 3, 1},
    /* A side of several axes. */
    {"s4[150,16,12]{2,1,0:E(4)}", "s4[16,12,150]{2,1,0:E(4)}", "1,2,0", CPU,
     "tile", 0, 0},
};

/* Rows that begin anywhere in a byte: joined as well, but for the bytes in which
 * they meet. */
static const bits_case odd[] = {
    {"s4[301,213]{1,0:E(4)}", "s4[213,301]{1,0:E(4)}", "1,0", CPU, "tile",
     1, 3},
    {"u2[301,603]{1,0:E(2)}", "u2[603,301]{1,0:E(2)}", "1,0", CPU, "tile",
     0, 5},
    {"u1[1043,529]{1,0:E(1)}", "u1[529,1043]{1,0:E(1)}", "1,0", CPU, "tile",
     5, 0},
    /* Planes that meet within a byte, rows of one plane that do not follow each
     * other, and both. */
    {"s4[3,137,151]{2,1,0:E(4)}", "s4[3,151,137]{2,1,0:E(4)}", "0,2,1", CPU,
     "tile", 0, 0},
    {"u2[263,3,291]{2,1,0:E(2)}", "u2[291,3,263]{2,1,0:E(2)}", "2,1,0", CPU,
     "tile", 0, 0},
    {"u1[3,531,5,523]{3,2,1,0:E(1)}", "u1[523,3,5,531]{3,2,1,0:E(1)}",
     "3,0,2,1", CPU, "tile", 3, 0},
    /* Gaps between rows and planes, which are kept, and views into larger ones. */
    {"s4[133,151]{:E(4)strides(155,1)offset(3)}",
     "s4[133,151]{:E(4)strides(1,135)offset(7)}", "", CPU, "tile", 0, 0},
    {"u2[3,263,267]{:E(2)strides(70301,-267,1)offset(69954)}",
     "u2[3,263,267]{:E(2)strides(71001,1,265)offset(1)}", "", CPU, "tile", 0, 2},
    /* Rows of whole bytes on one side only. */
    {"s4[134,151]{:E(4)strides(151,1)offset(1)}",
     "s4[134,151]{:E(4)strides(1,140)offset(4)}", "", CPU, "tile", 0, 0},
};

/* The same, short. */
static const bits_case odd_short[] = {
    {"s4[5,77]{1,0:E(4)}", "s4[77,5]{1,0:E(4)}", "1,0", CPU, "tile", 1, 0},
    {"s4[7,13,9]{2,1,0:E(4)}", "s4[9,13,7]{2,1,0:E(4)}", "2,1,0", CPU, "tile",
     0, 0},
    {"u2[9,3,131]{2,1,0:E(2)}", "u2[3,131,9]{2,1,0:E(2)}", "1,2,0", CPU, "tile",
     0, 1},
    {"u2[3,65,11]{:E(2)strides(800,12,1)offset(3)}",
     "u2[3,65,11]{:E(2)strides(751,1,67)offset(2)}", "", CPU, "tile", 0, 0},
    {"u1[17,5,3,19]{3,2,1,0:E(1)}", "u1[19,5,3,17]{3,2,1,0:E(1)}", "3,1,2,0",
     CPU, "tile", 0, 0},
    {"u1[33,31]{1,0:E(1)}", "u1[31,33]{1,0:E(1)}", "1,0", CPU, "tile", 3, 1},
};

/* The same past the caches, with several tiles along either side. */
static const bits_case odd_large[] = {
    {"s4[2313,2311]{1,0:E(4)}", "s4[2311,2313]{1,0:E(4)}", "1,0", CPU, "tile",
     0, 0},
    {"u1[4103,5001]{1,0:E(1)}", "u1[5001,4103]{1,0:E(1)}", "1,0", CPU, "tile",
     2, 1},
    {"u2[5,1031,3331]{2,1,0:E(2)}", "u2[5,3331,1031]{2,1,0:E(2)}", "0,2,1", CPU,
     "tile", 0, 9},
};

/* The same by a compiler that does not know how to shuffle vectors. The problems
 * are others, since a context remembers what it planned. */
static const bits_case joined_plainly[] = {
    {"s4[140,134]{1,0:E(4)}", "s4[134,140]{1,0:E(4)}", "1,0", CPU, "tile", 0,
     2},
    {"u1[528,520]{1,0:E(1)}", "u1[520,528]{1,0:E(1)}", "1,0", CPU, "tile", 0,
     0},
    {"u2[288,264]{1,0:E(2)}", "u2[288,264]{0,1:E(2)pad(292,272)fill(one)}", "",
     CPU, "tile", 1, 0},
    {"s4[135,131]{1,0:E(4)}", "s4[131,135]{1,0:E(4)}", "1,0", CPU, "tile", 0,
     2},
};

/* Everything else. */
static const bits_case others[] = {
    /* Odd rows begin within bytes, and so do their runs. */
    {"s4[3,77]{1,0:E(4)}", "s4[77,3]{1,0:E(4)}", "1,0", CPU, "bits", 1, 2},
    {"u2[37,5,91]{2,1,0:E(2)}", "u2[5,37,91]{2,1,0:E(2)}", "1,0,2", GPU, "bits",
     0, 0},
    /* Tiles that overhang, on either side, and that do not divide each other. */
    {"u2[20,301]{1,0:T(8,128)E(2)}", "u2[20,301]{1,0:E(2)}", "", CPU, "bits",
     0, 1},
    {"u1[23,45]{1,0:E(1)}", "u1[45,23]{1,0:T(4,8)E(1)fill(one)}", "1,0", GPU,
     "bits", 3, 0},
    {"s2[6,3]{1,0:T(4,2)(2,5)E(2)}", "s2[3,6]{1,0:T(2,2)(*,4)E(2)}", "1,0", GPU,
     "bits", 9, 4},
    {"s4[41]{0:T(8)E(4)}", "s4[41]{0:T(3)E(4)fill(one)}", "", CPU, "bits", 0, 0},
    /* Rows that are padded: with a fill, and with what was there. */
    {"u1[7,13,11]{2,1,0:E(1)}", "u1[11,7,13]{2,1,0:E(1)pad(12,9,15)fill(one)}",
     "2,0,1", CPU, "bits", 0, 0},
    {"s4[19,21]{1,0:E(4)pad(20,23)}", "s4[19,21]{1,0:E(4)pad(21,25)}", "", GPU,
     "bits", 0, 5},
    /* Views: reversed, and spread so far that rows are mostly gaps. */
    {"s4[9,15]{:E(4)strides(15,-1)offset(14)}", "s4[9,15]{:E(4)strides(100,3)}",
     "", CPU, "bits", 0, 0},
    /* Rows of a byte, which are not joined. */
    {"u1[8,16]{1,0:E(1)}", "u1[8,16]{0,1:E(1)}", "", CPU, "bits", 0, 3},
    /* Rows that meet within a byte. */
    {"u2[64,3]{1,0:E(2)}", "u2[64,3]{:E(2)strides(5,1)offset(3)}", "", GPU,
     "bits", 0, 0},
    /* No power of two of bits: as several that are. */
    {"u8[50,7]{1,0:E(24)}", "u8[7,50]{1,0:E(24)}", "1,0", CPU, NULL, 2, 5},
    {"f32[50,7]{1,0:E(40)}", "f32[7,50]{1,0:E(40)}", "1,0", GPU, NULL, 4, 9},
    {"f32[50,7]{1,0:E(48)}", "f32[50,7]{0,1:E(48)}", "", CPU, NULL, 2, 8},
    {"f64[50,7]{1,0:E(96)}", "f64[50,7]{0,1:E(96)}", "", GPU, NULL, 8, 20},
    {"u8[50,7]{1,0:E(12)}", "u8[7,50]{1,0:E(12)}", "1,0", CPU, "bits", 0, 0},
    /* And with a fill that differs from part to part. */
    {"u8[50,7]{1,0:E(24)}", "u8[50,7]{1,0:E(24)pad(53,9)fill(highest)}", "",
     CPU, "bits", 2, 5},
    {"f64[5,7]{1,0:E(96)}", "f64[5,7]{0,1:E(96)pad(6,8)fill(one)}", "", GPU,
     "bits", 8, 20},
    {"u8[11,3]{1,0:E(9)}", "u8[11,3]{0,1:E(9)pad(12,5)fill(one)}", "", CPU,
     "bits", 0, 0},
};

// clang-format on

RLO_TEST(test_device_bits__joined_rows_are_exact) {
  test_device_optimise(false);
  RUN_CASES(joined);
}

RLO_TEST(test_device_bits__odd_rows_are_exact) {
  test_device_optimise(false);
  RUN_CASES(odd);
}

RLO_TEST(test_device_bits__short_odd_rows_are_exact) {
  const int64_t threshold = rlo__thresholds.plan_cpu_odd_row_bytes;
  test_device_optimise(false);
  rlo__thresholds.plan_cpu_odd_row_bytes = 2;
  RUN_CASES(odd_short);
  rlo__thresholds.plan_cpu_odd_row_bytes = threshold;
}

RLO_TEST(test_device_bits__large_odd_rows_are_exact) {
  test_device_optimise(false);
  RUN_CASES(odd_large);
}

RLO_TEST(test_device_bits__joined_rows_are_exact_without_shuffles) {
  test_device_optimise(false);
  bool *has_shuffle = &device.context->device_info.has_vector_shuffle;
  const bool own = *has_shuffle;
  *has_shuffle = false;
  RUN_CASES(joined_plainly);
  *has_shuffle = own;
}

RLO_TEST(test_device_bits__any_bits_are_exact) {
  test_device_optimise(false);
  RUN_CASES(others);
}

/* Draws a packed type, now and then one that is no power of two of bits. */
static rlo_dtype draw_type(test_random *random, int32_t *out_bits) {
  static const struct {
    rlo_dtype dtype;
    int32_t bits;
  } types[] = {{RLO_DTYPE_S4, 4}, {RLO_DTYPE_U2, 2}, {RLO_DTYPE_U1, 1},  {RLO_DTYPE_U4, 4},
               {RLO_DTYPE_S2, 2}, {RLO_DTYPE_U2, 3}, {RLO_DTYPE_U8, 24}, {RLO_DTYPE_U8, 11}};

  int32_t n = (int32_t)test_random_in(random, 0, 7);
  *out_bits = types[n].bits;
  return types[n].dtype;
}

RLO_TEST(test_device_bits__random_layouts_are_exact) {
  const int32_t cases = test_case_count(1000, 4, 1);
  test_random random = test_random_begin("test_device_bits");
  test_device_optimise(false);
  for (int32_t i = 0; i < cases; ++i) {
    uint64_t case_seed = random.state;
    int32_t bits = 0;
    rlo_dtype dtype = draw_type(&random, &bits);
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random, dtype, (int32_t)test_random_in(&random, 1, 5),
                     test_is_short() ? 300 : 20000, &src, &dst, permutation);
    src.layout.element_size_bits = bits;
    dst.layout.element_size_bits = bits;
    /* Memory begins at a multiple of an element of whole bytes. */
    int64_t bytes = bits % 8 == 0 ? bits / 8 : 1;
    int64_t least = bytes - 1 - (TEST_GUARD_BYTES - 1) % bytes;
    const test_case run = {.src = &src,
                           .dst = &dst,
                           .permutation = permutation,
                           .device_class = test_random_once_in(&random, 2) ? CPU : GPU,
                           .src_shift_bytes = least + bytes * test_random_in(&random, 0, 9),
                           .dst_shift_bytes = least + bytes * test_random_in(&random, 0, 9)};
    ck_assert_msg(test_device_run(&device, &run, NULL) == TEST_RAN,
                  "case %d: RELAYOUT_TEST_SEED=%llu makes it the first", (int)i,
                  (unsigned long long)case_seed);
  }
}

/* pad(slice(x)) and what is beside it: problems of one chain, the second of
 * which leaves the first one's cells alone. */
RLO_TEST(test_device_bits__chains_are_exact) {
  test_device_optimise(false);
  rlo_shape shape = test_shape_of("s4[9,31]{1,0:E(4)}");
  const int64_t begin[] = {1, 3};
  const int64_t end[] = {9, 30};
  const int64_t step[] = {2, 1};
  const int64_t low[] = {1, 2};
  const int64_t high[] = {0, 5};
  const uint8_t value = 7;
  rlo_problem_list *problems = NULL;
  rlo_chain *chain = test_chain_of(&shape);
  expect_ok(rlo_chain_slice(chain, begin, end, step));
  expect_ok(rlo_chain_pad(chain, low, high, NULL, &value));
  shape = test_shape_of("s4[3,34]{0,1:E(4)}");
  rlo_chain *beside = test_chain_of(&shape);
  const rlo_chain *const others_of[] = {beside};
  expect_ok(rlo_chain_concatenate(chain, others_of, 1, 0));
  rlo_shape dst = test_shape_of("s4[8,34]{0,1:T(3,5)E(4)fill(one)}");
  expect_ok(rlo_chain_lower(chain, &dst, &problems));
  int32_t count = rlo_problem_list_count(problems);
  ck_assert_int_ge(count, 2);
  for (int32_t n = 0; n < count; ++n) {
    const test_case run = {.device_class = n % 2 == 0 ? CPU : GPU};
    ck_assert_int_eq(test_device_run_problem(&device, rlo_problem_list_get(problems, n), &run,
                                             "a problem of a chain", NULL),
                     TEST_RAN);
  }
  rlo_problem_list_release(problems);
  rlo_chain_release(beside);
  rlo_chain_release(chain);
}

/* The first points lie in front of the destination; a guard that no axis alone
 * decides skips them. */
RLO_TEST(test_device_bits__skipped_points_lie_before_the_first_byte) {
  test_device_optimise(false);
  rlo_problem problem;
  memset(&problem, 0, sizeof problem);
  problem.unit_bits = 3;
  problem.num_axes = 2;
  problem.extents[0] = 9;
  problem.extents[1] = 8;
  problem.src.axis[0] = 8;
  problem.src.axis[1] = 1;
  problem.dst.base = -3;
  problem.dst.axis[0] = 9;
  problem.dst.axis[1] = 1;
  problem.num_guards = 1;
  problem.guards[0].kind = RLO_GUARD_SKIP;
  problem.guards[0].form.base = -3;
  problem.guards[0].form.axis[0] = 8;
  problem.guards[0].form.axis[1] = 1;
  problem.guards[0].limit = 60;
  problem.src_bytes = 27;
  problem.dst_bytes = 30;
  for (int32_t n = 0; n < 2; ++n) {
    const test_case run = {.device_class = n == 0 ? CPU : GPU};
    rlo_plan_info info = RLO_PLAN_INFO_INIT;
    ck_assert_int_eq(test_device_run_problem(&device, &problem, &run, "skipped points", &info),
                     TEST_RAN);
    ck_assert_str_eq(info.family, "bits");
  }
}

RLO_TEST(test_device_bits__says_what_it_cannot) {
  rlo_problem problem;
  rlo_plan *plan = NULL;
  memset(&problem, 0, sizeof problem);
  /* Two rows of three cells that share one, which the first does not write:
   * no guard says so along one axis. */
  problem.unit_bits = 4;
  problem.num_axes = 2;
  problem.extents[0] = 2;
  problem.extents[1] = 3;
  problem.src.axis[0] = 3;
  problem.src.axis[1] = 1;
  problem.dst.axis[0] = 2;
  problem.dst.axis[1] = 1;
  problem.num_guards = 1;
  problem.guards[0].kind = RLO_GUARD_SKIP;
  problem.guards[0].form.base = 1;
  problem.guards[0].form.axis[0] = 5;
  problem.guards[0].form.axis[1] = -1;
  problem.guards[0].limit = 7;
  problem.src_bytes = 3;
  problem.dst_bytes = 3;
  ck_assert_int_eq(rlo_plan_create(device.context, &problem, NULL, &plan), RLO_UNSUPPORTED);
  char expected[160];
  snprintf(expected, sizeof expected,
           "every kernel family of class %s refuses the problem; "
           "bits: its axes overlap in the destination",
           device.context->device_info.device_class == CPU ? "CPU" : "GPU");
  ck_assert_str_eq(rlo_error_last()->message, expected);
}

RLO_TEST(test_device_bits__programs) {
  expect_programs_within(48);
}
