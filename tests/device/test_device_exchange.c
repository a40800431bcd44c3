/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "relayout/exchange.h"
#include "support/device_arena.h"
#include "support/exchange_case.h"
#include "support/expect.h"
#include "support/fake_link.h"
#include "support/suite.h"

/*
 * Exchanges between devices: PoCL shows as many as it is asked for. Whole
 * arenas are compared with what one device computes, and sources with what they
 * were.
 */

enum {
  NUM_DEVICES = 4,
  /** Places: devices, each in a cl_context of its own; two of them in one
   *  cl_context; the first of these with another queue; the host. */
  OWN = 0,
  SHARED = NUM_DEVICES,
  SECOND = SHARED + 2,
  HOST,
  NUM_PLACES
};

static cl_device_id devices[NUM_DEVICES];
static cl_uint num_devices;
static cl_context shared;
static rlo_context *contexts[NUM_PLACES];
static cl_command_queue queues[NUM_PLACES];

static void open_place(int place, cl_context in, cl_device_id device) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "";
  expect_ok(rlo_context_create(in, device, &options, &contexts[place]));
  cl_int code;
  queues[place] = clCreateCommandQueue(in, device, 0, &code);
  expect_cl(code);
}

static void open_places(void) {
  rlo_device_entry first;
  cl_int code;
  int32_t count;
  (void)setenv("POCL_DEVICES", "pthread pthread pthread pthread", 0);
  expect_ok(rlo_device_list(&first, sizeof first, 1, &count));
  expect_cl(clGetDeviceIDs(first.platform, CL_DEVICE_TYPE_ALL, NUM_DEVICES, devices, &num_devices));
  num_devices = num_devices < NUM_DEVICES ? num_devices : NUM_DEVICES;
  printf("%d devices\n", (int)num_devices);
  shared = clCreateContext(NULL, num_devices, devices, NULL, NULL, &code);
  expect_cl(code);
  for (cl_uint k = 0; k < NUM_DEVICES; ++k) {
    cl_device_id device = devices[k % num_devices];
    cl_context own = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    expect_cl(code);
    open_place(OWN + (int)k, own, device);
    (void)clReleaseContext(own);
  }
  open_place(SHARED, shared, devices[0]);
  open_place(SHARED + 1, shared, devices[1 % num_devices]);
  contexts[SECOND] = rlo_context_retain(contexts[SHARED]);
  queues[SECOND] = clCreateCommandQueue(shared, devices[0], 0, &code);
  expect_cl(code);
}

static void close_places(void) {
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  int64_t programs = 0;
  for (int k = 0; k < NUM_PLACES; ++k) {
    if (queues[k] != NULL) {
      (void)clReleaseCommandQueue(queues[k]);
      if (k != SECOND) {
        stats = test_context_stats(contexts[k]);
        programs += stats.programs_built;
        ck_assert_int_eq(stats.buffer_bytes, 0);
      }
      rlo_context_release(contexts[k]);
    }
  }
  (void)clReleaseContext(shared);
  printf("%" PRId64 " programs built\n", programs);
}

RLO_FILE_FIXTURE(open_places, close_places);
RLO_NO_FORK();

/* ------------------------------------------------------------------ memory */

/** A device of a run. */
typedef struct held {
  int place;
  rlo_exchange_memory memory;
  exchange_arena after;
} held;

static cl_mem make_buffer(int place, const exchange_arena *arena) {
  return test_context_buffer(contexts[place], CL_MEM_COPY_HOST_PTR,
                             (size_t)arena->bytes + 2 * EXCHANGE_GUARD_BYTES, arena->begin);
}

static void open_held(const exchange_case *c, int64_t device, held *h) {
  h->after = exchange_arena_make(c->after[device].bytes);
  if (h->place == HOST) {
    h->memory.host_src = c->before[device].data;
    h->memory.host_dst = h->after.data;
    return;
  }
  h->memory.src = make_buffer(h->place, &c->before[device]);
  h->memory.dst = make_buffer(h->place, &h->after);
  h->memory.src_offset_bytes = EXCHANGE_GUARD_BYTES;
  h->memory.dst_offset_bytes = EXCHANGE_GUARD_BYTES;
}

