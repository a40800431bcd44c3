/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_case.h"
#include "relayout/backend.h"
#include "relayout/gradient.h"
#include "support/random_shape.h"
#include "support/random_sharding.h"
#include "support/redistribute.h"
#include "support/short_memory.h"

/*
 * Redistribute, the shards of many devices in one engine: held against what an
 * exchange leaves on each device, and its gradient against the adjoint of the
 * plan. gradient_samples.h has it among all kernels: there its gradient is the
 * transpose, for shards of which no two are alike.
 */

enum { MOST = 8, TEXT_BYTES = 2048 };

RLO_FIXTURE(begin_plain, end);
RLO_TIMEOUT(120);

/* A call: attributes, and where they are kept. Not to be copied. */
typedef struct call {
  int32_t num_devices;
  rlo_shape shapes[2];
  rlo_sharding *shardings[2];
  int32_t permutation[RLO_MAX_RANK];
  int64_t perm[RLO_MAX_RANK];
  char texts[2][TEXT_BYTES];
  rlo_attribute items[4];
  rlo_attributes attributes;
} call;

static void write_attributes(call *c) {
  for (int side = 0; side < 2; ++side) {
    ck_assert_uint_lt(
        rlo_sharding_format(c->shardings[side], c->texts[side], TEXT_BYTES),
        TEXT_BYTES);
  }
  for (int32_t k = 0; k < c->shapes[0].rank; ++k) {
    c->perm[k] = c->permutation[k];
  }
  c->items[0] =
      rlo_attribute_i64s("shape", c->shapes[0].dims, c->shapes[0].rank);
  c->items[1] = rlo_attribute_string("from", c->texts[0]);
  c->items[2] = rlo_attribute_string("to", c->texts[1]);
  c->items[3] = rlo_attribute_i64s("perm", c->perm, c->shapes[0].rank);
  c->attributes = (rlo_attributes){c->items, 4};
}

static void call_deinit(call *c) {
  rlo_sharding_release(c->shardings[0]);
  rlo_sharding_release(c->shardings[1]);
}

static void draw_call(test_random *random, rlo_dtype dtype, call *c) {
  int64_t dims[2][4];
  int32_t rank = (int32_t)test_random_in(random, 0, 4);
  c->num_devices = (int32_t)test_random_in(random, 1, MOST);
  test_random_permutation(random, rank, c->permutation);
  for (int32_t k = 0; k < rank; ++k) {
    dims[0][k] =
        test_random_once_in(random, 20) ? 0 : test_random_in(random, 1, 7);
  }
  for (int32_t k = 0; k < rank; ++k) {
    dims[1][k] = dims[0][c->permutation[k]];
  }
  for (int side = 0; side < 2; ++side) {
    expect_ok(rlo_shape_make(dtype, dims[side], rank, &c->shapes[side]));
    expect_ok(test_random_sharding(random,
                                   &c->shapes[side],
                                   c->num_devices,
                                   side == 0,
                                   &c->shardings[side]));
  }
  write_attributes(c);
}

static rlo_shape shard_of(const call *c, int side, int32_t device) {
  rlo_shape shard;
  expect_ok(rlo_sharding_get_shard_shape(
      c->shardings[side], &c->shapes[side], device, &shard));
  return shard;
}

static rlo_redistribution *plan_of(const call *c) {
  rlo_redistribution *plan;
  expect_ok(test_redistribution_create(
      c->shapes, c->shardings, c->permutation, c->num_devices, &plan));
  return plan;
}

/* Numbers of one digit for the devices of one side: copies are equal. */
static void draw_held(test_random *random,
                      const call *c,
                      int side,
                      test_memory held[MOST]) {
  rlo_sharding *sharding = c->shardings[side];
  int64_t num_addends = test_count_addends(sharding, c->num_devices);
  for (int64_t addend = 0; addend < num_addends; ++addend) {
    test_memory whole = test_memory_make(&c->shapes[side]);
    for (size_t k = 0; k < whole.count / sizeof(float); ++k) {
      ((float *)(void *)whole.bytes)[k] = (float)test_random_in(random, -9, 9);
    }
    for (int32_t n = 0; n < c->num_devices; ++n) {
      if (test_addend_of(sharding, n) == addend) {
        rlo_shape shard = shard_of(c, side, n);
        held[n] = test_memory_make(&shard);
        test_cut(sharding, &c->shapes[side], n, whole.bytes, held[n].bytes);
      }
    }
    free(whole.bytes);
  }
}

