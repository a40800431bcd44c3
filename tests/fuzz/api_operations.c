/* SPDX-License-Identifier: Apache-2.0 */
#include "api_operations.h"

#include <string.h>

#include "fake_driver.h"
#include "relayout/text.h"

enum { NUM_PROBLEMS = 8, MAX_BUFFER_BYTES = 32768 };

api_model api;

static rlo_problem problems[NUM_PROBLEMS];
/* Bytes of an element, which offsets are multiples of. */
static int64_t element_bytes[NUM_PROBLEMS];

void api_make_problems(void) {
  static const struct {
    const char *src, *dst;
    int32_t permutation[3];
  } texts[NUM_PROBLEMS] = {
      {"f32[6,10]", "f32[10,6]", {1, 0}},
      {"u8[7,9]{1,0}", "u8[7,9]{0,1}", {0, 1}},
      {"f32[5,30]{1,0}", "f32[5,30]{1,0:T(8,128)fill(zero)}", {0, 1}},
      {"u8[64]", "u8[64]", {0}},
      {"u16[5,3,4]", "u16[4,5,3]", {2, 0, 1}},
      {"f32[0,4]", "f32[0,4]", {0, 1}},
      {"u32[3,5]{0,1}", "u32[3,5]{1,0:T(2,2)}", {0, 1}},
      {"f64[33,2]{0,1}", "f64[33,2]{1,0}", {0, 1}},
  };

  static bool are_made;
  for (int32_t n = 0; n < NUM_PROBLEMS && !are_made; ++n) {
    rlo_shape src;
    rlo_shape dst;
    FUZZ_CHECK(rlo_shape_parse(texts[n].src, strlen(texts[n].src), &src) == RLO_OK &&
               rlo_shape_parse(texts[n].dst, strlen(texts[n].dst), &dst) == RLO_OK &&
               rlo_relayout_lower(&src, &dst, texts[n].permutation, &problems[n]) == RLO_OK);
    element_bytes[n] = rlo_dtype_storage_bits(src.dtype) / 8;
  }
  are_made = true;
}

/* -------------------------------------------------------------------- calls */

int32_t api_take_number(int32_t count) {
  return fuzz_take_byte(&api.reader) % count;
}

/* Results of calls: a set of statuses. */
#define ONE_OF(status) (1U << (status))

/* Calls whose failure costs nothing that the caller asked for: a text of the
 * device, or of its numbers one that has a default. */
static bool may_be_ignored(const char *function) {
  static const char *const names[] = {"clGetDeviceInfo", "clGetPlatformInfo", "clFlush",
                                      "clGetProgramBuildInfo"};
  for (size_t n = 0; n < sizeof names / sizeof names[0]; ++n) {
    if (strcmp(names[n], function) == 0) {
      return true;
    }
  }
  return false;
}

static void begin_call(void) {
  fake_driver_fail(api.calls_before, api.failure, api.is_sticky);
}

/* `allowed`: the statuses that the call may have if no OpenCL call fails. */
static void end_call(rlo_status status, uint32_t allowed) {
  const char *failed = fake_driver_end_failure();
  api.failure = 0;
  if (status != RLO_OK) {
    const rlo_error *error = rlo_error_last();
    FUZZ_CHECK(error->status == status && error->message[0] != '\0');
  }
  if (failed == NULL) {
    FUZZ_CHECK((allowed & ONE_OF(status)) != 0);
  } else if (status == RLO_OK) {
    FUZZ_CHECK(may_be_ignored(failed));
  } else {
    FUZZ_CHECK(
        ((allowed | ONE_OF(RLO_DEVICE) | ONE_OF(RLO_OUT_OF_MEMORY) | ONE_OF(RLO_BUILD_FAILED)) &
         ONE_OF(status)) != 0);
  }
}

