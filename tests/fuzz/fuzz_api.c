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
#include <string.h>

#include "api_operations.h"
#include "base/alloc.h"
#include "fake_driver.h"

static void set_failure(void) {
  static const cl_int codes[] = {
      CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES,      CL_OUT_OF_HOST_MEMORY,
      CL_BUILD_PROGRAM_FAILURE,         CL_INVALID_COMMAND_QUEUE,
  };
  api.failure = codes[api_take_number(5)];
  api.calls_before = api_take_number(24);
  api.is_sticky = api_take_number(2) == 1;
}

static void change_planning(void) {
  const model_context *c = &api.contexts[api_take_number(NUM_CONTEXTS)];
  switch (api_take_number(4)) {
    case 0:
      fake_driver_limit_groups((size_t)1 << api_take_number(11));
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
        fuzz_take(&api.reader, text, sizeof text);
        rlo_status status = rlo_context_import_wisdom(c->handle, text, sizeof text, NULL, NULL);
        FUZZ_CHECK(status == RLO_PARSE);
      }
  }
}

static void step(void) {
  const int32_t what = api_take_number(20);
  switch (what) {
    case 0:
    case 1:
      api_create_context();
      break;
    case 2:
    case 3:
    case 4:
      api_create_buffer();
      break;
    case 5:
      api_release_buffer(&api.buffers[api_take_number(NUM_BUFFERS)]);
      break;
    case 6:
    case 7:
      api_create_plan();
      break;
    case 8:
      api_release_plan(&api.plans[api_take_number(NUM_PLANS)]);
      break;
    case 9:
      api_prepare_plan(&api.plans[api_take_number(NUM_PLANS)]);
      break;
    case 10:
      set_failure();
      break;
    case 11:
      api.command_failure = CL_OUT_OF_RESOURCES;
      break;
    case 12:
      api_wait_for_event(&api.events[api_take_number(NUM_EVENTS)]);
      break;
    case 13:
      api_release_event(&api.events[api_take_number(NUM_EVENTS)]);
      break;
    case 14:
      api_read_buffer(&api.buffers[api_take_number(NUM_BUFFERS)]);
      break;
    case 15: {
      model_context *c = &api.contexts[api_take_number(NUM_CONTEXTS)];
      model_plan *p = &api.plans[api_take_number(NUM_PLANS)];
      if (c->references > 0 && c->references < 3 && api_take_number(2) == 0) {
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
      if (api_take_number(4) == 0) {
        api_release_context(api_take_number(NUM_CONTEXTS));
      }
      break;
    case 17:
      change_planning();
      break;
    default:
      api_enqueue();
  }
}

/* Everything is checked once more and released, in an order of the input's. */
static void end(void) {
  for (int32_t n = 0; n < NUM_BUFFERS; ++n) {
    api_read_buffer(&api.buffers[n]);
  }
  const bool are_plans_last = api_take_number(2) == 1;
  for (int32_t n = 0; n < NUM_PLANS && !are_plans_last; ++n) {
    while (api.plans[n].references > 0) {
      api_release_plan(&api.plans[n]);
    }
  }
  for (int32_t n = 0; n < NUM_CONTEXTS; ++n) {
    while (api_take_number(2) == 1 && api.contexts[n].references > 0) {
      api_release_context(n);
    }
  }
  for (int32_t n = 0; n < NUM_BUFFERS; ++n) {
    api_release_buffer(&api.buffers[n]);
  }
  for (int32_t n = 0; n < NUM_CONTEXTS; ++n) {
    while (api.contexts[n].references > 0) {
      api_release_context(n);
    }
  }
  for (int32_t n = 0; n < NUM_PLANS; ++n) {
    while (api.plans[n].references > 0) {
      api_release_plan(&api.plans[n]);
    }
  }
  for (int32_t n = 0; n < NUM_EVENTS; ++n) {
    api_wait_for_event(&api.events[n]);
    api_release_event(&api.events[n]);
  }
  for (int32_t n = 0; n < NUM_CONTEXTS; ++n) {
    if (api.contexts[n].cl != NULL) {
      clReleaseCommandQueue(api.contexts[n].queue);
      clReleaseContext(api.contexts[n].cl);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  api_make_problems();
  memset(&api, 0, sizeof api);
  api.reader = (fuzz_reader){data, size};
  const int64_t allocations = rlo__alloc_live_count();
  fake_driver_set_kernel(api_run_kernel);
  fake_driver_limit_groups(0);
  for (int32_t n = 0; n < MAX_OPERATIONS && api.reader.size > 0; ++n) {
    step();
  }
  end();
  FUZZ_CHECK(fake_driver_live() == 0);
  FUZZ_CHECK(rlo__alloc_live_count() == allocations);
  return 0;
}
