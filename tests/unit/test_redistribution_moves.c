/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/redistribution.h"
#include "relayout/text.h"
#include "support/expect.h"
#include "support/redistribute.h"
#include "support/suite.h"

/*
 * Redistributions, run in host memory: every device is a piece of memory, every
 * message another one. What each device holds in the end is compared, byte for
 * byte, with what a relayout of the whole and a slice of it hold.
 */
enum { MAX_DEVICES = 8 };

typedef struct run {
  rlo_shape shapes[2];
  rlo_sharding *shardings[2];
  rlo_redistribution *plan;
  int64_t num_devices;
  test_memory held[2][MAX_DEVICES];
  int64_t bytes_sent;
} run;

/* Cuts a device's shard out of the whole array. */
static test_memory cut(const run *r, int side, int64_t device, const void *whole) {
  rlo_shape shard;
  expect_ok(rlo_sharding_get_shard_shape(r->shardings[side], &r->shapes[side], device, &shard));
  test_memory memory = test_memory_make(&shard);
  test_cut(r->shardings[side], &r->shapes[side], device, whole, memory.bytes);
  return memory;
}

static const struct {
  const char *from, *from_sharding, *to, *to_sharding;
  int32_t permutation[4];
  int64_t num_devices;
} cases[] = {
    {"s32[16,16,16]",
     "{devices=[2,1,4]<=[4,2]T(1,0)}",
     "s32[16,16,16]{0,1,2}",
     "{devices=[1,8,1]<=[8]}",
     {0, 1, 2},
     8},
    {"s32[10,7]{0,1:T(2,2)}",
     "{devices=[3,2]<=[6]}",
     "s32[7,10]{1,0:T(4,4)fill(one)}",
     "{devices=[2,3]<=[3,2]T(1,0)}",
     {1, 0},
     6},
    {"u8[5,9,4]",
     "{devices=[4,1,1,2]<=[8] last_tile_dim_replicate}",
     "u8[4,5,9]{2,0,1:pad(4,8,10)fill(highest)}",
     "{devices=[1,8,1]7,6,5,4,3,2,1,0}",
     {2, 0, 1},
     8},
    {"f64[6]", "{boxes=[0:1][1:6][0:0][1:6]}", "f64[6]", "{replicated}", {0}, 4},
    {"c128[3,3]", "{maximal device=2}", "c128[3,3]", "{devices=[2,2]<=[4]}", {1, 0}, 4},
    {"s4[6,4]{1,0:E(4)}", "{devices=[1,2]<=[2]}", "s4[6,4]", "{devices=[2,1]<=[2]}", {0, 1}, 2},
    {"s4[6,4]", "{devices=[1,2]<=[2]}", "s4[6,4]{0,1:E(4)}", "{devices=[2,1]<=[2]}", {0, 1}, 2},
    {"u16[]", "{maximal device=1}", "u16[]", "{replicated}", {0}, 3},
    {"u16[0,3]", "{replicated}", "u16[0,3]", "{devices=[1,3]<=[3]}", {0, 1}, 3},
};

static void begin(run *r, int i) {
  const char *texts[2] = {cases[i].from, cases[i].to};
  const char *shardings[2] = {cases[i].from_sharding, cases[i].to_sharding};
  *r = (run){.num_devices = cases[i].num_devices};
  for (int side = 0; side < 2; ++side) {
    expect_ok(rlo_shape_parse(texts[side], strlen(texts[side]), &r->shapes[side]));
    expect_ok(rlo_sharding_parse(shardings[side], strlen(shardings[side]), &r->shardings[side]));
  }
  expect_ok(test_redistribution_create(r->shapes, r->shardings, cases[i].permutation,
                                       r->num_devices, &r->plan));
}

static void end(run *r) {
  rlo_redistribution_release(r->plan);
  for (int side = 0; side < 2; ++side) {
    rlo_sharding_release(r->shardings[side]);
    for (int64_t device = 0; device < r->num_devices; ++device) {
      free(r->held[side][device].bytes);
    }
  }
}

static void redistribute(run *r) {
  r->bytes_sent =
      test_redistribute(r->plan, &r->shapes[1], r->shardings[1], r->held[0], r->held[1]);
}

