/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SAFETENSORS_RECIPE_H
#define RLO_SAFETENSORS_RECIPE_H

#include "base/str.h"
#include "relayout/recipe.h"

/* -------------------------------------------------------------------- names */

/** The stars and groups of a pattern, or of the name of a result. */
typedef struct rlo__pattern {
  /** Owned. */
  char *text;
  int32_t num_stars;
  int32_t num_groups;
  /** The number of texts of each group, and of all choices among them. */
  int32_t sizes[RLO_RECIPE_MAX_MARKS];
  int32_t num_choices;
} rlo__pattern;

/** What the stars of a pattern stand for in a name. */
typedef struct rlo__match {
  const char *begin[RLO_RECIPE_MAX_MARKS];
  size_t length[RLO_RECIPE_MAX_MARKS];
} rlo__match;

/** Reads a pattern. The message on failure is a part of a sentence. */
RLO_NODISCARD rlo_status rlo__pattern_parse(const char *text, rlo__pattern *out_pattern);

/** Compares a name with a text with stars. Each star takes as little as possible. */
bool rlo__match_name(const char *stars, const char *name, rlo__match *out_match);

/** Writes a name: one choice of the texts of the groups, and what its stars stand for in
 *  their order; NULL leaves the stars. */
void rlo__pattern_write(const rlo__pattern *pattern, int32_t choice, const rlo__match *match,
                        rlo__str *out);

/* --------------------------------------------------------------- operations */

typedef enum rlo__recipe_op_kind {
  RLO__RECIPE_PERM,
  RLO__RECIPE_RESHAPE,
  RLO__RECIPE_CONCAT,
  RLO__RECIPE_STACK,
  RLO__RECIPE_SPLIT,
  RLO__RECIPE_SLICE,
  RLO__RECIPE_PAD,
  RLO__RECIPE_CAST,
  RLO__RECIPE_LAYOUT
} rlo__recipe_op_kind;

typedef struct rlo__recipe_op {
  /** Owned: the operation as it is written. */
  char *text;
  /** What stands behind its name; inside of text. */
  const char *arguments;
  rlo__recipe_op_kind kind;
  /** The numbers of its arguments, owned: three for each dimension of a slice, two for
   *  each of a pad. */
  int64_t *numbers;
  int32_t count;
  /** The dimension of a join and of a split. */
  int32_t dim;
  rlo_dtype dtype;
} rlo__recipe_op;

/** Reads an operation. The message on failure is a part of a sentence; the operation
 *  is to be freed in any case. */
RLO_NODISCARD rlo_status rlo__recipe_op_parse(const char *text, rlo__recipe_op *out_op);

void rlo__recipe_op_deinit(rlo__recipe_op *op);

/* -------------------------------------------------------------------- rules */

typedef struct rlo__rule {
  int32_t number;
  rlo__pattern from;
  /** The name of the results; that of the member if its text is NULL. */
  rlo__pattern to;
  rlo__recipe_op *ops;
  int32_t num_ops;
  /** What it joins: members by number, the texts of groups. */
  bool is_collecting;
  bool is_grouping;
  /** How many results a member is split into; 1: it is not. */
  int32_t num_parts;
} rlo__rule;

typedef enum rlo__rest { RLO__REST_COPY, RLO__REST_REFUSE, RLO__REST_DROP } rlo__rest;

struct rlo_recipe {
  rlo__rule *rules;
  int32_t num_rules;
  rlo__rest rest;
};

/** A result, and the part of a split that it is. */
typedef struct rlo__result {
  rlo_recipe_result public_part;
  int32_t part;
} rlo__result;

/** Makes the shape of a result and its problems. @param rule  NULL: it is a copy. */
RLO_NODISCARD rlo_status rlo__result_lower(const rlo__rule *rule, const rlo__result *result,
                                           const rlo_recipe_member *members, rlo_shape *out_shape,
                                           rlo_problem_list **out_problems);

#endif
