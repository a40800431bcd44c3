/* SPDX-License-Identifier: Apache-2.0 */
#include "host/slices.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "ir/piece.h"

/** Tells if each axis steps over all that the later ones span together. */
static bool is_nested(const rlo_problem *problem) {
  int64_t span = 1;
  for (int32_t a = problem->num_axes - 1; a >= 0; --a) {
    if (problem->dst.axis[a] < span ||
        !rlo__mul_add(
            span, problem->dst.axis[a], problem->extents[a] - 1, &span)) {
      return false;
    }
  }
  return true;
}

/** How many units make whole bytes, at least. */
static int64_t units_of_bytes(int64_t units, int64_t bits) {
  return 8 / rlo__gcd(units % 8 * bits, 8);
}

/** How many slices along an axis write no byte together; 1 if that is not
 *  known. Units of whole bytes never do. Others do not if the steps of a nested
 *  box are whole bytes down to where each slice begins. */
static int64_t count_slices(const rlo_problem *problem,
                            int32_t axis,
                            int64_t *out_points) {
  const int64_t bits = rlo_problem_dst_unit_bits(problem);
  *out_points = 1;
  if (bits % 8 == 0) {
    return problem->extents[axis];
  }
  if (!is_nested(problem) || units_of_bytes(problem->dst.base, bits) != 1) {
    return 1;
  }
  for (int32_t a = 0; a < axis; ++a) {
    if (units_of_bytes(problem->dst.axis[a], bits) != 1) {
      return 1;
    }
  }
  *out_points = units_of_bytes(problem->dst.axis[axis], bits);
  return rlo__ceil_div(problem->extents[axis], *out_points);
}

rlo_status rlo__host_slices_init(const rlo_problem *problem,
                                 bool is_whole,
                                 rlo__host_slices *out) {
  rlo__host_slices slices = {.count = 1, .weight = 1};
  slices.problem = rlo__alloc(sizeof *slices.problem);
  if (slices.problem == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *slices.problem = *problem;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    slices.weight *= (double)problem->extents[a];
    int64_t points = 1;
    int64_t count = is_whole ? 1 : count_slices(problem, a, &points);
    if (count > slices.count) {
      slices.axis = a;
      slices.count = count;
      slices.points = points;
    }
  }
  *out = slices;
  return RLO_OK;
}

void rlo__host_slices_deinit(rlo__host_slices *slices) {
  rlo__free(slices->problem);
}

rlo_status rlo__host_slices_run(const rlo__host_slices *slices,
                                const void *src,
                                const void *indices,
                                void *dst,
                                int64_t first,
                                int64_t end) {
  const rlo_problem *problem = slices->problem;
  if (first >= end) {
    return RLO_OK;
  }
  if (end - first == slices->count) {
    return rlo_problem_run_host_indexed(problem, src, indices, dst);
  }
  rlo_problem *slice = rlo__alloc(sizeof *slice);
  if (slice == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  const int64_t begin = first * slices->points;
  const int64_t stop =
      rlo__min(end * slices->points, problem->extents[slices->axis]);
  rlo_status status =
      rlo__problem_restrict(problem, slices->axis, begin, stop, slice);
  if (status == RLO_OK) {
    status = rlo_problem_run_host_indexed(slice, src, indices, dst);
  }
  rlo__free(slice);
  return status;
}
