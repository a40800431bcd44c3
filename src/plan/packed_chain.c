/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/packed_chain.h"

rlo__axis_run rlo__axis_run_find(const rlo_problem *problem,
                                 const rlo_form *form,
                                 int32_t first) {
  rlo__axis_run chain = {1, {first}};
  int64_t stride = problem->extents[first];
  bool is_longer = true;
  while (is_longer) {
    is_longer = false;
    for (int32_t a = 0; a < problem->num_axes && !is_longer; ++a) {
      if (form->axis[a] == stride &&
          !rlo__axis_run_leads(&chain, chain.num_axes, a)) {
        chain.axes[chain.num_axes++] = a;
        stride *= problem->extents[a];
        is_longer = true;
      }
    }
  }
  return chain;
}

bool rlo__axis_run_leads(const rlo__axis_run *chain,
                         int32_t count,
                         int32_t axis) {
  for (int32_t k = 0; k < count && k < chain->num_axes; ++k) {
    if (chain->axes[k] == axis) {
      return true;
    }
  }
  return false;
}

int64_t rlo__axis_run_units(const rlo__axis_run *chain,
                            const rlo_problem *problem,
                            const int64_t *block,
                            int32_t *out_num_axes) {
  int64_t units = 1;
  int32_t n = 0;
  bool is_whole = true;
  while (is_whole && n < chain->num_axes) {
    int32_t a = chain->axes[n++];
    units *= block[a];
    is_whole = block[a] == problem->extents[a];
  }
  *out_num_axes = n;
  return units;
}
