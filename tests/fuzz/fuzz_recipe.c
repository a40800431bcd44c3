/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/recipe.h"

#include "fuzz.h"
#include "relayout/text.h"

/* Names that the recipes of the corpus take, shapes that their operations fit, and by what
 * they were made. */
static const char *const members[][3] = {
    {"m.q", "u8[2,2]"},
    {"m.k", "u8[2,2]{0,1}", "[perm 1,0]"},
    {"m.v", "bf16[2,2]"},
    {"m.qkv", "f32[6,2]"},
    {"m.e.0.gate", "u8[2,3]"},
    {"m.e.1.gate", "u8[2,3]"},
    {"m.e.0.up", "u8[2,3]"},
    {"m.e.1.up", "u8[2,3]"},
    {"a", "s4[3,2]{1,0:T(2,2)E(4)}"},
    {"m.0.w", "f16[1,2,3]"},
    {"m.1.w", "f16[1,2,3]", "[stack 0 -> *.w][cast f32]"},
    {"b", "f32[]"},
    {"c", "u8[0,4]"},
};

enum { COUNT = sizeof(members) / sizeof(members[0]) };

static void check_results(const rlo_recipe_results *results) {
  for (int64_t n = 0; n < rlo_recipe_results_count(results); ++n) {
    const rlo_recipe_result *r = rlo_recipe_results_get(results, n);
    rlo_problem_list *problems = NULL;
    fuzz_check_shape(r->shape);
    FUZZ_CHECK(r->num_members > 0 && (!r->is_copy || r->num_members == 1));
    for (int32_t k = 0; k < r->num_members; ++k) {
      FUZZ_CHECK(r->members[k] >= 0 && r->members[k] < COUNT);
    }
    FUZZ_CHECK(rlo_recipe_results_lower(results, n, NULL, NULL, &problems) == RLO_OK);
    for (int32_t k = 0; k < rlo_problem_list_count(problems); ++k) {
      FUZZ_CHECK(rlo_problem_list_operand(problems, k) < r->num_members);
    }
    rlo_problem_list_release(problems);
  }
}

/* The text of a recipe. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static rlo_shape shapes[COUNT];
  static rlo_recipe_member list[COUNT];
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *results = NULL;
  for (int32_t n = 0; n < COUNT && list[COUNT - 1].name == NULL; ++n) {
    FUZZ_CHECK(rlo_shape_parse(members[n][1], RLO_TEXT_TERMINATED, &shapes[n]) == RLO_OK);
    list[n] = (rlo_recipe_member){members[n][0], &shapes[n], members[n][2], NULL};
  }
  if (rlo_recipe_parse((const char *)data, size, -1, &recipe) != RLO_OK &&
      rlo_recipe_parse((const char *)data, size, 1, &recipe) != RLO_OK) {
    FUZZ_CHECK(recipe == NULL && rlo_error_last()->message[0] != '\0');
    return 0;
  }
  if (rlo_recipe_apply(recipe, list, COUNT, &results) == RLO_OK) {
    check_results(results);
  } else {
    FUZZ_CHECK(results == NULL && rlo_error_last()->message[0] != '\0');
  }
  rlo_recipe_results_release(results);
  rlo_recipe_release(recipe);
  return 0;
}
