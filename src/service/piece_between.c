/* SPDX-License-Identifier: Apache-2.0 */

/* Two passes through an intermediate. A chunk of the source is decoded as a whole, and
 * again for each box of the destination that has a part of it: with little memory many
 * times. So a first pass moves the source's elements, as they are, into an intermediate
 * without granules, and a second one moves them from there. The intermediate is dense.
 * Its longest steps are from chunk to chunk of the destination, then of the source, so
 * that what a chunk of either has in common with the other is one run. Where the grids do
 * not divide each other it keeps the source's chunks, of which the second pass reads
 * parts: the number and the remainder of a quotient are axes of the first. */

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/rewrite.h"
#include "ir/update.h"
#include "service/piece_grid.h"
#include "service/piece_plan.h"

#define SRC RLO__SIDE_SOURCE
#define DST RLO__SIDE_DESTINATION

/** The axes of the intermediate, those of the longest steps first. */
typedef enum depth { CHUNKS_OF_DESTINATION, CHUNKS_OF_SOURCE, IN_CUT_CHUNK, IN_CHUNK } depth;

typedef struct between {
  int64_t granule_bytes[2];
  /** The problems of both passes. The second begins as the canonical one of the job. */
  rlo_problem first, second;
  /** Depth and step in the destination of each axis of the first. */
  depth depths[RLO_MAX_AXES];
  int64_t steps[RLO_MAX_AXES];
  /** The axis of the first that is an axis of the second, or the number of the values of
   *  a term, whose remainder is the next axis; -1: none. */
  int32_t of_axis[RLO_MAX_AXES], of_term[RLO_MAX_TERMS];
  /** The least value of a term. */
  int64_t begins[RLO_MAX_TERMS];
  rlo__piece_plan trial[2];
} between;

static rlo_status check_use(const rlo_problem *problem, const rlo_storage_traits *src,
                            const rlo_storage_traits *dst, const rlo_storage_traits *mid,
                            const rlo__piece_budget *budget) {
  bool is_refused = rlo_problem_reads_cells(problem) || problem->unit_bits % 8 != 0 ||
                    problem->num_axes + 2 * problem->num_terms > RLO_MAX_AXES ||
                    problem->num_guards + problem->num_terms > RLO_MAX_GUARDS;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    is_refused = is_refused || rlo__problem_is_summed(problem, a);
  }
  RLO_FAIL_IF(is_refused, RLO_UNSUPPORTED,
              "an intermediate needs a problem of whole bytes that reads none of the destination "
              "and sums nothing");
  RLO_FAIL_IF(budget->is_memory[SRC] || budget->is_memory[DST] || src->is_forward ||
                  dst->is_forward || mid->granule_bytes != 1,
              RLO_UNSUPPORTED,
              "an intermediate has granules of a byte, between storages that are not in memory and "
              "have no order");
  return RLO_OK;
}

/* -------------------------------------------------------------- first pass */

static bool is_chunk_step(const between *b, rlo__problem_side side, int64_t units) {
  const int64_t bits = rlo__mul_capped(rlo__abs(units), rlo__side_unit_bits(&b->second, side));
  return b->granule_bytes[side] > 1 && bits % rlo__mul_capped(b->granule_bytes[side], 8) == 0;
}

static int32_t add_axis(between *b, int64_t extent, int64_t src_step, int64_t dst_step, depth d) {
  const int32_t axis = b->first.num_axes++;
  b->first.extents[axis] = extent;
  b->first.src.axis[axis] = src_step;
  b->steps[axis] = dst_step;
  b->depths[axis] = d;
  return axis;
}

