/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model of GPU kernels: memory, issue or latency, whichever is
 * slowest. tests/coalescing/check_instructions.py checks that the constants are
 * those of the kernels. */
#include "plan/gpu_cost.h"
#include "support/suite.h"

/* Tiles of 64x64 floats, as squares: memory is what limits them. */
static rlo__gpu_group aligned_tile(void) {
  return (rlo__gpu_group){.loop = RLO__GPU_TILE_SQUARES,
                          .items = 256,
                          .local_bytes = 16640,
                          .bytes = 2 * 16384,
                          .fullness = 1.0,
                          .src_share = 1.0,
                          .dst_share = 1.0,
                          .num_grid_axes = 2,
                          .moves = 8,
                          .flight_bytes = 64};
}

RLO_TEST(test_gpu_cost__memory_limits_what_is_cheap) {
  rlo__gpu_group group = aligned_tile();
  double whole = rlo__gpu_rate(&group);
  ck_assert_double_ge(whole, 0.9);
  ck_assert_double_le(whole, 0.95);
  /* Half of what is read is of no use: three bytes move for two. */
  group.src_share = 0.5;
  ck_assert_double_eq_tol(rlo__gpu_rate(&group), whole * 2.0 / 3.0, 0.01);
  group.dst_share = 0.5;
  ck_assert_double_eq_tol(rlo__gpu_rate(&group), whole / 2.0, 0.01);
  /* Without a barrier loads are always on their way. */
  group = aligned_tile();
  group.loop = RLO__GPU_COPY;
  ck_assert_double_gt(rlo__gpu_rate(&group), whole);
}

RLO_TEST(test_gpu_cost__instructions_limit_what_moves_little) {
  rlo__gpu_group group = aligned_tile();
  double whole = rlo__gpu_rate(&group);
  /* 2 KiB leave a warp 55 instructions each way. */
  group.bytes = 2 * 2048;
  double small = rlo__gpu_rate(&group);
  ck_assert_double_lt(small, 0.7 * whole);
  group.num_guards = 2;
  double guarded = rlo__gpu_rate(&group);
  ck_assert_double_lt(guarded, small);
  group.num_grid_axes = 6;
  ck_assert_double_lt(rlo__gpu_rate(&group), guarded);
  /* Twice the moves and twice the bytes share one prologue. */
  group = aligned_tile();
  group.bytes = 2 * 1024;
  double one = rlo__gpu_rate(&group);
  group.bytes *= 2;
  group.moves *= 2;
  ck_assert_double_gt(rlo__gpu_rate(&group), one);
  ck_assert_double_lt(rlo__gpu_rate(&group), 2 * one);
}

RLO_TEST(test_gpu_cost__latency_limits_what_asks_for_little) {
  rlo__gpu_group group = aligned_tile();
  double whole = rlo__gpu_rate(&group);
  /* 4 bytes of a lane: 6 KiB of the 20 that a multiprocessor needs. */
  group.flight_bytes = 4;
  double few = rlo__gpu_rate(&group);
  ck_assert_double_lt(few, 0.4 * whole);
  group.flight_bytes = 8;
  ck_assert_double_eq_tol(rlo__gpu_rate(&group), 2.0 * few, 0.03);
  /* More local memory: fewer groups at a time. */
  group.local_bytes = 100 << 10;
  ck_assert_double_lt(rlo__gpu_rate(&group), few);
  /* A group that a multiprocessor cannot hold is not divided by. */
  group.local_bytes = 1 << 20;
  ck_assert_double_gt(rlo__gpu_rate(&group), 0.0);
}

RLO_TEST(test_gpu_cost__every_loop_has_costs) {
  for (int n = 0; n < RLO__GPU_NUM_LOOPS; ++n) {
    rlo__gpu_group group = aligned_tile();
    group.loop = (rlo__gpu_loop)n;
    group.finds = 4;
    group.find_axes = 2;
    double rate = rlo__gpu_rate(&group);
    ck_assert_double_gt(rate, 0.05);
    ck_assert_double_le(rate, 0.95);
    group.bytes /= 64;
    ck_assert_double_lt(rlo__gpu_rate(&group), rate);
  }
}
