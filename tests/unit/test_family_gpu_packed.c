/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/family.h"
#include "plan/gpu_stage.h"
#include "plan/planner.h"
#include "relayout/ops.h"
#include "support/expect.h"
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
  GRID_SRC_STRIDE,
  GRID_DST_STRIDE,
  SRC_START = 11,
  SRC_SIZE,
  BLOCK_LOW,
  BLOCK_HIGH,
  RUN_LOW,
  RUN_SIZE,
  READ_PIECES,
  READ_AXES,
  WRITE_AXES,
  LOCAL_STRIDES,
  STRIDES,
  WRITE_RUNS,
  WORDS,
  WORDS_MAGIC,
  REST,
  REST_MAGIC,
  REPEAT_LOCAL = 31,
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

/* Constants of the kernel, looked up once for each launch. */
static struct {
  int64_t unit_bytes, read_bytes, store_bytes, word_units, local_bytes;
  int64_t block_bytes;
  int64_t read_rank, write_rank, run_rank, repeat;
  bool is_shifted, is_contiguous, has_one_turn;
} constant;

static void look_up(void) {
  constant.unit_bytes = test_plan_define(&launch, "RLO_UNIT_BYTES");
  constant.read_bytes = test_plan_define(&launch, "RLO_READ_BYTES");
  constant.store_bytes = test_plan_define(&launch, "RLO_STORE_BYTES");
  constant.word_units = test_plan_define(&launch, "RLO_WORD_UNITS");
  constant.local_bytes = test_plan_define(&launch, "RLO_LOCAL_BYTES");
  constant.read_rank = test_plan_define(&launch, "RLO_READ_RANK");
  constant.write_rank = test_plan_define(&launch, "RLO_WRITE_RANK");
  constant.run_rank = test_plan_define(&launch, "RLO_RUN_RANK");
  constant.repeat = test_plan_define(&launch, "RLO_REPEAT");
  constant.is_shifted = test_plan_define(&launch, "RLO_SHIFT") != 0;
  constant.is_contiguous = test_plan_define(&launch, "RLO_CONTIGUOUS") != 0;
  constant.has_one_turn = test_plan_define(&launch, "RLO_ONE_TURN") != 0;
  /* The kernel begins a block behind 16 bytes, and reads up to 4 behind a word.
   */
  constant.block_bytes = constant.local_bytes - (constant.is_contiguous ? 16 : 0);
}

static int64_t part(int64_t n, int64_t magic) {
  return (int64_t)((2 * (uint64_t)n * (uint32_t)magic) >> 32);
}

/* The coordinates of a number along axes [first, end), as the kernel finds
 * them. */
static void find(int64_t n, int32_t axes, int64_t first, int64_t end, int64_t out_at[LANES]) {
  for (int32_t k = 0; k < LANES; ++k) {
    out_at[k] = 0;
    if (k >= first && k == end - 1) {
      out_at[k] = n;
    } else if (k >= first && k < end) {
      int64_t rest = part(n, argument(axes, LANES + k));
      out_at[k] = n - rest * argument(axes, k);
      n = rest;
    }
  }
}

static int64_t dot(int32_t strides, int32_t lane, const int64_t at[LANES]) {
  int64_t sum = 0;
  for (int32_t k = 0; k < LANES; ++k) {
    sum += at[k] * argument(strides, lane + k);
  }
  return sum;
}

enum { MAX_CELLS = 1 << 16 };

/* The content of local memory, byte by byte: positions in the source from the
 * block's first point. `written` lists the positions from which units of the
 * destination came, in the order of the writes. */
static int64_t local[MAX_CELLS];
static int64_t num_written;

static struct { int64_t src, dst; } written[MAX_CELLS];

/* Reads the block whose first point is at `address`, as the kernel does. The
 * source begins at 0. Where the kernel tests no piece, none may leave the
 * source. */
