/* SPDX-License-Identifier: Apache-2.0 */
#include "support/variants.h"
#include "support/expect.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "support/low_thresholds.h"
#include "support/plan_case.h"
#include "support/variants_table.h"

enum { NUM_UNITS = 5, LINE_BYTES = 64 };

/* ------------------------------------------------------------------ numbers */

static int32_t numbers_of(const test_constant *c) {
  return c->num_values * (c->is_per_unit ? NUM_UNITS : 1);
}

int32_t test_variants_count(void) {
  int32_t count = 0;
  for (int32_t n = 0; n < test_num_constants; ++n) {
    count += numbers_of(&test_constants[n]);
  }
  ck_assert_int_le(count, TEST_MAX_VARIANTS);
  return count;
}

const char *test_variant_name(int32_t number) {
  static char name[128];
  int32_t n = 0;
  for (; number >= numbers_of(&test_constants[n]); ++n) {
    number -= numbers_of(&test_constants[n]);
  }
  const test_constant *c = &test_constants[n];
  int length = snprintf(name, sizeof name, "%s %s=%lld", c->kernel_file, c->name,
                        (long long)c->values[number % c->num_values]);
  if (c->is_per_unit && length > 0) {
    snprintf(name + length, sizeof name - (size_t)length, ", units of %d bytes",
             1 << number / c->num_values);
  }
  return name;
}

bool test_variant_set_has(const test_variant_set *set, int32_t number) {
  return (set->words[number / 64] >> (number % 64) & 1) != 0;
}

int32_t test_variant_set_count_new(const test_variant_set *set, const test_variant_set *beside) {
  int32_t count = 0;
  for (size_t w = 0; w < sizeof set->words / sizeof set->words[0]; ++w) {
    count += __builtin_popcountll(set->words[w] & ~beside->words[w]);
  }
  return count;
}

void test_variant_set_add(test_variant_set *set, const test_variant_set *other) {
  for (size_t w = 0; w < sizeof set->words / sizeof set->words[0]; ++w) {
    set->words[w] |= other->words[w];
  }
}

/* ----------------------------------------------------------------- launches */

static int64_t unit_bytes_of(const rlo__launch *launch) {
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    if (strcmp(launch->defines[d].name, "RLO_UNIT_BYTES") == 0) {
      return launch->numbers[launch->defines[d].first];
    }
  }
  ck_abort_msg("a launch of %s has no unit", launch->kernel_file);
  return 0;
}

static int64_t read_value(test_reading how, int64_t value, int64_t unit_bytes) {
  switch (how) {
    case IN_LINES:
      return value * unit_bytes / LINE_BYTES;
    case IS_ANY:
      return value > 0;
    case IS_MANY:
      return value > 1;
    case IS_LINE:
      return value == LINE_BYTES;
    case AS_IS:
    case IGNORED:
      break;
  }
  return value;
}

static bool is_constant(const test_constant *c, const char *file, const char *name) {
  return strcmp(c->name, name) == 0 && strcmp(c->kernel_file, file) == 0;
}

/* A constant of the table; test_num_constants: not declared. Launches come by
 * the hundred thousand, most of them with the constants of the one before. */
static int32_t find_constant(const char *file, const char *name, int32_t nth) {
  static int32_t last[RLO__LAUNCH_MAX_DEFINES];
  if (is_constant(&test_constants[last[nth]], file, name)) {
    return last[nth];
  }
  for (int32_t n = 0; n < test_num_constants; ++n) {
    if (is_constant(&test_constants[n], file, name)) {
      last[nth] = n;
      return n;
    }
  }
  return test_num_constants;
}

/* The number of the variant that a launch's nth constant makes; -1: nothing to
 * tell, -2: not declared. */
