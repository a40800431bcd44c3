/* SPDX-License-Identifier: Apache-2.0 */
#include "service/work.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "ir/update.h"
#include "service/journal.h"

static void place_staging(rlo__pipeline *pipeline, char *staging) {
  const rlo__staging *layout = &pipeline->pass->staging;
  for (int32_t n = 0; n < layout->num_boxes && layout->box_bytes > 0; ++n) {
    rlo__box *box = &pipeline->boxes[n];
    box->memory = staging;
    staging += layout->box_bytes;
  }
  for (int32_t n = 0; n < layout->num_slots && layout->slot_bytes > 0; ++n) {
    pipeline->slots[n].memory = staging;
    staging += layout->slot_bytes;
  }
}

/* Tells if a box is in the destination already. */
static bool is_stored(const rlo__pass *pass, int64_t box) {
  return pass->journal != NULL && rlo__journal_is_durable(pass->journal, pass->number, box);
}

/* Counts the boxes that are passed over, as done. */
static void count_stored(rlo__pipeline *pipeline) {
  const rlo__pass *pass = pipeline->pass;
  for (int64_t box = 0; box < pass->plan.num_boxes; ++box) {
    if (is_stored(pass, box)) {
      ++pipeline->num_boxes_done;
      pipeline->num_pieces_done += rlo__piece_plan_num_pieces(&pass->plan, box);
    }
  }
  pipeline->num_pieces_taken = pipeline->num_pieces_done;
}

rlo_status rlo__pipeline_create(const rlo__pass *pass, rlo__place *host, char *staging,
                                rlo__pipeline **out_pipeline) {
  *out_pipeline = NULL;
  rlo__pipeline *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  made->pass = pass;
  made->host = host;
  made->slots = rlo__alloc_array((size_t)pass->staging.num_slots, sizeof *made->slots);
  made->is_lost = rlo__alloc_array((size_t)pass->num_lanes, sizeof *made->is_lost);
  if (made->slots == NULL || made->is_lost == NULL) {
    rlo__pipeline_release(made);
    return RLO_OUT_OF_MEMORY;
  }
  place_staging(made, staging);
  if (pass->journal != NULL) {
    count_stored(made);
  }
  *out_pipeline = made;
  return RLO_OK;
}

void rlo__pipeline_release(rlo__pipeline *pipeline) {
  if (pipeline == NULL) {
    return;
  }
  rlo__move_release(pipeline->whole);
  rlo__free(pipeline->is_lost);
  rlo__free(pipeline->slots);
  rlo__free(pipeline);
}

bool rlo__pipeline_has_ended(const rlo__pipeline *pipeline) {
  return pipeline->num_boxes_done == pipeline->pass->plan.num_boxes;
}

/* ------------------------------------------------------------------- taking */

/* The earlier box first. */
static rlo__box *nth_box(rlo__pipeline *pipeline, int32_t n) {
  bool is_swapped = pipeline->pass->staging.num_boxes > 1 &&
                    pipeline->boxes[1].number < pipeline->boxes[0].number;
  return &pipeline->boxes[(n != 0) != is_swapped];
}

static bool take_open(rlo__pipeline *pipeline, rlo__work *work) {
  const rlo__pass *pass = pipeline->pass;
  while (pipeline->num_boxes_taken < pass->plan.num_boxes &&
         is_stored(pass, pipeline->num_boxes_taken)) {
    ++pipeline->num_boxes_taken;
  }
  for (int32_t n = 0; n < pass->staging.num_boxes; ++n) {
    rlo__box *box = &pipeline->boxes[n];
    if (box->stage == RLO__BOX_EMPTY && pipeline->num_boxes_taken < pass->plan.num_boxes) {
      memset(box->works, 0, sizeof box->works);
      box->works[RLO__BOX_OPENING] = (rlo__box_works){1, 1, 0};
      box->stage = RLO__BOX_OPENING;
      box->number = pipeline->num_boxes_taken++;
      box->bytes_moved = 0;
      work->kind = RLO__WORK_OPEN;
      work->box = box;
      return true;
    }
  }
  return false;
}

/* Tells if all bands but the one before this are durable: then nobody needs the
 * tiles in its place any more. */
static bool are_tiles_unneeded(rlo__pipeline *pipeline, const rlo__box *box) {
  const rlo__pass *pass = pipeline->pass;
  while (pipeline->num_durable < box->number &&
         rlo__journal_is_durable(pass->journal, pass->number, pipeline->num_durable)) {
    ++pipeline->num_durable;
  }
  if (pipeline->num_durable < box->number) {
    /* The band after this one will need it. */
    rlo__journal_want_checkpoint(pass->journal);
  }
  return pipeline->num_durable >= box->number - 1;
}

