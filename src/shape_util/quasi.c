/* SPDX-License-Identifier: Apache-2.0 */
#include "shape_util/quasi.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

static rlo_status overflow(void) {
  return RLO_FAIL(RLO_OVERFLOW,
                  "a coefficient of the address maps leaves 64 bits");
}

rlo__quasi rlo__quasi_var(int32_t var) {
  rlo__quasi form;
  memset(&form, 0, sizeof form);
  form.count = 1;
  form.terms[0] = (rlo__quasi_term){var, 1};
  return form;
}

bool rlo__quasi_is_linear(const rlo__quasi *form) {
  return form->count == 0 ||
         form->terms[form->count - 1].symbol < RLO__QUASI_ATOM;
}

int64_t rlo__quasi_coef(const rlo__quasi *form, int32_t symbol) {
  for (int32_t i = 0; i < form->count; ++i) {
    if (form->terms[i].symbol == symbol) {
      return form->terms[i].coef;
    }
  }
  return 0;
}

static rlo_status add_term(rlo__quasi *form, int32_t symbol, int64_t coef) {
  int32_t at = 0;
  while (at < form->count && form->terms[at].symbol < symbol) {
    ++at;
  }
  size_t behind = (size_t)(form->count - at) * sizeof form->terms[0];
  if (at < form->count && form->terms[at].symbol == symbol) {
    if (!rlo__add(form->terms[at].coef, coef, &form->terms[at].coef)) {
      return overflow();
    }
    if (form->terms[at].coef == 0) {
      memmove(form->terms + at,
              form->terms + at + 1,
              behind - sizeof form->terms[0]);
      --form->count;
    }
    return RLO_OK;
  }
  if (coef == 0) {
    return RLO_OK;
  }
  if (form->count == RLO__QUASI_MAX_TERMS) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the address maps need forms of more than %d terms",
                    RLO__QUASI_MAX_TERMS);
  }
  memmove(form->terms + at + 1, form->terms + at, behind);
  form->terms[at] = (rlo__quasi_term){symbol, coef};
  ++form->count;
  return RLO_OK;
}

rlo_status rlo__quasi_add(rlo__quasi *form,
                          int64_t factor,
                          const rlo__quasi *other) {
  if (!rlo__mul_add(form->base, factor, other->base, &form->base)) {
    return overflow();
  }
  for (int32_t i = 0; i < other->count; ++i) {
    int64_t coef;
    if (!rlo__mul(factor, other->terms[i].coef, &coef)) {
      return overflow();
    }
    RLO_TRY(add_term(form, other->terms[i].symbol, coef));
  }
  return RLO_OK;
}

static bool form_equal(const rlo__quasi *a, const rlo__quasi *b) {
  if (a->base != b->base || a->count != b->count) {
    return false;
  }
  for (int32_t i = 0; i < a->count; ++i) {
    if (a->terms[i].symbol != b->terms[i].symbol ||
        a->terms[i].coef != b->terms[i].coef) {
      return false;
    }
  }
  return true;
}

static void symbol_range(const rlo__quasi_space *space,
                         int32_t symbol,
                         int64_t *min,
                         int64_t *max) {
  if (symbol < RLO__QUASI_ATOM) {
    *min = 0;
    *max = space->extents[symbol] - 1;
  } else {
    *min = space->atoms[symbol - RLO__QUASI_ATOM].min;
    *max = space->atoms[symbol - RLO__QUASI_ATOM].max;
  }
}

/* [*min, *max] += coef * [low, high]. */
static bool add_interval(
    int64_t coef, int64_t low, int64_t high, int64_t *min, int64_t *max) {
  int64_t least = coef < 0 ? high : low;
  int64_t most = coef < 0 ? low : high;
  return rlo__mul_add(*min, coef, least, min) &&
         rlo__mul_add(*max, coef, most, max);
}

static bool plain_range(const rlo__quasi_space *space,
                        const rlo__quasi *form,
                        int64_t *min,
                        int64_t *max) {
  *min = *max = form->base;
  for (int32_t i = 0; i < form->count; ++i) {
    int64_t low;
    int64_t high;
    symbol_range(space, form->terms[i].symbol, &low, &high);
    if (!add_interval(form->terms[i].coef, low, high, min, max)) {
      return false;
    }
  }
  return true;
}

/* The m for which one symbol is floor(other / m), as rlo__quasi_floor_div makes
 * such symbols; 0 if there is none. */
