/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/planner.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

enum { TABLE = 0x7ab1e };

static rlo__wisdom wisdom;
static rlo_problem problem;
static rlo_device_info device;
static rlo__choice choice;
static rlo__launch launch;

static void begin(void) {
  device = test_plan_cpu();
  rlo__wisdom_init("cpu\tof a kind", "3.1", TABLE, &wisdom);
}

static void end(void) {
  rlo__wisdom_deinit(&wisdom);
}

RLO_FIXTURE(begin, end);

/* A request for the problem as it stands; what it borrows is static. */
static rlo__family_query request_for(int64_t alignment_bytes) {
  return (rlo__family_query){.problem = &problem,
                             .device = &device,
                             .src_alignment_bytes = alignment_bytes,
                             .dst_alignment_bytes = alignment_bytes};
}

static void lower(const char *src, const char *dst) {
  test_plan_lower(src, dst, NULL, &problem);
  expect_ok(rlo_problem_canonicalize(&problem, 128, NULL, NULL));
}

static void remember(const rlo__family *family, const char *schedule, double value) {
  rlo__family_query request = request_for(128);
  rlo__wisdom_entry entry =
      rlo__wisdom_entry_of(&request, family, rlo__schedule_find(schedule), value);
  expect_ok(rlo__wisdom_put(&wisdom, &entry));
}

static const rlo__wisdom_entry *recall(int64_t alignment_bytes) {
  rlo__family_query request = request_for(alignment_bytes);
  rlo__wisdom_key key = rlo__wisdom_key_of(&request, RLO_DEVICE_CLASS_CPU);
  return rlo__wisdom_find(&wisdom, &key);
}

static char *export_with(const char *others) {
  rlo__str text = rlo__str_growing();
  expect_ok(rlo__wisdom_export(&wisdom, others, others == NULL ? 0 : strlen(others), &text));
  char *taken = NULL;
  expect_ok(rlo__str_take(&text, &taken));
  return taken;
}

static int64_t known(const rlo__wisdom *by) {
  return (int64_t)by->entries.count;
}

static void plan(const rlo_plan_options *options) {
  const rlo__plan_request request = {
      .problem = &problem, .device = &device, .options = options, .wisdom = &wisdom};
  expect_ok(rlo__planner_choose(&request, &choice, &launch));
}

RLO_TEST(test_wisdom__is_found_by_problem_class_and_alignment) {
  lower("f32[300,200]", "f32[300,200]{0,1}");
  ck_assert_ptr_null(recall(64));
  remember(&rlo__family_cpu_tile, "tile 8x8", 0.5);
  ck_assert_ptr_nonnull(recall(64));
  ck_assert_ptr_nonnull(recall(4096)); /* more than a line is a line */
  ck_assert_ptr_null(recall(4));
  rlo__family_query request = request_for(64);
  rlo__wisdom_key gpu = rlo__wisdom_key_of(&request, RLO_DEVICE_CLASS_GPU);
  ck_assert_ptr_null(rlo__wisdom_find(&wisdom, &gpu));
  /* The smaller of the two alignments counts. */
  request.dst_alignment_bytes = 4;
  rlo__wisdom_key uneven = rlo__wisdom_key_of(&request, RLO_DEVICE_CLASS_CPU);
  ck_assert_ptr_null(rlo__wisdom_find(&wisdom, &uneven));
  lower("f32[300,201]", "f32[300,201]{0,1}");
  ck_assert_ptr_null(recall(64));
}

RLO_TEST(test_wisdom__the_later_record_wins) {
  lower("f32[300,200]", "f32[300,200]{0,1}");
  remember(&rlo__family_cpu_tile, "tile 8x8", 0.5);
  remember(&rlo__family_cpu_gather, "default", 0.25);
  ck_assert_int_eq(known(&wisdom), 1);
  ck_assert_str_eq(recall(64)->family->name, "gather");
  ck_assert_double_eq(recall(64)->fraction, 0.25);
}