static void check_budget(const model_context *context) {
  if (context->references > 0) {
    rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
    FUZZ_CHECK(rlo_context_get_stats(context->handle, &stats) == RLO_OK);
    FUZZ_CHECK(stats.buffer_bytes == context->held);
    FUZZ_CHECK(context->held <= context->budget);
  }
}

/* A kernel of the fake driver. */
void api_run_kernel(void *tag, const cl_mem *memories, int32_t num_memories) {
  const launch *l = tag;
  bool has_src = false;
  bool has_dst = false;
  for (int32_t n = 0; n < num_memories; ++n) {
    has_src = has_src || memories[n] == l->src;
    has_dst = has_dst || memories[n] == l->dst;
  }
  FUZZ_CHECK(has_src && has_dst);
  FUZZ_CHECK(rlo_problem_run_host(l->problem, fake_driver_memory(l->src) + l->src_offset,
                                  fake_driver_memory(l->dst) + l->dst_offset) == RLO_OK);
}

/* ----------------------------------------------------- contexts and buffers */

void api_create_context(void) {
  static const int64_t budgets[] = {0, 16384, 65536, 1 << 20};
  const int32_t number = api_take_number(NUM_CONTEXTS);
  const int64_t budget = budgets[api_take_number(4)];
  model_context *c = &api.contexts[number];
  if (c->references > 0 || c->cl != NULL) {
    return;
  }
  cl_device_id device = fake_driver_device(number);
  c->cl = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  FUZZ_CHECK(c->cl != NULL);
  c->queue = clCreateCommandQueue(c->cl, device, 0, NULL);
  FUZZ_CHECK(c->queue != NULL);
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "";
  options.memory_budget_bytes = budget;
  begin_call();
  rlo_status status = rlo_context_create(c->cl, device, &options, &c->handle);
  end_call(status, ONE_OF(RLO_OK));
  FUZZ_CHECK((c->handle != NULL) == (status == RLO_OK));
  c->references = status == RLO_OK;
  c->budget = budget == 0 ? INT64_MAX : budget;
  c->held = 0;
}

void api_release_buffer(model_buffer *b) {
  model_context *c = &api.contexts[b->context];
  if (b->handle == NULL) {
    return;
  }
  if (c->references > 0) {
    rlo_buffer_release(c->handle, b->handle);
    c->held -= b->bytes;
  } else {
    clReleaseMemObject(b->handle);
  }
  free(b->contents);
  *b = (model_buffer){0};
  check_budget(c);
}

void api_release_context(int32_t number) {
  model_context *c = &api.contexts[number];
  if (c->references > 0) {
    --c->references;
    rlo_context_release(c->handle);
  }
}

void api_create_buffer(void) {
  static const int64_t sizes[] = {0, 1, 64, 240, 4096, 8192, MAX_BUFFER_BYTES};
  const int32_t number = api_take_number(NUM_BUFFERS);
  const int32_t context = api_take_number(NUM_CONTEXTS);
  const int64_t bytes = sizes[api_take_number(7)] + api_take_number(8);
  model_buffer *b = &api.buffers[number];
  model_context *c = &api.contexts[context];
  if (b->handle != NULL || c->references == 0) {
    return;
  }
  const bool fits = bytes <= c->budget - c->held;
  begin_call();
  rlo_status status = rlo_buffer_create(c->handle, bytes, &b->handle);
  end_call(status,
           bytes < 1 ? ONE_OF(RLO_INVALID_ARGUMENT) : ONE_OF(fits ? RLO_OK : RLO_OUT_OF_MEMORY));
  if (status == RLO_OK) {
    b->context = context;
    b->bytes = bytes;
    b->contents = malloc((size_t)bytes);
    FUZZ_CHECK(b->contents != NULL);
    for (int64_t n = 0; n < bytes; ++n) {
      b->contents[n] = (uint8_t)(n * 7 + number);
    }
    c->held += bytes;
    FUZZ_CHECK(clEnqueueWriteBuffer(c->queue, b->handle, CL_TRUE, 0, (size_t)bytes, b->contents, 0,
                                    NULL, NULL) == CL_SUCCESS);
  } else {
    FUZZ_CHECK(b->handle == NULL);
  }
  check_budget(c);
}

