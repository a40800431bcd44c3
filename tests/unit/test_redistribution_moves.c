/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/redistribution.h"
#include "relayout/shape_util.h"
#include "relayout/text.h"
#include "support/expect.h"
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
  unsigned char *held[2][MAX_DEVICES];
  size_t bytes[2][MAX_DEVICES];
  int64_t device;
  bool has_filled;
  int64_t bytes_sent;
} run;

static void run_list(rlo_problem_list *list, const void *src, void *dst) {
  expect_ok(rlo_problem_list_run_host(list, &src, dst));
  rlo_problem_list_release(list);
}

static rlo_status move_piece(void *payload,
                             const rlo_redistribution_piece *piece) {
  run *r = payload;
  rlo_problem_list *list;
  unsigned char *target = r->held[1][r->device];
  bool fills = !r->has_filled;
  r->has_filled = true;
  if (piece->peer == r->device) {
    expect_ok(rlo_redistribution_lower_move(
        r->plan, r->device, r->device, piece, fills, &list));
    run_list(list, r->held[0][r->device], target);
    return RLO_OK;
  }
  unsigned char *message = malloc((size_t)piece->bytes);
  ck_assert_ptr_nonnull(message);
  expect_ok(rlo_redistribution_lower_send(r->plan, piece->peer, piece, &list));
  run_list(list, r->held[0][piece->peer], message);
  expect_ok(rlo_redistribution_lower_receive(
      r->plan, r->device, piece, fills, &list));
  run_list(list, message, target);
  free(message);
  r->bytes_sent += piece->bytes;
  return RLO_OK;
}

static unsigned char *make_memory(const rlo_shape *shape, size_t *out_bytes) {
  int64_t bytes;
  expect_ok(rlo_shape_array_size(shape, &bytes));
  unsigned char *memory = malloc((size_t)bytes + 1);
  ck_assert_ptr_nonnull(memory);
  memset(memory, 0xa5, (size_t)bytes + 1);
  *out_bytes = (size_t)bytes;
  return memory;
}

/* What a device holds of an array that lies in memory as a whole. */
static unsigned char *cut(const run *r,
                          int side,
                          int64_t device,
                          const void *whole,
                          size_t *out_bytes) {
  rlo_box box;
  rlo_shape shard;
  rlo_chain *chain;
  rlo_problem_list *list;
  expect_ok(
      rlo_sharding_get_box(r->shardings[side], &r->shapes[side], device, &box));
  expect_ok(rlo_sharding_get_shard_shape(
      r->shardings[side], &r->shapes[side], device, &shard));
  unsigned char *memory = make_memory(&shard, out_bytes);
  expect_ok(rlo_chain_create(&r->shapes[side], &chain));
  expect_ok(rlo_chain_slice(chain, box.start, box.limit, NULL));
  expect_ok(rlo_chain_lower(chain, &shard, &list));
  run_list(list, whole, memory);
  rlo_chain_release(chain);
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
    {"f64[6]",
     "{boxes=[0:1][1:6][0:0][1:6]}",
     "f64[6]",
     "{replicated}",
     {0},
     4},
    {"c128[3,3]",
     "{maximal device=2}",
     "c128[3,3]",
     "{devices=[2,2]<=[4]}",
     {1, 0},
     4},
    {"s4[6,4]{1,0:E(4)}",
     "{devices=[1,2]<=[2]}",
     "s4[6,4]",
     "{devices=[2,1]<=[2]}",
     {0, 1},
     2},
    {"s4[6,4]",
     "{devices=[1,2]<=[2]}",
     "s4[6,4]{0,1:E(4)}",
     "{devices=[2,1]<=[2]}",
     {0, 1},
     2},
    {"u16[]", "{maximal device=1}", "u16[]", "{replicated}", {0}, 3},
    {"u16[0,3]", "{replicated}", "u16[0,3]", "{devices=[1,3]<=[3]}", {0, 1}, 3},
};

static void begin(run *r, int i) {
  const char *texts[2] = {cases[i].from, cases[i].to};
  const char *shardings[2] = {cases[i].from_sharding, cases[i].to_sharding};
  *r = (run){.num_devices = cases[i].num_devices};
  for (int side = 0; side < 2; ++side) {
    expect_ok(
        rlo_shape_parse(texts[side], strlen(texts[side]), &r->shapes[side]));
    expect_ok(rlo_sharding_parse(
        shardings[side], strlen(shardings[side]), &r->shardings[side]));
  }
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = &r->shapes[0];
  options.to = &r->shapes[1];
  options.from_sharding = r->shardings[0];
  options.to_sharding = r->shardings[1];
  options.permutation = cases[i].permutation;
  options.num_devices = r->num_devices;
  expect_ok(rlo_redistribution_create(&options, &r->plan));
}

static void end(run *r) {
  rlo_redistribution_release(r->plan);
  for (int side = 0; side < 2; ++side) {
    rlo_sharding_release(r->shardings[side]);
    for (int64_t device = 0; device < r->num_devices; ++device) {
      free(r->held[side][device]);
    }
  }
}