/* Tells if a box may be written. The place of a band has the tiles of the band
 * two before it, which have to be read, and, with a journal, are needed again
 * until what became of them is durable. */
static bool is_free(rlo__pipeline *pipeline, const rlo__box *box) {
  const rlo__box *first = nth_box(pipeline, 0);
  if (!pipeline->pass->plan.is_tiled[RLO__SIDE_SOURCE]) {
    return true;
  }
  bool is_read = first == box || first->stage == RLO__BOX_EMPTY || first->stage == RLO__BOX_STORING;
  return is_read && (pipeline->pass->journal == NULL || are_tiles_unneeded(pipeline, box));
}

/* Tells if a box is transferred next where that has an order: the box before it
 * has gone through the stage, and each transfer begins when the last one is done. */
static bool is_turn(rlo__pipeline *pipeline, const rlo__box *box, rlo__box_stage stage) {
  const rlo__pass *pass = pipeline->pass;
  const rlo__box *first = nth_box(pipeline, 0);
  return !pass->storages[pass->plan.gathered]->traits.is_forward ||
         ((first == box || first->stage == RLO__BOX_EMPTY || first->stage > stage) &&
          box->works[stage].num_taken == box->works[stage].num_done);
}

static bool has_work(const rlo__box *box, rlo__box_stage stage) {
  return box->stage == stage && box->works[stage].num_taken < box->works[stage].count;
}

static bool take_transfer(rlo__pipeline *pipeline, rlo__box_stage stage, rlo__work *work) {
  bool is_store = stage == RLO__BOX_STORING;
  for (int32_t n = 0; n < pipeline->pass->staging.num_boxes; ++n) {
    rlo__box *box = nth_box(pipeline, n);
    if (has_work(box, stage) && is_turn(pipeline, box, stage) &&
        (!is_store || is_free(pipeline, box))) {
      work->kind = is_store ? RLO__WORK_STORE : RLO__WORK_LOAD;
      work->box = box;
      work->number = box->works[stage].num_taken++;
      return true;
    }
  }
  return false;
}

/* The piece in this state that began first. */
static rlo__slot *find_slot(rlo__pipeline *pipeline, rlo__slot_state state) {
  rlo__slot *found = NULL;
  for (int32_t n = 0; n < pipeline->pass->staging.num_slots; ++n) {
    rlo__slot *slot = &pipeline->slots[n];
    if (slot->state == state && (found == NULL || slot->number < found->number)) {
      found = slot;
    }
  }
  return found;
}

static bool is_written_forward(const rlo__pipeline *pipeline) {
  return pipeline->pass->storages[RLO__SIDE_DESTINATION]->traits.is_forward;
}

/* Puts the next piece into a slot; NULL if there is none, or no slot. */
static rlo__slot *begin_piece(rlo__pipeline *pipeline) {
  rlo__slot *slot = find_slot(pipeline, RLO__SLOT_FREE);
  for (int32_t n = 0; n < pipeline->pass->staging.num_boxes && slot != NULL; ++n) {
    rlo__box *box = nth_box(pipeline, n);
    if (has_work(box, RLO__BOX_RUNNING)) {
      slot->box = box;
      slot->piece = box->works[RLO__BOX_RUNNING].num_taken++;
      slot->number = ++pipeline->num_pieces_taken;
      return slot;
    }
    if (is_written_forward(pipeline) &&
        (box->stage == RLO__BOX_OPENING || box->stage == RLO__BOX_LOADING)) {
      /* Its pieces are before those of the other. */
      return NULL;
    }
  }
  return NULL;
}

/* Takes a work on a slot; false if it is NULL. */
static bool take_slot(rlo__slot *slot, rlo__work_kind kind, rlo__slot_state state,
                      rlo__work *work) {
  if (slot == NULL) {
    return false;
  }
  slot->state = state;
  work->kind = kind;
  work->slot = slot;
  work->box = slot->box;
  return true;
}

static bool take_read(rlo__pipeline *pipeline, rlo__work *work) {
  if (pipeline->pass->num_shares > 0) {
    return false;
  }
  rlo__slot *slot = find_slot(pipeline, RLO__SLOT_RETURNED);
  slot = slot != NULL ? slot : begin_piece(pipeline);
  return take_slot(slot, RLO__WORK_READ, RLO__SLOT_READING, work);
}

static bool take_run(rlo__pipeline *pipeline, rlo__work *work) {
  rlo__slot *slot =
      pipeline->pass->num_shares > 0 ? begin_piece(pipeline) : find_slot(pipeline, RLO__SLOT_READ);
  return take_slot(slot, RLO__WORK_RUN, RLO__SLOT_RUNNING, work);
}