RLO_TABLE_TEST(test_redistribution_moves__what_one_device_would_hold, cases) {
  run r;
  begin(&r, _i);
  test_memory whole = test_memory_make(&r.shapes[0]);
  for (size_t k = 0; k < whole.count; ++k) {
    whole.bytes[k] = (unsigned char)(k * 37 + k / 256);
  }
  if (r.shapes[0].dtype == RLO_DTYPE_S4) {
    /* A byte of an unpacked one holds a value of 4 bits. */
    for (size_t k = 0; k < whole.count; ++k) {
      whole.bytes[k] &= r.shapes[0].layout.element_size_bits == 4 ? 0xff : 0x0f;
    }
  }
  for (int64_t device = 0; device < r.num_devices; ++device) {
    r.held[0][device] = cut(&r, 0, device, whole.bytes);
  }
  redistribute(&r);

  test_memory result = test_memory_make(&r.shapes[1]);
  rlo_chain *chain;
  rlo_problem_list *list;
  expect_ok(rlo_chain_create(&r.shapes[0], &chain));
  expect_ok(rlo_chain_transpose(chain, cases[_i].permutation));
  expect_ok(rlo_chain_combine(chain, &r.shapes[1], NULL, &list));
  test_run_list(list, whole.bytes, result.bytes);
  rlo_chain_release(chain);
  for (int64_t device = 0; device < r.num_devices; ++device) {
    test_memory wanted = cut(&r, 1, device, result.bytes);
    rlo_box box;
    expect_ok(rlo_sharding_get_box(r.shardings[1], &r.shapes[1], device, &box));
    bool is_empty = false;
    for (int32_t d = 0; d < box.rank; ++d) {
      is_empty = is_empty || box.start[d] == box.limit[d];
    }
    ck_assert_uint_eq(wanted.count, r.held[1][device].count);
    if (!is_empty) {
      ck_assert_msg(memcmp(wanted.bytes, r.held[1][device].bytes, wanted.count) == 0,
                    "device %d holds something else", (int)device);
    }
    free(wanted.bytes);
  }
  rlo_redistribution_cost cost = RLO_REDISTRIBUTION_COST_INIT;
  expect_ok(rlo_redistribution_measure(r.plan, &cost));
  ck_assert_int_eq(r.bytes_sent, cost.bytes_sent);
  free(whole.bytes);
  free(result.bytes);
  end(&r);
}

/* Four devices hold summands of f32[4]; two tiles receive them in order:
 * ((a + b) + c) + d, which another order would round differently. */
RLO_TEST(test_redistribution_moves__summands_are_added_in_the_order_of_addends) {
  run r = {.num_devices = 4};
  static const char sharding[] = "{devices=[2,2]<=[4] last_tile_dims={replicated}}";
  expect_ok(rlo_shape_parse("f32[4]", 6, &r.shapes[0]));
  r.shapes[1] = r.shapes[0];
  expect_ok(rlo_sharding_make(RLO_SHARDING_UNREDUCED, &r.shardings[0]));
  expect_ok(rlo_sharding_parse(sharding, strlen(sharding), &r.shardings[1]));
  expect_ok(test_redistribution_create(r.shapes, r.shardings, NULL, 0, &r.plan));
  ck_assert_int_eq(rlo_redistribution_num_devices(r.plan), 4);
  static const float summands[4][4] = {
      {1e8F, 1, 2, 3}, {1, 10, 20, 30}, {-1e8F, 100, 200, 300}, {1, 1000, 2000, 3000}};
  for (int k = 0; k < 4; ++k) {
    r.held[0][k] = test_memory_make(&r.shapes[0]);
    memcpy(r.held[0][k].bytes, summands[k], sizeof summands[k]);
  }
  redistribute(&r);
  static const float wanted[2][2] = {{1, 1111}, {2222, 3333}};
  for (int k = 0; k < 4; ++k) {
    ck_assert_int_eq(memcmp(r.held[1][k].bytes, wanted[k / 2], sizeof wanted[0]), 0);
  }
  end(&r);
}

RLO_TEST(test_redistribution_moves__pieces_of_others_are_refused) {
  run r;
  begin(&r, 0);
  rlo_problem_list *list;
  rlo_redistribution_piece piece = {
      .peer = 1, .box = {.rank = 3, .limit = {16, 16, 16}}, .bytes = 16384};
  expect_refusal(rlo_redistribution_lower_send(r.plan, 0, &piece, &list), RLO_OUT_OF_RANGE,
                 "the piece is 0:16 in dimension 0, device 0 holds 0:8");
  ck_assert_ptr_null(list);
  expect_refusal(rlo_redistribution_lower_receive(r.plan, 8, &piece, true, &list), RLO_OUT_OF_RANGE,
                 "device 8 is outside 0..7");
  end(&r);
}

RLO_TEST(test_redistribution_moves__a_scalar_is_not_filled_alone) {
  run r = {.num_devices = 2};
  expect_ok(rlo_shape_parse("f32[]", 5, &r.shapes[0]));
  r.shapes[1] = r.shapes[0];
  for (int side = 0; side < 2; ++side) {
    expect_ok(rlo_sharding_make_maximal(side, &r.shardings[side]));
  }
  expect_ok(test_redistribution_create(r.shapes, r.shardings, NULL, 0, &r.plan));
  rlo_problem_list *list;
  expect_refusal(rlo_redistribution_lower_fill(r.plan, 1, &list), RLO_INVALID_ARGUMENT,
                 "the array has no dimensions: its piece brings the fill");
  ck_assert_ptr_null(list);
  end(&r);
}
