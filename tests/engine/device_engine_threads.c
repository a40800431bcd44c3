/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "engine_case.h"
#include "relayout/backend.h"
#include "relayout/engine_opencl.h"
#include "relayout/kernel.h"

/*
 * Many threads on one engine: they share tensors that are pending, move them
 * between backends, and run a kernel that another thread keeps registering,
 * replacing and unregistering.
 */
enum { NUM_THREADS = 6, NUM_TURNS = 60, SIZE = 12 };

typedef struct worker {
  rlo__thread thread;
  rlo_engine *engine;
  /** The tensor of all threads. */
  rlo_tensor *shared;
  int32_t number;
  /** Check may only be called by the main thread. */
  char complaint[256];
} worker;

static atomic_int disposals;
static atomic_int setups;

static void complain(worker *w, const char *what) {
  if (w->complaint[0] == '\0') {
    snprintf(w->complaint, sizeof w->complaint, "thread %d: %s: %s", w->number, what,
             rlo_error_last()->message);
  }
}

/* reverse(transpose(x)) from the shared transpose, compared. */
static void use_shared(worker *w) {
  rlo_tensor *r = NULL;
  int32_t got[SIZE * SIZE];
  if (rlo_op_reverse(w->shared, DIMS(0), 1, &r) != RLO_OK ||
      rlo_tensor_read(r, got, sizeof got) != RLO_OK) {
    complain(w, "reversing");
  } else {
    for (int32_t i = 0; i < SIZE; ++i) {
      for (int32_t j = 0; j < SIZE; ++j) {
        if (got[i * SIZE + j] != j * SIZE + SIZE - 1 - i) {
          complain(w, "a wrong element");
        }
      }
    }
  }
  rlo_tensor_release(r);
}

static void use_own(worker *w, int32_t turn) {
  int32_t data[SIZE];
  rlo_shape shape;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  int32_t got[2 * SIZE];
  /* Few shapes for many threads: plans are found, made at once, and go. */
  int64_t count = 1 + (w->number + turn) % SIZE;
  for (int32_t i = 0; i < SIZE; ++i) {
    data[i] = w->number * 1000 + i;
  }
  if (rlo_shape_make(RLO_DTYPE_S32, &count, 1, &shape) != RLO_OK ||
      rlo_tensor_create(w->engine, &shape, data, &x) != RLO_OK ||
      rlo_op_tile(x, DIMS(2), &y) != RLO_OK ||
      rlo_tensor_read(y, got, rlo_tensor_bytes(y)) != RLO_OK) {
    complain(w, "tiling");
  } else if (got[count] != data[0] || got[2 * count - 1] != data[count - 1]) {
    complain(w, "a wrong tile");
  }
  rlo_tensor_release(x);
  rlo_tensor_release(y);
}

static void use_changing_kernel(worker *w) {
  rlo_tensor *y = NULL;
  rlo_status status = rlo_run_kernel(w->engine, "Changing", &w->shared, 1, NULL, &y, 1, NULL);
  if (status != RLO_OK && status != RLO_NOT_FOUND) {
    complain(w, "the kernel that comes and goes");
  }
  rlo_tensor_release(y);
}

static void work(void *payload) {
  worker *w = payload;
  for (int32_t turn = 0; turn < NUM_TURNS; ++turn) {
    use_shared(w);
    use_own(w, turn);
    use_changing_kernel(w);
  }
}

static rlo_status count_setup(rlo_engine *of, void *self, void *payload) {
  (void)of;
  (void)self;
  (void)payload;
  atomic_fetch_add(&setups, 1);
  return RLO_OK;
}

static void count_disposal(rlo_engine *of, void *self, void *payload) {
  (void)of;
  (void)self;
  (void)payload;
  atomic_fetch_add(&disposals, 1);
}

static rlo_status view(rlo_kernel_call *call, void *payload) {
  (void)payload;
  return rlo_op_identity(call->inputs[0], &call->outputs[0]);
}

/* Register, replace and unregister; set backends. */
static void change(worker *w) {
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Changing";
  config.infer = rlo_infer_elementwise;
  config.run = view;
  config.setup = count_setup;
  config.dispose = count_disposal;
  static const char *const backends[] = {"opencl", "host"};
  for (int32_t turn = 0; turn < NUM_TURNS; ++turn) {
    config.backend_name = backends[turn % 2];
    if (rlo_backend_set(w->engine, backends[turn / 2 % 2]) != RLO_OK ||
        rlo_kernel_register(w->engine, &config, 0, NULL) != RLO_OK ||
        rlo_kernel_register(w->engine, &config, RLO_KERNEL_REPLACE, NULL) != RLO_OK ||
        rlo_kernel_unregister(w->engine, "Changing", config.backend_name) != RLO_OK) {
      complain(w, "changing");
    }
  }
}

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(300);