static void read_buffer(int place, cl_mem buffer, exchange_arena *arena) {
  test_device_read(queues[place], buffer, 0, arena->bytes + 2 * EXCHANGE_GUARD_BYTES, arena->begin);
}

static void release_buffers(const held *h) {
  if (h->place != HOST) {
    (void)clReleaseMemObject(h->memory.src);
    (void)clReleaseMemObject(h->memory.dst);
  }
}

/* Compares what a device holds and releases it. */
static void check_held(const exchange_case *c, int64_t device, held *h) {
  if (h->place != HOST) {
    const exchange_arena *before = &c->before[device];
    exchange_arena src = exchange_arena_make(before->bytes);
    read_buffer(h->place, h->memory.src, &src);
    ck_assert_msg(
        memcmp(src.begin, before->begin, (size_t)src.bytes + 2 * EXCHANGE_GUARD_BYTES) == 0,
        "the source of device %d has changed: %s", (int)device, c->words);
    free(src.begin);
    read_buffer(h->place, h->memory.dst, &h->after);
    release_buffers(h);
  }
  exchange_case_check(c, device, &h->after);
}

/* ----------------------------------------------------------- in one process */

static void set_member(int64_t device, int place, rlo_exchange_member *out_member) {
  *out_member = (rlo_exchange_member){device, contexts[place], queues[place]};
}

static rlo_exchange_info run_case(const exchange_case *c, const int *places, int64_t message_bytes,
                                  int32_t num_slots) {
  rlo_exchange_member members[EXCHANGE_MAX_DEVICES];
  rlo_exchange_memory memories[EXCHANGE_MAX_DEVICES];
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  rlo_exchange_info info = RLO_EXCHANGE_INFO_INIT;
  rlo_exchange *exchange;
  options.plan = c->plan;
  options.members = members;
  options.num_members = c->num_devices;
  options.message_bytes = message_bytes;
  options.num_slots = num_slots;
  for (int64_t k = 0; k < c->num_devices; ++k) {
    set_member(k, places[k], &members[k]);
  }
  expect_ok(rlo_exchange_create(&options, &exchange));
  for (int round = 0; round < 2; ++round) {
    held all[EXCHANGE_MAX_DEVICES] = {{0}};
    for (int64_t k = 0; k < c->num_devices; ++k) {
      all[k].place = places[k];
      open_held(c, k, &all[k]);
      memories[k] = all[k].memory;
    }
    expect_ok(rlo_exchange_run(exchange, memories));
    for (int64_t k = 0; k < c->num_devices; ++k) {
      check_held(c, k, &all[k]);
    }
  }
  expect_ok(rlo_exchange_get_info(exchange, &info));
  rlo_exchange_release(exchange);
  ck_assert_int_eq(info.messages_sent, info.messages_to_send);
  ck_assert_int_eq(info.messages_received, info.messages_to_receive);
  ck_assert_int_eq(info.bytes_sent, info.bytes_to_send);
  ck_assert_int_eq(info.bytes_received, info.bytes_to_receive);
  ck_assert_int_le(info.host_scratch_peak, info.host_scratch_bytes);
  ck_assert_int_le(info.device_scratch_peak, info.device_scratch_bytes);
  ck_assert_int_eq(info.link_messages_sent, 0);
  return info;
}

/* Ways to place eight devices. */
static const struct {
  int places[8];
  /** Messages of #15207 that are in no memory. */
  int64_t direct;
} placements[] = {
    {{OWN, OWN + 1, OWN + 2, OWN + 3, OWN, OWN + 1, OWN + 2, OWN + 3}, 8},
    {{SHARED, SHARED + 1, OWN, OWN + 1, HOST, SECOND, HOST, OWN}, 6},
    {{SHARED, SHARED + 1, SECOND, SHARED + 1, SECOND, SHARED + 1, SHARED, SHARED + 1}, 24},
    {{SHARED, SECOND, SHARED, SECOND, SHARED, SECOND, SHARED, SECOND}, 56},
};

/* The case of openxla/xla#15207. What is direct is a program for each piece, of
 * so small ones: the last placements have many. */