static void redistribute(run *r) {
  for (r->device = 0; r->device < r->num_devices; ++r->device) {
    rlo_shape shard;
    expect_ok(rlo_sharding_get_shard_shape(
        r->shardings[1], &r->shapes[1], r->device, &shard));
    r->held[1][r->device] = make_memory(&shard, &r->bytes[1][r->device]);
    r->has_filled = false;
    expect_ok(
        rlo_redistribution_visit_receives(r->plan, r->device, move_piece, r));
    ck_assert_uint_eq(r->held[1][r->device][r->bytes[1][r->device]], 0xa5);
  }
}

RLO_TABLE_TEST(test_redistribution_moves__what_one_device_would_hold, cases) {
  run r;
  begin(&r, _i);
  size_t bytes;
  unsigned char *whole = make_memory(&r.shapes[0], &bytes);
  for (size_t k = 0; k < bytes; ++k) {
    whole[k] = (unsigned char)(k * 37 + k / 256);
  }
  if (r.shapes[0].dtype == RLO_DTYPE_S4) {
    /* A byte of an unpacked one holds a value of 4 bits. */
    for (size_t k = 0; k < bytes; ++k) {
      whole[k] &= r.shapes[0].layout.element_size_bits == 4 ? 0xff : 0x0f;
    }
  }
  for (int64_t device = 0; device < r.num_devices; ++device) {
    r.held[0][device] = cut(&r, 0, device, whole, &bytes);
  }
  redistribute(&r);

  size_t result_bytes;
  unsigned char *result = make_memory(&r.shapes[1], &result_bytes);
  rlo_chain *chain;
  rlo_problem_list *list;
  expect_ok(rlo_chain_create(&r.shapes[0], &chain));
  expect_ok(rlo_chain_transpose(chain, cases[_i].permutation));
  expect_ok(rlo_chain_combine(chain, &r.shapes[1], NULL, &list));
  run_list(list, whole, result);
  rlo_chain_release(chain);
  for (int64_t device = 0; device < r.num_devices; ++device) {
    unsigned char *wanted = cut(&r, 1, device, result, &bytes);
    rlo_box box;
    expect_ok(rlo_sharding_get_box(r.shardings[1], &r.shapes[1], device, &box));
    bool is_empty = false;
    for (int32_t d = 0; d < box.rank; ++d) {
      is_empty = is_empty || box.start[d] == box.limit[d];
    }
    ck_assert_uint_eq(bytes, r.bytes[1][device]);
    if (!is_empty) {
      ck_assert_msg(memcmp(wanted, r.held[1][device], bytes) == 0,
                    "device %d holds something else",
                    (int)device);
    }
    free(wanted);
  }
  rlo_redistribution_cost cost;
  expect_ok(rlo_redistribution_measure(r.plan, &cost));
  ck_assert_int_eq(r.bytes_sent, cost.bytes_sent);
  free(whole);
  free(result);
  end(&r);
}

/* Four devices hold summands of f32[4]; two tiles receive them in order:
 * ((a + b) + c) + d, which another order would round differently. */
RLO_TEST(
    test_redistribution_moves__summands_are_added_in_the_order_of_addends) {
  run r = {.num_devices = 4};
  static const char sharding[] =
      "{devices=[2,2]<=[4] last_tile_dims={replicated}}";
  expect_ok(rlo_shape_parse("f32[4]", 6, &r.shapes[0]));
  r.shapes[1] = r.shapes[0];
  expect_ok(rlo_sharding_make(RLO_SHARDING_UNREDUCED, &r.shardings[0]));
  expect_ok(rlo_sharding_parse(sharding, strlen(sharding), &r.shardings[1]));
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = &r.shapes[0];
  options.to = &r.shapes[1];
  options.from_sharding = r.shardings[0];
  options.to_sharding = r.shardings[1];
  expect_ok(rlo_redistribution_create(&options, &r.plan));
  ck_assert_int_eq(rlo_redistribution_num_devices(r.plan), 4);
  static const float summands[4][4] = {{1e8F, 1, 2, 3},
                                       {1, 10, 20, 30},
                                       {-1e8F, 100, 200, 300},
                                       {1, 1000, 2000, 3000}};
  for (int k = 0; k < 4; ++k) {
    r.held[0][k] = malloc(sizeof summands[k]);
    ck_assert_ptr_nonnull(r.held[0][k]);
    memcpy(r.held[0][k], summands[k], sizeof summands[k]);
  }
  redistribute(&r);
  static const float wanted[2][2] = {{1, 1111}, {2222, 3333}};
  for (int k = 0; k < 4; ++k) {
    ck_assert_int_eq(memcmp(r.held[1][k], wanted[k / 2], sizeof wanted[0]), 0);
  }
  end(&r);
}

RLO_TEST(test_redistribution_moves__pieces_of_others_are_refused) {
  run r;
  begin(&r, 0);
  rlo_problem_list *list;
  rlo_redistribution_piece piece = {
      .peer = 1, .box = {.rank = 3, .limit = {16, 16, 16}}, .bytes = 16384};
  expect_refusal(rlo_redistribution_lower_send(r.plan, 0, &piece, &list),
                 RLO_OUT_OF_RANGE,
                 "the piece is 0:16 in dimension 0, device 0 holds 0:8");
  ck_assert_ptr_null(list);
  expect_refusal(
      rlo_redistribution_lower_receive(r.plan, 8, &piece, true, &list),
      RLO_OUT_OF_RANGE,
      "device 8 is outside 0..7");
  end(&r);
}
