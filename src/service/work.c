/* SPDX-License-Identifier: Apache-2.0 */
#include "service/work.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"
#include "ir/update.h"
#include "service/storage.h"

enum { TRANSFERS_OF_BOX = 16 };

static rlo_status check_room(const char *what, int64_t bytes, int64_t room) {
  if (bytes > room) {
    return RLO_FAIL(RLO_INTERNAL,
                    "a %s has %" PRId64 " bytes, and was planned with %" PRId64,
                    what,
                    bytes,
                    room);
  }
  return RLO_OK;
}

/* Moves a side of a problem into packed memory. */
static rlo_status pack_side(rlo_problem *problem,
                            rlo__problem_side side,
                            rlo__lattice *lattice) {
  bool is_hull;
  RLO_TRY(rlo__problem_packing(problem, side, lattice, &is_hull));
  return rlo__problem_rebase(problem, side, lattice, problem);
}

/* Moves a side of a problem into the part of its memory that it touches, and
 * returns the number of bytes that it touches. */
static rlo_status trim_side(rlo_problem *problem,
                            rlo__problem_side side,
                            char *memory,
                            rlo__piece_side *out,
                            int64_t *out_touched_bytes) {
  rlo__lattice lattice;
  RLO_TRY(rlo__problem_footprint(problem, side, &lattice));
  *out_touched_bytes = rlo__lattice_bytes(&lattice);
  lattice = rlo__lattice_hull(&lattice);
  *out = (rlo__piece_side){
      .memory = lattice.run_bytes > 0 ? memory + lattice.base_byte : NULL,
      .bytes = lattice.run_bytes};
  return rlo__problem_rebase(problem, side, &lattice, problem);
}

/* ------------------------------------------------------------------- boxes */

static rlo__transfers cut(const rlo__lattice *lattice,
                          const rlo_storage *of,
                          bool is_read) {
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  rlo_status status = rlo_storage_get_traits(of, &traits);
  (void)status;
  int64_t good = is_read ? traits.good_read_bytes : traits.good_write_bytes;
  int64_t target = rlo__min(rlo__thresholds.service_transfer_bytes,
                            rlo__lattice_bytes(lattice) / TRANSFERS_OF_BOX);
  return rlo__transfers_make(
      lattice, rlo__max(good, target), traits.granule_bytes);
}

/* Finds the bytes of a box that is staged. */
static rlo_status place_box(rlo__pipeline *pipeline, rlo__box *box) {
  const rlo__pass *pass = pipeline->pass;
  rlo__problem_side side = pass->plan.gathered;
  rlo_storage *storage = pass->storages[side];
  RLO_TRY(pack_side(&box->problem, side, &box->lattice));
  RLO_TRY(check_room("box",
                     rlo__lattice_bytes(&box->lattice),
                     pipeline->pass->staging.box_bytes));
  bool is_source = side == RLO__SIDE_SOURCE;
  if (!is_source) {
    box->stores = cut(&box->lattice, storage, false);
  }
  bool reads_cells = rlo__problem_reads_cells(&box->problem);
  if (is_source || reads_cells ||
      (!box->lattice.is_exact && !pass->is_new_destination)) {
    box->loads = cut(&box->lattice, storage, true);
  } else if (!box->lattice.is_exact) {
    memset(box->memory, 0, (size_t)rlo__lattice_bytes(&box->lattice));
  }
  return RLO_OK;
}

static rlo_status open_box(rlo__pipeline *pipeline, rlo__box *box) {
  const rlo__pass *pass = pipeline->pass;
  box->loads = box->stores = (rlo__transfers){0};
  if (pass->num_shares > 0) {
    box->works[RLO__BOX_RUNNING].count = pass->num_shares;
    box->problem = pass->plan.problem;
    RLO_TRY(rlo_problem_canonicalize(&box->problem, 0, NULL, NULL));
    return rlo__move_get(
        pipeline->host, &box->problem, false, &pipeline->whole);
  }
  box->works[RLO__BOX_RUNNING].count =
      rlo__piece_plan_num_pieces(&pass->plan, box->number);
  RLO_TRY(rlo__piece_plan_box(&pass->plan, box->number, &box->problem));
  if (!pass->is_in_memory[pass->plan.gathered]) {
    RLO_TRY(place_box(pipeline, box));
  }
  box->works[RLO__BOX_LOADING].count = box->loads.count;
  box->works[RLO__BOX_STORING].count = box->stores.count;
  return RLO_OK;
}

/* ------------------------------------------------------------------ pieces */

/* Moves a side of a piece into packed memory of its own, out of that of its
 * box. Where guards skip points, its lattice may reach beyond the box: cut off
 * there, it would be a hull, with bytes of other pieces. */
