/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "relayout/exchange.h"
#include "support/exchange_case.h"
#include "support/expect.h"
#include "support/suite.h"

/*
 * Exchanges of one process in host memory: what is refused, and runs that the
 * caller steps. What they move: test_exchange_threads, test_device_exchange.
 */

static exchange_case c;
static rlo_exchange_member members[4];
static rlo_exchange_options options;

static void make(void) {
  test_random random = {7};
  exchange_case_make(&c, "f32[8,12]", "{unreduced}", "f32[8,12]{0,1:T(4,4)}",
                     "{devices=[2,2]<=[4]}", NULL, 4, &random);
  options = (rlo_exchange_options)RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = c.plan;
  options.members = members;
  options.num_members = 4;
  for (int64_t k = 0; k < 4; ++k) {
    members[k] = (rlo_exchange_member){.device = 3 - k};
  }
}

static void release(void) {
  exchange_case_deinit(&c);
}

RLO_FIXTURE(make, release);

static void expect_refused(rlo_status status, const char *message) {
  rlo_exchange *exchange;
  int64_t live = rlo__alloc_live_count();
  expect_refusal(rlo_exchange_create(&options, &exchange), status, message);
  ck_assert_ptr_null(exchange);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

RLO_TEST(test_exchange__refuses_what_cannot_run) {
  options.num_slots = 65;
  expect_refused(RLO_UNSUPPORTED, "65 slots of 16777216 bytes; at most 64 of 1073741824");
  options.num_slots = -1;
  expect_refused(RLO_INVALID_ARGUMENT, "a number of the exchange options is negative");
  options.num_slots = 0;
  options.message_bytes = 3;
  expect_refused(RLO_INVALID_ARGUMENT, "a message of 3 bytes holds no element of 32 bits");
  options.message_bytes = 0;
  options.num_members = 3;
  expect_refused(RLO_INVALID_ARGUMENT,
                 "device 0 takes part, but is no member, and there is no link "
                 "to other processes");
  options.num_members = 4;
  members[3].device = 2;
  expect_refused(RLO_INVALID_ARGUMENT, "device 2 is stated as two members");
  members[3].device = 4;
  expect_refused(RLO_OUT_OF_RANGE, "member 3: device 4 is outside 0..3");
}

RLO_TEST(test_exchange__refuses_half_a_member) {
  members[1].queue = (cl_command_queue)(void *)&c;
  expect_refused(RLO_INVALID_ARGUMENT,
                 "member 1: device 2 has a queue without a context; a member "
                 "has both or none of them");
}

static int32_t rank_of(void *payload, int64_t device) {
  (void)device;
  return *(const int32_t *)payload;
}

static rlo_status start_send(void *payload, int32_t slot, int32_t rank, const void *data,
                             int64_t n) {
  (void)payload, (void)slot, (void)rank, (void)data, (void)n;
  return RLO_IO;
}

static rlo_status start_receive(void *payload, int32_t slot, int32_t rank, void *data, int64_t n) {
  (void)payload, (void)slot, (void)rank, (void)data, (void)n;
  return RLO_IO;
}

static rlo_status test(void *payload, int32_t slot, bool *out_is_done) {
  (void)payload, (void)slot, (void)out_is_done;
  return RLO_IO;
}

static rlo_status close_message(void *payload, int32_t slot) {
  (void)payload, (void)slot;
  return RLO_IO;
}

/* One rank is alone: its link transfers nothing. */
RLO_TEST(test_exchange__holds_the_link_against_the_members) {
  int32_t rank = 0;
  rlo_exchange_link link = RLO_EXCHANGE_LINK_INIT;
  link.payload = &rank;
  link.num_ranks = 1;
  link.start_send = start_send;
  link.start_receive = start_receive;
  link.test = test;
  options.link = &link;
  expect_refused(RLO_INVALID_ARGUMENT, "'link->rank_of' is NULL");
  link.rank_of = rank_of;
  link.rank = 1;
  expect_refused(RLO_INVALID_ARGUMENT, "the link is of rank 1 of 1");
  link.rank = 0;
  link.close = close_message;
  expect_refused(RLO_INVALID_ARGUMENT, "the link has some of 'share', 'open' and 'close', not all");
  link.close = NULL;
  options.num_members = 3;
  expect_refused(RLO_INVALID_ARGUMENT,
                 "rank 0: device 0 is no member of rank 0, but rank_of says "
                 "that rank 0 runs it");
  options.num_members = 4;
  rank = 5;
  expect_refused(RLO_OUT_OF_RANGE,
                 "rank 0: rank_of says that rank 5 runs device 0; the link has "
                 "1 ranks");
  rank = 0;
  rlo_exchange *exchange;
  expect_ok(rlo_exchange_create(&options, &exchange));
  rlo_exchange_release(exchange);
  /* A link of an older header shares no memory. */
  link.struct_size = offsetof(rlo_exchange_link, share);
  link.close = close_message;
  expect_ok(rlo_exchange_create(&options, &exchange));
  rlo_exchange_release(exchange);
  link.struct_size = sizeof link + 8;
  ck_assert_int_eq(rlo_exchange_create(&options, &exchange), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_exchange__goes_on_step_by_step) {
  int64_t live = rlo__alloc_live_count();
  rlo_exchange *exchange;
  rlo_exchange_memory memories[4] = {{0}};
  exchange_arena after[4];
  bool is_done = false;
  int steps = 0;
  expect_ok(rlo_exchange_create(&options, &exchange));
  expect_refusal(rlo_exchange_step(exchange, &is_done), RLO_INVALID_ARGUMENT, "no run was started");
  for (int64_t k = 0; k < 4; ++k) {
    after[k] = exchange_arena_make(c.after[3 - k].bytes);
    memories[k].host_src = c.before[3 - k].data;
    memories[k].host_dst = after[k].data;
  }
  expect_ok(rlo_exchange_start(exchange, memories));
  expect_refusal(rlo_exchange_start(exchange, memories), RLO_INVALID_ARGUMENT,
                 "the exchange runs already; step it until it is done");
  for (; !is_done; ++steps) {
    expect_ok(rlo_exchange_step(exchange, &is_done));
  }
  for (int64_t k = 0; k < 4; ++k) {
    exchange_case_check(&c, 3 - k, &after[k]);
  }
  /* A step runs one problem: 4 summands for each of 4 devices. */
  ck_assert_int_ge(steps, 16);
  rlo_exchange_info info = RLO_EXCHANGE_INFO_INIT;
  expect_ok(rlo_exchange_get_info(exchange, &info));
  ck_assert_int_eq(info.messages_sent, 12);
  ck_assert_int_eq(info.direct_messages, 12);
  ck_assert_int_eq(info.bytes_sent, c.cost.least_bytes_sent);
  ck_assert_int_eq(info.host_scratch_bytes, 0);
  ck_assert_int_eq(info.num_rounds, 0);

  /* One that is not stepped to its end. */
  expect_ok(rlo_exchange_start(exchange, memories));
  ck_assert_ptr_eq(rlo_exchange_retain(exchange), exchange);
  rlo_exchange_release(exchange);
  rlo_exchange_release(exchange);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}
