/* SPDX-License-Identifier: Apache-2.0 */
#include "support/plan_case.h"
#include "support/expect.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/text.h"

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

static void parse(const char *text, rlo_shape *out_shape) {
  ck_assert_msg(rlo_shape_parse(text, strlen(text), out_shape) == RLO_OK,
                "%s: %s",
                text,
                rlo_error_last()->message);
}

void test_plan_lower(const char *src,
                     const char *dst,
                     const char *permutation,
                     rlo_problem *out_problem) {
  rlo_shape src_shape;
  rlo_shape dst_shape;
  parse(src, &src_shape);
  parse(dst, &dst_shape);
  int32_t order[RLO_MAX_RANK];
  for (int32_t k = 0; permutation != NULL && k < src_shape.rank; ++k) {
    char *rest;
    order[k] = (int32_t)strtol(permutation, &rest, 10);
    permutation = *rest == ',' ? rest + 1 : rest;
  }
  const int32_t *given = permutation == NULL ? NULL : order;
  rlo_status status =
      src_shape.dtype == dst_shape.dtype
          ? rlo_relayout_lower(&src_shape, &dst_shape, given, out_problem)
          : rlo_relayout_combine(
                &src_shape, &dst_shape, given, NULL, out_problem);
  ck_assert_msg(
      status == RLO_OK, "%s to %s: %s", src, dst, rlo_error_last()->message);
}

void test_plan_sum(const char *src, int32_t dim, rlo_problem *out_problem) {
  rlo_shape shape;
  rlo_chain *chain = NULL;
  rlo_problem_list *problems = NULL;
  parse(src, &shape);
  expect_ok(rlo_chain_create(&shape, &chain));
  expect_ok(rlo_chain_sum(chain, &dim, 1, false));
  expect_ok(rlo_chain_lower(chain, NULL, &problems));
  *out_problem = *rlo_problem_list_get(problems, 0);
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
}

void test_plan_segment_sum(const char *src,
                           const char *ids,
                           const char *dst,
                           rlo_problem *out_problem) {
  const char *texts[] = {src, ids, dst};
  rlo_shape shapes[3];
  for (int32_t n = 0; n < 3; ++n) {
    expect_ok(rlo_shape_parse(texts[n], strlen(texts[n]), &shapes[n]));
  }
  rlo_segment_sum *sum;
  expect_ok(
      rlo_segment_sum_create(&shapes[0], &shapes[1], 0, 0, &shapes[2], &sum));
  const rlo_problem_list *problems = rlo_segment_sum_problems(sum);
  *out_problem =
      *rlo_problem_list_get(problems, rlo_problem_list_count(problems) - 1);
  rlo_segment_sum_release(sum);
}

void test_plan_make(int32_t unit_bits,
                    int32_t num_axes,
                    const int64_t *extents,
                    const int64_t *src_strides,
                    const int64_t *dst_strides,
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

rlo_status test_plan_choose(rlo_problem *problem,
                            const rlo_device_info *device,
                            const rlo_plan_options *options,
                            int64_t src_alignment_bytes,
                            int64_t dst_alignment_bytes,
                            rlo__choice *out_choice,
                            rlo__launch *out_launch) {
  const rlo__plan_request request = {.problem = problem,
                                     .device = device,
                                     .options = options,
                                     .src_alignment_bytes = src_alignment_bytes,
                                     .dst_alignment_bytes = dst_alignment_bytes,
                                     .is_explaining = out_choice != NULL};
  return rlo__planner_choose(&request, out_choice, out_launch);
}

rlo_status test_plan_try(test_plan *plan,
                         const char *family,
                         int64_t src_alignment_bytes,
                         int64_t dst_alignment_bytes) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  return test_plan_choose(&plan->problem,
                          &plan->device,
                          &options,
                          src_alignment_bytes,
                          dst_alignment_bytes,
                          &plan->choice,
                          &plan->launch);
}

void test_plan_run(test_plan *plan) {
  expect_ok(test_plan_try(plan, NULL, 0, 0));
}

const rlo_plan_candidate *test_plan_candidate(const test_plan *plan,
                                              const char *family) {
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
