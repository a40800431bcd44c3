/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes applied to members: which rule takes which, and what becomes of them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "safetensors/recipe.h"

/* A name in an index of names, sorted from the front or from the back. */
typedef struct entry {
  const char *name;
  size_t length;
  int64_t member;
} entry;

/* A member that a rule takes. */
typedef struct hit {
  /* Of the result; of the first one of a split. Owned. */
  char *name;
  int64_t member;
  /* Its place among those that are joined: the choice of texts, and the number. */
  int32_t group;
  int64_t number;
  rlo__match match;
} hit;

struct rlo_recipe_results {
  const rlo_recipe *recipe;
  const rlo_recipe_member *members;
  rlo__result *items;
  size_t count, capacity;
};

typedef struct state {
  const rlo_recipe *recipe;
  const rlo_recipe_member *members;
  int64_t count;
  entry *forward, *backward;
  /* The rule that takes a member; 0: none. */
  int32_t *taken;
  hit *hits;
  size_t num_hits, hit_capacity;
  rlo_recipe_results *results;
} state;

/* -------------------------------------------------------------------- index */

/* Compares the last letters of a name with a text. A name that is the text's end is
 * less; one that ends in the text is equal. */
static int compare_end(const entry *e, const char *text, size_t length) {
  for (size_t n = 1; n <= length; ++n) {
    if (n > e->length) {
      return -1;
    }
    const int difference = (unsigned char)e->name[e->length - n] - (unsigned char)text[length - n];
    if (difference != 0) {
      return difference;
    }
  }
  return 0;
}

static int by_front(const void *a, const void *b) {
  return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static int by_back(const void *a, const void *b) {
  const entry *e = b;
  const int order = compare_end(a, e->name, e->length);
  return order != 0 ? order : ((const entry *)a)->length > e->length;
}

static rlo_status build_index(state *s) {
  s->taken = rlo__alloc_array((size_t)s->count + 1, sizeof(*s->taken));
  s->forward = rlo__alloc_array((size_t)s->count + 1, sizeof(*s->forward));
  s->backward = rlo__alloc_array((size_t)s->count + 1, sizeof(*s->backward));
  if (s->taken == NULL || s->forward == NULL || s->backward == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int64_t n = 0; n < s->count; ++n) {
    const char *name = s->members[n].name;
    RLO_REQUIRE(name, s->members[n].shape);
    s->forward[n] = (entry){name, strlen(name), n};
    s->backward[n] = s->forward[n];
  }
  qsort(s->forward, (size_t)s->count, sizeof(*s->forward), by_front);
  qsort(s->backward, (size_t)s->count, sizeof(*s->backward), by_back);
  for (int64_t n = 1; n < s->count; ++n) {
    if (strcmp(s->forward[n - 1].name, s->forward[n].name) == 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT, "two members have the name '%s'", s->forward[n].name);
    }
  }
  return RLO_OK;
}

/* The first name that is not before the text; with `is_upper` the first behind all that
 * have it. */
