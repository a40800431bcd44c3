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
  RLO_FAIL_IF(bytes > room, RLO_INTERNAL,
              "a %s has %" PRId64 " bytes, and was planned with %" PRId64, what, bytes, room);
  return RLO_OK;
}

/* Moves a side of a problem into packed memory, of whole granules of the storage
 * that it is moved to or from; NULL: of a box. */
static rlo_status pack_side(rlo_problem *problem, rlo__problem_side side,
                            const rlo_storage *storage, bool is_of_chunk, rlo__lattice *lattice) {
  RLO_TRY(rlo__grid_moved(problem, side, storage != NULL ? storage->traits.granule_bytes : 1,
                          storage != NULL ? storage->traits.bytes : INT64_MAX, is_of_chunk,
                          lattice));
  return rlo__problem_rebase(problem, side, lattice, problem);
}

/* Moves a side of a problem into the part of its memory that it touches, and
 * returns the number of bytes that it touches. */
static rlo_status trim_side(rlo_problem *problem, rlo__problem_side side, char *memory,
                            rlo__piece_side *out, int64_t *out_touched_bytes) {
  rlo__lattice lattice;
  RLO_TRY(rlo__problem_footprint(problem, side, &lattice));
  *out_touched_bytes = rlo__lattice_bytes(&lattice);
  lattice = rlo__lattice_hull(&lattice);
  *out = (rlo__piece_side){.memory = lattice.run_bytes > 0 ? memory + lattice.base_byte : NULL,
                           .bytes = lattice.run_bytes};
  return rlo__problem_rebase(problem, side, &lattice, problem);
}

/* --------------------------------------------------------------- transfers */

/* The length of a dim; the one behind the last is that of a run's bytes. */
static int64_t length_of(const rlo__lattice *lattice, int32_t dim) {
  return dim < lattice->num_dims ? lattice->extents[dim] : lattice->run_bytes;
}

/* Cuts runs into parts of about equal length, so that none is a small rest: at
 * pages, where they are long, so that what begins with one goes on with one; never in a
 * unit, so that whole ones are shown to a watcher. */
static int64_t cut_run(int64_t run_bytes, int64_t target_bytes, int64_t granule_bytes) {
  const int64_t page_bytes = 4096;
  int64_t step = rlo__ceil_div(page_bytes, granule_bytes) * granule_bytes;
  step = step <= target_bytes ? step
                              : rlo__ceil_div(RLO_MAX_UNIT_BITS / 8, granule_bytes) * granule_bytes;
  int64_t most = rlo__max(1, target_bytes / step) * step;
  int64_t equal = rlo__ceil_div(run_bytes, rlo__ceil_div(run_bytes, most));
  return rlo__ceil_div(equal, step) * step;
}

/* Cuts a lattice of a storage, into 0 transfers if it has no byte. Runs are cut
 * at granules. */
static rlo__transfers cut(const rlo__lattice *lattice, const rlo_storage *of, bool is_read) {
  const rlo_storage_traits *traits = &of->traits;
  int64_t good = is_read ? traits->good_read_bytes : traits->good_write_bytes;
  int64_t target_bytes = rlo__max(good, rlo__min(rlo__thresholds.service_transfer_bytes,
                                                 rlo__lattice_bytes(lattice) / TRANSFERS_OF_BOX));
  rlo__transfers made = {.dim = lattice->num_dims, .bytes = 1};
  if (lattice->run_bytes == 0) {
    return made;
  }
  while (made.dim > 0 && made.bytes <= target_bytes / length_of(lattice, made.dim)) {
    made.bytes *= length_of(lattice, made.dim--);
  }
  int64_t length = length_of(lattice, made.dim);
  bool is_run_cut = made.dim == lattice->num_dims && length > target_bytes;
  made.part = is_run_cut ? cut_run(length, target_bytes, traits->granule_bytes)
                         : rlo__min(length, rlo__max(1, target_bytes / made.bytes));
  made.parts = made.count = rlo__ceil_div(length, made.part);
  for (int32_t d = 0; d < made.dim; ++d) {
    made.count *= lattice->extents[d];
  }
  return made;
}

