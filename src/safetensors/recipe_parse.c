/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes: the text, and the names that its rules take and give. */
#include "safetensors/recipe.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sentence.h"
#include "base/status.h"

#define EXAMPLE \
  "{\"from\": \"*.{q,k,v}.weight\", \"to\": \"*.qkv.weight\", \"ops\": [\"concat 0\"]}"

static rlo_status read_pattern(const char *text, rlo__pattern *out) {
  const char *open = strchr(text, '{');
  const char *end = open == NULL ? NULL : open + 1 + strcspn(open + 1, "*{}");
  RLO_FAIL_IF(strchr(text, '}') != end ||
                  (open != NULL && (end == open + 1 || strpbrk(end + 1, "{}") != NULL)),
              RLO_PARSE,
              "'%s': a group is written {q,k,v}, there is one, and its texts have no *, { and }",
              text);
  *out = (rlo__pattern){text, 0, 1};
  for (const char *at = text; *at != '\0'; ++at) {
    out->num_stars += *at == '*';
    out->num_texts += *at == ',' && open != NULL && at > open && at < end;
  }
  return out->num_stars <= RLO_RECIPE_MAX_MARKS && out->num_texts <= RLO_CHAIN_MAX_PARTS
             ? RLO_OK
             : RLO_FAIL(RLO_UNSUPPORTED, "'%s' has more than %d stars, or %d texts in its group",
                        text, RLO_RECIPE_MAX_MARKS, RLO_CHAIN_MAX_PARTS);
}

/* Holds `to` against `from`: what is joined, and what is split. */
static rlo_status relate_names(rlo__rule *rule) {
  const rlo__pattern *from = &rule->from;
  const rlo__pattern *to = &rule->to;
  rule->is_collecting = to->num_stars == from->num_stars - 1;
  rule->num_joined = to->num_texts == 1 ? from->num_texts : 1;
  rule->num_parts = from->num_texts == 1 ? to->num_texts : 1;
  return (rule->is_collecting || to->num_stars == from->num_stars) &&
                 (rule->num_joined * rule->num_parts > 1 || from->num_texts == to->num_texts)
             ? RLO_OK
             : RLO_FAIL(
                   RLO_PARSE,
                   "'%s' has %d stars and a group of %d, and '%s' %d and %d: \"to\" has as many "
                   "stars, or one less to join numbers, and as many texts where both have a group",
                   from->text, from->num_stars, from->num_texts, to->text, to->num_stars,
                   to->num_texts);
}

/* Refuses keys that are none of a list, which ends in NULL. */
static rlo_status check_keys(json_t *object, const char *const *known) {
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    rlo__nearest nearest = rlo__nearest_begin(key, strlen(key));
    const char *const *at = known;
    for (; *at != NULL && strcmp(*at, key) != 0; ++at) {
      rlo__nearest_try(&nearest, *at);
    }
    RLO_FAIL_IF(*at == NULL, RLO_PARSE, "there is no key '%s'%s", key, nearest.hint);
  }
  return RLO_OK;
}

static rlo_status read_rule(json_t *object, rlo__rule *rule) {
  static const char *const keys[] = {"ops", "from", "to", NULL};
  static const char *const keys_of_rest[] = {"ops", NULL};
  const bool is_rule = rule->number > 0;
  const json_t *from = json_object_get(object, "from");
  const json_t *to = json_object_get(object, "to");
  rule->ops = json_object_get(object, "ops");
  RLO_TRY(check_keys(object, is_rule ? keys : keys_of_rest));
  RLO_FAIL_IF(is_rule ? !json_is_string(from) || (to != NULL && !json_is_string(to)) ||
                            (rule->ops != NULL && !json_is_array(rule->ops))
                      : object != NULL && !json_is_string(object) && !json_is_array(rule->ops),
              RLO_PARSE, "\"from\" and \"to\" are texts, and \"ops\" is a list");
  RLO_TRY(read_pattern(is_rule ? json_string_value(from) : "*", &rule->from));
  RLO_TRY(read_pattern(to == NULL ? rule->from.text : json_string_value(to), &rule->to));
  RLO_TRY(relate_names(rule));
  return rlo__rule_read_ops(rule);
}

