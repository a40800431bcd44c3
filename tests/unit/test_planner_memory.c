/* SPDX-License-Identifier: Apache-2.0 */
/* Every family passes on that there is no memory, wherever it writes numbers.
 */

#include "base/alloc.h"
#include "plan/family.h"
#include "support/plan_case.h"
#include "support/random_problem.h"
#include "support/suite.h"

RLO_TIMEOUT(100);

static rlo_status plan(const rlo_problem *problem, const rlo_device_info *device,
                       const char *family, rlo__launch *launch) {
  rlo_problem copy = *problem;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  return test_plan_choose(&copy, device, &options, 0, 0, NULL, launch);
}

/* Plans into a launch with room for `room` numbers, and without the allocation
 * `nth` alone: what is not written then is not written later either.
 * @param out_count  how many were asked for. */
static rlo_status plan_in_room(const rlo_problem *problem, const rlo_device_info *device,
                               const char *family, int32_t room, int64_t nth, int64_t *out_count) {
  rlo__launch launch;
  rlo__launch_init(&launch);
  launch.max_numbers = (size_t)room;
  rlo__alloc_set_fault(nth, false);
  rlo_status status = plan(problem, device, family, &launch);
  *out_count = rlo__alloc_tried_count();
  rlo__alloc_set_fault(0, false);
  rlo__launch_deinit(&launch);
  return status;
}

/* Plans by one family, with every room that is too small. @return whether it
 * takes the problem. */
static bool try_rooms(const rlo_problem *problem, const rlo_device_info *device,
                      const char *family) {
  rlo__launch launch;
  rlo__launch_init(&launch);
  bool takes = plan(problem, device, family, &launch) == RLO_OK;
  int32_t used = launch.num_numbers;
  rlo__launch_deinit(&launch);
  if (!takes) {
    return false;
  }
  for (int32_t room = 0; room <= used && room <= RLO__LAUNCH_FEW_NUMBERS; ++room) {
    int64_t count = 0;
    int64_t unread = 0;
    ck_assert_int_eq(plan_in_room(problem, device, family, room, 0, &count), RLO_OK);
    ck_assert(count > 0 || room == used);
    for (int64_t nth = 1; nth <= count; ++nth) {
      rlo_status status = plan_in_room(problem, device, family, room, nth, &unread);
      ck_assert_msg(status == RLO_OUT_OF_MEMORY,
                    "family %s writes %d numbers, of which %d fit; without the "
                    "allocation %d: %s",
                    family, used, room, (int)nth, rlo_status_name(status));
    }
  }
  return true;
}

RLO_TEST(test_planner_memory__every_number_may_find_no_room) {
  enum { ROUNDS = 60 };

  static test_problem drawn;
  static int32_t taken[RLO_MAX_FAMILIES * 2];
  test_random random = test_random_begin("test_planner_memory");
  int64_t live = rlo__alloc_live_count();
  const rlo_device_info devices[] = {test_plan_cpu(), test_plan_gpu()};
  for (int round = 0; round < ROUNDS * TEST_PROBLEM_NUM_KINDS; ++round) {
    test_problem_kind kind = (test_problem_kind)(round % TEST_PROBLEM_NUM_KINDS);
    test_problem_size size = round % 2 == 0 ? TEST_PROBLEM_SMALL : TEST_PROBLEM_LARGE;
    if (!test_random_problem_of(&random, kind, size, &drawn) ||
        rlo_problem_is_empty(&drawn.problem)) {
      continue;
    }
    for (int32_t f = 0; f < rlo__num_families; ++f) {
      const rlo__family *family = rlo__families[f];
      const rlo_device_info *device = &devices[family->device_class == RLO_DEVICE_CLASS_GPU];
      taken[f] += try_rooms(&drawn.problem, device, family->name);
    }
  }
  for (int32_t f = 0; f < rlo__num_families; ++f) {
    ck_assert_msg(taken[f] > 0, "no problem for family %s", rlo__families[f]->name);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}