static int64_t quotient_of(const rlo__quasi_space *space,
                           int32_t symbol,
                           int32_t other) {
  if (symbol < RLO__QUASI_ATOM || symbol <= other) {
    return 0;
  }
  const rlo__quasi_atom *atom = &space->atoms[symbol - RLO__QUASI_ATOM];
  if (other < RLO__QUASI_ATOM) {
    bool is_plain = atom->form.base == 0 && atom->form.count == 1 &&
                    atom->form.terms[0].symbol == other &&
                    atom->form.terms[0].coef == 1;
    return is_plain ? atom->divisor : 0;
  }
  const rlo__quasi_atom *inner = &space->atoms[other - RLO__QUASI_ATOM];
  bool is_coarser = atom->divisor % inner->divisor == 0 &&
                    form_equal(&inner->form, &atom->form);
  return is_coarser ? atom->divisor / inner->divisor : 0;
}

/*
 * Take a digit out of a form. With q = floor(s / m),
 *
 *   c * s + k * q  =  c * (s - m * q) + (k + c * m) * q
 *
 * and s - m*q lies in [0, m-1]: tighter than s and q apart if c and k have
 * different signs. False if the form has no such pair.
 */
static bool take_digit(const rlo__quasi_space *space,
                       rlo__quasi *form,
                       int64_t *min,
                       int64_t *max) {
  for (int32_t i = 0; i < form->count; ++i) {
    const rlo__quasi_term whole = form->terms[i];
    int32_t nearest = -1;
    int64_t m = 0;
    for (int32_t j = 0; j < form->count; ++j) {
      int64_t ratio = quotient_of(space, form->terms[j].symbol, whole.symbol);
      if (ratio >= 2 && (nearest < 0 || ratio < m) &&
          (form->terms[j].coef < 0) != (whole.coef < 0)) {
        nearest = form->terms[j].symbol;
        m = ratio;
      }
    }
    int64_t rise;
    if (nearest < 0 || !rlo__mul(whole.coef, m, &rise)) {
      continue;
    }
    int64_t low;
    int64_t high;
    symbol_range(space, whole.symbol, &low, &high);
    int64_t most = low >= 0 && high < m - 1 ? high : m - 1;
    return add_interval(whole.coef, 0, most, min, max) &&
           add_term(form, whole.symbol, -whole.coef) == RLO_OK &&
           add_term(form, nearest, rise) == RLO_OK;
  }
  return false;
}

/* Take a remainder out of a form: c * (f - d * floor(f / d)), in c * [0, d-1].
 * False if term `at` is part of none. */
static bool take_remainder(const rlo__quasi_space *space,
                           rlo__quasi *form,
                           int32_t at,
                           int64_t *min,
                           int64_t *max) {
  const rlo__quasi_term quotient = form->terms[at];
  if (quotient.symbol < RLO__QUASI_ATOM) {
    return false;
  }
  const rlo__quasi_atom *atom =
      &space->atoms[quotient.symbol - RLO__QUASI_ATOM];
  if (quotient.coef % atom->divisor != 0) {
    return false;
  }
  int64_t c = -(quotient.coef / atom->divisor);
  for (int32_t i = 0; i < atom->form.count; ++i) {
    int64_t coef;
    if (!rlo__mul(c, atom->form.terms[i].coef, &coef) ||
        rlo__quasi_coef(form, atom->form.terms[i].symbol) != coef) {
      return false;
    }
  }
  rlo__quasi terms = atom->form;
  terms.base = 0;
  return add_interval(c,
                      -atom->form.base,
                      atom->divisor - 1 - atom->form.base,
                      min,
                      max) &&
         rlo__quasi_add(form, -c, &terms) == RLO_OK &&
         add_term(form, quotient.symbol, -quotient.coef) == RLO_OK;
}

/* Take out of a form what has bounds of its own. True if there was something;
 * min and max are those of all that was taken. */
static bool take_parts(const rlo__quasi_space *space,
                       rlo__quasi *form,
                       int64_t *min,
                       int64_t *max) {
  bool has_taken = false;
  *min = *max = 0;
  for (int32_t at = form->count - 1; at >= 0; --at) {
    rlo__quasi rest = *form;
    int64_t least = *min;
    int64_t most = *max;
    if (take_remainder(space, &rest, at, &least, &most)) {
      *form = rest;
      *min = least;
      *max = most;
      has_taken = true;
      at = rest.count;
    }
  }
  for (;;) {
    rlo__quasi rest = *form;
    int64_t least = *min;
    int64_t most = *max;
    if (!take_digit(space, &rest, &least, &most)) {
      return has_taken;
    }
    *form = rest;
    *min = least;
    *max = most;
    has_taken = true;
  }
}

/* Bounds of a form; those of int64 where its parts do not fit. Its values do:
 * they are coordinates and slots. */
