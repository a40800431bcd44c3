/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "engine/copy/copy_ops.h"
#include "engine/tensor/attributes.h"
#include "relayout/ops.h"

static const rlo_attribute_spec roll_specs[] = {
    {"shifts", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
    {"dims", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
};

static rlo_status append_roll(const rlo__copy_step *step) {
  rlo_i64_list shifts;
  int32_t dims[RLO_MAX_RANK];
  int32_t count = 0;
  RLO_TRY(rlo_attributes_get_i64s(step->attributes, "shifts", &shifts));
  RLO_TRY(rlo__axes_get(step->attributes,
                        "dims",
                        rlo_chain_shape(step->chain)->rank,
                        dims,
                        &count));
  if (shifts.count != count) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%d shifts for %d dimensions",
                    shifts.count,
                    count);
  }
  return rlo_chain_roll(step->chain, shifts.values, dims, count);
}

const rlo__copy_op rlo__op_roll = {
    .name = "Roll",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(roll_specs),
    .append = append_roll,
};