static void read_block(int64_t address) {
  const int64_t mask = constant.read_bytes - 1;
  for (int64_t n = 0; n < MAX_CELLS; ++n) {
    local[n] = INT64_MIN;
  }
  int64_t run_at = address + argument(RUN_LOW, 0);
  int64_t slack = constant.read_bytes - constant.unit_bytes;
  bool is_readable = address + argument(BLOCK_LOW, 0) - slack >= 0 &&
                     address + argument(BLOCK_HIGH, 0) + slack <= argument(SRC_SIZE, 0);
  ck_assert_int_eq(argument(SRC_START, 0), launch.src_base_bytes);
  ck_assert_int_eq(argument(SRC_SIZE, 0), problem.src_bytes);
  for (int64_t p = 0; p < argument(READ_PIECES, 0); ++p) {
    int64_t at[LANES];
    find(p, READ_AXES, 0, constant.read_rank, at);
    int64_t run = dot(STRIDES, 0, at);
    int64_t ahead = at[0] * constant.read_bytes - ((run_at + run) & mask);
    int64_t to = dot(LOCAL_STRIDES, 0, at) + ahead + (run_at & mask);
    if (ahead >= argument(RUN_SIZE, 0)) {
      continue;
    }
    if (((run_at + run + ahead) & mask) != 0 || to % constant.store_bytes != 0) {
      ck_abort_msg("piece %d is not aligned", (int)p);
    }
    if (is_readable && (run_at + run + ahead < 0 ||
                        run_at + run + ahead + constant.read_bytes > problem.src_bytes)) {
      ck_abort_msg("piece %d is outside of the source", (int)p);
    }
    for (int64_t n = 0; n < constant.read_bytes; ++n) {
      if (to + n < 0 ||
          to + n + (constant.repeat - 1) * argument(REPEAT_LOCAL, 0) >= constant.block_bytes ||
          local[to + n] != INT64_MIN) {
        ck_abort_msg("piece %d goes to byte %d", (int)p, (int)(to + n));
      }
      local[to + n] = argument(RUN_LOW, 0) + run + ahead + n;
    }
  }
}

/* Units [k, k + count) of the run at a place. */
static void write_units(const int64_t place[LANES], int64_t origin, int64_t k, int64_t count) {
  for (int64_t n = 0; n < count; ++n) {
    int64_t unit[LANES];
    find(k + n, WRITE_AXES, 0, constant.run_rank, unit);
    int64_t cell = origin + dot(LOCAL_STRIDES, LANES, place) + dot(LOCAL_STRIDES, LANES, unit);
    int64_t step = constant.word_units == 1 ? argument(STRIDES, LANES) : constant.unit_bytes;
    if (cell < 0 || cell >= MAX_CELLS || local[cell] == INT64_MIN || num_written == MAX_CELLS) {
      ck_abort_msg("unit %d comes from byte %d", (int)(k + n), (int)cell);
    }
    written[num_written].src = local[cell];
    written[num_written++].dst = dot(STRIDES, LANES, place) + (k + n) * step;
  }
}

static int64_t cell_of(const int64_t place[LANES], int64_t k) {
  int64_t unit[LANES];
  find(k, WRITE_AXES, 0, constant.run_rank, unit);
  return dot(LOCAL_STRIDES, LANES, place) + dot(LOCAL_STRIDES, LANES, unit);
}

/* Checks that a word's units follow each other in local memory but for one
 * turn, and that the other units that the kernel reads with them lie there. */
static void check_word(const int64_t place[LANES], int64_t origin, int64_t k) {
  const int64_t step = argument(LOCAL_STRIDES, LANES);
  const int64_t extent = argument(WRITE_AXES, 0);
  const bool is_one_run = constant.run_rank == 1;
  int64_t turn = is_one_run ? constant.word_units : extent - k % extent;
  int64_t first[] = {cell_of(place, k), 0};
  if (!is_one_run && !constant.has_one_turn) {
    return;
  }
  first[1] = turn < constant.word_units ? cell_of(place, k + turn) - turn * step : first[0];
  for (int64_t n = 0; n < constant.word_units; ++n) {
    ck_assert_int_eq(cell_of(place, k + n), first[n >= turn] + n * step);
  }
  for (int32_t n = 0; constant.is_contiguous && n < 2; ++n) {
    int64_t at = (origin + first[n]) & ~INT64_C(3);
    ck_assert_int_eq(step, constant.unit_bytes);
    ck_assert_int_ge(at, -16);
    ck_assert_int_le(at + constant.word_units * step + 4, constant.block_bytes);
  }
}

