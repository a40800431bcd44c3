/* SPDX-License-Identifier: Apache-2.0 */
/* A file of weights is written and read, and a recipe says what becomes of its members. */
#include <relayout/recipe.h>
#include <relayout/relayout.h>
#include <relayout/safetensors.h>
#include <relayout/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "example_weights.safetensors"

static void check(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s: %s\n", rlo_status_name(status), rlo_error_last()->message);
    exit(EXIT_FAILURE);
  }
}

static void check_file(int is_good) {
  if (!is_good) {
    perror(PATH);
    exit(EXIT_FAILURE);
  }
}

static void write_file(void) {
  static const float values[3][16] = {{1}, {2}, {3}};
  rlo_shape shape;
  check(rlo_shape_parse("f32[4,4]", RLO_TEXT_TERMINATED, &shape));
  // [snippet weights/write]
  const char *names[] = {"l.0.q.weight", "l.0.k.weight", "l.0.v.weight"};
  const rlo_shape *shapes[] = {&shape, &shape, &shape};
  rlo_safetensors_plan *plan;
  check(rlo_safetensors_plan_create(names, shapes, 3, NULL, &plan));
  const rlo_safetensors_file *planned = rlo_safetensors_plan_file(plan, 0);

  FILE *file = fopen(PATH, "wb");
  check_file(file != NULL && fwrite(planned->head, (size_t)planned->head_bytes, 1, file) == 1);
  for (int64_t n = 0; n < 3; ++n) {
    const rlo_safetensors_place *place = rlo_safetensors_plan_place(plan, n);
    check_file(fseek(file, (long)place->offset_bytes, SEEK_SET) == 0 &&
               fwrite(values[n], (size_t)place->bytes, 1, file) == 1);
  }
  check_file(fclose(file) == 0);
  rlo_safetensors_plan_release(plan);
  // [/snippet]
}

static rlo_safetensors *read_file(void) {
  // [snippet weights/read]
  rlo_safetensors *list;
  check(rlo_safetensors_open(PATH, &list));
  rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
  for (int64_t n = 0; (n = rlo_safetensors_match(list, "*.q.weight", n)) >= 0; ++n) {
    rlo_storage *bytes;
    check(rlo_safetensors_get_member(list, n, &m));
    check(rlo_safetensors_storage(list, n, NULL, &bytes)); /* for a job: service.h */
    printf("%s: %s, %lld bytes\n", m.name, m.type_name, (long long)m.bytes);
    rlo_storage_release(bytes);
  }
  // [/snippet]
  return list;
}

static void apply_recipe(const rlo_safetensors *list) {
  static const char text[] =
      "{\"rules\": [{\"from\": \"*.{q,k,v}.weight\", \"to\": \"*.qkv.weight\","
      "             \"ops\": [\"concat 0\"]}]}";
  rlo_safetensors_member found[3];
  rlo_recipe_member members[3];
  for (int64_t n = 0; n < 3; ++n) {
    found[n] = (rlo_safetensors_member)RLO_SAFETENSORS_MEMBER_INIT;
    check(rlo_safetensors_get_member(list, n, &found[n]));
    members[n] =
        (rlo_recipe_member){found[n].name, &found[n].shape, found[n].made_by, found[n].sharding};
  }
  // [snippet weights/recipe]
  rlo_recipe *recipe;
  rlo_recipe_results *results;
  check(rlo_recipe_parse(text, strlen(text), -1, &recipe)); /* no device: no shard */
  check(rlo_recipe_apply(recipe, members, 3, &results));
  for (int64_t n = 0; n < rlo_recipe_results_count(results); ++n) {
    const rlo_recipe_result *r = rlo_recipe_results_get(results, n);
    char shape[64];
    rlo_shape_format(r->shape, shape, sizeof(shape));
    printf("%s: %s, %s\n", r->name, shape, r->is_copy ? "copied" : r->made_by);
    for (int32_t k = 0; k < r->num_members; ++k) {
      printf("  of %s\n", members[r->members[k]].name);
    }
  }
  // [/snippet]
  rlo_recipe_results_release(results);
  rlo_recipe_release(recipe);
}

int main(void) {
  write_file();
  rlo_safetensors *list = read_file();
  apply_recipe(list);
  rlo_safetensors_release(list);
  check_file(remove(PATH) == 0);
  return EXIT_SUCCESS;
}
