/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_PLAN_CASE_H
#define RLO_TESTS_SUPPORT_PLAN_CASE_H

#include "plan/planner.h"

/** Devices as tests of planning make them up: PoCL's numbers, and a GPU's. */
rlo_device_info test_plan_cpu(void);
rlo_device_info test_plan_gpu(void);

/** The problem of a relayout, as written; fails the test if there is none.
 *  Different types are converted.
 *  `permutation` is "2,0,1", or NULL for the identity. */
void test_plan_lower(const char *src, const char *dst, const char *permutation,
                     rlo_problem *out_problem);

/** The same, returned. */
rlo_problem test_problem_of(const char *src, const char *dst, const char *permutation);

/** The problem of a sum over one dimension, row-major on both sides. */
void test_plan_sum(const char *src, int32_t dim, rlo_problem *out_problem);

/** The problem that sums in a segment sum along dimension 0. */
void test_plan_segment_sum(const char *src, const char *ids, const char *dst,
                           rlo_problem *out_problem);

/** A problem over the axes given, without guards. */
void test_plan_make(int32_t unit_bits, int32_t num_axes, const int64_t *extents,
                    const int64_t *src_strides, const int64_t *dst_strides,
                    rlo_problem *out_problem);

/** A problem on a device, and what the planner makes of it. */
typedef struct test_plan {
  rlo_device_info device;
  rlo_problem problem;
  rlo__choice choice;
  rlo__launch launch;
} test_plan;

/** rlo__planner_choose without wisdom, explaining if out_choice is not NULL. */
rlo_status test_plan_choose(rlo_problem *problem, const rlo_device_info *device,
                            const rlo_plan_options *options, int64_t src_alignment_bytes,
                            int64_t dst_alignment_bytes, rlo__choice *out_choice,
                            rlo__launch *out_launch);

/** Plan; a family's name or NULL, and alignments in bytes or 0, as in
 *  rlo_plan_explain. */
rlo_status test_plan_try(test_plan *plan, const char *family, int64_t src_alignment_bytes,
                         int64_t dst_alignment_bytes);

/** Plan by the device's own alignments; fails the test if that fails. */
void test_plan_run(test_plan *plan);

/** Returns the answer of a family; fails the test if it was not asked. */
const rlo_plan_candidate *test_plan_candidate(const test_plan *plan, const char *family);

/** Returns the first value of a constant of a launch; fails the test if it has
 *  none. */
int64_t test_plan_define(const rlo__launch *launch, const char *name);

#endif