/* Replaces quotients that have one value wherever the source is read. */
static bool fix_quotients(rlo_problem *problem) {
  bool fits = true;
  for (int32_t t = problem->num_terms - 1; t >= 0 && fits; --t) {
    const rlo_term *term = &problem->terms[t];
    rlo_form value = {0};
    int64_t min;
    int64_t max;
    fits = rlo__form_range_guarded(problem, SRC, &term->form, -1, &min, &max);
    value.base = fits ? rlo__floor_div(min, term->divisor) : 0;
    if (fits && term->kind == RLO_TERM_QUOTIENT &&
        value.base == rlo__floor_div(max, term->divisor)) {
      fits = rlo__rewrite_replace_term(problem, t, &value);
    }
  }
  return fits;
}

/* Adds the axes along which the source steps without a quotient. False if one is in several
 * quotients. */
static bool add_axes(between *b) {
  const rlo_problem *problem = &b->second;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    const int64_t src = problem->src.axis[a];
    const int64_t dst = problem->dst.axis[a];
    int32_t num_terms = 0;
    for (int32_t t = 0; t < problem->num_terms; ++t) {
      num_terms += problem->terms[t].form.axis[a] != 0;
    }
    const depth d = is_chunk_step(b, DST, dst)   ? CHUNKS_OF_DESTINATION
                    : is_chunk_step(b, SRC, src) ? CHUNKS_OF_SOURCE
                                                 : IN_CHUNK;
    b->of_axis[a] = src != 0 && num_terms == 0 ? add_axis(b, problem->extents[a], src, dst, d) : -1;
    if (num_terms > 1) {
      return false;
    }
  }
  return true;
}

/* Adds the axes of a quotient, with a guard for the values of its form that are read. */
static bool add_quotient(between *b, int32_t number) {
  const rlo_problem *problem = &b->second;
  const rlo_term *term = &problem->terms[number];
  const int64_t step = rlo__grid_inner_step(problem, &term->form);
  rlo_problem *first = &b->first;
  int64_t dst_step = 0;
  int64_t along;
  int64_t min;
  int64_t max;
  if (term->kind != RLO_TERM_QUOTIENT || step == 0 || rlo__form_has_terms(problem, &term->form) ||
      !rlo__mul_add(problem->src.term[number], step, term->divisor, &along) ||
      !rlo__form_range_guarded(problem, SRC, &term->form, -1, &min, &max) || min > max) {
    return false;
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    dst_step = term->form.axis[a] == 0 ? dst_step : rlo__max(dst_step, problem->dst.axis[a]);
  }
  const int64_t begin = rlo__floor_div(min, term->divisor);
  const int64_t count = rlo__floor_div(max, term->divisor) - begin + 1;
  const int32_t axis = add_axis(b, count, along, dst_step, CHUNKS_OF_SOURCE);
  (void)add_axis(b, term->divisor, step, dst_step, IN_CUT_CHUNK);
  b->of_term[number] = axis;
  b->begins[number] = begin;
  rlo_guard *guard = &first->guards[first->num_guards++];
  *guard = (rlo_guard){.kind = RLO_GUARD_SKIP, .limit = max - min + 1};
  guard->form.base = begin * term->divisor - min;
  guard->form.axis[axis] = term->divisor;
  guard->form.axis[axis + 1] = 1;
  return rlo__mul_add(first->src.base, along, begin, &first->src.base) &&
         rlo__mul_add(first->src.base, -step, term->form.base, &first->src.base);
}

/* Keeps a guard: of the axes of a quotient it has a multiple of the quotient's form. False if it
 * ties axes that the first pass lacks to others; alone they do not move the source. */
