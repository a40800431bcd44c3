/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/footprint.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/validate.h"

const rlo_form *rlo__side_form(const rlo_problem *problem,
                               rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE ? &problem->src : &problem->dst;
}

int32_t rlo__side_unit_bits(const rlo_problem *problem,
                            rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE ? problem->unit_bits
                                  : rlo_problem_dst_unit_bits(problem);
}

bool rlo__side_guarded_by(const rlo_guard *guard, rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE || guard->kind == RLO_GUARD_SKIP;
}

rlo_status rlo__problem_narrow(const rlo_problem *problem,
                               rlo__problem_side side,
                               const rlo_form *form,
                               rlo_problem *out,
                               bool *out_is_exact) {
  bool keeps_terms = rlo__form_has_terms(problem, form);
  *out = *problem;
  out->dst = *form;
  memset(&out->src, 0, sizeof out->src);
  *out_is_exact = !keeps_terms;
  out->num_guards = 0;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (!rlo__side_guarded_by(guard, side)) {
      continue;
    }
    /* A term could only split axes, and so hide the lattice. */
    if (!keeps_terms && rlo__form_has_terms(problem, &guard->form)) {
      *out_is_exact = false;
      continue;
    }
    out->guards[out->num_guards] = *guard;
    out->guards[out->num_guards++].kind = RLO_GUARD_SKIP;
  }
  out->num_terms = keeps_terms ? problem->num_terms : 0;
  /* Sums, so that axes of stride 0 are legal; of a type that fits any unit. */
  out->unit_bits = 1;
  out->update = RLO_UPDATE_COMBINE;
  out->arithmetic = (rlo_arithmetic){.src_type = RLO_DTYPE_U1,
                                     .dst_type = RLO_DTYPE_U1,
                                     .dst_unit_bits = 1,
                                     .alpha = 1.0,
                                     .beta = 1.0,
                                     .is_sequential = true};
  RLO_TRY(rlo_problem_canonicalize(out, 0, NULL, NULL));
  *out_is_exact = *out_is_exact && out->num_guards == 0;
  return RLO_OK;
}

/** A lattice in bits while it grows, the narrowest dim first. */
typedef struct sketch {
  int64_t base, run;
  /** From the first bit to the end of the last. */
  int64_t span;
  int32_t num_dims;
  int64_t extents[RLO_MAX_AXES];
  int64_t strides[RLO_MAX_AXES];
  /** Strides of dims, and the base, are multiples of it: the least number of
   *  bits that is whole in units and in bytes. */
  int64_t granule;
  bool is_exact;
} sketch;

static rlo_status bits_overflow(void) {
  return rlo__fail_overflow("a position of the footprint, in bits,");
}

/* Begins with the bits [first, end), rounded outwards at the first. */
static void begin_sketch(
    int64_t unit_bits, int64_t first, int64_t end, bool is_exact, sketch *s) {
  memset(s, 0, sizeof *s);
  s->granule = unit_bits / rlo__gcd(unit_bits, 8) * 8;
  int64_t head = rlo__floor_mod(first, s->granule);
  s->base = first - head;
  s->run = s->span = end - s->base;
  s->is_exact = is_exact && head == 0;
}

static void fold_into_run(sketch *s) {
  s->run = s->span;
  s->num_dims = 0;
}

/* Before the first dim, the run gets whole bytes and units. */
static bool round_run(int64_t multiple, sketch *s) {
  int64_t run = s->run;
  if (!rlo__round_up(run, multiple, &s->run) ||
      !rlo__add(s->span, s->run - run, &s->span)) {
    return false;
  }
  s->is_exact = s->is_exact && s->run == run;
  return true;
}

/* Adds a stride that is not narrower than the earlier ones. */
static bool add_dim(int64_t extent, int64_t stride, sketch *s) {
  bool is_whole = stride % s->granule == 0;
  if (s->num_dims == 0 && stride > s->run && is_whole &&
      !round_run(s->granule, s)) {
    return false;
  }
  int64_t span = s->span;
  if (!rlo__mul_add(s->span, stride, extent - 1, &s->span)) {
    return false;
  }
  if (s->num_dims == 0 && stride <= s->run) {
    fold_into_run(s);
    return true;
  }
  int32_t last = s->num_dims - 1;
  if (is_whole && last >= 0 && stride % s->strides[last] == 0 &&
      stride / s->strides[last] <= s->extents[last]) {
    /* It continues the last dim, perhaps over a part of it. */
    s->extents[last] += stride / s->strides[last] * (extent - 1);
  } else if (is_whole && stride >= span) {
    s->extents[s->num_dims] = extent;
    s->strides[s->num_dims++] = stride;
  } else {
    fold_into_run(s);
    s->is_exact = false;
  }
  return true;
}

