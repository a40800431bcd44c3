/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threshold.h"
#include "move/memory.h"
#include "plan/segment_order.h"
#include "plan/sum_parts.h"
#include "relayout/ops.h"
#include "runtime/context.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"

/*
 * For each threshold of planning (base/threshold.h) a small array whose plan
 * changes when it alone is lowered, run by that plan. The table says which path
 * that is: where a threshold no longer decides anything, its test fails.
 */

typedef struct threshold {
  const char *name;
  int64_t *value;
  int64_t usual, low;
} threshold;

#define ROW(name, value, low) {#name, &rlo__thresholds.name, value, low},
static const threshold thresholds[] = {RLO__THRESHOLDS(ROW)};

enum { NUM_THRESHOLDS = sizeof thresholds / sizeof thresholds[0] };

enum { CPU = RLO_DEVICE_CLASS_CPU, GPU = RLO_DEVICE_CLASS_GPU };

static void begin_file(void) {
  open_device();
  /* Some thresholds are those of a compute unit. */
  device.context->device_info.compute_units = 2;
  test_device_optimise(false);
}

static void end_file(void) {
  test_device_optimise(true);
  close_device();
}

/** Thresholds of CPUs are those of kernels that a GPU does not run. */
static bool is_planned(int device_class) {
  return device_class != CPU || !test_device_is_gpu(&device);
}