RLO_TEST(test_wisdom__is_bounded) {
  rlo__wisdom_entry entry = {.family = &rlo__family_cpu_tile, .schedule = &rlo__schedules[0]};
  for (uint64_t n = 0; n < RLO__WISDOM_MAX_ENTRIES; ++n) {
    entry.key.problem.high = n * UINT64_C(0x9e3779b97f4a7c15);
    expect_ok(rlo__wisdom_put(&wisdom, &entry));
  }
  /* One that is known is replaced all the same. */
  expect_ok(rlo__wisdom_put(&wisdom, &entry));
  entry.key.problem.high ^= 1;
  ck_assert_int_eq(rlo__wisdom_put(&wisdom, &entry), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(known(&wisdom), RLO__WISDOM_MAX_ENTRIES);
}

/* Every part of a key tells records apart, so that each is found again whatever
 * came before and after it. */
RLO_TEST(test_wisdom__finds_each_of_keys_that_differ_in_one_part) {
  static const int64_t alignments[] = {8, 64, 1, 16, 4, 32, 2};

  enum { PARTS = 3, KEYS = 7 * PARTS * PARTS };

  rlo__wisdom_key keys[KEYS];
  for (int32_t n = 0; n < KEYS; ++n) {
    keys[n].problem.high = (uint64_t)(n * 2 % PARTS);
    keys[n].problem.low = (uint64_t)(n / PARTS * 2 % PARTS);
    keys[n].alignment_bytes = alignments[n / PARTS / PARTS];
    const rlo__wisdom_entry entry = {.key = keys[n],
                                     .family = &rlo__family_cpu_tile,
                                     .schedule = &rlo__schedules[0],
                                     .fraction = n};
    expect_ok(rlo__wisdom_put(&wisdom, &entry));
    for (int32_t k = 0; k < KEYS; ++k) {
      const rlo__wisdom_entry *found = k <= n ? rlo__wisdom_find(&wisdom, &keys[k]) : NULL;
      ck_assert(k > n || (found != NULL && found->fraction == k));
    }
  }
  ck_assert_int_eq(known(&wisdom), KEYS);
}

/* Wisdom decides; what the families say by themselves is told all the same. */
RLO_TEST(test_wisdom__explains_as_without) {
  static rlo__choice without;
  lower("f32[3000,2000]", "f32[3000,2000]{0,1}");
  rlo__plan_request request = {
      .problem = &problem, .device = &device, .wisdom = &wisdom, .is_explaining = true};
  expect_ok(rlo__planner_choose(&request, &without, &launch));
  ck_assert_int_eq(without.decision, RLO_PLAN_DECISION_ESTIMATE);
  remember(&rlo__family_cpu_tile, "tile 8x8", 0.5);
  expect_ok(rlo__planner_choose(&request, &choice, &launch));
  ck_assert_int_eq(choice.decision, RLO_PLAN_DECISION_WISDOM);
  ck_assert_str_eq(choice.family->name, "tile");
  ck_assert_ptr_eq(choice.schedule, rlo__schedule_find("tile 8x8"));
  ck_assert_int_gt(choice.num_candidates, 5);
  ck_assert_int_eq(choice.num_candidates, without.num_candidates);
  for (int32_t n = 0; n < choice.num_candidates; ++n) {
    const rlo_plan_candidate *c = &choice.candidates[n];
    const rlo_plan_candidate *w = &without.candidates[n];
    ck_assert_str_eq(c->family, w->family);
    ck_assert_str_eq(c->reason, w->reason);
    ck_assert_double_eq(c->predicted_fraction, w->predicted_fraction);
  }
}

RLO_TEST(test_wisdom__text_is_as_the_header_tells) {
  lower("f32[300,200]", "f32[300,200]{0,1}");
  remember(&rlo__family_cpu_tile, "tile 8x8", 0.8706);
  const rlo__wisdom_entry *entry = recall(64);
  char expected[512];
  snprintf(expected, sizeof expected,
           "relayout-wisdom\t1\n"
           "device\tcpu of a kind\t3.1\t000000000007ab1e\n"
           "%016llx%016llx\t64\t0.871\tcpu\ttile\ttile 8x8\t"
           "32 bits, 200 x 300\n",
           (unsigned long long)entry->key.problem.high, (unsigned long long)entry->key.problem.low);
  char *text = export_with(NULL);
  ck_assert_str_eq(text, expected);
  rlo__free(text);
}

RLO_TEST(test_wisdom__goes_out_and_comes_in) {
  static const char *const sources[] = {"f32[300,200]", "u8[64,64]", "bf16[7,9,11]", "f64[2,2,2]"};
  for (size_t n = 0; n < sizeof sources / sizeof sources[0]; ++n) {
    lower(sources[n], sources[n]);
    remember(rlo__families[n], rlo__schedules[n].name, (double)n / 8);
  }
  char *text = export_with(NULL);
  rlo__wisdom other;
  rlo__wisdom_init("cpu of a kind", "3.1", TABLE, &other);
  rlo__wisdom_count count;
  expect_ok(rlo__wisdom_import(&other, text, strlen(text), &count));
  ck_assert_int_eq(count.num_taken, known(&wisdom));
  ck_assert_int_eq(count.num_ignored, 0);
  ck_assert_int_eq(known(&other), known(&wisdom));
  for (rlo__wisdom_entry *a = rlo__table_oldest(&wisdom.entries); a != NULL;
       a = rlo__table_newer(&wisdom.entries, a)) {
    const rlo__wisdom_entry *b = rlo__wisdom_find(&other, &a->key);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_eq(a->family, b->family);
    ck_assert_ptr_eq(a->schedule, b->schedule);
    ck_assert_double_eq_tol(a->fraction, b->fraction, 0.0006);
    ck_assert_str_eq(a->note, b->note);
  }
  rlo__wisdom_deinit(&other);
  rlo__free(text);
}

/* Names of devices may hold any bytes; fields of the text may not. */
RLO_TEST(test_wisdom__names_have_no_control_characters) {
  rlo__wisdom named;
  rlo__wisdom_init(
      "a\tb\x7f"
      "c\x1f~",
      "\n1 \x80", TABLE, &named);
  ck_assert_str_eq(named.device, "a b c ~");
  ck_assert_str_eq(named.driver, " 1 \x80");
  rlo__wisdom_deinit(&named);
}

/* A machine that stood still meanwhile may have measured anything. */
RLO_TEST(test_wisdom__any_fraction_can_be_read_again) {
  static const struct {
    double put, got;
  } fractions[] = {{1e9, 1000.0},      {HUGE_VAL, 1000.0}, {1000.7, 1000.0},
                   {999.9996, 1000.0}, {-1.0, 0.0},        {(double)NAN, 0.0}};

  lower("f32[300,200]", "f32[300,200]{0,1}");
  for (size_t n = 0; n < sizeof fractions / sizeof fractions[0]; ++n) {
    remember(&rlo__family_cpu_tile, "tile 8x8", fractions[n].put);
    char *text = export_with(NULL);
    rlo__wisdom_count count;
    expect_ok(rlo__wisdom_import(&wisdom, text, strlen(text), &count));
    ck_assert_int_eq(count.num_taken, 1);
    ck_assert_double_eq(recall(64)->fraction, fractions[n].got);
    rlo__free(text);
  }
}

#define PROBLEM "0123456789abcdef0123456789abcdef"
#define HEAD    "relayout-wisdom\t1\ndevice\tcpu of a kind\t3.1\t"
#define GOOD    HEAD "000000000007ab1e\n"
#define RECORD  PROBLEM "\t64\t0.871\tcpu\ttile\tdefault\tnote\n"

static const struct {
  const char *text;
  int32_t num_taken;
  int32_t num_ignored;
} imports[] = {
    {GOOD PROBLEM "\t1\t0.871\tcpu\ttile\tdefault\tnote\n", 1, 0},
    {GOOD PROBLEM "\t2\t0.871\tcpu\ttile\tdefault\tnote\n", 1, 0},
    {GOOD RECORD, 1, 0},
    {GOOD "\n# a remark\n" RECORD, 1, 0},
    {"relayout-wisdom\t1\n", 0, 0},
    /* Wisdom of another table, driver, device. */
    {HEAD "000000000007ab1f\n" RECORD, 0, 1},
    {"relayout-wisdom\t1\ndevice\tcpu of a "
     "kind\t3.2\t000000000007ab1e\n" RECORD,
     0, 1},
    {"relayout-wisdom\t1\ndevice\tcpu\t3.1\t000000000007ab1e\n" RECORD, 0, 1},
    /* Lines that name no family and no schedule. */
    {GOOD PROBLEM "\t64\t0.871\tcpu\tweave\tdefault\tnote\n", 0, 1},
    {GOOD PROBLEM "\t64\t0.871\tcpu\ttile\tsideways\tnote\n", 0, 1},
    {GOOD PROBLEM "\t64\t0.871\tgpu\tgather_rows\tdefault\tnote\n", 0, 1},
    {GOOD PROBLEM "\t64\t0.871\tcpu\ttile\tdefault\t\n", 1, 0},
    /* Families by the names that they had once: passed over. */
    {GOOD PROBLEM "\t64\t0.871\tcpu\tturn\tdefault\tnote\n" PROBLEM
                  "\t32\t0.871\tcpu\tstream\tdefault\tnote\n" PROBLEM
                  "\t16\t0.871\tcpu\treduce\tdefault\tnote\n" PROBLEM
                  "\t8\t0.871\tcpu\tlookup\tdefault\tnote\n" RECORD,
     1, 4},
};

RLO_TABLE_TEST(test_wisdom__takes_what_is_its_own, imports) {
  rlo__wisdom_count count;
  expect_ok(rlo__wisdom_import(&wisdom, imports[_i].text, strlen(imports[_i].text), &count));
  ck_assert_int_eq(count.num_taken, imports[_i].num_taken);
  ck_assert_int_eq(count.num_ignored, imports[_i].num_ignored);
  ck_assert_int_eq(known(&wisdom), imports[_i].num_taken);
}

static const struct {
  const char *text;
  const char *words;
} refusals[] = {
    {"", "line 1 of the wisdom has no end"},
    {"relayout-wisdom\t2\n", "line 1 of the wisdom is not the title"},
    {"relayout-wisdom\t1", "line 1 of the wisdom has no end"},
    {"relayout-wisdom\t1\n" RECORD, "line 2 of the wisdom is a record before"},
    {"relayout-wisdom\t1\ndevice\tx\t1\n", "line 2 of the wisdom is no device"},
    {"relayout-wisdom\t1\ndevice\tx\t1\t12\n", "line 2 of the wisdom has no t"},
    {"relayout-wisdom\t1\ndevice\tx\t1\t000000000007AB1E\n", "no table of 16"},
    {GOOD "nonsense\n", "line 3 of the wisdom is no record of seven fields"},
    {GOOD PROBLEM "0\t64\t0.871\tcpu\ttile\tdefault\t\n", "no problem of 32"},
    {GOOD ".123456789abcdef0123456789abcdef\t64\t0.871\tcpu\ttile\tdefault\t\n",
     "no problem of 32"},
    {GOOD "0123456789abcdef0123456789abcdeg\t64\t0.871\tcpu\ttile\tdefault\t\n",
     "no problem of 32"},
    {GOOD PROBLEM "\t\t0.871\tcpu\ttile\tdefault\t\n", "no power of two"},
    {GOOD PROBLEM "\t65\t0.871\tcpu\ttile\tdefault\t\n", "no power of two"},
    {GOOD PROBLEM "\t0\t0.871\tcpu\ttile\tdefault\t\n", "no power of two"},
    {GOOD PROBLEM "\t3\t0.871\tcpu\ttile\tdefault\t\n", "no power of two"},
    {GOOD PROBLEM "\t48\t0.871\tcpu\ttile\tdefault\t\n", "no power of two"},
    {GOOD PROBLEM "\t64x\t0.871\tcpu\ttile\tdefault\t\n", "no power of two"},
    {GOOD PROBLEM "\t64\t.871\tcpu\ttile\tdefault\t\n", "no fraction"},
    {GOOD PROBLEM "\t64\t0.87\tcpu\ttile\tdefault\t\n", "no fraction"},
    {GOOD PROBLEM "\t64\tnan\tcpu\ttile\tdefault\t\n", "no fraction"},
    {GOOD PROBLEM "\t64\t9999999999.000\tcpu\ttile\tdefault\t\n", "no fract"},
    {GOOD PROBLEM "\t64\t0,871\tcpu\ttile\tdefault\t\n", "no fraction"},
    {GOOD PROBLEM "\t64\t0.8715\tcpu\ttile\tdefault\t\n", "no fraction"},
    {GOOD PROBLEM "\t64\t0.871x\tcpu\ttile\tdefault\t\n", "no fraction"},
    {GOOD PROBLEM "\t64\t1001.000\tcpu\ttile\tdefault\t\n", "no fraction"},
    {GOOD PROBLEM "\t64\t0.871\tfpga\ttile\tdefault\t\n", "neither cpu nor"},
    {GOOD PROBLEM "\t64\t0.871\tcpu\t\tdefault\t\n", "names no family"},
    {GOOD PROBLEM "\t64\t0.871\tcpu\ttile\t\t\n", "names no family or no sch"},
    {GOOD PROBLEM "\t64\t0.871\tcpu\ttile\tdefault\t\x01\n", "control char"},
    {GOOD PROBLEM "\t64\t0.871\tcpu\ttile\tdefault\t\x7f\n", "control char"},
    {GOOD RECORD RECORD PROBLEM, "line 5 of the wisdom has no end"},
};

RLO_TABLE_TEST(test_wisdom__a_wrong_text_changes_nothing, refusals) {
  rlo__wisdom_count count;
  const char *text = refusals[_i].text;
  ck_assert_int_eq(rlo__wisdom_import(&wisdom, text, strlen(text), &count), RLO_PARSE);
  ck_assert_msg(strstr(rlo_error_last()->message, refusals[_i].words) != NULL, "%s",
                rlo_error_last()->message);
  ck_assert_int_eq(known(&wisdom), 0);
}

/* A file that was cut anywhere shows it, or is whole up to a line's end. */
RLO_TEST(test_wisdom__a_cut_text_is_no_other_text) {
  static const char text[] = GOOD RECORD RECORD;
  for (size_t n = 0; n < sizeof text - 1; ++n) {
    char *exact = malloc(n == 0 ? 1 : n);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, n);
    rlo__wisdom_count count;
    bool is_line_end = n > 0 && text[n - 1] == '\n';
    ck_assert_int_eq(rlo__wisdom_import(&wisdom, exact, n, &count),
                     is_line_end ? RLO_OK : RLO_PARSE);
    free(exact);
  }
}

