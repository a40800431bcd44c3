/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "relayout/engine_ops.h"
#include "relayout/ops.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/sanitized.h"
#include "support/shape_of.h"

/*
 * Plan, run, release, again and again: the process does not grow. Half of the
 * cycles plan for the context, half call an engine. Each takes another part of
 * an array, of more parts than any cache remembers; the programs are the same.
 *
 * RELAYOUT_TEST_CYCLES is how many.
 */
enum {
  USUAL_CYCLES = 10000,
  NUM_PARTS = 2500,
  /* All parts, planned and called. */
  WARM_UP_CYCLES = 2 * NUM_PARTS,
  PART_ROWS = 4,
  COLUMNS = 16,
  NUM_ROWS = NUM_PARTS + PART_ROWS,
  MOST_GROWTH_BYTES = 1 << 20
};

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(1200);

static const int64_t dims[] = {NUM_ROWS, COLUMNS};

static rlo_shape whole;
static cl_mem src, dst;
static rlo_engine *engine;
static rlo_tensor *x;

static int64_t resident_bytes(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%*d %ld", &pages), 1);
  (void)fclose(file);
  return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void run_plan(int64_t first_row) {
  static const int32_t permutation[] = {1, 0};
  const int64_t begin[] = {first_row, 0};
  const int64_t end[] = {first_row + PART_ROWS, COLUMNS};
  rlo_problem_list *list = NULL;
  cl_event done = NULL;
  rlo_chain *chain = test_chain_of(&whole);
  expect_ok(rlo_chain_slice(chain, begin, end, NULL));
  expect_ok(rlo_chain_transpose(chain, permutation));
  expect_ok(rlo_chain_lower(chain, rlo_chain_shape(chain), &list));
  rlo_plan *plan = test_context_plan(device.context, rlo_problem_list_get(list, 0), NULL);
  expect_ok(rlo_enqueue(plan, device.queue, src, 0, dst, 0, 0, NULL, &done));
  expect_cl(clWaitForEvents(1, &done));
  clReleaseEvent(done);
  rlo_plan_release(plan);
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
}

static void run_kernels(int64_t first_row) {
  const int64_t begin[] = {first_row, 0};
  const int64_t size[] = {PART_ROWS, COLUMNS};
  float after[PART_ROWS * COLUMNS];
  rlo_tensor *part = NULL;
  rlo_tensor *turned = NULL;
  expect_ok(rlo_op_slice(x, begin, size, &part));
  expect_ok(rlo_op_transpose(part, NULL, &turned));
  expect_ok(rlo_tensor_read(turned, after, sizeof after));
  rlo_tensor_release(part);
  rlo_tensor_release(turned);
}

static void run_cycles(int64_t first, int64_t count) {
  for (int64_t cycle = first; cycle < first + count; ++cycle) {
    const int64_t part = cycle / 2 % NUM_PARTS;
    if (cycle % 2 == 0) {
      run_plan(part);
    } else {
      run_kernels(part);
    }
  }
}

RLO_TEST(test_drift__cycles_leave_nothing) {
  const char *wanted = getenv("RELAYOUT_TEST_CYCLES");
  int64_t count = wanted != NULL ? strtoll(wanted, NULL, 10) : USUAL_CYCLES;
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = device.context;
  expect_ok(rlo_engine_create(&options, &engine));
  const int64_t all = (int64_t)sizeof(float) * NUM_ROWS * COLUMNS;
  whole = test_shape_make(RLO_DTYPE_F32, dims, 2);
  expect_ok(rlo_tensor_create(engine, &whole, NULL, &x));
  expect_ok(rlo_buffer_create(device.context, all, &src));
  expect_ok(rlo_buffer_create(device.context, all, &dst));
  run_cycles(0, WARM_UP_CYCLES);
  int64_t live = rlo__alloc_live_count();
  int64_t bytes = resident_bytes();
  run_cycles(WARM_UP_CYCLES, count);
  int64_t growth = resident_bytes() - bytes;
  printf("%lld cycles: %lld bytes more, %lld allocations more\n", (long long)count,
         (long long)growth, (long long)(rlo__alloc_live_count() - live));
  /* AddressSanitizer keeps what is released for a while. */
  ck_assert(TEST_IS_SANITIZED || growth < MOST_GROWTH_BYTES);
  rlo_buffer_release(device.context, src);
  rlo_buffer_release(device.context, dst);
  rlo_tensor_release(x);
  rlo_engine_release(engine);
}
