/* SPDX-License-Identifier: Apache-2.0 */

/* Two passes through the destination. Boxes of the source are read whole and
 * written as tiles into bands; then each band is read whole, put in order, and
 * written. A tile is what a box of the source and a band have in common: for a
 * matrix of S bytes and boxes of X bytes it has X * X / S bytes, so that
 * transfers of B bytes need two boxes of sqrt(S * B). */

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "ir/update.h"
#include "ir/validate.h"
#include "service/piece_grid.h"
#include "service/piece_plan.h"

#define SRC RLO__SIDE_SOURCE
#define DST RLO__SIDE_DESTINATION

typedef struct bands {
  /** Canonical. */
  rlo_problem problem;
  rlo__piece_budget budget;
  /** Without boxes and pieces. */
  rlo__piece_grid grid;
  int64_t unit_bytes;
  /** The source is read forward: boxes are contiguous. */
  bool is_forward;
  /** The least parts of axes that are whole bytes, and granules. */
  int64_t atoms[RLO_MAX_AXES];
  int64_t boxes[RLO_MAX_AXES], bands[RLO_MAX_AXES], tiles[RLO_MAX_AXES];
} bands;

/* ----------------------------------------------------------------- problems */

/* Tells if the points are the units of a side, in a mixed radix: then a part of the
 * box that is whole along the axes of the shorter steps is contiguous. */
static bool is_dense(const rlo_problem *problem, rlo__problem_side side) {
  const rlo_form *form = rlo__side_form(problem, side);
  int64_t bits = rlo__side_unit_bits(problem, side);
  int64_t step = 1;
  int32_t order[RLO_MAX_AXES];
  rlo__grid_rank_axes(problem, side, order, NULL);
  for (int32_t n = 0; n < problem->num_axes; ++n) {
    if (form->axis[order[n]] != step || !rlo__mul(step, problem->extents[order[n]], &step)) {
      return false;
    }
  }
  int64_t bytes;
  return bits % 8 == 0 && form->base == 0 && !rlo__form_has_terms(problem, form) &&
         rlo__mul(step, bits / 8, &bytes) &&
         bytes == (side == SRC ? problem->src_bytes : problem->dst_bytes);
}

static rlo_status check_use(const bands *b, const rlo_storage_traits *dst) {
  const rlo_problem *problem = &b->problem;
  bool is_refused =
      !is_dense(problem, DST) || rlo_problem_reads_cells(problem) || rlo_problem_loads(problem);
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    is_refused = is_refused || problem->guards[g].kind == RLO_GUARD_SKIP;
  }
  bool is_free[RLO_MAX_AXES];
  rlo__problem_find_free_axes(problem, is_free);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    is_refused = is_refused || !is_free[a];
  }
  RLO_FAIL_IF(is_refused, RLO_UNSUPPORTED,
              "two passes need a problem that writes each byte of the destination once, reads none "
              "of it and loads no indices");
  RLO_FAIL_IF(b->budget.is_memory[SRC] || b->budget.is_memory[DST], RLO_UNSUPPORTED,
              "two passes gain nothing where a side is in memory");
  RLO_FAIL_IF(dst->granule_bytes != 1, RLO_UNSUPPORTED,
              "two passes cannot write granules of %" PRId64 " bytes", dst->granule_bytes);
  return RLO_OK;
}

/* -------------------------------------------------------------------- sizes */

/* The bytes of the largest part of these extents. */
static rlo_status part_bytes(const bands *b, rlo__problem_side side, const int64_t *extents,
                             int64_t *out_bytes) {
  if (side == DST) {
    *out_bytes = b->unit_bytes;
    for (int32_t a = 0; a < b->problem.num_axes; ++a) {
      *out_bytes = rlo__mul_capped(*out_bytes, extents[a]);
    }
    return RLO_OK;
  }
  rlo__piece_grid grid = b->grid;
  rlo__tally tally;
  grid.box = grid.piece = extents;
  RLO_TRY(rlo__grid_tally(&grid, side, &tally));
  *out_bytes = tally.max_bytes;
  return RLO_OK;
}