/* Gets transfer number `number`, and where its bytes lie in packed memory. */
static rlo__lattice get_transfer(const rlo__transfers *transfers, const rlo__lattice *lattice,
                                 int64_t number, int64_t *out_packed) {
  rlo__lattice one = *lattice;
  int32_t cut = transfers->dim;
  bool is_run_cut = cut == lattice->num_dims;
  int64_t at = number % transfers->parts * transfers->part;
  int64_t rest = number / transfers->parts;
  int64_t length = rlo__min(transfers->part, length_of(lattice, cut) - at);
  int64_t bytes = transfers->bytes * length_of(lattice, cut);
  *out_packed = transfers->bytes * at;
  one.base_byte += at * (is_run_cut ? 1 : lattice->strides[cut]);
  *(is_run_cut ? &one.run_bytes : &one.extents[cut]) = length;
  /* The dims before are at one index each. */
  for (int32_t d = cut - 1; d >= 0; --d) {
    int64_t index = rest % lattice->extents[d];
    rest /= lattice->extents[d];
    one.base_byte += index * lattice->strides[d];
    *out_packed += index * bytes;
    bytes *= lattice->extents[d];
  }
  one.num_dims = lattice->num_dims - cut;
  memmove(one.extents, one.extents + cut, sizeof bytes * (size_t)one.num_dims);
  memmove(one.strides, one.strides + cut, sizeof bytes * (size_t)one.num_dims);
  return one;
}

/* Moves a lattice of a storage, and shows what is written. */
static rlo_status move_lattice(const rlo__pass *pass, rlo_storage *storage,
                               const rlo__lattice *lattice, char *packed, bool is_write) {
  RLO_TRY(rlo__storage_transfer(storage, lattice, packed, is_write));
  const char *end = is_write && pass->watch != NULL ? packed + rlo__lattice_bytes(lattice) : packed;
  rlo__run_walk walk = {.offset = lattice->base_byte};
  for (; packed < end; packed += lattice->run_bytes) {
    RLO_TRY(RLO__CALLBACK(pass->watch(pass->watch_payload, walk.offset, lattice->run_bytes, packed),
                          "'watch' of a job"));
    rlo__run_walk_step(&walk, lattice);
  }
  return RLO_OK;
}

/* Moves a transfer of a box. */
static rlo_status move_transfer(const rlo__pass *pass, const rlo__box *box,
                                const rlo__transfers *transfers, int64_t number, bool is_write,
                                int64_t *out_bytes) {
  int64_t at;
  rlo__lattice one = get_transfer(transfers, &box->lattice, number, &at);
  *out_bytes = rlo__lattice_bytes(&one);
  return move_lattice(pass, pass->storages[pass->plan.gathered], &one, box->memory + at, is_write);
}

/* ------------------------------------------------------------------- boxes */

