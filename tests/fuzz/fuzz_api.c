/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences of calls of opencl.h: contexts, buffers, plans, enqueues, events,
 * released in any order, with OpenCL calls and commands that fail, against a
 * model: which status a call may have, how many bytes of the budget are held,
 * what each buffer holds, and that nothing lives in the end.
 *
 * With fake_driver.c (fuzz_api), whose kernels are the host reference, so that
 * thousands of sequences run in a second; with real_driver.c (fuzz_api_device)
 * on the default device, where no call fails.
 */
#include "fake_driver.h"

#include "base/alloc.h"
#include "fuzz.h"
#include "relayout/opencl.h"
#include "relayout/text.h"

enum {
  NUM_PROBLEMS = 8,
  NUM_CONTEXTS = 2,
  NUM_BUFFERS = 6,
  NUM_PLANS = 6,
  NUM_EVENTS = 6,
  MAX_OPERATIONS = 96,
  MAX_BUFFER_BYTES = 32768
};

static rlo_problem problems[NUM_PROBLEMS];
/* Bytes of an element, which offsets are multiples of. */
static int64_t element_bytes[NUM_PROBLEMS];

static void make_problems(void) {
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
    FUZZ_CHECK(
        rlo_shape_parse(texts[n].src, strlen(texts[n].src), &src) == RLO_OK &&
        rlo_shape_parse(texts[n].dst, strlen(texts[n].dst), &dst) == RLO_OK &&
        rlo_relayout_lower(&src, &dst, texts[n].permutation, &problems[n]) ==
            RLO_OK);
    element_bytes[n] = rlo_dtype_storage_bits(src.dtype) / 8;
  }
  are_made = true;
}

/* --------------------------------------------------------------------- model
 */

/** References that the caller holds; 0: not alive. */
typedef struct model_context {
  rlo_context *handle;
  int32_t references;
  cl_context cl;
  cl_command_queue queue;
  int64_t budget, held;
} model_context;

typedef struct model_buffer {
  cl_mem handle;
  int32_t context;
  int64_t bytes;
  uint8_t *contents;
} model_buffer;

typedef struct model_plan {
  rlo_plan *handle;
  int32_t references, context, problem;
} model_plan;

typedef struct model_event {
  cl_event handle;
  int32_t context;
  bool fails;
} model_event;

/** What a kernel of the fake driver has to do. */
typedef struct launch {
  const rlo_problem *problem;
  cl_mem src, dst;
  int64_t src_offset, dst_offset;
} launch;

/** Zeros in the beginning. */
static struct {
  fuzz_reader reader;
  model_context contexts[NUM_CONTEXTS];
  model_buffer buffers[NUM_BUFFERS];
  model_plan plans[NUM_PLANS];
  model_event events[NUM_EVENTS];
  launch launches[MAX_OPERATIONS];
  int32_t num_launches;
  /** Of the next call; 0: it does not fail. */
  cl_int failure;
  int32_t calls_before;
  bool is_sticky;
  /** The next command ends with it. */
  cl_int command_failure;
} m;

static int32_t take_number(int32_t count) {
  return fuzz_take_byte(&m.reader) % count;
}

/* Results of calls: a set of statuses. */
#define ONE_OF(status) (1U << (status))

/* Calls whose failure costs nothing that the caller asked for: a text of the
 * device, or of its numbers one that has a default. */
static bool may_be_ignored(const char *function) {
  static const char *const names[] = {"clGetDeviceInfo",
                                      "clGetPlatformInfo",
                                      "clFlush",
                                      "clGetProgramBuildInfo"};
  for (size_t n = 0; n < sizeof names / sizeof names[0]; ++n) {
    if (strcmp(names[n], function) == 0) {
      return true;
    }
  }
  return false;
}

static void begin_call(void) {
  fake_driver_fail(m.calls_before, m.failure, m.is_sticky);
}

