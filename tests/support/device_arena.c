/* SPDX-License-Identifier: Apache-2.0 */
#include "support/device_arena.h"

#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "runtime/context.h"
#include "support/expect.h"
#include "support/guarded_pages.h"
#include "support/low_thresholds.h"
#include "support/memcheck.h"
#include "support/plan_case.h"

int32_t test_case_count(int32_t all, int32_t usual, int32_t sanitized) {
  if (TEST_IS_SANITIZED) {
    return sanitized;
  }
  if (getenv("RELAYOUT_TEST_ALL") != NULL) {
    return all;
  }
  return test_thresholds_are_low() ? usual / 4 : usual;
}

void test_device_optimise(bool optimises) {
  const char *variable = "POCL_EXTRA_BUILD_FLAGS"; /* read for each build */
  if (optimises) {
    unsetenv(variable);
  } else if (getenv("RELAYOUT_TEST_ALL") == NULL) {
    setenv(variable, "-cl-opt-disable", 1);
  }
}

bool test_is_short(void) {
  return getenv("RELAYOUT_TEST_SHORT") != NULL;
}

test_device test_device_open(void) {
  test_device device = {NULL, NULL};
  expect_ok(rlo_context_create_default(-1, NULL, &device.context));
  if (getenv("RELAYOUT_TEST_PLAIN") != NULL) {
    rlo_device_info *info = &device.context->device_info;
    info->has_nontemporal_store = false;
    info->has_vector_shuffle = false;
    info->has_builtin_prefetch = false;
  }
  device.queue = test_device_make_queue(&device, 0);
  return device;
}

cl_command_queue test_device_make_queue(const test_device *device,
                                        cl_command_queue_properties properties) {
  cl_int code = CL_SUCCESS;
  cl_command_queue queue =
      clCreateCommandQueue(rlo_context_cl_context(device->context),
                           rlo_context_cl_device(device->context), properties, &code);
  expect_cl(code);
  return queue;
}

void test_device_read(cl_command_queue queue, cl_mem buffer, int64_t offset_bytes, int64_t bytes,
                      void *out) {
  expect_cl(clEnqueueReadBuffer(queue, buffer, CL_TRUE, (size_t)offset_bytes, (size_t)bytes, out, 0,
                                NULL, NULL));
}

void test_device_write(cl_command_queue queue, cl_mem buffer, int64_t offset_bytes, int64_t bytes,
                       const void *content) {
  expect_cl(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, (size_t)offset_bytes, (size_t)bytes,
                                 content, 0, NULL, NULL));
}

rlo_context_stats test_context_stats(const rlo_context *context) {
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  expect_ok(rlo_context_get_stats(context, &stats));
  return stats;
}

rlo_plan *test_context_plan(rlo_context *context, const rlo_problem *problem,
                            const rlo_plan_options *options) {
  rlo_plan *plan = NULL;
  expect_ok(rlo_plan_create(context, problem, options, &plan));
  return plan;
}

rlo_plan_info test_plan_info_of(const rlo_plan *plan) {
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  expect_ok(rlo_plan_get_info(plan, &info));
  return info;
}

cl_mem test_context_buffer(const rlo_context *context, cl_mem_flags flags, size_t bytes,
                           void *host) {
  cl_int code = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(rlo_context_cl_context(context), flags, bytes, host, &code);
  expect_cl(code);
  return buffer;
}

bool test_is_pocl(const rlo_context *context) {
  char version[256] = "";
  return clGetDeviceInfo(rlo_context_cl_device(context), CL_DEVICE_VERSION, sizeof version, version,
                         NULL) == CL_SUCCESS &&
         strstr(version, "PoCL") != NULL;
}

bool test_device_is_gpu(const test_device *device) {
  return rlo_context_device_info(device->context)->device_class == RLO_DEVICE_CLASS_GPU;
}

