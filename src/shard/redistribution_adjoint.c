/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/status.h"
#include "relayout/permutation.h"
#include "shard/redistribution.h"

/* Makes the sharding of the same tiles with subgroups of kind `to` in place of
 * those of kind `from`. Boxes stay as they are. The caller releases it. */
static rlo_status exchange(rlo_sharding *sharding, rlo_sharding_kind from, rlo_sharding_kind to,
                           rlo_sharding **out_sharding) {
  *out_sharding = NULL;
  if (sharding->kind == from) {
    return rlo_sharding_make(to, out_sharding);
  }
  rlo_sharding_tiles tiles = sharding->tiles;
  bool is_other = false;
  for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
    if (tiles.subgroups[k].kind == from) {
      tiles.subgroups[k].kind = to;
      is_other = true;
    }
  }
  if (is_other) {
    return rlo_sharding_make_tiled(&tiles, out_sharding);
  }
  *out_sharding = rlo_sharding_retain(sharding);
  return RLO_OK;
}

/* RLO_UNSUPPORTED where several devices hold a box of the destination's list,
 * which has no form for summands. */
static rlo_status check_no_box_copies(const rlo__holding *holding) {
  for (int64_t k = 0; holding->order != NULL && k < holding->counts[0]; ++k) {
    int64_t first = holding->begins[k];
    RLO_FAIL_IF(holding->begins[k + 1] - first > 1, RLO_UNSUPPORTED,
                "boxes %" PRId64 " and %" PRId64
                " of the destination are copies, and the gradients of copies of a box, which are "
                "to be added, have no sharding",
                holding->order[first], holding->order[first + 1]);
  }
  return RLO_OK;
}

/* How the gradients of the destination are held. */
static rlo_status make_source(const rlo_redistribution *plan, bool sums_copies,
                              rlo_sharding **out_sharding) {
  rlo_sharding *sharding = plan->sharding[1];
  if (!sums_copies) {
    *out_sharding = rlo_sharding_retain(sharding);
    return RLO_OK;
  }
  RLO_TRY(check_no_box_copies(&plan->destination));
  return exchange(sharding, RLO_SHARDING_REPLICATED, RLO_SHARDING_UNREDUCED, out_sharding);
}

rlo_status rlo_redistribution_create_adjoint(const rlo_redistribution *plan, bool sums_copies,
                                             rlo_redistribution **out_adjoint) {
  RLO_REQUIRE(plan, out_adjoint);
  *out_adjoint = NULL;
  int32_t inverse[RLO_MAX_RANK];
  rlo_redistribution_options options = {.struct_size = sizeof options,
                                        .from = &plan->destination_shape,
                                        .to = &plan->source_shape,
                                        .permutation = inverse,
                                        .num_devices = plan->num_devices};
  rlo_permutation_inverse(plan->from, plan->rank, inverse);
  RLO_TRY(make_source(plan, sums_copies, &options.from_sharding));
  rlo_status status = exchange(plan->sharding[0], RLO_SHARDING_UNREDUCED, RLO_SHARDING_REPLICATED,
                               &options.to_sharding);
  if (status == RLO_OK) {
    status = rlo_redistribution_create(&options, out_adjoint);
    rlo_sharding_release(options.to_sharding);
  }
  rlo_sharding_release(options.from_sharding);
  return status;
}
