/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pass.h"

#include "base/checked.h"

/* What is long begins with a page, as direct I/O wants it. */
static int64_t aligned(int64_t bytes) {
  const int64_t page_bytes = 4096;
  const int64_t long_bytes = INT64_C(64) << 10;
  int64_t alignment = bytes < long_bytes ? RLO__STAGING_ALIGNMENT : page_bytes;
  return rlo__ceil_div(bytes, alignment) * alignment;
}

rlo__pass_layout rlo__pass_get_layout(const rlo__pass *pass) {
  const rlo__piece_plan *plan = &pass->plan;
  rlo__pass_layout layout = {.num_boxes = (int32_t)rlo__min(2, plan->num_boxes),
                             .num_slots = (int32_t)rlo__min(
                                 pass->num_slots, rlo__pass_num_pieces(pass))};
  if (pass->num_shares > 0) {
    return layout;
  }
  rlo__problem_side gathered = plan->gathered;
  rlo__problem_side other =
      gathered == RLO__SIDE_SOURCE ? RLO__SIDE_DESTINATION : RLO__SIDE_SOURCE;
  if (!pass->is_in_memory[gathered]) {
    layout.box_bytes = aligned(plan->box_bytes[gathered]);
  }
  if (!pass->is_in_memory[other]) {
    layout.slot_bytes = plan->piece_bytes[other];
  }
  if (pass->copies) {
    /* For one side, then the other. */
    layout.slot_bytes =
        rlo__max(layout.slot_bytes, plan->piece_bytes[gathered]);
  }
  layout.slot_bytes = aligned(layout.slot_bytes);
  layout.bytes = layout.num_boxes * layout.box_bytes +
                 layout.num_slots * layout.slot_bytes;
  return layout;
}

int64_t rlo__pass_num_pieces(const rlo__pass *pass) {
  return pass->num_shares > 0 ? pass->num_shares : pass->plan.num_pieces;
}