void test_device_close(test_device *device) {
  clReleaseCommandQueue(device->queue);
  rlo_context_release(device->context);
  *device = (test_device){NULL, NULL};
}

/* ---------------------------------------------------------------- a message */

/** The line that repeats a case, and what was wrong. */
static void complain(const test_case *c, const char *words, const char *what, const char *details) {
  printf(
      "FAILED: %s --class %s --family %s --schedule '%s'   # source at +%lld, "
      "destination at "
      "+%lld bytes\n  %s%s\n",
      words,
      c->device_class == RLO_DEVICE_CLASS_GPU   ? "gpu"
      : c->device_class == RLO_DEVICE_CLASS_CPU ? "cpu"
                                                : "auto",
      c->family != NULL ? c->family : "auto", c->schedule != NULL ? c->schedule : "default",
      (long long)c->src_shift_bytes, (long long)c->dst_shift_bytes, what, details);
  fflush(stdout);
}

/* -------------------------------------------------------------- a whole run */

static test_arena make_arena(const test_device *device, int64_t shift_bytes, int64_t tensor_bytes,
                             int64_t element_bytes, const void *content, uint64_t seed) {
  test_arena a = test_arena_make(shift_bytes, tensor_bytes, element_bytes, seed);
  if (content != NULL) {
    memcpy(a.before + a.begin, content, (size_t)tensor_bytes);
  }
  test_arena_upload(&a, device->context);
  return a;
}

static cl_int read_arena(test_arena *a, const test_device *device, cl_event after) {
  return clEnqueueReadBuffer(device->queue, a->buffer, CL_TRUE, 0, (size_t)a->bytes, a->after, 1,
                             &after, NULL);
}

/** The words of a failure, for complain. */
typedef struct verdict {
  const char *what;
  char details[9000];
} verdict;

static test_outcome judge_call(const char *what, verdict *v) {
  v->what = what;
  snprintf(v->details, sizeof v->details, "%s\n%s", rlo_error_last()->message,
           rlo_error_last()->build_log);
  return TEST_FAILED;
}

static test_outcome judge_arena(const test_arena *a, const char *what, verdict *v) {
  v->what = what;
  return test_arena_is_as_expected(a, v->details, sizeof v->details) ? TEST_RAN : TEST_FAILED;
}

static test_outcome run_and_compare(const test_device *device, const rlo_problem *problem,
                                    rlo_plan *plan, bool is_forced, test_arena *src,
                                    test_arena *indices, test_arena *dst, verdict *v) {
  if (rlo_problem_run_host_indexed(problem, src->before + src->begin,
                                   indices->before + indices->begin,
                                   dst->expected + dst->begin) != RLO_OK) {
    return judge_call("on the host: ", v);
  }
  test_memcheck_forget_local(device);
  cl_event event = NULL;
  rlo_operands operands = RLO_OPERANDS_INIT;
  operands.src = src->buffer;
  operands.src_offset_bytes = src->begin;
  operands.dst = dst->buffer;
  operands.dst_offset_bytes = dst->begin;
  operands.indices = indices->buffer;
  operands.index_offset_bytes = indices->begin;
  rlo_status status = rlo_enqueue_operands(plan, device->queue, &operands, 0, NULL, &event);
  if (status == RLO_UNSUPPORTED && is_forced) {
    /* A family may want better aligned memory than this. */
    return TEST_REFUSED;
  }
  if (status != RLO_OK) {
    return judge_call("enqueueing: ", v);
  }
  cl_int code = read_arena(dst, device, event);
  if (code == CL_SUCCESS) {
    code = read_arena(src, device, event);
  }
  if (code == CL_SUCCESS) {
    code = read_arena(indices, device, event);
  }
  clReleaseEvent(event);
  if (code != CL_SUCCESS) {
    v->what = "reading back: ";
    snprintf(v->details, sizeof v->details, "cl_int %d", (int)code);
    return TEST_FAILED;
  }
  test_outcome outcome = judge_arena(dst, "the destination is wrong: ", v);
  if (outcome == TEST_RAN) {
    outcome = judge_arena(src, "the source was changed: ", v);
  }
  return outcome == TEST_RAN ? judge_arena(indices, "the indices were changed: ", v) : outcome;
}

