/* SPDX-License-Identifier: Apache-2.0 */

/* Grids of chunks. A problem that was lowered from two chunked arrays has, for an
 * index of the array, an axis that counts the chunks of the destination, and a
 * quotient that counts those of the source. Their edges fall together at common
 * multiples, which may be beyond any memory. So boxes are whole chunks of the
 * destination, and a piece is what a box and one chunk of the source have in common.
 * A chunk that is a granule and lies across an edge of boxes is read for each. Of
 * another one a piece reads its part: tiles of a file are cut like chunks, since what
 * a box has of many tiles lies between what it has not. */

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "ir/update.h"
#include "service/piece_grid.h"
#include "service/piece_plan.h"

enum {
  /** Boxes along an axis that a search looks at one by one. */
  MOST_BOXES = 1 << 14,
  /** Parts of chunks that are looked at one by one. */
  MOST_PIECES = 1 << 14,
  /** Steps in which a box grows. */
  MOST_STEPS = 64
};

#define SRC RLO__SIDE_SOURCE
#define DST RLO__SIDE_DESTINATION

/** A quotient that counts chunks. */
typedef struct chunk_index {
  const rlo_term *term;
  /** The only axis of its form along which boxes are cut; -1: none. */
  int32_t axis;
  /** The form's bounds along the other axes. */
  int64_t rest[2];
  /** Another axis from chunk to chunk, of which the end of this index depends; -1:
   *  none. */
  int32_t outer;
  /** The form's bounds at points that are read: before the end of `outer`, and at
   *  its end. */
  int64_t read[2][2];
} chunk_index;

typedef struct chunks {
  rlo__piece_grid grid;
  const rlo__piece_budget *budget;
  /** Chunks are granules; else the planned ones are no more than chunks. */
  bool are_granules;
  /** Axes of a quotient's form, and others that step from chunk to chunk. */
  bool is_of_quotient[RLO_MAX_AXES], is_outer[RLO_MAX_AXES];
  int32_t num_indices;
  chunk_index indices[RLO_MAX_TERMS];
  /** Extents of the least box, of one that has the edges of chunks, and of the
   *  one that is looked at. */
  int64_t atoms[RLO_MAX_AXES], aligned[RLO_MAX_AXES], box[RLO_MAX_AXES];
  /** The bytes of the least box, and of the granules of a piece. */
  int64_t atom_bytes, chunk_bytes;
  /** The indices along outer axes together at which something is read. */
  double num_outer;
  rlo_problem part, piece;
  rlo__piece_plan plan;
} chunks;

/* ------------------------------------------------------------------- chunks */

/* Takes the moves of quotients for granules, where units are. */
static void find_granule(chunks *c) {
  const rlo_problem *problem = c->grid.problem;
  int64_t units = 0;
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    const int64_t step = rlo__grid_inner_step(problem, &term->form);
    int64_t move;
    if (step != 0 && rlo__mul_add(problem->src.term[t], step, term->divisor, &move)) {
      units = rlo__gcd(units, rlo__abs(move));
    }
  }
  c->grid.granule_bytes[SRC] = rlo__mul_capped(units, problem->unit_bits) / 8;
}

/* Tells if so many units of the source are whole granules. */
static bool is_whole(const chunks *c, int64_t units) {
  const int64_t bits = rlo__mul_capped(rlo__abs(units), c->grid.problem->unit_bits);
  return bits % rlo__mul_capped(c->grid.granule_bytes[SRC], 8) == 0;
}

/* Tells if the values of a term are chunks: each moves the source by granules. */
static bool is_chunk_index(const chunks *c, int32_t number, int64_t step) {
  const rlo_problem *problem = c->grid.problem;
  const rlo_term *term = &problem->terms[number];
  int64_t units;
  bool is_index =
      term->kind == RLO_TERM_QUOTIENT && step != 0 && !rlo__form_has_terms(problem, &term->form) &&
      rlo__mul_add(problem->src.term[number], step, term->divisor, &units) && is_whole(c, units);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    is_index = is_index && (term->form.axis[a] == 0 || !c->is_of_quotient[a]);
  }
  return is_index;
}