/* `allowed`: the statuses that the call may have if no OpenCL call fails. */
static void end_call(rlo_status status, uint32_t allowed) {
  const char *failed = fake_driver_end_failure();
  m.failure = 0;
  if (status != RLO_OK) {
    const rlo_error *error = rlo_error_last();
    FUZZ_CHECK(error->status == status && error->message[0] != '\0');
  }
  if (failed == NULL) {
    FUZZ_CHECK((allowed & ONE_OF(status)) != 0);
  } else if (status == RLO_OK) {
    FUZZ_CHECK(may_be_ignored(failed));
  } else {
    FUZZ_CHECK(((allowed | ONE_OF(RLO_DEVICE) | ONE_OF(RLO_OUT_OF_MEMORY) |
                 ONE_OF(RLO_BUILD_FAILED)) &
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
static void run_kernel(void *tag,
                       const cl_mem *memories,
                       int32_t num_memories) {
  const launch *l = tag;
  bool has_src = false;
  bool has_dst = false;
  for (int32_t n = 0; n < num_memories; ++n) {
    has_src = has_src || memories[n] == l->src;
    has_dst = has_dst || memories[n] == l->dst;
  }
  FUZZ_CHECK(has_src && has_dst);
  FUZZ_CHECK(rlo_problem_run_host(l->problem,
                                  fake_driver_memory(l->src) + l->src_offset,
                                  fake_driver_memory(l->dst) + l->dst_offset) ==
             RLO_OK);
}

/* ------------------------------------------------------- contexts and buffers
 */

static void create_context(void) {
  static const int64_t budgets[] = {0, 16384, 65536, 1 << 20};
  const int32_t number = take_number(NUM_CONTEXTS);
  const int64_t budget = budgets[take_number(4)];
  model_context *c = &m.contexts[number];
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

static void release_buffer(model_buffer *b) {
  model_context *c = &m.contexts[b->context];
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

static void release_context(int32_t number) {
  model_context *c = &m.contexts[number];
  if (c->references > 0) {
    --c->references;
    rlo_context_release(c->handle);
  }
}

static void create_buffer(void) {
  static const int64_t sizes[] = {0, 1, 64, 240, 4096, 8192, MAX_BUFFER_BYTES};
  const int32_t number = take_number(NUM_BUFFERS);
  const int32_t context = take_number(NUM_CONTEXTS);
  const int64_t bytes = sizes[take_number(7)] + take_number(8);
  model_buffer *b = &m.buffers[number];
  model_context *c = &m.contexts[context];
  if (b->handle != NULL || c->references == 0) {
    return;
  }
  const bool fits = bytes <= c->budget - c->held;
  begin_call();
  rlo_status status = rlo_buffer_create(c->handle, bytes, &b->handle);
  end_call(status,
           bytes < 1 ? ONE_OF(RLO_INVALID_ARGUMENT)
                     : ONE_OF(fits ? RLO_OK : RLO_OUT_OF_MEMORY));
  if (status == RLO_OK) {
    b->context = context;
    b->bytes = bytes;
    b->contents = malloc((size_t)bytes);
    FUZZ_CHECK(b->contents != NULL);
    for (int64_t n = 0; n < bytes; ++n) {
      b->contents[n] = (uint8_t)(n * 7 + number);
    }
    c->held += bytes;
    FUZZ_CHECK(clEnqueueWriteBuffer(c->queue,
                                    b->handle,
                                    CL_TRUE,
                                    0,
                                    (size_t)bytes,
                                    b->contents,
                                    0,
                                    NULL,
                                    NULL) == CL_SUCCESS);
  } else {
    FUZZ_CHECK(b->handle == NULL);
  }
  check_budget(c);
}

static void read_buffer(model_buffer *b) {
  static uint8_t got[MAX_BUFFER_BYTES + 8];
  if (b->handle == NULL) {
    return;
  }
  FUZZ_CHECK(clEnqueueReadBuffer(m.contexts[b->context].queue,
                                 b->handle,
                                 CL_TRUE,
                                 0,
                                 (size_t)b->bytes,
                                 got,
                                 0,
                                 NULL,
                                 NULL) == CL_SUCCESS);
  FUZZ_CHECK(memcmp(got, b->contents, (size_t)b->bytes) == 0);
}

/* --------------------------------------------------------------------- plans
 */

static void create_plan(void) {
  const int32_t number = take_number(NUM_PLANS);
  const int32_t context = take_number(NUM_CONTEXTS);
  const int32_t problem = take_number(NUM_PROBLEMS);
  const int32_t how = take_number(8);
  model_plan *p = &m.plans[number];
  if (p->references > 0 || m.contexts[context].references == 0) {
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
    options.device_class =
        how % 2 == 0 ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
  }
  begin_call();
  rlo_status status = rlo_plan_create(
      m.contexts[context].handle, &problems[problem], &options, &p->handle);
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

static void release_plan(model_plan *p) {
  if (p->references > 0 && --p->references == 0) {
    rlo_plan_release(p->handle);
    *p = (model_plan){0};
  } else if (p->references > 0) {
    rlo_plan_release(p->handle);
  }
}

static void prepare_plan(const model_plan *p) {
  if (p->references > 0) {
    begin_call();
    rlo_status status = rlo_plan_prepare(p->handle);
    end_call(status, ONE_OF(RLO_OK) | ONE_OF(RLO_UNSUPPORTED));
  }
}

/* ------------------------------------------------------------------- enqueues
 */

/* An offset: mostly one that is right. */
static int64_t take_offset(int64_t element) {
  const int32_t how = fuzz_take_byte(&m.reader);
  return how < 128   ? 0
         : how < 240 ? element * (how % 16)
         : how < 250 ? how % 8
         : how < 253 ? -element
                     : INT64_MAX - how;
}

static uint32_t side_failures(const model_plan *p,
                              const model_buffer *b,
                              int64_t offset,
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
  const int32_t count = take_number(4);
  for (int32_t n = 0; n < count && n < 2; ++n) {
    const model_event *e = &m.events[take_number(NUM_EVENTS)];
    if (e->handle != NULL) {
      list.events[list.count++] = e->handle;
      list.is_foreign = list.is_foreign || e->context != context;
      list.fails = list.fails || e->fails;
    }
  }
  return list;
}

static void enqueue(void) {
  const model_plan *p = &m.plans[take_number(NUM_PLANS)];
  model_buffer *src = &m.buffers[take_number(NUM_BUFFERS)];
  model_buffer *dst = &m.buffers[take_number(NUM_BUFFERS)];
  model_event *out = &m.events[take_number(NUM_EVENTS)];
  if (p->references == 0 || out->handle != NULL) {
    return;
  }
  const rlo_problem *problem = &problems[p->problem];
  const int64_t src_offset = take_offset(element_bytes[p->problem]);
  const int64_t dst_offset = take_offset(element_bytes[p->problem]);
  const wait_list wait = take_wait_list(p->context);
  const int32_t queue_of =
      take_number(16) == 0 ? (p->context + 1) % NUM_CONTEXTS : p->context;
  if (m.contexts[queue_of].queue == NULL) {
    return;
  }
  uint32_t failures = side_failures(p, src, src_offset, problem->src_bytes) |
                      side_failures(p, dst, dst_offset, problem->dst_bytes);
  if (failures == 0 && src == dst &&
      src_offset < dst_offset + problem->dst_bytes &&
      dst_offset < src_offset + problem->src_bytes) {
    failures |= ONE_OF(RLO_INVALID_ARGUMENT);
  }
  if (wait.is_foreign || queue_of != p->context) {
    failures |= ONE_OF(RLO_INVALID_ARGUMENT);
  }
  /* One that has failed already is a failure, one that will is none. */
  const uint32_t allowed =
      (failures != 0 ? failures : ONE_OF(RLO_OK) | ONE_OF(RLO_UNSUPPORTED)) |
      (wait.fails ? ONE_OF(RLO_DEVICE) : 0);
  launch *l = &m.launches[m.num_launches++];
  *l = (launch){problem, src->handle, dst->handle, src_offset, dst_offset};
  fake_driver_set_tag(l);
  const bool will_fail = fake_driver_fail_next_command(m.command_failure);
  const int64_t commands = fake_driver_num_commands();
  begin_call();
  rlo_status status = rlo_enqueue(p->handle,
                                  m.contexts[queue_of].queue,
                                  src->handle,
                                  src_offset,
                                  dst->handle,
                                  dst_offset,
                                  wait.count,
                                  wait.count > 0 ? wait.events : NULL,
                                  &out->handle);
  end_call(status, allowed);
  (void)fake_driver_fail_next_command(CL_SUCCESS);
  FUZZ_CHECK(commands < 0 ||
             fake_driver_num_commands() - commands == (status == RLO_OK));
  FUZZ_CHECK((out->handle != NULL) == (status == RLO_OK));
  if (status == RLO_OK) {
    out->context = p->context;
    out->fails = wait.fails || will_fail;
    m.command_failure = CL_SUCCESS;
    if (!out->fails && problem->dst_bytes > 0) {
      FUZZ_CHECK(rlo_problem_run_host(problem,
                                      src->contents + src_offset,
                                      dst->contents + dst_offset) == RLO_OK);
    }
  }
}

static void release_event(model_event *e) {
  if (e->handle != NULL) {
    clReleaseEvent(e->handle);
    e->handle = NULL;
  }
}

static void wait_for_event(const model_event *e) {
  if (e->handle != NULL) {
    FUZZ_CHECK((clWaitForEvents(1, &e->handle) == CL_SUCCESS) == !e->fails);
  }
}

/* ------------------------------------------------------------------ operations
 */

static void set_failure(void) {
  static const cl_int codes[] = {
      CL_MEM_OBJECT_ALLOCATION_FAILURE,
      CL_OUT_OF_RESOURCES,
      CL_OUT_OF_HOST_MEMORY,
      CL_BUILD_PROGRAM_FAILURE,
      CL_INVALID_COMMAND_QUEUE,
  };
  m.failure = codes[take_number(5)];
  m.calls_before = take_number(24);
  m.is_sticky = take_number(2) == 1;
}

static void change_planning(void) {
  const model_context *c = &m.contexts[take_number(NUM_CONTEXTS)];
  switch (take_number(4)) {
    case 0:
      fake_driver_limit_groups((size_t)1 << take_number(11));
      break;
    case 1:
      fake_driver_limit_groups(0);
      break;
    case 2:
      rlo_context_clear_wisdom(c->references > 0 ? c->handle : NULL);
      break;
    default:
      if (c->references > 0) {
        char text[8];
        fuzz_take(&m.reader, text, sizeof text);
        rlo_status status =
            rlo_context_import_wisdom(c->handle, text, sizeof text, NULL, NULL);
        FUZZ_CHECK(status == RLO_PARSE);
      }
  }
}

static void step(void) {
  const int32_t what = take_number(20);
  switch (what) {
    case 0:
    case 1:
      create_context();
      break;
    case 2:
    case 3:
    case 4:
      create_buffer();
      break;
    case 5:
      release_buffer(&m.buffers[take_number(NUM_BUFFERS)]);
      break;
    case 6:
    case 7:
      create_plan();
      break;
    case 8:
      release_plan(&m.plans[take_number(NUM_PLANS)]);
      break;
    case 9:
      prepare_plan(&m.plans[take_number(NUM_PLANS)]);
      break;
    case 10:
      set_failure();
      break;
    case 11:
      m.command_failure = CL_OUT_OF_RESOURCES;
      break;
    case 12:
      wait_for_event(&m.events[take_number(NUM_EVENTS)]);
      break;
    case 13:
      release_event(&m.events[take_number(NUM_EVENTS)]);
      break;
    case 14:
      read_buffer(&m.buffers[take_number(NUM_BUFFERS)]);
      break;
    case 15: {
      model_context *c = &m.contexts[take_number(NUM_CONTEXTS)];
      model_plan *p = &m.plans[take_number(NUM_PLANS)];
      if (c->references > 0 && c->references < 3 && take_number(2) == 0) {
        ++c->references;
        (void)rlo_context_retain(c->handle);
      } else if (p->references > 0 && p->references < 3) {
        ++p->references;
        (void)rlo_plan_retain(p->handle);
      }
      break;
    }
    case 16:
      /* Seldom: little can be done without a context. */
      if (take_number(4) == 0) {
        release_context(take_number(NUM_CONTEXTS));
      }
      break;
    case 17:
      change_planning();
      break;
    default:
      enqueue();
  }
}

/* Everything is checked once more and released, in an order of the input's. */
static void end(void) {
  for (int32_t n = 0; n < NUM_BUFFERS; ++n) {
    read_buffer(&m.buffers[n]);
  }
  const bool are_plans_last = take_number(2) == 1;
  for (int32_t n = 0; n < NUM_PLANS && !are_plans_last; ++n) {
    while (m.plans[n].references > 0) {
      release_plan(&m.plans[n]);
    }
  }
  for (int32_t n = 0; n < NUM_CONTEXTS; ++n) {
    while (take_number(2) == 1 && m.contexts[n].references > 0) {
      release_context(n);
    }
  }
  for (int32_t n = 0; n < NUM_BUFFERS; ++n) {
    release_buffer(&m.buffers[n]);
  }
  for (int32_t n = 0; n < NUM_CONTEXTS; ++n) {
    while (m.contexts[n].references > 0) {
      release_context(n);
    }
  }
  for (int32_t n = 0; n < NUM_PLANS; ++n) {
    while (m.plans[n].references > 0) {
      release_plan(&m.plans[n]);
    }
  }
  for (int32_t n = 0; n < NUM_EVENTS; ++n) {
    wait_for_event(&m.events[n]);
    release_event(&m.events[n]);
  }
  for (int32_t n = 0; n < NUM_CONTEXTS; ++n) {
    if (m.contexts[n].cl != NULL) {
      clReleaseCommandQueue(m.contexts[n].queue);
      clReleaseContext(m.contexts[n].cl);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  make_problems();
  memset(&m, 0, sizeof m);
  m.reader = (fuzz_reader){data, size};
  const int64_t allocations = rlo__alloc_live_count();
  fake_driver_set_kernel(run_kernel);
  fake_driver_limit_groups(0);
  for (int32_t n = 0; n < MAX_OPERATIONS && m.reader.size > 0; ++n) {
    step();
  }
  end();
  FUZZ_CHECK(fake_driver_live() == 0);
  FUZZ_CHECK(rlo__alloc_live_count() == allocations);
  return 0;
}
