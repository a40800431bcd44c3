/* SPDX-License-Identifier: Apache-2.0 */
#include "support/plan_case.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/permutation.h"
#include "support/shape_of.h"

rlo_device_info test_plan_cpu(void) {
  rlo_device_info device = RLO_DEVICE_INFO_INIT;
  device.device_class = RLO_DEVICE_CLASS_CPU;
  device.compute_units = 2;
  device.max_work_group_items = 4096;
  device.local_memory_bytes = 1 << 20;
  device.global_memory_bytes = INT64_C(14) << 30;
  device.max_allocation_bytes = INT64_C(4) << 30;
  device.base_alignment_bytes = 128;
  device.cache_line_bytes = 64;
  device.max_parameter_bytes = 1024;
  device.address_bits = 64;
  device.has_nontemporal_store = true;
  device.has_builtin_prefetch = true;
  device.has_vector_shuffle = true;
  device.has_f64 = true;
  device.has_f32_denormals = true;
  return device;
}

rlo_device_info test_plan_gpu(void) {
  rlo_device_info device = test_plan_cpu();
  device.device_class = RLO_DEVICE_CLASS_GPU;
  device.compute_units = 32;
  device.max_work_group_items = 1024;
  device.local_memory_bytes = 48 << 10;
  device.max_parameter_bytes = 4096;
  device.has_nontemporal_store = false;
  device.has_builtin_prefetch = false;
  device.has_vector_shuffle = false;
  return device;
}

void test_plan_lower(const char *src, const char *dst, const char *permutation,
                     rlo_problem *out_problem) {
  rlo_shape src_shape = test_shape_of(src);
  rlo_shape dst_shape = test_shape_of(dst);
  int32_t order[RLO_MAX_RANK];
  test_parse_permutation(permutation, src_shape.rank, order);
  const int32_t *given = permutation == NULL ? NULL : order;
  rlo_status status = src_shape.dtype == dst_shape.dtype
                          ? rlo_relayout_lower(&src_shape, &dst_shape, given, out_problem)
                          : rlo_relayout_combine(&src_shape, &dst_shape, given, NULL, out_problem);
  ck_assert_msg(status == RLO_OK, "%s to %s: %s", src, dst, rlo_error_last()->message);
}

rlo_problem test_problem_of(const char *src, const char *dst, const char *permutation) {
  rlo_problem problem;
  test_plan_lower(src, dst, permutation, &problem);
  return problem;
}

void test_plan_sum(const char *src, int32_t dim, rlo_problem *out_problem) {
  rlo_shape shape = test_shape_of(src);
  rlo_chain *chain = test_chain_of(&shape);
  rlo_problem_list *problems = NULL;
  expect_ok(rlo_chain_sum(chain, &dim, 1, false));
  expect_ok(rlo_chain_lower(chain, NULL, &problems));
  *out_problem = *rlo_problem_list_get(problems, 0);
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
}

void test_plan_segment_sum(const char *src, const char *ids, const char *dst,
                           rlo_problem *out_problem) {
  rlo_shape shapes[] = {test_shape_of(src), test_shape_of(ids), test_shape_of(dst)};
  rlo_segment_sum *sum;
  expect_ok(rlo_segment_sum_create(&shapes[0], &shapes[1], 0, 0, &shapes[2], &sum));
  const rlo_problem_list *problems = rlo_segment_sum_problems(sum);
  *out_problem = *rlo_problem_list_get(problems, rlo_problem_list_count(problems) - 1);
  rlo_segment_sum_release(sum);
}

void test_plan_make(int32_t unit_bits, int32_t num_axes, const int64_t *extents,
                    const int64_t *src_strides, const int64_t *dst_strides,
                    rlo_problem *out_problem) {
  memset(out_problem, 0, sizeof *out_problem);
  out_problem->unit_bits = unit_bits;
  out_problem->num_axes = num_axes;
  for (int32_t a = 0; a < num_axes; ++a) {
    out_problem->extents[a] = extents[a];
    out_problem->src.axis[a] = src_strides[a];
    out_problem->dst.axis[a] = dst_strides[a];
  }
}

rlo_status test_plan_choose(rlo_problem *problem, const rlo_device_info *device,
                            const rlo_plan_options *options, int64_t src_alignment_bytes,
                            int64_t dst_alignment_bytes, rlo__choice *out_choice,
                            rlo__launch *out_launch) {
  const rlo__plan_request request = {.problem = problem,
                                     .device = device,
                                     .options = options,
                                     .src_alignment_bytes = src_alignment_bytes,
                                     .dst_alignment_bytes = dst_alignment_bytes,
                                     .is_explaining = out_choice != NULL};
  return rlo__planner_choose(&request, out_choice, out_launch);
}

rlo_status test_plan_try(test_plan *plan, const char *family, int64_t src_alignment_bytes,
                         int64_t dst_alignment_bytes) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  return test_plan_choose(&plan->problem, &plan->device, &options, src_alignment_bytes,
                          dst_alignment_bytes, &plan->choice, &plan->launch);
}

void test_plan_run(test_plan *plan) {
  expect_ok(test_plan_try(plan, NULL, 0, 0));
}

const rlo_plan_candidate *test_plan_candidate(const test_plan *plan, const char *family) {
  for (int32_t n = 0; n < plan->choice.num_candidates; ++n) {
    if (strcmp(plan->choice.candidates[n].family, family) == 0) {
      return &plan->choice.candidates[n];
    }
  }
  ck_abort_msg("family %s was not asked", family);
  return NULL;
}

int64_t test_plan_define(const rlo__launch *launch, const char *name) {
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    if (strcmp(launch->defines[d].name, name) == 0) {
      return launch->numbers[launch->defines[d].first];
    }
  }
  ck_abort_msg("the launch of %s has no %s", launch->kernel_file, name);
  return -1;
}
