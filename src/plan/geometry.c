/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/geometry.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"

/* Largest distance of a position from 0 or from another one, in bytes; false on
 * overflow. */
static bool reach_bytes(const rlo_problem *problem, const rlo_form *form, int32_t unit_bits,
                        int64_t *out_reach_bytes) {
  int64_t unit_bytes = (unit_bits + 7) / 8;
  int64_t min;
  int64_t max;
  int64_t low;
  int64_t span;
  if (!rlo__form_range(problem, form, &min, &max) || !rlo__add(max, 1, &max) ||
      !rlo__mul(min, unit_bytes, &min) || !rlo__mul(max, unit_bytes, &max) ||
      !rlo__sub(0, min, &low) || !rlo__sub(max, min, &span)) {
    return false;
  }
  *out_reach_bytes = rlo__max(rlo__max(low, max), span);
  return true;
}

bool rlo__geometry_overflows(const rlo_problem *problem) {
  int64_t reach;
  int32_t dst_bits = rlo_problem_dst_unit_bits(problem);
  return !reach_bytes(problem, &problem->src, problem->unit_bits, &reach) ||
         !reach_bytes(problem, &problem->dst, dst_bits, &reach);
}

/* Tells if each axis changes a guard by less than 2^31: kernels take the change
 * of a step along a grid axis as an int. */
static bool guard_fits_32_bits(const rlo_problem *problem, const rlo_guard *guard) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t reach;
    if (!rlo__mul(guard->form.axis[a], problem->extents[a], &reach) || reach < -INT32_MAX ||
        reach > INT32_MAX) {
      return false;
    }
  }
  return true;
}

static bool fits_32_bits(const rlo_problem *problem) {
  int64_t src;
  int64_t dst;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (!guard_fits_32_bits(problem, &problem->guards[g])) {
      return false;
    }
  }
  int32_t dst_bits = rlo_problem_dst_unit_bits(problem);
  return reach_bytes(problem, &problem->src, problem->unit_bits, &src) &&
         src <= rlo__thresholds.plan_index32_bytes &&
         reach_bytes(problem, &problem->dst, dst_bits, &dst) &&
         dst <= rlo__thresholds.plan_index32_bytes;
}

rlo_status rlo__geometry_count_points(const rlo_problem *problem, int32_t first, int32_t end,
                                      int64_t *inout_count) {
  int64_t count = *inout_count;
  for (int32_t a = first; a < end; ++a) {
    RLO_FAIL_IF(!rlo__mul(count, problem->extents[a], &count), RLO_OVERFLOW,
                "the points of a box of %d axes do not fit into 64 bits", problem->num_axes);
  }
  *inout_count = count;
  return RLO_OK;
}

static int64_t box_bytes(const rlo_problem *problem) {
  /* Units of less than a byte are counted in bits. */
  int64_t part = problem->unit_bits % 8 == 0 ? 8 : 1;
  int64_t size = problem->unit_bits / part;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (!rlo__mul(size, problem->extents[a], &size)) {
      return INT64_MAX;
    }
  }
  return rlo__ceil_div(size, 8 / part);
}

/* The longest axis of stride 1 in a form, the last of several; -1: none. */
static int32_t unit_stride_axis(const rlo_problem *problem, const rlo_form *form,
                                int32_t other_than) {
  int32_t found = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != other_than && form->axis[a] == 1 &&
        (found < 0 || problem->extents[a] >= problem->extents[found])) {
      found = a;
    }
  }
  return found;
}

rlo__geometry rlo__geometry_of(const rlo__family_query *query) {
  const rlo_problem *problem = query->problem;
  if (query->geometry != NULL) {
    return *query->geometry;
  }
  rlo__geometry g = {0};
  g.unit_bytes = problem->unit_bits / 8;
  g.box_bytes = box_bytes(problem);
  g.fits_32_bits = fits_32_bits(problem);
  for (int32_t n = 0; n < problem->num_guards; ++n) {
    if (problem->guards[n].kind == RLO_GUARD_PAD) {
      const rlo_guard *guard = &problem->guards[n];
      ++g.num_pad_guards;
      g.is_fill =
          g.is_fill || rlo__form_reach(problem, &guard->form, guard->limit) == RLO__HOLDS_NOWHERE;
    } else {
      ++g.num_skip_guards;
    }
  }
  g.dst_axis = unit_stride_axis(problem, &problem->dst, -1);
  g.src_axis = unit_stride_axis(problem, &problem->src, g.dst_axis);
  bool is_run = g.dst_axis >= 0 && (g.is_fill || problem->src.axis[g.dst_axis] == 1);
  g.run_axis = is_run ? g.dst_axis : -1;
  return g;
}

