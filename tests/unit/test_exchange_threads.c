/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "relayout/exchange.h"
#include "relayout/xla/shape_util.h"
#include "support/exchange_case.h"
#include "support/expect.h"
#include "support/fake_link.h"
#include "support/sanitized.h"
#include "support/suite.h"

/*
 * Exchanges in host memory, each rank a thread. What each device holds in the
 * end is compared, byte for byte, with what one device computes.
 */

static size_t test_heap_bytes(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/** A rank of a run. */
typedef struct rank_run {
  const exchange_case *c;
  fake_net *net;
  int32_t rank;
  /** Set by the test; of the ranks together. */
  int64_t message_bytes;
  int32_t num_slots, num_runs;
  /** NULL memories for this rank in the first run. */
  bool forgets_memories;
  /** States no member, though devices are its own. */
  bool states_nobody;
  rlo_status created, statuses[3];
  char message[512];
  rlo_exchange_info info;
  /** Of the process, when all ranks have an exchange. */
  size_t heap_bytes;
  exchange_arena after[EXCHANGE_MAX_DEVICES];
} rank_run;

static int64_t list_members(const rank_run *r, rlo_exchange_member *members) {
  int64_t count = 0;
  for (int64_t device = 0; device < r->c->num_devices; ++device) {
    if (r->net->ranks[device] == r->rank) {
      members[count++].device = device;
    }
  }
  return count;
}

static void run_once(rank_run *r, rlo_exchange *exchange, int32_t number) {
  rlo_exchange_member members[EXCHANGE_MAX_DEVICES] = {{0}};
  rlo_exchange_memory memories[EXCHANGE_MAX_DEVICES] = {{0}};
  int64_t count = list_members(r, members);
  for (int64_t k = 0; k < count; ++k) {
    int64_t device = members[k].device;
    free(r->after[device].begin);
    r->after[device] = exchange_arena_make(r->c->after[device].bytes);
    memories[k].host_src = r->c->before[device].data;
    memories[k].host_dst = r->after[device].data;
    if (r->forgets_memories && number == 0) {
      memories[k].host_src = NULL;
    }
  }
  r->statuses[number] = rlo_exchange_run(exchange, memories);
  if (r->statuses[number] != RLO_OK) {
    (void)snprintf(r->message, sizeof r->message, "%s", rlo_error_last()->message);
  }
}

/* Ranks begin when all of them have started. */
static atomic_bool is_open;

static void run_rank(void *payload) {
  rank_run *r = payload;
  while (!atomic_load(&is_open)) {
    (void)sched_yield();
  }
  rlo_exchange_member members[EXCHANGE_MAX_DEVICES] = {{0}};
  rlo_exchange_link link = fake_net_link(r->net, r->rank);
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = r->c->plan;
  options.members = members;
  options.num_members = list_members(r, members);
  options.link = &link;
  options.message_bytes = r->message_bytes;
  options.num_slots = r->num_slots;
  if (r->states_nobody) {
    options.num_members = 0;
  }
  rlo_exchange *exchange;
  r->created = rlo_exchange_create(&options, &exchange);
  if (r->created != RLO_OK) {
    (void)snprintf(r->message, sizeof r->message, "%s", rlo_error_last()->message);
    return;
  }
  r->heap_bytes = test_heap_bytes();
  for (int32_t n = 0; n < r->num_runs; ++n) {
    run_once(r, exchange, n);
  }
  r->info.struct_size = sizeof r->info;
  expect_ok(rlo_exchange_get_info(exchange, &r->info));
  rlo_exchange_release(exchange);
}

static rank_run ranks[FAKE_MAX_RANKS];

static void begin_ranks(const exchange_case *c, fake_net *net, int64_t message_bytes,
                        int32_t num_slots) {
  for (int32_t k = 0; k < net->num_ranks; ++k) {
    ranks[k] = (rank_run){.c = c,
                          .net = net,
                          .rank = k,
                          .message_bytes = message_bytes,
                          .num_slots = num_slots,
                          .num_runs = 1};
  }
}

/* With the nth allocation failing; 0: none. */
static void run_ranks_without_memory(const fake_net *net, int64_t nth) {
  rlo__thread threads[FAKE_MAX_RANKS];
  atomic_store(&is_open, false);
  for (int32_t k = 0; k < net->num_ranks; ++k) {
    expect_ok(rlo__thread_start(run_rank, &ranks[k], &threads[k]));
  }
  rlo__alloc_set_fault(nth, false);
  atomic_store(&is_open, true);
  for (int32_t k = 0; k < net->num_ranks; ++k) {
    rlo__thread_join(&threads[k]);
  }
}

static void run_ranks(const fake_net *net) {
  run_ranks_without_memory(net, 0);
}

static void free_ranks(const fake_net *net) {
  for (int32_t k = 0; k < net->num_ranks; ++k) {
    for (int64_t device = 0; device < EXCHANGE_MAX_DEVICES; ++device) {
      free(ranks[k].after[device].begin);
    }
  }
}

/* Checks that each rank keeps to its own counters, and that together they send
 * the plan's least bytes. */
static void check_counters(const exchange_case *c, const fake_net *net) {
  int64_t messages = 0;
  int64_t bytes = 0;
  for (int32_t k = 0; k < net->num_ranks; ++k) {
    const rlo_exchange_info *info = &ranks[k].info;
    ck_assert_int_eq(info->messages_sent, info->messages_to_send);
    ck_assert_int_eq(info->bytes_sent, info->bytes_to_send);
    ck_assert_int_eq(info->messages_received, info->messages_to_receive);
    ck_assert_int_eq(info->bytes_received, info->bytes_to_receive);
    ck_assert_int_le(info->host_scratch_peak, info->host_scratch_bytes);
    ck_assert_int_eq(info->device_scratch_bytes, 0);
    if (ranks[k].message_bytes != 0) {
      ck_assert_int_le(info->largest_message_bytes - info->direct_bytes, ranks[k].message_bytes);
    }
    ck_assert_int_le(info->host_scratch_bytes,
                     2 * ranks[k].num_slots * info->largest_message_bytes);
    ck_assert_int_le(net->ends[k].most_in_flight - 520, info->host_scratch_bytes);
    messages += info->messages_sent;
    bytes += info->bytes_sent;
  }
  ck_assert_int_ge(messages, c->cost.num_messages);
  int64_t slack = rlo_shape_element_size_bits(&c->shapes[1]) % 8 == 0 ? 0 : messages;
  ck_assert_msg(bytes >= c->cost.least_bytes_sent && bytes <= c->cost.least_bytes_sent + slack,
                "%" PRId64 " bytes are sent, the least is %" PRId64 ": %s", bytes,
                c->cost.least_bytes_sent, c->words);
}

static void check_ranks(const exchange_case *c, const fake_net *net) {
  for (int32_t k = 0; k < net->num_ranks; ++k) {
    ck_assert_msg(ranks[k].created == RLO_OK, "%s", ranks[k].message);
    for (int32_t n = 0; n < ranks[k].num_runs; ++n) {
      ck_assert_msg(ranks[k].statuses[n] == RLO_OK, "%s", ranks[k].message);
    }
  }
  for (int64_t device = 0; device < c->num_devices; ++device) {
    exchange_case_check(c, device, &ranks[net->ranks[device]].after[device]);
  }
  check_counters(c, net);
}

static const rlo_dtype dtypes[] = {RLO_DTYPE_F32, RLO_DTYPE_S8,  RLO_DTYPE_U16, RLO_DTYPE_BF16,
                                   RLO_DTYPE_S4,  RLO_DTYPE_F64, RLO_DTYPE_C128};

/* Returns how many messages were read in the memory of their senders. */
static int64_t check_random(test_random *random) {
  static const int64_t limits[] = {16, 64, 1024, 0};
  static const int32_t counts[] = {1, 2, 3, 4, 8};
  exchange_case c;
  fake_net net;
  exchange_case_draw(&c, 8, dtypes, sizeof dtypes / sizeof dtypes[0], random);
  fake_net_init(&net, counts[test_random_in(random, 0, 4)], test_random_bits(random));
  for (int32_t d = 0; d < 64 && test_random_once_in(random, 2); ++d) {
    net.ranks[d] = (int32_t)test_random_in(random, 0, net.num_ranks - 1);
  }
  begin_ranks(&c, &net, limits[test_random_in(random, 0, 3)],
              (int32_t)test_random_in(random, 1, 5));
  for (int32_t k = 0; k < net.num_ranks; ++k) {
    ranks[k].num_runs = 2;
  }
  run_ranks(&net);
  check_ranks(&c, &net);
  int64_t num_read = 0;
  for (int32_t k = 0; k < net.num_ranks; ++k) {
    num_read += net.ends[k].num_read;
  }
  free_ranks(&net);
  fake_net_deinit(&net);
  exchange_case_deinit(&c);
  return num_read;
}

RLO_TEST(test_exchange_threads__random_pairs_are_what_one_device_holds) {
  test_random random = test_random_begin("test_exchange_threads");
  int64_t live = rlo__alloc_live_count();
  int usual = TEST_IS_SANITIZED ? 40 : 60;
  int count = getenv("RELAYOUT_TEST_ALL") == NULL ? usual : 3000;
  int64_t num_read = 0;
  for (int k = 0; k < count; ++k) {
    num_read += check_random(&random);
  }
  ck_assert_int_gt(num_read, count);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

/* Eight devices, two to a rank, hold other tiles. */
static void make_usual(exchange_case *c, fake_net *net, int32_t num_ranks) {
  test_random random = {5};
  exchange_case_make(c, "f32[16,12]", "{devices=[8,1]<=[8]}", "f32[12,16]{0,1:T(8,8)fill(one)}",
                     "{devices=[2,4]<=[8]}", (const int32_t[]){1, 0}, 8, &random);
  fake_net_init(net, num_ranks, 9);
}

static void expect_all(const fake_net *net, bool at_creation, rlo_status status,
                       const char *message) {
  for (int32_t k = 0; k < net->num_ranks; ++k) {
    ck_assert_msg((at_creation ? ranks[k].created : ranks[k].statuses[0]) == status, "rank %d: %s",
                  (int)k, ranks[k].message);
    if (message != NULL) {
      ck_assert_str_eq(ranks[k].message, message);
    }
  }
}

static void end_usual(exchange_case *c, fake_net *net) {
  free_ranks(net);
  fake_net_deinit(net);
  exchange_case_deinit(c);
}

/* Messages of one byte, at two ends each. */
RLO_TEST(test_exchange_threads__messages_take_the_memory_that_is_stated) {
  static const char *const cases[][4] = {
      {"u8[1000]", "{devices=[2]0,1}", "u8[1000]", "{devices=[2]1,0}"},
      {"s4[400,8]{1,0:E(4)}", "{devices=[2,1]0,1}", "s4[400,8]{0,1:E(4)}", "{devices=[2,1]1,0}"},
  };
  for (int n = 0; n < 2; ++n) {
    exchange_case c;
    fake_net net;
    test_random random = {5};
    exchange_case_make(&c, cases[n][0], cases[n][1], cases[n][2], cases[n][3], NULL, 2, &random);
    fake_net_init(&net, 2, 9);
    begin_ranks(&c, &net, 1, 4);
    const size_t before = test_heap_bytes();
    run_ranks(&net);
    check_ranks(&c, &net);
    const int64_t ends = 4 * ranks[0].info.messages_to_send;
    ck_assert_int_ge(ends, 1000);
    const size_t most = (size_t)(2 * ranks[0].info.host_scratch_bytes + ends * 4096);
    for (int k = 0; k < 2; ++k) {
      ck_assert_uint_le(ranks[k].heap_bytes, before + most + (64 << 10));
    }
    end_usual(&c, &net);
  }
}

/* A link is lost with any of its transfers: of the agreement at creation, of
 * messages, of the agreement at the end. */
RLO_TEST(test_exchange_threads__a_broken_link_ends_every_rank) {
  int64_t live = rlo__alloc_live_count();
  int at_creation = 0;
  int in_run = 0;
  int partly = 0;
  for (int64_t number = 4; number < 80; ++number) {
    exchange_case c;
    fake_net net;
    make_usual(&c, &net, 4);
    net.ends[number % 4].failing_send = number / 4;
    begin_ranks(&c, &net, 64, 2);
    run_ranks(&net);
    if (net.is_broken) {
      bool is_early = ranks[0].created != RLO_OK || ranks[1].created != RLO_OK;
      at_creation += is_early ? 1 : 0;
      in_run += is_early ? 0 : 1;
      int lost = 0;
      for (int32_t k = 0; k < 4; ++k) {
        lost += ranks[k].created == RLO_IO || ranks[k].statuses[0] == RLO_IO;
      }
      /* A rank that heard the end of the last agreement is done. */
      ck_assert_int_ge(lost, 1);
      partly += lost < 4 ? 1 : 0;
    }
    end_usual(&c, &net);
  }
  ck_assert_int_gt(at_creation, 0);
  ck_assert_int_ge(in_run, 10);
  ck_assert_int_le(partly, 3 + 3);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

RLO_TEST(test_exchange_threads__a_rank_without_memories_fails_all) {
  exchange_case c;
  fake_net net;
  make_usual(&c, &net, 3);
  begin_ranks(&c, &net, 64, 2);
  for (int32_t k = 0; k < 3; ++k) {
    ranks[k].num_runs = 2;
  }
  ranks[1].forgets_memories = true;
  ranks[2].forgets_memories = true;
  run_ranks(&net);
  expect_all(&net, false, RLO_INVALID_ARGUMENT,
             "rank 1: the source of device 1, of 96 bytes, is NULL");
  /* The next run has its memories. */
  for (int64_t device = 0; device < 8; ++device) {
    exchange_case_check(&c, device, &ranks[device % 3].after[device]);
  }
  end_usual(&c, &net);
}

RLO_TEST(test_exchange_threads__a_creation_that_fails_fails_on_all_ranks) {
  exchange_case c;
  fake_net net;
  make_usual(&c, &net, 5);
  begin_ranks(&c, &net, 64, 2);
  ranks[3].states_nobody = true;
  run_ranks(&net);
  expect_all(&net, true, RLO_INVALID_ARGUMENT,
             "rank 3: device 3 is no member of rank 3, but rank_of says that "
             "rank 3 runs it");
  free_ranks(&net);

  begin_ranks(&c, &net, 2, 2);
  run_ranks(&net);
  expect_all(&net, true, RLO_INVALID_ARGUMENT,
             "rank 0: a message of 2 bytes holds no element of 32 bits");

  begin_ranks(&c, &net, 64, 2);
  ranks[4].message_bytes = 128;
  run_ranks(&net);
  expect_all(&net, true, RLO_INVALID_ARGUMENT,
             "rank 1: rank 4 has another plan, or other options, than this "
             "one");
  end_usual(&c, &net);
}

/* 16 boxes of an empty array of rank 16, of 10,000 characters, the last of which
 * begins at `last`. */
static void make_boxes(exchange_case *c, int last) {
  char from[32 * 22] = "f32[0";
  char boxes[16 * 16 * 44] = "{boxes=";
  test_random random = {5};
  for (int k = 0; k < 16; ++k) {
    strcat(from, k < 15 ? ",1000000000000000000" : "]");
    strcat(boxes, "[0:0");
    for (int d = 1; d < 16; ++d) {
      strcat(boxes,
             k == 15 && d == 15 && last ? ",1:1000000000000000000" : ",0:1000000000000000000");
    }
    strcat(boxes, "]");
  }
  strcat(boxes, "}");
  exchange_case_make(c, from, boxes, from, "{replicated}", NULL, 16, &random);
}

RLO_TEST(test_exchange_threads__long_plans_that_differ_in_the_end_fail) {
  exchange_case c[2];
  fake_net net;
  make_boxes(&c[0], 0);
  make_boxes(&c[1], 1);
  fake_net_init(&net, 2, 9);
  begin_ranks(&c[0], &net, 64, 2);
  run_ranks(&net);
  expect_all(&net, true, RLO_OK, "");
  free_ranks(&net);
  begin_ranks(&c[0], &net, 64, 2);
  ranks[1].c = &c[1];
  run_ranks(&net);
  expect_all(&net, true, RLO_INVALID_ARGUMENT,
             "rank 0: rank 1 has another plan, or other options, than this one");
  exchange_case_deinit(&c[1]);
  end_usual(&c[0], &net);
}

/* Whichever allocation fails, on whichever rank. */
RLO_TEST(test_exchange_threads__memory_that_runs_out_fails_all_ranks) {
  exchange_case c;
  fake_net net;
  make_usual(&c, &net, 4);
  int64_t live = rlo__alloc_live_count();
  begin_ranks(&c, &net, 64, 2);
  run_ranks(&net);
  int64_t tried = rlo__alloc_tried_count();
  int failed = 0;
  for (int64_t nth = 1; nth <= tried; nth += 1 + tried / 80) {
    free_ranks(&net);
    begin_ranks(&c, &net, 64, 2);
    run_ranks_without_memory(&net, nth);
    rlo__alloc_set_fault(0, false);
    bool is_created = ranks[0].created == RLO_OK;
    expect_all(&net, !is_created, is_created ? ranks[0].statuses[0] : RLO_OUT_OF_MEMORY,
               ranks[0].message);
    failed += is_created ? 0 : 1;
  }
  ck_assert_int_gt(failed, 50);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
  end_usual(&c, &net);
}

/* No rank sends, nor does one that holds copies of all. */
RLO_TEST(test_exchange_threads__what_is_held_is_not_sent) {
  static const char *const shardings[] = {"{devices=[8,1]<=[8]}", "{replicated}"};
  test_random random = {5};
  for (int k = 0; k < 2; ++k) {
    exchange_case c;
    fake_net net;
    exchange_case_make(&c, "s16[16,12]", shardings[k], "s16[16,12]{0,1:T(4,8)fill(lowest)}",
                       "{devices=[8,1]<=[8]}", NULL, 8, &random);
    fake_net_init(&net, 4, 3);
    begin_ranks(&c, &net, 0, 2);
    run_ranks(&net);
    check_ranks(&c, &net);
    for (int32_t rank = 0; rank < 4; ++rank) {
      ck_assert_int_eq(ranks[rank].info.messages_sent, 0);
      ck_assert_int_eq(ranks[rank].info.num_rounds, 0);
      ck_assert_int_eq(ranks[rank].info.host_scratch_bytes, 0);
      /* Two agreements with the parent and two children. */
      ck_assert_int_le(net.ends[rank].num_sent, 6);
    }
    end_usual(&c, &net);
  }
}

/* Rows to columns: four ranks meet three others, one in a round. */
RLO_TEST(test_exchange_threads__counts_rounds) {
  test_random random = {6};
  exchange_case c;
  fake_net net;
  exchange_case_make(&c, "s16[16,16]", "{devices=[8,1]<=[8]}", "s16[16,16]", "{devices=[1,8]<=[8]}",
                     NULL, 8, &random);
  fake_net_init(&net, 4, 3);
  begin_ranks(&c, &net, 0, 2);
  run_ranks(&net);
  check_ranks(&c, &net);
  for (int32_t rank = 0; rank < 4; ++rank) {
    ck_assert_int_eq(ranks[rank].info.num_rounds, 3);
  }
  end_usual(&c, &net);
}