static void free_held(const call *c, test_memory held[MOST]) {
  for (int32_t n = 0; n < c->num_devices; ++n) {
    free(held[n].bytes);
  }
}

/* The shards as tensors, each in a layout of its own. */
static void make_tensors(test_random *random,
                         const call *c,
                         int side,
                         const test_memory held[MOST],
                         rlo_tensor *out[MOST]) {
  for (int32_t n = 0; n < c->num_devices; ++n) {
    rlo_tensor *plain = NULL;
    rlo_shape shard = shard_of(c, side, n);
    rlo_shape placed = test_random_shape(
        random, shard.dtype, shard.dims, shard.rank, TEST_ALL);
    expect_ok(rlo_tensor_create(engine, &shard, held[n].bytes, &plain));
    expect_ok(rlo_op_relayout(plain, &placed, &out[n]));
    rlo_tensor_release(plain);
  }
}

static void release_all(rlo_tensor **tensors, int32_t count) {
  for (int32_t n = 0; n < count; ++n) {
    rlo_tensor_release(tensors[n]);
  }
}

/* The bytes of a tensor, row-major; to be freed. */
static float *read_plain(rlo_tensor *tensor) {
  rlo_shape plain;
  rlo_tensor *placed = NULL;
  const rlo_shape *shape = rlo_tensor_shape(tensor);
  expect_ok(rlo_shape_make(shape->dtype, shape->dims, shape->rank, &plain));
  expect_ok(rlo_op_relayout(tensor, &plain, &placed));
  int64_t bytes = rlo_tensor_bytes(placed);
  float *data = calloc(1, (size_t)bytes + 1);
  ck_assert_ptr_nonnull(data);
  expect_ok(rlo_tensor_read(placed, data, bytes));
  rlo_tensor_release(placed);
  return data;
}

static void expect_bytes(rlo_tensor *tensor, const test_memory *wanted) {
  float *data = read_plain(tensor);
  ck_assert_int_eq(memcmp(data, wanted->bytes, wanted->count), 0);
  free(data);
}

static rlo_status run(const call *c,
                      rlo_tensor *const *inputs,
                      rlo_tensor **outputs) {
  return rlo_run_kernel(engine,
                        RLO_KERNEL_NAME_REDISTRIBUTE,
                        inputs,
                        c->num_devices,
                        &c->attributes,
                        outputs,
                        c->num_devices,
                        NULL);
}

/* A device that holds nothing of a scalar is given a tensor all the same: 0. */
static bool holds_nothing(const call *c, int32_t device) {
  const char *text = c->texts[1];
  int holder = -1;
  return c->shapes[1].rank == 0 &&
         sscanf(text, "{maximal device=%d}", &holder) == 1 && holder != device;
}

RLO_TEST(test_redistribute__leaves_what_an_exchange_does) {
  test_random random = test_random_begin("redistribute");
  for (int i = 0; i < 300; ++i) {
    call c;
    test_memory held[2][MOST] = {{{0}}};
    rlo_tensor *xs[MOST] = {NULL};
    rlo_tensor *ys[MOST] = {NULL};
    draw_call(&random, RLO_DTYPE_F32, &c);
    draw_held(&random, &c, 0, held[0]);
    make_tensors(&random, &c, 0, held[0], xs);
    rlo_redistribution *plan = plan_of(&c);
    test_redistribute(plan, &c.shapes[1], c.shardings[1], held[0], held[1]);
    expect_ok(run(&c, xs, ys));
    for (int32_t n = 0; n < c.num_devices; ++n) {
      if (holds_nothing(&c, n)) {
        memset(held[1][n].bytes, 0, held[1][n].count);
      }
      expect_bytes(ys[n], &held[1][n]);
    }
    rlo_redistribution_release(plan);
    release_all(xs, c.num_devices);
    release_all(ys, c.num_devices);
    free_held(&c, held[0]);
    free_held(&c, held[1]);
    call_deinit(&c);
  }
}

static bool is_same_box(const rlo_box *a, const rlo_box *b) {
  for (int32_t k = 0; k < a->rank; ++k) {
    if (a->start[k] != b->start[k] || a->limit[k] != b->limit[k]) {
      return false;
    }
  }
  return true;
}