/* Finds the bytes of a box that is staged. */
static rlo_status place_box(rlo__pipeline *pipeline, rlo__box *box) {
  const rlo__pass *pass = pipeline->pass;
  rlo__problem_side side = pass->plan.gathered;
  rlo_storage *storage = pass->storages[side];
  RLO_TRY(pack_side(&box->problem, side, storage, false, &box->lattice));
  RLO_TRY(check_room("box", rlo__lattice_bytes(&box->lattice), pipeline->pass->staging.box_bytes));
  bool is_source = side == RLO__SIDE_SOURCE;
  if (!is_source) {
    box->stores = cut(&box->lattice, storage, false);
  }
  bool reads_cells = rlo_problem_reads_cells(&box->problem);
  if (is_source || reads_cells || (!box->lattice.is_exact && !pass->is_new_destination)) {
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
    return rlo__move_get(pipeline->host, &box->problem, false, &pipeline->whole);
  }
  box->works[RLO__BOX_RUNNING].count = rlo__piece_plan_num_pieces(&pass->plan, box->number);
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
static rlo_status pack_out_of_box(rlo_problem *problem, rlo__problem_side side, int64_t room,
                                  rlo__lattice *lattice) {
  bool is_hull;
  RLO_TRY(rlo__problem_packing_unbounded(problem, side, lattice, &is_hull));
  /* It may be planned as one that the end of the memory cuts off. */
  return rlo__lattice_bytes(lattice) > room ? pack_side(problem, side, NULL, false, lattice)
                                            : rlo__problem_rebase(problem, side, lattice, problem);
}

/* Moves a side of a piece to where its bytes are used. */
static rlo_status place_side(rlo__pipeline *pipeline, rlo__slot *slot, rlo_problem *problem,
                             rlo__problem_side side, int64_t *bytes_in_memory) {
  const rlo__pass *pass = pipeline->pass;
  rlo__piece_side *place = &slot->sides[side];
  bool is_in_memory = pass->is_in_memory[side];
  bool is_in_box = !is_in_memory && side == pass->plan.gathered;
  *bytes_in_memory = 0;
  if (is_in_memory || (is_in_box && !pass->copies)) {
    int64_t touched;
    RLO_TRY(trim_side(problem, side, is_in_box ? slot->box->memory : pass->storages[side]->memory,
                      place, &touched));
    *bytes_in_memory = is_in_memory ? touched : 0;
    return RLO_OK;
  }
  int64_t room = pass->staging.slot_bytes;
  *place = (rlo__piece_side){.memory = slot->memory,
                             .is_packed = true,
                             .storage = is_in_box ? NULL : pass->storages[side]};
  RLO_TRY(is_in_box
              ? pack_out_of_box(problem, side, room, &place->lattice)
              : pack_side(problem, side, place->storage, pass->plan.is_of_chunks, &place->lattice));
  place->bytes = rlo__lattice_bytes(&place->lattice);
  if (pass->plan.is_tiled[side]) {
    place->lattice = (rlo__lattice){.run_bytes = place->bytes, .is_exact = true};
    place->lattice.base_byte = rlo__piece_plan_tile(&pass->plan, slot->box->number, slot->piece);
  }
  if (side == RLO__SIDE_DESTINATION) {
    bool reads_cells = rlo_problem_reads_cells(problem);
    slot->has_gaps = reads_cells || !place->lattice.is_exact;
    slot->loads_gaps = reads_cells || is_in_box || !pass->is_new_destination;
  }
  return check_room("piece", place->bytes, room);
}

static rlo_status prepare_piece(rlo__pipeline *pipeline, rlo__slot *slot, rlo__work *work) {
  rlo_problem *problem = &slot->problem;
  RLO_TRY(rlo__piece_plan_cut(&pipeline->pass->plan, slot->box->number, slot->piece,
                              &slot->box->problem, problem));
  slot->has_gaps = slot->loads_gaps = false;
  RLO_TRY(place_side(pipeline, slot, problem, RLO__SIDE_SOURCE, &work->bytes_read));
  RLO_TRY(place_side(pipeline, slot, problem, RLO__SIDE_DESTINATION, &work->bytes_written));
  return rlo_problem_canonicalize(problem, 0, NULL, NULL);
}

/* Transfers the packed bytes of a side, and adds those of a storage to
 * *bytes_moved. */
static rlo_status transfer_side(const rlo__pass *pass, const rlo__slot *slot,
                                const rlo__piece_side *side, bool is_write, int64_t *bytes_moved) {
  if (side->storage == NULL) {
    const rlo__box *box = slot->box;
    rlo__lattice_copy(&side->lattice, box->memory, rlo__lattice_bytes(&box->lattice), side->memory,
                      is_write);
    return RLO_OK;
  }
  *bytes_moved += side->bytes;
  return move_lattice(pass, side->storage, &side->lattice, side->memory, is_write);
}

static rlo_status read_piece(rlo__pipeline *pipeline, rlo__slot *slot, rlo__work *work) {
  RLO_TRY(prepare_piece(pipeline, slot, work));
  const rlo__piece_side *src = &slot->sides[RLO__SIDE_SOURCE];
  return src->is_packed ? transfer_side(pipeline->pass, slot, src, false, &work->bytes_read)
                        : RLO_OK;
}

/* Puts into a piece's destination what it may leave untouched. */
static rlo_status load_gaps(const rlo__pass *pass, const rlo__slot *slot, rlo__work *work) {
  const rlo__piece_side *dst = &slot->sides[RLO__SIDE_DESTINATION];
  if (!slot->loads_gaps) {
    memset(dst->memory, 0, (size_t)dst->bytes);
    return RLO_OK;
  }
  return transfer_side(pass, slot, dst, false, &work->bytes_read);
}

/* ------------------------------------------------------------------- lanes */

rlo_status rlo__lane_init(rlo__lane *lane, rlo_context *context, bool copies) {
  lane->copies = copies || rlo_context_device_info(context)->device_class != RLO_DEVICE_CLASS_CPU;
  return rlo__place_create(context, NULL, false, &lane->place);
}

void rlo__lane_deinit(rlo__lane *lane) {
  if (lane->place != NULL) {
    rlo__lane_trim(lane);
    rlo__place_release(lane->place);
  }
}

int64_t rlo__lane_buffer_bytes(const rlo__lane *lane) {
  return lane->src.bytes + lane->dst.bytes + lane->indices.bytes;
}

static void release_buffer(rlo__lane *lane, rlo__free_buffer *b) {
  rlo_buffer_release(lane->place->context, b->buffer);
  *b = (rlo__free_buffer){NULL, 0};
}

void rlo__lane_trim(rlo__lane *lane) {
  release_buffer(lane, &lane->src);
  release_buffer(lane, &lane->dst);
  release_buffer(lane, &lane->indices);
  lane->index_number = 0;
}

/* A memory of a side; NULL for 0 bytes. */
static rlo_status open_memory(rlo__lane *lane, rlo__free_buffer *b, void *host, int64_t bytes,
                              rlo__memory **out_memory) {
  if (bytes == 0) {
    return RLO_OK;
  }
  if (!lane->copies) {
    return rlo__memory_over_host(lane->place, host, bytes, out_memory);
  }
  if (bytes > b->bytes) {
    release_buffer(lane, b);
    RLO_TRY(rlo_buffer_create(lane->place->context, bytes, &b->buffer));
    b->bytes = bytes;
  }
  return rlo__memory_wrap(lane->place, b->buffer, 0, bytes, 1, NULL, out_memory);
}

static rlo_status open_indices(rlo__lane *lane, const rlo__pass *pass, rlo__memory **out_memory) {
  /* Indices are only read. */
  void *host = (void *)(uintptr_t)pass->indices;
  RLO_TRY(open_memory(lane, &lane->indices, host, pass->index_bytes, out_memory));
  if (lane->copies && pass->index_number != lane->index_number) {
    lane->index_number = 0;
    RLO_TRY(rlo__memory_write(*out_memory, host, pass->index_bytes));
    lane->index_number = pass->index_number;
  }
  return RLO_OK;
}

/* Runs a piece whose memories are open: the source is copied before the
 * destination's gaps are loaded. */
static rlo_status run_opened(const rlo__lane *lane, const rlo__move *move, const rlo__pass *pass,
                             const rlo__slot *slot, rlo__work *work, void *const operands[2],
                             rlo__memory *dst) {
  char *memory = slot->sides[RLO__SIDE_DESTINATION].memory;
  const rlo__piece_side *src = &slot->sides[RLO__SIDE_SOURCE];
  if (lane->copies && src->bytes > 0) {
    RLO_TRY(rlo__memory_write(operands[0], src->memory, src->bytes));
  }
  if (slot->has_gaps) {
    RLO_TRY(load_gaps(pass, slot, work));
    RLO_TRY(lane->copies ? rlo__memory_write(dst, memory, dst->bytes) : RLO_OK);
  }
  RLO_TRY(rlo__move_run(move, operands, dst));
  return lane->copies ? rlo__memory_read(dst, memory, dst->bytes) : rlo__memory_wait(dst);
}

/* Runs a move of the lane's place over host memory and waits for it. */
static rlo_status run_on_lane(rlo__lane *lane, const rlo__move *move, const rlo__pass *pass,
                              const rlo__slot *slot, rlo__work *work) {
  const rlo__piece_side *from = &slot->sides[RLO__SIDE_SOURCE];
  const rlo__piece_side *to = &slot->sides[RLO__SIDE_DESTINATION];
  rlo__memory *src = NULL;
  rlo__memory *indices = NULL;
  rlo__memory *dst = NULL;
  rlo_status status;
  RLO_TRY_GOTO(open_memory(lane, &lane->src, from->memory, from->bytes, &src));
  RLO_TRY_GOTO(open_memory(lane, &lane->dst, to->memory, to->bytes, &dst));
  if (rlo_problem_loads(&slot->problem) && pass->index_bytes > 0) {
    RLO_TRY_GOTO(open_indices(lane, pass, &indices));
  }
  void *const operands[] = {src, indices};
  status = run_opened(lane, move, pass, slot, work, operands, dst);
fail:
  rlo__memory_free(dst);
  rlo__memory_free(indices);
  rlo__memory_free(src);
  return status;
}

/* -------------------------------------------------------------------- runs */

static int64_t share_of(int64_t bytes, int64_t share, int64_t num_shares) {
  return bytes / num_shares + (share < bytes % num_shares ? 1 : 0);
}

static rlo_status run_share(const rlo__pipeline *pipeline, rlo__work *work) {
  const rlo__pass *pass = pipeline->pass;
  int64_t n = pass->num_shares;
  int64_t i = work->slot->piece;
  work->bytes_read = share_of(pass->plan.bytes_read, i, n);
  work->bytes_written = share_of(pass->plan.bytes_written, i, n);
  return rlo__move_run_share(pipeline->whole, pass->storages[RLO__SIDE_SOURCE]->memory,
                             pass->indices, pass->storages[RLO__SIDE_DESTINATION]->memory,
                             (int32_t)i, (int32_t)n);
}

static rlo_status run_piece(rlo__pipeline *pipeline, rlo__slot *slot, rlo__work *work,
                            rlo__lane *lane) {
  const rlo__piece_side *src = &slot->sides[RLO__SIDE_SOURCE];
  const rlo__piece_side *dst = &slot->sides[RLO__SIDE_DESTINATION];
  const rlo__pass *pass = pipeline->pass;
  rlo__move *move;
  if (dst->bytes == 0) {
    return RLO_OK;
  }
  RLO_TRY(rlo__move_get(lane != NULL ? lane->place : pipeline->host, &slot->problem,
                        lane != NULL && lane->copies, &move));
  rlo_status status = RLO_OK;
  if (lane != NULL) {
    status = run_on_lane(lane, move, pass, slot, work);
  } else if (slot->has_gaps) {
    status = load_gaps(pass, slot, work);
  }
  if (lane == NULL && status == RLO_OK) {
    status = rlo__move_run_share(move, src->memory, pass->indices, dst->memory, 0, 1);
  }
  rlo__move_release(move);
  return status;
}

static rlo_status do_now(rlo__pipeline *pipeline, rlo__work *work, rlo__lane *lane) {
  const rlo__pass *pass = pipeline->pass;
  rlo__box *box = work->box;
  switch (work->kind) {
    case RLO__WORK_OPEN:
      return open_box(pipeline, box);
    case RLO__WORK_LOAD:
      return move_transfer(pass, box, &box->loads, work->number, false, &work->bytes_read);
    case RLO__WORK_STORE:
      return move_transfer(pass, box, &box->stores, work->number, true, &work->bytes_written);
    case RLO__WORK_READ:
      return read_piece(pipeline, work->slot, work);
    case RLO__WORK_RUN:
      return pass->num_shares > 0 ? run_share(pipeline, work)
                                  : run_piece(pipeline, work->slot, work, lane);
    default:
      return transfer_side(pass, work->slot, &work->slot->sides[RLO__SIDE_DESTINATION], true,
                           &work->bytes_written);
  }
}

rlo_status rlo__work_do(rlo__pipeline *pipeline, rlo__work *work, rlo__lane *lane) {
  static const rlo_job_stage stages[] = {
      [RLO__WORK_OPEN] = RLO_STAGE_RUN,    [RLO__WORK_LOAD] = RLO_STAGE_READ,
      [RLO__WORK_STORE] = RLO_STAGE_WRITE, [RLO__WORK_READ] = RLO_STAGE_READ,
      [RLO__WORK_RUN] = RLO_STAGE_RUN,     [RLO__WORK_WRITE] = RLO_STAGE_WRITE};
  double begin = rlo__clock_seconds();
  rlo_status status = do_now(pipeline, work, lane);
  work->seconds[stages[work->kind]] = rlo__clock_seconds() - begin;
  return status;
}
