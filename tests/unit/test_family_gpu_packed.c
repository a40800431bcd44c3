/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "plan/family.h"
#include "plan/gpu_block.h"
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

/* Arguments of the kernel, as its head comment numbers them. */
enum {
  N_GRID = 6,
  GRID_EXTENT = 7,
  READ_PIECES = 11,
  WRITE_PIECES,
  READ_AXES,
  WRITE_AXES,
  LOCAL_STRIDES,
  STRIDES,
  REPEAT_AXIS,
  REPEAT_EXTENT,
  REPEAT_LOCAL = 21,
  LANES = 8
};

/* Called for every unit: an assertion costs a message to the parent each. */
static int64_t argument(int32_t number, int32_t lane) {
  const rlo__argument *a = &launch.arguments[number];
  if (number >= launch.num_arguments || lane >= rlo__argument_lanes(a->kind)) {
    ck_abort_msg("argument %d has no lane %d", (int)number, (int)lane);
  }
  return launch.numbers[a->first + lane];
}

/* The coordinates of a piece's first unit, as the kernel finds them. */
static void find(uint32_t piece,
                 int32_t axes,
                 int32_t rank,
                 int64_t units,
                 int64_t out_at[LANES]) {
  for (int32_t k = 0; k < LANES; ++k) {
    out_at[k] = 0;
    if (k == rank - 1) {
      out_at[k] = piece;
    } else if (k < rank) {
      uint32_t magic = (uint32_t)argument(axes, LANES + k);
      uint32_t rest = (uint32_t)((2 * (uint64_t)piece * magic) >> 32);
      out_at[k] = (int64_t)piece - (int64_t)rest * argument(axes, k);
      piece = rest;
    }
  }
  out_at[0] *= units;
}

static int64_t dot(int32_t strides, int32_t lane, const int64_t at[LANES]) {
  int64_t sum = 0;
  for (int32_t k = 0; k < LANES; ++k) {
    sum += at[k] * argument(strides, lane + k);
  }
  return sum;
}

enum { MAX_CELLS = 1 << 16 };

/* Positions of the block's units in the source and in the destination, by their
 * place in local memory. */
static int64_t src_of[MAX_CELLS];
static int64_t dst_of[MAX_CELLS];

/* Follow one side of the kernel through a block; returns its units. */
static int64_t walk(int32_t pieces_argument,
                    int32_t axes,
                    int32_t rank,
                    int64_t units,
                    int32_t lane,
                    int64_t *position_of) {
  for (int64_t n = 0; n < MAX_CELLS; ++n) {
    position_of[n] = INT64_MIN;
  }
  int64_t pieces = argument(pieces_argument, 0);
  for (int64_t p = 0; p < pieces; ++p) {
    int64_t at[LANES];
    find((uint32_t)p, axes, rank, units, at);
    for (int64_t n = 0; n < units; ++n) {
      int64_t cell = dot(LOCAL_STRIDES, lane, at);
      if (cell < 0 || cell >= argument(REPEAT_LOCAL, 0) ||
          position_of[cell] != INT64_MIN) {
        ck_abort_msg("piece %d goes to cell %d", (int)p, (int)cell);
      }
      position_of[cell] = dot(STRIDES, lane, at);
      ++at[0];
    }
  }
  return pieces * units;
}

/* That what is read into a cell is what is written from it, and that it fits
 * into local memory. */
static void check_block(void) {
  int64_t read = walk(READ_PIECES,
                      READ_AXES,
                      (int32_t)test_plan_define(&launch, "RLO_READ_RANK"),
                      test_plan_define(&launch, "RLO_READ_UNITS"),
                      0,
                      src_of);
  int64_t written = walk(WRITE_PIECES,
                         WRITE_AXES,
                         (int32_t)test_plan_define(&launch, "RLO_WRITE_RANK"),
                         test_plan_define(&launch, "RLO_WRITE_UNITS"),
                         LANES,
                         dst_of);
  ck_assert_int_eq(read, written);
  int64_t differences = 0;
  for (int64_t cell = 0; cell < MAX_CELLS; ++cell) {
    differences += (src_of[cell] == INT64_MIN) != (dst_of[cell] == INT64_MIN);
  }
  ck_assert_int_eq(differences, 0);
  int64_t groups = 1;
  for (int32_t n = 0; n < argument(N_GRID, 0); ++n) {
    groups *= argument(GRID_EXTENT, n);
  }
  ck_assert_int_eq(groups,
                   (int64_t)(launch.global_size[0] / launch.local_size[0]));
  int64_t copies = test_plan_define(&launch, "RLO_REPEAT");
  int64_t local_bytes = test_plan_define(&launch, "RLO_LOCAL_BYTES");
  ck_assert_int_le(argument(REPEAT_LOCAL, 0) * copies * problem.unit_bits / 8,
                   local_bytes);
  ck_assert_int_le(local_bytes, device.local_memory_bytes);
}

/* The point of the box at which a block's unit lies, from its position: true if
 * one exists on both sides. Only for boxes without overhang. */
