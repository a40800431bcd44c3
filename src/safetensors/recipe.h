/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SAFETENSORS_RECIPE_H
#define RLO_SAFETENSORS_RECIPE_H

#include <jansson.h>

#include "relayout/recipe.h"

/** A pattern, or the name of a result. */
typedef struct rlo__pattern {
  /** Borrowed from the JSON. */
  const char *text;
  int32_t num_stars;
  /** How many texts its group has; 1: it has none. */
  int32_t num_texts;
} rlo__pattern;

typedef struct rlo__rule {
  /** Rules count from 1; 0: the rest. */
  int32_t number;
  /** "rule 1", "the rest": for sentences. */
  char label[24];
  rlo__pattern from;
  /** The same as `from` without "to". */
  rlo__pattern to;
  /** The list of operations, borrowed; NULL: none. */
  const json_t *ops;
  /** "[perm 1,0 -> *.w]": what its results say of it; "": nothing, their types and layouts
   *  do. Owned. */
  char *made_by;
  /** Some of its operations move elements; the others cast and lay out. */
  bool is_moving;
  /** Borrowed from the JSON: of which its results are the part of a device; NULL: of none. */
  const char *sharding;
  int64_t device;
  /** It joins members by number. */
  bool is_collecting;
  /** It joins the members of so many texts. */
  int32_t num_joined;
  /** How many results a member is split into. */
  int32_t num_parts;
} rlo__rule;

struct rlo_recipe {
  json_t *root;
  /** One more than num_rules: the last one is for the rest. */
  rlo__rule *rules;
  int32_t num_rules;
  /** Borrowed, or static: "refuse", "drop"; "copy", where the last rule has operations, too. */
  const char *rest;
};

/** Returns whether a rule has a "to". */
static inline bool rlo__rule_has_to(const rlo__rule *rule) {
  return rule->to.text != rule->from.text;
}

/** Reads the operations of a rule, whose names are read: checks them, and writes made_by.
 *  The message on failure is a part of a sentence. */
RLO_NODISCARD rlo_status rlo__rule_read_ops(rlo__rule *rule);

/** Makes the shape of a result, or of a box of it, and its problems.
 *  @param begin, end  the box; NULL: all of it. */
RLO_NODISCARD rlo_status rlo__result_lower(const rlo__rule *rule, const rlo_recipe_result *result,
                                           const rlo_recipe_member *members, const int64_t *begin,
                                           const int64_t *end, rlo_shape *out_shape,
                                           rlo_problem_list **out_problems);

#endif