/* What the problem touches is in its memory. */
static rlo_status clip_to_memory(int64_t memory_bytes, sketch *s) {
  int64_t memory;
  int64_t end;
  if (!rlo__mul(memory_bytes, 8, &memory) ||
      !rlo__add(s->base, s->span, &end)) {
    return bits_overflow();
  }
  if (s->base < 0 || end > memory) {
    fold_into_run(s);
    s->base = rlo__max(s->base, 0);
    s->run = rlo__max(rlo__min(end, memory) - s->base, 0);
    s->is_exact = s->run == 0;
  }
  return RLO_OK;
}

static void finish_lattice(const sketch *s, rlo__lattice *out) {
  memset(out, 0, sizeof *out);
  out->is_exact = s->is_exact;
  out->run_bytes = s->run / 8;
  if (out->run_bytes == 0) {
    return;
  }
  out->base_byte = s->base / 8;
  out->num_dims = s->num_dims;
  for (int32_t d = 0; d < s->num_dims; ++d) {
    out->extents[d] = s->extents[s->num_dims - 1 - d];
    out->strides[d] = s->strides[s->num_dims - 1 - d] / 8;
  }
}

/* The lattice of the destination of a problem that rlo__problem_narrow() has
 * made; of its hull if `is_run`. */
static rlo_status draw_lattice(const rlo_problem *narrowed,
                               int64_t unit_bits,
                               int64_t memory_bytes,
                               bool is_run,
                               bool is_exact,
                               rlo__lattice *out) {
  sketch s;
  int64_t min = narrowed->dst.base;
  int64_t max = min;
  if (is_run && !rlo__form_range(narrowed, &narrowed->dst, &min, &max)) {
    return bits_overflow();
  }
  int64_t first;
  int64_t end;
  if (!rlo__mul(min, unit_bits, &first) ||
      !rlo__mul_add(unit_bits, max, unit_bits, &end)) {
    return bits_overflow();
  }
  begin_sketch(unit_bits, first, end, is_exact, &s);
  for (int32_t a = narrowed->num_axes - 1; a >= 0 && !is_run; --a) {
    int64_t stride;
    if (!rlo__mul(narrowed->dst.axis[a], unit_bits, &stride) ||
        (stride != 0 && !add_dim(narrowed->extents[a], stride, &s))) {
      return bits_overflow();
    }
  }
  if (s.num_dims == 0 && !round_run(8, &s)) {
    return bits_overflow();
  }
  RLO_TRY(clip_to_memory(memory_bytes, &s));
  finish_lattice(&s, out);
  return RLO_OK;
}

rlo_status rlo__problem_footprint(const rlo_problem *problem,
                                  rlo__problem_side side,
                                  rlo__lattice *out) {
  RLO_TRY(rlo__problem_validate(problem));
  rlo_problem *narrowed = rlo__alloc(sizeof *narrowed);
  if (narrowed == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  const rlo_form *form = rlo__side_form(problem, side);
  bool is_exact;
  rlo_status status =
      rlo__problem_narrow(problem, side, form, narrowed, &is_exact);
  if (status == RLO_OK && rlo_problem_is_empty(narrowed)) {
    *out = (rlo__lattice){.is_exact = true};
  } else if (status == RLO_OK) {
    status = draw_lattice(
        narrowed,
        rlo__side_unit_bits(problem, side),
        side == RLO__SIDE_SOURCE ? problem->src_bytes : problem->dst_bytes,
        rlo__form_has_terms(problem, form),
        is_exact,
        out);
  }
  rlo__free(narrowed);
  return status;
}

int64_t rlo__lattice_bytes(const rlo__lattice *lattice) {
  int64_t bytes = lattice->run_bytes;
  for (int32_t d = 0; d < lattice->num_dims; ++d) {
    bytes *= lattice->extents[d];
  }
  return bytes;
}

rlo__lattice rlo__lattice_hull(const rlo__lattice *lattice) {
  rlo__lattice hull = {.base_byte = lattice->base_byte,
                       .run_bytes = lattice->run_bytes,
                       .is_exact = lattice->is_exact && lattice->num_dims == 0};
  for (int32_t d = 0; d < lattice->num_dims; ++d) {
    hull.run_bytes += lattice->strides[d] * (lattice->extents[d] - 1);
  }
  return hull;
}