static int32_t find_number(const char *file, const char *name, int32_t nth, int64_t value,
                           int64_t unit_bytes) {
  const int32_t found = find_constant(file, name, nth);
  if (found == test_num_constants) {
    return -2;
  }
  const test_constant *c = &test_constants[found];
  if (c->reading == IGNORED) {
    return -1;
  }
  int32_t before = 0;
  for (int32_t n = 0; n < found; ++n) {
    before += numbers_of(&test_constants[n]);
  }
  int64_t read = read_value(c->reading, value, unit_bytes);
  int32_t unit = c->is_per_unit ? __builtin_ctzll((uint64_t)unit_bytes) : 0;
  for (int32_t v = 0; v < c->num_values; ++v) {
    if (c->values[v] == read) {
      return before + unit * c->num_values + v;
    }
  }
  return -2;
}

bool test_variants_of(const rlo__launch *launch, test_variant_set *out_set) {
  memset(out_set, 0, sizeof *out_set);
  int64_t unit_bytes = unit_bytes_of(launch);
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    const rlo__define *define = &launch->defines[d];
    int64_t value = define->count > 0 ? launch->numbers[define->first] : 0;
    int32_t number = find_number(launch->kernel_file, define->name, d, value, unit_bytes);
    if (number == -2) {
      if (!test_thresholds_are_low()) {
        printf("tests/support/variants_table.c does not declare %s %s=%lld\n", launch->kernel_file,
               define->name, (long long)value);
      }
      return false;
    }
    if (number >= 0) {
      out_set->words[number / 64] |= UINT64_C(1) << (number % 64);
    }
  }
  return true;
}

/* -------------------------------------------------------------------- cases */

/** False if the family refuses the problem. */
static bool plan_case(const rlo_device_info *device, const rlo_problem *problem,
                      const test_variant_case *c, test_variant_fn fn, void *payload) {
  static rlo_problem scratch;
  static rlo__launch launch;
  scratch = *problem;
  int64_t element_bytes = (int64_t)1 << c->width;
  int64_t alignment = c->is_aligned ? LINE_BYTES : element_bytes;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = c->family->name;
  options.device_class = c->family->device_class;
  options.schedule = c->schedule->name;
  rlo_status status =
      test_plan_choose(&scratch, device, &options, alignment, alignment, NULL, &launch);
  if (status == RLO_UNSUPPORTED || rlo_problem_is_empty(&scratch)) {
    return false;
  }
  /* Check writes to a file at each assertion, passed or not. */
  if (status != RLO_OK) {
    ck_abort_msg("%s to %s by %s: %s", c->pair->src, c->pair->dst, c->family->name,
                 rlo_error_last()->message);
  }
  fn(payload, c, &launch);
  return true;
}

static void each_of_pair(const rlo_device_info *device, const test_pair *pair,
                         test_variant_filter filter, test_variant_fn fn, void *payload) {
  static rlo_problem problem;
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  for (int32_t width = 0; width < NUM_UNITS; ++width) {
    test_pair_shapes(pair, test_dtypes[width], &src, &dst, permutation);
    expect_ok(rlo_relayout_lower(&src, &dst, permutation, &problem));
    for (int32_t f = 0; f < rlo__num_families; ++f) {
      for (int32_t aligned = 0; aligned < 2; ++aligned) {
        /* A family that refuses a case by its own schedule, the first, refuses
         * it by all. */
        bool is_refused = false;
        for (int32_t w = 0; w < rlo__num_schedules && !is_refused; ++w) {
          const test_variant_case c = {.pair = pair,
                                       .width = width,
                                       .family = rlo__families[f],
                                       .schedule = &rlo__schedules[w],
                                       .is_aligned = aligned != 0};
          if (filter != NULL && !filter(&c)) {
            continue;
          }
          is_refused = !plan_case(device, &problem, &c, fn, payload) && w == 0;
        }
      }
    }
  }
}

