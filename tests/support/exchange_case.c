/* SPDX-License-Identifier: Apache-2.0 */
#include "support/exchange_case.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/text.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_util.h"
#include "shard/redistribution.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/random_sharding.h"
#include "support/redistribute.h"

/* ------------------------------------------------------------------ arenas */

exchange_arena exchange_arena_make(int64_t bytes) {
  size_t all = (size_t)bytes + 2 * EXCHANGE_GUARD_BYTES;
  exchange_arena arena = {.begin = malloc(all), .bytes = bytes};
  ck_assert_ptr_nonnull(arena.begin);
  memset(arena.begin, 0xa5, all);
  arena.data = arena.begin + EXCHANGE_GUARD_BYTES;
  return arena;
}

void exchange_case_check(const exchange_case *c, int64_t device, exchange_arena *got) {
  const exchange_arena *wanted = &c->after[device];
  ck_assert_int_eq(got->bytes, wanted->bytes);
  int64_t all = got->bytes + 2 * EXCHANGE_GUARD_BYTES;
  for (int64_t k = 0; k < all; ++k) {
    ck_assert_msg(got->begin[k] == wanted->begin[k],
                  "byte %" PRId64 " of %" PRId64 " of device %" PRId64 " is %02x, not %02x: %s",
                  k - EXCHANGE_GUARD_BYTES, got->bytes, device, got->begin[k], wanted->begin[k],
                  c->words);
  }
  free(got->begin);
  *got = (exchange_arena){0};
}

static exchange_arena arena_of(const rlo_shape *shape) {
  int64_t bytes;
  expect_ok(rlo_shape_array_size(shape, &bytes));
  return exchange_arena_make(bytes);
}

/* ------------------------------------------------------------------ wholes */

/* Cuts a device's shard out of a whole array. */
static exchange_arena cut(const exchange_case *c, int side, int64_t device, const void *whole) {
  rlo_shape shard;
  expect_ok(rlo_sharding_get_shard_shape(c->shardings[side], &c->shapes[side], device, &shard));
  exchange_arena arena = arena_of(&shard);
  test_cut(c->shardings[side], &c->shapes[side], device, whole, arena.data);
  return arena;
}

static exchange_arena draw_whole(const rlo_shape *shape, test_random *random) {
  exchange_arena arena = arena_of(shape);
  bool is_half = rlo_dtype_value_bits(shape->dtype) == 4 && shape->layout.element_size_bits != 4;
  for (int64_t k = 0; k < arena.bytes; ++k) {
    arena.data[k] = (unsigned char)(test_random_bits(random) & (is_half ? 0x0f : 0xff));
  }
  return arena;
}

/* Adds a summand to the result, or begins with it. */
static void add(const exchange_case *c, int64_t addend, const void *whole, void *result) {
  rlo_chain *chain;
  rlo_problem_list *list;
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.beta = addend > 0 ? 1.0 : 0.0;
  expect_ok(rlo_chain_create(&c->shapes[0], &chain));
  expect_ok(rlo_chain_transpose(chain, c->permutation));
  expect_ok(rlo_chain_combine(chain, &c->shapes[1], &options, &list));
  test_run_list(list, whole, result);
  rlo_chain_release(chain);
}

static void fill(exchange_case *c, test_random *random) {
  exchange_arena result = arena_of(&c->shapes[1]);
  for (int64_t addend = 0; addend < c->plan->source.num_addends; ++addend) {
    exchange_arena whole = draw_whole(&c->shapes[0], random);
    add(c, addend, whole.data, result.data);
    for (int64_t device = 0; device < c->num_devices; ++device) {
      rlo__holder holder = rlo__holding_find(&c->plan->source, device);
      if (holder.tile < 0 ? addend == 0 : holder.addend == addend) {
        c->before[device] = cut(c, 0, device, whole.data);
      }
    }
    free(whole.begin);
  }
  for (int64_t device = 0; device < c->num_devices; ++device) {
    c->after[device] = cut(c, 1, device, result.data);
    if (c->shapes[1].rank == 0 && rlo__holding_find(&c->plan->destination, device).tile < 0) {
      /* A box without dimensions does not show that it is empty. */
      memset(c->after[device].data, 0xa5, (size_t)c->after[device].bytes);
    }
  }
  free(result.begin);
}

/* ------------------------------------------------------------------- cases */

