/* SPDX-License-Identifier: Apache-2.0 */

/* Whether a quasi-linear form is 0 everywhere. */

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "shape_util/quasi.h"

/* Points that are tried one by one, and those that are tried of more. */
static const int64_t most_points = INT64_C(1) << 20;
static const int64_t most_samples = 20000;

/* The values of symbols at one point. Sums wrap: what they come to fits. */
typedef struct evaluator {
  const rlo__quasi_space *space;
  int64_t vars[RLO_MAX_RANK];
  int64_t atoms[RLO__QUASI_MAX_ATOMS];
} evaluator;

static int64_t value_of(const evaluator *e, const rlo__quasi *form) {
  uint64_t sum = (uint64_t)form->base;
  for (int32_t i = 0; i < form->count; ++i) {
    int32_t symbol = form->terms[i].symbol;
    int64_t value = symbol < RLO__QUASI_ATOM
                        ? e->vars[symbol]
                        : e->atoms[symbol - RLO__QUASI_ATOM];
    sum += (uint64_t)form->terms[i].coef * (uint64_t)value;
  }
  return (int64_t)sum;
}

static int64_t evaluate(evaluator *e, const rlo__quasi *form) {
  for (int32_t a = 0; a < e->space->num_atoms; ++a) {
    const rlo__quasi_atom *atom = &e->space->atoms[a];
    e->atoms[a] = rlo__floor_div(value_of(e, &atom->form), atom->divisor);
  }
  return value_of(e, form);
}

/* How a symbol repeats along one variable: s(x + step) = s(x) + rise. */
typedef struct period {
  int64_t step;
  int64_t rise;
} period;

/* The period of a form from those of its symbols; step 0 if it is beyond 64
 * bits. */
static period period_of_form(const rlo__quasi *form,
                             int32_t var,
                             const period *atoms) {
  period whole = {1, 0};
  for (int32_t pass = 0; pass < 2; ++pass) {
    for (int32_t i = 0; i < form->count; ++i) {
      int32_t symbol = form->terms[i].symbol;
      period one = {1, symbol == var ? 1 : 0};
      if (symbol >= RLO__QUASI_ATOM) {
        one = atoms[symbol - RLO__QUASI_ATOM];
      }
      int64_t rise;
      if (one.step == 0) {
        return one;
      }
      if (pass == 0) {
        int64_t gcd = rlo__gcd(whole.step, one.step);
        if (!rlo__mul(whole.step / gcd, one.step, &whole.step)) {
          return (period){0, 0};
        }
      } else if (!rlo__mul(form->terms[i].coef, one.rise, &rise) ||
                 !rlo__mul_add(
                     whole.rise, rise, whole.step / one.step, &whole.rise)) {
        return (period){0, 0};
      }
    }
  }
  return whole;
}

static period period_of(const rlo__quasi_space *space,
                        const rlo__quasi *form,
                        int32_t var,
                        period *atoms) {
  for (int32_t a = 0; a < space->num_atoms; ++a) {
    const rlo__quasi_atom *atom = &space->atoms[a];
    period p = period_of_form(&atom->form, var, atoms);
    if (p.step != 0 && p.rise != INT64_MIN) {
      int64_t gcd = rlo__gcd(p.rise, atom->divisor);
      assert(gcd > 0);
      if (rlo__mul(p.step, atom->divisor / gcd, &p.step)) {
        p.rise /= gcd;
      } else {
        p.step = 0;
      }
    } else {
      p.step = 0;
    }
    atoms[a] = p;
  }
  return period_of_form(form, var, atoms);
}

/* Variables that a symbol depends on, as bits. */
static uint64_t vars_of(const rlo__quasi_space *space, int32_t symbol) {
  if (symbol < RLO__QUASI_ATOM) {
    return UINT64_C(1) << symbol;
  }
  uint64_t vars = 0;
  const rlo__quasi *form = &space->atoms[symbol - RLO__QUASI_ATOM].form;
  for (int32_t i = 0; i < form->count; ++i) {
    vars |= vars_of(space, form->terms[i].symbol);
  }
  return vars;
}

/* floor(x / d), x one variable: d is below its extent, or there were none. */
static bool is_plain(const rlo__quasi_space *space, int32_t symbol) {
  if (symbol < RLO__QUASI_ATOM) {
    return true;
  }
  const rlo__quasi *form = &space->atoms[symbol - RLO__QUASI_ATOM].form;
  return form->count == 1 && form->base == 0 && form->terms[0].coef == 1 &&
         form->terms[0].symbol < RLO__QUASI_ATOM;
}

/* The terms of a form whose variables are among `vars`. */
static rlo__quasi part_of(const rlo__quasi_space *space,
                          const rlo__quasi *form,
                          uint64_t vars) {
  rlo__quasi part;
  memset(&part, 0, sizeof part);
  for (int32_t i = 0; i < form->count; ++i) {
    if ((vars_of(space, form->terms[i].symbol) & ~vars) == 0) {
      part.terms[part.count++] = form->terms[i];
    }
  }
  return part;
}

/* A well-mixed step of our own: what is tried must not vary between runs. */
static uint64_t next_random(uint64_t *state) {
  *state =
      *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  uint64_t x = *state;
  x ^= x >> 33;
  x *= UINT64_C(0xff51afd7ed558ccd);
  return x ^ (x >> 29);
}

/* Somewhere in [0, extent): anywhere, near 0, or near a multiple of a divisor,
 * where forms bend. */
