/* SPDX-License-Identifier: Apache-2.0 */

#include "engine_case.h"
#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "support/shape_of.h"

/* Launches of an engine that fuses on a device. */

RLO_FILE_FIXTURE(open_context, close_context);

/* pad(transpose(slice(x))): once or three times, the same bytes. */
RLO_TEST(test_engine__pad_of_transpose_of_slice) {
  int32_t results[2][80];
  for (int is_fusing = 0; is_fusing < 2; ++is_fusing) {
    begin(is_fusing == 1);
    rlo_tensor *x = count_up(DIMS(12, 9), 2);
    rlo_tensor *s = NULL;
    rlo_tensor *t = NULL;
    rlo_tensor *p = NULL;
    int64_t before = launches();
    expect_ok(rlo_op_slice(x, DIMS(2, 1), DIMS(7, 6), &s));
    expect_ok(rlo_op_transpose(s, NULL, &t));
    expect_ok(rlo_op_pad(t, DIMS(1, 0), DIMS(1, 3), NULL, NULL, &p));
    rlo_tensor_release(x);
    rlo_tensor_release(s);
    rlo_tensor_release(t);
    ck_assert_int_eq(rlo_tensor_is_pending(p), is_fusing);
    ck_assert_int_eq(rlo_engine_live_tensors(engine), is_fusing ? 4 : 1);
    expect_ok(rlo_tensor_read(p, results[is_fusing], sizeof results[0]));
    /* The result releases the tensors that it was waiting for. */
    ck_assert_int_eq(rlo_engine_live_tensors(engine), 1);
    ck_assert_int_eq(launches() - before, is_fusing ? 1 : 3);
    ck_assert_int_eq(engine_stats().materialized, is_fusing);
    rlo_tensor_release(p);
    end();
  }
  ck_assert_mem_eq(results[0], results[1], sizeof results[0]);
  ck_assert_int_eq(results[0][10], 19);
}

/* A second time, and for a twin, the fused plan is there. */
RLO_TEST(test_engine__fused_plans_are_kept) {
  begin(true);
  rlo_tensor *x = count_up(DIMS(8, 8), 2);
  int64_t misses = 0;
  for (int round = 0; round < 3; ++round) {
    rlo_tensor *t = NULL;
    rlo_tensor *r = NULL;
    expect_ok(rlo_op_transpose(x, NULL, &t));
    expect_ok(rlo_op_reverse(t, DIMS(0), 1, &r));
    expect_ok(rlo_tensor_materialize(r));
    rlo_tensor_release(t);
    rlo_tensor_release(r);
    if (round == 0) {
      misses = engine_stats().plan_misses;
    }
  }
  ck_assert_int_eq(engine_stats().plan_misses, misses);
  rlo_tensor_release(x);
  end();
}

/* A result that two others use is made once if somebody reads it, and never
 * if nobody does. */
RLO_TEST(test_engine__a_shared_result) {
  begin(true);
  rlo_tensor *x = count_up(DIMS(6, 6), 2);
  rlo_tensor *t = NULL;
  rlo_tensor *a = NULL;
  rlo_tensor *b = NULL;
  int64_t before = launches();
  expect_ok(rlo_op_transpose(x, NULL, &t));
  expect_ok(rlo_op_slice(t, DIMS(0, 0), DIMS(3, -1), &a));
  expect_ok(rlo_op_slice(t, DIMS(3, 0), DIMS(3, -1), &b));
  expect_ok(rlo_tensor_materialize(a));
  expect_ok(rlo_tensor_materialize(b));
  ck_assert_int_eq(launches() - before, 2);
  ck_assert(rlo_tensor_is_pending(t));
  expect_ok(rlo_tensor_materialize(t));
  ck_assert_int_eq(launches() - before, 3);
  int32_t got[18];
  expect_ok(rlo_tensor_read(b, got, sizeof got));
  ck_assert_int_eq(got[1], 9);
  rlo_tensor_release(a);
  rlo_tensor_release(b);
  rlo_tensor_release(t);
  rlo_tensor_release(x);
  end();
}

/* concat(a, transpose(b), a): one launch for each part; a sum waits for what
 * it adds. */
