/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes applied to members: which rule takes which, and what becomes of them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "safetensors/recipe.h"

/* A result, or one of the members that are joined to one. */
typedef struct piece {
  rlo_recipe_result made;
  /* Owned; made_by of a result that is no copy. */
  char *name, *made_by;
  const rlo__rule *rule;
  int64_t member;
  /* Among those that are joined: the text times 2^32, and the number. */
  int64_t place;
} piece;

struct rlo_recipe_results {
  const rlo_recipe *recipe;
  const rlo_recipe_member *members;
  int64_t num_members;
  /* The number of the rule that takes each member; 0: none; MADE: a rule has made it. */
  int32_t *taken;
  /* In the end these are the results. */
  piece *pieces;
  size_t count;
  size_t capacity;
  /* The members of all pieces, sorted by name and place. */
  int64_t *numbers;
  /* The shapes of results that are no copies. They have 5 kB, so that equal ones are one. Owned. */
  rlo__kept shapes;
};

enum { MADE = -1 };

/* ------------------------------------------------------------------- names */

/* The texts that the stars of a pattern stand for in a name. */
typedef struct matched {
  const char *begin[RLO_RECIPE_MAX_MARKS];
  size_t length[RLO_RECIPE_MAX_MARKS];
} matched;

/* Writes a name: a text of the group, and what its stars stand for in their order;
 * NULL leaves the stars. */
static void write_name(const rlo__pattern *pattern, int32_t text, const matched *match,
                       rlo__str *out) {
  int32_t star = 0;
  for (const char *at = pattern->text; *at != '\0'; ++at) {
    if (*at == '{') {
      for (int32_t n = text % pattern->num_texts; n > 0; --n) {
        at += 1 + strcspn(at + 1, ",");
      }
      rlo__str_append_bytes(out, at + 1, strcspn(at + 1, ",}"));
      at = strchr(at, '}');
    } else if (*at == '*' && match != NULL) {
      rlo__str_append_bytes(out, match->begin[star], match->length[star]);
      ++star;
    } else {
      rlo__str_append_char(out, *at);
    }
  }
}

/* Compares a name with a text with stars. Each star takes as little as possible. Only
 * the last star grows: if the text behind an earlier one is there, it is there first. */
static bool match_name(const char *stars, const char *name, matched *out) {
  const char *behind = NULL;
  int32_t star = -1;
  while (*name != '\0' || *stars != '\0') {
    if (*stars == '*') {
      out->begin[++star] = name;
      out->length[star] = 0;
      behind = ++stars;
    } else if (*name != '\0' && *stars == *name) {
      ++stars;
      ++name;
    } else if (star >= 0 && out->begin[star][out->length[star]] != '\0') {
      stars = behind;
      name = out->begin[star] + ++out->length[star];
    } else {
      return false;
    }
  }
  return true;
}

/* ------------------------------------------------------------------ pieces */

/* Tells if a rule has made a member: one with `to` has those that have its text, one
 * without those that it takes, too. */
static bool has_made(const rlo__rule *rule, const rlo_recipe_member *member) {
  return member->made_by != NULL && rule->made_by[0] != '\0' &&
         strstr(member->made_by, rule->made_by) != NULL;
}

/* Reads the number that the last star stands for. */
static rlo_status read_number(const rlo__rule *rule, const matched *match, const char *name,
                              int64_t *out_number) {
  const char *text = match->begin[rule->from.num_stars - 1];
  const size_t length = match->length[rule->from.num_stars - 1];
  *out_number = strtoll(text, NULL, 10);
  return length > 0 && length < 10 && strspn(text, "0123456789") == length
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "%s: the last star of '%s' joins numbers, and in '%s' it is '%.*s'",
                        rule->label, rule->from.text, name, (int)length, text);
}

