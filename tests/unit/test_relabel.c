/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threshold.h"
#include "relayout/redistribution.h"
#include "relayout/text.h"
#include "relayout/xla/layout_util.h"
#include "shard/redistribution.h"
#include "support/expect.h"
#include "support/permutation.h"
#include "support/random_shape.h"
#include "support/random_sharding.h"
#include "support/shape_of.h"
#include "support/short_memory.h"
#include "support/suite.h"

enum { MAX_DEVICES = 1024, MAX_BRUTE = 6 };

/* ------------------------------------------------------------- assignments */

static int64_t sum_of(const int64_t *gains, int64_t count, const int64_t *at) {
  int64_t sum = 0;
  for (int64_t row = 0; row < count; ++row) {
    sum += gains[row * count + at[row]];
  }
  return sum;
}

static void set_identity(int64_t *list, int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    list[k] = k;
  }
}

static void set_list(int64_t *list, const int32_t *order, int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    list[k] = order[k];
  }
}

static void expect_permutation(const int64_t *list, int64_t count) {
  bool is_seen[MAX_DEVICES] = {false};
  for (int64_t k = 0; k < count; ++k) {
    ck_assert_int_ge(list[k], 0);
    ck_assert_int_lt(list[k], count);
    ck_assert_msg(!is_seen[list[k]], "%" PRId64 " is there twice", list[k]);
    is_seen[list[k]] = true;
  }
}

RLO_TEST(test_relabel__assignments_are_the_best_of_all) {
  test_random random = test_random_begin("test_relabel");
  for (int round = 0; round < 400; ++round) {
    int64_t gains[MAX_BRUTE * MAX_BRUTE];
    int64_t found[MAX_BRUTE];
    int64_t tried[MAX_BRUTE];
    int64_t count = test_random_in(&random, 1, MAX_BRUTE);
    /* Many ties, few, and as large as they may be. */
    int64_t most = round % 3 == 0 ? 2 : round % 3 == 1 ? 1000 : INT64_MAX / (2 * (count + 1));
    for (int64_t k = 0; k < count * count; ++k) {
      gains[k] = test_random_in(&random, 0, most);
    }
    expect_ok(rlo__assignment_find(gains, count, found));
    expect_permutation(found, count);
    int64_t best = 0;
    int32_t order[MAX_BRUTE];
    test_first_permutation((int32_t)count, order);
    do {
      set_list(tried, order, count);
      int64_t sum = sum_of(gains, count, tried);
      best = sum > best ? sum : best;
    } while (test_next_permutation((int32_t)count, order));
    ck_assert_int_eq(sum_of(gains, count, found), best);
  }
}

RLO_TEST(test_relabel__assignments_of_hundreds) {
  enum { COUNT = 300 };

  test_random random = test_random_begin("test_relabel");
  int64_t *gains = malloc(COUNT * COUNT * sizeof *gains);
  ck_assert_ptr_nonnull(gains);
  int32_t wanted[COUNT];
  int64_t found[COUNT];
  test_random_permutation(&random, COUNT, wanted);
  for (int64_t k = 0; k < COUNT * COUNT; ++k) {
    gains[k] = test_random_in(&random, 0, 99);
  }
  for (int64_t row = 0; row < COUNT; ++row) {
    gains[row * COUNT + wanted[row]] = 100;
  }
  expect_ok(rlo__assignment_find(gains, COUNT, found));
  for (int64_t row = 0; row < COUNT; ++row) {
    ck_assert_int_eq(found[row], wanted[row]);
  }
  free(gains);
}

/* ---------------------------------------------------------- redistributions */

static rlo_redistribution *plan_of(const rlo_redistribution_options *o) {
  rlo_redistribution *plan;
  expect_ok(rlo_redistribution_create(o, &plan));
  return plan;
}

static int64_t bytes_sent(const rlo_redistribution_options *o) {
  rlo_redistribution_cost cost = RLO_REDISTRIBUTION_COST_INIT;
  rlo_redistribution *plan = plan_of(o);
  expect_ok(rlo_redistribution_measure(plan, &cost));
  rlo_redistribution_release(plan);
  return cost.bytes_sent;
}

