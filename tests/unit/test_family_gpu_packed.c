/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/family.h"
#include "plan/gpu_stage.h"
#include "plan/planner.h"
#include "relayout/ops.h"
#include "support/plan_case.h"
#include "support/random_shape.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo__launch launch;
static rlo__choice choice;
static rlo_device_info device;

static void begin(void) {
  device = test_plan_gpu();
}

RLO_FIXTURE(begin, NULL);
RLO_TIMEOUT(100);

static rlo_status plan_for(const char *family) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  return test_plan_choose(&problem, &device, &options, 0, 0, &choice, &launch);
}

/* Words of 16 bytes, or of 8 where lanes would meet in banks, wherever the
 * destination has runs; shifted only where these may begin anywhere. */
RLO_TEST(test_family_gpu_packed__words_are_shifted_only_where_runs_are) {
  static const struct {
    const char *src, *dst;
    int64_t word_units, is_shifted;
  } table[] = {
      {"u8[64,4]{1,0}", "u8[64,4]{0,1}", 16, 0},
      {"u8[64,3]{1,0}", "u8[64,3]{0,1}", 16, 0},
      {"u8[63,4]{1,0}", "u8[63,4]{0,1}", 16, 1},
      {"u8[65,4]{1,0}", "u8[65,4]{0,1}", 16, 1},
      {"u8[63,3]{1,0}", "u8[63,3]{0,1}", 8, 1},
      {"u16[64,3]{1,0}", "u16[64,3]{0,1}", 8, 0},
      {"u16[33,3]{1,0}", "u16[33,3]{0,1}", 8, 1},
      {"u8[3,64]{1,0}", "u8[3,64]{0,1}", 16, 0},
      {"u8[64,4]{1,0:pad(64,8)}", "u8[64,4]{0,1}", 16, 0},
      {"u8[64,4]{1,0}", "u8[64,4]{:strides(2,130)}", 1, 0},
      {"u8[64,4]{1,0}", "u8[64,4]{:strides(1,68)}", 16, 1},
      {"u8[64,4]{1,0}", "u8[64,4]{:strides(1,66)}", 16, 1},
      {"u8[64,4]{1,0}", "u8[64,4]{:strides(1,68)offset(2)}", 16, 1},
      {"f32[64,4]{1,0}", "f32[64,4]{0,1}", 4, 0},
      /* Of four copies: the distance between them counts too. */
      {"u8[64,500,64]", "u8[64,500,64]{0,1,2}", 16, 0},
      {"u8[64,500,64]", "u8[64,500,64]{:strides(1,68,34000)}", 16, 1},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    test_plan_lower(table[n].src, table[n].dst, NULL, &problem);
    ck_assert_int_eq(plan_for("packed"), RLO_OK);
    ck_assert_msg(
        test_plan_define(&launch, "RLO_WORD_UNITS") == table[n].word_units &&
            test_plan_define(&launch, "RLO_SHIFT") == table[n].is_shifted,
        "case %d: %s",
        (int)n,
        launch.parameters);
  }
}

/* Reads beyond the source's memory are harmless to most devices, and to others
 * not: the kernel cuts off what these numbers, in bytes from the first point,
 * say of a block. Here it is the whole box. */
RLO_TEST(test_family_gpu_packed__says_how_far_a_block_reads) {
  enum { BLOCK_LOW = 13, BLOCK_HIGH };

  static const int64_t extents[] = {5, 4, 7};
  static const int64_t src_strides[] = {1, -5, 20};
  static const int64_t dst_strides[] = {28, 7, 1};
  test_plan_make(32, 3, extents, src_strides, dst_strides, &problem);
  problem.src.base = 15;
  ck_assert_int_eq(plan_for("packed"), RLO_OK);
  ck_assert_int_eq(launch.numbers[launch.arguments[BLOCK_LOW].first], -15 * 4);
  ck_assert_int_eq(launch.numbers[launch.arguments[BLOCK_HIGH].first],
                   (4 + 6 * 20 + 1) * 4);
}

