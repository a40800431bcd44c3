/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/redistribution.h"
#include "relayout/xla/layout_util.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/random_sharding.h"
#include "support/redistribute.h"
#include "support/short_memory.h"
#include "support/suite.h"

/*
 * A redistribution M and its adjoint, run in host memory on whole numbers in
 * f64: the sum over the devices of <dy, M x> is <M' dy, x> to the last bit.
 */
enum { MAX_DEVICES = 8, MAX_RANK = 3 };

/* A pair, and what the devices hold: x and y, dy and dx. */
typedef struct pair {
  rlo_shape shapes[2];
  rlo_sharding *shardings[2];
  int32_t permutation[MAX_RANK];
  int64_t num_devices;
  test_memory values[2][MAX_DEVICES];
  test_memory gradients[2][MAX_DEVICES];
} pair;

static void pair_init(pair *p, test_random *random) {
  int64_t dims[2][MAX_RANK];
  int32_t rank = (int32_t)test_random_in(random, 1, MAX_RANK);
  memset(p, 0, sizeof *p);
  p->num_devices = test_random_in(random, 1, MAX_DEVICES);
  test_random_permutation(random, rank, p->permutation);
  for (int32_t d = 0; d < rank; ++d) {
    dims[0][d] = test_random_in(random, 1, 6);
  }
  rlo_permutation_apply(p->permutation, rank, dims[0], dims[1]);
  for (int side = 0; side < 2; ++side) {
    p->shapes[side] = test_random_shape(random, RLO_DTYPE_F64, dims[side], rank, 0);
    expect_ok(test_random_sharding(random, &p->shapes[side], p->num_devices, side == 0,
                                   &p->shardings[side]));
  }
}

static void pair_deinit(pair *p) {
  for (int side = 0; side < 2; ++side) {
    rlo_sharding_release(p->shardings[side]);
    for (int64_t device = 0; device < p->num_devices; ++device) {
      free(p->values[side][device].bytes);
      free(p->gradients[side][device].bytes);
    }
  }
}

static rlo_redistribution *pair_plan(pair *p) {
  rlo_redistribution *plan;
  expect_ok(
      test_redistribution_create(p->shapes, p->shardings, p->permutation, p->num_devices, &plan));
  return plan;
}

static rlo_box box_of(const pair *p, int side, int64_t device) {
  rlo_box box;
  expect_ok(rlo_sharding_get_box(p->shardings[side], &p->shapes[side], device, &box));
  return box;
}

/* The first device that holds the same part of the array. */
static int64_t first_with_box(const pair *p, int side, int64_t device) {
  rlo_box box = box_of(p, side, device);
  for (int64_t other = 0;; ++other) {
    rlo_box found = box_of(p, side, other);
    if (memcmp(&box, &found, sizeof box) == 0) {
      return other;
    }
  }
}

/* The devices that hold a copy of what this one holds. */
static int64_t count_copies(const pair *p, int side, int64_t device) {
  int64_t count = 0;
  int64_t first = first_with_box(p, side, device);
  int64_t addend = test_addend_of(p->shardings[side], device);
  for (int64_t other = 0; other < p->num_devices; ++other) {
    count += first_with_box(p, side, other) == first &&
                     test_addend_of(p->shardings[side], other) == addend
                 ? 1
                 : 0;
  }
  return count;
}

/* Small whole numbers, the same for the same key. */
static test_memory draw(const pair *p, int side, int64_t device, uint64_t key) {
  rlo_shape shard;
  test_random random = {key};
  expect_ok(rlo_sharding_get_shard_shape(p->shardings[side], &p->shapes[side], device, &shard));
  test_memory memory = test_memory_make(&shard);
  for (size_t k = 0; k < memory.count; k += sizeof(double)) {
    double number = (double)test_random_in(&random, -9, 9);
    memcpy(memory.bytes + k, &number, sizeof number);
  }
  return memory;
}

static double dot(const test_memory *a, const test_memory *b) {
  double sum = 0;
  ck_assert_uint_eq(a->count, b->count);
  for (size_t k = 0; k < a->count; k += sizeof(double)) {
    double x;
    double y;
    memcpy(&x, a->bytes + k, sizeof x);
    memcpy(&y, b->bytes + k, sizeof y);
    sum += x * y;
  }
  return sum;
}