static rlo_status pack_out_of_box(rlo_problem *problem,
                                  rlo__problem_side side,
                                  int64_t room,
                                  rlo__lattice *lattice) {
  bool is_hull;
  RLO_TRY(rlo__problem_packing_unbounded(problem, side, lattice, &is_hull));
  /* It may be planned as one that the end of the memory cuts off. */
  return rlo__lattice_bytes(lattice) > room
             ? pack_side(problem, side, lattice)
             : rlo__problem_rebase(problem, side, lattice, problem);
}

/* Moves a side of a piece to where its bytes are used. */
static rlo_status place_side(rlo__pipeline *pipeline,
                             rlo__slot *slot,
                             rlo_problem *problem,
                             rlo__problem_side side,
                             int64_t *bytes_in_memory) {
  const rlo__pass *pass = pipeline->pass;
  rlo__piece_side *place = &slot->sides[side];
  bool is_in_memory = pass->is_in_memory[side];
  bool is_in_box = !is_in_memory && side == pass->plan.gathered;
  *bytes_in_memory = 0;
  if (is_in_memory || (is_in_box && !pass->copies)) {
    int64_t touched;
    RLO_TRY(
        trim_side(problem,
                  side,
                  is_in_box ? slot->box->memory : pass->storages[side]->memory,
                  place,
                  &touched));
    *bytes_in_memory = is_in_memory ? touched : 0;
    return RLO_OK;
  }
  int64_t room = pass->staging.slot_bytes;
  *place =
      (rlo__piece_side){.memory = slot->memory,
                        .is_packed = true,
                        .storage = is_in_box ? NULL : pass->storages[side]};
  RLO_TRY(is_in_box ? pack_out_of_box(problem, side, room, &place->lattice)
                    : pack_side(problem, side, &place->lattice));
  place->bytes = rlo__lattice_bytes(&place->lattice);
  if (pass->plan.is_tiled[side]) {
    place->lattice =
        (rlo__lattice){.run_bytes = place->bytes, .is_exact = true};
    place->lattice.base_byte =
        rlo__piece_plan_tile(&pass->plan, slot->box->number, slot->piece);
  }
  if (side == RLO__SIDE_DESTINATION) {
    bool reads_cells = rlo__problem_reads_cells(problem);
    slot->has_gaps = reads_cells || !place->lattice.is_exact;
    slot->loads_gaps = reads_cells || is_in_box || !pass->is_new_destination;
  }
  return check_room("piece", place->bytes, room);
}

static rlo_status prepare_piece(rlo__pipeline *pipeline,
                                rlo__slot *slot,
                                rlo__work *work) {
  rlo_problem *problem = &slot->problem;
  RLO_TRY(rlo__piece_plan_cut(&pipeline->pass->plan,
                              slot->box->number,
                              slot->piece,
                              &slot->box->problem,
                              problem));
  slot->has_gaps = slot->loads_gaps = false;
  RLO_TRY(
      place_side(pipeline, slot, problem, RLO__SIDE_SOURCE, &work->bytes_read));
  RLO_TRY(place_side(
      pipeline, slot, problem, RLO__SIDE_DESTINATION, &work->bytes_written));
  return rlo_problem_canonicalize(problem, 0, NULL, NULL);
}

/* Transfers the packed bytes of a side, and adds those of a storage to
 * *bytes_moved. */
static rlo_status transfer_side(const rlo__slot *slot,
                                const rlo__piece_side *side,
                                bool is_write,
                                int64_t *bytes_moved) {
  if (side->storage == NULL) {
    const rlo__box *box = slot->box;
    rlo__lattice_copy(&side->lattice,
                      box->memory,
                      rlo__lattice_bytes(&box->lattice),
                      side->memory,
                      is_write);
    return RLO_OK;
  }
  *bytes_moved += side->bytes;
  return rlo__storage_transfer(
      side->storage, &side->lattice, side->memory, is_write);
}

static rlo_status read_piece(rlo__pipeline *pipeline,
                             rlo__slot *slot,
                             rlo__work *work) {
  RLO_TRY(prepare_piece(pipeline, slot, work));
  const rlo__piece_side *src = &slot->sides[RLO__SIDE_SOURCE];
  return src->is_packed ? transfer_side(slot, src, false, &work->bytes_read)
                        : RLO_OK;
}

/** For load_gaps. */
typedef struct gaps {
  rlo__slot *slot;
  rlo__work *work;
} gaps;

