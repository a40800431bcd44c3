/* SPDX-License-Identifier: Apache-2.0 */
/* The mover on threads; ThreadSanitizer runs this file too. */
#include "host/mover.h"

#include "relayout/ops.h"
#include "support/device_table.h"
#include "support/host_moves.h"
#include "support/suite.h"

static rlo_problem problem;

/* Large enough that threads are worth their start. */
static const test_pair pairs[] = {
    {"?[700,513]", "?[513,700]", "1,0", false},
    {"?[512,704]", "?[704,512]", "1,0", false},
    {"?[9,300,301]", "?[300,9,301]", "1,0,2", false},
    {"?[300,1201]", "?[300,1201]{1,0:T(8,128)fill(one)}", "", false},
    {"?[400,400,3]", "?[3,400,400]", "2,0,1", false},
    {"?[1000000]", "?[1000000]", "", false},
};

static void lower(const test_pair *pair, const char *dtype) {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  test_pair_shapes(pair, dtype, &src, &dst, permutation);
  ck_assert_int_eq(rlo_relayout_lower(&src, &dst, permutation, &problem), RLO_OK);
}

RLO_TIMEOUT(100);

RLO_TABLE_TEST(test_host_mover_threads__moves_the_same_bytes, pairs) {
  for (int32_t threads = 1; threads <= 4; ++threads) {
    lower(&pairs[_i], "f32");
    test_host_move move = {.problem = &problem,
                           .past_caches_bytes = threads % 2 == 0 ? 1 : INT64_MAX,
                           .num_threads = threads,
                           .dst_shift = threads * 4 % 16};
    test_host_expect(&move, pairs[_i].dst);
  }
}

RLO_TEST(test_host_mover_threads__run_what_the_reference_has_to) {
  lower(&(test_pair){"?[70,31]", "?[31,70]", "1,0", true}, "u4");
  test_host_move move = {.problem = &problem, .num_threads = 3};
  test_host_expect(&move, "units of 4 bits");
}

/* The message of a failure comes from the thread that failed. */
RLO_TEST(test_host_mover_threads__pass_failures_on) {
  lower(&(test_pair){"?[700,513]", "?[513,700]", "1,0", false}, "f32");
  problem.src_bytes -= 1;
  test_host_move move = {.problem = &problem, .num_threads = 2};
  test_host_expect(&move, "a source too small");
}