static void check_positions(void) {
  int64_t misplaced = 0;
  for (int64_t cell = 0; cell < argument(REPEAT_LOCAL, 0); ++cell) {
    if (src_of[cell] == INT64_MIN) {
      continue;
    }
    /* A dense destination: its position tells the coordinates. */
    int64_t rest = dst_of[cell];
    int64_t src = 0;
    for (int32_t a = 0; a < problem.num_axes; ++a) {
      int64_t i = rest / problem.dst.axis[a];
      rest -= i * problem.dst.axis[a];
      src += i * problem.src.axis[a];
    }
    misplaced += rest != 0 || src != src_of[cell];
  }
  ck_assert_int_eq(misplaced, 0);
}

static const struct {
  const char *src, *dst, *permutation;
} dense[] = {
    {"f32[300,200]", "f32[200,300]", "1,0"},
    {"u8[100,3]", "u8[3,100]", "1,0"},
    {"u8[4,100]", "u8[100,4]", "1,0"},
    {"bf16[64,6,10]", "bf16[10,6,64]", "2,1,0"},
    {"f32[3,5,7,9,11]", "f32[11,3,9,5,7]", "4,0,3,1,2"},
    {"f64[17,19,23]", "f64[23,17,19]", "2,0,1"},
    {"c128[8,9,10]", "c128[9,8,10]", "1,0,2"},
    {"f32[2,2,2,2,2,2,2,2]", "f32[2,2,2,2,2,2,2,2]", "7,5,3,1,6,4,2,0"},
    {"u16[1000,2]", "u16[2,1000]", "1,0"},
    {"f32[8192,4096]", "f32[8192,4096]{1,0:T(8,128)}", NULL},
};

RLO_TABLE_TEST(test_family_gpu_packed__moves_each_unit_where_it_belongs,
               dense) {
  test_plan_lower(
      dense[_i].src, dense[_i].dst, dense[_i].permutation, &problem);
  ck_assert_msg(plan_for("packed") == RLO_OK, "%s", rlo_error_last()->message);
  check_block();
  check_positions();
}

RLO_TEST(test_family_gpu_packed__pieces_are_wide_only_where_it_is_proven) {
  static const struct {
    const char *src, *dst;
    int64_t read, write;
  } table[] = {
      {"u8[64,4]{1,0}", "u8[64,4]{0,1}", 4, 4},
      {"u8[64,3]{1,0}", "u8[64,3]{0,1}", 4, 4},
      {"u8[63,4]{1,0}", "u8[63,4]{0,1}", 4, 1},
      {"u8[63,3]{1,0}", "u8[63,3]{0,1}", 1, 1},
      {"u16[64,3]{1,0}", "u16[64,3]{0,1}", 2, 2},
      {"u16[33,3]{1,0}", "u16[33,3]{0,1}", 1, 1},
      {"u8[64,4]{1,0:pad(64,5)}", "u8[64,4]{0,1}", 1, 4},
      {"u8[64,4]{1,0:pad(64,8)}", "u8[64,4]{0,1}", 4, 4},
      {"f32[64,4]{1,0}", "f32[64,4]{0,1}", 1, 1},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    test_plan_lower(table[n].src, table[n].dst, NULL, &problem);
    ck_assert_int_eq(plan_for("packed"), RLO_OK);
    check_block();
    ck_assert_msg(
        test_plan_define(&launch, "RLO_READ_UNITS") == table[n].read &&
            test_plan_define(&launch, "RLO_WRITE_UNITS") == table[n].write,
        "case %d: %s",
        (int)n,
        launch.parameters);
  }
}

RLO_TEST(test_family_gpu_packed__lanes_meet_in_few_banks) {
  /* 32 columns of 32 words: without padding all lanes would want one bank. */
  rlo__gpu_block block = {
      .num_axes = 2, .axes = {{0, 32, 0}, {1, 32, 0}}, .by_dst = {1, 0}};
  rlo__gpu_block_lay_out(&block, 4, 1);
  ck_assert_int_eq(block.axes[1].local_stride % 2, 1);
  ck_assert_int_eq(block.copy_units, 32 * block.axes[1].local_stride);
  /* Rows are read as they lie: nothing to gain. */
  block.by_dst[0] = 0;
  block.by_dst[1] = 1;
  rlo__gpu_block_lay_out(&block, 4, 1);
  ck_assert_int_eq(block.axes[1].local_stride, 32);
  /* An odd distance is as good as padding. */
  block.axes[0].size = 33;
  block.by_dst[0] = 1;
  block.by_dst[1] = 0;
  rlo__gpu_block_lay_out(&block, 4, 1);
  ck_assert_int_eq(block.axes[1].local_stride, 33);
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
    if (strcmp(choice.family->name, "packed") == 0) {
      check_block();
    }
  }
  for (int32_t f = 0; f < NUM_FAMILIES; ++f) {
    ck_assert_int_ge(ran[f], families[f] == NULL ? 100 : 10);
  }
}