/* Adds a part of what a rule makes of a member; without a match it is copied. */
static rlo_status add_piece(rlo_recipe_results *results, const rlo__rule *rule, int64_t member,
                            int32_t text, int32_t part, const matched *match) {
  const char *old_name = results->members[member].name;
  rlo__str name = rlo__str_growing();
  RLO_TRY(
      rlo__array_reserve(&results->pieces, sizeof(piece), results->count + 1, &results->capacity));
  piece *p = &results->pieces[results->count];
  *p = (piece){.rule = rule,
               .member = member,
               .made = {.rule = rule->number, .part = part, .is_copy = match == NULL}};
  if (match == NULL) {
    rlo__str_append(&name, old_name);
  } else {
    if (rule->is_collecting) {
      RLO_TRY(read_number(rule, match, old_name, &p->place));
    }
    p->place += rule->num_joined > 1 ? (int64_t)text << 32 : 0;
    write_name(&rule->to, rule->num_parts > 1 ? part : text, match, &name);
  }
  RLO_TRY(rlo__str_take(&name, &p->name));
  p->made.name = p->name;
  ++results->count;
  return RLO_OK;
}

/* A rule takes a member, if it has the name that `stars` says; *is_used then. */
static rlo_status take_member(rlo_recipe_results *results, const rlo__rule *rule, int64_t n,
                              int32_t text, const char *stars, bool *is_used) {
  const rlo_recipe_member *member = &results->members[n];
  int32_t *taken = &results->taken[n];
  matched match;
  *is_used |= rlo__rule_has_to(rule) && has_made(rule, member);
  if (*taken == MADE || (rule->number == 0 && *taken > 0) ||
      !match_name(stars, member->name, &match)) {
    return RLO_OK;
  }
  RLO_FAIL_IF(*taken > 0, RLO_ALREADY_EXISTS, "member '%s' is taken twice, by rule %d and by %s",
              member->name, *taken, rule->label);
  RLO_FAIL_IF(rule->number == 0 && strcmp(results->recipe->rest, "refuse") == 0,
              RLO_INVALID_ARGUMENT, "no rule takes member '%s', and the recipe refuses the rest",
              member->name);
  *is_used = true;
  *taken = rule->number;
  const bool is_copy =
      !rlo__rule_has_to(rule) && (json_array_size(rule->ops) == 0 || has_made(rule, member));
  for (int32_t part = 0; part < (is_copy ? 1 : rule->num_parts); ++part) {
    RLO_TRY(add_piece(results, rule, n, text, part, is_copy ? NULL : &match));
  }
  return RLO_OK;
}

static rlo_status take(rlo_recipe_results *results, const rlo__rule *rule) {
  rlo_status status = RLO_OK;
  bool is_used = rule->number == 0;
  rlo__str stars = rlo__str_growing();
  for (int32_t text = 0; text < rule->from.num_texts; ++text) {
    rlo__str_truncate(&stars, 0);
    write_name(&rule->from, text, NULL, &stars);
    status = status == RLO_OK ? rlo__str_status(&stars) : status;
    for (int64_t n = 0; n < results->num_members && status == RLO_OK; ++n) {
      status = take_member(results, rule, n, text, rlo__str_text(&stars), &is_used);
    }
  }
  rlo__str_deinit(&stars);
  return status != RLO_OK || is_used
             ? status
             : RLO_FAIL(RLO_NOT_FOUND, "%s takes no member: none of %lld matches '%s'", rule->label,
                        (long long)results->num_members, rule->from.text);
}

