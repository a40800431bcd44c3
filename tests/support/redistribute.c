/* SPDX-License-Identifier: Apache-2.0 */
#include "support/redistribute.h"

#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/xla/shape_util.h"
#include "support/expect.h"
#include "support/suite.h"

test_memory test_memory_make(const rlo_shape *shape) {
  int64_t count;
  expect_ok(rlo_shape_array_size(shape, &count));
  test_memory memory = {.bytes = malloc((size_t)count + 1), .count = (size_t)count};
  ck_assert_ptr_nonnull(memory.bytes);
  memset(memory.bytes, 0xa5, memory.count + 1);
  return memory;
}

rlo_status test_redistribution_create(const rlo_shape shapes[2], rlo_sharding *const shardings[2],
                                      const int32_t *permutation, int64_t num_devices,
                                      rlo_redistribution **out_plan) {
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = &shapes[0];
  options.to = &shapes[1];
  options.from_sharding = shardings[0];
  options.to_sharding = shardings[1];
  options.permutation = permutation;
  options.num_devices = num_devices;
  return rlo_redistribution_create(&options, out_plan);
}

void test_run_list(rlo_problem_list *list, const void *src, void *dst) {
  expect_ok(rlo_problem_list_run_host(list, &src, dst));
  rlo_problem_list_release(list);
}

void test_cut(const rlo_sharding *sharding, const rlo_shape *shape, int64_t device,
              const void *whole, void *part) {
  rlo_box box;
  rlo_shape shard;
  rlo_chain *chain;
  rlo_problem_list *list;
  expect_ok(rlo_sharding_get_box(sharding, shape, device, &box));
  expect_ok(rlo_sharding_get_shard_shape(sharding, shape, device, &shard));
  expect_ok(rlo_chain_create(shape, &chain));
  expect_ok(rlo_chain_slice(chain, box.start, box.limit, NULL));
  expect_ok(rlo_chain_lower(chain, &shard, &list));
  test_run_list(list, whole, part);
  rlo_chain_release(chain);
}

/* A device that receives. */
typedef struct receiver {
  const rlo_redistribution *plan;
  const test_memory *from;
  int64_t device;
  unsigned char *target;
  bool has_filled;
  int64_t bytes_sent;
} receiver;

static rlo_status move_piece(void *payload, const rlo_redistribution_piece *piece) {
  receiver *r = payload;
  rlo_problem_list *list;
  bool fills = !r->has_filled;
  r->has_filled = true;
  if (piece->peer == r->device) {
    expect_ok(rlo_redistribution_lower_move(r->plan, r->device, r->device, piece, fills, &list));
    test_run_list(list, r->from[r->device].bytes, r->target);
    return RLO_OK;
  }
  unsigned char *message = malloc((size_t)piece->bytes);
  ck_assert_ptr_nonnull(message);
  expect_ok(rlo_redistribution_lower_send(r->plan, piece->peer, piece, &list));
  test_run_list(list, r->from[piece->peer].bytes, message);
  expect_ok(rlo_redistribution_lower_receive(r->plan, r->device, piece, fills, &list));
  test_run_list(list, message, r->target);
  free(message);
  r->bytes_sent += piece->bytes;
  return RLO_OK;
}

int64_t test_redistribute(const rlo_redistribution *plan, const rlo_shape *shape,
                          const rlo_sharding *sharding, const test_memory *from, test_memory *to) {
  receiver r = {.plan = plan, .from = from};
  for (; r.device < rlo_redistribution_num_devices(plan); ++r.device) {
    rlo_shape shard;
    expect_ok(rlo_sharding_get_shard_shape(sharding, shape, r.device, &shard));
    to[r.device] = test_memory_make(&shard);
    r.target = to[r.device].bytes;
    r.has_filled = false;
    expect_ok(rlo_redistribution_visit_receives(plan, r.device, move_piece, &r));
    ck_assert_uint_eq(r.target[to[r.device].count], 0xa5);
  }
  return r.bytes_sent;
}