/* -------------------------------------------------------------------- edges */

/* Arenas show what is written outside of a tensor, and not what is read there.
 * So kernels run once more, on a device that works in the host's memory, in
 * tensors that begin, and then end, as near as their alignment allows to a page
 * that nobody may touch. */

enum { LINE_BYTES = 64 };

/** The running case, for the last words of a process that touches such a
 *  page. */
static struct {
  const test_case *c;
  const char *words, *place;
} at_edge;

/** A tensor between pages that nobody may touch. */
typedef struct edge {
  test_guarded_pages pages;
  /** The beginning of the tensor among the pages. */
  int64_t begin;
  cl_mem buffer;
} edge;

static void edge_init(edge *e, const test_device *device, const test_arena *a, bool is_at_end) {
  /* The same distance from a line as in the arena, so that the same kernel
   * runs, and at a multiple of the element. */
  int64_t step = LINE_BYTES;
  while (step % a->element_bytes != 0) {
    step += LINE_BYTES;
  }
  e->begin = a->begin % step;
  e->pages = test_guarded_pages_make((size_t)a->tensor_bytes, (size_t)e->begin, false, 0);
  const int64_t bytes = (int64_t)e->pages.room_bytes;
  if (is_at_end) {
    e->begin += (bytes - a->tensor_bytes - e->begin) / step * step;
  }
  uint8_t *data = e->pages.room;
  memcpy(data + e->begin, a->before + a->begin, (size_t)a->tensor_bytes);
  /* Memcheck also sees what is touched between the tensor and those pages. */
  const int64_t end = e->begin + a->tensor_bytes;
  test_memcheck_forbid(data, (size_t)e->begin);
  test_memcheck_forbid(data + end, (size_t)(bytes - end));
  e->buffer = test_context_buffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                  (size_t)bytes, data);
}

static void say_at_edge(const char *text) {
  ssize_t written = write(STDOUT_FILENO, text, strlen(text));
  (void)written;
}

static void die_at_edge(int signal_number) {
  say_at_edge("FAILED: ");
  say_at_edge(at_edge.words);
  say_at_edge(" --class ");
  say_at_edge(at_edge.c->device_class == RLO_DEVICE_CLASS_GPU ? "gpu" : "cpu");
  say_at_edge(" --family ");
  say_at_edge(at_edge.c->family != NULL ? at_edge.c->family : "auto");
  say_at_edge("\n  a page is touched that is outside of the tensors, which are ");
  say_at_edge(at_edge.place);
  say_at_edge("\n");
  (void)signal(signal_number, SIG_DFL);
  (void)raise(signal_number);
}

static test_outcome run_at_edge(const test_device *device, rlo_plan *plan,
                                const test_arena *arenas[3], bool is_at_end, verdict *v) {
  edge edges[3];
  for (int32_t n = 0; n < 3; ++n) {
    edge_init(&edges[n], device, arenas[n], is_at_end);
  }
  at_edge.place = is_at_end ? "at the end of theirs" : "at the beginning of theirs";
  rlo_operands operands = RLO_OPERANDS_INIT;
  operands.src = edges[0].buffer;
  operands.src_offset_bytes = edges[0].begin;
  operands.indices = edges[1].buffer;
  operands.index_offset_bytes = edges[1].begin;
  operands.dst = edges[2].buffer;
  operands.dst_offset_bytes = edges[2].begin;
  void (*old)(int) = signal(SIGSEGV, die_at_edge);
  rlo_status status = rlo_enqueue_operands(plan, device->queue, &operands, 0, NULL, NULL);
  expect_cl(clFinish(device->queue));
  (void)signal(SIGSEGV, old);
  test_outcome outcome = status == RLO_OK ? TEST_RAN : judge_call("enqueueing at an edge: ", v);
  const uint8_t *dst = edges[2].pages.room + edges[2].begin;
  if (outcome == TEST_RAN &&
      memcmp(dst, arenas[2]->expected + arenas[2]->begin, (size_t)arenas[2]->tensor_bytes) != 0) {
    v->what = "the destination is wrong at the edge of pages";
    v->details[0] = '\0';
    outcome = TEST_FAILED;
  }
  for (int32_t n = 0; n < 3; ++n) {
    clReleaseMemObject(edges[n].buffer);
    test_guarded_pages_release(&edges[n].pages);
  }
  return outcome;
}

