/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_DEVICE_MIXED_MIXED_H
#define RLO_TESTS_DEVICE_MIXED_MIXED_H

#include "base/thread.h"
#include "relayout/engine.h"
#include "relayout/opencl.h"
#include "relayout/service.h"
#include "support/random.h"
#include "support/temp_file.h"

/*
 * The threads of test_mixed_threads run operations of all kinds on shared
 * objects, and compare the results.
 */

enum {
  MIXED_NUM_WORKS = 6,
  MIXED_ARENA_BYTES = 16 * 1024,
  /* The matrix that engines transpose, as the first work does. */
  MIXED_ROWS = 40,
  MIXED_COLUMNS = 60,
  MIXED_COUNT = MIXED_ROWS * MIXED_COLUMNS,
  MIXED_NUM_KINDS = 11
};

typedef struct mixed_work {
  rlo_problem problem;
  rlo_plan *plan;
  const char *dst;
  /** The content of the arena after the work. */
  uint8_t expected[MIXED_ARENA_BYTES];
} mixed_work;

/** The state that all threads share. */
typedef struct mixed_commons {
  rlo_context *contexts[2];
  mixed_work works[MIXED_NUM_WORKS];
  /** Without and with fusion. */
  rlo_engine *engines[2];
  rlo_tensor *pending;
  rlo_service *service;
  char folder[TEMP_FOLDER_CHARS];
  char wisdom[TEMP_FOLDER_CHARS + 16];
  /** The bits of floats. */
  uint32_t numbers[MIXED_COUNT];
  uint8_t source[MIXED_ARENA_BYTES], before[MIXED_ARENA_BYTES];
} mixed_commons;

typedef struct mixed_worker {
  rlo__thread thread;
  const mixed_commons *shared;
  test_random random;
  /** A queue in order, and a queue out of order. */
  cl_command_queue queue, unordered;
  cl_mem src, dst;
  uint8_t after[MIXED_ARENA_BYTES];
  int64_t num_turns[MIXED_NUM_KINDS];
  /** "", or the failure. Only the main thread may call Check. */
  char complaint[700];
} mixed_worker;

/** Notes what went wrong, and the thread's last error. Returns false. */
bool mixed_complain(mixed_worker *w, const char *what);

/** The kinds of operations; false after a complaint. */
extern bool (*const mixed_kinds[MIXED_NUM_KINDS])(mixed_worker *w);

#endif