static bool take_output(rlo__pipeline *pipeline, rlo__work *work) {
  rlo__slot *slot = find_slot(pipeline, RLO__SLOT_RAN);
  if (is_written_forward(pipeline) && slot != NULL &&
      slot->number != pipeline->num_pieces_done + 1) {
    slot = NULL;
  }
  return take_slot(slot, RLO__WORK_WRITE, RLO__SLOT_WRITING, work) ||
         take_transfer(pipeline, RLO__BOX_STORING, work);
}

static bool take_input(rlo__pipeline *pipeline, rlo__work *work) {
  return take_read(pipeline, work) || take_transfer(pipeline, RLO__BOX_LOADING, work) ||
         take_open(pipeline, work);
}

static bool is_output(const rlo__work *work) {
  return work->kind == RLO__WORK_WRITE || work->kind == RLO__WORK_STORE;
}

static bool is_input(const rlo__work *work) {
  return work->kind == RLO__WORK_READ || work->kind == RLO__WORK_LOAD;
}

bool rlo__pipeline_take(rlo__pipeline *pipeline, int32_t lane_number, rlo__work *out_work) {
  *out_work = (rlo__work){.lane_number = lane_number};
  if (lane_number >= 0) {
    return lane_number < pipeline->pass->num_lanes && !pipeline->is_lost[lane_number] &&
           take_run(pipeline, out_work);
  }
  bool runs = pipeline->pass->num_lanes == 0;
  /* Reading and writing take turns, so that both go on. */
  bool writes_first = pipeline->num_writing <= pipeline->num_reading;
  bool is_taken = (writes_first && take_output(pipeline, out_work)) ||
                  (runs && take_run(pipeline, out_work)) || take_input(pipeline, out_work) ||
                  take_output(pipeline, out_work);
  if (is_taken) {
    pipeline->num_reading += is_input(out_work);
    pipeline->num_writing += is_output(out_work);
  }
  return is_taken;
}

/* ------------------------------------------------------------------- ending */

/* Notes that a work of the box's stage is done, and goes on to the next stage
 * that has works. */
static void end_box_work(rlo__pipeline *pipeline, rlo__box *box) {
  ++box->works[box->stage].num_done;
  while (box->stage != RLO__BOX_EMPTY &&
         box->works[box->stage].num_done == box->works[box->stage].count) {
    box->stage = (rlo__box_stage)((box->stage + 1) % RLO__BOX_NUM_STAGES);
    pipeline->num_boxes_done += box->stage == RLO__BOX_EMPTY;
  }
}

static void end_piece(rlo__pipeline *pipeline, rlo__slot *slot) {
  slot->state = RLO__SLOT_FREE;
  ++pipeline->num_pieces_done;
  end_box_work(pipeline, slot->box);
}

/* Tells if a piece that has failed left what it reads as it was. */
static bool can_run_again(const rlo__pass *pass, const rlo__slot *slot) {
  return slot->sides[RLO__SIDE_DESTINATION].is_packed ||
         !rlo_problem_reads_cells(&pass->plan.problem);
}

/* Takes a lane that has failed out of the pass. False if it is the last one. */
static bool drop_lane(rlo__pipeline *pipeline, int32_t lane_number) {
  pipeline->is_lost[lane_number] = true;
  return ++pipeline->num_lost < pipeline->pass->num_lanes;
}

rlo_status rlo__pipeline_end_work(rlo__pipeline *pipeline, const rlo__work *work,
                                  rlo_status status) {
  rlo__slot *slot = work->slot;
  rlo__box *box = work->box;
  pipeline->num_reading -= is_input(work);
  pipeline->num_writing -= is_output(work);
  box->bytes_moved += work->bytes_read + work->bytes_written;
  if (status != RLO_OK) {
    if (work->lane_number >= 0 && can_run_again(pipeline->pass, slot) &&
        drop_lane(pipeline, work->lane_number)) {
      slot->state = RLO__SLOT_RETURNED;
      return RLO_OK;
    }
    return status;
  }
  if (slot == NULL) {
    end_box_work(pipeline, box);
  } else if (work->kind == RLO__WORK_READ) {
    slot->state = RLO__SLOT_READ;
  } else if (work->kind == RLO__WORK_RUN && slot->sides[RLO__SIDE_DESTINATION].is_packed) {
    slot->state = RLO__SLOT_RAN;
  } else {
    end_piece(pipeline, slot);
  }
  return RLO_OK;
}