/* Sets an axis to the largest extent, in whole atoms, with which a part has at
 * most so many bytes. */
static rlo_status fill_axis(const bands *b, rlo__problem_side side, int32_t axis, int64_t max_bytes,
                            int64_t *extents) {
  int64_t extent = b->problem.extents[axis];
  int64_t atom = b->atoms[axis];
  int64_t least = 1;
  int64_t most = rlo__ceil_div(extent, atom);
  while (least < most) {
    /* The whole first: mostly it fits, or is the only one that does not. */
    bool is_first = least == 1 && most == rlo__ceil_div(extent, atom);
    int64_t count = is_first ? most : least + (most - least + 1) / 2;
    int64_t bytes;
    extents[axis] = rlo__min(extent, count * atom);
    RLO_TRY(part_bytes(b, side, extents, &bytes));
    if (bytes <= max_bytes) {
      least = count;
    } else {
      most = count - 1;
    }
  }
  extents[axis] = rlo__min(extent, least * atom);
  return RLO_OK;
}

/* The part that is contiguous for longest in the memory of a side: whole along
 * the axes of the shortest steps. */
static rlo_status fill(const bands *b, rlo__problem_side side, int64_t max_bytes,
                       int64_t *extents) {
  int32_t order[RLO_MAX_AXES];
  rlo__grid_rank_axes(&b->problem, side, order, NULL);
  memcpy(extents, b->atoms, sizeof b->atoms);
  for (int32_t n = 0; n < b->problem.num_axes; ++n) {
    int32_t axis = order[n];
    RLO_TRY(fill_axis(b, side, axis, max_bytes, extents));
    if (extents[axis] < b->problem.extents[axis]) {
      break;
    }
  }
  return RLO_OK;
}

/* Rounds a part down to whole tiles, so that its edges are edges of tiles. */
static void align(const bands *b, int32_t axis, int64_t *extents) {
  if (extents[axis] < b->problem.extents[axis]) {
    extents[axis] -= extents[axis] % b->tiles[axis];
  }
}

static void set_tile(bands *b, int32_t axis, int64_t extent) {
  b->tiles[axis] = extent;
  align(b, axis, b->boxes);
  align(b, axis, b->bands);
}

/* The bytes of a tile that a slot holds, and those of both sides together. */
static rlo_status measure_tile(const bands *b, int64_t *out_slot_bytes, int64_t *out_bytes) {
  int64_t src;
  int64_t dst;
  RLO_TRY(part_bytes(b, SRC, b->tiles, &src));
  RLO_TRY(part_bytes(b, DST, b->tiles, &dst));
  *out_slot_bytes = b->budget.copies ? rlo__max(src, dst) : dst;
  *out_bytes = rlo__add_capped(src, dst);
  return RLO_OK;
}

/* Halves tiles until one fits. */
static rlo_status shrink_tiles(bands *b, int64_t slot_bytes, bool *out_fits) {
  for (;;) {
    int64_t slot;
    int64_t bytes;
    RLO_TRY(measure_tile(b, &slot, &bytes));
    *out_fits = slot <= slot_bytes && bytes <= b->budget.piece_bytes;
    int32_t widest = -1;
    for (int32_t a = 0; a < b->problem.num_axes; ++a) {
      if (b->tiles[a] > b->atoms[a] &&
          (widest < 0 || b->tiles[a] / b->atoms[a] > b->tiles[widest] / b->atoms[widest])) {
        widest = a;
      }
    }
    if (*out_fits || widest < 0) {
      return RLO_OK;
    }
    int64_t atom = b->atoms[widest];
    set_tile(b, widest, rlo__ceil_div(b->tiles[widest], 2 * atom) * atom);
  }
}