/* Write a block to an address, as the kernel does where no guard fails. */
static void write_block(int64_t src_address, int64_t dst_address) {
  const int64_t word_bytes = constant.word_units * constant.unit_bytes;
  int64_t words = argument(WORDS, 0);
  int64_t rest = argument(REST, 0);
  int64_t origin =
      ((src_address + argument(RUN_LOW, 0)) & (constant.read_bytes - 1)) - argument(RUN_LOW, 0);
  num_written = 0;
  for (int64_t p = 0; p < argument(WRITE_RUNS, 0) * (words + rest); ++p) {
    bool is_word = p < argument(WRITE_RUNS, 0) * words;
    int64_t n = is_word ? p : p - argument(WRITE_RUNS, 0) * words;
    int64_t run = part(n, argument(is_word ? WORDS_MAGIC : REST_MAGIC, 0));
    int64_t k = n - run * (is_word ? words : rest);
    int64_t place[LANES];
    find(run, WRITE_AXES, constant.run_rank, constant.write_rank, place);
    int64_t head =
        constant.is_shifted
            ? (-(dst_address + dot(STRIDES, LANES, place)) & (word_bytes - 1)) / constant.unit_bytes
            : 0;
    if (is_word && constant.word_units > 1 && num_written % 7 == 0) {
      check_word(place, origin, head + k * constant.word_units);
    }
    if (is_word) {
      write_units(place, origin, head + k * constant.word_units, constant.word_units);
    } else {
      write_units(place, origin, k < head ? k : k + words * constant.word_units, 1);
    }
  }
}

static int compare_targets(const void *a, const void *b) {
  int64_t x = ((const int64_t *)a)[1];
  int64_t y = ((const int64_t *)b)[1];
  return (x > y) - (x < y);
}

/* From the first group to one of four, in bytes on one side. */
static int64_t group_bytes(int32_t strides, int64_t number) {
  int64_t units = 0;
  for (int32_t n = 0; n < argument(N_GRID, 0); ++n) {
    int64_t last = argument(GRID_EXTENT, n) - 1;
    const int64_t index[] = {0, last, last / 2, n % 2 == 0 ? last : 0};
    units += index[number] * argument(strides, n);
  }
  return units * constant.unit_bytes;
}

/* Checks that a block writes all of its units, from memory that was read, and
 * that it fits into local memory, for groups at several alignments. */
static void check_block(void) {
  look_up();
  int64_t units = 1;
  for (int32_t k = 0; k < constant.write_rank; ++k) {
    units *= argument(WRITE_AXES, k);
  }
  for (int64_t n = 0; n < 4; ++n) {
    int64_t from = launch.src_base_bytes + group_bytes(GRID_SRC_STRIDE, n);
    int64_t to = launch.dst_base_bytes + group_bytes(GRID_DST_STRIDE, n);
    read_block(from);
    write_block(from, to);
    ck_assert_int_eq(num_written, units);
  }
  int64_t groups = 1;
  for (int32_t n = 0; n < argument(N_GRID, 0); ++n) {
    groups *= argument(GRID_EXTENT, n);
  }
  ck_assert_int_eq(groups, (int64_t)(launch.global_size[0] / launch.local_size[0]));
  ck_assert_int_le(constant.local_bytes, device.local_memory_bytes);
}

/* Checks that each unit of a block is written once and comes from its own
 * point. Only for boxes without overhang. */
static void check_positions(void) {
  int64_t misplaced = 0;
  qsort(written, (size_t)num_written, sizeof written[0], compare_targets);
  for (int64_t n = 0; n < num_written; ++n) {
    /* A dense destination: its position tells the coordinates. */
    int64_t rest = written[n].dst / constant.unit_bytes;
    int64_t src = 0;
    for (int32_t a = 0; a < problem.num_axes; ++a) {
      int64_t i = rest / problem.dst.axis[a];
      rest -= i * problem.dst.axis[a];
      src += i * problem.src.axis[a];
    }
    misplaced += n > 0 && written[n].dst == written[n - 1].dst;
    misplaced += rest != 0 || src * constant.unit_bytes != written[n].src;
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
    {"u8[40,50,75]", "u8[50,40,75]", "1,0,2"},
    {"u16[40,50,37]", "u16[50,40,37]", "1,0,2"},
    {"f32[40,50,75]", "f32[50,40,75]", "1,0,2"},
    {"f32[8192,4096]", "f32[8192,4096]{1,0:T(8,128)}", NULL},
};

RLO_TABLE_TEST(test_family_gpu_packed__moves_each_unit_where_it_belongs, dense) {
  test_plan_lower(dense[_i].src, dense[_i].dst, dense[_i].permutation, &problem);
  expect_ok(plan_for("packed"));
  check_block();
  check_positions();
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
      /* For four copies, the distance between them counts too. */
      {"u8[64,500,64]", "u8[64,500,64]{0,1,2}", 16, 0},
      {"u8[64,500,64]", "u8[64,500,64]{:strides(1,68,34000)}", 16, 1},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    test_plan_lower(table[n].src, table[n].dst, NULL, &problem);
    expect_ok(plan_for("packed"));
    check_block();
    ck_assert_msg(test_plan_define(&launch, "RLO_WORD_UNITS") == table[n].word_units &&
                      test_plan_define(&launch, "RLO_SHIFT") == table[n].is_shifted,
                  "case %d: %s", (int)n, launch.parameters);
  }
}