static void describe(exchange_case *c) {
  char texts[4][400];
  for (int side = 0; side < 2; ++side) {
    (void)rlo_shape_format(&c->shapes[side], texts[side], sizeof texts[side]);
    (void)rlo_sharding_format(c->shardings[side], texts[2 + side], sizeof texts[2 + side]);
  }
  int length =
      snprintf(c->words, sizeof c->words, "%s %s to %s %s on %" PRId64 " devices, permutation",
               texts[0], texts[2], texts[1], texts[3], c->num_devices);
  for (int32_t k = 0; k < c->shapes[0].rank; ++k) {
    length += snprintf(c->words + length, sizeof c->words - (size_t)length, " %" PRId32,
                       c->permutation[k]);
  }
}

/* Plans what is set; false if it is not supported. */
static bool plan(exchange_case *c) {
  if (test_redistribution_create(c->shapes, c->shardings, c->permutation, c->num_devices,
                                 &c->plan) != RLO_OK) {
    return false;
  }
  for (int64_t k = 0; k < 2 * c->num_devices; ++k) {
    rlo_shape shard;
    if (rlo_sharding_get_shard_shape(c->shardings[k % 2], &c->shapes[k % 2], k / 2, &shard) !=
        RLO_OK) {
      return false;
    }
  }
  c->cost = (rlo_redistribution_cost)RLO_REDISTRIBUTION_COST_INIT;
  expect_ok(rlo_redistribution_measure(c->plan, &c->cost));
  describe(c);
  return true;
}

void exchange_case_make(exchange_case *c, const char *from, const char *from_sharding,
                        const char *to, const char *to_sharding, const int32_t *permutation,
                        int64_t num_devices, test_random *random) {
  const char *texts[4] = {from, to, from_sharding, to_sharding};
  *c = (exchange_case){.num_devices = num_devices};
  for (int side = 0; side < 2; ++side) {
    expect_ok(rlo_shape_parse(texts[side], strlen(texts[side]), &c->shapes[side]));
    expect_ok(rlo_sharding_parse(texts[2 + side], strlen(texts[2 + side]), &c->shardings[side]));
  }
  for (int32_t k = 0; k < c->shapes[0].rank; ++k) {
    c->permutation[k] = permutation == NULL ? k : permutation[k];
  }
  ck_assert_msg(plan(c), "%s", rlo_error_last()->message);
  fill(c, random);
}

static void release_drawn(exchange_case *c) {
  rlo_redistribution_release(c->plan);
  rlo_sharding_release(c->shardings[0]);
  rlo_sharding_release(c->shardings[1]);
  c->plan = NULL;
}

static void draw_shapes(exchange_case *c, rlo_dtype dtype, test_random *random) {
  int32_t rank = (int32_t)test_random_in(random, 0, 4);
  int64_t dims[2][RLO_MAX_RANK];
  int64_t most = rank < 3 ? 24 : 8;
  test_random_permutation(random, rank, c->permutation);
  for (int32_t d = 0; d < rank; ++d) {
    dims[0][d] = test_random_once_in(random, 40) ? 0 : test_random_in(random, 1, most);
  }
  rlo_permutation_apply(c->permutation, rank, dims[0], dims[1]);
  for (int side = 0; side < 2; ++side) {
    c->shapes[side] =
        test_random_shape(random, dtype, dims[side], rank, TEST_PAD | TEST_TILE | TEST_TAIL);
  }
}

void exchange_case_draw(exchange_case *c, int64_t most_devices, const rlo_dtype *dtypes,
                        int64_t num_dtypes, test_random *random) {
  for (;;) {
    *c = (exchange_case){.num_devices = test_random_in(random, 1, most_devices)};
    draw_shapes(c, dtypes[test_random_in(random, 0, num_dtypes - 1)], random);
    for (int side = 0; side < 2; ++side) {
      expect_ok(test_random_sharding(random, &c->shapes[side], c->num_devices, side == 0,
                                     &c->shardings[side]));
    }
    if (plan(c)) {
      break;
    }
    ck_assert_msg(rlo_error_last()->status == RLO_UNSUPPORTED, "%s", rlo_error_last()->message);
    release_drawn(c);
  }
  fill(c, random);
}

void exchange_case_deinit(exchange_case *c) {
  release_drawn(c);
  for (int64_t device = 0; device < c->num_devices; ++device) {
    free(c->before[device].begin);
    free(c->after[device].begin);
  }
}