/* Finds the largest boxes and bands of so many bytes, and their tiles. */
static rlo_status fill_parts(bands *b, int64_t box_bytes, int64_t band_bytes) {
  RLO_TRY(fill(b, SRC, box_bytes, b->boxes));
  RLO_TRY(fill(b, DST, band_bytes, b->bands));
  for (int32_t a = 0; a < b->problem.num_axes; ++a) {
    set_tile(b, a, rlo__min(b->boxes[a], b->bands[a]));
  }
  return RLO_OK;
}

/* The bytes of a slot for the largest tiles that the memory allows, if they are
 * no larger than a share of it. */
static rlo_status find_slot(bands *b, int64_t slots, int64_t *out_bytes) {
  const rlo__piece_budget *budget = &b->budget;
  int64_t unit = budget->alignment_bytes;
  int64_t share = rlo__min(budget->host_bytes / 4 / slots, rlo__thresholds.service_tile_bytes);
  int64_t tile;
  int64_t bytes;
  int64_t box = rlo__min(budget->host_bytes / 2, budget->box_bytes);
  RLO_TRY(fill_parts(b, box, box));
  RLO_TRY(measure_tile(b, &tile, &bytes));
  *out_bytes = tile < share - unit ? rlo__ceil_div(tile, unit) * unit : share - share % unit;
  return RLO_OK;
}

/* Tells if parts of a side that is dense are contiguous. They are not where atoms of an
 * axis are longer than one step though an axis of shorter steps is cut. */
static bool are_contiguous(const bands *b, rlo__problem_side side, const int64_t *extents) {
  int32_t order[RLO_MAX_AXES];
  bool is_whole = true;
  rlo__grid_rank_axes(&b->problem, side, order, NULL);
  for (int32_t n = 0; n < b->problem.num_axes; ++n) {
    if (!is_whole && extents[order[n]] > 1) {
      return false;
    }
    is_whole = is_whole && extents[order[n]] == b->problem.extents[order[n]];
  }
  return true;
}

/* Finds boxes, bands and tiles for staging memory of two boxes of `box_bytes`
 * and slots of `slot_bytes`. */
static rlo_status find_parts(bands *b, int64_t box_bytes, int64_t slot_bytes, bool *out_fits) {
  int64_t band_bytes = rlo__min(box_bytes, b->budget.scratch_bytes / 2);
  RLO_TRY(fill_parts(b, box_bytes, band_bytes));
  RLO_TRY(shrink_tiles(b, slot_bytes, out_fits));
  int64_t box;
  int64_t band;
  RLO_TRY(part_bytes(b, SRC, b->boxes, &box));
  RLO_TRY(part_bytes(b, DST, b->bands, &band));
  *out_fits = *out_fits && box <= box_bytes && band <= band_bytes &&
              are_contiguous(b, DST, b->bands) &&
              (!b->is_forward || are_contiguous(b, SRC, b->boxes));
  return RLO_OK;
}

/* -------------------------------------------------------------------- plans */

/* Writes a plan. Its tiles are as long as their parts of the destination. */
static rlo_status write_plan(const bands *b, rlo__problem_side gathered, const int64_t *box,
                             rlo__tally out_boxes[2], rlo__piece_plan *out) {
  rlo__piece_grid grid = b->grid;
  rlo__tally tiles[2];
  *out = (rlo__piece_plan){.num_boxes = 0};
  out->problem = b->problem;
  grid.box = grid.piece = box;
  RLO_TRY(rlo__grid_tally_both(&grid, out_boxes));
  grid.piece = b->tiles;
  grid.granule_bytes[SRC] = 1;
  RLO_TRY(rlo__grid_tally_both(&grid, tiles));
  RLO_TRY(rlo__piece_plan_write(&grid, gathered, out_boxes, tiles, out));
  out->is_tiled[rlo__other_side(gathered)] = true;
  memcpy(out->band, b->bands, sizeof out->band);
  RLO_TRY(part_bytes(b, DST, b->bands, &out->shift_bytes));
  out->shift_bytes *= 2;
  return RLO_OK;
}