/* Whether two devices hold a box of a list that is not empty. */
static bool has_box_copies(const call *c, int side) {
  rlo_box boxes[MOST];
  const rlo_shape *shape = &c->shapes[side];
  if (rlo_sharding_get_kind(c->shardings[side]) != RLO_SHARDING_BOXES) {
    return false;
  }
  for (int32_t n = 0; n < c->num_devices; ++n) {
    int64_t elements = 1;
    expect_ok(rlo_sharding_get_box(c->shardings[side], shape, n, &boxes[n]));
    for (int32_t k = 0; k < shape->rank; ++k) {
      elements *= boxes[n].limit[k] - boxes[n].start[k];
    }
    for (int32_t other = 0; elements > 0 && other < n; ++other) {
      if (is_same_box(&boxes[n], &boxes[other])) {
        return true;
      }
    }
  }
  return false;
}

/* What the devices that hold copies of x are given, added up, is what the
 * adjoint of the plan gives each of them. */
static void check_dxs(const call *c,
                      rlo_tensor *const *dxs,
                      const test_memory wanted[MOST]) {
  rlo_box boxes[2];
  for (int32_t n = 0; n < c->num_devices; ++n) {
    int64_t addend = test_addend_of(c->shardings[0], n);
    size_t count = wanted[n].count / sizeof(float);
    float *sum = calloc(count + 1, sizeof *sum);
    ck_assert_ptr_nonnull(sum);
    expect_ok(
        rlo_sharding_get_box(c->shardings[0], &c->shapes[0], n, &boxes[0]));
    for (int32_t other = 0; other < c->num_devices; ++other) {
      expect_ok(rlo_sharding_get_box(
          c->shardings[0], &c->shapes[0], other, &boxes[1]));
      if (test_addend_of(c->shardings[0], other) != addend ||
          !is_same_box(&boxes[0], &boxes[1])) {
        continue;
      }
      float *data = read_plain(dxs[other]);
      for (size_t k = 0; k < count; ++k) {
        sum[k] += data[k];
      }
      free(data);
    }
    ck_assert_ptr_nonnull(wanted[n].bytes);
    ck_assert_int_eq(memcmp(sum, wanted[n].bytes, wanted[n].count), 0);
    free(sum);
  }
}

RLO_TEST(test_redistribute__gradient_is_that_of_the_plan) {
  test_random random = test_random_begin("redistribute");
  int num_refused = 0;
  for (int i = 0; i < 300; ++i) {
    call c;
    test_memory held[2][MOST] = {{{0}}};
    rlo_tensor *xs[MOST] = {NULL};
    rlo_tensor *dys[MOST] = {NULL};
    rlo_tensor *dxs[MOST] = {NULL};
    rlo_redistribution *adjoint = NULL;
    draw_call(&random, RLO_DTYPE_F32, &c);
    rlo_redistribution *plan = plan_of(&c);
    bool is_refused = has_box_copies(&c, 0) || has_box_copies(&c, 1);
    draw_held(&random, &c, 0, held[0]);
    make_tensors(&random, &c, 0, held[0], xs);
    free_held(&c, held[0]);
    draw_held(&random, &c, 1, held[1]);
    make_tensors(&random, &c, 1, held[1], dys);
    rlo_status status = rlo_vjp(engine,
                                RLO_KERNEL_NAME_REDISTRIBUTE,
                                xs,
                                c.num_devices,
                                &c.attributes,
                                dys,
                                c.num_devices,
                                NULL,
                                dxs);
    ck_assert_int_eq(status, is_refused ? RLO_UNSUPPORTED : RLO_OK);
    num_refused += is_refused;
    /* A scalar that one device holds: the others' part of dx is 0. */
    if (!is_refused && c.shapes[0].rank > 0) {
      expect_ok(rlo_redistribution_create_adjoint(plan, true, &adjoint));
      test_redistribute(
          adjoint, &c.shapes[0], c.shardings[0], held[1], held[0]);
      check_dxs(&c, dxs, held[0]);
      free_held(&c, held[0]);
      rlo_redistribution_release(adjoint);
    }
    rlo_redistribution_release(plan);
    release_all(xs, c.num_devices);
    release_all(dys, c.num_devices);
    release_all(dxs, c.num_devices);
    free_held(&c, held[1]);
    call_deinit(&c);
  }
  ck_assert_int_gt(num_refused, 0);
}

/* ------------------------------------------------------------------ vectors */