/** A plan that has just been right in arenas. */
static test_outcome run_at_edges(const test_device *device, rlo_plan *plan,
                                 const test_arena *arenas[3], verdict *v) {
  if (TEST_IS_SANITIZED || !test_is_pocl(device->context)) {
    return TEST_RAN;
  }
  test_outcome outcome = run_at_edge(device, plan, arenas, false, v);
  return outcome == TEST_RAN ? run_at_edge(device, plan, arenas, true, v) : outcome;
}

/* ------------------------------------------------------------------- budget */

static test_budget *budget;

/* Plans that hold programs, which a context otherwise drops when many are idle:
 * one for each program that was compiled. */
static rlo_plan **held_plans;
static int64_t num_held_plans;

void test_device_set_budget(test_budget *of_cases) {
  budget = of_cases;
  for (int64_t n = 0; n < num_held_plans; ++n) {
    rlo_plan_release(held_plans[n]);
  }
  free(held_plans);
  held_plans = NULL;
  num_held_plans = 0;
}

static void hold_plan(rlo_plan *plan) {
  size_t count = (size_t)num_held_plans + 1;
  held_plans = realloc(held_plans, count * sizeof *held_plans);
  ck_assert_ptr_nonnull(held_plans);
  held_plans[num_held_plans++] = plan;
}

static int64_t programs_built(const test_device *device) {
  rlo_context_stats stats = test_context_stats(device->context);
  return stats.programs_built;
}