static void set_usual(void) {
  for (size_t n = 0; n < NUM_THRESHOLDS; ++n) {
    *thresholds[n].value = thresholds[n].usual;
  }
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_FIXTURE(set_usual, set_usual);
RLO_TIMEOUT(600);

/* Lowers the thresholds that a list names, separated by commas, and forgets
 * what was planned by others. */
static void lower(const char *names) {
  rlo__plan_memo_clear(&device.context->memo);
  while (names != NULL && *names != '\0') {
    const size_t length = strcspn(names, ",");
    size_t n = 0;
    while (n < NUM_THRESHOLDS &&
           (strlen(thresholds[n].name) != length || strncmp(thresholds[n].name, names, length))) {
      ++n;
    }
    ck_assert_msg(n < NUM_THRESHOLDS, "no threshold: %s", names);
    *thresholds[n].value = thresholds[n].low;
    names += length + (names[length] == ',');
  }
}

/* ------------------------------------------------------------- one launch */

typedef struct path {
  const char *threshold;
  /** Those that must be low before it matters. */
  const char *with;
  const char *src, *dst, *permutation;
  const char *family;
  int device_class;
  /** The source is summed over its first dimension. */
  bool is_sum;
} path;

#define STREAMS    "plan_cpu_past_caches_bytes"
#define PACKED     "f32[7,9,8,5,11,6]{5,4,3,2,1,0}", "f32[7,9,8,5,11,6]{3,0,5,1,4,2}"
#define TRANSPOSED "f32[96,208]", "f32[208,96]", "1,0", "tile", CPU
#define JOINED     "s4[300,212]{1,0:E(4)}", "s4[212,300]{1,0:E(4)}", "1,0", "tile", CPU
#define GATHERED_ROWS(n)                                                                       \
  "f32[10,12," #n "]{2,1,0:T(8,8," #n ")}", "f32[10,12," #n "]{2,1,0:T(3,5," #n ")fill(one)}", \
      NULL, "gather_rows", CPU

// clang-format off
static const path paths[] = {
    {"plan_cpu_past_caches_bytes", NULL, "f32[65,163]", "f32[163,65]", "1,0",
     "tile", CPU, false},
    {"plan_cpu_followed_bytes", NULL, PACKED, NULL, "packed", CPU, false},
    {"plan_cpu_chunk_bytes", NULL, "f32[3,500]",
     "f32[3,500]{1,0:pad(4,520)fill(one)}", NULL, "rows", CPU, false},
    {"plan_cpu_chunk_bytes", NULL, GATHERED_ROWS(300), false},
    {"plan_cpu_least_block_bytes", NULL, "u8[60,7,20]", "u8[7,60,20]", "1,0,2",
     "rows", CPU, false},
    {"plan_cpu_most_block_bytes", NULL, "f32[9,11,50]", "f32[11,9,50]", "1,0,2",
     "rows", CPU, false},
    {"plan_cpu_group_bytes", "plan_cpu_most_block_bytes", "f32[40,30,65]",
     "f32[30,40,65]", "1,0,2", "rows", CPU, false},
    {"plan_cpu_tile_a_lines", NULL, "f32[50,200]", "f32[200,50]", "1,0", "tile",
     CPU, false},
    {"plan_cpu_tile_b_lines", NULL, "f32[200,50]", "f32[50,200]", "1,0", "tile",
     CPU, false},
    {"plan_cpu_narrow_tile_b_lines", NULL, "u8[200,130]", "u8[130,200]", "1,0",
     "tile", CPU, false},
    {"plan_cpu_stream_lines", STREAMS ",plan_cpu_stream_unit_tiles", TRANSPOSED,
     false},
    {"plan_cpu_stream_tile_a_lines",
     STREAMS ",plan_cpu_stream_unit_tiles,plan_cpu_stream_lines", TRANSPOSED,
     false},
    {"plan_cpu_stream_unit_tiles",
     STREAMS ",plan_cpu_stream_tile_a_lines,plan_cpu_stream_lines", TRANSPOSED,
     false},
    {"plan_cpu_joined_tile_a_lines", NULL, JOINED, false},
    {"plan_cpu_joined_tile_b_lines", "plan_cpu_tile_b_lines", JOINED, false},
    {"plan_cpu_odd_row_bytes", NULL, "s4[7,77]{1,0:E(4)}",
     "s4[77,7]{1,0:E(4)}", "1,0", NULL, CPU, false},
    {"plan_cpu_many_pages", NULL, "f32[64,40,70]{2,1,0:pad(64,40,96)}",
     "f32[70,40,64]", "2,1,0", "tile", CPU, false},
    {"plan_cpu_far_bytes", NULL, "f32[40,9,33]", "f32[33,9,40]", "2,1,0",
     NULL, CPU, false},
    {"plan_cpu_packed_box_bytes", NULL, "f32[7,9,8,5]", "f32[5,8,9,7]",
     "3,2,1,0", NULL, CPU, false},
    {"plan_cpu_staged_block_bytes", NULL, PACKED, NULL, "packed", CPU, false},
    {"plan_cpu_direct_block_bytes", NULL, "f32[256,128]{0,1}",
     "f32[256,128]{1,0:T(8,128)}", NULL, "packed", CPU, false},
    {"plan_cpu_parts_bytes", NULL, "u8[5003]", "u8[5003]", NULL, "copy", CPU,
     false},
    {"plan_cpu_parts_bytes", "plan_cpu_least_cells_bytes",
     "f32[9111,3,5]{2,1,0}", "f32[9111,3,5]{1,2,0}", NULL, "packed", CPU, false},
    {"plan_cpu_least_cells_bytes", NULL, "f32[301,4,4]{2,1,0}",
     "f32[301,4,4]{1,2,0}", NULL, "packed", CPU, false},
    {"plan_cpu_skinny_bytes", NULL, "f32[3,3001]", "f32[3001,3]", "1,0",
     "skinny", CPU, false},
    {"plan_cpu_compute_bytes", NULL, "s16[53,100]{1,0:pad(53,104)}",
     "s32[53,100]", NULL, "compute_rows", CPU, false},
    {"plan_cpu_compute_tile_bytes", NULL, "s16[70,900]", "s32[70,900]{0,1}",
     NULL, "compute_tile", CPU, false},
    {"plan_cpu_column_bytes", NULL, "s32[20,5000]", NULL, NULL, "compute_sum",
     CPU, true},
    {"plan_cpu_gather_bytes", NULL, GATHERED_ROWS(36), false},
    {"plan_cpu_ahead_bytes", NULL, GATHERED_ROWS(62), false},
    {"plan_cpu_segment_points", NULL, "f32[9,300]",
     "f32[9,300]{1,0:pad(10,310)fill(one)}", NULL, "gather", CPU, false},
    {"plan_cpu_group_points", NULL, "f32[9,33,20]", "f32[33,20,9]", "1,2,0",
     "gather", CPU, false},
    {"plan_cpu_bits_segment_bytes", NULL, "s4[9,301]{1,0:E(4)}",
     "s4[9,301]{1,0:E(4)pad(9,303)fill(one)}", NULL, "bits", CPU, false},
    {"plan_work_items", NULL, "u8[9,300,7]", "u8[7,300,9]", "2,1,0", "gather",
     CPU, false},
    {"plan_work_items", NULL, "u8[91,5,71]", "u8[5,71,91]", "1,2,0", "gather",
     GPU, false},
    {"plan_work_items", "plan_cpu_bits_segment_bytes", "s4[99,301]{1,0:E(4)}",
     "s4[99,301]{1,0:E(4)pad(99,303)fill(one)}", NULL, "bits", CPU, false},
    {"plan_work_items", NULL, "s16[9,300,7]", "s32[9,300,7]{0,1,2}", NULL,
     "compute", CPU, false},
    {"plan_index32_bytes", NULL, "u16[140,163]", "u16[163,140]", "1,0", "tile", CPU,
     false},
    {"plan_index32_bytes", NULL, "u16[9,11,30]", "u16[11,9,30]", "1,0,2",
     "rows", CPU, false},
    {"plan_index32_bytes", NULL, "u16[9,11,31]", "u16[11,9,31]", "1,0,2",
     "gather", CPU, false},
    {"plan_index32_bytes", NULL, "u16[9,11,32]", "u16[11,9,32]", "1,0,2",
     "rows", GPU, false},
    {"plan_index32_bytes", NULL, GATHERED_ROWS(63), false},
    {"plan_index32_bytes", NULL, "s4[99,101]{1,0:E(4)}",
     "s4[99,101]{0,1:E(4)}", NULL, "bits", CPU, false},
    {"plan_compile_bytes", NULL, "u8[100,70,3]", "u8[70,100,3]", "1,0,2", NULL,
     CPU, false},
    {"plan_gpu_rows_bytes", NULL, "f32[40,3,131]", "f32[3,40,131]", "1,0,2",
     "rows", GPU, false},
    {"plan_gpu_rows_lane_pieces", "plan_gpu_rows_bytes", "f32[5,1204]",
     "f32[5,1204]{1,0:pad(6,1208)fill(one)}", NULL, "rows", GPU, false},
    {"plan_gpu_tile_unit_groups", NULL, "f32[64,63]", "f32[63,64]", "1,0",
     "tile", GPU, false},
    {"plan_gpu_packed_bytes", NULL, "f32[37,41]", "f32[41,37]", "1,0",
     "packed", GPU, false},
};

// clang-format on

static void make_problem(const path *p, rlo_problem *out) {
  if (p->is_sum) {
    test_plan_sum(p->src, 0, out);
    return;
  }
  test_plan_lower(p->src, p->dst, p->permutation, out);
}

/* Plans a path's problem. */
static void plan_path(const path *p, rlo__choice *choice, rlo__launch *launch) {
  static rlo_problem problem;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = p->family;
  options.device_class = (rlo_device_class)p->device_class;
  make_problem(p, &problem);
  ck_assert_msg(test_plan_choose(&problem, rlo_context_device_info(device.context), &options, 64,
                                 64, p->family == NULL ? choice : NULL, launch) == RLO_OK,
                "%s: %s", p->threshold, rlo_error_last()->message);
}

/* A threshold may decide what is expected of families, one of which is chosen.
 */
static bool choices_differ(const rlo__choice *a, const rlo__choice *b) {
  bool differ = a->family != b->family;
  for (int32_t n = 0; n < a->num_candidates; ++n) {
    differ = differ || a->candidates[n].predicted_fraction != b->candidates[n].predicted_fraction;
  }
  return differ;
}

RLO_TABLE_TEST(test_device_thresholds__small_arrays_take_each_path, paths) {
  static rlo__launch usual;
  static rlo__launch low;
  static rlo__choice choices[2];
  static rlo_problem problem;
  const path *p = &paths[_i];
  if (!is_planned(p->device_class)) {
    return;
  }
  memset(choices, 0, sizeof choices);
  lower(p->with);
  rlo__launch_init(&usual);
  rlo__launch_init(&low);
  plan_path(p, &choices[0], &usual);
  lower(p->threshold);
  plan_path(p, &choices[1], &low);
  ck_assert_msg(!rlo__launch_equal(&usual, &low) || choices_differ(&choices[0], &choices[1]),
                "%s does not change %s to %s: %s; %s", p->threshold, p->src,
                p->dst == NULL ? "its sum" : p->dst, usual.parameters, low.parameters);
  rlo__launch_deinit(&usual);
  rlo__launch_deinit(&low);
  make_problem(p, &problem);
  /* Where lines of both sides begin, and elsewhere. */
  for (int64_t shift = 0; shift < 2; ++shift) {
    const int32_t dst_bits = rlo_problem_dst_unit_bits(&problem);
    const int64_t dst_bytes = dst_bits < 8 ? 1 : dst_bits / 8;
    const int64_t bytes = problem.unit_bits < 8 ? 1 : problem.unit_bits / 8;
    const test_case c = {.family = p->family,
                         .device_class = (rlo_device_class)p->device_class,
                         .src_shift_bytes = shift * bytes,
                         .dst_shift_bytes = shift * 3 * dst_bytes};
    ck_assert_int_eq(test_device_run_problem(&device, &problem, &c, p->threshold, NULL), TEST_RAN);
  }
}

/* ------------------------------------------------------------------- sums */

static const struct {
  const char *threshold;
  rlo_device_class device_class;
} parts[] = {{"plan_cpu_sum_part_bytes", RLO_DEVICE_CLASS_CPU},
             {"plan_gpu_sum_part_bytes", RLO_DEVICE_CLASS_GPU}};

RLO_TABLE_TEST(test_device_thresholds__small_sums_are_cut, parts) {
  if (!is_planned((int)parts[_i].device_class)) {
    return;
  }
  static rlo_problem problem;
  test_plan_sum("s32[9001]", 0, &problem);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.max_scratch_bytes = 1 << 20;
  options.device_class = parts[_i].device_class;
  rlo_plan *plan = test_context_plan(device.context, &problem, &options);
  ck_assert_int_eq(test_plan_info_of(plan).num_steps, 1);
  rlo_plan_release(plan);
  lower(parts[_i].threshold);
  plan = test_context_plan(device.context, &problem, &options);
  ck_assert_int_gt(test_plan_info_of(plan).num_steps, 1);
  test_arena src = test_arena_make(4, problem.src_bytes, 4, 0x50);
  test_arena dst = test_arena_make(4, problem.dst_bytes, 4, 0xd0);
  test_arena_upload(&src, device.context);
  test_arena_upload(&dst, device.context);
  expect_ok(rlo_problem_run_host(&problem, src.before + src.begin, dst.expected + dst.begin));
  ck_assert(run_in_arenas(plan, NULL, parts[_i].threshold, &src, NULL, &dst));
}

enum { ROWS = 500, SEGMENTS = 10 };

static const struct {
  const char *threshold, *with;
  rlo_device_class device_class;
} orders[] = {{"plan_cpu_order_chunk_rows", NULL, RLO_DEVICE_CLASS_CPU},
              {"plan_cpu_segment_sum_cells", NULL, RLO_DEVICE_CLASS_CPU},
              {"plan_gpu_order_chunk_rows", NULL, RLO_DEVICE_CLASS_GPU},
              {"plan_gpu_order_chunks", "plan_gpu_order_chunk_rows", RLO_DEVICE_CLASS_GPU}};

static rlo_plan *plan_segments(const rlo_segment_sum *sum, int number) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.device_class = orders[number].device_class;
  rlo_plan *plan = NULL;
  expect_ok(rlo_plan_create_segment_sum(device.context, sum, &options, &plan));
  return plan;
}

