/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "ops/chain.h"

rlo_status rlo__problem_list_add(rlo_problem_list *list, int32_t operand, int32_t index_operand,
                                 const rlo_problem *problem) {
  RLO_TRY(rlo__array_reserve(&list->entries, sizeof list->entries[0], (size_t)list->count + 1,
                             &list->capacity));
  rlo_problem *copy = rlo__alloc(sizeof *copy);
  RLO_TRY_MEMORY(copy);
  *copy = *problem;
  list->entries[list->count++] =
      (rlo__listed_problem){copy, operand, rlo_problem_loads(problem) ? index_operand : -1};
  return RLO_OK;
}

static const rlo__listed_problem *find(const rlo_problem_list *list, int32_t n) {
  return n >= 0 && n < list->count ? &list->entries[n] : NULL;
}

int32_t rlo_problem_list_count(const rlo_problem_list *list) {
  RLO_REQUIRE_OR(0, list);
  return list->count;
}

const rlo_problem *rlo_problem_list_get(const rlo_problem_list *list, int32_t n) {
  RLO_REQUIRE_OR(NULL, list);
  const rlo__listed_problem *entry = find(list, n);
  return entry != NULL ? entry->problem : NULL;
}

int32_t rlo_problem_list_operand(const rlo_problem_list *list, int32_t n) {
  RLO_REQUIRE_OR(-1, list);
  const rlo__listed_problem *entry = find(list, n);
  return entry != NULL ? entry->operand : -1;
}

int32_t rlo_problem_list_indices(const rlo_problem_list *list, int32_t n) {
  RLO_REQUIRE_OR(-1, list);
  const rlo__listed_problem *entry = find(list, n);
  return entry != NULL ? entry->index_operand : -1;
}

rlo_status rlo_problem_list_run_host(const rlo_problem_list *list, const void *const *operands,
                                     void *dst) {
  RLO_REQUIRE(list);
  RLO_REQUIRE_LIST(operands, list->count);
  for (int32_t n = 0; n < list->count; ++n) {
    const rlo__listed_problem *entry = &list->entries[n];
    const void *indices = entry->index_operand >= 0 ? operands[entry->index_operand] : NULL;
    RLO_TRY(rlo_problem_run_host_indexed(entry->problem, operands[entry->operand], indices, dst));
  }
  return RLO_OK;
}

void rlo_problem_list_release(rlo_problem_list *list) {
  if (list == NULL) {
    return;
  }
  for (int32_t n = 0; n < list->count; ++n) {
    rlo__free(list->entries[n].problem);
  }
  rlo__free(list->entries);
  rlo__free(list);
}