RLO_LOOP_TEST(test_engine_threads__one_engine, 0, 2) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.is_fusing = _i == 1;
  options.plan_capacity = 8;
  begin_with(options);
  rlo_tensor *x = count_up(DIMS(SIZE, SIZE), 2);
  rlo_tensor *shared = NULL;
  expect_ok(rlo_op_transpose(x, NULL, &shared));
  rlo_tensor_release(x);

  atomic_store(&setups, 0);
  atomic_store(&disposals, 0);
  worker workers[NUM_THREADS];
  memset(workers, 0, sizeof workers);
  for (int32_t t = 0; t < NUM_THREADS; ++t) {
    workers[t].engine = engine;
    workers[t].shared = shared;
    workers[t].number = t;
    ck_assert_int_eq(rlo__thread_start(work, &workers[t], &workers[t].thread), RLO_OK);
  }
  worker changer = {.engine = engine, .number = -1};
  change(&changer);
  for (int32_t t = 0; t < NUM_THREADS; ++t) {
    rlo__thread_join(&workers[t].thread);
  }
  ck_assert_msg(changer.complaint[0] == '\0', "%s", changer.complaint);
  for (int32_t t = 0; t < NUM_THREADS; ++t) {
    ck_assert_msg(workers[t].complaint[0] == '\0', "%s", workers[t].complaint);
  }
  ck_assert_int_gt(atomic_load(&setups), NUM_TURNS);
  ck_assert_int_eq(atomic_load(&setups), atomic_load(&disposals));
  rlo_tensor_release(shared);
  end();
}

/* ----------------------------------------------------------------- OpenCL C */

enum { NUM_LAUNCHERS = 4, NUM_LAUNCHES = 40 };

static const rlo_source_argument add_arguments[] = {
    {RLO_SOURCE_INPUT, 0, NULL}, {RLO_SOURCE_OUTPUT, 0, NULL}, {RLO_SOURCE_INT, 0, "number"}};

static const char add_source[] =
    "__kernel void add(__global const int *x, __global int *y,\n"
    "                  int number) {\n"
    "  y[get_global_id(0)] = x[get_global_id(0)] + number;\n"
    "}\n";

/* The second one leaves the number out. */
static const rlo_source_kernel add_kernels[2] = {{.struct_size = sizeof(rlo_source_kernel),
                                                  .source = add_source,
                                                  .function = "add",
                                                  .arguments = add_arguments,
                                                  .num_arguments = 3},
                                                 {.struct_size = sizeof(rlo_source_kernel),
                                                  .source = add_source,
                                                  .function = "add",
                                                  .arguments = add_arguments,
                                                  .num_arguments = 2}};

/* Even threads add their number; odd ones are refused. */
static void launch_often(void *payload) {
  worker *w = payload;
  const bool is_fit = w->number % 2 == 0;
  const rlo_attribute item = rlo_attribute_i64("number", w->number);
  const rlo_attributes attributes = {&item, 1};
  for (int32_t n = 0; n < NUM_LAUNCHES; ++n) {
    int32_t got[SIZE] = {0};
    rlo_tensor *y = NULL;
    rlo_status status = rlo_run_kernel(w->engine, is_fit ? "Add" : "Short", &w->shared, 1,
                                       &attributes, &y, 1, NULL);
    if (is_fit && status == RLO_OK) {
      status = rlo_tensor_read(y, got, sizeof got);
    }
    rlo_tensor_release(y);
    if (status != (is_fit ? RLO_OK : RLO_INVALID_ARGUMENT)) {
      complain(w, rlo_status_name(status));
    } else if (is_fit && got[SIZE - 1] != SIZE - 1 + w->number) {
      complain(w, "another thread's argument");
    }
  }
}

/* Threads share the kernel objects of a program: each launch sets all arguments
 * of the one it uses, or does not take place. */
RLO_TEST(test_engine_threads__arguments) {
  worker workers[NUM_LAUNCHERS];
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  /* Leaks of one kernel are not told from tensors of other threads. */
  expect_ok(rlo_engine_create(&options, &engine));
  for (int32_t n = 0; n < 2; ++n) {
    rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
    config.kernel_name = n == 0 ? "Add" : "Short";
    config.backend_name = RLO_BACKEND_NAME_OPENCL;
    config.infer = rlo_infer_elementwise;
    config.run = rlo_source_kernel_run;
    config.payload = (void *)(uintptr_t)&add_kernels[n];
    expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  }
  rlo_tensor *x = count_up(DIMS(SIZE), 1);
  memset(workers, 0, sizeof workers);
  for (int32_t t = 0; t < NUM_LAUNCHERS; ++t) {
    workers[t].engine = engine;
    workers[t].shared = x;
    workers[t].number = t;
    expect_ok(rlo__thread_start(launch_often, &workers[t], &workers[t].thread));
  }
  for (int32_t t = 0; t < NUM_LAUNCHERS; ++t) {
    rlo__thread_join(&workers[t].thread);
    ck_assert_msg(workers[t].complaint[0] == '\0', "%s", workers[t].complaint);
  }
  rlo_tensor_release(x);
  end();
}
