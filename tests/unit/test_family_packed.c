/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/threshold.h"
#include "plan/packed.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/random.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo__launch launch;
static rlo__choice choice;

/* A relayout and its plan. */
typedef struct packed_case {
  const char *src;
  const char *dst;
  /** A part of the plan's description. */
  const char *parameters;
} packed_case;

// clang-format off
static const packed_case cases[] = {
    {"f32[3000,4,4]{2,1,0}", "f32[3000,4,4]{1,2,0}", "line by line"},
    {"f32[1111,3,5]{2,1,0}", "f32[1111,3,5]{1,2,0}", "joined"},
    {"f32[301,7,9]{2,1,0}", "f32[301,7,9]{1,2,0}", "cells of 63"},
    {"u8[5003,2,3]{2,1,0}", "u8[5003,2,3]{1,2,0}", "joined"},
    {"u16[1003,5,7]{2,1,0}", "u16[1003,5,7]{1,2,0}", "joined"},
    {"f64[301,3,3,3]{3,2,1,0}", "f64[301,3,3,3]{1,2,3,0}", "cells of 27"},
    {"c128[301,5,6]{2,1,0}", "c128[301,5,6]{1,2,0}", "cells of 30"},
    {"f32[70,11,3,4]{3,2,1,0}", "f32[70,11,3,4]{2,3,1,0}", "cells of 12"},
    {"f32[256,128]{0,1}", "f32[256,128]{1,0:T(8,128)}", "direct"},
    {"f32[256,128]{1,0:T(8,128)}", "f32[256,128]{0,1}", "direct"},
    {"f32[128,96,3,3]{3,2,1,0}", "f32[128,96,3,3]{0,1,3,2}", "direct"},
    {"u8[128,48,5,3]{3,2,1,0}", "u8[128,48,5,3]{0,1,3,2}", "direct"},
    {"u16[96,50,7,3]{3,2,1,0}", "u16[96,50,7,3]{0,1,3,2}", "direct"},
    {"f64[40,50,7,3]{3,2,1,0}", "f64[40,50,7,3]{0,1,3,2}", "direct"},
    {"f32[7,9,8,5,11,6]{5,4,3,2,1,0}", "f32[7,9,8,5,11,6]{3,0,5,1,4,2}",
     "staged"},
    {"u8[7,9,8,5,11,6]{5,4,3,2,1,0}", "u8[7,9,8,5,11,6]{3,0,5,1,4,2}",
     "staged"},
    {"u16[7,9,8,5,11,6]{5,4,3,2,1,0}", "u16[7,9,8,5,11,6]{3,0,5,1,4,2}",
     "staged"},
    {"c128[7,9,4,5,11,6]{5,4,3,2,1,0}", "c128[7,9,4,5,11,6]{3,0,5,1,4,2}",
     "staged"},
    {"f32[129,67,3]{2,1,0}", "f32[129,67,3]{0,1,2}", "staged"},
    {"u8[2100,130]{1,0}", "u8[2100,130]{0,1}", "staged"},
    {"u8[130,210,3]{2,1,0}", "u8[130,210,3]{2,0,1}", "rows 3x1"},
    {"u8[130,210,75]{2,1,0}", "u8[130,210,75]{2,0,1}", "rows 75x1"},
    {"f32[65,70,33]{2,1,0}", "f32[65,70,33]{2,0,1}", "rows 33x1"},
    {"f32[65,70,16]{2,1,0}", "f32[65,70,16]{2,0,1}", "direct"},
    {"f32[9,501,4,16]{3,2,1,0}", "f32[9,501,4,16]{3,1,2,0}", "direct"},
};

// clang-format on

RLO_TABLE_TEST(test_family_packed__tells_how_it_moves, cases) {
  const packed_case *c = &cases[_i];
  rlo_device_info device = test_plan_cpu();
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "packed";
  test_plan_lower(c->src, c->dst, NULL, &problem);
  ck_assert_int_eq(test_plan_choose(&problem, &device, &options, 0, 0, &choice, &launch), RLO_OK);
  ck_assert_msg(strstr(launch.parameters, c->parameters) != NULL,
                "%s to %s: \"%s\" does not say \"%s\"", c->src, c->dst, launch.parameters,
                c->parameters);
}

/* A problem of `num_axes` axes that are closely packed on both sides, in an
 * order of their own on each. */
static void make_random(test_random *random, int32_t num_axes) {
  int64_t extents[8];
  int64_t strides[2][8];
  for (int32_t a = 0; a < num_axes; ++a) {
    int64_t max = test_random_once_in(random, 4) ? 700 : 11;
    extents[a] = test_random_in(random, 2, max);
  }
  for (int32_t side = 0; side < 2; ++side) {
    int32_t order[8];
    for (int32_t a = 0; a < num_axes; ++a) {
      int32_t place = (int32_t)test_random_in(random, 0, a);
      order[a] = order[place];
      order[place] = a;
    }
    int64_t stride = 1;
    for (int32_t k = 0; k < num_axes; ++k) {
      strides[side][order[k]] = stride;
      stride *= extents[order[k]];
    }
  }
  static const int32_t widths[] = {8, 16, 32, 64, 128};
  test_plan_make(widths[test_random_in(random, 0, 4)], num_axes, extents, strides[0], strides[1],
                 &problem);
}