/* Returns the bytes sent where device devices[k] takes device k's part. */
static int64_t bytes_relabelled(const rlo_redistribution_options *o, const int64_t *devices) {
  rlo_redistribution_options other = *o;
  expect_ok(rlo_sharding_relabel(o->to_sharding, devices, o->num_devices, &other.to_sharding));
  int64_t bytes = bytes_sent(&other);
  rlo_sharding_release(other.to_sharding);
  return bytes;
}

static int64_t least_by_brute_force(const rlo_redistribution_options *o) {
  const int32_t count = (int32_t)o->num_devices;
  int32_t order[MAX_BRUTE];
  int64_t devices[MAX_BRUTE];
  int64_t least = INT64_MAX;
  test_first_permutation(count, order);
  do {
    set_list(devices, order, count);
    int64_t bytes = bytes_relabelled(o, devices);
    least = bytes < least ? bytes : least;
  } while (test_next_permutation(count, order));
  return least;
}

/* Returns what is sent after relabelling. */
static int64_t relabel(const rlo_redistribution_options *o, int64_t *devices) {
  rlo_redistribution *plan = plan_of(o);
  expect_ok(rlo_redistribution_relabel(plan, devices));
  rlo_redistribution_release(plan);
  expect_permutation(devices, o->num_devices);
  return bytes_relabelled(o, devices);
}

static void check_random_pair(uint64_t seed, int64_t num_devices) {
  enum { RANK = 2 };

  static int64_t devices[MAX_DEVICES];
  test_random random = {seed};
  int32_t permutation[RANK];
  int64_t dims[2][RANK];
  rlo_shape shapes[2];
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  test_random_permutation(&random, RANK, permutation);
  for (int32_t d = 0; d < RANK; ++d) {
    dims[0][d] = test_random_in(&random, 1, 50);
  }
  rlo_permutation_apply(permutation, RANK, dims[0], dims[1]);
  /* Pieces of elements of 4 bits are rounded up to whole bytes. */
  for (int k = 0; k < 2; ++k) {
    rlo_dtype dtype = seed % 2 == 0 ? RLO_DTYPE_F32 : RLO_DTYPE_S4;
    shapes[k] = test_shape_make(dtype, dims[k], RANK);
    shapes[k].layout.element_size_bits = dtype == RLO_DTYPE_S4 ? 4 : 0;
  }
  o.from = &shapes[0];
  o.to = &shapes[1];
  o.permutation = permutation;
  o.num_devices = num_devices;
  expect_ok(test_random_sharding(&random, o.from, num_devices, true, &o.from_sharding));
  expect_ok(test_random_sharding(&random, o.to, num_devices, false, &o.to_sharding));
  int64_t bytes = relabel(&o, devices);
  int64_t limit = num_devices <= MAX_BRUTE ? least_by_brute_force(&o) : bytes_sent(&o);
  ck_assert_msg(num_devices <= MAX_BRUTE ? bytes == limit : bytes <= limit,
                "%" PRId64 " bytes after relabelling, not %" PRId64
                "; repeat with: RELAYOUT_TEST_SEED=%" PRIu64 " test_relabel",
                bytes, limit, seed);
  rlo_sharding_release(o.from_sharding);
  rlo_sharding_release(o.to_sharding);
}

RLO_TEST(test_relabel__sends_as_little_as_any_order_of_devices) {
  uint64_t seed = test_random_begin("test_relabel").state;
  for (uint64_t k = 0; k < 60; ++k) {
    check_random_pair(seed + k, 1 + (int64_t)(k % MAX_BRUTE));
  }
}

RLO_TEST(test_relabel__sends_no_more_than_before) {
  static const int64_t counts[] = {7, 24, 100, 513, 600};
  uint64_t seed = test_random_begin("test_relabel").state;
  for (uint64_t k = 0; k < 10; ++k) {
    check_random_pair(seed + k, counts[k % 5]);
  }
}