static void range(const rlo__quasi_space *space,
                  const rlo__quasi *form,
                  int64_t *out_min,
                  int64_t *out_max) {
  if (!plain_range(space, form, out_min, out_max)) {
    *out_min = INT64_MIN;
    *out_max = INT64_MAX;
  }
  if (rlo__quasi_is_linear(form)) {
    return;
  }
  rlo__quasi rest = *form;
  int64_t min;
  int64_t max;
  int64_t low;
  int64_t high;
  if (take_parts(space, &rest, &min, &max) &&
      plain_range(space, &rest, &low, &high) && rlo__add(min, low, &min) &&
      rlo__add(max, high, &max)) {
    *out_min = min > *out_min ? min : *out_min;
    *out_max = max < *out_max ? max : *out_max;
  }
}

/* The atom floor(form / divisor), old or new. */
static rlo_status intern(rlo__quasi_space *space,
                         const rlo__quasi *form,
                         int64_t divisor,
                         int32_t *out_symbol) {
  for (int32_t a = 0; a < space->num_atoms; ++a) {
    if (space->atoms[a].divisor == divisor &&
        form_equal(&space->atoms[a].form, form)) {
      *out_symbol = RLO__QUASI_ATOM + a;
      return RLO_OK;
    }
  }
  if (space->num_atoms == RLO__QUASI_MAX_ATOMS) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the address maps need more than %d quotients",
                    RLO__QUASI_MAX_ATOMS);
  }
  rlo__quasi_atom *atom = &space->atoms[space->num_atoms];
  atom->form = *form;
  atom->divisor = divisor;
  range(space, form, &atom->min, &atom->max);
  atom->min = rlo__floor_div(atom->min, divisor);
  atom->max = rlo__floor_div(atom->max, divisor);
  *out_symbol = RLO__QUASI_ATOM + space->num_atoms++;
  return RLO_OK;
}

/* form = g * high + low, the terms that g divides in high. */
static rlo_status part_at(const rlo__quasi *form,
                          int64_t g,
                          rlo__quasi *high,
                          rlo__quasi *low) {
  memset(high, 0, sizeof *high);
  memset(low, 0, sizeof *low);
  high->base = rlo__floor_div(form->base, g);
  low->base = rlo__floor_mod(form->base, g);
  for (int32_t i = 0; i < form->count; ++i) {
    int64_t coef = form->terms[i].coef;
    RLO_TRY(coef % g == 0 ? add_term(high, form->terms[i].symbol, coef / g)
                          : add_term(low, form->terms[i].symbol, coef));
  }
  return RLO_OK;
}

/* The block of `size` that a form never leaves. False if it leaves it. */
static bool stays_in_block(const rlo__quasi_space *space,
                           const rlo__quasi *form,
                           int64_t size,
                           int64_t *out_block) {
  int64_t min;
  int64_t max;
  range(space, form, &min, &max);
  *out_block = rlo__floor_div(min, size);
  return *out_block == rlo__floor_div(max, size);
}

/* floor((g*u + w) / (g*d)) = floor(u / d) if w stays within [0, g). */
static rlo_status cancel_factor(const rlo__quasi_space *space,
                                rlo__quasi *form,
                                int64_t *divisor,
                                bool *out_has_changed) {
  *out_has_changed = false;
  int64_t limit = INT64_MAX;
  for (int32_t tries = 0; tries < form->count; ++tries) {
    /* The largest factor below the last one tried. */
    int64_t g = 1;
    for (int32_t i = 0; i < form->count; ++i) {
      int64_t candidate = rlo__gcd(form->terms[i].coef, *divisor);
      if (candidate > g && candidate < limit) {
        g = candidate;
      }
    }
    if (g == 1) {
      return RLO_OK;
    }
    limit = g;
    rlo__quasi high;
    rlo__quasi low;
    int64_t block;
    RLO_TRY(part_at(form, g, &high, &low));
    if (stays_in_block(space, &low, g, &block)) {
      *form = high;
      *divisor /= g;
      *out_has_changed = true;
      return rlo__add(form->base, block, &form->base) ? RLO_OK : overflow();
    }
  }
  return RLO_OK;
}

/* floor((floor(a/b) + r) / c) = floor((a + b*r) / (b*c)). */
static bool absorb_quotient(const rlo__quasi_space *space,
                            rlo__quasi *form,
                            int64_t *divisor) {
  for (int32_t i = form->count - 1; i >= 0; --i) {
    if (form->terms[i].symbol < RLO__QUASI_ATOM || form->terms[i].coef != 1) {
      continue;
    }
    const rlo__quasi_atom *atom =
        &space->atoms[form->terms[i].symbol - RLO__QUASI_ATOM];
    rlo__quasi rest = *form;
    rlo__quasi whole = atom->form;
    int64_t product;
    if (add_term(&rest, form->terms[i].symbol, -1) == RLO_OK &&
        rlo__quasi_add(&whole, atom->divisor, &rest) == RLO_OK &&
        rlo__mul(atom->divisor, *divisor, &product)) {
      *form = whole;
      *divisor = product;
      return true;
    }
  }
  return false;
}