void api_read_buffer(model_buffer *b) {
  static uint8_t got[MAX_BUFFER_BYTES + 8];
  if (b->handle == NULL) {
    return;
  }
  FUZZ_CHECK(clEnqueueReadBuffer(api.contexts[b->context].queue, b->handle, CL_TRUE, 0,
                                 (size_t)b->bytes, got, 0, NULL, NULL) == CL_SUCCESS);
  FUZZ_CHECK(memcmp(got, b->contents, (size_t)b->bytes) == 0);
}

/* -------------------------------------------------------------------- plans */

void api_create_plan(void) {
  const int32_t number = api_take_number(NUM_PLANS);
  const int32_t context = api_take_number(NUM_CONTEXTS);
  const int32_t problem = api_take_number(NUM_PROBLEMS);
  const int32_t how = api_take_number(8);
  model_plan *p = &api.plans[number];
  if (p->references > 0 || api.contexts[context].references == 0) {
    return;
  }
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  uint32_t allowed = ONE_OF(RLO_OK);
  if (how == 1) {
    options.family = "gather";
  } else if (how == 2) {
    options.family = "none such";
    allowed = ONE_OF(RLO_NOT_FOUND);
  } else if (how >= 4) {
    options.device_class = how % 2 == 0 ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
  }
  begin_call();
  rlo_status status =
      rlo_plan_create(api.contexts[context].handle, &problems[problem], &options, &p->handle);
  end_call(status, allowed);
  if (status != RLO_OK) {
    p->handle = NULL;
    return;
  }
  *p = (model_plan){p->handle, 1, context, problem};
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  FUZZ_CHECK(rlo_plan_get_info(p->handle, &info) == RLO_OK);
  FUZZ_CHECK(info.src_bytes == problems[problem].src_bytes &&
             info.dst_bytes == problems[problem].dst_bytes);
}

void api_release_plan(model_plan *p) {
  if (p->references > 0 && --p->references == 0) {
    rlo_plan_release(p->handle);
    *p = (model_plan){0};
  } else if (p->references > 0) {
    rlo_plan_release(p->handle);
  }
}

void api_prepare_plan(const model_plan *p) {
  if (p->references > 0) {
    begin_call();
    rlo_status status = rlo_plan_prepare(p->handle);
    end_call(status, ONE_OF(RLO_OK) | ONE_OF(RLO_UNSUPPORTED));
  }
}

/* ----------------------------------------------------------------- enqueues */

/* An offset: mostly one that is right. */
static int64_t take_offset(int64_t element) {
  const int32_t how = fuzz_take_byte(&api.reader);
  return how < 128   ? 0
         : how < 240 ? element * (how % 16)
         : how < 250 ? how % 8
         : how < 253 ? -element
                     : INT64_MAX - how;
}

static uint32_t side_failures(const model_plan *p, const model_buffer *b, int64_t offset,
                              int64_t bytes) {
  if (b->handle == NULL) {
    return bytes > 0 ? ONE_OF(RLO_INVALID_ARGUMENT) : 0;
  }
  uint32_t failures = 0;
  if (b->context != p->context) {
    failures |= ONE_OF(RLO_INVALID_ARGUMENT);
  }
  if (offset < 0 || offset > b->bytes || b->bytes - offset < bytes) {
    failures |= ONE_OF(RLO_OUT_OF_RANGE);
  } else if (offset % element_bytes[p->problem] != 0) {
    failures |= ONE_OF(RLO_INVALID_ARGUMENT);
  }
  return failures;
}

/* The wait list of an enqueue, and whether one of it is of another context or
 * fails. */
