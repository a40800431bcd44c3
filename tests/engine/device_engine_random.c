/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "engine_case.h"
#include "relayout/backend.h"
#include "support/device_arena.h"
#include "support/random.h"
#include "support/random_shape.h"

/*
 * Random expressions of operations: an engine that fuses, on the host and on
 * the device, gives the bytes that one operation after the other gives on the
 * host.
 */

enum {
  NUM_HOST_CASES = 400,
  NUM_DEVICE_CASES = TEST_IS_SANITIZED ? 4 : 8,
  MAX_OPS = 9,
  MAX_ELEMENTS = 3000
};

/* An expression under way in one engine. Both engines draw the same numbers,
 * which depend on shapes alone. */
typedef struct growing {
  test_random random;
  /** Any earlier result may be used again. */
  rlo_tensor *values[MAX_OPS + 1];
  int32_t count;
  char words[300];
} growing;

static void say(growing *g, const char *operation) {
  size_t length = strlen(g->words);
  snprintf(g->words + length, sizeof g->words - length, " %s", operation);
}

static int64_t count_elements(const rlo_tensor *x) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  int64_t count = 1;
  for (int32_t k = 0; k < shape->rank; ++k) {
    count *= shape->dims[k];
  }
  return count;
}

static rlo_status turn(growing *g, rlo_tensor *x, rlo_tensor **out) {
  int32_t rank = rlo_tensor_shape(x)->rank;
  int32_t permutation[RLO_MAX_RANK];
  int64_t wide[RLO_MAX_RANK] = {0};
  test_random_permutation(&g->random, rank, permutation);
  for (int32_t k = 0; k < rank; ++k) {
    wide[k] = permutation[k];
  }
  say(g, "transpose");
  return rlo_op_transpose(x, wide, out);
}

static rlo_status cut(growing *g, rlo_tensor *x, rlo_tensor **out) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  int64_t begin[RLO_MAX_RANK];
  int64_t size[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank; ++k) {
    begin[k] = test_random_in(&g->random, 0, shape->dims[k] / 3);
    size[k] = test_random_in(&g->random, (shape->dims[k] + 1) / 2 - begin[k] / 2, shape->dims[k]);
    if (begin[k] + size[k] > shape->dims[k]) {
      size[k] = -1;
    }
  }
  say(g, "slice");
  return rlo_op_slice(x, begin, size, out);
}

static rlo_status pad(growing *g, rlo_tensor *x, rlo_tensor **out) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  int64_t low[RLO_MAX_RANK];
  int64_t high[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank; ++k) {
    low[k] = test_random_in(&g->random, -(shape->dims[k] > 2), 2);
    high[k] = test_random_in(&g->random, 0, 2);
  }
  say(g, "pad");
  return rlo_op_pad(x, low, high, NULL, NULL, out);
}

static rlo_status turn_round(growing *g, rlo_tensor *x, rlo_tensor **out) {
  int64_t dim = test_random_in(&g->random, 0, rlo_tensor_shape(x)->rank - 1);
  say(g, "reverse");
  return rlo_op_reverse(x, &dim, 1, out);
}

static rlo_status regroup(growing *g, rlo_tensor *x, rlo_tensor **out) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  const int64_t two[] = {shape->dims[0], -1};
  bool is_flat = shape->dims[0] == 0 || test_random_once_in(&g->random, 3);
  const int64_t one[] = {count_elements(x)};
  say(g, "reshape");
  return is_flat ? rlo_op_reshape(x, one, 1, out) : rlo_op_reshape(x, two, 2, out);
}

static rlo_status repeat(growing *g, rlo_tensor *x, rlo_tensor **out) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  int64_t times[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank; ++k) {
    times[k] = test_random_once_in(&g->random, 3) ? 2 : 1;
  }
  say(g, "tile");
  return rlo_op_tile(x, times, out);
}

static rlo_status join(growing *g, rlo_tensor *x, rlo_tensor **out) {
  /* With itself, moved: two ways from one tensor to the result. */
  rlo_tensor *other = NULL;
  int64_t dim = test_random_in(&g->random, 0, rlo_tensor_shape(x)->rank - 1);
  rlo_status status = rlo_op_reverse(x, &dim, 1, &other);
  if (status == RLO_OK) {
    rlo_tensor *const both[] = {x, other};
    status = test_random_once_in(&g->random, 2) ? rlo_op_concat(both, 2, dim, out)
                                                : rlo_op_stack(both, 2, dim, out);
  }
  rlo_tensor_release(other);
  say(g, "join");
  return status;
}

static rlo_status gather(growing *g, rlo_tensor *x, rlo_tensor **out) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  int64_t axis = test_random_in(&g->random, 0, shape->rank - 1);
  int32_t indices[4];
  const int64_t dims[] = {4};
  rlo_shape list;
  rlo_tensor *which = NULL;
  for (int32_t k = 0; k < 4; ++k) {
    /* One in some names nothing. */
    indices[k] = (int32_t)test_random_in(&g->random, -1, shape->dims[axis]);
  }
  rlo_status status = rlo_shape_make(RLO_DTYPE_S32, dims, 1, &list);
  if (status == RLO_OK) {
    status = rlo_tensor_create(rlo_tensor_engine(x), &list, indices, &which);
  }
  if (status == RLO_OK) {
    status = rlo_op_gather(x, which, axis, 0, out);
  }
  rlo_tensor_release(which);
  say(g, "gather");
  return status;
}