/* Bounds an index where it is read. A guard ties it to another axis if the chunks
 * of one grid are parts of those of the other. */
static rlo_status bound_reads(chunks *c, int32_t number, chunk_index *index) {
  const rlo_problem *problem = c->grid.problem;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_form *form = &problem->guards[g].form;
    bool is_tied = false;
    for (int32_t a = 0; a < problem->num_axes; ++a) {
      is_tied = is_tied || (form->axis[a] != 0 && index->term->form.axis[a] != 0);
    }
    for (int32_t a = 0; a < problem->num_axes && is_tied; ++a) {
      index->outer = form->axis[a] != 0 && c->is_outer[a] ? a : index->outer;
    }
  }
  for (int n = 0; n < 2; ++n) {
    const int32_t a = index->outer < 0 ? 0 : index->outer;
    const int64_t last = index->outer < 0 ? 0 : problem->extents[a] - 1;
    const int64_t begin = n == 0 ? 0 : last;
    const int64_t end = n == 0 && last > 0 ? last : problem->extents[a];
    RLO_TRY(rlo__problem_restrict(problem, a, begin, end, &c->part));
    if (!rlo__form_range_guarded(&c->part, SRC, &c->part.terms[number].form, -1, &index->read[n][0],
                                 &index->read[n][1])) {
      return rlo__fail_overflow("an index");
    }
  }
  return RLO_OK;
}

/* Adds a quotient. Boxes are cut along the axis of its longest steps alone. */
static rlo_status add_index(chunks *c, int32_t number) {
  const rlo_problem *problem = c->grid.problem;
  chunk_index *index = &c->indices[c->num_indices];
  rlo__piece_quotient *quotient = &c->plan.quotients[c->num_indices++];
  *index = (chunk_index){.term = &problem->terms[number], .axis = -1, .outer = -1};
  quotient->term = number;
  rlo_form rest = index->term->form;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    c->is_of_quotient[a] = c->is_of_quotient[a] || rest.axis[a] != 0;
    if (rest.axis[a] != 0 && c->atoms[a] < problem->extents[a] &&
        (index->axis < 0 || rlo__abs(rest.axis[a]) > rlo__abs(rest.axis[index->axis]))) {
      index->axis = a;
    }
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    c->atoms[a] = rest.axis[a] != 0 && a != index->axis ? problem->extents[a] : c->atoms[a];
  }
  if (index->axis >= 0) {
    rest.axis[index->axis] = 0;
  }
  if (!rlo__form_range(problem, &rest, &index->rest[0], &index->rest[1]) ||
      !rlo__form_range_guarded(problem, DST, &index->term->form, -1, &quotient->min,
                               &quotient->max)) {
    return rlo__fail_overflow("an index");
  }
  return bound_reads(c, number, index);
}

/* Finds what counts chunks, and the bytes of granules that a piece has: the source's
 * form, less what counts chunks, is a position within one. */
static rlo_status find_chunks(chunks *c) {
  const rlo_problem *problem = c->grid.problem;
  const int64_t wide = rlo__grid_wide_granule(problem, SRC, c->grid.granule_bytes[SRC]);
  rlo_form inner = problem->src;
  int64_t width[2] = {0, 0};
  int64_t min;
  int64_t max;
  bool fits = true;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    /* Along an axis that does not move the source a box reads a chunk once. */
    c->is_outer[a] = inner.axis[a] != 0 && is_whole(c, inner.axis[a]) && problem->extents[a] > 1;
    for (int32_t t = 0; t < problem->num_terms; ++t) {
      c->is_outer[a] = c->is_outer[a] && problem->terms[t].form.axis[a] == 0;
    }
    inner.axis[a] = c->is_outer[a] ? 0 : inner.axis[a];
  }
  for (int32_t t = problem->num_terms - 1; t >= 0; --t) {
    const rlo_term *term = &problem->terms[t];
    const int64_t step = rlo__grid_inner_step(problem, &term->form);
    if (is_chunk_index(c, t, step)) {
      RLO_TRY(add_index(c, t));
      inner.term[t] = 0;
      fits = fits && rlo__form_add(&inner, -step, &term->form) &&
             rlo__mul_add(width[step > 0], step, term->divisor - 1, &width[step > 0]);
    }
  }
  fits = fits && rlo__form_range_guarded(problem, SRC, &inner, -1, &min, &max) &&
         rlo__add(min, width[0], &min) && rlo__add(max, width[1], &max) &&
         rlo__mul(min, problem->unit_bits, &min) &&
         rlo__mul_add(problem->unit_bits, max, problem->unit_bits, &max);
  if (!fits) {
    return rlo__fail_overflow("a position in a chunk");
  }
  const int64_t wide_bits = rlo__mul_capped(8, wide);
  const int64_t granules = rlo__ceil_div(max, wide_bits) - rlo__floor_div(min, wide_bits);
  c->chunk_bytes = rlo__min(rlo__mul_capped(granules, wide), c->grid.storage_bytes[SRC]);
  return RLO_OK;
}