static void redistribute(rlo_tensor *const *xs,
                         int32_t count,
                         const char *from,
                         const char *to,
                         rlo_tensor **ys) {
  const rlo_attribute items[] = {rlo_attribute_i64s("shape", DIMS(4), 1),
                                 rlo_attribute_string("from", from),
                                 rlo_attribute_string("to", to)};
  const rlo_attributes attributes = {items, 3};
  expect_ok(rlo_run_kernel(
      engine, "Redistribute", xs, count, &attributes, ys, count, NULL));
}

/* The first summand is the array. */
RLO_TEST(test_redistribute__to_summands) {
  rlo_tensor *xs[2] = {tensor(DIMS(2), 1, FLOATS(1, 2)),
                       tensor(DIMS(2), 1, FLOATS(3, 4))};
  rlo_tensor *parts[2] = {NULL};
  rlo_tensor *ys[2] = {NULL};
  redistribute(xs, 2, "{devices=[2]<=[2]}", "{unreduced}", parts);
  redistribute(parts, 2, "{unreduced}", "{replicated}", ys);
  expect(ys[0], FLOATS(1, 2, 3, 4), 4);
  expect(ys[1], FLOATS(1, 2, 3, 4), 4);
  expect(parts[0], FLOATS(1, 2, 3, 4), 4);
  expect(parts[1], FLOATS(0, 0, 0, 0), 4);
  release_all(xs, 2);
}

/* Copies that are one tensor: the tape adds their gradients, and x counts once.
 */
RLO_TEST(test_redistribute__copies_on_a_tape) {
  rlo_tensor *x = tensor(DIMS(4), 1, counted);
  rlo_tensor *xs[2] = {x, x};
  rlo_tensor *parts[2] = {NULL};
  rlo_tensor *copies[2] = {NULL};
  rlo_tensor *sum = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  redistribute(xs, 2, "{replicated}", "{devices=[2]<=[2]}", parts);
  redistribute(parts, 2, "{devices=[2]<=[2]}", "{replicated}", copies);
  expect_ok(rlo_op_add_n(copies, 2, &sum));
  expect_ok(rlo_tape_gradients(tape, sum, NULL, &x, 1, 0, &dx));
  expect_ok(rlo_tape_end(tape));
  expect(sum, FLOATS(0, 2, 4, 6), 4);
  expect(dx, FLOATS(2, 2, 2, 2), 4);
  rlo_tensor_release(x);
  release_all(parts, 2);
  release_all(copies, 2);
}

/* A tape around a tape: y = x * x in shards, gathered; d2y/dx2 is 2. */
RLO_TEST(test_redistribute__gradient_of_a_gradient) {
  rlo_tensor *xs[2] = {tensor(DIMS(2), 1, FLOATS(1, 2)),
                       tensor(DIMS(2), 1, FLOATS(3, 4))};
  rlo_tensor *dy = tensor(DIMS(4), 1, FLOATS(5, 6, 7, 8));
  rlo_tensor *ys[2] = {NULL};
  rlo_tensor *dx = NULL;
  rlo_tensor *ddy = NULL;
  rlo_tape *outer = NULL;
  rlo_tape *inner = NULL;
  expect_ok(rlo_tape_begin(engine, &outer));
  expect_ok(rlo_tape_begin(engine, &inner));
  redistribute(xs, 2, "{devices=[2]<=[2]}", "{replicated}", ys);
  /* dx is linear in dy: its gradient brings ones to where dy is read. */
  expect_ok(rlo_tape_gradients(inner, ys[1], dy, &xs[1], 1, 0, &dx));
  expect_ok(rlo_tape_gradients(outer, dx, NULL, &dy, 1, 0, &ddy));
  expect_ok(rlo_tape_end(inner));
  expect_ok(rlo_tape_end(outer));
  expect(dx, FLOATS(7, 8), 2);
  expect(ddy, FLOATS(0, 0, 1, 1), 4);
  release_all(xs, 2);
  release_all(ys, 2);
  rlo_tensor_release(dy);
}