static rlo_status sum(growing *g, rlo_tensor *x, rlo_tensor **out) {
  int64_t dim = test_random_in(&g->random, 0, rlo_tensor_shape(x)->rank - 1);
  say(g, "sum");
  return rlo_op_sum(x, &dim, 1, true, out);
}

typedef rlo_status (*operation)(growing *g, rlo_tensor *x, rlo_tensor **out);

static const operation operations[] = {turn,   cut,  pad,    turn_round, regroup,
                                       repeat, join, gather, sum};

/* One expression; its last value is left in *out_y. */
static void grow(rlo_engine *e, uint64_t seed, growing *g) {
  memset(g, 0, sizeof *g);
  g->random.state = seed;
  int32_t data[MAX_ELEMENTS];
  int64_t dims[3];
  rlo_shape shape;
  for (int32_t i = 0; i < MAX_ELEMENTS; ++i) {
    data[i] = i + 1;
  }
  int32_t rank = (int32_t)test_random_in(&g->random, 1, 3);
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = test_random_in(&g->random, 1, 7);
  }
  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_S32, dims, rank, &shape), RLO_OK);
  ck_assert_int_eq(rlo_tensor_create(e, &shape, data, &g->values[0]), RLO_OK);
  g->count = 1;
  while (g->count <= MAX_OPS) {
    bool is_last = test_random_once_in(&g->random, 3);
    rlo_tensor *x = g->values[is_last ? test_random_in(&g->random, 0, g->count - 1) : g->count - 1];
    int64_t which =
        test_random_in(&g->random, 0, (int64_t)(sizeof operations / sizeof *operations) - 1);
    if (count_elements(x) > MAX_ELEMENTS / 8 || rlo_tensor_shape(x)->rank > 4 ||
        rlo_tensor_shape(x)->rank < 1) {
      which = 1;
      x = g->values[0];
    }
    rlo_status status = operations[which](g, x, &g->values[g->count]);
    ck_assert_msg(status == RLO_OK, "seed 0x%llx:%s: %s", (unsigned long long)seed, g->words,
                  rlo_error_last()->message);
    ++g->count;
  }
}

static void drop(growing *g) {
  for (int32_t k = 0; k < g->count; ++k) {
    rlo_tensor_release(g->values[k]);
  }
}

/* Compare every value, the last first: what it is made of is then pending. */
static void compare(const growing *fused, const growing *plain, uint64_t seed) {
  static int32_t got[8 * MAX_ELEMENTS];
  static int32_t wanted[8 * MAX_ELEMENTS];
  for (int32_t k = plain->count - 1; k >= 0; --k) {
    int64_t bytes = rlo_tensor_bytes(plain->values[k]);
    ck_assert_int_le(bytes, (int64_t)sizeof wanted);
    ck_assert(
        rlo_shape_equal(rlo_tensor_shape(plain->values[k]), rlo_tensor_shape(fused->values[k])));
    ck_assert_int_eq(rlo_tensor_read(plain->values[k], wanted, bytes), RLO_OK);
    rlo_status status = rlo_tensor_read(fused->values[k], got, bytes);
    ck_assert_msg(status == RLO_OK && memcmp(got, wanted, (size_t)bytes) == 0,
                  "seed 0x%llx, value %d of:%s%s%s", (unsigned long long)seed, k, plain->words,
                  status != RLO_OK ? ": " : "", status != RLO_OK ? rlo_error_last()->message : "");
  }
}

static rlo_engine *open_engine(bool is_fusing, const char *backend) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  rlo_engine *e = NULL;
  options.context = context;
  options.is_fusing = is_fusing;
  options.checks_leaks = true;
  ck_assert_int_eq(rlo_engine_create(&options, &e), RLO_OK);
  ck_assert_int_eq(rlo_backend_set(e, backend), RLO_OK);
  return e;
}

static void close_engine(rlo_engine *e) {
  ck_assert_int_eq(rlo_engine_live_tensors(e), 0);
  rlo_engine_release(e);
}

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(500);

RLO_LOOP_TEST(test_engine_random__fused_is_as_one_by_one, 0, 2) {
  test_random random = test_random_begin("engine_random");
  rlo_engine *plain = open_engine(false, "host");
  rlo_engine *fused = open_engine(true, _i == 0 ? "host" : "opencl");
  int32_t count = _i == 0 ? NUM_HOST_CASES : NUM_DEVICE_CASES;
  for (int32_t c = 0; c < count; ++c) {
    uint64_t seed = test_random_bits(&random);
    growing one_by_one;
    growing at_once;
    grow(plain, seed, &one_by_one);
    grow(fused, seed, &at_once);
    compare(&at_once, &one_by_one, seed);
    drop(&one_by_one);
    drop(&at_once);
  }
  rlo_engine_stats stats = RLO_ENGINE_STATS_INIT;
  ck_assert_int_eq(rlo_engine_get_stats(fused, &stats), RLO_OK);
  /* It did fuse: more was left pending than ran by itself. */
  ck_assert_int_gt(stats.pending, 2 * (int64_t)count);
  close_engine(plain);
  close_engine(fused);
}