typedef struct wait_list {
  cl_uint count;
  cl_event events[2];
  bool is_foreign, fails;
} wait_list;

static wait_list take_wait_list(int32_t context) {
  wait_list list = {0};
  const int32_t count = api_take_number(4);
  for (int32_t n = 0; n < count && n < 2; ++n) {
    const model_event *e = &api.events[api_take_number(NUM_EVENTS)];
    if (e->handle != NULL) {
      list.events[list.count++] = e->handle;
      list.is_foreign = list.is_foreign || e->context != context;
      list.fails = list.fails || e->fails;
    }
  }
  return list;
}

void api_enqueue(void) {
  const model_plan *p = &api.plans[api_take_number(NUM_PLANS)];
  model_buffer *src = &api.buffers[api_take_number(NUM_BUFFERS)];
  model_buffer *dst = &api.buffers[api_take_number(NUM_BUFFERS)];
  model_event *out = &api.events[api_take_number(NUM_EVENTS)];
  if (p->references == 0 || out->handle != NULL) {
    return;
  }
  const rlo_problem *problem = &problems[p->problem];
  const int64_t src_offset = take_offset(element_bytes[p->problem]);
  const int64_t dst_offset = take_offset(element_bytes[p->problem]);
  const wait_list wait = take_wait_list(p->context);
  const int32_t queue_of = api_take_number(16) == 0 ? (p->context + 1) % NUM_CONTEXTS : p->context;
  if (api.contexts[queue_of].queue == NULL) {
    return;
  }
  uint32_t failures = side_failures(p, src, src_offset, problem->src_bytes) |
                      side_failures(p, dst, dst_offset, problem->dst_bytes);
  if (failures == 0 && src == dst && src_offset < dst_offset + problem->dst_bytes &&
      dst_offset < src_offset + problem->src_bytes) {
    failures |= ONE_OF(RLO_INVALID_ARGUMENT);
  }
  if (wait.is_foreign || queue_of != p->context) {
    failures |= ONE_OF(RLO_INVALID_ARGUMENT);
  }
  /* One that has failed already is a failure, one that will is none. */
  const uint32_t allowed = (failures != 0 ? failures : ONE_OF(RLO_OK) | ONE_OF(RLO_UNSUPPORTED)) |
                           (wait.fails ? ONE_OF(RLO_DEVICE) : 0);
  launch *l = &api.launches[api.num_launches++];
  *l = (launch){problem, src->handle, dst->handle, src_offset, dst_offset};
  fake_driver_set_tag(l);
  const bool will_fail = fake_driver_fail_next_command(api.command_failure);
  const int64_t commands = fake_driver_num_commands();
  begin_call();
  rlo_status status =
      rlo_enqueue(p->handle, api.contexts[queue_of].queue, src->handle, src_offset, dst->handle,
                  dst_offset, wait.count, wait.count > 0 ? wait.events : NULL, &out->handle);
  end_call(status, allowed);
  (void)fake_driver_fail_next_command(CL_SUCCESS);
  FUZZ_CHECK(commands < 0 || fake_driver_num_commands() - commands == (status == RLO_OK));
  FUZZ_CHECK((out->handle != NULL) == (status == RLO_OK));
  if (status == RLO_OK) {
    out->context = p->context;
    out->fails = wait.fails || will_fail;
    api.command_failure = CL_SUCCESS;
    if (!out->fails && problem->dst_bytes > 0) {
      FUZZ_CHECK(rlo_problem_run_host(problem, src->contents + src_offset,
                                      dst->contents + dst_offset) == RLO_OK);
    }
  }
}

void api_release_event(model_event *e) {
  if (e->handle != NULL) {
    clReleaseEvent(e->handle);
    e->handle = NULL;
  }
}

void api_wait_for_event(const model_event *e) {
  if (e->handle != NULL) {
    FUZZ_CHECK((clWaitForEvents(1, &e->handle) == CL_SUCCESS) == !e->fails);
  }
}