/* Tiles over other devices, exactly and greedily, and boxes. */
RLO_TEST(test_relabel__a_permuted_identity_sends_nothing) {
  static const int64_t counts[] = {2, 12, 512, 513, 1024};
  static int64_t list[MAX_DEVICES];
  static int64_t devices[MAX_DEVICES];
  test_random random = test_random_begin("test_relabel");
  for (int k = 0; k < 5; ++k) {
    int32_t order[MAX_DEVICES];
    int64_t count = counts[k];
    int64_t dims[] = {count * 2, 3};
    rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
    rlo_sharding_tiles tiles = {.rank = 2, .counts = {count, 1}, .devices = list};
    rlo_shape shape = test_shape_make(RLO_DTYPE_F32, dims, 2);
    set_identity(list, count);
    expect_ok(rlo_sharding_make_tiled(&tiles, &o.from_sharding));
    test_random_permutation(&random, (int32_t)count, order);
    set_list(list, order, count);
    expect_ok(rlo_sharding_make_tiled(&tiles, &o.to_sharding));
    o.from = &shape;
    o.to = &shape;
    o.num_devices = count;
    ck_assert_int_eq(relabel(&o, devices), 0);
    for (int64_t cell = 0; cell < count; ++cell) {
      ck_assert_int_eq(devices[list[cell]], cell);
    }
    rlo_sharding_release(o.from_sharding);
    rlo_sharding_release(o.to_sharding);
  }
}

/* Each of two devices meets two parts. */
RLO_TEST(test_relabel__gains_have_a_largest_number) {
  static const int64_t dims[] = {2, 2};
  static const char *const texts[] = {"{devices=[2,1]<=[2]}", "{devices=[1,2]<=[2]}"};
  const int64_t most = rlo__thresholds.shard_weighed_gains;
  int64_t devices[2];
  rlo_sharding *shardings[2];
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  rlo_shape shape = test_shape_make(RLO_DTYPE_U8, dims, 2);
  for (int k = 0; k < 2; ++k) {
    expect_ok(rlo_sharding_parse(texts[k], strlen(texts[k]), &shardings[k]));
  }
  o.from = &shape;
  o.to = &shape;
  o.from_sharding = shardings[0];
  o.to_sharding = shardings[1];
  o.num_devices = 2;
  rlo_redistribution *plan = plan_of(&o);
  rlo__thresholds.shard_weighed_gains = 1;
  expect_refusal_with(rlo_redistribution_relabel(plan, devices), RLO_UNSUPPORTED,
                      "too many pieces to relabel: more than 1 gains");
  rlo__thresholds.shard_weighed_gains = most;
  expect_ok(rlo_redistribution_relabel(plan, devices));
  rlo_redistribution_release(plan);
  rlo_sharding_release(shardings[0]);
  rlo_sharding_release(shardings[1]);
}

/* Either order of the devices keeps 9 bytes. */
RLO_TEST(test_relabel__parts_stay_where_nothing_is_gained) {
  static const int64_t dims[] = {2, 9};
  static const char *const texts[] = {"{boxes=[0:2,0:4][0:2,4:9]}", "{devices=[2,1]<=[2]}"};
  int64_t devices[2];
  rlo_sharding *shardings[2];
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  rlo_shape shape = test_shape_make(RLO_DTYPE_U8, dims, 2);
  for (int k = 0; k < 2; ++k) {
    expect_ok(rlo_sharding_parse(texts[k], strlen(texts[k]), &shardings[k]));
  }
  o.from = &shape;
  o.to = &shape;
  o.from_sharding = shardings[0];
  o.to_sharding = shardings[1];
  o.num_devices = 2;
  ck_assert_int_eq(relabel(&o, devices), 9);
  ck_assert_int_eq(devices[0], 0);
  rlo_sharding_release(shardings[0]);
  rlo_sharding_release(shardings[1]);
}