/* floor((q*d + r) * s / d) = q*s + floor(r*s / d): where all coefficients have
 * one sign, so that no digit of the form is lost. */
static rlo_status reduce_coefs(rlo__quasi *form,
                               int64_t divisor,
                               rlo__quasi *out,
                               bool *out_has_changed) {
  bool is_reduced = true;
  *out_has_changed = false;
  for (int32_t i = 0; i < form->count; ++i) {
    int64_t coef = form->terms[i].coef;
    is_reduced = is_reduced && coef >= 0 && coef < divisor;
    if ((coef < 0) != (form->terms[0].coef < 0)) {
      return RLO_OK;
    }
  }
  for (int32_t i = 0; !is_reduced && i < form->count; ++i) {
    rlo__quasi_term *term = &form->terms[i];
    RLO_TRY(add_term(out, term->symbol, rlo__floor_div(term->coef, divisor)));
    term->coef = rlo__floor_mod(term->coef, divisor);
  }
  *out_has_changed = !is_reduced;
  return RLO_OK;
}

/* Variables that are always 0. */
static rlo_status drop_constants(const rlo__quasi_space *space,
                                 rlo__quasi *form) {
  for (int32_t i = form->count - 1; i >= 0; --i) {
    int32_t symbol = form->terms[i].symbol;
    if (symbol < RLO__QUASI_ATOM && space->extents[symbol] == 1) {
      RLO_TRY(add_term(form, symbol, -form->terms[i].coef));
    }
  }
  return RLO_OK;
}

rlo_status rlo__quasi_floor_div(rlo__quasi_space *space,
                                const rlo__quasi *form,
                                int64_t divisor,
                                rlo__quasi *out) {
  rlo__quasi rest = *form;
  memset(out, 0, sizeof *out);
  RLO_TRY(drop_constants(space, &rest));
  for (;;) {
    rlo__quasi high;
    rlo__quasi low;
    int64_t block;
    bool has_changed;
    RLO_TRY(part_at(&rest, divisor, &high, &low));
    RLO_TRY(rlo__quasi_add(out, 1, &high));
    rest = low;
    if (stays_in_block(space, &rest, divisor, &block)) {
      return rlo__add(out->base, block, &out->base) ? RLO_OK : overflow();
    }
    RLO_TRY(cancel_factor(space, &rest, &divisor, &has_changed));
    if (!has_changed) {
      RLO_TRY(reduce_coefs(&rest, divisor, out, &has_changed));
    }
    if (!has_changed && !absorb_quotient(space, &rest, &divisor)) {
      break;
    }
  }
  int32_t symbol = 0;
  RLO_TRY(intern(space, &rest, divisor, &symbol));
  return add_term(out, symbol, 1);
}

static rlo_status run_step(rlo__quasi_space *space,
                           const rlo_step *step,
                           rlo__quasi *values) {
  if (step->kind == RLO_STEP_SPLIT) {
    rlo__quasi *low = &values[step->low];
    RLO_TRY(rlo__quasi_floor_div(
        space, &values[step->whole], step->radix, &values[step->high]));
    *low = values[step->whole];
    return rlo__quasi_add(low, -step->radix, &values[step->high]);
  }
  values[step->whole] = values[step->low];
  return rlo__quasi_add(&values[step->whole], step->radix, &values[step->high]);
}

rlo_status rlo__quasi_slot(rlo__quasi_space *space,
                           const rlo_address_map *address,
                           const rlo__quasi *index,
                           rlo__quasi *out_slot) {
  rlo__quasi *values =
      rlo__alloc_array((size_t)address->num_vars + 1, sizeof *values);
  if (values == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  if (address->rank > 0) {
    memcpy(values, index, (size_t)address->rank * sizeof *values);
  }
  rlo_status status = RLO_OK;
  for (int32_t s = 0; s < address->num_steps; ++s) {
    RLO_TRY_GOTO(run_step(space, &address->steps[s], values));
  }
  memset(out_slot, 0, sizeof *out_slot);
  out_slot->base = address->offset;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    RLO_TRY_GOTO(rlo__quasi_add(
        out_slot, address->leaves[p].stride, &values[address->leaves[p].var]));
  }
fail:
  rlo__free(values);
  return status;
}
