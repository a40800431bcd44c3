/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_ENGINE_ENGINE_CASE_H
#define RLO_TESTS_ENGINE_ENGINE_CASE_H

#include "relayout/engine_ops.h"
#include "support/expect.h"
#include "support/suite.h"

/*
 * The suites of the engine share this: an engine for each test, tensors to run
 * kernels on, and checks of results and refusals.
 */

#define DIMS(...)    ((const int64_t[]){__VA_ARGS__})
#define FLOATS(...)  ((const float[]){__VA_ARGS__})
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

/** The engine of the test that runs: from begin to end. */
extern rlo_engine *engine;

/** The device that engines are made on: from the beginning to the end of a
 *  device suite; NULL on a bare host. */
extern struct rlo_context *context;

/** For RLO_FILE_FIXTURE of a device suite. */
void open_context(void);
void close_context(void);

/** Make the engine, on `context` and with leak checks whatever `options` say.
 */
void begin_with(rlo_engine_options options);
void begin(bool is_fusing);

/** For checked fixtures: one that does not fuse. */
void begin_plain(void);

/** On a device, let the host run what the tests register for it alone. */
void begin_with_fallback(void);

/** Release it. No tensor is left, and no memory of the host or, if there is
 *  one, of the device. */
void end(void);

/** The backends, with and without fusion, for loop tests. */
typedef struct set_up {
  const char *backend;
  bool is_fusing;
} set_up;

enum { NUM_SET_UPS = 4 };

extern const set_up set_ups[NUM_SET_UPS];

/** Make an engine as set_ups[number] says. */
void begin_set_up(int number);

/** A tensor of floats; `data` NULL: zeros. */
rlo_tensor *tensor(const int64_t *dims, int32_t rank, const float *data);
rlo_tensor *scalar(float value);

/** A tensor of s32. */
rlo_tensor *indices_of(const int64_t *dims, int32_t rank, const int32_t *data);

/** The same, of 0, 1, 2, ...: up to 4096 of them. */
rlo_tensor *count_up(const int64_t *dims, int32_t rank);

/** 0, 1, 2, ... and 0, 10, 20, ... */
extern const float counted[33];
extern const float tens[9];

/** Compare up to 64 floats, in memory order, bit for bit: no result has a zero
 *  with a sign. Release the tensor. */
void expect(rlo_tensor *y, const float *data, int64_t count);

/** The same, with the dimensions that are wanted. */
void expect_array(rlo_tensor *y, const int64_t *dims, int32_t rank, const float *data);

/** Counters of the engine, and the launches of the context. */
rlo_engine_stats engine_stats(void);
int64_t launches(void);

#endif