static int64_t product(const rlo__packed_block *b, uint32_t axes, int32_t num_axes) {
  int64_t points = 1;
  for (int32_t a = 0; a < num_axes; ++a) {
    points *= (axes >> a & 1) != 0 ? b->size[a] : 1;
  }
  return points;
}

/* Leaves room behind the runs of an axis of the destination. */
static void add_gaps(test_random *random) {
  int32_t of = (int32_t)test_random_in(random, 0, problem.num_axes - 1);
  int64_t stride = problem.dst.axis[of];
  int64_t gap = test_random_in(random, 1, 8);
  for (int32_t a = 0; a < problem.num_axes && stride > 1; ++a) {
    if (problem.dst.axis[a] >= stride) {
      problem.dst.axis[a] = problem.dst.axis[a] / stride * (stride + gap);
    }
  }
}

/* Checks that a direct block stores whole lines: its rows begin at lines. */
static void expect_lines(const rlo__packed_block *b, int64_t unit_bytes) {
  uint32_t rows = b->moves_rows ? b->columns : b->rows;
  for (int32_t a = 0; a < problem.num_axes; ++a) {
    bool counts_rows = b->size[a] > 1 && (rows >> a & 1) == 0;
    bool counts_blocks = b->size[a] < problem.extents[a];
    int64_t step = problem.dst.axis[a] * unit_bytes;
    ck_assert(!counts_rows || step % RLO__CPU_LINE_BYTES == 0);
    ck_assert(!counts_blocks || step * b->size[a] % RLO__CPU_LINE_BYTES == 0);
  }
}

/* Beyond the kernel's lists and its stage lies what is not its own. */
RLO_TEST(test_family_packed__blocks_fit_the_kernel) {
  test_random random = test_random_begin("test_family_packed");
  rlo_device_info device = test_plan_cpu();
  int num_direct[2] = {0};
  for (int32_t i = 0; i < 3000; ++i) {
    uint64_t seed = random.state;
    make_random(&random, (int32_t)test_random_in(&random, 2, 8));
    if (i % 3 == 0) {
      add_gaps(&random);
    }
    rlo__family_query request = {.problem = &problem,
                                 .device = &device,
                                 .src_alignment_bytes = 128,
                                 .dst_alignment_bytes = 128};
    rlo__geometry g = rlo__geometry_of(&request);
    rlo__packed_block b;
    if (!rlo__packed_block_is_possible(&request, &g, NULL)) {
      continue;
    }
    rlo__packed_block_choose(&request, &g, &b);
    int32_t n = problem.num_axes;
    uint32_t all = (UINT32_C(1) << n) - 1;
    uint32_t src_run = 0;
    uint32_t dst_run = 0;
    for (int32_t k = 0; k < b.num_src_run_axes; ++k) {
      src_run |= UINT32_C(1) << b.src_run.axes[k];
    }
    for (int32_t k = 0; k < b.num_dst_run_axes; ++k) {
      dst_run |= UINT32_C(1) << b.dst_run.axes[k];
    }
    const uint32_t lists[] = {b.columns, b.rows, all & ~(b.columns | b.rows), all & ~src_run,
                              all & ~dst_run};
    for (size_t list = 0; list < sizeof lists / sizeof lists[0]; ++list) {
      ck_assert_msg(product(&b, lists[list], n) <= RLO__PACKED_MAX_PLACES,
                    "case %d, list %d: RELAYOUT_TEST_SEED=%llu makes it the "
                    "first",
                    (int)i, (int)list, (unsigned long long)seed);
    }
    ck_assert_uint_eq(b.columns & b.rows, 0);
    if (b.is_direct) {
      expect_lines(&b, g.unit_bytes);
      ++num_direct[i % 3 == 0];
    }
    ck_assert_int_le(
        product(&b, all, n) * g.unit_bytes,
        b.is_direct ? rlo__thresholds.plan_cpu_direct_block_bytes : RLO__PACKED_STAGE_BYTES);
    for (int32_t a = 0; a < n; ++a) {
      ck_assert_int_ge(b.size[a], 1);
      ck_assert_int_le(b.size[a], problem.extents[a]);
    }
  }
  ck_assert_int_gt(num_direct[0], 10);
  ck_assert_int_gt(num_direct[1], 10);
}

RLO_TEST(test_family_packed__refuses_guards) {
  rlo_device_info device = test_plan_cpu();
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "packed";
  test_plan_lower("f32[20,300]{1,0}", "f32[20,300]{0,1:T(8,128)fill(zero)}", NULL, &problem);
  expect_refusal_with(test_plan_choose(&problem, &device, &options, 0, 0, &choice, &launch),
                      RLO_UNSUPPORTED, "guards");
}

/* It wrote wrong bytes on a GPU, where it can only be forced. */
RLO_TEST(test_family_packed__refuses_gpus) {
  const rlo_device_info device = test_plan_gpu();
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  test_plan_lower("f64[5,7,40]", "f64[7,5,40]", "1,0,2", &problem);
  options.device_class = RLO_DEVICE_CLASS_CPU;
  expect_ok(test_plan_choose(&problem, &device, &options, 0, 0, &choice, &launch));
  ck_assert_str_eq(choice.family->name, "rows");
  options.family = "packed";
  expect_refusal(test_plan_choose(&problem, &device, &options, 0, 0, &choice, &launch),
                 RLO_UNSUPPORTED,
                 "family packed refuses the problem: a work-item keeps lists of up to 120 KiB, "
                 "which is for CPUs alone");
}
