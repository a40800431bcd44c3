/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FUZZ_API_OPERATIONS_H
#define RLO_TESTS_FUZZ_API_OPERATIONS_H

#include "fuzz.h"
#include "relayout/opencl.h"

/*
 * The calls that fuzz_api makes, each against the model of what it may do. What
 * is not said to be passed is taken from the input.
 */

enum { NUM_CONTEXTS = 2, NUM_BUFFERS = 6, NUM_PLANS = 6, NUM_EVENTS = 6, MAX_OPERATIONS = 96 };

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

/** The work of a kernel of the fake driver. */
typedef struct launch {
  const rlo_problem *problem;
  cl_mem src, dst;
  int64_t src_offset, dst_offset;
} launch;

/** The input, and what its calls have made; zeros in the beginning. */
typedef struct api_model {
  fuzz_reader reader;
  model_context contexts[NUM_CONTEXTS];
  model_buffer buffers[NUM_BUFFERS];
  model_plan plans[NUM_PLANS];
  model_event events[NUM_EVENTS];
  launch launches[MAX_OPERATIONS];
  int32_t num_launches;
  /** The code with which the next call fails; 0: it does not fail. */
  cl_int failure;
  int32_t calls_before;
  bool is_sticky;
  /** The next command ends with it. */
  cl_int command_failure;
} api_model;

extern api_model api;

/** Before the first sequence. */
void api_make_problems(void);
/** A number below this one. */
int32_t api_take_number(int32_t count);
/** Runs a kernel of the fake driver. */
void api_run_kernel(void *tag, const cl_mem *memories, int32_t num_memories);

void api_create_context(void);
void api_release_context(int32_t number);
void api_create_buffer(void);
/** Compares what it holds. */
void api_read_buffer(model_buffer *b);
void api_release_buffer(model_buffer *b);
void api_create_plan(void);
void api_prepare_plan(const model_plan *p);
void api_release_plan(model_plan *p);
void api_enqueue(void);
void api_wait_for_event(const model_event *e);
void api_release_event(model_event *e);

#endif