/* Other parameters, or scratch memory for other chunks. */
static bool plans_differ(const rlo_plan *a, const rlo_plan *b) {
  const rlo_plan_info infos[] = {test_plan_info_of(a), test_plan_info_of(b)};
  return infos[0].scratch_bytes != infos[1].scratch_bytes ||
         strcmp(infos[0].parameters, infos[1].parameters) != 0;
}

RLO_TABLE_TEST(test_device_thresholds__few_segments_take_each_path, orders) {
  if (!is_planned((int)orders[_i].device_class)) {
    return;
  }
  const rlo_shape rows = test_shape_of("s32[500,17]");
  const rlo_shape sums = test_shape_of("s32[10,17]");
  const rlo_shape numbers = test_shape_of("s32[500]");
  rlo_segment_sum *sum = NULL;
  expect_ok(rlo_segment_sum_create(&rows, &numbers, 0, 0, &sums, &sum));
  rlo_segment_sum_sizes sizes;
  rlo_segment_sum_get_sizes(sum, &sizes);
  lower(orders[_i].with);
  rlo_plan *usual = plan_segments(sum, _i);
  lower(orders[_i].threshold);
  rlo_plan *low = plan_segments(sum, _i);
  ck_assert_msg(plans_differ(usual, low), "%s changes nothing", orders[_i].threshold);
  rlo_plan_release(usual);
  test_arena src = test_arena_make(4, sizes.src_bytes, 4, 0x50);
  test_arena dst = test_arena_make(4, sizes.dst_bytes, 4, 0xd0);
  test_arena ids = test_arena_make(4, sizes.ids_bytes, 4, 0x10);
  for (int32_t n = 0; n < ROWS; ++n) {
    /* Some are those of no segment. */
    const int32_t id = n * 7919 % (SEGMENTS + 3) - 1;
    memcpy(ids.before + ids.begin + 4 * n, &id, sizeof id);
  }
  test_arena_upload(&src, device.context);
  test_arena_upload(&ids, device.context);
  test_arena_upload(&dst, device.context);
  expect_ok(rlo_segment_sum_run_host(sum, src.before + src.begin, ids.before + ids.begin,
                                     dst.expected + dst.begin));
  ck_assert(run_in_arenas(low, NULL, orders[_i].threshold, &src, &ids, &dst));
  rlo_segment_sum_release(sum);
}