#define OTHER "ffffffffffffffffffffffffffffffff\t64\t0.500\tcpu\ttile\tdefault\t\n"

RLO_TEST(test_wisdom__what_others_know_is_kept) {
  static const char own[] = GOOD RECORD;
  rlo__wisdom_count count;
  expect_ok(rlo__wisdom_import(&wisdom, own, sizeof own - 1, &count));
  /* The wisdom tells what is known of this device, and what was measured
   * with other kernels is dropped. */
  char *text = export_with(
      "relayout-wisdom\t1\n"
      "device\tgpu\t9\t0000000000000001\n" RECORD RECORD
      "device\tcpu of a kind\t3.1\t0000000000000002\n" RECORD OTHER
      "device\tcpu of a kind\t3.1\t000000000007ab1e\n" RECORD OTHER
      "device\tcpu of a kind\t3.2\t0000000000000003\n" RECORD);
  ck_assert_str_eq(text, GOOD RECORD "device\tgpu\t9\t0000000000000001\n" RECORD RECORD
                                     "device\tcpu of a kind\t3.1\t000000000007ab1e\n" OTHER
                                     "device\tcpu of a kind\t3.2\t0000000000000003\n" RECORD);
  rlo__free(text);
  /* Another name, and another driver, of the same table. */
  static const char of_one_table[] =
      "relayout-wisdom\t1\n"
      "device\tgpu\t9\t0000000000000001\n" RECORD "device\tcpu\t9\t0000000000000001\n" RECORD
      "device\tcpu\t10\t0000000000000001\n" RECORD "device\tcpu\t10\t0000000000000001\n" RECORD;
  text = export_with(of_one_table);
  ck_assert_str_eq(text, GOOD RECORD "device\tgpu\t9\t0000000000000001\n" RECORD
                                     "device\tcpu\t9\t0000000000000001\n" RECORD
                                     "device\tcpu\t10\t0000000000000001\n" RECORD RECORD);
  rlo__free(text);
  /* One that is wrong at its end is refused. */
  static const char wrong[] = GOOD RECORD "?";
  rlo__str unread = rlo__str_over(NULL, 0);
  ck_assert_int_eq(rlo__wisdom_export(&wisdom, wrong, sizeof wrong - 1, &unread), RLO_PARSE);
}

