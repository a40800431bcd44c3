/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_REDISTRIBUTION_H
#define RLO_OPS_REDISTRIBUTION_H

#include "relayout/redistribution.h"

/** As rlo_redistribution_lower_move, between parts in layouts of their own:
 *  `source_shape` and `target_shape` have the dimensions of what the devices
 *  hold. `fills` concerns the fill of `target_shape`. */
RLO_NODISCARD rlo_status
rlo__redistribution_lower_between(const rlo_redistribution *plan,
                                  int64_t sender,
                                  const rlo_shape *source_shape,
                                  int64_t receiver,
                                  const rlo_shape *target_shape,
                                  const rlo_redistribution_piece *piece,
                                  bool fills,
                                  rlo_problem_list **out_list);

#endif
