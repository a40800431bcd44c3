/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every OpenCL call fails in turn, once or from then on, and every command is
 * accepted and fails later: a program either says so, or its result is right;
 * it leaves no reference and no byte of a context's budget, and the next run
 * without a fault works.
 *
 * RELAYOUT_TEST_ALL=1 tries every call with every code,
 * RELAYOUT_TEST_FAULT="NAME KIND CALL CODE" one case. Without, a program of
 * more than MANY_CALLS, which repeats them, is tried with some of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_faults.h"
#include "programs.h"
#include "support/suite.h"
#include "support/temp_file.h"

RLO_TIMEOUT(600);

static rlo_context *context;
static char home[64];

static void make_home(void) {
  (void)snprintf(home, sizeof home, "/tmp/relayout-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(home));
  ck_assert_int_eq(setenv("XDG_CACHE_HOME", home, 1), 0);
}

static void remove_home(void) {
  temp_folder_remove(home);
}

RLO_FIXTURE(make_home, remove_home);

/* A program that opens a context does so alone: PoCL stores what is compiled
 * for the only context of a process. */
static void open_context(const fault_program *program) {
  if (!program->opens_context) {
    rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    ck_assert_int_eq(rlo_context_create_default(-1, &options, &context),
                     RLO_OK);
  }
}

static void close_context(void) {
  rlo_context_release(context);
  context = NULL;
  ck_assert_int_eq(cl_faults_live(), 0);
}

static const char *const kind_names[] = {"none", "once", "from", "event"};

/* What a run left behind, or NULL. */
static const char *judge(const fault_program *program,
                         const cl_fault *fault,
                         int64_t live_before,
                         rlo_status status,
                         bool is_right) {
  if (status == RLO_OK && !is_right) {
    return "says RLO_OK, and the result is wrong";
  }
  const bool is_without = fault->call < 0;
  if (status == RLO_OK && is_without) {
    return NULL;
  }
  if (status == RLO_INTERNAL) {
    return "says RLO_INTERNAL";
  }
  if (status != RLO_OK && rlo_error_last()->message[0] == '\0') {
    return "fails without a sentence";
  }
  if (status != RLO_OK && is_without) {
    return "fails without a fault";
  }
  if (cl_faults_live() != live_before) {
    return "leaves references of OpenCL objects";
  }
  if (!program->opens_context) {
    rlo_context_stats stats;
    rlo_context_get_stats(context, &stats);
    if (stats.buffer_bytes != 0) {
      return "leaves bytes in the context's budget";
    }
  }
  return NULL;
}

/* Runs with a fault, and prints what is not as it should be. */
static bool try_fault(const fault_program *program,
                      const cl_fault *fault,
                      int32_t *out_calls) {
  bool is_right = false;
  const int64_t live_before = cl_faults_live();
  cl_faults_begin(fault);
  rlo_status status =
      program->run(program->opens_context ? NULL : context, &is_right);
  int32_t calls = cl_faults_end();
  const char *complaint = judge(program, fault, live_before, status, is_right);
  if (complaint != NULL) {
    printf(
        "RELAYOUT_TEST_FAULT='%s %s %d %d': %s fails, and the program %s: "
        "%lld references, %s\n",
        program->name,
        kind_names[fault->kind],
        (int)fault->call,
        (int)fault->code,
        cl_faults_function(),
        complaint,
        (long long)(cl_faults_live() - live_before),
        status == RLO_OK ? "RLO_OK" : rlo_error_last()->message);
  }
  if (out_calls != NULL) {
    *out_calls = calls;
  }
  return complaint == NULL;
}

/* Runs without a fault until nothing is done for the first time, and counts the
 * calls, or the commands. */
static int32_t count_calls(const fault_program *program, cl_fault_kind kind) {
  const cl_fault none = {kind == CL_FAULT_EVENT ? kind : CL_FAULT_NONE, -1, 0};
  int32_t calls = -1;
  for (int32_t turn = 0, before = -2; turn < 5 && calls != before; ++turn) {
    before = calls;
    ck_assert(try_fault(program, &none, &calls));
  }
  return calls;
}

static bool is_all(void) {
  return getenv("RELAYOUT_TEST_ALL") != NULL;
}

static const cl_int codes[] = {CL_OUT_OF_RESOURCES,
                               CL_OUT_OF_HOST_MEMORY,
                               CL_MEM_OBJECT_ALLOCATION_FAILURE,
                               CL_DEVICE_NOT_AVAILABLE,
                               CL_INVALID_VALUE};

enum { NUM_CODES = sizeof codes / sizeof codes[0], MANY_CALLS = 48 };

static void try_all(const fault_program *program, cl_fault_kind kind) {
  const cl_fault none = {CL_FAULT_NONE, -1, 0};
  open_context(program);
  const int32_t calls = count_calls(program, kind);
  int32_t violations = 0;
  int32_t runs = 0;
  const int32_t step = is_all() ? 1 : calls / MANY_CALLS + 1;
  for (int32_t code = 0; code < (is_all() ? NUM_CODES : 1); ++code) {
    for (int32_t call = 0; call < calls; call += step) {
      const cl_fault fault = {kind, call, codes[code]};
      violations += !try_fault(program, &fault, NULL);
      violations += !try_fault(program, &none, NULL);
      ++runs;
    }
  }
  printf("%s, %s: %d calls, %d runs, %d violations\n",
         program->name,
         kind_names[kind],
         (int)calls,
         (int)runs,
         (int)violations);
  close_context();
  ck_assert_int_gt(calls, 0);
  ck_assert_int_eq(violations, 0);
}

static bool is_one_case(void) {
  return getenv("RELAYOUT_TEST_FAULT") != NULL;
}

RLO_LOOP_TEST(test_cl_faults__a_call_fails_once, 0, 9) {
  if (!is_one_case()) {
    try_all(&fault_programs[_i], CL_FAULT_ONCE);
  }
}

RLO_LOOP_TEST(test_cl_faults__calls_fail_from_then_on, 0, 9) {
  if (!is_one_case()) {
    try_all(&fault_programs[_i], CL_FAULT_FROM_THEN_ON);
  }
}

RLO_LOOP_TEST(test_cl_faults__a_command_fails_later, 0, 9) {
  if (!is_one_case()) {
    try_all(&fault_programs[_i], CL_FAULT_EVENT);
  }
}

RLO_TEST(test_cl_faults__one_case) {
  const char *wanted = getenv("RELAYOUT_TEST_FAULT");
  char name[32];
  char kind[8];
  int call = 0;
  int code = 0;
  if (wanted == NULL) {
    return;
  }
  ck_assert_int_eq(sscanf(wanted, "%31s %7s %d %d", name, kind, &call, &code),
                   4);
  for (int i = 0; i < fault_num_programs; ++i) {
    for (int k = CL_FAULT_ONCE; k <= CL_FAULT_EVENT; ++k) {
      if (strcmp(fault_programs[i].name, name) == 0 &&
          strcmp(kind_names[k], kind) == 0) {
        const cl_fault fault = {(cl_fault_kind)k, call, code};
        open_context(&fault_programs[i]);
        (void)count_calls(&fault_programs[i], CL_FAULT_NONE);
        ck_assert(try_fault(&fault_programs[i], &fault, NULL));
        close_context();
        return;
      }
    }
  }
  ck_abort_msg("no such program or kind: %s", wanted);
}