static bool keep_guard(between *b, const rlo_guard *guard) {
  rlo_form rest = guard->form;
  rlo_guard *kept = &b->first.guards[b->first.num_guards];
  bool fits = true;
  bool is_missed = false;
  bool is_used = false;
  *kept = (rlo_guard){.kind = RLO_GUARD_SKIP, .limit = guard->limit};
  for (int32_t t = 0; t < b->second.num_terms; ++t) {
    const rlo_term *term = &b->second.terms[t];
    int64_t *along = &kept->form.axis[b->of_term[t]];
    int64_t factor = 0;
    for (int32_t a = 0; a < b->second.num_axes; ++a) {
      factor = term->form.axis[a] == 0 ? factor : rest.axis[a] / term->form.axis[a];
    }
    along[1] = factor;
    fits = fits && rlo__form_add(&rest, -factor, &term->form) &&
           rlo__mul_add(rest.term[t], factor, term->divisor, along) &&
           rlo__mul_add(kept->form.base, *along, b->begins[t], &kept->form.base);
    is_used = is_used || along[0] != 0 || along[1] != 0;
  }
  for (int32_t a = 0; a < b->second.num_axes; ++a) {
    is_missed = is_missed || (rest.axis[a] != 0 && b->of_axis[a] < 0);
    is_used = is_used || (rest.axis[a] != 0 && b->of_axis[a] >= 0);
    kept->form.axis[rlo__max(b->of_axis[a], 0)] += b->of_axis[a] < 0 ? 0 : rest.axis[a];
  }
  b->first.num_guards += !is_missed;
  return fits && !(is_missed && is_used) && rlo__add(kept->form.base, rest.base, &kept->form.base);
}

/* Makes the first pass but for its destination. */
static bool make_first(between *b) {
  rlo_problem *first = &b->first;
  first->unit_bits = b->second.unit_bits;
  first->src_bytes = b->second.src_bytes;
  first->src.base = b->second.src.base;
  bool is_made = fix_quotients(&b->second) && add_axes(b);
  for (int32_t t = 0; t < b->second.num_terms && is_made; ++t) {
    is_made = add_quotient(b, t);
  }
  for (int32_t g = 0; g < b->second.num_guards && is_made; ++g) {
    is_made = keep_guard(b, &b->second.guards[g]);
  }
  return is_made;
}

/* ------------------------------------------------------------ intermediate */

/* Tells if an axis of the first pass has shorter steps in the intermediate. */
static bool is_inside(const between *b, int32_t axis, int32_t other) {
  return b->depths[axis] > b->depths[other] ||
         (b->depths[axis] == b->depths[other] && b->steps[axis] < b->steps[other]);
}

/* Lays out the intermediate, from a unit on. */
static bool lay_out(between *b, int64_t begin) {
  rlo_problem *first = &b->first;
  int64_t step = 1;
  for (int32_t n = 0; n < first->num_axes; ++n) {
    int32_t next = -1;
    for (int32_t a = 0; a < first->num_axes; ++a) {
      next = first->dst.axis[a] == 0 && (next < 0 || is_inside(b, a, next)) ? a : next;
    }
    first->dst.axis[next] = step;
    if (!rlo__mul(step, first->extents[next], &step)) {
      return false;
    }
  }
  first->dst.base = begin;
  return rlo__add(begin, step, &step) && rlo__mul(step, first->unit_bits / 8, &first->dst_bytes);
}

/* Has the second pass read the intermediate. */
static bool move_source(between *b) {
  const rlo_form *from = &b->first.dst;
  rlo_problem *second = &b->second;
  bool fits = true;
  second->src.base = from->base;
  for (int32_t a = 0; a < second->num_axes; ++a) {
    second->src.axis[a] = b->of_axis[a] < 0 ? 0 : from->axis[b->of_axis[a]];
  }
  for (int32_t t = 0; t < second->num_terms; ++t) {
    const rlo_term *term = &second->terms[t];
    const int64_t along = from->axis[b->of_term[t]];
    const int64_t inner = from->axis[b->of_term[t] + 1];
    fits = fits && rlo__form_add(&second->src, inner, &term->form) &&
           rlo__mul_add(along, -inner, term->divisor, &second->src.term[t]) &&
           rlo__mul_add(second->src.base, -along, b->begins[t], &second->src.base);
  }
  second->src_bytes = b->first.dst_bytes;
  b->first.read_bytes = b->first.written_bytes = second->read_bytes;
  return fits;
}

/* Plans the first pass. Where longer runs ask for chunks to be read again, they are of no
 * use. */