static const struct refusal {
  int64_t dims[2];
  int32_t rank;
  rlo_status status;
  const char *from, *to;
  const char *message;
} refusals[] = {
    {{4, 4}, 2, RLO_PARSE, "{devices=[2,1]0,1", "{replicated}", NULL},
    {{4, 4},
     2,
     RLO_OUT_OF_RANGE,
     "{devices=[2,1]<=[2]}",
     "{devices=[4,1]<=[4]}",
     "Redistribute: destination: the sharding is for 4 devices, and there are "
     "2"},
    {{4, 4},
     2,
     RLO_UNSUPPORTED,
     "{manual}",
     "{replicated}",
     "Redistribute: source: a manual sharding names no boxes: the program cuts "
     "the array"},
    {{4, 4},
     2,
     RLO_INVALID_ARGUMENT,
     "{devices=[1,2]<=[2]}",
     "{replicated}",
     "Redistribute: input 'shards[0]' is f32[2,4]; by 'from' device 0 holds "
     "f32[4,2]"},
    {{4, 5},
     2,
     RLO_INVALID_ARGUMENT,
     "{devices=[2,1]<=[2]}",
     "{replicated}",
     "Redistribute: input 'shards[0]' is f32[2,4]; by 'from' device 0 holds "
     "f32[2,5]"},
    {{4, -1}, 2, RLO_INVALID_ARGUMENT, "{replicated}", "{replicated}", NULL},
    {{4, 4},
     1,
     RLO_INVALID_ARGUMENT,
     "{devices=[2]<=[2]}",
     "{replicated}",
     "Redistribute: 'perm' has 2 numbers; 1 are wanted"},
};

RLO_TABLE_TEST(test_redistribute__refuses, refusals) {
  const struct refusal *r = &refusals[_i];
  rlo_tensor *xs[2] = {tensor(DIMS(2, 4), 2, NULL),
                       tensor(DIMS(2, 4), 2, NULL)};
  rlo_tensor *ys[2] = {NULL};
  const rlo_attribute items[] = {rlo_attribute_i64s("shape", r->dims, r->rank),
                                 rlo_attribute_string("from", r->from),
                                 rlo_attribute_string("to", r->to),
                                 rlo_attribute_i64s("perm", DIMS(0, 1), 2)};
  const rlo_attributes attributes = {items, 4};
  rlo_status status =
      rlo_run_kernel(engine, "Redistribute", xs, 2, &attributes, ys, 2, NULL);
  ck_assert_int_eq(status, r->status);
  if (r->message != NULL) {
    ck_assert_str_eq(rlo_error_last()->message, r->message);
  } else {
    ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "Redistribute: "));
  }
  release_all(xs, 2);
}

RLO_TEST(test_redistribute__no_gradient_of_copies_of_a_box) {
  const rlo_attribute items[] = {
      rlo_attribute_i64s("shape", DIMS(4), 1),
      rlo_attribute_string("from", "{boxes=[0:4][0:4]}"),
      rlo_attribute_string("to", "{replicated}")};
  const rlo_attributes attributes = {items, 3};
  rlo_tensor *x = tensor(DIMS(4), 1, counted);
  rlo_tensor *xs[2] = {x, x};
  rlo_tensor *dxs[2] = {NULL};
  expect_refusal(
      rlo_vjp(engine, "Redistribute", xs, 2, &attributes, xs, 2, NULL, dxs),
      RLO_UNSUPPORTED,
      "boxes 0 and 1 of the source are copies, and the gradients of copies of "
      "a box, which are to be added, have no sharding");
  rlo_tensor_release(x);
}

RLO_TEST(test_redistribute__reports_that_memory_is_out) {
  rlo_shape shape;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, DIMS(4), 1, &shape));
  const rlo_shape *shapes[] = {&shape, &shape};
  const rlo_attribute items[] = {rlo_attribute_i64s("shape", DIMS(4), 1),
                                 rlo_attribute_string("from", "{unreduced}"),
                                 rlo_attribute_string("to", "{unreduced}")};
  const rlo_attributes attributes = {items, 3};
  /* The first call sets the backend up. */
  expect_ok(rlo_backend_set(engine, "host"));
  for (int32_t n = 0; n < 2; ++n) {
    rlo_problem_list *list = NULL;
    test_short_memory memory = {0};
    while (test_short_memory_next(&memory)) {
      ck_assert_ptr_null(list);
      memory.status = rlo_lower_kernel(
          engine, "Redistribute", shapes, 2, &attributes, n, NULL, &list);
    }
    ck_assert_int_gt(memory.num_tries, 10);
    ck_assert_int_eq(rlo_problem_list_count(list), n == 0 ? 2 : 1);
    rlo_problem_list_release(list);
  }
}