/* Copies what rules with `to` have made. */
static rlo_status take_made(rlo_recipe_results *results) {
  for (int64_t n = 0; n < results->num_members; ++n) {
    RLO_REQUIRE(results->members[n].name, results->members[n].shape);
    for (int32_t r = 0; r < results->recipe->num_rules && results->taken[n] == 0; ++r) {
      const rlo__rule *rule = &results->recipe->rules[r];
      if (rlo__rule_has_to(rule) && has_made(rule, &results->members[n])) {
        results->taken[n] = MADE;
        RLO_TRY(add_piece(results, rule, n, 0, 0, NULL));
      }
    }
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ results */

static int by_name(const void *a, const void *b) {
  const piece *x = a;
  const piece *y = b;
  const int order = strcmp(x->name, y->name);
  return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

static int by_first_member(const void *a, const void *b) {
  const piece *x = a;
  const piece *y = b;
  return x->member != y->member ? (x->member > y->member) - (x->member < y->member)
                                : (x->made.part > y->made.part) - (x->made.part < y->made.part);
}

/* Pieces of one name are of one rule: all texts of its group, and of each all numbers. */
static rlo_status check_pieces(const rlo_recipe_results *results, const piece *pieces,
                               int64_t count) {
  const rlo__rule *rule = pieces[0].rule;
  const int64_t texts = pieces[0].made.is_copy ? 1 : rule->num_joined;
  int64_t numbers = 1;
  for (int64_t n = 0; n < count; ++n) {
    numbers = rlo__max(numbers, (pieces[n].place & UINT32_MAX) + 1);
    RLO_FAIL_IF(n > 0 && (pieces[n].rule != rule || pieces[n].place == pieces[n - 1].place),
                RLO_ALREADY_EXISTS, "'%s' is made of '%s' by %s, and of '%s' by %s", pieces[n].name,
                results->members[pieces[n - 1].member].name, pieces[n - 1].rule->label,
                results->members[pieces[n].member].name, pieces[n].rule->label);
  }
  for (int64_t n = 0; n < texts * numbers; ++n) {
    RLO_FAIL_IF(n == count || pieces[n].place != (n / numbers << 32) + n % numbers, RLO_NOT_FOUND,
                "%s, result '%s': of '%s' text %lld of %lld, number %lld is missing", rule->label,
                pieces[0].name, rule->from.text, (long long)(n / numbers) + 1, (long long)texts,
                (long long)(n % numbers));
  }
  return RLO_OK;
}

/* Writes what has made a result: of what has made its first member, elements that are moved
 * anew and a new name each leave out what they take the place of. */
static rlo_status write_made_by(piece *p, const char *before) {
  static const char is_name[] = "[-> ";
  const rlo__rule *rule = p->rule;
  rlo__str text = rlo__str_growing();
  for (const char *at = before == NULL ? "" : before; *at != '\0';) {
    const char *end = strstr(at, "][");
    const size_t length = end == NULL ? strlen(at) : (size_t)(end - at) + 1;
    if (strncmp(at, is_name, strlen(is_name)) == 0 ? !rlo__rule_has_to(rule) : !rule->is_moving) {
      rlo__str_append_bytes(&text, at, length);
    }
    at += length;
  }
  rlo__str_append(&text, rule->made_by);
  RLO_TRY(rlo__str_take(&text, &p->made_by));
  p->made.made_by = p->made_by[0] == '\0' ? NULL : p->made_by;
  return RLO_OK;
}

/* Says of which sharding a result is a part. A part is not cut again as if it were whole. */
static rlo_status set_sharding(const rlo_recipe_results *results, piece *p) {
  const rlo__rule *rule = p->rule;
  for (int32_t n = 0; n < p->made.num_members && rule->sharding != NULL; ++n) {
    const rlo_recipe_member *member = &results->members[p->made.members[n]];
    RLO_FAIL_IF(member->sharding != NULL, RLO_INVALID_ARGUMENT,
                "%s: member '%s' is the part of a device already, of %s", rule->label, member->name,
                member->sharding);
  }
  p->made.sharding = rule->is_moving ? rule->sharding : p->made.sharding;
  return RLO_OK;
}

/* Makes a result of pieces that follow one another. */
static rlo_status make_result(rlo_recipe_results *results, size_t begin, size_t count) {
  piece *p = &results->pieces[begin];
  const rlo_recipe_member *member = &results->members[p->member];
  rlo_problem_list *problems = NULL;
  RLO_TRY(check_pieces(results, p, (int64_t)count));
  p->made.members = &results->numbers[begin];
  p->made.num_members = (int32_t)count;
  p->made.shape = member->shape;
  p->made.made_by = member->made_by;
  p->made.sharding = member->sharding;
  if (p->made.is_copy) {
    return RLO_OK;
  }
  rlo_shape shape;
  RLO_TRY(rlo__result_lower(p->rule, &p->made, results->members, NULL, NULL, &shape, &problems));
  rlo_problem_list_release(problems);
  p->made.is_copy = p->rule->made_by[0] == '\0' && rlo_shape_equal(&shape, member->shape);
  if (p->made.is_copy) {
    return RLO_OK;
  }
  RLO_TRY(set_sharding(results, p));
  RLO_TRY(write_made_by(p, member->made_by));
  p->made.shape = rlo__keep(&results->shapes, &shape, sizeof(shape));
  return p->made.shape != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

/* Makes results of all pieces, of which those that are none go. */
static rlo_status make_results(rlo_recipe_results *results) {
  const size_t count = results->count;
  piece *pieces = results->pieces;
  size_t begin = 0;
  results->numbers = rlo__alloc_array(count, sizeof(*results->numbers));
  RLO_TRY_MEMORY(results->numbers);
  qsort(pieces, count, sizeof(*pieces), by_name);
  for (size_t n = 0; n < count; ++n) {
    results->numbers[n] = pieces[n].member;
    if (n + 1 == count || strcmp(pieces[n].name, pieces[n + 1].name) != 0) {
      RLO_TRY(make_result(results, begin, n + 1 - begin));
      begin = n + 1;
    }
  }
  results->count = 0;
  for (size_t n = 0; n < count; ++n) {
    if (pieces[n].made.num_members > 0) {
      pieces[results->count++] = pieces[n];
    } else {
      rlo__free(pieces[n].name);
    }
  }
  qsort(pieces, results->count, sizeof(*pieces), by_first_member);
  return RLO_OK;
}

static rlo_status apply(rlo_recipe_results *results) {
  const rlo_recipe *recipe = results->recipe;
  const int32_t num_rules = recipe->num_rules + (strcmp(recipe->rest, "drop") != 0);
  results->taken = rlo__alloc_array((size_t)results->num_members + 1, sizeof(*results->taken));
  RLO_TRY_MEMORY(results->taken);
  RLO_TRY(take_made(results));
  for (int32_t n = 0; n < num_rules; ++n) {
    RLO_TRY(take(results, &recipe->rules[n]));
  }
  return results->count == 0 ? RLO_OK : make_results(results);
}

rlo_status rlo_recipe_apply(const rlo_recipe *recipe, const rlo_recipe_member *members,
                            int64_t count, rlo_recipe_results **out_results) {
  RLO_REQUIRE(recipe, out_results);
  *out_results = NULL;
  RLO_REQUIRE_LIST(members, count);
  RLO_FAIL_IF(count < 0, RLO_INVALID_ARGUMENT, "%lld members", (long long)count);
  rlo_recipe_results *results = rlo__alloc(sizeof(*results));
  RLO_TRY_MEMORY(results);
  *results = (rlo_recipe_results){.recipe = recipe, .members = members, .num_members = count};
  const rlo_status status = apply(results);
  if (status != RLO_OK) {
    rlo_recipe_results_release(results);
    return status;
  }
  *out_results = results;
  return RLO_OK;
}

void rlo_recipe_results_release(rlo_recipe_results *results) {
  for (size_t n = 0; results != NULL && n < results->count; ++n) {
    rlo__free(results->pieces[n].name);
    rlo__free(results->pieces[n].made_by);
  }
  if (results != NULL) {
    rlo__kept_free(&results->shapes);
    rlo__free(results->pieces);
    rlo__free(results->numbers);
    rlo__free(results->taken);
    rlo__free(results);
  }
}

int64_t rlo_recipe_results_count(const rlo_recipe_results *results) {
  return results == NULL ? 0 : (int64_t)results->count;
}

const rlo_recipe_result *rlo_recipe_results_get(const rlo_recipe_results *results, int64_t n) {
  return n < 0 || n >= rlo_recipe_results_count(results) ? NULL : &results->pieces[n].made;
}

rlo_status rlo_recipe_results_lower(const rlo_recipe_results *results, int64_t n,
                                    const int64_t *begin, const int64_t *end,
                                    rlo_problem_list **out_problems) {
  rlo_shape shape;
  RLO_REQUIRE(results, out_problems);
  *out_problems = NULL;
  RLO_FAIL_IF((begin == NULL) != (end == NULL), RLO_INVALID_ARGUMENT, "a box has no %s",
              begin == NULL ? "begin" : "end");
  RLO_FAIL_IF(n < 0 || n >= rlo_recipe_results_count(results), RLO_OUT_OF_RANGE,
              "result %lld of %zu", (long long)n, results->count);
  const piece *p = &results->pieces[n];
  return rlo__result_lower(p->rule, &p->made, results->members, begin, end, &shape, out_problems);
}