int64_t rlo__alignment_after(int64_t alignment_bytes, int64_t offset_bytes, int64_t limit) {
  /* The lowest set bit of all three; it does not depend on signs. */
  uint64_t bits = (uint64_t)alignment_bytes | (uint64_t)offset_bytes | (uint64_t)limit;
  return (int64_t)(bits & (0 - bits));
}

static int64_t side_alignment(const rlo_problem *problem, const rlo_form *form, int32_t unit_bits,
                              int64_t memory_bytes, int32_t free_axis, int64_t limit) {
  int64_t unit_bytes = unit_bits / 8;
  int64_t align = rlo__alignment_after(memory_bytes, form->base * unit_bytes, limit);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != free_axis) {
      align = rlo__alignment_after(align, form->axis[a] * unit_bytes, limit);
    }
  }
  return align;
}

int64_t rlo__src_alignment(const rlo__family_query *query, int32_t free_axis, int64_t limit) {
  const rlo_problem *problem = query->problem;
  return side_alignment(problem, &problem->src, problem->unit_bits, query->src_alignment_bytes,
                        free_axis, limit);
}

int64_t rlo__dst_alignment(const rlo__family_query *query, int32_t free_axis, int64_t limit) {
  const rlo_problem *problem = query->problem;
  return side_alignment(problem, &problem->dst, rlo_problem_dst_unit_bits(problem),
                        query->dst_alignment_bytes, free_axis, limit);
}

void rlo__geometry_list_guards(const rlo_problem *problem,
                               const rlo_guard *out_guards[RLO_MAX_GUARDS]) {
  static const rlo_guard_kind kinds[] = {RLO_GUARD_PAD, RLO_GUARD_SKIP};
  int32_t count = 0;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    for (int32_t g = 0; g < problem->num_guards; ++g) {
      if (problem->guards[g].kind == kinds[k]) {
        out_guards[count++] = &problem->guards[g];
      }
    }
  }
}

int32_t rlo__geometry_nearest_axis(const rlo_problem *problem, const rlo_form *form,
                                   uint64_t left_out) {
  int32_t best = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if ((left_out >> a & 1) == 0 &&
        (best < 0 || rlo__abs(form->axis[a]) < rlo__abs(form->axis[best]))) {
      best = a;
    }
  }
  return best;
}

int32_t rlo__axis_run_next(const rlo_problem *problem, const rlo_form *form, int64_t units,
                           uint64_t taken) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (form->axis[a] == units && (taken >> a & 1) == 0) {
      return a;
    }
  }
  return -1;
}

rlo__axis_run rlo__axis_run_find(const rlo_problem *problem, const rlo_form *form, int32_t first) {
  rlo__axis_run run = {0};
  uint64_t taken = 0;
  int64_t units = 1;
  for (int32_t a = first; a >= 0; a = rlo__axis_run_next(problem, form, units, taken)) {
    run.axes[run.num_axes++] = a;
    taken |= UINT64_C(1) << a;
    units *= problem->extents[a];
  }
  return run;
}

bool rlo__axis_run_leads(const rlo__axis_run *run, int32_t count, int32_t axis) {
  for (int32_t k = 0; k < count && k < run->num_axes; ++k) {
    if (run->axes[k] == axis) {
      return true;
    }
  }
  return false;
}

int64_t rlo__axis_run_units(const rlo__axis_run *run, const rlo_problem *problem,
                            const int64_t *block, int32_t *out_num_axes) {
  int64_t units = 1;
  int32_t n = 0;
  bool is_whole = true;
  while (is_whole && n < run->num_axes) {
    int32_t a = run->axes[n++];
    units *= block[a];
    is_whole = block[a] == problem->extents[a];
  }
  *out_num_axes = n;
  return units;
}
