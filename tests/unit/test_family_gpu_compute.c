/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "plan/family.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

/* Families of the GPU class that compute. */

static test_plan plan;

static void begin(void) {
  plan.device = test_plan_gpu();
}

RLO_FIXTURE(begin, NULL);

static int64_t constant(const char *name) {
  return test_plan_define(&plan.launch, name);
}

/* Plans a sum over a dimension. */
static void plan_sum(const char *src, int32_t dim) {
  test_plan_sum(src, dim, &plan.problem);
  expect_ok(test_plan_try(&plan, "compute_sum", 0, 0));
}

/* How a group shares its sums; the arguments are those of the kernel's head. */
typedef struct sum_case {
  const char *src;
  int32_t dim;
  int64_t work_group_items;
  int64_t is_along_rows, team, cells, slots, levels;
} sum_case;

// clang-format off
static const sum_case sums[] = {
    /* Enough cells: one block of each at a time. */
    {"f32[40000,3000]", 1, 1024, 1, 16, 16, 1, 4},
    {"f32[3000,400000]", 0, 1024, 0, 1, 256, 1, 4},
    /* Few cells: as many blocks as there are, or as a group takes. */
    {"f32[7,3000]", 1, 1024, 1, 16, 4, 4, 1},
    {"f32[40000000]", 0, 1024, 1, 16, 1, 16, 31},
    {"f32[100000,8]", 0, 1024, 0, 4, 8, 8, 4},
    /* Tiles are not below a sector, but for cells that are shorter. */
    {"u8[100,512]", 0, 1024, 0, 8, 32, 1, 1},
    {"f64[5000,3]", 0, 1024, 0, 8, 4, 8, 1},
    /* Rows too short for sixteen work-items. */
    {"f32[100000,64]", 1, 1024, 1, 8, 32, 1, 1},
    /* Small groups. */
    {"f32[40000,3000]", 1, 100, 1, 16, 4, 1, 4},
    {"f32[40000,3000]", 1, 1, 1, 1, 1, 1, 4},
};

// clang-format on

RLO_TABLE_TEST(test_family_gpu_compute__sums_share_a_group, sums) {
  const sum_case *c = &sums[_i];
  plan.device.max_work_group_items = c->work_group_items;
  plan_sum(c->src, c->dim);
  ck_assert_str_eq(plan.launch.kernel_file, "gpu_compute_sum");
  ck_assert_int_eq(constant("RLO_ALONG_ROWS"), c->is_along_rows);
  ck_assert_int_eq(constant("RLO_TEAM"), c->team);
  ck_assert_int_eq(constant("RLO_CELLS"), c->cells);
  ck_assert_int_eq(constant("RLO_SLOTS"), c->slots);
  ck_assert_int_eq(constant("RLO_SUM_LEVELS"), c->levels);
  int64_t local = constant("RLO_LOCAL");
  ck_assert_int_eq(c->team * c->cells * c->slots, local);
  ck_assert_uint_eq(plan.launch.local_size[0], (size_t)local);
}

/* Tiles, and how many units a lane moves at once. */
typedef struct tile_case {
  const char *src;
  const char *dst;
  int64_t turns, wide, tile_a, tile_b;
} tile_case;

// clang-format off
static const tile_case tiles[] = {
    {"f32[999,1000]", "bf16[999,1000]{0,1}", 1, 1, 64, 64},
    {"f32[1000,1000]", "bf16[1000,1000]{0,1}", 1, 4, 64, 64},
    {"u8[1000,1000]", "f32[1000,1000]{0,1}", 1, 4, 128, 128},
    {"bf16[1000,1000]", "f64[1000,1000]{0,1}", 1, 2, 64, 128},
    {"f64[1000,1000]", "f32[1000,1000]{0,1}", 1, 2, 64, 32},
    /* Narrow planes. */
    {"f32[100000,3]", "bf16[100000,3]{0,1}", 1, 1, 4, 1024},
    {"f32[20,100000]", "bf16[20,100000]{0,1}", 1, 4, 128, 32},
    {"f32[20,20]", "bf16[20,20]{0,1}", 1, 4, 32, 32},
    {"f32[16,32]", "bf16[16,32]{0,1}", 1, 4, 32, 16},
    {"f32[32,16]", "bf16[32,16]{0,1}", 1, 4, 16, 32},
    /* Rows: one, of which lanes take four units; several to a tile. */
    {"f32[100,1000]", "bf16[100,1000]", 0, 4, 4096, 1},
    {"f32[100,1000]", "bf16[100,1000]{1,0:pad(100,1024)fill(one)}", 0, 4, 1024, 4},
    {"f32[100,1100]", "bf16[100,1100]{1,0:pad(100,1104)fill(one)}", 0, 4, 256, 16},
    {"f32[100,75]", "bf16[100,75]{1,0:pad(100,80)fill(one)}", 0, 1, 64, 64},
};

// clang-format on

RLO_TABLE_TEST(test_family_gpu_compute__tiles_fit_the_plane, tiles) {
  const tile_case *c = &tiles[_i];
  test_plan_lower(c->src, c->dst, NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "compute_tile");
  ck_assert_int_eq(constant("RLO_TURNS"), c->turns);
  ck_assert_int_eq(constant("RLO_WIDE"), c->wide);
  ck_assert_int_eq(constant("RLO_TILE_A"), c->tile_a);
  ck_assert_int_eq(constant("RLO_TILE_B"), c->tile_b);
  ck_assert_uint_eq(plan.launch.local_size[0], 256);
}

/* One unit of misalignment on either side. */
RLO_TEST(test_family_gpu_compute__units_are_wide_only_where_it_is_proven) {
  for (int64_t src = 4; src <= 16; src *= 2) {
    for (int64_t dst = 2; dst <= 8; dst *= 2) {
      test_plan_lower("f32[400,1000]", "bf16[400,1000]{0,1}", NULL, &plan.problem);
      expect_ok(test_plan_try(&plan, "compute_tile", src, dst));
      ck_assert_int_eq(constant("RLO_WIDE"), src == 16 && dst == 8 ? 4 : 1);
    }
  }
}

static void check_refusal(const char *family, const char *reason) {
  expect_ok(test_plan_try(&plan, NULL, 0, 0));
  const rlo_plan_candidate *asked = test_plan_candidate(&plan, family);
  ck_assert(!asked->is_applicable);
  ck_assert_str_eq(asked->reason, reason);
  ck_assert_str_eq(plan.choice.family->name, "compute");
}

RLO_TEST(test_family_gpu_compute__tiles_say_why_they_refuse) {
  plan.device.local_memory_bytes = 2048;
  test_plan_lower("f32[400,400]", "bf16[400,400]{0,1}", NULL, &plan.problem);
  check_refusal("compute_tile",
                "its tile takes 16384 bytes of local memory; the device has "
                "2048");
  test_plan_lower("f32[9]", "bf16[9]{:strides(2)offset(0)}", NULL, &plan.problem);
  check_refusal("compute_tile", "an axis is contiguous on one side at most");
}

RLO_TEST(test_family_gpu_compute__sums_say_why_they_refuse) {
  test_plan_sum("f64[40,300]", 1, &plan.problem);
  plan.device.local_memory_bytes = 1024;
  check_refusal("compute_sum",
                "its sums take 2048 bytes of local memory; the device has "
                "1024");
  begin();
  plan.problem.num_guards = 1;
  plan.problem.guards[0] =
      (rlo_guard){.kind = RLO_GUARD_SKIP, .form = {.axis = {1, 1}}, .limit = 200};
  check_refusal("compute_sum", "it has 1 guards; the kernel takes none");
}
