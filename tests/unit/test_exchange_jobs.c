/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/ops.h"
#include "relayout/redistribution.h"
#include "relayout/service.h"
#include "support/exchange_case.h"
#include "support/expect.h"
#include "support/suite.h"

/*
 * Redistributions between storages: each piece is a job from its sender's to
 * its receiver's, as docs/examples/redistribute.c does it.
 */

typedef struct moves {
  const exchange_case *c;
  rlo_service *service;
  rlo_storage *before[EXCHANGE_MAX_DEVICES], *after[EXCHANGE_MAX_DEVICES];
  int64_t receiver;
  bool has_filled;
} moves;

static void submit(moves *m, int64_t sender, const rlo_problem *problem) {
  rlo_job *job;
  expect_ok(rlo_service_submit(m->service, problem, m->before[sender], m->after[m->receiver], NULL,
                               &job));
  expect_ok(rlo_job_wait(job, -1, NULL));
  expect_ok(rlo_job_result(job));
  rlo_job_release(job);
}

static rlo_status move_piece(void *payload, const rlo_redistribution_piece *piece) {
  moves *m = payload;
  rlo_problem_list *list;
  expect_ok(rlo_redistribution_lower_move(m->c->plan, piece->peer, m->receiver, piece,
                                          !m->has_filled, &list));
  m->has_filled = true;
  for (int32_t n = 0; n < rlo_problem_list_count(list); ++n) {
    submit(m, piece->peer, rlo_problem_list_get(list, n));
  }
  rlo_problem_list_release(list);
  return RLO_OK;
}

/* Fills the padding of a device that receives no piece. */
static void fill(moves *m) {
  rlo_problem_list *list;
  expect_ok(rlo_redistribution_lower_fill(m->c->plan, m->receiver, &list));
  for (int32_t n = 0; n < rlo_problem_list_count(list); ++n) {
    submit(m, m->receiver, rlo_problem_list_get(list, n));
  }
  rlo_problem_list_release(list);
}

static void move_all(exchange_case *c, rlo_service *service) {
  moves m = {.c = c, .service = service};
  exchange_arena after[EXCHANGE_MAX_DEVICES];
  for (int64_t k = 0; k < c->num_devices; ++k) {
    after[k] = exchange_arena_make(c->after[k].bytes);
    expect_ok(rlo_storage_from_const_memory(c->before[k].data, c->before[k].bytes, &m.before[k]));
    expect_ok(rlo_storage_from_memory(after[k].data, after[k].bytes, &m.after[k]));
  }
  for (m.receiver = 0; m.receiver < c->num_devices; ++m.receiver) {
    m.has_filled = false;
    expect_ok(rlo_redistribution_visit_receives(c->plan, m.receiver, move_piece, &m));
    if (!m.has_filled && c->shapes[1].rank > 0) {
      fill(&m);
    }
  }
  for (int64_t k = 0; k < c->num_devices; ++k) {
    rlo_storage_release(m.before[k]);
    rlo_storage_release(m.after[k]);
    exchange_case_check(c, k, &after[k]);
  }
}

RLO_TEST(test_exchange_jobs__each_piece_is_a_job) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_F32, RLO_DTYPE_U16, RLO_DTYPE_S8};
  test_random random = test_random_begin("test_exchange_jobs");
  rlo_service *service;
  expect_ok(rlo_service_create(NULL, 0, NULL, &service));
  for (int k = 0; k < 30; ++k) {
    exchange_case c;
    exchange_case_draw(&c, 6, dtypes, 3, &random);
    move_all(&c, service);
    exchange_case_deinit(&c);
  }
  rlo_service_release(service);
}
