/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes: the JSON text. */
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "safetensors/recipe.h"

#define EXAMPLE \
  "{\"from\": \"*.{q,k,v}.weight\", \"to\": \"*.qkv.weight\", \"ops\": [\"concat 0\"]}"

static int32_t count_ops(const rlo__rule *rule, rlo__recipe_op_kind kind) {
  int32_t count = 0;
  for (int32_t n = 0; n < rule->num_ops; ++n) {
    count += rule->ops[n].kind == kind;
  }
  return count;
}

/* ------------------------------------------------------------ rules as a whole */

/* Holds `to` against `from`: what is joined, and what is split. */
static rlo_status relate_names(rlo__rule *rule) {
  const rlo__pattern *from = &rule->from;
  const rlo__pattern *to = &rule->to;
  rule->num_parts = 1;
  if (to->text == NULL) {
    return RLO_OK;
  }
  rule->is_collecting = to->num_stars == from->num_stars - 1;
  rule->is_grouping = to->num_groups == 0 && from->num_groups > 0;
  if (!rule->is_collecting && to->num_stars != from->num_stars) {
    return RLO_FAIL(RLO_PARSE,
                    "rule %d: '%s' has %d stars and '%s' %d: those of \"to\" are as many, or one "
                    "less to join numbers; a right rule is " EXAMPLE,
                    rule->number, from->text, from->num_stars, to->text, to->num_stars);
  }
  if (from->num_groups == 0) {
    rule->num_parts = to->num_choices;
  } else if (to->num_groups > 0 && (to->num_groups != from->num_groups ||
                                    memcmp(to->sizes, from->sizes, sizeof(to->sizes)) != 0)) {
    return RLO_FAIL(RLO_PARSE,
                    "rule %d: the groups of '%s' and of '%s' do not have as many texts; a right "
                    "rule is {\"from\": \"*.{q,k}\", \"to\": \"*.{query,key}\"}",
                    rule->number, from->text, to->text);
  }
  return RLO_OK;
}

/* There are as many joins and splits as the names say, and a layout comes last. */
static rlo_status check_ops(const rlo__rule *rule) {
  const int32_t joins = count_ops(rule, RLO__RECIPE_CONCAT) + count_ops(rule, RLO__RECIPE_STACK);
  const int32_t lists = rule->is_collecting + rule->is_grouping;
  const int32_t splits =
      rule->to.text != NULL && rule->from.num_groups == 0 && rule->to.num_groups > 0;
  const int32_t layouts = count_ops(rule, RLO__RECIPE_LAYOUT);
  if (joins != lists) {
    return RLO_FAIL(RLO_PARSE,
                    "rule %d joins %d lists of members by its names, and has %d operations concat "
                    "or stack; a right rule is " EXAMPLE,
                    rule->number, lists, joins);
  }
  if (count_ops(rule, RLO__RECIPE_SPLIT) != splits) {
    return RLO_FAIL(RLO_PARSE,
                    "rule %d: an operation split goes with groups in \"to\" and none in \"from\"; "
                    "a right rule is {\"from\": \"*.qkv\", \"to\": \"*.{q,k,v}\", \"ops\": "
                    "[\"split 0\"]}",
                    rule->number);
  }
  if (layouts > 1 || (layouts == 1 && rule->ops[rule->num_ops - 1].kind != RLO__RECIPE_LAYOUT)) {
    return RLO_FAIL(RLO_PARSE,
                    "rule %d: a layout is the last operation; a right rule is {\"from\": \"*\", "
                    "\"ops\": [\"cast bf16\", \"layout {0,1}\"]}",
                    rule->number);
  }
  return RLO_OK;
}

/* --------------------------------------------------------------------- JSON */

/* A failed part of a rule, whose message is the end of the sentence. */
static rlo_status name_part(rlo_status status, const rlo__rule *rule, const char *part,
                            const char *text) {
  return status == RLO_OK || status == RLO_OUT_OF_MEMORY
             ? status
             : RLO_FAIL(status, "rule %d, %s '%s': %s; a right rule is " EXAMPLE, rule->number,
                        part, text, rlo_error_last()->message);
}

