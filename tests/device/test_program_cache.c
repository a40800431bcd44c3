/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "support/device_suite.h"
#include "support/expect.h"

enum { MAX_IDLE = 4 };

static rlo__program_cache *cache;

static void create_cache(void) {
  const rlo__program_builder builder = {.context = rlo_context_cl_context(device.context),
                                        .device = rlo_context_cl_device(device.context)};
  expect_ok(rlo__program_cache_create(&builder, MAX_IDLE, &cache));
}

static void begin_file(void) {
  open_device();
  create_cache();
}

static void end_file(void) {
  rlo__program_cache_destroy(cache);
  close_device();
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_TIMEOUT(300);

/* The options make many programs of one text. */
static const char good_source[] =
    "__kernel void NAME(__global int *out) {\n"
    "  for (int i = 0; i < 100; ++i) { out[i] = i * NUMBER; }\n"
    "}\n";
static const char bad_source[] =
    "__kernel void NAME(__global int *out) {\n"
    "  out[0] = this_is_not_declared;\n"
    "}\n";

typedef struct spec_storage {
  rlo__program_spec spec;
  char options[128];
} spec_storage;

/* A source of ours, which needs no more than cl/builtins.cl, without a text of cl/. */
static const rlo__kernel_part no_parts[] = {{NULL, 0}};
static const rlo__kernel_source no_file = {.parts = no_parts};

static void make_spec(const char *source, int32_t number, spec_storage *s) {
  snprintf(s->spec.kernel_name, sizeof s->spec.kernel_name, "test_%d", (int)number);
  snprintf(s->options, sizeof s->options, "-DNAME=test_%d -DNUMBER=%d", (int)number, (int)number);
  s->spec.source = source;
  s->spec.source_bytes = strlen(source);
  s->spec.options = s->options;
  s->spec.kernel = &no_file;
}

static rlo_context_stats stats_now(void) {
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  rlo__program_cache_get_stats(cache, &stats);
  return stats;
}

static rlo__program *get(const spec_storage *s) {
  rlo__program *program = NULL;
  expect_ok(rlo__program_cache_get(cache, &s->spec, RLO__BUILD_FOREGROUND, &program));
  return program;
}

static void use(const spec_storage *s) {
  rlo__program_cache_put(cache, get(s));
}

RLO_TEST(test_program_cache__builds_once_and_shares) {
  spec_storage one;
  spec_storage two;
  make_spec(good_source, 1, &one);
  make_spec(good_source, 2, &two);
  rlo_context_stats before = stats_now();
  rlo__program *programs[4];
  programs[0] = get(&one);
  programs[1] = get(&one);
  programs[2] = get(&two);
  ck_assert_ptr_eq(programs[0], programs[1]);
  ck_assert_ptr_ne(programs[0], programs[2]);
  ck_assert_int_gt(programs[0]->max_work_group_items, 0);
  rlo__program_cache_put(cache, programs[0]);
  rlo__program_cache_put(cache, programs[1]);
  rlo__program_cache_put(cache, NULL);
  /* Unused, but still there. */
  programs[3] = get(&one);
  ck_assert_ptr_eq(programs[3], programs[1]);
  rlo_context_stats after = stats_now();
  ck_assert_int_eq(after.programs_built - before.programs_built, 2);
  ck_assert_int_eq(after.program_hits - before.program_hits, 2);
  rlo__program_cache_put(cache, programs[2]);
  rlo__program_cache_put(cache, programs[3]);
}

/* Two texts of one length under the same options: the text itself counts. */
RLO_TEST(test_program_cache__compares_the_whole_source) {
  char *twin = malloc(sizeof good_source);
  ck_assert_ptr_nonnull(twin);
  memcpy(twin, good_source, sizeof good_source);
  spec_storage one;
  spec_storage two;
  make_spec(good_source, 7, &one);
  make_spec(twin, 7, &two);
  rlo__program *programs[3];
  programs[0] = get(&one);
  programs[1] = get(&two);
  ck_assert_ptr_eq(programs[0], programs[1]);
  *strstr(twin, "100") = '2';
  programs[2] = get(&two);
  ck_assert_ptr_ne(programs[0], programs[2]);
  for (int32_t i = 0; i < 3; ++i) {
    rlo__program_cache_put(cache, programs[i]);
  }
  /* The entry still points at the twin, which has to live as long. */
  rlo__program_cache_destroy(cache);
  free(twin);
  create_cache();
}

RLO_TEST(test_program_cache__tells_why_a_build_failed_and_forgets_it) {
  spec_storage bad;
  make_spec(bad_source, 3, &bad);
  rlo__program *program = NULL;
  for (int32_t turn = 0; turn < 2; ++turn) {
    ck_assert_int_eq(rlo__program_cache_get(cache, &bad.spec, RLO__BUILD_FOREGROUND, &program),
                     RLO_BUILD_FAILED);
    const rlo_error *error = rlo_error_last();
    ck_assert_int_eq(error->status, RLO_BUILD_FAILED);
    ck_assert_str_eq(error->cl_call, "clBuildProgram");
    ck_assert_int_eq(error->cl_code, CL_BUILD_PROGRAM_FAILURE);
    ck_assert_ptr_nonnull(strstr(error->message, "test_3"));
    ck_assert_ptr_nonnull(strstr(error->build_log, "this_is_not_declared"));
  }
  ck_assert_ptr_null(program);
}

/* PoCL parses cl/builtins.cl alone; with a function that is not there, all. */
RLO_TEST(test_program_cache__declares_all_functions_if_a_kernel_needs_more) {
  spec_storage s;
  make_spec(
      "__kernel void NAME(__global int *out) {\n"
      "#ifdef RLO_BUILTINS\n"
      "  out[0] = min(NUMBER, 3);\n"
      "#endif\n"
      "  out[1] = (int)popcount((uint)NUMBER);\n"
      "}\n",
      5, &s);
  use(&s);
  if (!test_is_pocl(device.context)) {
    return;
  }
  make_spec(
      "#if !RLO_BUILTINS\n"
      "#error \"everything was parsed\"\n"
      "#endif\n"
      "__kernel void NAME(__global int *out) { out[0] = min(NUMBER, 3); }\n",
      6, &s);
  use(&s);
}

/* Programs that differ in a number. */
static void use_numbered(int32_t number) {
  spec_storage s;
  make_spec("__kernel void NAME(__global int *o) { o[0] = NUMBER; }", number, &s);
  use(&s);
}

RLO_TEST(test_program_cache__keeps_a_bounded_number_of_unused_programs) {
  enum { MANY = MAX_IDLE + 3, FIRST = 1000 };

  int64_t before = rlo__alloc_live_count();
  for (int32_t i = 0; i < MANY; ++i) {
    use_numbered(FIRST + i);
  }
  /* An entry, its options, its room for a failure, its kernel. */
  ck_assert_int_le(rlo__alloc_live_count() - before, 4 * MAX_IDLE);
  /* The newest is there; using it again and again drops none of the others. */
  int64_t built = stats_now().programs_built;
  for (int32_t i = 0; i < 1 + MANY; ++i) {
    use_numbered(FIRST + MANY - 1);
  }
  use_numbered(FIRST + MANY - MAX_IDLE);
  ck_assert_int_eq(stats_now().programs_built, built);
  use_numbered(FIRST);
  ck_assert_int_eq(stats_now().programs_built, built + 1); /* the oldest is not */
  /* One was dropped for it, and what is used now drops no more. */
  for (int32_t i = MANY - 2; i < MANY; ++i) {
    use_numbered(FIRST + i);
  }
  ck_assert_int_eq(stats_now().programs_built, built + 1);
}

/* The one that is used longest goes last, however long ago it was got. */
RLO_TEST(test_program_cache__keeps_what_is_in_use) {
  static const char source[] = "__kernel void NAME(__global int *o) { o[0] = NUMBER; }";
  spec_storage held;
  spec_storage s;
  rlo__program *programs[2];
  make_spec(source, 2000, &held);
  expect_ok(rlo__program_cache_get(cache, &held.spec, RLO__BUILD_FOREGROUND, &programs[0]));
  for (int32_t i = 1; i <= MAX_IDLE + 2; ++i) {
    rlo__program *program = NULL;
    make_spec(source, 2000 + i, &s);
    expect_ok(rlo__program_cache_get(cache, &s.spec, RLO__BUILD_FOREGROUND, &program));
    rlo__program_cache_put(cache, program);
  }
  int64_t built = stats_now().programs_built;
  expect_ok(rlo__program_cache_get(cache, &held.spec, RLO__BUILD_FOREGROUND, &programs[1]));
  ck_assert_ptr_eq(programs[0], programs[1]);
  ck_assert_int_eq(stats_now().programs_built, built);
  rlo__program_cache_put(cache, programs[0]);
  rlo__program_cache_put(cache, programs[1]);
}

RLO_TEST(test_program_cache__survives_running_out_of_memory) {
  spec_storage s;
  make_spec(good_source, 4, &s);
  int64_t live = rlo__alloc_live_count();
  rlo_status status = RLO_OUT_OF_MEMORY;
  int64_t nth = 1;
  rlo__program *program = NULL;
  for (; status == RLO_OUT_OF_MEMORY; ++nth) {
    ck_assert_int_le(nth, 20);
    rlo__alloc_set_fault(nth, false);
    status = rlo__program_cache_get(cache, &s.spec, RLO__BUILD_FOREGROUND, &program);
    rlo__alloc_set_fault(0, false);
    if (status != RLO_OK) {
      ck_assert_int_eq(status, RLO_OUT_OF_MEMORY);
      ck_assert_int_eq(rlo__alloc_live_count(), live);
    }
  }
  ck_assert_int_ge(nth, 5);
  rlo__program_cache_put(cache, program);
}

/* ------------------------------------------------------------ single flight */

enum { THREADS = 8, TURNS = 6 };

typedef struct racer {
  rlo__thread thread;
  rlo__program_spec spec;
  rlo__program *program;
  rlo_status status;
  bool has_log;
} racer;

static rlo__mutex gate;

static void race(void *payload) {
  racer *r = payload;
  rlo__mutex_lock(&gate); /* all start when the starter lets go */
  rlo__mutex_unlock(&gate);
  r->status = rlo__program_cache_get(cache, &r->spec, RLO__BUILD_FOREGROUND, &r->program);
  r->has_log = strstr(rlo_error_last()->build_log, "not_declared") != NULL;
}

static void run_race(racer *racers, const rlo__program_spec *spec) {
  expect_ok(rlo__mutex_init(&gate));
  rlo__mutex_lock(&gate);
  for (int32_t i = 0; i < THREADS; ++i) {
    racers[i] = (racer){.spec = *spec};
    expect_ok(rlo__thread_start(race, &racers[i], &racers[i].thread));
  }
  rlo__mutex_unlock(&gate);
  for (int32_t i = 0; i < THREADS; ++i) {
    rlo__thread_join(&racers[i].thread);
  }
  rlo__mutex_deinit(&gate);
}

RLO_TEST(test_program_cache__threads_wait_for_one_build) {
  racer racers[THREADS];
  for (int32_t turn = 0; turn < TURNS; ++turn) {
    spec_storage s;
    make_spec(good_source, 100 + turn, &s);
    int64_t before = stats_now().programs_built;
    run_race(racers, &s.spec);
    ck_assert_int_eq(stats_now().programs_built - before, 1);
    for (int32_t i = 0; i < THREADS; ++i) {
      expect_ok(racers[i].status);
      ck_assert_ptr_eq(racers[i].program, racers[0].program);
      rlo__program_cache_put(cache, racers[i].program);
    }
  }
}

RLO_TEST(test_program_cache__each_thread_learns_of_a_failure) {
  racer racers[THREADS];
  for (int32_t turn = 0; turn < 2; ++turn) {
    spec_storage s;
    make_spec(bad_source, 200 + turn, &s);
    run_race(racers, &s.spec);
    for (int32_t i = 0; i < THREADS; ++i) {
      ck_assert_int_eq(racers[i].status, RLO_BUILD_FAILED);
      ck_assert(racers[i].has_log);
    }
  }
}