static rlo_status write_plans(const bands *b, rlo__piece_plan out[2]) {
  rlo__piece_plan *second = &out[1];
  rlo__tally boxes[2];
  RLO_TRY(write_plan(b, DST, b->bands, boxes, second));
  RLO_TRY(write_plan(b, SRC, b->boxes, boxes, &out[0]));
  out[0].write_run_bytes = out[0].piece_bytes[DST];
  second->piece_bytes[SRC] = second->piece_bytes[DST];
  second->bytes_read = second->bytes_written;
  second->read_run_bytes = second->piece_bytes[SRC];
  return RLO_OK;
}

static bool has_room(const bands *b, const rlo__piece_plan plans[2]) {
  return rlo__piece_plan_staging(&plans[0], &b->budget).bytes <= b->budget.host_bytes &&
         rlo__piece_plan_staging(&plans[1], &b->budget).bytes <= b->budget.host_bytes;
}

static rlo_status find_plans(bands *b, rlo__piece_plan out[2]) {
  const rlo__piece_budget *budget = &b->budget;
  int64_t unit = budget->alignment_bytes;
  /* Fewer pieces in flight where tiles would be short. */
  for (int64_t slots = budget->num_slots; slots >= 1; slots /= 2) {
    int64_t slot;
    RLO_TRY(find_slot(b, slots, &slot));
    int64_t box = (budget->host_bytes - slots * slot) / 2;
    bool is_found;
    box = rlo__min(box - box % unit, budget->box_bytes);
    RLO_TRY(find_parts(b, box, slot, &is_found));
    if (is_found) {
      RLO_TRY(write_plans(b, out));
      if (has_room(b, out)) {
        return RLO_OK;
      }
    }
  }
  return RLO_FAIL(RLO_OUT_OF_RANGE,
                  "two passes do not fit into %" PRId64 " bytes of staging memory, %" PRId64
                  " bytes for a piece and %" PRId64 " bytes behind the destination",
                  budget->host_bytes, budget->piece_bytes, budget->scratch_bytes);
}

static rlo_status plan(bands *b, const rlo_storage_traits *src, const rlo_storage_traits *dst,
                       rlo__piece_plan out[2]) {
  rlo_problem *problem = &b->problem;
  RLO_TRY(rlo__problem_validate(problem));
  RLO_TRY(rlo_problem_canonicalize(problem, (int32_t)rlo__max(8, problem->unit_bits), NULL, NULL));
  b->is_forward = src->is_forward;
  RLO_FAIL_IF(dst->is_forward || (src->is_forward && !is_dense(problem, SRC)), RLO_UNSUPPORTED,
              "two passes do not write forward, and read so only what is moved whole");
  RLO_TRY(check_use(b, dst));
  b->grid = (rlo__piece_grid){.problem = problem,
                              .granule_bytes = {src->granule_bytes, 1},
                              .storage_bytes = {src->bytes, dst->bytes}};
  b->unit_bytes = rlo__side_unit_bits(problem, DST) / 8;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    b->atoms[a] = rlo__grid_atom(&b->grid, a);
  }
  return find_plans(b, out);
}

rlo_status rlo__piece_plan_make_two(const rlo_problem *problem, const rlo_storage_traits *src,
                                    const rlo_storage_traits *dst, const rlo__piece_budget *budget,
                                    rlo__piece_plan out[2]) {
  bands *b = rlo__alloc(sizeof *b);
  RLO_TRY_MEMORY(b);
  b->problem = *problem;
  b->budget = *budget;
  rlo_status status = plan(b, src, dst, out);
  /* Where more scratch than is used makes for other plans, those of less are
   * meant: a job has no more than an estimate has found. */
  while (status == RLO_OK && out[0].shift_bytes < b->budget.scratch_bytes) {
    b->budget.scratch_bytes = out[0].shift_bytes;
    status = find_plans(b, out);
  }
  rlo__free(b);
  return status;
}
