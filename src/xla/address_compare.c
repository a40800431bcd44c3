/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/address_compare.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "desc/address.h"
#include "desc/dimension.h"
#include "ir/form.h"
#include "ir/lower.h"

/* The size of a sample of a period that is not compared completely. */
enum { NUM_SAMPLES = 20000 };

/* How a form repeats along an axis: f(x + step) = f(x) + rise. step is 0 if it
 * does not fit in 64 bits. */
typedef struct period {
  int64_t step, rise;
} period;

/* Too large for a small stack. */
typedef struct workspace {
  const rlo__unit_order *a, *b;
  /* The box is the units; the source form is the difference of both positions;
   * destination and guards are empty. */
  rlo_problem problem;
  int64_t num_units;
  /* The index of a unit, as a form over the axes. */
  rlo_form unit;
  rlo_form index[RLO_MAX_RANK];
  /* The unit under comparison. */
  int64_t point[RLO_MAX_AXES];
} workspace;

static int32_t dim_at(const rlo__unit_order *units, int32_t place) {
  return units->order == NULL ? place : units->order[place];
}

/* Lists the numbers of units after which each coordinate changes, and the
 * number of all units, which they divide. Returns the length of the list. */
static int32_t list_boundaries(const rlo__unit_order *units, int64_t *list) {
  int32_t rank = units->address->rank;
  int64_t boundary = units->ratio;
  list[0] = boundary;
  for (int32_t n = 1; n <= rank; ++n) {
    /* Fits: the last product is the number of units. */
    boundary *= units->address->limits[dim_at(units, rank - n)];
    list[n] = boundary;
  }
  return rank + 1;
}

/* Makes one axis from each boundary to the next one that it divides, so that
 * coordinates of both arrays are linear where their boundaries allow it. */
static void make_box(workspace *w) {
  int64_t list[2 * (RLO_MAX_RANK + 1)];
  int32_t count = list_boundaries(w->a, list);
  count += list_boundaries(w->b, list + count);
  w->num_units = list[count - 1];
  for (int64_t last = 1; last < w->num_units;) {
    bool has_room = w->problem.num_axes + 1 < RLO_MAX_AXES;
    int64_t next = w->num_units;
    for (int32_t i = 0; has_room && i < count; ++i) {
      next = list[i] > last && list[i] < next && list[i] % last == 0 ? list[i] : next;
    }
    w->unit.axis[w->problem.num_axes] = last;
    w->problem.extents[w->problem.num_axes++] = next / last;
    last = next;
  }
}

static rlo_status fail_overflow(void) {
  return rlo__fail_overflow("a position of the compared layouts");
}

/* *quotient = floor(form / divisor); *form becomes the remainder. */
static rlo_status divide(workspace *w, int64_t divisor, rlo_form *form, rlo_form *quotient) {
  RLO_TRY(rlo__lower_quotient(&w->problem, form, divisor, quotient));
  return rlo__form_add(form, -divisor, quotient) ? RLO_OK : fail_overflow();
}

/* Adds the position of a unit, times `sign`, to the source form. */
static rlo_status add_position(const rlo__unit_order *units, int64_t sign, workspace *w) {
  const rlo_address_map *address = units->address;
  rlo_form part = w->unit;
  rlo_form rest = w->unit;
  RLO_TRY(divide(w, units->ratio, &part, &rest));
  for (int32_t place = address->rank - 1; place >= 0; --place) {
    int32_t k = dim_at(units, place);
    rlo_form high;
    RLO_TRY(divide(w, address->limits[k], &rest, &high));
    w->index[k] = rest;
    rest = high;
  }
  rlo_form slot;
  RLO_TRY(rlo__lower_position(address, w->index, &w->problem, &slot));
  return rlo__form_add(&w->problem.src, sign, &part) &&
                 rlo__form_add(&w->problem.src, sign * units->ratio, &slot)
             ? RLO_OK
             : fail_overflow();
}

/* The position of one unit. */
static int64_t position_of(const rlo__unit_order *units, int64_t unit) {
  int64_t index[RLO_MAX_RANK];
  int64_t rest = unit / units->ratio;
  for (int32_t place = units->address->rank - 1; place >= 0; --place) {
    int32_t k = dim_at(units, place);
    index[k] = rest % units->address->limits[k];
    rest /= units->address->limits[k];
  }
  return rlo__address_slot(units->address, index) * units->ratio + unit % units->ratio;
}

/* Returns whether the unit at w->point has the same position in both arrays. */
static bool agrees_here(const workspace *w) {
  int64_t unit = 0;
  for (int32_t a = 0; a < w->problem.num_axes; ++a) {
    unit += w->unit.axis[a] * w->point[a];
  }
  return position_of(w->a, unit) == position_of(w->b, unit);
}

