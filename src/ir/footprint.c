/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/footprint.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "desc/strides.h"
#include "ir/form.h"
#include "ir/validate.h"

const rlo_form *rlo__side_form(const rlo_problem *problem, rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE ? &problem->src : &problem->dst;
}

int32_t rlo__side_unit_bits(const rlo_problem *problem, rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE ? problem->unit_bits : rlo_problem_dst_unit_bits(problem);
}

bool rlo__side_guarded_by(const rlo_guard *guard, rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE || guard->kind == RLO_GUARD_SKIP;
}

rlo__side_reach rlo__problem_reach(const rlo_problem *problem, rlo__problem_side side) {
  rlo__side_reach reach = RLO__SIDE_ALL;
  if (rlo_problem_is_empty(problem)) {
    return RLO__SIDE_NONE;
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    rlo__guard_reach holds = rlo__side_guarded_by(guard, side)
                                 ? rlo__form_reach(problem, &guard->form, guard->limit)
                                 : RLO__HOLDS_EVERYWHERE;
    if (holds == RLO__HOLDS_NOWHERE) {
      return RLO__SIDE_NONE;
    }
    reach = holds == RLO__HOLDS_EVERYWHERE ? reach : RLO__SIDE_SOME;
  }
  return reach;
}

/* Ends axes where a guard can hold no more, whatever the other axes are: canonical form
 * leaves what it has merged as long as it was. Tells if it has. */
static bool end_axes(rlo_problem *problem) {
  bool has_ended = false;
  for (int32_t n = 0; n < problem->num_guards * problem->num_axes; ++n) {
    const rlo_guard *guard = &problem->guards[n / problem->num_axes];
    const int32_t a = n % problem->num_axes;
    const int64_t step = guard->form.axis[a];
    rlo_form rest = guard->form;
    int64_t min;
    int64_t max;
    rest.axis[a] = 0;
    if (step > 0 && rlo__form_range(problem, &rest, &min, &max) && min < guard->limit) {
      const int64_t count = (guard->limit - 1 - min) / step + 1;
      has_ended = has_ended || count < problem->extents[a];
      problem->extents[a] = rlo__min(count, problem->extents[a]);
    }
  }
  return has_ended;
}

rlo_status rlo__problem_narrow(const rlo_problem *problem, rlo__problem_side side,
                               const rlo_form *form, rlo_problem *out, bool *out_is_exact) {
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
    /* Its term would split axes of which the form's lattice is made. */
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
                                     .is_sequential = true};
  RLO_TRY(rlo_problem_canonicalize(out, 0, NULL, NULL));
  RLO_TRY(end_axes(out) ? rlo_problem_canonicalize(out, 0, NULL, NULL) : RLO_OK);
  *out_is_exact = *out_is_exact && out->num_guards == 0;
  return RLO_OK;
}