/* Has a guard hold along outer axes where it does at any point of the others. */
static bool widen_guard(const chunks *c, rlo_guard *guard) {
  bool fits = true;
  for (int32_t a = 0; a < c->grid.problem->num_axes; ++a) {
    int64_t span = 0;
    fits =
        fits &&
        (c->is_outer[a] || rlo__mul(guard->form.axis[a], c->grid.problem->extents[a] - 1, &span)) &&
        rlo__add(guard->form.base, rlo__max(span, 0), &guard->form.base) &&
        rlo__add(guard->limit, rlo__abs(span), &guard->limit);
  }
  return fits;
}

/* Counts what is read of outer axes: of an array of one point in each chunk. */
static rlo_status count_outer(chunks *c) {
  const rlo_problem *problem = c->grid.problem;
  int64_t begins[RLO_MAX_AXES] = {0};
  int64_t ends[RLO_MAX_AXES];
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    ends[a] = c->is_outer[a] ? problem->extents[a] : 1;
  }
  c->part = *problem;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (!widen_guard(c, &c->part.guards[g])) {
      return rlo__fail_overflow("a guard");
    }
  }
  RLO_TRY(rlo__problem_restrict_box(&c->part, begins, ends, &c->part));
  c->num_outer = (double)c->part.read_bytes * 8 / problem->unit_bits;
  return RLO_OK;
}

/* -------------------------------------------------------------------- boxes */

/* Counts the values of an index within bounds of its form, in each box again: of more
 * than `most_boxes` about. */
static double count_within(const chunks *c, const chunk_index *index, const int64_t *box,
                           const int64_t bounds[2], int64_t most_boxes) {
  const int64_t divisor = index->term->divisor;
  const int64_t extent = index->axis < 0 ? 1 : c->grid.problem->extents[index->axis];
  const int64_t width = index->axis < 0 ? 1 : box[index->axis];
  const int64_t step = index->axis < 0 ? 0 : index->term->form.axis[index->axis];
  const int64_t num_boxes = extent / width;
  if (bounds[0] <= bounds[1] && num_boxes > most_boxes) {
    const int64_t num_values =
        rlo__floor_div(bounds[1], divisor) - rlo__floor_div(bounds[0], divisor) + 1;
    return (double)(num_values + num_boxes);
  }
  int64_t count = 0;
  for (int64_t at = 0; at < extent; at += width) {
    const int64_t last = rlo__min(at + width, extent) - 1;
    const int64_t low = rlo__max(bounds[0], index->rest[0] + step * (step < 0 ? last : at));
    const int64_t high = rlo__min(bounds[1], index->rest[1] + step * (step < 0 ? at : last));
    count += low > high ? 0 : rlo__floor_div(high, divisor) - rlo__floor_div(low, divisor) + 1;
  }
  return (double)count;
}

/* How many chunks are read, some of them again. */
static double count_reads(const chunks *c, const int64_t *box, int64_t most_boxes) {
  double reads = c->num_outer;
  for (int32_t a = 0; a < c->grid.problem->num_axes; ++a) {
    const bool is_inner = !c->is_outer[a] && !c->is_of_quotient[a];
    reads *= is_inner ? ceil((double)c->grid.problem->extents[a] / (double)box[a]) : 1;
  }
  for (int32_t n = 0; n < c->num_indices; ++n) {
    const chunk_index *index = &c->indices[n];
    const double outer = index->outer < 0 ? 1 : (double)c->grid.problem->extents[index->outer];
    reads *= ((outer - 1) * count_within(c, index, box, index->read[0], most_boxes) +
              count_within(c, index, box, index->read[1], most_boxes)) /
             outer;
  }
  return reads;
}