RLO_TABLE_TEST(test_device_exchange__the_least_bytes, placements) {
  if (_i > 1 && getenv("RELAYOUT_TEST_ALL") == NULL) {
    return;
  }
  test_random random = {1};
  exchange_case c;
  exchange_case_make(&c, "f32[16,16,16]", "{devices=[2,1,4]<=[4,2]T(1,0)}", "f32[16,16,16]",
                     "{devices=[1,8,1]<=[8]}", NULL, 8, &random);
  rlo_exchange_info info = run_case(&c, placements[_i].places, 0, 4);
  ck_assert_int_eq(info.messages_sent, 56);
  ck_assert_int_eq(info.bytes_sent, 14336);
  ck_assert_int_eq(info.largest_message_bytes, 256);
  if (num_devices == NUM_DEVICES) {
    ck_assert_int_eq(info.direct_messages, placements[_i].direct);
  }
  if (info.direct_messages == 56) {
    ck_assert_int_eq(info.device_scratch_bytes, 0);
  }
  exchange_case_deinit(&c);
}

/* Permuted, padded with ones, in tiles, in messages of a few elements. */
RLO_LOOP_TEST(test_device_exchange__padding_and_cut_messages, 1, 3) {
  test_random random = {2};
  exchange_case c;
  exchange_case_make(&c, "u16[12,16]{0,1:T(2,2)}", "{devices=[3,2]<=[6]}",
                     "u16[16,12]{1,0:T(4,4)fill(one)}", "{devices=[3,2]<=[6]}",
                     (const int32_t[]){1, 0}, 6, &random);
  rlo_exchange_info info = run_case(&c, placements[_i].places, 16, 2);
  ck_assert_int_eq(info.bytes_sent, c.cost.least_bytes_sent);
  if (info.direct_messages < c.cost.num_messages) {
    ck_assert_int_gt(info.messages_sent, c.cost.num_messages);
  }
  exchange_case_deinit(&c);
}

/* Each of eight devices has a summand. */
static void make_sums(exchange_case *c) {
  test_random random = {3};
  exchange_case_make(c, "f32[4,8]", "{unreduced}", "f32[4,8]{0,1}", "{devices=[2,4]<=[8]}", NULL, 8,
                     &random);
}

/* Summands are added in order, wherever they are. */
RLO_LOOP_TEST(test_device_exchange__sums_are_those_of_one_device, 1, 4) {
  exchange_case c;
  make_sums(&c);
  rlo_exchange_info info = run_case(&c, placements[_i].places, 8, 3);
  ck_assert_int_eq(info.bytes_sent, c.cost.least_bytes_sent);
  exchange_case_deinit(&c);
}

RLO_TEST(test_device_exchange__random_pairs_are_what_one_device_holds) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_F32, RLO_DTYPE_U16, RLO_DTYPE_S4};
  static const int64_t limits[] = {16, 64, 1024, 0};
  test_random random = test_random_begin("test_device_exchange");
  int32_t count = test_case_count(200, 2, 1);
  for (int32_t n = 0; n < count; ++n) {
    exchange_case c;
    int places[8];
    exchange_case_draw(&c, 8, dtypes, getenv("RELAYOUT_TEST_ALL") ? 3 : 1, &random);
    for (int k = 0; k < 8; ++k) {
      places[k] = (int)test_random_in(&random, 0, NUM_PLACES - 1);
    }
    (void)run_case(&c, places, limits[test_random_in(&random, 0, 3)],
                   (int32_t)test_random_in(&random, 1, 5));
    exchange_case_deinit(&c);
  }
}

/* --------------------------------------------------------- with other ranks */

enum { NUM_RANKS = 3 };

/** A rank of a run: devices d of d mod NUM_RANKS. */
typedef struct rank_run {
  const exchange_case *c;
  fake_net *net;
  int32_t rank;
  const int *places;
  /** The destinations of this rank are too small in the first run. */
  bool is_small;
  rlo_status statuses[2];
  char message[512];
  held all[EXCHANGE_MAX_DEVICES];
} rank_run;

