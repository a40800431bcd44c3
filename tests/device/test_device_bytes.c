/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "device/bytes/bytes.h"
#include "support/expect.h"
#include "support/low_thresholds.h"
#include "support/program_budget.h"
#include "support/random.h"
#include "support/variant_runs.h"

/*
 * Kernels that move bytes, held against the host, on a budget of programs
 * (tests/README.md): first the cases that together have every constant of every
 * kernel; then, of each table, the cases whose programs exist by then and a few
 * that are drawn by RELAYOUT_TEST_SEED. Programs that are drawn, and those of
 * the GPU class, which nobody runs on a CPU, are compiled without optimisation,
 * which takes a third of the time: the code of each constant of the CPU class
 * has been compiled with it before, in one width of units. With
 * RELAYOUT_TEST_ALL every case runs, of both classes, each optimised. With low
 * thresholds only what is drawn runs.
 */

typedef struct table {
  const char *name;
  void (*run)(void);
  /** How many programs to draw. */
  int64_t num_drawn;
} table;

static const table tables[] = {{"relayout", bytes_relayout, 1},
                               {"gpu", bytes_gpu, 1},
                               {"random", bytes_random, 1},
                               {"sample", bytes_sample, 1},
                               {"tile", bytes_tile, 1},
                               {"packed", bytes_packed, 2},
                               {"packed edges", bytes_packed_edges, 3},
                               {"rows", bytes_rows, 2},
                               {"wide", bytes_wide, 1},
                               {"ops", bytes_ops, 1}};

enum {
  /** The number of programs that this suite may compile by default. */
  MAX_PROGRAMS = 250
};

static test_budget budget;

bool bytes_is_all(void) {
  return getenv("RELAYOUT_TEST_ALL") != NULL;
}

static bool is_of_cpu(const test_variant_case *c) {
  return c->family->device_class == RLO_DEVICE_CLASS_CPU;
}

static bool is_of_gpu(const test_variant_case *c) {
  return !is_of_cpu(c);
}

static void begin_file(void) {
  open_device();
  test_budget_init(&budget);
}

static void end_file(void) {
  test_device_set_budget(NULL);
  test_budget_deinit(&budget);
  test_device_optimise(true);
  close_device();
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_TIMEOUT(600);

/* Covers the variants that the tables build on, once, whichever test comes
 * first. */
static void cover(void) {
  static bool is_covered;
  if (is_covered) {
    return;
  }
  is_covered = true;
  if (!bytes_is_all()) {
    test_device_set_budget(&budget);
  }
  const bool is_low = test_thresholds_are_low();
  if (is_low && !bytes_is_all()) {
    test_device_optimise(false);
    return;
  }
  const int32_t stride = TEST_IS_SANITIZED ? 12 : 1;
  const bool is_other = !test_is_pocl(device.context) || is_low;
  const test_cover of_cpu = {
      .filter = is_of_cpu, .optimises_few = true, .skips_undeclared = is_other};
  const test_cover of_gpu = {.filter = is_of_gpu, .skips_undeclared = is_other};
  bytes_slanted_guard();
  if (!test_device_is_gpu(&device)) {
    test_variants_run(&device, &of_cpu, 200, stride);
  }
  test_device_optimise(false);
  bytes_gpu_ends();
  test_variants_run(&device, &of_gpu, 80, stride);
}

RLO_TEST(test_device_bytes__each_constant_is_exact) {
  cover();
}

RLO_TABLE_TEST(test_device_bytes__tables_are_exact, tables) {
  const table *t = &tables[_i];
  cover();
  if (bytes_is_all()) {
    t->run();
    return;
  }
  test_random random = test_random_begin("test_device_bytes");
  test_budget_enter(&budget, TEST_BUDGET_LISTING);
  t->run();
  int64_t listed = budget.num_listed;
  int64_t drawn = test_budget_draw(&budget, TEST_IS_SANITIZED ? 1 : t->num_drawn, random.state);
  test_budget_enter(&budget, TEST_BUDGET_CLOSED);
  t->run();
  printf("%s: %lld cases ran, %lld were left; %lld of %lld other programs\n", t->name,
         (long long)budget.num_taken, (long long)budget.num_left, (long long)drawn,
         (long long)listed);
  /* Those of the CPU class alone are not for GPUs. */
  ck_assert(budget.num_taken > 0 || test_device_is_gpu(&device));
}

RLO_TEST(test_device_bytes__compiles_no_more_than_its_budget) {
  rlo_context_stats stats = test_context_stats(device.context);
  expect_programs_within(MAX_PROGRAMS);
  if (!bytes_is_all()) {
    /* Cases are free only as long as none compiles what the budget does not
     * know of. */
    ck_assert_int_le(stats.programs_built, budget.num_known);
  }
}
