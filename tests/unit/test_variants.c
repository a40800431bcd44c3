/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "support/plan_case.h"
#include "support/suite.h"
#include "support/variants.h"

static test_variant_set reached;
static int32_t num_undeclared;

static void reach(void *payload, const test_variant_case *c, const rlo__launch *launch) {
  (void)payload;
  (void)c;
  test_variant_set set;
  if (!test_variants_of(launch, &set)) {
    ++num_undeclared;
    return;
  }
  test_variant_set_add(&reached, &set);
}

RLO_TIMEOUT(120);

static bool is_of_cpu(const test_variant_case *c) {
  return c->family->device_class == RLO_DEVICE_CLASS_CPU;
}

static bool is_of_gpu(const test_variant_case *c) {
  return c->family->device_class == RLO_DEVICE_CLASS_GPU;
}

/* All that planning can choose, for a device with all builtins and one without
 * any, which kernels of the CPU class alone use, is what the table declares: what
 * is declared and never chosen is no kernel but a name, and what is chosen and not
 * declared is run by no test. */
RLO_TEST(test_variants__are_those_that_planning_chooses) {
  rlo_device_info device = test_plan_cpu();
  test_variants_each(&device, false, NULL, reach, NULL);
  device.has_builtin_prefetch = false;
  device.has_nontemporal_store = false;
  device.has_vector_shuffle = false;
  test_variants_each(&device, true, is_of_cpu, reach, NULL);
  int32_t num_never = 0;
  for (int32_t n = 0; n < test_variants_count(); ++n) {
    if (!test_variant_set_has(&reached, n)) {
      printf("never chosen: %s\n", test_variant_name(n));
      ++num_never;
    }
  }
  printf("%d variants\n", (int)test_variants_count());
  ck_assert_int_eq(num_undeclared, 0);
  ck_assert_int_eq(num_never, 0);
}

static void ignore(void *payload, const test_variant_case *c, const rlo__launch *launch) {
  (void)payload;
  (void)c;
  (void)launch;
}

/* A device of other sizes than those that the table is of: each case is planned
 * or refused with RLO_UNSUPPORTED, as test_variants_each asserts. */
RLO_TEST(test_variants__are_planned_for_devices_of_any_size) {
  rlo_device_info device = test_plan_cpu();
  device.local_memory_bytes = 256 << 10;
  device.max_work_group_items = 8192;
  device.max_parameter_bytes = 3840;
  test_variants_each(&device, true, is_of_gpu, ignore, NULL);
}

/* The check itself: a variant that nobody has declared is seen. */
RLO_TEST(test_variants__sees_what_is_planted) {
  static rlo_problem problem;
  static rlo__launch launch;
  rlo_device_info device = test_plan_cpu();
  test_variant_set set;
  test_plan_lower("f32[64,64]", "f32[64,64]{0,1}", NULL, &problem);
  ck_assert_int_eq(test_plan_choose(&problem, &device, NULL, 0, 0, NULL, &launch), RLO_OK);
  ck_assert(test_variants_of(&launch, &set));
  ck_assert_int_eq(rlo__launch_define(&launch, "RLO_PLANTED", 1), RLO_OK);
  ck_assert(!test_variants_of(&launch, &set));
  --launch.num_defines;
  for (int32_t d = 0; d < launch.num_defines; ++d) {
    launch.numbers[launch.defines[d].first] += 1000;
  }
  ck_assert(!test_variants_of(&launch, &set));
}

RLO_TEST(test_variants__are_all_covered_by_few_cases) {
  enum { CAPACITY = 600 };

  static test_variant_case cases[CAPACITY];
  static test_variant_set sets[CAPACITY];
  rlo_device_info device = test_plan_cpu();
  test_variant_set covered;
  const test_cover small = {.filter = is_of_cpu, .is_small = true, .watch = reach};
  memset(&reached, 0, sizeof reached);
  int32_t count = test_variants_cover(&device, &small, cases, sets, CAPACITY, &covered);
  printf("%d cases cover what small problems of the CPU class reach\n", (int)count);
  ck_assert_int_gt(test_variant_set_count_new(&reached, &(test_variant_set){{0}}), 0);
  ck_assert_int_eq(test_variant_set_count_new(&reached, &covered), 0);
}