/* --------------------------------------------------------- memory of a queue
 */

RLO_TEST(test_device_thresholds__memory_is_cleared_in_pieces) {
  enum { BYTES = 5000, CLEARED = 4321 };

  static uint8_t bytes[BYTES];
  rlo__place *place = NULL;
  rlo__memory *memory = NULL;
  lower("runtime_fill_bytes");
  expect_ok(rlo__place_create(device.context, NULL, false, &place));
  expect_ok(rlo__memory_create(place, BYTES, &memory));
  memset(bytes, 0xa5, sizeof bytes);
  expect_ok(rlo__memory_write(memory, bytes, BYTES));
  expect_ok(rlo__memory_clear(memory, CLEARED));
  expect_ok(rlo__memory_read(memory, bytes, BYTES));
  for (int32_t n = 0; n < BYTES; ++n) {
    ck_assert_int_eq(bytes[n], n < CLEARED ? 0 : 0xa5);
  }
  rlo__memory_free(memory);
  rlo__place_release(place);
}

static const struct {
  const char *threshold;
  int32_t num_kept;
} kept[] = {{"move_free_buffers", 2}, {"move_free_share", 0}};

/* Memories of a size each, so that the free list serves none of them. */
RLO_TABLE_TEST(test_device_thresholds__few_memories_are_kept, kept) {
  rlo__place *place = NULL;
  rlo__memory *memories[4];
  const int64_t bytes = device.context->memory_budget_bytes / (INT64_C(1) << 20) + 1;
  lower(kept[_i].threshold);
  const int64_t before = atomic_load(&device.context->buffer_bytes);
  expect_ok(rlo__place_create(device.context, NULL, false, &place));
  for (int64_t n = 0; n < 4; ++n) {
    expect_ok(rlo__memory_create(place, bytes + n, &memories[n]));
  }
  for (int64_t n = 0; n < 4; ++n) {
    rlo__memory_free(memories[n]);
  }
  const int64_t held = atomic_load(&device.context->buffer_bytes) - before;
  ck_assert_int_eq(held / bytes, kept[_i].num_kept);
  rlo__place_release(place);
  ck_assert_int_eq(atomic_load(&device.context->buffer_bytes), before);
}