static int64_t greater(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Returns a key of the program of a case; 0 if the family refuses the case, 1
 * if it needs no program. PoCL compiles a program again for another group. */
static uint64_t find_program(const test_device *device, const rlo_problem *problem,
                             const test_case *c, const rlo_plan_options *options) {
  static rlo_problem scratch;
  static rlo__launch launch;
  const rlo_device_info *info = rlo_context_device_info(device->context);
  /* The runtime's alignments: a plan is made for cache lines and for elements.
   */
  int64_t src_alignment = greater(problem->unit_bits / 8, 1);
  int64_t dst_alignment = greater(rlo_problem_dst_unit_bits(problem) / 8, 1);
  int64_t line = info->base_alignment_bytes < 64 ? info->base_alignment_bytes : 64;
  if (c->src_shift_bytes % greater(line, src_alignment) == 0 &&
      c->dst_shift_bytes % greater(line, dst_alignment) == 0) {
    src_alignment = greater(line, src_alignment);
    dst_alignment = greater(line, dst_alignment);
  }
  scratch = *problem;
  rlo_status status =
      test_plan_choose(&scratch, info, options, src_alignment, dst_alignment, NULL, &launch);
  if (status == RLO_UNSUPPORTED) {
    return 0;
  }
  expect_ok(status);
  if (rlo_problem_is_empty(&scratch)) {
    return 1;
  }
  rlo__program_spec spec;
  expect_ok(rlo__codegen_program(&launch, &spec));
  uint64_t key = rlo__codegen_hash(&spec);
  rlo__codegen_deinit(&spec);
  for (int32_t d = 0; d < launch.work_dim; ++d) {
    key = key * UINT64_C(0x100000001b3) + launch.local_size[d];
  }
  return key < 2 ? 2 : key;
}

test_outcome test_device_run_problem(const test_device *device, const rlo_problem *problem,
                                     const test_case *c, const char *words,
                                     rlo_plan_info *out_info) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = c->family;
  options.device_class = c->device_class;
  options.schedule = c->schedule;
  options.effort = c->effort;
  options.measure_seconds = c->measure_seconds;
  if (budget != NULL) {
    uint64_t key = find_program(device, problem, c, &options);
    if (key == 0 && c->family != NULL) {
      return TEST_REFUSED;
    }
    if (!test_budget_takes(budget, key)) {
      return TEST_LEFT;
    }
  }
  int64_t built_before = programs_built(device);
  rlo_plan *plan = NULL;
  rlo_status status = rlo_plan_create(device->context, problem, &options, &plan);
  if (status == RLO_UNSUPPORTED && c->family != NULL) {
    return TEST_REFUSED;
  }
  if (status != RLO_OK) {
    complain(c, words, "planning: ", rlo_error_last()->message);
    return TEST_FAILED;
  }
  bool loads = rlo_problem_loads(problem);
  test_arena src = make_arena(device, c->src_shift_bytes, problem->src_bytes,
                              greater(problem->unit_bits / 8, 1), c->src_content, 0x50);
  test_arena indices =
      make_arena(device, loads ? c->index_shift_bytes : 0, loads ? problem->index_bytes : 0, 8,
                 loads ? c->indices : NULL, 0x10);
  test_arena dst =
      make_arena(device, c->dst_shift_bytes, problem->dst_bytes,
                 greater(rlo_problem_dst_unit_bits(problem) / 8, 1), c->dst_content, 0xd0);
  static verdict v;
  test_outcome outcome =
      run_and_compare(device, problem, plan, c->family != NULL, &src, &indices, &dst, &v);
  if (outcome == TEST_RAN) {
    at_edge.c = c;
    at_edge.words = words;
    outcome = run_at_edges(device, plan, (const test_arena *[]){&src, &indices, &dst}, &v);
  }
  if (outcome == TEST_FAILED) {
    complain(c, words, v.what, v.details);
  } else if (out_info != NULL) {
    *out_info = (rlo_plan_info)RLO_PLAN_INFO_INIT;
    expect_ok(rlo_plan_get_info(plan, out_info));
    /* The family's name is static; this is the plan's, which goes. */
    out_info->parameters = "";
  }
  test_arena_deinit(&src);
  test_arena_deinit(&indices);
  test_arena_deinit(&dst);
  if (budget != NULL && programs_built(device) > built_before) {
    hold_plan(plan);
  } else {
    rlo_plan_release(plan);
  }
  return outcome;
}

test_outcome test_device_run(const test_device *device, const test_case *c,
                             rlo_plan_info *out_info) {
  static rlo_problem problem;
  expect_ok(rlo_relayout_lower(c->src, c->dst, c->permutation, &problem));
  char src_text[512];
  char dst_text[512];
  char words[1400];
  char permutation[256] = "";
  rlo_shape_format(c->src, src_text, sizeof src_text);
  rlo_shape_format(c->dst, dst_text, sizeof dst_text);
  if (c->permutation != NULL) {
    size_t length = (size_t)snprintf(permutation, sizeof permutation, " --perm");
    for (int32_t k = 0; k < c->dst->rank; ++k) {
      length += (size_t)snprintf(permutation + length, sizeof permutation - length, "%c%d",
                                 k == 0 ? ' ' : ',', (int)c->permutation[k]);
    }
  }
  snprintf(words, sizeof words, "relayout explain '%s' '%s'%s", src_text, dst_text,
           c->dst->rank > 0 ? permutation : "");
  return test_device_run_problem(device, &problem, c, words, out_info);
}