/* The distance between the source's runs in local memory. */
static void lay_out(int64_t columns, int64_t rows, rlo__gpu_stage *out_stage) {
  const int64_t extents[] = {columns, rows};
  const int64_t src_strides[] = {1, columns};
  const int64_t dst_strides[] = {rows, 1};
  test_plan_make(32, 2, extents, src_strides, dst_strides, &problem);
  rlo__family_query query = {.problem = &problem,
                             .device = &device,
                             .src_alignment_bytes = 64,
                             .dst_alignment_bytes = 64};
  rlo__gpu_block block = {.num_axes = 2,
                          .axes = {{0, 32}, {1, 32}},
                          .by_dst = {1, 0},
                          .repeat_axis = -1,
                          .repeat = 1};
  const rlo__gpu_word word = {.units = 1, .loads = 1, .instructions = 4};
  ck_assert(rlo__gpu_stage_lay_out(&query, &block, 24576, word, out_stage));
}

RLO_TEST(test_family_gpu_packed__lanes_meet_in_few_banks) {
  rlo__gpu_stage stage;
  /* Columns of words at multiples of 128 bytes: without padding all lanes would
   * want one bank. */
  lay_out(4096, 4096, &stage);
  ck_assert_int_eq(stage.read_bytes, 16);
  ck_assert_int_ne(stage.local_strides[1] % 32, 0);
  /* An odd distance is as good as padding, and keeps pieces whole. */
  lay_out(4097, 4097, &stage);
  ck_assert_int_eq(stage.store_bytes, 16);
  ck_assert_int_eq(stage.local_strides[1] % 16, 4);
  /* Whole pieces bring up to 12 bytes along from before a run: they must not
   * fall on the run before it, whichever lane is first. */
  ck_assert_int_ge(stage.local_strides[1], 32 * 4 + 12);
}

/* A lane for a piece that no run has would be idle. */
RLO_TEST(test_family_gpu_packed__runs_have_no_more_pieces_than_they_touch) {
  rlo__gpu_stage stage;
  lay_out(4096, 4096, &stage);
  ck_assert_int_eq(stage.extents[0], 32 * 4 / 16);
  ck_assert_int_eq(stage.pieces, 32 * stage.extents[0]);
  /* Those that begin anywhere touch a part of one more. */
  lay_out(4097, 4097, &stage);
  ck_assert_int_eq(stage.extents[0], 32 * 4 / 16 + 1);
  ck_assert_int_eq(stage.pieces, 32 * stage.extents[0]);
}

/* What is expected of a block follows from its points, and not from which of
 * its axes has them. */
RLO_TEST(test_family_gpu_packed__blocks_are_rated_by_their_points) {
  static const int64_t extents[] = {1024, 1024};
  static const int64_t src_strides[] = {1, 1024};
  static const int64_t dst_strides[] = {1024, 1};
  test_plan_make(32, 2, extents, src_strides, dst_strides, &problem);
  const rlo__family_query query = {.problem = &problem, .device = &device};
  rlo__gpu_block block = {.num_axes = 2,
                          .by_dst = {1, 0},
                          .repeat_axis = -1,
                          .repeat = 1,
                          .src_run_bytes = 128,
                          .dst_run_bytes = 128,
                          .dst_begin_bytes = 32,
                          .src_share = 1.0,
                          .dst_share = 1.0,
                          .fullness = 1.0};
  double rates[3];
  for (int n = 0; n < 3; ++n) {
    static const int64_t sizes[3][2] = {{32, 32}, {1024, 1}, {32, 8}};
    block.axes[0] = (rlo__gpu_block_axis){0, sizes[n][0]};
    block.axes[1] = (rlo__gpu_block_axis){1, sizes[n][1]};
    rates[n] = rlo__gpu_block_rate(&query, &block, 256, 16, 1.0);
    ck_assert(rates[n] > 0.0 && rates[n] < 1.0);
  }
  ck_assert_double_eq(rates[0], rates[1]);
  ck_assert_double_lt(rates[2], rates[0]);
}