/** A lattice in bits while it grows, the narrowest dim first. */
typedef struct sketch {
  int64_t base, run;
  /** The length from the first bit to the end of the last. */
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

/* Begins with the bits [first, end), `first` rounded down to a granule: of
 * units of 3 bits 24, so that even the rounding can exceed 64 bits. */
static bool begin_sketch(int64_t unit_bits, int64_t first, int64_t end, bool is_exact, sketch *s) {
  memset(s, 0, sizeof *s);
  s->granule = unit_bits / rlo__gcd(unit_bits, 8) * 8;
  int64_t head = rlo__floor_mod(first, s->granule);
  if (!rlo__sub(first, head, &s->base)) {
    return false;
  }
  s->run = s->span = end - s->base;
  s->is_exact = is_exact && head == 0;
  return true;
}

static void fold_into_run(sketch *s) {
  s->run = s->span;
  s->num_dims = 0;
}

/* Rounds the run up to whole bytes and units, before the first dim. */
static bool round_run(int64_t multiple, sketch *s) {
  int64_t run = s->run;
  if (!rlo__round_up(run, multiple, &s->run) || !rlo__add(s->span, s->run - run, &s->span)) {
    return false;
  }
  s->is_exact = s->is_exact && s->run == run;
  return true;
}

/* Adds a stride that is not narrower than the earlier ones. */
static bool add_dim(int64_t extent, int64_t stride, sketch *s) {
  bool is_whole = stride % s->granule == 0;
  if (s->num_dims == 0 && stride > s->run && is_whole && !round_run(s->granule, s)) {
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
    /* It continues the last dim, or repeats a part of it. */
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

/* Cuts off what lies beyond the memory: nothing of it is touched. */
static rlo_status clip_to_memory(int64_t memory_bytes, sketch *s) {
  int64_t memory;
  int64_t end;
  if (!rlo__mul(memory_bytes, 8, &memory) || !rlo__add(s->base, s->span, &end)) {
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

/** The values of a form without terms over a box. */
typedef struct values {
  int64_t base;
  int32_t num_strides;
  /** Falling, above 0. */
  rlo__stride strides[RLO_MAX_AXES];
} values;

/* The lattice of the units at these positions. */
static rlo_status draw_lattice(const values *v, int64_t unit_bits, int64_t memory_bytes,
                               bool is_exact, rlo__lattice *out) {
  sketch s;
  int64_t first;
  int64_t end;
  if (!rlo__mul(v->base, unit_bits, &first) || !rlo__mul_add(unit_bits, v->base, unit_bits, &end) ||
      !begin_sketch(unit_bits, first, end, is_exact, &s)) {
    return bits_overflow();
  }
  for (int32_t n = v->num_strides - 1; n >= 0; --n) {
    int64_t stride;
    if (!rlo__mul(v->strides[n].stride, unit_bits, &stride) ||
        !add_dim(v->strides[n].extent, stride, &s)) {
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

/* The values of a form over the box. False if one exceeds 64 bits. */
static bool list_values(const rlo_problem *problem, const rlo_form *form, values *out) {
  out->base = form->base;
  out->num_strides = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t stride = rlo__abs(form->axis[a]);
    if (problem->extents[a] == 1 || stride == 0) {
      continue;
    }
    if (form->axis[a] < 0 &&
        !rlo__mul_add(out->base, form->axis[a], problem->extents[a] - 1, &out->base)) {
      return false;
    }
    int32_t place = out->num_strides++;
    for (; place > 0 && out->strides[place - 1].stride < stride; --place) {
      out->strides[place] = out->strides[place - 1];
    }
    out->strides[place] = (rlo__stride){problem->extents[a], stride, a};
  }
  return true;
}

/* The run from the first value of a form to the last: of those that the
 * narrowed problem has, and of those that the problem's own box allows, so that
 * pieces of equal extents have bounds that are about equal. */
static rlo_status list_hull(const rlo_problem *problem, const rlo_form *form,
                            const rlo_problem *narrowed, values *out) {
  int64_t min;
  int64_t max;
  int64_t own_min;
  int64_t own_max;
  if (!rlo__form_range(narrowed, &narrowed->dst, &min, &max) ||
      !rlo__form_range(problem, form, &own_min, &own_max)) {
    return bits_overflow();
  }
  min = rlo__max(min, own_min);
  max = rlo__max(min, rlo__min(max, own_max));
  int64_t width;
  if (!rlo__sub(max, min, &width) || !rlo__add(width, 1, &width)) {
    return bits_overflow();
  }
  *out = (values){.base = min, .num_strides = width > 1 ? 1 : 0};
  out->strides[0] = (rlo__stride){width, 1, 0};
  return RLO_OK;
}

rlo_status rlo__problem_footprint(const rlo_problem *problem, rlo__problem_side side,
                                  rlo__lattice *out) {
  RLO_TRY(rlo__problem_validate(problem));
  const rlo_form *form = rlo__side_form(problem, side);
  int64_t unit_bits = rlo__side_unit_bits(problem, side);
  int64_t memory_bytes = side == RLO__SIDE_SOURCE ? problem->src_bytes : problem->dst_bytes;
  values v;
  rlo__side_reach reach = rlo__problem_reach(problem, side);
  if (reach == RLO__SIDE_NONE) {
    *out = (rlo__lattice){.is_exact = true};
    return RLO_OK;
  }
  if (reach == RLO__SIDE_ALL && !rlo__form_has_terms(problem, form)) {
    return list_values(problem, form, &v) ? draw_lattice(&v, unit_bits, memory_bytes, true, out)
                                          : bits_overflow();
  }
  rlo_problem *narrowed = rlo__alloc(sizeof *narrowed);
  RLO_TRY_MEMORY(narrowed);
  bool is_exact;
  rlo_status status = rlo__problem_narrow(problem, side, form, narrowed, &is_exact);
  if (status == RLO_OK && rlo_problem_is_empty(narrowed)) {
    *out = (rlo__lattice){.is_exact = true};
  } else if (status == RLO_OK) {
    if (rlo__form_has_terms(problem, form)) {
      status = list_hull(problem, form, narrowed, &v);
    } else if (!list_values(narrowed, &narrowed->dst, &v)) {
      status = bits_overflow();
    }
    if (status == RLO_OK) {
      status = draw_lattice(&v, unit_bits, memory_bytes, is_exact, out);
    }
  }
  rlo__free(narrowed);
  return status;
}

/** A form that is bounded, as the sum of what guards bound and a rest. */
typedef struct bounded {
  rlo_form rest;
  /** Bounds of the first part, and of the sum. */
  int64_t low, high, min, max;
} bounded;

/* Finds the bounds of the sum. */
static bool bound_sum(const rlo_problem *problem, bounded *b) {
  return rlo__form_range(problem, &b->rest, &b->min, &b->max) &&
         rlo__add(b->low, b->min, &b->min) && rlo__add(b->high, b->max, &b->max);
}

/* Takes the multiple of a guard's form out of the rest that leaves nothing of the
 * axis along which the guard changes most. */
static bool take_guard(const rlo_problem *problem, const rlo_guard *guard, bounded *b) {
  int64_t most = 0;
  int64_t factor = 0;
  int64_t low;
  int64_t high;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = guard->form.axis[a];
    if (problem->extents[a] > 1 && rlo__abs(step) > most) {
      most = rlo__abs(step);
      factor = b->rest.axis[a] / step;
    }
  }
  if (!rlo__form_range(problem, &guard->form, &low, &high)) {
    return false;
  }
  low = rlo__max(low, 0);
  high = rlo__min(high, guard->limit - 1);
  return rlo__form_add(&b->rest, -factor, &guard->form) &&
         rlo__mul_add(b->low, factor, factor < 0 ? high : low, &b->low) &&
         rlo__mul_add(b->high, factor, factor < 0 ? low : high, &b->high) && bound_sum(problem, b);
}

bool rlo__form_range_guarded(const rlo_problem *problem, rlo__problem_side side,
                             const rlo_form *form, int32_t but, int64_t *out_min,
                             int64_t *out_max) {
  bounded b = {.rest = *form};
  bool fits = bound_sum(problem, &b);
  /* A cut adds its guards at the end: they are the narrowest, and come first. */
  for (int32_t g = problem->num_guards - 1; g >= 0 && fits; --g) {
    const rlo_guard *guard = &problem->guards[g];
    if (g == but || !rlo__side_guarded_by(guard, side) ||
        rlo__form_has_terms(problem, &guard->form)) {
      continue;
    }
    bounded taken = b;
    fits = take_guard(problem, guard, &taken);
    b = fits && taken.max - taken.min < b.max - b.min ? taken : b;
  }
  *out_min = b.min;
  *out_max = b.max;
  return fits;
}

rlo_status rlo__problem_span(const rlo_problem *problem, rlo__problem_side side,
                             rlo__lattice *out) {
  int64_t min;
  int64_t max;
  *out = (rlo__lattice){.is_exact = true};
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (!rlo__side_guarded_by(guard, side)) {
      continue;
    }
    if (!rlo__form_range_guarded(problem, side, &guard->form, g, &min, &max)) {
      return bits_overflow();
    }
    if (min > max || max < 0 || min >= guard->limit) {
      return RLO_OK;
    }
  }
  if (!rlo__form_range_guarded(problem, side, rlo__side_form(problem, side), -1, &min, &max)) {
    return bits_overflow();
  }
  const int64_t memory_bytes = side == RLO__SIDE_SOURCE ? problem->src_bytes : problem->dst_bytes;
  values v = {.base = min, .num_strides = max > min ? 1 : 0};
  v.strides[0] = (rlo__stride){max - min + 1, 1, 0};
  return min > max ? RLO_OK
                   : draw_lattice(&v, rlo__side_unit_bits(problem, side), memory_bytes, false, out);
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

bool rlo__lattice_is_granular(const rlo__lattice *lattice, int64_t granule_bytes,
                              int64_t storage_bytes) {
  bool is_whole = lattice->base_byte % granule_bytes == 0;
  for (int32_t d = 0; d < lattice->num_dims; ++d) {
    is_whole = is_whole && lattice->strides[d] % granule_bytes == 0;
  }
  const bool is_last =
      lattice->num_dims == 0 && lattice->base_byte + lattice->run_bytes == storage_bytes;
  return is_whole && (is_last || lattice->run_bytes % granule_bytes == 0);
}

rlo__lattice rlo__lattice_fill(const rlo__lattice *lattice, int64_t granule_bytes,
                               int64_t storage_bytes) {
  rlo__lattice filled = *lattice;
  filled.is_exact = false;
  while (filled.num_dims > 0 && filled.strides[filled.num_dims - 1] % granule_bytes != 0) {
    const int64_t stride = filled.strides[--filled.num_dims];
    filled.run_bytes += stride * (filled.extents[filled.num_dims] - 1);
    if (filled.run_bytes > granule_bytes && granule_bytes % stride != 0) {
      return *lattice;
    }
  }
  const int64_t granules = rlo__ceil_div(filled.run_bytes, granule_bytes);
  filled.run_bytes = rlo__mul_capped(granules, granule_bytes);
  if (filled.num_dims == 0) {
    filled.run_bytes = rlo__min(filled.run_bytes, storage_bytes - filled.base_byte);
  }
  const rlo__lattice hull = rlo__lattice_hull(&filled);
  return hull.base_byte + hull.run_bytes > storage_bytes ? *lattice : filled;
}

rlo__lattice rlo__lattice_widen(const rlo__lattice *lattice, int64_t granule_bytes,
                                int64_t storage_bytes) {
  const rlo__lattice hull = rlo__lattice_hull(lattice);
  const int64_t begin = hull.base_byte - hull.base_byte % granule_bytes;
  const int64_t bytes = hull.base_byte + hull.run_bytes - begin;
  const int64_t granules = rlo__ceil_div(bytes, granule_bytes);
  const int64_t whole = rlo__mul_capped(granules, granule_bytes);
  return (rlo__lattice){.base_byte = begin, .run_bytes = rlo__min(whole, storage_bytes - begin)};
}