/* The distance between the source's runs in local memory. */
static void lay_out(int64_t columns, int64_t rows, rlo__gpu_stage *out_stage) {
  const int64_t extents[] = {columns, rows};
  const int64_t src_strides[] = {1, columns};
  const int64_t dst_strides[] = {rows, 1};
  test_plan_make(32, 2, extents, src_strides, dst_strides, &problem);
  rlo__family_query query = {
      .problem = &problem, .device = &device, .src_alignment_bytes = 64, .dst_alignment_bytes = 64};
  rlo__gpu_block block = {
      .num_axes = 2, .axes = {{0, 32}, {1, 32}}, .by_dst = {1, 0}, .repeat_axis = -1, .repeat = 1};
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

/* The rate of a block depends on its points, not on which axes have them. */
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
      {"f32[9]{:strides(3)offset(0)}", "f32[9]",
       "1 axes; no two of them fit into 16384 bytes of local memory", 49152},
      {"f32[9,5]{1,0}", "f32[9,5]{0,1}", "2 axes; no two of them fit into 2 bytes of local memory",
       4},
      {"f32[24,29]{0,1:T(5,4)}", "f32[24,29]{1,0:T(3,2)}",
       "2 quotients are left, which only gather computes", 49152},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    device.local_memory_bytes = table[n].local_memory_bytes;
    test_plan_lower(table[n].src, table[n].dst, NULL, &problem);
    ck_assert_int_eq(plan_for("packed"), RLO_UNSUPPORTED);
    char message[256];
    snprintf(message, sizeof message, "family packed refuses the problem: %s", table[n].reason);
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
    return test_plan_define(&launch, "RLO_TILE_B") * (test_plan_define(&launch, "RLO_TILE_A") + 1) *
           unit_bytes;
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

static const rlo_dtype dtypes[] = {RLO_DTYPE_U8, RLO_DTYPE_BF16, RLO_DTYPE_F32, RLO_DTYPE_F64,
                                   RLO_DTYPE_C128};

/* Made-up devices, from none to large, and layouts of every kind: no launch is
 * beyond what the device takes. */
RLO_TEST(test_family_gpu_packed__no_launch_exceeds_its_device) {
  enum { CASES = 1500 };

  static const char *const families[] = {NULL, "copy", "rows", "tile", "packed", "gather"};

  enum { NUM_FAMILIES = sizeof families / sizeof families[0] };

  test_random random = test_random_begin("test_family_gpu_packed");
  int64_t ran[NUM_FAMILIES] = {0};
  for (int32_t n = 0; n < CASES; ++n) {
    uint64_t seed = random.state;
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random, dtypes[test_random_in(&random, 0, 4)],
                     (int32_t)test_random_in(&random, 1, 6),
                     test_random_once_in(&random, 3) ? 30000000 : 30000, &src, &dst, permutation);
    device.max_work_group_items = test_random_in(&random, 1, 1200);
    device.local_memory_bytes = test_random_in(&random, 0, 70000);
    device.max_parameter_bytes = 1024 * test_random_in(&random, 1, 5);
    device.compute_units = (int32_t)test_random_in(&random, 1, 150);
    int32_t f = (int32_t)test_random_in(&random, 0, NUM_FAMILIES - 1);
    rlo_status status = rlo_relayout_lower(&src, &dst, permutation, &problem);
    status = status == RLO_OK ? plan_for(families[f]) : status;
    ck_assert_msg(status == RLO_OK || status == RLO_UNSUPPORTED, "%s", rlo_error_last()->message);
    if (status != RLO_OK || choice.family == NULL) {
      continue;
    }
    ++ran[f];
    ck_assert_msg((int64_t)launch.local_size[0] <= device.max_work_group_items &&
                      launch.global_size[0] > 0 &&
                      launch.global_size[0] % launch.local_size[0] == 0 &&
                      local_memory_bytes() <= device.local_memory_bytes &&
                      argument_bytes() <= device.max_parameter_bytes,
                  "case %d, RELAYOUT_TEST_SEED=%llu makes it the first: %s, %s", (int)n,
                  (unsigned long long)seed, choice.family->name, launch.parameters);
    if (strcmp(choice.family->name, "packed") == 0) {
      check_block();
    }
  }
  for (int32_t f = 0; f < NUM_FAMILIES; ++f) {
    ck_assert_int_ge(ran[f], families[f] == NULL ? 100 : 10);
  }
}