static int64_t box_bytes(const chunks *c, const int64_t *box) {
  int64_t bytes = c->atom_bytes;
  for (int32_t a = 0; a < c->grid.problem->num_axes; ++a) {
    bytes = rlo__mul_capped(bytes, rlo__ceil_div(box[a], c->atoms[a]));
  }
  return bytes;
}

/* The staging memory of two boxes, or the only one, and so many chunks. */
static int64_t staging_bytes(const chunks *c, const int64_t *box, int64_t slots) {
  const rlo_problem *problem = c->grid.problem;
  const int64_t unit = c->budget->alignment_bytes;
  const bool is_only = memcmp(box, problem->extents, sizeof *box * (size_t)problem->num_axes) == 0;
  const int64_t boxes = rlo__mul_capped(rlo__ceil_div(box_bytes(c, box), unit), is_only ? 1 : 2);
  const int64_t chunk = rlo__mul_capped(rlo__ceil_div(c->chunk_bytes, unit), slots);
  return rlo__mul_capped(rlo__add_capped(boxes, chunk), unit);
}

static bool is_within(const chunks *c, const int64_t *box) {
  return box_bytes(c, box) <= rlo__max(c->budget->box_bytes, c->atom_bytes);
}

static bool fits(const chunks *c, const int64_t *box, int64_t slots) {
  return staging_bytes(c, box, slots) <= c->budget->host_bytes && is_within(c, box);
}

/* Finds the least extents whose edges are edges of chunks; the whole if there are
 * none. */
static void align_box(chunks *c) {
  const int64_t *extents = c->grid.problem->extents;
  for (int32_t a = 0; a < c->grid.problem->num_axes; ++a) {
    c->aligned[a] = c->is_outer[a] ? c->atoms[a] : extents[a];
  }
  for (int32_t n = 0; n < c->num_indices; ++n) {
    const chunk_index *index = &c->indices[n];
    const int32_t a = index->axis;
    if (a >= 0) {
      const int64_t step = rlo__mul_capped(index->term->form.axis[a], c->atoms[a]);
      const int64_t count = index->term->divisor / rlo__gcd(index->term->divisor, step);
      c->aligned[a] = rlo__min(rlo__mul_capped(c->atoms[a], count), extents[a]);
      const bool is_once = count_within(c, index, c->aligned, index->read[0], MOST_BOXES) ==
                           count_within(c, index, extents, index->read[0], MOST_BOXES);
      c->aligned[a] = is_once ? c->aligned[a] : extents[a];
    }
  }
}

/* Grows the box along the axis that saves most reads for its bytes; where none
 * does, while there are few bytes. False: not at all. */
static bool grow_box(chunks *c, int64_t slots) {
  const double reads = count_reads(c, c->box, MOST_BOXES);
  const double bytes = (double)box_bytes(c, c->box);
  const double enough =
      (double)c->budget->num_slots * (double)rlo__thresholds.service_good_piece_bytes;
  double best = -1.0;
  int64_t grown[RLO_MAX_AXES];
  for (int32_t n = 3 * c->grid.problem->num_axes - 1; n >= 0; --n) {
    const int32_t a = n / 3;
    const int64_t extent = c->grid.problem->extents[a];
    /* Twice as much, to an edge of chunks, a box less. */
    const int64_t less = rlo__max(1, rlo__ceil_div(extent, c->box[a]) - 1);
    const int64_t next[] = {
        rlo__mul_capped(2, c->box[a]),
        rlo__mul_capped(c->box[a] / c->aligned[a] + 1, c->aligned[a]),
        rlo__mul_capped(rlo__ceil_div(rlo__ceil_div(extent, less), c->atoms[a]), c->atoms[a])};
    int64_t box[RLO_MAX_AXES];
    memcpy(box, c->box, sizeof box);
    box[a] = rlo__min(next[n % 3], extent);
    const double more = (double)box_bytes(c, box);
    const double gain = log(reads / count_reads(c, box, MOST_BOXES)) / log(more / bytes);
    if (box[a] > c->box[a] && fits(c, box, slots) && gain > best &&
        (gain > 0.0 || (gain == 0.0 && more <= enough))) {
      best = gain;
      memcpy(grown, box, sizeof grown);
    }
  }
  memcpy(c->box, best < 0.0 ? c->box : grown, sizeof c->box);
  return best >= 0.0;
}