/* The sum over the devices of <gradient, value>; copies together count once, if
 * `copies_are_one`. */
static double dot_all(const pair *p, int side, bool copies_are_one) {
  enum { MULTIPLE = 840 }; /* The sum is of 1 to 8 copies. */

  double sum = 0;
  for (int64_t device = 0; device < p->num_devices; ++device) {
    double part = dot(&p->gradients[side][device], &p->values[side][device]);
    double copies = copies_are_one ? (double)count_copies(p, side, device) : 1.0;
    sum += part * ((double)MULTIPLE / copies);
  }
  return sum;
}

/* Holds dx against x for the dy that are there. */
static void check_adjoint(pair *p, const rlo_redistribution *plan, bool sums_copies,
                          uint64_t seed) {
  rlo_redistribution *adjoint;
  expect_ok(rlo_redistribution_create_adjoint(plan, sums_copies, &adjoint));
  for (int64_t device = 0; device < p->num_devices; ++device) {
    int64_t key = sums_copies ? device : first_with_box(p, 1, device);
    free(p->gradients[1][device].bytes);
    free(p->gradients[0][device].bytes);
    p->gradients[1][device] = draw(p, 1, device, seed + 100 + (uint64_t)key);
  }
  int64_t sent =
      test_redistribute(adjoint, &p->shapes[0], p->shardings[0], p->gradients[1], p->gradients[0]);
  rlo_redistribution_cost cost = RLO_REDISTRIBUTION_COST_INIT;
  expect_ok(rlo_redistribution_measure(adjoint, &cost));
  ck_assert_int_eq(sent, cost.bytes_sent);
  ck_assert_int_eq(sent, cost.least_bytes_sent);
  for (int64_t device = 0; device < p->num_devices; ++device) {
    int64_t first = first_with_box(p, 0, device);
    ck_assert_mem_eq(p->gradients[0][device].bytes, p->gradients[0][first].bytes,
                     p->gradients[0][device].count);
  }
  double of_results = dot_all(p, 1, !sums_copies);
  double of_source = dot_all(p, 0, true);
  ck_assert_msg(of_results == of_source,
                "<dy, y> is %g, <dx, x> %g; repeat with: "
                "RELAYOUT_TEST_SEED=%" PRIu64 " test_redistribution_adjoint",
                of_results, of_source, seed);
  rlo_redistribution_release(adjoint);
}

/* True if the destination is a list of boxes, one of them on several devices.
 */
static bool has_box_copies(const pair *p) {
  bool has = false;
  for (int64_t device = 0; device < p->num_devices; ++device) {
    has = has || (p->values[1][device].count > 0 && count_copies(p, 1, device) > 1);
  }
  return has && rlo_sharding_get_kind(p->shardings[1]) == RLO_SHARDING_BOXES;
}

static void check_pair(uint64_t seed) {
  test_random random = {seed};
  pair p;
  pair_init(&p, &random);
  rlo_redistribution *plan = pair_plan(&p);
  for (int64_t device = 0; device < p.num_devices; ++device) {
    uint64_t key = seed + 1000 +
                   (uint64_t)(first_with_box(&p, 0, device) * MAX_DEVICES +
                              test_addend_of(p.shardings[0], device));
    p.values[0][device] = draw(&p, 0, device, key);
  }
  (void)test_redistribute(plan, &p.shapes[1], p.shardings[1], p.values[0], p.values[1]);
  check_adjoint(&p, plan, false, seed);
  if (has_box_copies(&p)) {
    rlo_redistribution *adjoint;
    ck_assert_int_eq(rlo_redistribution_create_adjoint(plan, true, &adjoint), RLO_UNSUPPORTED);
    ck_assert_ptr_null(adjoint);
  } else {
    check_adjoint(&p, plan, true, seed);
  }
  rlo_redistribution_release(plan);
  pair_deinit(&p);
}

RLO_TEST(test_redistribution_adjoint__random_pairs) {
  uint64_t seed = test_random_begin("test_redistribution_adjoint").state;
  for (uint64_t k = 0; k < 150; ++k) {
    check_pair(seed + k);
  }
}