RLO_TEST(test_family_gpu_packed__says_why_it_refuses) {
  static const struct {
    const char *src, *dst, *reason;
    int64_t local_memory_bytes;
  } table[] = {
      {"f32[9]{:strides(3)offset(0)}",
       "f32[9]",
       "1 axes; no two of them fit into 16384 bytes of local memory",
       49152},
      {"f32[9,5]{1,0}",
       "f32[9,5]{0,1}",
       "2 axes; no two of them fit into 2 bytes of local memory",
       4},
      {"f32[24,29]{0,1:T(5,4)}",
       "f32[24,29]{1,0:T(3,2)}",
       "2 quotients are left, which only gather computes",
       49152},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    device.local_memory_bytes = table[n].local_memory_bytes;
    test_plan_lower(table[n].src, table[n].dst, NULL, &problem);
    ck_assert_int_eq(plan_for("packed"), RLO_UNSUPPORTED);
    char message[256];
    snprintf(message,
             sizeof message,
             "family packed refuses the problem: %s",
             table[n].reason);
    ck_assert_str_eq(rlo_error_last()->message, message);
  }
}

/* Local memory that the kernel of a launch declares. */
static int64_t local_memory_bytes(void) {
  int64_t unit_bytes = test_plan_define(&launch, "RLO_UNIT_BYTES");
  if (strcmp(launch.kernel_file, "gpu_packed") == 0) {
    return test_plan_define(&launch, "RLO_LOCAL_BYTES");
  }
  if (strcmp(launch.kernel_file, "gpu_tile") == 0) {
    return test_plan_define(&launch, "RLO_TILE_B") *
           (test_plan_define(&launch, "RLO_TILE_A") + 1) * unit_bytes;
  }
  return 0;
}

static int64_t argument_bytes(void) {
  int64_t bytes = 0;
  for (int32_t n = 0; n < launch.num_arguments; ++n) {
    bytes += rlo__argument_bytes(launch.arguments[n].kind);
  }
  return bytes;
}

static const rlo_dtype dtypes[] = {
    RLO_DTYPE_U8, RLO_DTYPE_BF16, RLO_DTYPE_F32, RLO_DTYPE_F64, RLO_DTYPE_C128};

/* Made-up devices, from none to large, and layouts of every kind: no launch is
 * beyond what the device takes. */
RLO_TEST(test_family_gpu_packed__no_launch_exceeds_its_device) {
  enum { CASES = 1500 };

  static const char *const families[] = {
      NULL, "copy", "rows", "tile", "packed", "gather"};

  enum { NUM_FAMILIES = sizeof families / sizeof families[0] };

  test_random random = test_random_begin("test_family_gpu_packed");
  int64_t ran[NUM_FAMILIES] = {0};
  for (int32_t n = 0; n < CASES; ++n) {
    uint64_t seed = random.state;
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random,
                     dtypes[test_random_in(&random, 0, 4)],
                     (int32_t)test_random_in(&random, 1, 6),
                     test_random_once_in(&random, 3) ? 30000000 : 30000,
                     &src,
                     &dst,
                     permutation);
    device.max_work_group_items = test_random_in(&random, 1, 1200);
    device.local_memory_bytes = test_random_in(&random, 0, 70000);
    device.max_parameter_bytes = 1024 * test_random_in(&random, 1, 5);
    device.compute_units = (int32_t)test_random_in(&random, 1, 150);
    int32_t f = (int32_t)test_random_in(&random, 0, NUM_FAMILIES - 1);
    rlo_status status = rlo_relayout_lower(&src, &dst, permutation, &problem);
    status = status == RLO_OK ? plan_for(families[f]) : status;
    ck_assert_msg(status == RLO_OK || status == RLO_UNSUPPORTED,
                  "%s",
                  rlo_error_last()->message);
    if (status != RLO_OK || choice.family == NULL) {
      continue;
    }
    ++ran[f];
    ck_assert_msg(
        (int64_t)launch.local_size[0] <= device.max_work_group_items &&
            launch.global_size[0] > 0 &&
            launch.global_size[0] % launch.local_size[0] == 0 &&
            local_memory_bytes() <= device.local_memory_bytes &&
            argument_bytes() <= device.max_parameter_bytes,
        "case %d, RELAYOUT_TEST_SEED=%llu makes it the first: %s, %s",
        (int)n,
        (unsigned long long)seed,
        choice.family->name,
        launch.parameters);
  }
  for (int32_t f = 0; f < NUM_FAMILIES; ++f) {
    ck_assert_int_ge(ran[f], families[f] == NULL ? 100 : 10);
  }
}
