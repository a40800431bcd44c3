/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/suite.h"
#include "support/temp_file.h"

static rlo_context *context;
static int64_t allocations_before;
static char home[64];

void fault_home_make(void) {
  (void)snprintf(home, sizeof home, "/tmp/relayout-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(home));
  ck_assert_int_eq(setenv("XDG_CACHE_HOME", home, 1), 0);
}

void fault_home_remove(void) {
  temp_folder_remove(home);
}

/* A program that opens a context does so alone: PoCL stores what is compiled
 * for the only context of a process. */
void fault_context_open(const fault_program *program) {
  allocations_before = rlo__alloc_live_count();
  if (program->where == FAULT_IN_SHARED_CONTEXT) {
    rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    expect_ok(rlo_context_create_default(-1, &options, &context));
  }
}

void fault_context_close(void) {
  rlo_context_release(context);
  context = NULL;
  ck_assert_int_eq(cl_faults_live(), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), allocations_before);
}

static const char *const kind_names[] = {"none", "once", "from", "event", "memory", "no-memory"};

enum { NUM_KINDS = sizeof kind_names / sizeof kind_names[0] };

static bool is_of_memory(const fault_case *fault) {
  return fault->kind == FAULT_MEMORY_ONCE || fault->kind == FAULT_MEMORY_FROM_THEN_ON;
}

static void begin(const fault_case *fault) {
  const bool is_memory = is_of_memory(fault);
  const cl_fault below = {is_memory ? CL_FAULT_NONE : (cl_fault_kind)fault->kind, fault->call,
                          fault->code};
  cl_faults_begin(&below);
  rlo__alloc_set_fault(is_memory ? fault->call + 1 : 0, fault->kind == FAULT_MEMORY_FROM_THEN_ON);
}

static int32_t end(const fault_case *fault) {
  const int32_t calls = cl_faults_end();
  const int64_t allocations = rlo__alloc_tried_count();
  rlo__alloc_set_fault(0, false);
  return is_of_memory(fault) ? (int32_t)allocations : calls;
}

/* Returns what is wrong after a run, or NULL. */
static const char *judge(const fault_program *program, const fault_case *fault, int64_t live_before,
                         rlo_status status, bool is_right) {
  const bool is_without = fault->call < 0;
  if (status == RLO_OK && !is_right) {
    return "says RLO_OK, and the result is wrong";
  }
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
  if (status != RLO_OK && is_of_memory(fault) && status != RLO_OUT_OF_MEMORY) {
    return "does not say that there is no memory";
  }
  if (cl_faults_live() != live_before) {
    return "leaves references of OpenCL objects";
  }
  if (program->where == FAULT_IN_SHARED_CONTEXT) {
    rlo_context_stats stats = test_context_stats(context);
    return stats.buffer_bytes != 0 ? "leaves bytes in the context's budget" : NULL;
  }
  /* A context remembers plans, and frees them when it is closed. */
  return rlo__alloc_live_count() != allocations_before ? "leaves allocations" : NULL;
}

bool fault_try(const fault_program *program, const fault_case *fault, int32_t *out_calls) {
  bool is_right = false;
  const int64_t live_before = cl_faults_live();
  begin(fault);
  rlo_status status = program->run(context, &is_right);
  int32_t calls = end(fault);
  const char *complaint = judge(program, fault, live_before, status, is_right);
  if (complaint != NULL) {
    printf(
        "RELAYOUT_TEST_FAULT='%s %s %d %d': %s fails, and the program %s: "
        "%lld references, %lld allocations, %s: %s\n",
        program->name, kind_names[fault->kind], (int)fault->call, (int)fault->code,
        is_of_memory(fault) ? "an allocation" : cl_faults_function(), complaint,
        (long long)(cl_faults_live() - live_before),
        (long long)(rlo__alloc_live_count() - allocations_before), rlo_status_name(status),
        status == RLO_OK ? "" : rlo_error_last()->message);
  }
  if (out_calls != NULL) {
    *out_calls = calls;
  }
  return complaint == NULL;
}

/* How many calls, commands or allocations there are in a run, at least. */
static int32_t least_calls(const fault_program *program, fault_kind kind) {
  switch (kind) {
    case FAULT_MEMORY_ONCE:
    case FAULT_MEMORY_FROM_THEN_ON:
      return program->least_allocations;
    case FAULT_EVENT:
      return program->least_commands;
    default:
      return program->least_calls;
  }
}

/* Runs without a fault until nothing is done for the first time, and counts
 * what can fail. */
static int32_t count_calls(const fault_program *program, fault_kind kind) {
  const fault_case none = {kind == FAULT_ONCE ? FAULT_NONE : kind, -1, 0};
  int32_t calls = -1;
  for (int32_t turn = 0, before = -2; turn < 5 && calls != before; ++turn) {
    before = calls;
    ck_assert(fault_try(program, &none, &calls));
  }
  return calls;
}

void fault_try_all(const fault_program *program, fault_kind kind, const cl_int *codes,
                   int32_t num_codes, int32_t most_calls) {
  const fault_case none = {FAULT_NONE, -1, 0};
  if (getenv("RELAYOUT_TEST_FAULT") != NULL) {
    return;
  }
  fault_context_open(program);
  const int32_t calls = count_calls(program, kind);
  int32_t violations = 0;
  int32_t runs = 0;
  int32_t faults = 0;
  const bool is_all = getenv("RELAYOUT_TEST_ALL") != NULL;
  const int32_t step = is_all ? 1 : calls / most_calls + 1;
  const int32_t codes_tried = is_all ? num_codes : 1;
  for (int32_t code = 0; code < codes_tried; ++code) {
    for (int32_t call = 0; call < calls; call += step) {
      const fault_case fault = {kind, call, codes[code]};
      int32_t tried = 0;
      violations += !fault_try(program, &fault, &tried);
      faults += is_of_memory(&fault) ? tried > fault.call : cl_faults_function()[0] != '\0';
      violations += !fault_try(program, &none, NULL);
      ++runs;
    }
  }
  printf("%s, %s: %d calls, %d runs, %d faults, %d violations\n", program->name, kind_names[kind],
         (int)calls, (int)runs, (int)faults, (int)violations);
  fault_context_close();
  ck_assert_int_eq(violations, 0);
  const int32_t least = least_calls(program, kind);
  ck_assert_int_gt(least, 0);
  ck_assert_int_ge(calls, least);
  ck_assert_int_ge(faults, codes_tried * ((least - 1) / step + 1));
}

void fault_try_wanted(const fault_program *programs, int32_t num_programs) {
  const char *wanted = getenv("RELAYOUT_TEST_FAULT");
  char name[32];
  char kind[16];
  int call = 0;
  int code = 0;
  if (wanted == NULL) {
    return;
  }
  ck_assert_int_eq(sscanf(wanted, "%31s %15s %d %d", name, kind, &call, &code), 4);
  for (int i = 0; i < num_programs; ++i) {
    for (int k = FAULT_ONCE; k < NUM_KINDS; ++k) {
      if (strcmp(programs[i].name, name) == 0 && strcmp(kind_names[k], kind) == 0) {
        const fault_case fault = {(fault_kind)k, call, code};
        fault_context_open(&programs[i]);
        (void)count_calls(&programs[i], FAULT_NONE);
        ck_assert(fault_try(&programs[i], &fault, NULL));
        fault_context_close();
        return;
      }
    }
  }
  printf("no such program or kind here: %s\n", wanted);
}
