/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

/*
 * How many programs the TTC benchmark takes: each costs a second of compiling
 * where it is new. A plan that is promised no alignment makes two.
 */

enum { NUM_CASES = 57, MOST_PROGRAMS = 14, MAX_RANK = 8 };

static uint64_t hashes[2 * NUM_CASES];
static int32_t num_hashes;

static void note_program(test_plan *plan, int64_t alignment_bytes) {
  rlo_status status = test_plan_try(plan, NULL, alignment_bytes, alignment_bytes);
  expect_ok(status);
  rlo__program_spec spec;
  expect_ok(rlo__codegen_program(&plan->launch, &spec));
  uint64_t hash = rlo__codegen_hash(&spec);
  rlo__codegen_deinit(&spec);
  for (int32_t n = 0; n < num_hashes; ++n) {
    if (hashes[n] == hash) {
      return;
    }
  }
  hashes[num_hashes++] = hash;
}

/* Numbers with commas between; returns how many. */
static int32_t read_numbers(const char *text, int64_t *out) {
  int32_t count = 0;
  for (; *text != '\0' && count < MAX_RANK; ++count) {
    char *end;
    out[count] = strtoll(text, &end, 10);
    text = *end == ',' ? end + 1 : end;
  }
  return count;
}

/* A row-major shape of dimensions that the file lists the other way round. */
static void print_shape(const int64_t *extents, int32_t rank, char *out) {
  char *at = out + sprintf(out, "f32[");
  for (int32_t d = rank - 1; d >= 0; --d) {
    at += sprintf(at, "%lld%s", (long long)extents[d], d > 0 ? "," : "]");
  }
}

static void note_case(const char *extents_text, const char *permutation_text) {
  int64_t extents[MAX_RANK];
  int64_t order[MAX_RANK];
  int32_t rank = read_numbers(extents_text, extents);
  ck_assert_int_eq(read_numbers(permutation_text, order), rank);
  int64_t permuted[MAX_RANK];
  char permutation[64];
  char *at = permutation;
  for (int32_t d = 0; d < rank; ++d) {
    permuted[d] = extents[order[d]];
    at += sprintf(at, "%s%lld", d > 0 ? "," : "", (long long)(rank - 1 - order[rank - 1 - d]));
  }
  char src[128];
  char dst[128];
  print_shape(extents, rank, src);
  print_shape(permuted, rank, dst);
  const int64_t alignments[] = {0, (int64_t)sizeof(float)};
  for (size_t k = 0; k < sizeof alignments / sizeof alignments[0]; ++k) {
    static test_plan plan;
    plan.device = test_plan_cpu();
    test_plan_lower(src, dst, permutation, &plan.problem);
    note_program(&plan, alignments[k]);
  }
}

RLO_TEST(test_program_count__ttc57_takes_few) {
  FILE *file = fopen(RELAYOUT_TEST_TTC57, "r");
  ck_assert_ptr_nonnull(file);
  char line[256];
  int32_t num_cases = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    int number;
    char extents[128];
    char permutation[64];
    if (sscanf(line, "%d %127s %63s", &number, extents, permutation) == 3) {
      note_case(extents, permutation);
      ++num_cases;
    }
  }
  fclose(file);
  printf("%d cases, %d programs\n", num_cases, num_hashes);
  ck_assert_int_eq(num_cases, NUM_CASES);
  ck_assert_int_le(num_hashes, MOST_PROGRAMS);
}
