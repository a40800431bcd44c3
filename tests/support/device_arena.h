/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_DEVICE_ARENA_H
#define RLO_TESTS_SUPPORT_DEVICE_ARENA_H

#include "relayout/opencl.h"
#include "relayout/shape.h"
#include "support/arena.h"
#include "support/program_budget.h"
#include "support/sanitized.h"

/**
 * One relayout on a device, held against the host's, byte by byte: source,
 * destination and indices lie in arenas with guard bands on both sides, the
 * whole of each arena is compared. On PoCL it then runs at the beginning and at
 * the end of pages, with a page that nobody may touch beside them.
 */

/** How many cases to try, or of how many to try one: compiling their kernels is
 *  what takes the time. `all` where RELAYOUT_TEST_ALL is set, as in the tests
 *  labelled slow; `sanitized` in a build for a sanitizer, where compiling takes
 *  many times as long and the kernels themselves are not watched. */
int32_t test_case_count(int32_t all, int32_t usual, int32_t sanitized);

/** Compiles kernels with or without optimisation from now on. Without, it takes
 *  a third of the time, for PoCL; other drivers, and RELAYOUT_TEST_ALL, always
 *  optimise. For combinations of constants each of which is optimised
 *  elsewhere. */
void test_device_optimise(bool optimises);

/** True if RELAYOUT_TEST_SHORT is set: for a simulator, which is slow, small
 *  arrays and few cases. */
bool test_is_short(void);

/** A context on the default device with a queue. */
typedef struct test_device {
  rlo_context *context;
  cl_command_queue queue;
} test_device;

/** Open the default device; the test fails if there is none. Where
 *  RELAYOUT_TEST_PLAIN is set, as one whose compiler takes nothing beside
 *  OpenCL C: kernels are those for drivers that the library does not know. */
test_device test_device_open(void);
/** One more queue; the caller releases it. */
cl_command_queue test_device_make_queue(const test_device *device,
                                        cl_command_queue_properties properties);
/** Blocking transfers; the test fails if they do. */
void test_device_read(cl_command_queue queue, cl_mem buffer, int64_t offset_bytes, int64_t bytes,
                      void *out);
void test_device_write(cl_command_queue queue, cl_mem buffer, int64_t offset_bytes, int64_t bytes,
                       const void *content);
/** Call the functions of these names, and fail the test if they fail. The
 * caller releases a plan, and a buffer by clReleaseMemObject. */
rlo_context_stats test_context_stats(const rlo_context *context);
rlo_plan *test_context_plan(rlo_context *context, const rlo_problem *problem,
                            const rlo_plan_options *options);
rlo_plan_info test_plan_info_of(const rlo_plan *plan);
cl_mem test_context_buffer(const rlo_context *context, cl_mem_flags flags, size_t bytes,
                           void *host);
/** True if the context's device is PoCL's. */
bool test_is_pocl(const rlo_context *context);
/** True if its plans are of the GPU class, and it has memory of its own. */
bool test_device_is_gpu(const test_device *device);
void test_device_close(test_device *device);

typedef struct test_case {
  const rlo_shape *src;
  const rlo_shape *dst;
  /** NULL: the identity. */
  const int32_t *permutation;
  /** NULL: the planner's choice. */
  const char *family;
  rlo_device_class device_class;
  /** NULL: the family's own. */
  const char *schedule;
  rlo_effort effort;
  double measure_seconds;
  /** Bytes added to the guard band before each tensor. */
  int64_t src_shift_bytes, dst_shift_bytes;
  /** For a problem that loads indices: index_bytes of them. */
  const void *indices;
  int64_t index_shift_bytes;
  /** The contents of the source and the destination before the run, src_bytes
   *  and dst_bytes of the problem; NULL for unique values. */
  const void *src_content, *dst_content;
} test_case;

typedef enum test_outcome {
  TEST_RAN,
  /** The family does not do this. */
  TEST_REFUSED,
  /** The budget leaves out the case's program. */
  TEST_LEFT,
  /** The failure was printed, with the line that repeats it. */
  TEST_FAILED
} test_outcome;

/** Asks `budget` before each case from now on; NULL: runs every case. The
 *  device's context holds every program until the next call, which must come
 *  before the device is closed. */
void test_device_set_budget(test_budget *budget);

/** Run a case. `out_info` may be NULL; it is written if the case ran. */
test_outcome test_device_run(const test_device *device, const test_case *c,
                             rlo_plan_info *out_info);

/** The same for a problem; `words` names it when it fails. */
test_outcome test_device_run_problem(const test_device *device, const rlo_problem *problem,
                                     const test_case *c, const char *words,
                                     rlo_plan_info *out_info);

#endif
