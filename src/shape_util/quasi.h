/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHAPE_UTIL_QUASI_H
#define RLO_SHAPE_UTIL_QUASI_H

#include "desc/address.h"

/**
 * Address maps as symbols, so that two of them can be compared for every index
 * at once.
 *
 * A quasi-linear form is  base + sum(coef * symbol)  over a box of variables
 * x_v in [0, extent_v). A symbol is a variable or an atom floor(form / divisor)
 * of earlier symbols. Quotients are simplified as they are made: what the
 * divisor divides is pulled out, what stays within one block becomes constant,
 * floor(floor(a/b)/c) becomes floor(a/bc), and equal atoms are one atom. Steps
 * of an address map that say nothing (a tile that the strides continue, one
 * larger than its dimension) therefore leave no trace, and maps that agree
 * differ by the form 0.
 */
enum {
  RLO__QUASI_MAX_TERMS = 64,
  RLO__QUASI_MAX_ATOMS = 128,
  /** Symbol of atom a is RLO__QUASI_ATOM + a; below are the variables. */
  RLO__QUASI_ATOM = RLO_MAX_RANK
};

typedef struct rlo__quasi_term {
  int32_t symbol;
  int64_t coef;
} rlo__quasi_term;

/** Terms in rising order of symbols, none with coefficient 0. */
typedef struct rlo__quasi {
  int64_t base;
  int32_t count;
  rlo__quasi_term terms[RLO__QUASI_MAX_TERMS];
} rlo__quasi;

typedef struct rlo__quasi_atom {
  rlo__quasi form;
  int64_t divisor;
  /** Bounds of its values; INT64_MIN and INT64_MAX where none is known. */
  int64_t min, max;
} rlo__quasi_atom;

/** About 130 KiB: not for the stack. All zero is a space of no variables. */
typedef struct rlo__quasi_space {
  int32_t num_vars;
  int32_t num_atoms;
  int64_t extents[RLO_MAX_RANK];
  rlo__quasi_atom atoms[RLO__QUASI_MAX_ATOMS];
} rlo__quasi_space;

/** The form of one variable. */
rlo__quasi rlo__quasi_var(int32_t var);

/** *form += factor * other. RLO_OVERFLOW; RLO_UNSUPPORTED beyond
 *  RLO__QUASI_MAX_TERMS; *form is undefined then. */
RLO_NODISCARD rlo_status rlo__quasi_add(rlo__quasi *form,
                                        int64_t factor,
                                        const rlo__quasi *other);

/** *out = floor(form / divisor), divisor >= 1; may not alias.
 *  RLO_OVERFLOW; RLO_UNSUPPORTED beyond RLO__QUASI_MAX_ATOMS. */
RLO_NODISCARD rlo_status rlo__quasi_floor_div(rlo__quasi_space *space,
                                              const rlo__quasi *form,
                                              int64_t divisor,
                                              rlo__quasi *out);

/** The slot of an index given as address->rank forms. Errors as above;
 *  RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__quasi_slot(rlo__quasi_space *space,
                                         const rlo_address_map *address,
                                         const rlo__quasi *index,
                                         rlo__quasi *out_slot);

/**
 * Whether a form is 0 at every point of the space, whose extents are >= 1.
 *
 * Decided without looking at points where the form has only variables and
 * atoms floor(x_v / d), which are linearly independent: every layout whose
 * radices divide one another. Else each group of variables that atoms tie
 * together is tried over one period of the form.
 * @return RLO_OK; RLO_UNSUPPORTED if a period has more than a million points
 *         and none of those tried was other than 0.
 */
RLO_NODISCARD rlo_status rlo__quasi_is_zero(const rlo__quasi_space *space,
                                            const rlo__quasi *form,
                                            bool *out_is_zero);

/** True if the form has no atoms: it is linear in the variables. */
bool rlo__quasi_is_linear(const rlo__quasi *form);

/** The coefficient of a symbol, 0 if it is not there. */
int64_t rlo__quasi_coef(const rlo__quasi *form, int32_t symbol);

#endif