/* Plans and what their adjoints send. */
static const struct {
  const char *from, *to;
  bool sums_copies;
  int64_t messages, bytes;
} known[] = {
    /* A gathering: a sum that is scattered, or nothing. */
    {"{devices=[4,1]<=[4]}", "{replicated}", true, 12, 768},
    {"{devices=[4,1]<=[4]}", "{replicated}", false, 0, 0},
    /* A sum that is scattered: a gathering. */
    {"{unreduced}", "{devices=[4,1]<=[4]}", true, 12, 768},
    {"{unreduced}", "{devices=[4,1]<=[4]}", false, 12, 768},
    /* A sum for all devices: itself. */
    {"{unreduced}", "{replicated}", true, 12, 3072},
    {"{unreduced}", "{replicated}", false, 0, 0},
    /* A broadcast: a sum. */
    {"{maximal device=2}", "{replicated}", true, 3, 768},
    {"{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}",
     "{devices=[1,2,2]<=[4] last_tile_dim_replicate}", true, 12, 768},
};

RLO_TABLE_TEST(test_redistribution_adjoint__known_counts, known) {
  const char *texts[] = {known[_i].from, known[_i].to};
  static const int64_t dims[] = {8, 8};
  pair p = {.num_devices = 4, .permutation = {0, 1}};
  for (int side = 0; side < 2; ++side) {
    expect_ok(rlo_sharding_parse(texts[side], strlen(texts[side]), &p.shardings[side]));
    expect_ok(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &p.shapes[side]));
  }
  rlo_redistribution *plan = pair_plan(&p);
  rlo_redistribution *adjoint;
  expect_ok(rlo_redistribution_create_adjoint(plan, known[_i].sums_copies, &adjoint));
  rlo_redistribution_cost cost = RLO_REDISTRIBUTION_COST_INIT;
  expect_ok(rlo_redistribution_measure(adjoint, &cost));
  ck_assert_int_eq(cost.num_messages, known[_i].messages);
  ck_assert_int_eq(cost.bytes_sent, known[_i].bytes);
  rlo_redistribution_release(adjoint);
  rlo_redistribution_release(plan);
  pair_deinit(&p);
}

RLO_TEST(test_redistribution_adjoint__copies_of_boxes_have_no_summands) {
  static const char boxes[] = "{boxes=[0:8,0:3][0:8,3:8][0:8,0:3]}";
  static const int64_t dims[] = {8, 8};
  pair p = {.num_devices = 3, .permutation = {0, 1}};
  expect_ok(rlo_sharding_make_maximal(0, &p.shardings[0]));
  expect_ok(rlo_sharding_parse(boxes, strlen(boxes), &p.shardings[1]));
  for (int side = 0; side < 2; ++side) {
    expect_ok(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &p.shapes[side]));
  }
  rlo_redistribution *plan = pair_plan(&p);
  rlo_redistribution *adjoint;
  expect_refusal(rlo_redistribution_create_adjoint(plan, true, &adjoint), RLO_UNSUPPORTED,
                 "boxes 0 and 2 of the destination are copies, and the "
                 "gradients of copies of a box, which are to be added, have no "
                 "sharding");
  ck_assert_ptr_null(adjoint);
  rlo_redistribution_release(plan);
  pair_deinit(&p);
}

RLO_TEST(test_redistribution_adjoint__reports_that_memory_is_out) {
  static const char *const texts[] = {"{devices=[1,2,2]<=[4] last_tile_dims={unreduced}}",
                                      "{replicated}"};
  static const int64_t dims[] = {8, 8};
  pair p = {.num_devices = 4, .permutation = {1, 0}};
  for (int side = 0; side < 2; ++side) {
    expect_ok(rlo_sharding_parse(texts[side], strlen(texts[side]), &p.shardings[side]));
    expect_ok(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &p.shapes[side]));
  }
  rlo_redistribution *plan = pair_plan(&p);
  rlo_redistribution *adjoint = NULL;
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    ck_assert_ptr_null(adjoint);
    run.status = rlo_redistribution_create_adjoint(plan, true, &adjoint);
  }
  ck_assert_int_gt(run.num_tries, 3);
  rlo_redistribution_release(adjoint);
  rlo_redistribution_release(plan);
  pair_deinit(&p);
}