/* Reads rule n, or the rest behind the last one. */
static rlo_status read_part(rlo_recipe *recipe, json_t *object, int32_t n, int64_t device) {
  rlo__rule *rule = &recipe->rules[n];
  rule->device = device;
  rule->number = n < recipe->num_rules ? n + 1 : 0;
  (void)snprintf(rule->label, sizeof(rule->label), rule->number > 0 ? "rule %d" : "the rest",
                 rule->number);
  const rlo_status status = read_rule(object, rule);
  return status == RLO_OK || status == RLO_OUT_OF_MEMORY
             ? status
             : RLO_FAIL(status, "%s: %s (a right rule is %s)", rule->label,
                        rlo_error_last()->message,
                        rule->number > 0 ? EXAMPLE : "{\"ops\": [\"cast bf16\"]}");
}

static rlo_status read_recipe(rlo_recipe *recipe, int64_t device) {
  static const char *const keys[] = {"rules", "rest", NULL};
  const json_t *rules = json_object_get(recipe->root, "rules");
  json_t *rest = json_object_get(recipe->root, "rest");
  RLO_TRY(check_keys(recipe->root, keys));
  RLO_FAIL_IF(!json_is_array(rules), RLO_PARSE,
              "a recipe is {\"rules\": [" EXAMPLE "], \"rest\": \"copy\"}");
  recipe->rest = json_is_string(rest) ? json_string_value(rest) : "copy";
  RLO_FAIL_IF(
      strcmp(recipe->rest, "copy") != 0 && strcmp(recipe->rest, "refuse") != 0 &&
          strcmp(recipe->rest, "drop") != 0,
      RLO_PARSE,
      "\"rest\" is \"copy\", \"refuse\", \"drop\" or {\"ops\": [\"cast bf16\"]}, and not \"%s\"",
      recipe->rest);
  recipe->rules = rlo__alloc_array(json_array_size(rules) + 1, sizeof(*recipe->rules));
  RLO_TRY_MEMORY(recipe->rules);
  recipe->num_rules = (int32_t)json_array_size(rules);
  bool is_sharded = device < 0;
  for (int32_t n = 0; n <= recipe->num_rules; ++n) {
    json_t *part = n < recipe->num_rules ? json_array_get(rules, (size_t)n) : rest;
    RLO_TRY(read_part(recipe, part, n, device));
    is_sharded |= recipe->rules[n].sharding != NULL;
  }
  return is_sharded ? RLO_OK
                    : RLO_FAIL(RLO_INVALID_ARGUMENT,
                               "there is no shard in it, so that device %lld has what all have",
                               (long long)device);
}

rlo_status rlo_recipe_parse(const char *text, size_t bytes, int64_t device,
                            rlo_recipe **out_recipe) {
  RLO_REQUIRE(text, out_recipe);
  *out_recipe = NULL;
  RLO_FAIL_IF(bytes > RLO_RECIPE_MAX_BYTES, RLO_UNSUPPORTED,
              "a recipe of %zu bytes is longer than %d", bytes, RLO_RECIPE_MAX_BYTES);
  rlo_recipe *recipe = rlo__alloc(sizeof(*recipe));
  RLO_TRY_MEMORY(recipe);
  json_error_t error;
  recipe->root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
  const rlo_status status =
      recipe->root != NULL
          ? read_recipe(recipe, device)
          : RLO_FAIL(
                json_error_code(&error) == json_error_out_of_memory ? RLO_OUT_OF_MEMORY : RLO_PARSE,
                "the recipe, line %d, column %d: %s", error.line, error.column, error.text);
  if (status == RLO_OK) {
    *out_recipe = recipe;
  } else {
    rlo_recipe_release(recipe);
  }
  return status;
}

void rlo_recipe_release(rlo_recipe *recipe) {
  if (recipe != NULL) {
    for (int32_t n = 0; recipe->rules != NULL && n <= recipe->num_rules; ++n) {
      rlo__free(recipe->rules[n].made_by);
    }
    rlo__free(recipe->rules);
    json_decref(recipe->root);
    rlo__free(recipe);
  }
}
