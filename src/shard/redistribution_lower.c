/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/redistribution.h"

#include <inttypes.h>

#include "base/status.h"
#include "relayout/ops.h"
#include "relayout/permutation.h"
#include "shard/redistribution.h"

/* The part of an array that a device holds, and where it begins. */
typedef struct part {
  rlo_shape shape;
  rlo_box box;
} part;

static rlo_status find_part(const rlo_sharding *sharding, const rlo_shape *shape, int64_t device,
                            part *out) {
  RLO_TRY(rlo_sharding_get_box(sharding, shape, device, &out->box));
  return rlo_sharding_get_shard_shape(sharding, shape, device, &out->shape);
}

/* Finds where a box lies in a part that holds it. */
static rlo_status locate(const part *p, const rlo_box *box, int64_t device,
                         int64_t begin[RLO_MAX_RANK], int64_t end[RLO_MAX_RANK]) {
  for (int32_t d = 0; d < p->box.rank; ++d) {
    RLO_FAIL_IF(box->rank != p->box.rank || box->start[d] < p->box.start[d] ||
                    box->limit[d] > p->box.limit[d] || box->start[d] > box->limit[d],
                RLO_OUT_OF_RANGE,
                "the piece is %" PRId64 ":%" PRId64 " in dimension %" PRId32 ", device %" PRId64
                " holds %" PRId64 ":%" PRId64,
                box->start[d], box->limit[d], d, device, p->box.start[d], p->box.limit[d]);
    begin[d] = box->start[d] - p->box.start[d];
    end[d] = box->limit[d] - p->box.start[d];
  }
  return RLO_OK;
}

static rlo_status make_message(const rlo_redistribution *plan,
                               const rlo_redistribution_piece *piece, rlo_shape *out_shape) {
  int64_t sizes[RLO_MAX_RANK];
  for (int32_t d = 0; d < piece->box.rank; ++d) {
    sizes[d] = piece->box.limit[d] - piece->box.start[d];
  }
  rlo_layout layout = rlo_layout_row_major(piece->box.rank);
  layout.element_size_bits = plan->element_bits;
  return rlo_shape_make_with_layout(plan->destination_shape.dtype, sizes, piece->box.rank, &layout,
                                    out_shape);
}

/* Begins a chain with the piece, by the destination's dimensions: cut from the
 * source of a device, or, if `sender` is NULL, its message. */
static rlo_status begin_piece(const rlo_redistribution *plan, const int64_t *sender,
                              const rlo_redistribution_piece *piece, rlo_chain **out_chain) {
  part source;
  if (sender == NULL) {
    RLO_TRY(make_message(plan, piece, &source.shape));
    return rlo_chain_create(&source.shape, out_chain);
  }
  rlo_box box = {.rank = plan->rank};
  int64_t begin[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  rlo_permutation_apply_inverse(plan->from, plan->rank, piece->box.start, box.start);
  rlo_permutation_apply_inverse(plan->from, plan->rank, piece->box.limit, box.limit);
  RLO_TRY(find_part(plan->sharding[0], &plan->source_shape, *sender, &source));
  RLO_TRY(locate(&source, &box, *sender, begin, end));
  RLO_TRY(rlo_chain_create(&source.shape, out_chain));
  RLO_TRY(rlo_chain_slice(*out_chain, begin, end, NULL));
  return rlo_chain_transpose(*out_chain, plan->from);
}

/* Lowers the chain, which is the piece: to its place in the destination of a
 * device, or, if `receiver` is NULL, to its message. */
static rlo_status end_piece(const rlo_redistribution *plan, const int64_t *receiver,
                            const rlo_redistribution_piece *piece, bool fills, rlo_chain *chain,
                            rlo_problem_list **out_list) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  part target;
  if (receiver == NULL) {
    RLO_TRY(make_message(plan, piece, &target.shape));
    return rlo_chain_combine(chain, &target.shape, &options, out_list);
  }
  int64_t begin[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  RLO_TRY(find_part(plan->sharding[1], &plan->destination_shape, *receiver, &target));
  RLO_TRY(locate(&target, &piece->box, *receiver, begin, end));
  RLO_TRY(rlo_chain_place(chain, begin, target.shape.dims));
  if (!fills) {
    target.shape.layout.fill = RLO_FILL_UNKNOWN;
  }
  options.beta = piece->addend > 0 ? 1.0 : 0.0;
  return rlo_chain_combine(chain, &target.shape, &options, out_list);
}

static rlo_status lower_piece(const rlo_redistribution *plan, const int64_t *sender,
                              const int64_t *receiver, const rlo_redistribution_piece *piece,
                              bool fills, rlo_problem_list **out_list) {
  *out_list = NULL;
  const int64_t *devices[] = {sender, receiver};
  for (int n = 0; n < 2; ++n) {
    if (devices[n] != NULL) {
      RLO_TRY(rlo__redistribution_check_device(plan, *devices[n]));
    }
  }
  rlo_chain *chain = NULL;
  rlo_status status = begin_piece(plan, sender, piece, &chain);
  if (status == RLO_OK) {
    status = end_piece(plan, receiver, piece, fills, chain, out_list);
  }
  rlo_chain_release(chain);
  return status;
}

rlo_status rlo_redistribution_lower_send(const rlo_redistribution *plan, int64_t device,
                                         const rlo_redistribution_piece *piece,
                                         rlo_problem_list **out_list) {
  RLO_REQUIRE(plan, piece, out_list);
  return lower_piece(plan, &device, NULL, piece, false, out_list);
}

rlo_status rlo_redistribution_lower_receive(const rlo_redistribution *plan, int64_t device,
                                            const rlo_redistribution_piece *piece, bool fills,
                                            rlo_problem_list **out_list) {
  RLO_REQUIRE(plan, piece, out_list);
  return lower_piece(plan, NULL, &device, piece, fills, out_list);
}

rlo_status rlo_redistribution_lower_move(const rlo_redistribution *plan, int64_t sender,
                                         int64_t receiver, const rlo_redistribution_piece *piece,
                                         bool fills, rlo_problem_list **out_list) {
  RLO_REQUIRE(plan, piece, out_list);
  return lower_piece(plan, &sender, &receiver, piece, fills, out_list);
}

/* A piece without elements brings the fill and nothing else. */
rlo_status rlo_redistribution_lower_fill(const rlo_redistribution *plan, int64_t device,
                                         rlo_problem_list **out_list) {
  RLO_REQUIRE(plan, out_list);
  *out_list = NULL;
  RLO_TRY(rlo__redistribution_check_device(plan, device));
  RLO_FAIL_IF(plan->rank == 0, RLO_INVALID_ARGUMENT,
              "the array has no dimensions: its piece brings the fill");
  part target;
  RLO_TRY(find_part(plan->sharding[1], &plan->destination_shape, device, &target));
  rlo_redistribution_piece nothing = {.peer = device, .box = target.box};
  for (int32_t d = 0; d < target.box.rank; ++d) {
    nothing.box.limit[d] = nothing.box.start[d];
  }
  return rlo_redistribution_lower_receive(plan, device, &nothing, true, out_list);
}