/* -------------------------------------------------------------------- plans */

/* Tells if boxes are written at granules, and apart. */
static rlo_status check_boxes(chunks *c, const int64_t *box, rlo__tally *out, bool *out_is_safe) {
  c->grid.box = c->grid.piece = box;
  RLO_TRY(rlo__grid_tally(&c->grid, DST, out));
  *out_is_safe = out->is_granular && rlo__grid_writes_apart(c->grid.problem, box, out->has_hulls);
  return RLO_OK;
}

static rlo_status write_plan(chunks *c, const rlo__tally *boxes) {
  const double bytes = round(count_reads(c, c->box, INT64_MAX)) * (double)c->chunk_bytes;
  const rlo__tally parts[2] = {{.sum_bytes = bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX,
                                .max_bytes = c->chunk_bytes,
                                .run_bytes = c->chunk_bytes},
                               *boxes};
  int64_t piece[RLO_MAX_AXES];
  for (int32_t a = 0; a < c->grid.problem->num_axes; ++a) {
    piece[a] = c->is_outer[a] ? 1 : c->box[a];
  }
  c->grid.box = c->box;
  c->grid.piece = piece;
  RLO_TRY(rlo__piece_plan_write(&c->grid, DST, parts, parts, &c->plan));
  c->plan.num_quotients = c->num_indices;
  c->plan.is_of_chunks = true;
  double num_pieces = (double)c->plan.num_pieces;
  for (int32_t n = 0; n < c->num_indices; ++n) {
    const chunk_index *index = &c->indices[n];
    const int64_t bounds[2] = {c->plan.quotients[n].min, c->plan.quotients[n].max};
    const double num_boxes =
        index->axis < 0 ? 1 : (double)rlo__grid_num_parts(&c->grid, index->axis);
    num_pieces *= count_within(c, index, c->box, bounds, INT64_MAX) / num_boxes;
  }
  c->plan.num_pieces = (int64_t)llround(fmin(num_pieces, 0x1p62));
  return RLO_OK;
}

/* Adds up what pieces read that are parts of chunks; many have a bound. */
static rlo_status count_parts(chunks *c) {
  int64_t bytes = 0;
  int64_t most = 0;
  if (c->plan.num_pieces > MOST_PIECES) {
    return RLO_OK;
  }
  for (int64_t box = 0; box < c->plan.num_boxes; ++box) {
    RLO_TRY(rlo__piece_plan_box(&c->plan, box, &c->part));
    for (int64_t n = rlo__piece_plan_num_pieces(&c->plan, box) - 1; n >= 0; --n) {
      rlo__lattice moved;
      RLO_TRY(rlo__piece_plan_cut(&c->plan, box, n, &c->part, &c->piece));
      RLO_TRY(rlo__grid_moved(&c->piece, SRC, 1, c->grid.storage_bytes[SRC], true, &moved));
      const int64_t of_piece = rlo__lattice_bytes(&moved);
      c->plan.read_run_bytes = of_piece > most ? moved.run_bytes : c->plan.read_run_bytes;
      most = rlo__max(most, of_piece);
      bytes += of_piece;
    }
  }
  c->plan.bytes_read = bytes;
  return RLO_OK;
}

/* Takes the box that reads least, with more chunks in memory at a time if that is as
 * good. */