/* Puts into a piece's destination what it may leave untouched. */
static rlo_status load_gaps(void *payload) {
  const gaps *g = payload;
  const rlo__piece_side *dst = &g->slot->sides[RLO__SIDE_DESTINATION];
  if (!g->slot->loads_gaps) {
    memset(dst->memory, 0, (size_t)dst->bytes);
    return RLO_OK;
  }
  return transfer_side(g->slot, dst, false, &g->work->bytes_read);
}

static int64_t share_of(int64_t bytes, int64_t share, int64_t num_shares) {
  return bytes / num_shares + (share < bytes % num_shares ? 1 : 0);
}

static rlo_status run_share(const rlo__pipeline *pipeline, rlo__work *work) {
  const rlo__pass *pass = pipeline->pass;
  int64_t n = pass->num_shares;
  int64_t i = work->slot->piece;
  work->bytes_read = share_of(pass->plan.bytes_read, i, n);
  work->bytes_written = share_of(pass->plan.bytes_written, i, n);
  return rlo__move_run_share(pipeline->whole,
                             pass->storages[RLO__SIDE_SOURCE]->memory,
                             pass->indices,
                             pass->storages[RLO__SIDE_DESTINATION]->memory,
                             (int32_t)i,
                             (int32_t)n);
}

static rlo_status run_piece(rlo__pipeline *pipeline,
                            rlo__slot *slot,
                            rlo__work *work,
                            rlo__lane *lane) {
  const rlo__piece_side *src = &slot->sides[RLO__SIDE_SOURCE];
  const rlo__piece_side *dst = &slot->sides[RLO__SIDE_DESTINATION];
  const rlo__pass *pass = pipeline->pass;
  gaps g = {slot, work};
  rlo__move *move;
  if (dst->bytes == 0) {
    return RLO_OK;
  }
  RLO_TRY(rlo__move_get(lane != NULL ? lane->place : pipeline->host,
                        &slot->problem,
                        lane != NULL && lane->copies,
                        &move));
  rlo_status status = RLO_OK;
  if (lane != NULL) {
    const rlo__lane_piece piece = {
        .src = src->memory,
        .dst = dst->memory,
        .src_bytes = src->bytes,
        .dst_bytes = dst->bytes,
        .indices = pass->indices,
        .index_bytes =
            rlo_problem_loads(&slot->problem) ? pass->index_bytes : 0,
        .index_number = pass->index_number,
        .load_gaps = slot->has_gaps ? load_gaps : NULL,
        .payload = &g};
    status = rlo__lane_run(lane, move, &piece);
  } else {
    if (slot->has_gaps) {
      status = load_gaps(&g);
    }
    if (status == RLO_OK) {
      status = rlo__move_run_share(
          move, src->memory, pass->indices, dst->memory, 0, 1);
    }
  }
  rlo__move_release(move);
  return status;
}

static rlo_status do_now(rlo__pipeline *pipeline,
                         rlo__work *work,
                         rlo__lane *lane) {
  rlo__box *box = work->box;
  rlo_storage *storage =
      pipeline->pass->storages[pipeline->pass->plan.gathered];
  switch (work->kind) {
    case RLO__WORK_OPEN:
      return open_box(pipeline, box);
    case RLO__WORK_LOAD:
      return rlo__transfers_do(&box->loads,
                               &box->lattice,
                               work->number,
                               storage,
                               box->memory,
                               false,
                               &work->bytes_read);
    case RLO__WORK_STORE:
      return rlo__transfers_do(&box->stores,
                               &box->lattice,
                               work->number,
                               storage,
                               box->memory,
                               true,
                               &work->bytes_written);
    case RLO__WORK_READ:
      return read_piece(pipeline, work->slot, work);
    case RLO__WORK_RUN:
      return pipeline->pass->num_shares > 0
                 ? run_share(pipeline, work)
                 : run_piece(pipeline, work->slot, work, lane);
    default:
      return transfer_side(work->slot,
                           &work->slot->sides[RLO__SIDE_DESTINATION],
                           true,
                           &work->bytes_written);
  }
}

rlo_status rlo__work_do(rlo__pipeline *pipeline,
                        rlo__work *work,
                        rlo__lane *lane) {
  static const rlo_job_stage stages[] = {[RLO__WORK_OPEN] = RLO_STAGE_RUN,
                                         [RLO__WORK_LOAD] = RLO_STAGE_READ,
                                         [RLO__WORK_STORE] = RLO_STAGE_WRITE,
                                         [RLO__WORK_READ] = RLO_STAGE_READ,
                                         [RLO__WORK_RUN] = RLO_STAGE_RUN,
                                         [RLO__WORK_WRITE] = RLO_STAGE_WRITE};
  double begin = rlo__clock_seconds();
  rlo_status status = do_now(pipeline, work, lane);
  work->seconds[stages[work->kind]] = rlo__clock_seconds() - begin;
  return status;
}