static int64_t draw(const rlo__quasi_space *space,
                    int64_t extent,
                    uint64_t *state) {
  uint64_t kind = next_random(state) % 4;
  int64_t value = (int64_t)(next_random(state) % (uint64_t)extent);
  if (kind == 0) {
    value %= 64;
  } else if (kind >= 2 && space->num_atoms > 0) {
    uint64_t a = next_random(state) % (uint64_t)space->num_atoms;
    value -= value % space->atoms[a].divisor;
    value += (int64_t)(next_random(state) % 3) - 1;
  }
  return value < 0 || value >= extent ? 0 : value;
}

static bool is_zero_at_samples(evaluator *e,
                               const rlo__quasi *form,
                               uint64_t vars) {
  uint64_t state = 1;
  for (int64_t n = 0; n < most_samples; ++n) {
    for (int32_t v = 0; v < e->space->num_vars; ++v) {
      if ((vars >> v & 1) != 0) {
        e->vars[v] = draw(e->space, e->space->extents[v], &state);
      }
    }
    if (evaluate(e, form) != 0) {
      return false;
    }
  }
  return true;
}

static bool is_zero_in_box(evaluator *e,
                           const rlo__quasi *form,
                           const int64_t *extents) {
  for (;;) {
    if (evaluate(e, form) != 0) {
      return false;
    }
    int32_t v = 0;
    while (v < e->space->num_vars && ++e->vars[v] >= extents[v]) {
      e->vars[v++] = 0;
    }
    if (v == e->space->num_vars) {
      return true;
    }
  }
}

/*
 * A part of the form that has the value 0 at 0, over the variables `vars`. A
 * form that repeats along a variable is 0 there if it is 0 over one period and
 * does not rise from one to the next.
 */
static rlo_status part_is_zero(evaluator *e,
                               const rlo__quasi *form,
                               uint64_t vars,
                               bool *out_is_zero) {
  const rlo__quasi_space *space = e->space;
  int64_t extents[RLO_MAX_RANK] = {0};
  int64_t points = 1;
  bool fits = true;
  *out_is_zero = false;
  for (int32_t v = 0; v < space->num_vars; ++v) {
    extents[v] = 1;
    e->vars[v] = 0;
    if ((vars >> v & 1) == 0) {
      continue;
    }
    period atoms[RLO__QUASI_MAX_ATOMS];
    period p = period_of(space, form, v, atoms);
    extents[v] = space->extents[v];
    if (p.step != 0 && p.step < extents[v]) {
      if (p.rise != 0) {
        return RLO_OK;
      }
      extents[v] = p.step;
    }
    fits = fits && rlo__mul(points, extents[v], &points);
  }
  if (fits && points <= most_points) {
    *out_is_zero = is_zero_in_box(e, form, extents);
    return RLO_OK;
  }
  if (!is_zero_at_samples(e, form, vars)) {
    return RLO_OK;
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "the tiles of two layouts repeat together only after more "
                  "than %lld elements, so they cannot be compared",
                  (long long)most_points);
}

/* All variables that atoms of the form tie to those in `vars`. */
static uint64_t tied_vars(const rlo__quasi_space *space,
                          const rlo__quasi *form,
                          uint64_t vars) {
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (int32_t i = 0; i < form->count; ++i) {
      uint64_t more = vars_of(space, form->terms[i].symbol);
      if ((more & vars) != 0 && (more & ~vars) != 0) {
        vars |= more;
        has_grown = true;
      }
    }
  }
  return vars;
}

static rlo_status is_zero(evaluator *e,
                          const rlo__quasi *form,
                          bool *out_is_zero) {
  const rlo__quasi_space *space = e->space;
  uint64_t done = 0;
  *out_is_zero = false;
  for (int32_t i = 0; i < form->count; ++i) {
    uint64_t vars = vars_of(space, form->terms[i].symbol);
    if ((vars & done) != 0) {
      continue;
    }
    vars = tied_vars(space, form, vars);
    done |= vars;
    rlo__quasi part = part_of(space, form, vars);
    /* Atoms are 0 at 0: their bases lie within one divisor. */
    bool is_independent = true;
    for (int32_t t = 0; t < part.count; ++t) {
      is_independent = is_independent && is_plain(space, part.terms[t].symbol);
    }
    if (is_independent) {
      return RLO_OK; /* it has a term, so it is not 0 everywhere */
    }
    bool part_zero = false;
    RLO_TRY(part_is_zero(e, &part, vars, &part_zero));
    if (!part_zero) {
      return RLO_OK;
    }
  }
  *out_is_zero = true;
  return RLO_OK;
}

rlo_status rlo__quasi_is_zero(const rlo__quasi_space *space,
                              const rlo__quasi *form,
                              bool *out_is_zero) {
  /* Variables of one value are 0. */
  rlo__quasi live;
  memset(&live, 0, sizeof live);
  live.base = form->base;
  for (int32_t i = 0; i < form->count; ++i) {
    int32_t symbol = form->terms[i].symbol;
    if (symbol >= RLO__QUASI_ATOM || space->extents[symbol] > 1) {
      live.terms[live.count++] = form->terms[i];
    }
  }
  *out_is_zero = false;
  if (live.base != 0) {
    return RLO_OK; /* it is not 0 at 0 */
  }
  evaluator *e = rlo__alloc(sizeof *e);
  if (e == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  e->space = space;
  rlo_status status = is_zero(e, &live, out_is_zero);
  rlo__free(e);
  return status;
}