static int64_t find_bound(const entry *entries, int64_t count, const char *text, size_t length,
                          bool is_backward, bool is_upper) {
  int64_t begin = 0;
  for (int64_t end = count; begin < end;) {
    const int64_t middle = begin + (end - begin) / 2;
    const int order = is_backward ? compare_end(&entries[middle], text, length)
                                  : strncmp(entries[middle].name, text, length);
    if (order < 0 || (is_upper && order == 0)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/* The names that a pattern may match: those with its text before the first star, or
 * those with its text behind the last one, whichever are fewer. */
static const entry *find_candidates(const state *s, const char *stars, int64_t *out_count) {
  const size_t front = strcspn(stars, "*");
  const char *last = strrchr(stars, '*');
  const char *back = last == NULL ? stars : last + 1;
  const int64_t begin = find_bound(s->forward, s->count, stars, front, false, false);
  const int64_t end = find_bound(s->forward, s->count, stars, front, false, true);
  const int64_t back_begin = find_bound(s->backward, s->count, back, strlen(back), true, false);
  const int64_t back_end = find_bound(s->backward, s->count, back, strlen(back), true, true);
  *out_count = end - begin < back_end - back_begin ? end - begin : back_end - back_begin;
  return *out_count == end - begin ? s->forward + begin : s->backward + back_begin;
}

/* --------------------------------------------------------------------- hits */

/* Reads the number that the last star stands for. */
static rlo_status read_number(const rlo__rule *rule, const char *name, hit *h) {
  const int32_t star = rule->from.num_stars - 1;
  const char *text = h->match.begin[star];
  const size_t length = h->match.length[star];
  if (length == 0 || length > 9 || strspn(text, "0123456789") < length) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "rule %d: the last star of '%s' joins numbers, and in '%s' it is '%.*s'",
                    rule->number, rule->from.text, name, (int)(length < 99 ? length : 99), text);
  }
  for (size_t n = 0; n < length; ++n) {
    h->number = 10 * h->number + (text[n] - '0');
  }
  return RLO_OK;
}

static rlo_status make_name(const rlo__rule *rule, const char *name, int32_t choice,
                            const rlo__match *match, char **out_name) {
  rlo__str text = rlo__str_growing();
  if (rule->to.text == NULL) {
    rlo__str_append(&text, name);
  } else {
    rlo__pattern_write(&rule->to, choice, match, &text);
  }
  return rlo__str_take(&text, out_name);
}

static rlo_status add_hit(state *s, const rlo__rule *rule, int64_t member, int32_t choice,
                          const rlo__match *match) {
  const char *name = s->members[member].name;
  const int32_t before = s->taken[member];
  if (before != 0) {
    return RLO_FAIL(RLO_ALREADY_EXISTS, "member '%s' is taken twice, by rule %d and by rule %d",
                    name, before, rule->number);
  }
  s->taken[member] = rule->number;
  RLO_TRY(rlo__array_reserve(&s->hits, sizeof(*s->hits), s->num_hits + 1, &s->hit_capacity));
  hit *h = &s->hits[s->num_hits];
  *h = (hit){.member = member, .group = rule->is_grouping ? choice : 0, .match = *match};
  if (rule->is_collecting) {
    RLO_TRY(read_number(rule, name, h));
  }
  const bool has_groups = rule->from.num_groups > 0 && rule->to.num_groups > 0;
  RLO_TRY(make_name(rule, name, has_groups ? choice : 0, match, &h->name));
  ++s->num_hits;
  return RLO_OK;
}

static rlo_status take_choice(state *s, const rlo__rule *rule, int32_t choice, rlo__str *stars) {
  rlo__pattern_write(&rule->from, choice, NULL, stars);
  RLO_TRY(rlo__str_status(stars));
  int64_t count = 0;
  const entry *candidates = find_candidates(s, rlo__str_text(stars), &count);
  for (int64_t n = 0; n < count; ++n) {
    rlo__match match;
    if (rlo__match_name(rlo__str_text(stars), candidates[n].name, &match)) {
      RLO_TRY(add_hit(s, rule, candidates[n].member, choice, &match));
    }
  }
  return RLO_OK;
}

static int by_place(const void *a, const void *b) {
  const hit *x = a;
  const hit *y = b;
  const int order = strcmp(x->name, y->name);
  if (order != 0 || x->group != y->group) {
    return order != 0 ? order : (x->group > y->group) - (x->group < y->group);
  }
  return (x->number > y->number) - (x->number < y->number);
}

/* ------------------------------------------------------------------ results */

/* Says which member is missing where hit n should be another one. */
static rlo_status refuse_place(const state *s, const rlo__rule *rule, const hit *hits, int64_t n,
                               int32_t group, int64_t number) {
  if (n > 0 && by_place(&hits[n - 1], &hits[n]) == 0) {
    return RLO_FAIL(RLO_ALREADY_EXISTS, "rule %d makes '%s' of '%s' and of '%s'", rule->number,
                    hits[n].name, s->members[hits[n - 1].member].name,
                    s->members[hits[n].member].name);
  }
  rlo__str stars = rlo__str_growing();
  rlo__pattern_write(&rule->from, group, NULL, &stars);
  const rlo_status status =
      rule->is_collecting
          ? RLO_FAIL(RLO_NOT_FOUND, "rule %d, result '%s': number %lld of '%s' is missing",
                     rule->number, hits[0].name, (long long)number, rlo__str_text(&stars))
          : RLO_FAIL(RLO_NOT_FOUND, "rule %d, result '%s': '%s' is missing", rule->number,
                     hits[0].name, rlo__str_text(&stars));
  rlo__str_deinit(&stars);
  return status;
}

/* The hits of a result are all texts of the groups, and of each all numbers. */
static rlo_status check_places(const state *s, const rlo__rule *rule, const hit *hits,
                               int64_t count) {
  const int32_t groups = rule->is_grouping ? rule->from.num_choices : 1;
  int64_t numbers = 1;
  int64_t n = 0;
  for (int64_t k = 0; k < count; ++k) {
    numbers = hits[k].number >= numbers ? hits[k].number + 1 : numbers;
  }
  for (int32_t group = 0; group < groups; ++group) {
    for (int64_t number = 0; number < numbers; ++number, ++n) {
      if (n == count || hits[n].group != group || hits[n].number != number) {
        return refuse_place(s, rule, hits, n < count ? n : 0, group, number);
      }
    }
  }
  return n == count ? RLO_OK : refuse_place(s, rule, hits, n, 0, 0);
}

/* Adds a result; its name is given away. */
static rlo_status add_result(state *s, int32_t rule, int32_t part, char *name, const hit *hits,
                             int64_t count) {
  rlo_recipe_results *results = s->results;
  int64_t *members = rlo__alloc_array((size_t)count, sizeof(*members));
  if (members == NULL || rlo__array_reserve(&results->items, sizeof(*results->items),
                                            results->count + 1, &results->capacity) != RLO_OK) {
    rlo__free(members);
    rlo__free(name);
    return RLO_OUT_OF_MEMORY;
  }
  for (int64_t n = 0; n < count; ++n) {
    members[n] = hits[n].member;
  }
  rlo__result *r = &results->items[results->count++];
  r->part = part;
  r->public_part.name = name;
  r->public_part.members = members;
  r->public_part.num_members = (int32_t)count;
  r->public_part.rule = rule;
  return RLO_OK;
}

/* Adds the results of hits of one name. */
static rlo_status add_results(state *s, const rlo__rule *rule, hit *hits, int64_t count) {
  RLO_TRY(check_places(s, rule, hits, count));
  if (count > RLO_CHAIN_MAX_PARTS) {
    return RLO_FAIL(RLO_UNSUPPORTED, "rule %d, result '%s': %lld members are more than %d",
                    rule->number, hits[0].name, (long long)count, RLO_CHAIN_MAX_PARTS);
  }
  for (int32_t part = 0; part < rule->num_parts; ++part) {
    char *name = hits[0].name;
    hits[0].name = NULL;
    if (part > 0) {
      RLO_TRY(make_name(rule, "", part, &hits[0].match, &name));
    }
    RLO_TRY(add_result(s, rule->number, part, name, hits, count));
  }
  return RLO_OK;
}

static void drop_hits(state *s) {
  for (; s->num_hits > 0; --s->num_hits) {
    rlo__free(s->hits[s->num_hits - 1].name);
  }
}

static rlo_status take(state *s, const rlo__rule *rule) {
  for (int32_t choice = 0; choice < rule->from.num_choices; ++choice) {
    rlo__str stars = rlo__str_growing();
    const rlo_status status = take_choice(s, rule, choice, &stars);
    rlo__str_deinit(&stars);
    RLO_TRY(status);
  }
  if (s->num_hits == 0) {
    return RLO_FAIL(RLO_NOT_FOUND, "rule %d takes no member: none of %lld matches '%s'",
                    rule->number, (long long)s->count, rule->from.text);
  }
  qsort(s->hits, s->num_hits, sizeof(*s->hits), by_place);
  size_t begin = 0;
  for (size_t n = 1; n <= s->num_hits; ++n) {
    if (n == s->num_hits || strcmp(s->hits[n].name, s->hits[begin].name) != 0) {
      RLO_TRY(add_results(s, rule, &s->hits[begin], (int64_t)(n - begin)));
      begin = n;
    }
  }
  drop_hits(s);
  return RLO_OK;
}

static rlo_status take_rest(state *s) {
  if (s->recipe->rest == RLO__REST_DROP) {
    return RLO_OK;
  }
  for (int64_t n = 0; n < s->count; ++n) {
    if (s->taken[n] != 0) {
      continue;
    }
    const char *member = s->members[n].name;
    if (s->recipe->rest == RLO__REST_REFUSE) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "no rule takes member '%s', and the recipe refuses the rest", member);
    }
    char *name = rlo__alloc_string(member);
    if (name == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    RLO_TRY(add_result(s, 0, 0, name, &(hit){.member = n}, 1));
  }
  return RLO_OK;
}