static rlo_status read_ops(const json_t *list, rlo__rule *rule) {
  if (list == NULL) {
    return RLO_OK;
  }
  if (!json_is_array(list)) {
    return RLO_FAIL(RLO_PARSE, "rule %d: \"ops\" is no list; a right rule is " EXAMPLE,
                    rule->number);
  }
  rule->ops = rlo__alloc_array(json_array_size(list) + 1, sizeof(*rule->ops));
  if (rule->ops == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (size_t n = 0; n < json_array_size(list); ++n) {
    const char *text = json_string_value(json_array_get(list, n));
    if (text == NULL) {
      return RLO_FAIL(RLO_PARSE, "rule %d: operation %zu is no text; a right rule is " EXAMPLE,
                      rule->number, n + 1);
    }
    const rlo_status status = rlo__recipe_op_parse(text, &rule->ops[rule->num_ops++]);
    if (status != RLO_OK) {
      return status == RLO_OUT_OF_MEMORY
                 ? status
                 : RLO_FAIL(status, "rule %d: %s", rule->number, rlo_error_last()->message);
    }
  }
  return RLO_OK;
}

static rlo_status read_rule(json_t *object, rlo__rule *rule) {
  const char *from = NULL;
  const char *to = NULL;
  json_t *list = NULL;
  json_error_t error;
  if (json_unpack_ex(object, &error, 0, "{s:s,s?s,s?o!}", "from", &from, "to", &to, "ops", &list) !=
      0) {
    return RLO_FAIL(RLO_PARSE, "rule %d: %s; a right rule is " EXAMPLE, rule->number, error.text);
  }
  RLO_TRY(name_part(rlo__pattern_parse(from, &rule->from), rule, "from", from));
  if (to != NULL) {
    RLO_TRY(name_part(rlo__pattern_parse(to, &rule->to), rule, "to", to));
  }
  RLO_TRY(read_ops(list, rule));
  RLO_TRY(relate_names(rule));
  return check_ops(rule);
}

static rlo_status read_recipe(json_t *root, rlo_recipe *recipe) {
  static const char *const words[] = {"copy", "refuse", "drop"};
  const char *rest = words[RLO__REST_COPY];
  json_t *rules = NULL;
  json_error_t error;
  if (json_unpack_ex(root, &error, 0, "{s:o,s?s!}", "rules", &rules, "rest", &rest) != 0 ||
      !json_is_array(rules)) {
    return RLO_FAIL(RLO_PARSE, "a recipe is {\"rules\": [" EXAMPLE "], \"rest\": \"copy\"}: %s",
                    error.text[0] != '\0' ? error.text : "the rules are no list");
  }
  while (recipe->rest <= RLO__REST_DROP && strcmp(rest, words[recipe->rest]) != 0) {
    ++recipe->rest;
  }
  if (recipe->rest > RLO__REST_DROP) {
    return RLO_FAIL(RLO_PARSE, "\"rest\" is \"copy\", \"refuse\" or \"drop\", and not \"%s\"",
                    rest);
  }
  recipe->rules = rlo__alloc_array(json_array_size(rules) + 1, sizeof(*recipe->rules));
  if (recipe->rules == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (size_t n = 0; n < json_array_size(rules); ++n) {
    rlo__rule *rule = &recipe->rules[recipe->num_rules++];
    rule->number = recipe->num_rules;
    RLO_TRY(read_rule(json_array_get(rules, n), rule));
  }
  return RLO_OK;
}

rlo_status rlo_recipe_parse(const char *text, size_t bytes, rlo_recipe **out_recipe) {
  RLO_REQUIRE(out_recipe);
  *out_recipe = NULL;
  RLO_REQUIRE(text);
  if (bytes > RLO_RECIPE_MAX_BYTES) {
    return RLO_FAIL(RLO_UNSUPPORTED, "a recipe of %zu bytes is longer than %d", bytes,
                    RLO_RECIPE_MAX_BYTES);
  }
  json_error_t error;
  json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
  if (root == NULL) {
    return json_error_code(&error) == json_error_out_of_memory
               ? RLO_FAIL(RLO_OUT_OF_MEMORY, "no memory for the JSON of a recipe")
               : RLO_FAIL(RLO_PARSE, "the recipe, line %d, column %d: %s", error.line, error.column,
                          error.text);
  }
  rlo_recipe *recipe = rlo__alloc(sizeof(*recipe));
  const rlo_status status = recipe == NULL ? RLO_OUT_OF_MEMORY : read_recipe(root, recipe);
  json_decref(root);
  if (status != RLO_OK) {
    rlo_recipe_release(recipe);
    return status;
  }
  *out_recipe = recipe;
  return RLO_OK;
}

void rlo_recipe_release(rlo_recipe *recipe) {
  for (int32_t n = 0; recipe != NULL && n < recipe->num_rules; ++n) {
    rlo__rule *rule = &recipe->rules[n];
    for (int32_t k = 0; k < rule->num_ops; ++k) {
      rlo__recipe_op_deinit(&rule->ops[k]);
    }
    rlo__free(rule->ops);
    rlo__free(rule->from.text);
    rlo__free(rule->to.text);
  }
  if (recipe != NULL) {
    rlo__free(recipe->rules);
    rlo__free(recipe);
  }
}