/* Pairs of boxes that end at these positions of each. */
static rlo_sharding *make_pairs(int64_t num_pairs, int64_t middle, int64_t end) {
  static char text[1 << 15];
  rlo_sharding *made = NULL;
  size_t length = (size_t)snprintf(text, sizeof text, "{boxes=");
  for (int64_t n = 0; n < num_pairs; ++n) {
    const int64_t at = n * end;
    length += (size_t)snprintf(text + length, sizeof text - length,
                               "[%" PRId64 ":%" PRId64 "][%" PRId64 ":%" PRId64 "]", at,
                               at + middle, at + middle, at + end);
  }
  text[length++] = '}';
  expect_ok(rlo_sharding_parse(text, length, &made));
  return made;
}

/* The first part of a pair gains 10 bytes on the second device, where the second
 * part had 9, and 9 on its own: who takes the most first keeps 10 of 18. */
RLO_TEST(test_relabel__greed_is_worse_than_to_stay) {
  enum { NUM_PAIRS = (RLO_RELABEL_MAX_EXACT_DEVICES + 2) / 2 };

  static int64_t devices[MAX_DEVICES];
  const int64_t dims[] = {28 * NUM_PAIRS};
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  rlo_shape shape = test_shape_make(RLO_DTYPE_U8, dims, 1);
  o.from = o.to = &shape;
  o.num_devices = (int64_t)2 * NUM_PAIRS;
  o.from_sharding = make_pairs(NUM_PAIRS, 9, 28);
  o.to_sharding = make_pairs(NUM_PAIRS, 19, 28);
  ck_assert_int_eq(relabel(&o, devices), 10 * NUM_PAIRS);
  for (int64_t k = 0; k < o.num_devices; ++k) {
    ck_assert_int_eq(devices[k], k);
  }
  rlo_sharding_release(o.from_sharding);
  rlo_sharding_release(o.to_sharding);
}

/* ---------------------------------------------------------------- shardings */

static const struct {
  const char *sharding;
  int64_t num_devices;
  int64_t devices[4];
  const char *relabelled;
} relabellings[] = {
    {"{devices=[3]0,1,2}", 3, {1, 2, 0}, "{devices=[3]1,2,0}"},
    {"{devices=[3]2,0,1}", 3, {1, 2, 0}, "{devices=[3]0,1,2}"},
    {"{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
     4,
     {3, 2, 1, 0},
     "{devices=[2,2]1,3,0,2 last_tile_dim_replicate}"},
    {"{devices=[2,2]<=[4]}", 4, {0, 1, 2, 3}, "{devices=[2,2]<=[4]}"},
    {"{boxes=[0:1][1:3][3:8]}", 3, {1, 2, 0}, "{boxes=[3:8][0:1][1:3]}"},
    {"{maximal device=1}", 4, {0, 3, 2, 1}, "{maximal device=3}"},
    {"{replicated}", 3, {2, 1, 0}, "{replicated}"},
    {"{unreduced}", 3, {2, 1, 0}, "{unreduced}"},
};

RLO_TABLE_TEST(test_relabel__shardings, relabellings) {
  rlo_sharding *sharding;
  rlo_sharding *relabelled;
  char text[64];
  expect_ok(
      rlo_sharding_parse(relabellings[_i].sharding, strlen(relabellings[_i].sharding), &sharding));
  expect_ok(rlo_sharding_relabel(sharding, relabellings[_i].devices, relabellings[_i].num_devices,
                                 &relabelled));
  rlo_sharding_format(relabelled, text, sizeof text);
  ck_assert_str_eq(text, relabellings[_i].relabelled);
  rlo_sharding_release(relabelled);
  rlo_sharding_release(sharding);
}