void test_variants_each(const rlo_device_info *device, bool is_small, test_variant_filter filter,
                        test_variant_fn fn, void *payload) {
  for (int32_t p = 0; p < test_num_pairs; ++p) {
    if (test_pairs[p].is_small || !is_small) {
      each_of_pair(device, &test_pairs[p], filter, fn, payload);
    }
  }
  for (int32_t p = 0; p < test_num_variant_pairs; ++p) {
    each_of_pair(device, &test_variant_pairs[p], filter, fn, payload);
  }
}

/* The kinds of case there are: the first case with each set of variants, found
 * again by a table of numbers, 0: free. */
typedef struct kinds {
  const test_cover *cover;
  test_variant_case *cases;
  test_variant_set *sets;
  /** For a simulator; else all the same. */
  int64_t *costs;
  int32_t count;
  int32_t capacity;
  int32_t numbers[1 << 16];
} kinds;

static uint32_t hash_set(const test_variant_set *set) {
  uint64_t hash = 0;
  for (size_t w = 0; w < sizeof set->words / sizeof set->words[0]; ++w) {
    hash = (hash ^ set->words[w]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  return (uint32_t)hash;
}

void test_variant_set_merge(test_variant_set *set, int32_t most_values) {
  test_variant_set merged;
  memset(&merged, 0, sizeof merged);
  int32_t before = 0;
  for (int32_t n = 0; n < test_num_constants; ++n) {
    const test_constant *c = &test_constants[n];
    bool is_width = strcmp(c->name, "RLO_UNIT_BYTES") == 0;
    for (int32_t k = 0; k < numbers_of(c); ++k) {
      if (!is_width && test_variant_set_has(set, before + k)) {
        int32_t value = k % c->num_values;
        int32_t number = before + (value < most_values ? value : most_values - 1);
        merged.words[number / 64] |= UINT64_C(1) << (number % 64);
      }
    }
    before += numbers_of(c);
  }
  *set = merged;
}

int64_t test_variant_case_elements(const test_variant_case *c) {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  int64_t elements = 1;
  test_pair_shapes(c->pair, test_dtypes[c->width], &src, &dst, permutation);
  for (int32_t k = 0; k < src.rank; ++k) {
    elements *= src.dims[k];
  }
  return elements;
}

/* The time of a case in a simulator, compiling included. A case that is too
 * small for its kernel comes after all others. */
static int64_t cost_of(const test_variant_case *c) {
  enum { MIN_ELEMENTS = 400, COMPILING = 2000 };

  int64_t elements = test_variant_case_elements(c);
  return elements < MIN_ELEMENTS ? INT32_MAX : elements + COMPILING;
}

static void note_kind(void *payload, const test_variant_case *c, const rlo__launch *launch) {
  kinds *into = payload;
  const size_t size = sizeof into->numbers / sizeof into->numbers[0];
  test_variant_set set;
  const test_cover *cover = into->cover;
  if (cover->watch != NULL) {
    cover->watch(NULL, c, launch);
  }
  if (!test_variants_of(launch, &set)) {
    ck_assert(cover->skips_undeclared);
    return;
  }
  if (cover->merges_widths != NULL && cover->merges_widths(c)) {
    test_variant_set_merge(&set, MAX_VALUES);
  }
  size_t place = hash_set(&set) % size;
  for (; into->numbers[place] != 0; place = (place + 1) % size) {
    const test_variant_set *known = &into->sets[into->numbers[place] - 1];
    if (memcmp(known, &set, sizeof set) == 0) {
      int32_t kind = into->numbers[place] - 1;
      if (cover->is_small && cost_of(c) < into->costs[kind]) {
        into->cases[kind] = *c;
        into->costs[kind] = cost_of(c);
      }
      return;
    }
  }
  if (into->count == into->capacity) {
    into->capacity = into->capacity == 0 ? 1024 : 2 * into->capacity;
    size_t capacity = (size_t)into->capacity;
    into->cases = realloc(into->cases, capacity * sizeof *into->cases);
    into->sets = realloc(into->sets, capacity * sizeof *into->sets);
    into->costs = realloc(into->costs, capacity * sizeof *into->costs);
    ck_assert(into->cases != NULL && into->sets != NULL && into->costs != NULL);
  }
  ck_assert_uint_lt((size_t)into->count, size / 2);
  into->cases[into->count] = *c;
  into->sets[into->count] = set;
  into->costs[into->count] = cover->is_small ? cost_of(c) : 1;
  into->numbers[place] = ++into->count;
}

/* Finds, among the kinds that have a variant, or all where it is -1, the one
 * with most that is new for what it costs; -1: none has anything. */
static int32_t find_best(const kinds *all, int32_t variant, const test_variant_set *reached) {
  int32_t best = -1;
  int32_t most_new = 0;
  for (int32_t n = 0; n < all->count; ++n) {
    if (variant >= 0 && !test_variant_set_has(&all->sets[n], variant)) {
      continue;
    }
    int32_t num_new = test_variant_set_count_new(&all->sets[n], reached);
    if (num_new > 0 && (best < 0 || num_new * all->costs[best] > most_new * all->costs[n])) {
      most_new = num_new;
      best = n;
    }
  }
  return best;
}

/* The variant, of those that are not reached, that the fewest kinds have; -1:
 * all are reached. */
static int32_t find_rarest(const int32_t *num_holders, const test_variant_set *reached) {
  int32_t rarest = -1;
  for (int32_t v = 0; v < TEST_MAX_VARIANTS; ++v) {
    if (num_holders[v] > 0 && !test_variant_set_has(reached, v) &&
        (rarest < 0 || num_holders[v] < num_holders[rarest])) {
      rarest = v;
    }
  }
  return rarest;
}

/* Keeps few kinds that together have every variant: for the rarest that is
 * missing, whatever else is chosen, one of the few that have it is needed. */
static void keep_cover(kinds *all) {
  static int32_t num_holders[TEST_MAX_VARIANTS];
  memset(num_holders, 0, sizeof num_holders);
  for (int32_t n = 0; n < all->count; ++n) {
    for (int32_t v = 0; v < TEST_MAX_VARIANTS; ++v) {
      num_holders[v] += test_variant_set_has(&all->sets[n], v);
    }
  }
  test_variant_set reached = {{0}};
  int32_t count = 0;
  for (int32_t v; (v = find_rarest(num_holders, &reached)) >= 0; ++count) {
    /* Those before it are kept; it changes places with one that is not. */
    const int32_t best = find_best(all, v, &reached);
    const test_variant_case c = all->cases[best];
    const test_variant_set set = all->sets[best];
    const int64_t cost = all->costs[best];
    all->cases[best] = all->cases[count];
    all->sets[best] = all->sets[count];
    all->costs[best] = all->costs[count];
    all->cases[count] = c;
    all->sets[count] = set;
    all->costs[count] = cost;
    test_variant_set_add(&reached, &set);
  }
  all->count = count;
}

int32_t test_variants_cover(const rlo_device_info *device, const test_cover *cover,
                            test_variant_case *out_cases, test_variant_set *out_sets,
                            int32_t capacity, test_variant_set *out_reached) {
  static kinds all;
  memset(&all, 0, sizeof all);
  all.cover = cover;
  test_variants_each(device, cover->is_small, cover->filter, note_kind, &all);
  memset(out_reached, 0, sizeof *out_reached);
  if (cover->is_small) {
    /* A simulator takes its time for each. On a device the cases whose programs
     * many others share, which are chosen below, are worth more. */
    keep_cover(&all);
  }
  int32_t count = 0;
  for (int32_t best; (best = find_best(&all, -1, out_reached)) >= 0;) {
    ck_assert_int_lt(count, capacity);
    out_sets[count] = all.sets[best];
    out_cases[count++] = all.cases[best];
    test_variant_set_add(out_reached, &all.sets[best]);
  }
  free(all.cases);
  free(all.sets);
  free(all.costs);
  return count;
}
