/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <string.h>

#include "plan/planner.h"
#include "support/expect.h"
#include "support/plan_case.h"

/*
 * Kernels that count in 64 bits. What makes them is memory beyond 2 GiB, which
 * neither these tests nor PoCL's buffers have, or a guard whose form leaves 32
 * bits, which costs nothing: this pads what lies behind position 30 of the
 * second half of a box. Families without guards are left out, and those that
 * compute.
 */

static rlo_problem problem;

enum { HALF_UNITS = 64 * 64, BEFORE_PAD = 30 };

static void make_wide(const char *family, int64_t unit_bytes) {
  /* Axes: the two halves, then a plane or rows. */
  static const int64_t rows[3][3] = {{2, 50, 60}, {HALF_UNITS, 64, 1}, {3000, 60, 1}};
  static const int64_t tiny[3][3] = {{2, 3, 1000}, {HALF_UNITS, 1, 3}, {3000, 1000, 1}};
  static const int64_t plane[3][3] = {{2, 64, 60}, {HALF_UNITS, 1, 64}, {HALF_UNITS, 60, 1}};
  const int64_t(*axes)[3] = strcmp(family, "rows") == 0     ? rows
                            : strcmp(family, "skinny") == 0 ? tiny
                                                            : plane;
  test_plan_make((int32_t)(8 * unit_bytes), 3, axes[0], axes[1], axes[2], &problem);
  const int64_t wide = INT64_C(1) << 33;
  problem.num_guards = 1;
  problem.guards[0].kind = RLO_GUARD_PAD;
  problem.guards[0].form.axis[0] = wide;
  problem.guards[0].form.axis[2] = 1;
  problem.guards[0].limit = wide + BEFORE_PAD;
  memset(problem.fill, 0xa5, (size_t)unit_bytes);
  problem.src_bytes = 2 * HALF_UNITS * unit_bytes;
  problem.dst_bytes = 2 * HALF_UNITS * unit_bytes;
  problem.read_bytes = problem.src_bytes;
  problem.written_bytes = problem.dst_bytes;
}

/* Checks that the kernel counts in 64 bits. */
static void check_is_wide(const rlo__family *family) {
  static rlo_problem scratch;
  static rlo__launch launch;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family->name;
  options.device_class = family->device_class;
  scratch = problem;
  expect_ok(test_plan_choose(&scratch, rlo_context_device_info(device.context), &options, 0, 0,
                             NULL, &launch));
  ck_assert_int_eq(test_plan_define(&launch, "RLO_INDEX32"), 0);
}

static bool takes_guards(const rlo__family *family) {
  return (family->traits & (RLO__FAMILY_COMPUTES | RLO__FAMILY_BITS)) == 0 &&
         strcmp(family->name, "copy") != 0 && strcmp(family->name, "gather_rows") != 0 &&
         (strcmp(family->name, "packed") != 0 || family->device_class == RLO_DEVICE_CLASS_GPU);
}

static void run_family(const rlo__family *family) {
  for (int64_t unit_bytes = 1; unit_bytes <= 4; unit_bytes *= 4) {
    make_wide(family->name, unit_bytes);
    check_is_wide(family);
    /* Streams begin with words on GPUs, which only whole lines promise. */
    const int64_t step_bytes = strcmp(family->name, "skinny") == 0 ? 64 : unit_bytes;
    for (int64_t shift = 0; shift < 2; ++shift) {
      const test_case c = {.family = family->name,
                           .device_class = family->device_class,
                           .src_shift_bytes = shift * step_bytes,
                           .dst_shift_bytes = shift * step_bytes};
      test_outcome outcome = test_device_run_problem(&device, &problem, &c, "wide", NULL);
      ck_assert(outcome == TEST_RAN || outcome == TEST_LEFT);
    }
  }
}

void bytes_wide(void) {
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    const bool is_cpu = rlo__families[f]->device_class == RLO_DEVICE_CLASS_CPU;
    if (takes_guards(rlo__families[f]) && !(is_cpu && test_device_is_gpu(&device))) {
      run_family(rlo__families[f]);
    }
  }
}