/* --------------------------------------------------------------------- all */

/* Each row of a table begins with the name of a threshold. */
static bool has_row(const void *table, size_t count, size_t row_bytes, const char *name) {
  bool has = false;
  for (size_t n = 0; n < count; ++n) {
    const char *const *row = (const void *)((const char *)table + n * row_bytes);
    has = has || strcmp(*row, name) == 0;
  }
  return has;
}

#define HAS_ROW(table, name) \
  has_row(table, sizeof(table) / sizeof((table)[0]), sizeof((table)[0]), name)

/* A threshold that is new needs a path above, or a test of its own. */
RLO_TEST(test_device_thresholds__each_has_a_path) {
  for (size_t n = 0; n < NUM_THRESHOLDS; ++n) {
    const char *name = thresholds[n].name;
    const bool is_ours = strncmp(name, "plan_", 5) == 0 || strncmp(name, "runtime_", 8) == 0 ||
                         strncmp(name, "move_free", 9) == 0;
    ck_assert_msg(!is_ours || HAS_ROW(paths, name) || HAS_ROW(parts, name) ||
                      HAS_ROW(orders, name) || HAS_ROW(kept, name) ||
                      strcmp(name, "runtime_fill_bytes") == 0,
                  "no small array takes the path of %s", name);
  }
}