static const struct {
  const char *sharding;
  int64_t num_devices;
  int64_t devices[4];
  rlo_status status;
  const char *message;
} refused[] = {
    {"{devices=[3]0,1,2}",
     3,
     {1, 2, 1},
     RLO_INVALID_ARGUMENT,
     "device 1, for what device 2 holds, is there twice, of 0..2"},
    {"{devices=[3]0,1,2}",
     3,
     {1, 3, 0},
     RLO_INVALID_ARGUMENT,
     "device 3, for what device 1 holds, is none of 0..2"},
    {"{devices=[3]0,1,2}",
     4,
     {0, 1, 2, 3},
     RLO_OUT_OF_RANGE,
     "the sharding is for 3 devices, and 4 are relabelled"},
    {"{maximal device=3}",
     3,
     {0, 1, 2},
     RLO_OUT_OF_RANGE,
     "the sharding is for 4 devices, and 3 are relabelled"},
    {"{replicated}",
     -1,
     {0},
     RLO_OUT_OF_RANGE,
     "the sharding is for 0 devices, and -1 are relabelled"},
    {"{manual}",
     1,
     {0},
     RLO_UNSUPPORTED,
     "a manual or unknown sharding does not say what a device holds"},
};

RLO_TABLE_TEST(test_relabel__refuses, refused) {
  rlo_sharding *sharding;
  rlo_sharding *relabelled;
  expect_ok(rlo_sharding_parse(refused[_i].sharding, strlen(refused[_i].sharding), &sharding));
  expect_refusal(
      rlo_sharding_relabel(sharding, refused[_i].devices, refused[_i].num_devices, &relabelled),
      refused[_i].status, refused[_i].message);
  ck_assert_ptr_null(relabelled);
  rlo_sharding_release(sharding);
}

RLO_TEST(test_relabel__pieces_have_a_largest_size) {
  static const int64_t dims[] = {INT64_C(1) << 45};
  static const char text[] = "{devices=[2]<=[2]}";
  int64_t devices[2];
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  rlo_shape shape = test_shape_make(RLO_DTYPE_U8, dims, 1);
  expect_ok(rlo_sharding_parse(text, strlen(text), &o.from_sharding));
  o.to_sharding = o.from_sharding;
  o.from = &shape;
  o.to = &shape;
  rlo_redistribution *plan = plan_of(&o);
  expect_refusal(rlo_redistribution_relabel(plan, devices), RLO_OVERFLOW,
                 "a piece of device 0 has 17592186044416 bytes, and parts are "
                 "assigned for at most 8796093022208");
  rlo_redistribution_release(plan);
  rlo_sharding_release(o.from_sharding);
}

/* Exactly and greedily, of tiles and of boxes. */
static const struct {
  int64_t count;
  bool are_boxes;
} short_of_memory[] = {{3, false}, {3, true}, {600, false}};

RLO_TABLE_TEST(test_relabel__reports_that_memory_is_out, short_of_memory) {
  static int64_t devices[MAX_DEVICES];
  static rlo_box boxes[3];
  int64_t count = short_of_memory[_i].count;
  int64_t dims[] = {count};
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  for (int64_t k = 0; k < count; ++k) {
    devices[k] = count - 1 - k;
    if (short_of_memory[_i].are_boxes) {
      boxes[k] = (rlo_box){.rank = 1, .start = {k}, .limit = {k + 1}};
    }
  }
  rlo_sharding_tiles tiles = {.rank = 1, .counts = {count}, .devices = devices};
  expect_ok(short_of_memory[_i].are_boxes ? rlo_sharding_make_boxes(boxes, count, &o.to_sharding)
                                          : rlo_sharding_make_tiled(&tiles, &o.to_sharding));
  rlo_shape shape = test_shape_make(RLO_DTYPE_U8, dims, 1);
  o.from = &shape;
  o.to = &shape;
  o.from_sharding = o.to_sharding;
  rlo_redistribution *plan = plan_of(&o);
  rlo_sharding *relabelled = NULL;
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    ck_assert_ptr_null(relabelled);
    run.status = rlo_redistribution_relabel(plan, devices);
    if (run.status == RLO_OK) {
      set_identity(devices, count);
      devices[0] = 1;
      devices[1] = 0;
      run.status = rlo_sharding_relabel(o.to_sharding, devices, count, &relabelled);
    }
  }
  ck_assert_int_gt(run.num_tries, 5);
  rlo_sharding_release(relabelled);
  rlo_redistribution_release(plan);
  rlo_sharding_release(o.to_sharding);
}
