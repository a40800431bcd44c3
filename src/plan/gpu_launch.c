/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/gpu_launch.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"

enum {
  MAX_LOCAL_ITEMS = 256,
  /** First lane of the shifts that go with the multipliers, if there are no
   *  more axes than this. */
  SHIFT_LANE = 8
};

/* Some drivers count the work-items of a launch in an unsigned int. */
#define MAX_GROUPS ((size_t)(UINT32_MAX / MAX_LOCAL_ITEMS))

int64_t rlo__gpu_local_items(const rlo_device_info *device) {
  int64_t items = 1;
  while (items < MAX_LOCAL_ITEMS && 2 * items <= device->max_work_group_items) {
    items *= 2;
  }
  return items;
}

int64_t rlo__gpu_alignment(const rlo_problem *problem,
                           const rlo_form *form,
                           int32_t free_axis,
                           int64_t alignment_bytes,
                           int64_t limit) {
  int64_t unit_bytes = problem->unit_bits / 8;
  int64_t align =
      rlo__alignment_after(alignment_bytes, form->base * unit_bytes, limit);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != free_axis) {
      align = rlo__alignment_after(align, form->axis[a] * unit_bytes, limit);
    }
  }
  return align;
}

int64_t rlo__gpu_magic(int64_t divisor, int32_t *out_log2) {
  int32_t log2 = 0;
  while ((INT64_C(1) << log2) < divisor) {
    ++log2;
  }
  *out_log2 = log2;
  int64_t magic = rlo__ceil_div(INT64_C(1) << (31 + log2), divisor);
  return magic > INT32_MAX ? magic - (INT64_C(1) << 32) : magic;
}

void rlo__gpu_lead_axes(rlo__grid *grid, int32_t count) {
  int32_t added = count - grid->num_axes;
  memmove(grid->axes + added,
          grid->axes,
          (size_t)grid->num_axes * sizeof grid->axes[0]);
  for (int32_t k = 0; k < added; ++k) {
    grid->axes[k] =
        (rlo__grid_axis){.problem_axis = -1, .step = 1, .extent = 1};
  }
  grid->num_axes = count;
}

void rlo__gpu_round_axes(rlo__grid *grid) {
  static const int32_t counts[] = {2, 3, 4, 6, 8, RLO__GRID_MAX_AXES};
  int32_t n = 0;
  while (counts[n] < grid->num_axes) {
    ++n;
  }
  rlo__gpu_lead_axes(grid, counts[n]);
}

bool rlo__gpu_can_launch(size_t num_groups, rlo__str *why) {
  if (num_groups > MAX_GROUPS) {
    rlo__str_printf(why,
                    "it would need %zu work-groups; a launch has at most %zu",
                    num_groups,
                    MAX_GROUPS);
    return false;
  }
  return true;
}

rlo_status rlo__gpu_add_magic(const rlo__grid *grid, rlo__launch *launch) {
  int64_t magic[RLO__GRID_MAX_AXES] = {0};
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    int32_t log2;
    magic[n] = rlo__gpu_magic(grid->axes[n].extent, &log2);
    if (grid->num_axes <= SHIFT_LANE) {
      magic[SHIFT_LANE + n] = log2;
    }
  }
  return rlo__launch_argument(
      launch, RLO__ARGUMENT_INT16, magic, RLO__GRID_MAX_AXES);
}

rlo_status rlo__gpu_begin(const rlo__family_query *query,
                          const rlo__grid_plan *plan,
                          const char *kernel_file,
                          size_t num_groups,
                          rlo__launch *launch) {
  int64_t local_items = rlo__gpu_local_items(query->device);
  RLO_TRY(rlo__grid_begin(query, plan, kernel_file, launch));
  launch->local_size[0] = (size_t)local_items;
  launch->global_size[0] = num_groups * (size_t)local_items;
  RLO_TRY(rlo__gpu_add_magic(&plan->grid, launch));
  RLO_TRY(rlo__launch_define(launch, "RLO_GRID_AXES", plan->grid.num_axes));
  return rlo__launch_define(launch, "RLO_LOCAL", local_items);
}