static rlo_status plan_first(const between *b, const rlo_storage_traits *src,
                             const rlo_storage_traits *mid, const rlo__piece_budget *budget,
                             rlo__piece_plan *out) {
  rlo_storage_traits of_any_run = *mid;
  of_any_run.good_write_bytes = 1;
  RLO_TRY(rlo__piece_plan_make(&b->first, src, mid, budget, out));
  return out->bytes_read <= src->bytes
             ? RLO_OK
             : rlo__piece_plan_make(&b->first, src, &of_any_run, budget, out);
}

static rlo_status plan(between *b, const rlo_storage_traits *src, const rlo_storage_traits *dst,
                       const rlo_storage_traits *mid, int64_t offset,
                       const rlo__piece_budget *budget, rlo__piece_plan out[2]) {
  rlo_problem *second = &b->second;
  RLO_TRY(check_use(second, src, dst, mid, budget));
  const int64_t begin = rlo__ceil_div(offset, second->unit_bits / 8);
  const bool is_possible = make_first(b) && lay_out(b, begin) && move_source(b);
  RLO_FAIL_IF(!is_possible, RLO_UNSUPPORTED, "the source's elements are not in chunks of a grid");
  const int64_t bytes = b->first.dst_bytes - offset;
  RLO_FAIL_IF(bytes > budget->scratch_bytes, RLO_OUT_OF_RANGE,
              "two passes need an intermediate of %" PRId64 " bytes; the scratch has %" PRId64,
              bytes, budget->scratch_bytes);
  RLO_TRY(plan_first(b, src, mid, budget, &out[0]));
  RLO_FAIL_IF(out[0].bytes_read == 0, RLO_UNSUPPORTED,
              "two passes gain nothing where nothing is read");
  out[0].shift_bytes = bytes;
  return rlo__piece_plan_make(second, mid, dst, budget, &out[1]);
}

/* Tells if two passes read less of the source, which is decoded, or else move less in all. */
static bool moves_less(const rlo__piece_plan plans[2], const rlo__piece_plan than[2]) {
  static const int64_t any[2] = {0, 0};
  const int64_t more = plans[0].bytes_read - than[0].bytes_read;
  return more < 0 ||
         (more == 0 && rlo__piece_plans_cost(plans, any) < rlo__piece_plans_cost(than, any));
}

rlo_status rlo__piece_plan_make_between(const rlo_problem *problem, const rlo_storage_traits *src,
                                        const rlo_storage_traits *dst,
                                        const rlo_storage_traits *mid, int64_t offset,
                                        const rlo__piece_budget *budget, rlo__piece_plan out[2]) {
  /* The canonical form splits axes at the chunks of both grids, but leaves no trace of chunks
   * that follow each other in memory: then the problem may do as it was lowered, where axes
   * are the destination's chunks and quotients the source's. */
  between *b = rlo__alloc(sizeof *b);
  RLO_TRY_MEMORY(b);
  b->granule_bytes[SRC] = src->granule_bytes;
  b->granule_bytes[DST] = dst->granule_bytes;
  /* The host runs both passes. */
  rlo__piece_budget of_host = *budget;
  of_host.copies = false;
  of_host.piece_bytes = INT64_MAX;
  b->second = *problem;
  const int32_t bits = (int32_t)rlo__max(8, problem->unit_bits);
  rlo_status status = rlo_problem_canonicalize(&b->second, bits, NULL, NULL);
  status = status == RLO_OK ? plan(b, src, dst, mid, offset, &of_host, out) : status;
  if (status != RLO_OUT_OF_MEMORY) {
    memset(&b->first, 0, sizeof b->first);
    b->second = *problem;
    const rlo_status of_lowered = plan(b, src, dst, mid, offset, &of_host, b->trial);
    if (status != RLO_OK || (of_lowered == RLO_OK && moves_less(b->trial, out))) {
      memcpy(out, b->trial, sizeof b->trial);
      status = of_lowered;
    }
  }
  rlo__free(b);
  return status;
}