static rlo_status search_box(chunks *c, bool *out_is_found) {
  double best = (double)INFINITY;
  rlo__tally tally;
  bool is_safe;
  for (int64_t slots = c->budget->num_slots; slots >= 1; slots /= 2) {
    is_safe = false;
    /* All at once takes one box; less takes two. */
    const int64_t *begin = fits(c, c->aligned, slots) ? c->aligned
                           : fits(c, c->atoms, slots) ? c->atoms
                                                      : c->grid.problem->extents;
    memcpy(c->box, begin, sizeof c->box);
    for (int n = 0; n < MOST_STEPS && fits(c, c->box, slots) && grow_box(c, slots); ++n) {
    }
    const double reads = count_reads(c, c->box, MOST_BOXES);
    if (fits(c, c->box, slots) && reads < best) {
      RLO_TRY(check_boxes(c, c->box, &tally, &is_safe));
    }
    if (is_safe) {
      best = reads;
      RLO_TRY(write_plan(c, &tally));
      *out_is_found = true;
    }
  }
  /* Larger ones may end within a granule at the storage's end. */
  if (!*out_is_found && fits(c, c->atoms, 1)) {
    memcpy(c->box, c->atoms, sizeof c->box);
    RLO_TRY(check_boxes(c, c->box, &tally, &is_safe));
    RLO_TRY(write_plan(c, &tally));
    *out_is_found = true;
  }
  return RLO_OK;
}

static rlo_status make(chunks *c, int64_t *out_least_bytes, bool *out_is_found) {
  rlo__piece_grid of_destination = c->grid;
  rlo__tally tally;
  bool is_safe;
  of_destination.granule_bytes[SRC] = 1;
  for (int32_t a = 0; a < c->grid.problem->num_axes; ++a) {
    c->atoms[a] = rlo__grid_atom(&of_destination, a);
  }
  if (!c->are_granules) {
    find_granule(c);
  }
  if (c->grid.granule_bytes[SRC] == 0) {
    return RLO_OK;
  }
  RLO_TRY(find_chunks(c));
  RLO_TRY(count_outer(c));
  RLO_TRY(check_boxes(c, c->atoms, &tally, &is_safe));
  if (!is_safe) {
    return RLO_OK;
  }
  c->atom_bytes = tally.max_bytes;
  const int64_t *extents = c->grid.problem->extents;
  *out_least_bytes = staging_bytes(c, c->atoms, 1);
  if (is_within(c, extents)) {
    *out_least_bytes = rlo__min(*out_least_bytes, staging_bytes(c, extents, 1));
  }
  align_box(c);
  RLO_TRY(search_box(c, out_is_found));
  return *out_is_found && !c->are_granules ? count_parts(c) : RLO_OK;
}

rlo_status rlo__piece_plan_chunks(const rlo__piece_grid *grid, const rlo__piece_budget *budget,
                                  int64_t *out_least_bytes, bool *out_is_found,
                                  rlo__piece_plan *out) {
  const rlo_problem *problem = grid->problem;
  bool is_free[RLO_MAX_AXES];
  const bool are_granules = problem->unit_bits % rlo__mul_capped(grid->granule_bytes[SRC], 8) != 0;
  bool is_cut = (are_granules || problem->num_terms > 0) && !budget->is_memory[SRC] &&
                !budget->is_memory[DST] && rlo_problem_dst_unit_bits(problem) % 8 == 0 &&
                !rlo_problem_reads_cells(problem) &&
                problem->num_guards + problem->num_terms <= RLO_MAX_GUARDS;
  *out_least_bytes = INT64_MAX;
  *out_is_found = false;
  rlo__problem_find_free_axes(problem, is_free);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    is_cut = is_cut && is_free[a];
  }
  if (!is_cut) {
    return RLO_OK;
  }
  chunks *c = rlo__alloc(sizeof *c);
  RLO_TRY_MEMORY(c);
  c->grid = *grid;
  c->budget = budget;
  c->are_granules = are_granules;
  c->plan.problem = *problem;
  rlo_status status = make(c, out_least_bytes, out_is_found);
  *out_is_found = *out_is_found && status == RLO_OK;
  if (*out_is_found) {
    *out = c->plan;
  }
  rlo__free(c);
  /* Other boxes may do where an index exceeds 64 bits. */
  return status == RLO_OVERFLOW ? RLO_OK : status;
}