/* A file that is merged holds no more records of a device than can be read. */
RLO_TEST(test_wisdom__what_is_merged_is_bounded) {
  rlo__wisdom_entry entry = {.family = &rlo__family_cpu_tile, .schedule = &rlo__schedules[0]};
  for (uint64_t n = 0; n < RLO__WISDOM_MAX_ENTRIES; ++n) {
    entry.key.problem.low = n;
    expect_ok(rlo__wisdom_put(&wisdom, &entry));
  }
  static const char one_more[] = GOOD RECORD;
  rlo__str unread = rlo__str_over(NULL, 0);
  ck_assert_int_eq(rlo__wisdom_export(&wisdom, one_more, sizeof one_more - 1, &unread),
                   RLO_OUT_OF_RANGE);
}

RLO_TEST(test_wisdom__decides_plans) {
  lower("f32[2048,2048]", "f32[2048,2048]{0,1}");
  remember(&rlo__family_cpu_tile, "tile 4x4", 0.75);
  plan(NULL);
  ck_assert_int_eq(choice.decision, RLO_PLAN_DECISION_WISDOM);
  ck_assert_str_eq(choice.schedule->name, "tile 4x4");
  ck_assert_double_eq(choice.measured_fraction, 0.75);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_TILE_B"), 64);
  /* A caller who names a family or a schedule gets it. */
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "gather";
  plan(&options);
  ck_assert_str_eq(choice.family->name, "gather");
  ck_assert_int_eq(choice.decision, RLO_PLAN_DECISION_FORCED);
  options.family = NULL;
  options.schedule = "tile 8x8";
  plan(&options);
  ck_assert_str_eq(choice.schedule->name, "tile 8x8");
  ck_assert_int_eq(choice.decision, RLO_PLAN_DECISION_FORCED);
}

/* Two problems with one hash: the other's plan must not be forced on this. */
RLO_TEST(test_wisdom__that_does_not_fit_is_passed_over) {
  lower("f32[2048,2048]", "f32[2048,2048]{0,1}");
  remember(&rlo__family_cpu_rows, "plain stores", 0.9);
  plan(NULL);
  ck_assert_int_eq(choice.decision, RLO_PLAN_DECISION_ESTIMATE);
  ck_assert_str_eq(choice.family->name, "tile");
  ck_assert_str_eq(choice.schedule->name, "default");
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 1);
}