RLO_TEST(test_engine__joins_and_sums) {
  begin(true);
  rlo_tensor *a = count_up(DIMS(2, 3), 2);
  rlo_tensor *b = count_up(DIMS(3, 2), 2);
  rlo_tensor *t = NULL;
  rlo_tensor *c = NULL;
  int64_t before = launches();
  expect_ok(rlo_op_transpose(b, NULL, &t));
  rlo_tensor *const parts[] = {a, t, a};
  expect_ok(rlo_op_concat(parts, 3, 0, &c));
  int32_t got[18];
  const int32_t wanted[] = {0, 1, 2, 3, 4, 5, 0, 2, 4, 1, 3, 5, 0, 1, 2, 3, 4, 5};
  expect_ok(rlo_tensor_read(c, got, sizeof got));
  ck_assert_mem_eq(got, wanted, sizeof wanted);
  ck_assert_int_eq(launches() - before, 3);
  rlo_tensor_release(c);
  rlo_tensor_release(t);
  rlo_tensor_release(a);
  rlo_tensor_release(b);
  end();
}

/* More moves than are fused into one: it takes more launches, and is right. */
RLO_TEST(test_engine__a_long_chain) {
  begin(true);
  rlo_tensor *x = count_up(DIMS(4, 5), 2);
  rlo_tensor *y = rlo_tensor_retain(x);
  int64_t before = launches();
  for (int k = 0; k < 80; ++k) {
    rlo_tensor *next = NULL;
    expect_ok(k % 2 == 0 ? rlo_op_transpose(y, NULL, &next) : rlo_op_reverse(y, DIMS(0), 1, &next));
    rlo_tensor_release(y);
    y = next;
  }
  /* Turned forty times by a quarter. */
  int32_t got[20];
  int32_t wanted[20];
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  expect_ok(rlo_tensor_read(x, wanted, sizeof wanted));
  ck_assert_mem_eq(got, wanted, sizeof wanted);
  ck_assert_int_ge(launches() - before, 3);
  ck_assert_int_le(launches() - before, 10);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  end();
}

/* Guards add up until a problem has no room for them: then it is cut. */
RLO_TEST(test_engine__more_guards_than_a_problem_takes) {
  begin(true);
  const int64_t ones[] = {1, 1, 1, 1, 1, 1};
  rlo_tensor *x = count_up(DIMS(1, 1, 2, 1, 1, 1), 6);
  rlo_tensor *y = rlo_tensor_retain(x);
  for (int k = 0; k < 24; ++k) {
    rlo_tensor *next = NULL;
    const int64_t away[] = {-1, -1, -1, -1, -1, -1};
    expect_ok(rlo_op_pad(y, k % 2 == 0 ? ones : away, k % 2 == 0 ? ones : away, NULL, NULL, &next));
    rlo_tensor_release(y);
    y = next;
  }
  int32_t got[2];
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_int_eq(got[0], 0);
  ck_assert_int_eq(got[1], 1);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  end();
}

RLO_TEST(test_engine__a_chain_at_once) {
  begin(false);
  rlo_tensor *x = count_up(DIMS(12, 9), 2);
  rlo_chain *chain = NULL;
  rlo_tensor *y = NULL;
  const rlo_shape tiled = test_shape_of("s32[9,12]{1,0:T(4,8)fill(one)}");
  expect_ok(rlo_chain_create(rlo_tensor_shape(x), &chain));
  expect_ok(rlo_chain_transpose(chain, (const int32_t[]){1, 0}));
  int64_t before = launches();
  expect_ok(rlo_run_chain(engine, chain, &x, 1, &tiled, &y));
  ck_assert_int_eq(launches() - before, 1);
  int32_t got[12 * 16];
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_int_eq(got[1], 9);
  ck_assert_int_eq(got[64 - 4], 1);
  rlo_tensor_release(y);
  expect_refusal(rlo_run_chain(engine, chain, &x, 0, NULL, &y), RLO_INVALID_ARGUMENT,
                 "0 inputs for a chain of 1 operands");
  rlo_chain_release(chain);
  rlo_tensor_release(x);
  end();
}