/* ------------------------------------------------------------- the whole lot */

static int by_first_member(const void *a, const void *b) {
  const rlo__result *x = a;
  const rlo__result *y = b;
  const int64_t first = x->public_part.members[0];
  const int64_t second = y->public_part.members[0];
  return first != second ? (first > second) - (first < second)
                         : (x->part > y->part) - (x->part < y->part);
}

static rlo_status refuse_name(const rlo__result *x, const rlo__result *y) {
  const rlo_recipe_result *a = &x->public_part;
  const rlo_recipe_result *b = &y->public_part;
  const int32_t low = a->rule < b->rule ? a->rule : b->rule;
  const int32_t high = a->rule < b->rule ? b->rule : a->rule;
  return low == 0 ? RLO_FAIL(RLO_ALREADY_EXISTS,
                             "rule %d makes '%s', which is also a member that no rule takes", high,
                             a->name)
                  : RLO_FAIL(RLO_ALREADY_EXISTS, "rule %d and rule %d both make '%s'", low, high,
                             a->name);
}

static rlo_status check_names(const rlo_recipe_results *results) {
  rlo_status status = RLO_OK;
  entry *names = rlo__alloc_array(results->count + 1, sizeof(*names));
  if (names == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (size_t n = 0; n < results->count; ++n) {
    names[n] = (entry){results->items[n].public_part.name, 0, (int64_t)n};
  }
  qsort(names, results->count, sizeof(*names), by_front);
  for (size_t n = 1; n < results->count && status == RLO_OK; ++n) {
    if (by_front(&names[n - 1], &names[n]) == 0) {
      status = refuse_name(&results->items[names[n - 1].member], &results->items[names[n].member]);
    }
  }
  rlo__free(names);
  return status;
}

static const rlo__rule *rule_of(const rlo_recipe *recipe, const rlo__result *result) {
  const int32_t number = result->public_part.rule;
  return number == 0 ? NULL : &recipe->rules[number - 1];
}

/* Checks the operations of a result and sets its shape, which is large: that of the first
 * member, where it is the same. */
static rlo_status measure(const rlo_recipe_results *results, rlo__result *r) {
  const rlo_shape *first = results->members[r->public_part.members[0]].shape;
  rlo_problem_list *problems = NULL;
  rlo_shape shape;
  RLO_TRY(rlo__result_lower(rule_of(results->recipe, r), r, results->members, &shape, &problems));
  rlo_problem_list_release(problems);
  if (rlo_shape_equal(&shape, first)) {
    r->public_part.shape = first;
    return RLO_OK;
  }
  rlo_shape *copy = rlo__alloc_unset(sizeof(*copy));
  if (copy == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *copy = shape;
  r->public_part.shape = copy;
  return RLO_OK;
}

static rlo_status apply(state *s) {
  rlo_recipe_results *results = s->results;
  RLO_TRY(build_index(s));
  for (int32_t n = 0; n < s->recipe->num_rules; ++n) {
    RLO_TRY(take(s, &s->recipe->rules[n]));
  }
  RLO_TRY(take_rest(s));
  if (results->count > 0) {
    qsort(results->items, results->count, sizeof(*results->items), by_first_member);
  }
  RLO_TRY(check_names(results));
  for (size_t n = 0; n < results->count; ++n) {
    RLO_TRY(measure(results, &results->items[n]));
  }
  return RLO_OK;
}

rlo_status rlo_recipe_apply(const rlo_recipe *recipe, const rlo_recipe_member *members,
                            int64_t count, rlo_recipe_results **out_results) {
  RLO_REQUIRE(out_results);
  *out_results = NULL;
  RLO_REQUIRE(recipe);
  RLO_REQUIRE_LIST(members, count);
  if (count < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "%lld members", (long long)count);
  }
  rlo_recipe_results *results = rlo__alloc(sizeof(*results));
  if (results == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  results->recipe = recipe;
  results->members = members;
  state s = {.recipe = recipe, .members = members, .count = count, .results = results};
  const rlo_status status = apply(&s);
  drop_hits(&s);
  rlo__free(s.hits);
  rlo__free(s.forward);
  rlo__free(s.backward);
  rlo__free(s.taken);
  if (status != RLO_OK) {
    rlo_recipe_results_release(results);
    return status;
  }
  *out_results = results;
  return RLO_OK;
}

void rlo_recipe_results_release(rlo_recipe_results *results) {
  for (size_t n = 0; results != NULL && n < results->count; ++n) {
    const rlo_recipe_result *r = &results->items[n].public_part;
    if (r->shape != results->members[r->members[0]].shape) {
      rlo__free((void *)(uintptr_t)r->shape);
    }
    rlo__free((void *)(uintptr_t)r->name);
    rlo__free((void *)(uintptr_t)r->members);
  }
  if (results != NULL) {
    rlo__free(results->items);
    rlo__free(results);
  }
}

int64_t rlo_recipe_results_count(const rlo_recipe_results *results) {
  return results == NULL ? 0 : (int64_t)results->count;
}

const rlo_recipe_result *rlo_recipe_results_get(const rlo_recipe_results *results, int64_t n) {
  return n < 0 || n >= rlo_recipe_results_count(results) ? NULL : &results->items[n].public_part;
}

rlo_status rlo_recipe_results_lower(const rlo_recipe_results *results, int64_t n,
                                    rlo_problem_list **out_problems) {
  RLO_REQUIRE(out_problems);
  *out_problems = NULL;
  RLO_REQUIRE(results);
  if (n < 0 || n >= rlo_recipe_results_count(results)) {
    return RLO_FAIL(RLO_OUT_OF_RANGE, "result %lld of %lld", (long long)n,
                    (long long)rlo_recipe_results_count(results));
  }
  const rlo__result *r = &results->items[n];
  rlo_shape shape;
  return rlo__result_lower(rule_of(results->recipe, r), r, results->members, &shape, out_problems);
}