/* The period of a form along an axis, from those of the terms. */
static period period_of_form(const workspace *w, const rlo_form *form, int32_t axis,
                             const period *terms) {
  period whole = {1, form->axis[axis]};
  for (int32_t t = 0; t < w->problem.num_terms; ++t) {
    int64_t rise = 0;
    int64_t more = 0;
    if (form->term[t] == 0) {
      continue;
    }
    if (terms[t].step == 0) {
      return terms[t];
    }
    int64_t factor = terms[t].step / rlo__gcd(whole.step, terms[t].step);
    int64_t step;
    if (!rlo__mul(whole.step, factor, &step) || !rlo__mul(whole.rise, factor, &rise) ||
        !rlo__mul(form->term[t], terms[t].rise, &more) ||
        !rlo__mul_add(rise, more, step / terms[t].step, &rise)) {
      return (period){0, 0};
    }
    whole = (period){step, rise};
  }
  return whole;
}

static period period_of(const workspace *w, int32_t axis) {
  period terms[RLO_MAX_TERMS] = {{0, 0}};
  bool has_terms = rlo__form_has_terms(&w->problem, &w->problem.src);
  for (int32_t t = 0; has_terms && t < w->problem.num_terms; ++t) {
    const rlo_term *term = &w->problem.terms[t];
    period p = period_of_form(w, &term->form, axis, terms);
    int64_t gcd = p.rise == INT64_MIN ? 1 : rlo__gcd(p.rise, term->divisor);
    if (gcd != 0 && rlo__mul(p.step, term->divisor / gcd, &p.step)) {
      p.rise /= gcd;
    } else {
      p.step = 0;
    }
    terms[t] = p;
  }
  return period_of_form(w, &w->problem.src, axis, terms);
}

/* Steps of the golden section leave no large part of the units out. */
static bool agrees_at_samples(const workspace *w) {
  uint64_t num_units = (uint64_t)w->num_units;
  uint64_t step = num_units / 1000 * 618 + 1;
  uint64_t unit = 0;
  for (int32_t n = 0; n < NUM_SAMPLES; ++n) {
    unit = (unit + step) % num_units;
    if (position_of(w->a, (int64_t)unit) != position_of(w->b, (int64_t)unit)) {
      return false;
    }
  }
  return true;
}

static bool agrees_in_box(workspace *w, const int64_t *extents) {
  for (;;) {
    if (!agrees_here(w)) {
      return false;
    }
    int32_t a = 0;
    while (a < w->problem.num_axes && ++w->point[a] >= extents[a]) {
      w->point[a++] = 0;
    }
    if (a == w->problem.num_axes) {
      return true;
    }
  }
}

/* Lists one period of each axis, or all of an axis that has none within it.
 * False if the maps diverge from one period to the next. */
static bool list_periods(const workspace *w, bool is_lowered, int64_t *out_extents) {
  for (int32_t a = 0; a < w->problem.num_axes; ++a) {
    period p = is_lowered ? period_of(w, a) : (period){0, 0};
    out_extents[a] = w->problem.extents[a];
    if (p.step != 0 && p.step < out_extents[a]) {
      out_extents[a] = p.step;
      if (p.rise != 0) {
        return false;
      }
    }
  }
  return true;
}

/* The maps agree everywhere if they agree over one period of each axis and do
 * not diverge from one period to the next. */
static rlo_status compare(workspace *w, bool *out_agree) {
  int64_t extents[RLO_MAX_AXES];
  int64_t points = 0;
  *out_agree = false;
  make_box(w);
  if (!agrees_here(w)) {
    return RLO_OK;
  }
  rlo_status status = add_position(w->a, 1, w);
  status = status == RLO_OK ? add_position(w->b, -1, w) : status;
  if (status != RLO_OK && status != RLO_UNSUPPORTED) {
    return status;
  }
  if (!list_periods(w, status == RLO_OK, extents)) {
    return RLO_OK;
  }
  if (rlo__dims_product(extents, w->problem.num_axes, &points) &&
      points <= rlo__thresholds.shape_compared_points) {
    *out_agree = agrees_in_box(w, extents);
    return RLO_OK;
  }
  if (!agrees_at_samples(w)) {
    return RLO_OK;
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "the tiles of two layouts repeat together only after more than %lld elements, so "
                  "they cannot be compared",
                  (long long)rlo__thresholds.shape_compared_points);
}

rlo_status rlo__address_maps_agree(const rlo__unit_order *a, const rlo__unit_order *b,
                                   bool *out_agree) {
  workspace *w = rlo__alloc(sizeof *w);
  RLO_TRY_MEMORY(w);
  w->a = a;
  w->b = b;
  rlo_status status = compare(w, out_agree);
  rlo__free(w);
  return status;
}