static void run_in_rank(rank_run *r, rlo_exchange *exchange, int round) {
  rlo_exchange_memory memories[EXCHANGE_MAX_DEVICES];
  int64_t count = 0;
  for (int64_t k = r->rank; k < r->c->num_devices; k += NUM_RANKS) {
    r->all[k].place = r->places[k];
    open_held(r->c, k, &r->all[k]);
    memories[count] = r->all[k].memory;
    if (r->is_small && round == 0) {
      memories[count].dst_offset_bytes += EXCHANGE_GUARD_BYTES + 4;
    }
    ++count;
  }
  r->statuses[round] = rlo_exchange_run(exchange, memories);
  (void)snprintf(r->message, sizeof r->message, "%s", rlo_error_last()->message);
  for (int64_t k = r->rank; k < r->c->num_devices; k += NUM_RANKS) {
    if (r->statuses[round] == RLO_OK) {
      check_held(r->c, k, &r->all[k]);
    } else {
      free(r->all[k].after.begin);
      release_buffers(&r->all[k]);
    }
  }
}

static void run_rank(void *payload) {
  rank_run *r = payload;
  rlo_exchange_member members[EXCHANGE_MAX_DEVICES];
  rlo_exchange_link link = fake_net_link(r->net, r->rank);
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  rlo_exchange *exchange;
  options.plan = r->c->plan;
  options.members = members;
  options.link = &link;
  options.message_bytes = 8;
  options.num_slots = 2;
  for (int64_t k = r->rank; k < r->c->num_devices; k += NUM_RANKS) {
    set_member(k, r->places[k], &members[options.num_members++]);
  }
  expect_ok(rlo_exchange_create(&options, &exchange));
  run_in_rank(r, exchange, 0);
  run_in_rank(r, exchange, 1);
  rlo_exchange_release(exchange);
}

static rank_run ranks[NUM_RANKS];

static void run_ranks(const exchange_case *c, const int *places, int small) {
  fake_net net;
  rlo__thread threads[NUM_RANKS];
  fake_net_init(&net, NUM_RANKS, 4);
  for (int32_t k = 0; k < NUM_RANKS; ++k) {
    ranks[k] = (rank_run){.c = c, .net = &net, .rank = k, .places = places, .is_small = k == small};
    expect_ok(rlo__thread_start(run_rank, &ranks[k], &threads[k]));
  }
  for (int32_t k = 0; k < NUM_RANKS; ++k) {
    rlo__thread_join(&threads[k]);
  }
  fake_net_deinit(&net);
}

RLO_LOOP_TEST(test_device_exchange__ranks_with_several_devices, 1, 3) {
  exchange_case c;
  make_sums(&c);
  run_ranks(&c, placements[_i].places, -1);
  for (int32_t k = 0; k < NUM_RANKS; ++k) {
    for (int round = 0; round < 2; ++round) {
      ck_assert_msg(ranks[k].statuses[round] == RLO_OK, "%s", ranks[k].message);
    }
  }
  /* Rank 1 fails at its first kernel and goes on to send and receive. */
  run_ranks(&c, placements[_i].places, 1);
  for (int32_t k = 0; k < NUM_RANKS; ++k) {
    bool is_host = placements[_i].places[1] == HOST;
    ck_assert_int_eq(ranks[k].statuses[0], is_host ? RLO_OK : RLO_OUT_OF_RANGE);
    expect_ok(ranks[k].statuses[1]);
  }
  exchange_case_deinit(&c);
}

RLO_TEST(test_device_exchange__refuses_other_queues) {
  static const char message[] =
      "member 0: the queue of device 0 is no in-order queue of its context and "
      "device";
  test_random random = {3};
  exchange_case c;
  exchange_case_make(&c, "f32[4]", "{replicated}", "f32[4]", "{replicated}", NULL, 1, &random);
  rlo_exchange_member member = {0, contexts[OWN], queues[OWN + 1]};
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  rlo_exchange *exchange;
  options.plan = c.plan;
  options.members = &member;
  options.num_members = 1;
  expect_refusal(rlo_exchange_create(&options, &exchange), RLO_INVALID_ARGUMENT, message);
  cl_int code;
  member.queue = clCreateCommandQueue(rlo_context_cl_context(contexts[OWN]), devices[0],
                                      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
  if (code == CL_SUCCESS) {
    expect_refusal(rlo_exchange_create(&options, &exchange), RLO_INVALID_ARGUMENT, message);
    (void)clReleaseCommandQueue(member.queue);
  }
  member.queue = NULL;
  expect_refusal(rlo_exchange_create(&options, &exchange), RLO_INVALID_ARGUMENT,
                 "member 0: device 0 has a context without a queue; a member "
                 "has both or none of them");
  exchange_case_deinit(&c);
}
