/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/redistribution.h"
#include "relayout/text.h"
#include "support/random.h"
#include "support/suite.h"

static rlo_redistribution *plan_of(const char *from,
                                   const char *from_sharding,
                                   const char *to,
                                   const char *to_sharding,
                                   const int32_t *permutation,
                                   int64_t num_devices) {
  rlo_shape shapes[2];
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  ck_assert_int_eq(rlo_shape_parse(from, strlen(from), &shapes[0]), RLO_OK);
  ck_assert_int_eq(rlo_shape_parse(to, strlen(to), &shapes[1]), RLO_OK);
  options.from = &shapes[0];
  options.to = &shapes[1];
  ck_assert_int_eq(
      rlo_sharding_parse(
          from_sharding, strlen(from_sharding), &options.from_sharding),
      RLO_OK);
  ck_assert_int_eq(rlo_sharding_parse(
                       to_sharding, strlen(to_sharding), &options.to_sharding),
                   RLO_OK);
  options.permutation = permutation;
  options.num_devices = num_devices;
  rlo_redistribution *plan;
  rlo_status status = rlo_redistribution_create(&options, &plan);
  ck_assert_msg(status == RLO_OK || plan == NULL, "a plan of a failure");
  rlo_sharding_release(options.from_sharding);
  rlo_sharding_release(options.to_sharding);
  return plan;
}

static rlo_redistribution_cost cost_of(const rlo_redistribution *plan) {
  rlo_redistribution_cost cost;
  ck_assert_int_eq(rlo_redistribution_measure(plan, &cost), RLO_OK);
  return cost;
}

/* Known counts: openxla/xla#15207, cuFFTMp's sample, rows to columns. */
static const struct {
  const char *from, *from_sharding, *to, *to_sharding;
  int64_t messages, bytes, received, resident;
} known[] = {
    {"f32[16,16,16]",
     "{devices=[2,1,4]<=[4,2]T(1,0)}",
     "f32[16,16,16]",
     "{devices=[1,8,1]<=[8]}",
     56,
     14336,
     1792,
     4096},
    {"f32[4,5]",
     "{boxes=[0:4,0:3][0:4,3:5]}",
     "f32[4,5]",
     "{boxes=[0:2,0:5][2:4,0:5]}",
     2,
     40,
     24,
     88},
    {"f32[1024,1024]",
     "{devices=[2,1]<=[2]}",
     "f32[1024,1024]",
     "{devices=[1,2]<=[2]}",
     2,
     2097152,
     1048576,
     4194304},
    {"f32[1024,1024]",
     "{devices=[4,1]<=[4]}",
     "f32[1024,1024]",
     "{devices=[1,4]<=[4]}",
     12,
     3145728,
     786432,
     2097152},
    {"f32[1024,1024]",
     "{devices=[8,1]<=[8]}",
     "f32[1024,1024]",
     "{devices=[1,8]<=[8]}",
     56,
     3670016,
     458752,
     1048576},
    {"f32[8,8]",
     "{devices=[4,1]<=[4]}",
     "f32[8,8]",
     "{devices=[2,2]<=[4]}",
     4,
     128,
     32,
     128},
    {"f32[8,8]",
     "{devices=[4,1]<=[4]}",
     "f32[8,8]",
     "{devices=[2,2]<=[2,2]T(1,0)}",
     6,
     192,
     64,
     128},
    {"f32[8,8]",
     "{devices=[4,1]<=[4]}",
     "f32[8,8]",
     "{devices=[4,1]<=[4]}",
     0,
     0,
     0,
     128},
    {"f32[8,8]",
     "{devices=[4,1]<=[4]}",
     "f32[8,8]",
     "{devices=[4,1]3,2,1,0}",
     4,
     256,
     64,
     128},
    {"f32[8,8]",
     "{replicated}",
     "f32[8,8]",
     "{devices=[4,1]<=[4]}",
     0,
     0,
     0,
     320},
    {"f32[8,8]",
     "{maximal device=0}",
     "f32[8,8]",
     "{devices=[4,1]<=[4]}",
     3,
     192,
     64,
     320},
    {"f32[8,8]",
     "{devices=[4,1]<=[4]}",
     "f32[8,8]",
     "{replicated}",
     12,
     768,
     192,
     320},
    {"f32[8]", "{unreduced}", "f32[8]", "{devices=[2]<=[2]}", 2, 32, 16, 48},
    {"f32[0]", "{devices=[2]<=[2]}", "f32[0]", "{replicated}", 0, 0, 0, 0},
    {"f32[]", "{maximal device=1}", "f32[]", "{replicated}", 1, 4, 4, 8},
};

RLO_TABLE_TEST(test_redistribution__known_counts, known) {
  rlo_redistribution *plan = plan_of(known[_i].from,
                                     known[_i].from_sharding,
                                     known[_i].to,
                                     known[_i].to_sharding,
                                     NULL,
                                     0);
  ck_assert_msg(plan != NULL, "%s", rlo_error_last()->message);
  rlo_redistribution_cost cost = cost_of(plan);
  ck_assert_int_eq(cost.num_messages, known[_i].messages);
  ck_assert_int_eq(cost.bytes_sent, known[_i].bytes);
  ck_assert_int_eq(cost.least_bytes_sent, known[_i].bytes);
  ck_assert_int_eq(cost.most_bytes_received, known[_i].received);
  ck_assert_int_eq(cost.most_bytes_resident, known[_i].resident);
  rlo_redistribution_release(plan);
}

RLO_TEST(test_redistribution__replicating_first_costs_what_xla_pays) {
  rlo_redistribution *plan = plan_of("f32[16,16,16]",
                                     "{devices=[2,1,4]<=[4,2]T(1,0)}",
                                     "f32[16,16,16]",
                                     "{devices=[1,8,1]<=[8]}",
                                     NULL,
                                     8);
  rlo_redistribution_cost cost = cost_of(plan);
  ck_assert_int_eq(cost.replicate_bytes_sent, 114688);
  ck_assert_int_eq(cost.replicate_bytes_resident, 16384);
  ck_assert_int_eq(cost.largest_message_bytes, 256);
  ck_assert_int_eq(cost.most_bytes_sent, 1792);
  rlo_redistribution_release(plan);
}

static const struct {
  const char *from, *from_sharding, *to, *to_sharding;
  rlo_status status;
  const char *words;
} refused[] = {
    {"f32[4]",
     "{replicated}",
     "u32[4]",
     "{replicated}",
     RLO_INVALID_ARGUMENT,
     "element type"},
    {"f32[4]",
     "{replicated}",
     "f32[5]",
     "{replicated}",
     RLO_INVALID_ARGUMENT,
     "destination dimension 0 is 5"},
    {"f32[4]",
     "{replicated}",
     "f32[4,1]",
     "{replicated}",
     RLO_INVALID_ARGUMENT,
     "destination rank 2"},
    {"f32[4]",
     "{devices=[2]<=[2]}",
     "f32[4]",
     "{devices=[4]<=[4]}",
     RLO_OUT_OF_RANGE,
     "source: the sharding is for 2 devices"},
    {"f32[4]",
     "{replicated}",
     "f32[4]",
     "{unreduced}",
     RLO_UNSUPPORTED,
     "the destination is unreduced"},
    {"f32[4]",
     "{manual}",
     "f32[4]",
     "{replicated}",
     RLO_UNSUPPORTED,
     "source: a manual"},
};

RLO_TABLE_TEST(test_redistribution__misfits_are_named, refused) {
  rlo_redistribution *plan = plan_of(refused[_i].from,
                                     refused[_i].from_sharding,
                                     refused[_i].to,
                                     refused[_i].to_sharding,
                                     NULL,
                                     4);
  ck_assert_ptr_null(plan);
  ck_assert_int_eq(rlo_error_last()->status, refused[_i].status);
  ck_assert_msg(strstr(rlo_error_last()->message, refused[_i].words) != NULL,
                "%s",
                rlo_error_last()->message);
}

/* ------------------------------------------------------------- properties */

enum { MAX_DEVICES = 4096, RANK = 3 };

/* The pieces of all receivers, or of all senders, as one order of lines. */
typedef struct line {
  int64_t from, to, addend;
  rlo_box box;
} line;

typedef struct lines {
  line *items;
  size_t count, capacity;
  int64_t device;
  bool are_received;
} lines;

static rlo_status add_line(void *user, const rlo_redistribution_piece *piece) {
  lines *list = user;
  if (list->count == list->capacity) {
    list->capacity = 2 * list->capacity + 64;
    list->items = realloc(list->items, list->capacity * sizeof *list->items);
    ck_assert_ptr_nonnull(list->items);
  }
  line *item = &list->items[list->count++];
  memset(item, 0, sizeof *item);
  item->from = list->are_received ? piece->peer : list->device;
  item->to = list->are_received ? list->device : piece->peer;
  item->addend = piece->addend;
  item->box.rank = piece->box.rank;
  for (int32_t d = 0; d < piece->box.rank; ++d) {
    ck_assert_int_lt(piece->box.start[d], piece->box.limit[d]);
    item->box.start[d] = piece->box.start[d];
    item->box.limit[d] = piece->box.limit[d];
  }
  return RLO_OK;
}

static int compare_lines(const void *left, const void *right) {
  const line *a = left;
  const line *b = right;
  if (a->to != b->to) {
    return a->to < b->to ? -1 : 1;
  }
  if (a->from != b->from) {
    return a->from < b->from ? -1 : 1;
  }
  return memcmp(a, b, sizeof *a);
}

/* A number below a limit. */
static int64_t below(test_random *random, int64_t limit) {
  return test_random_in(random, 0, limit - 1);
}

static rlo_sharding *draw_sharding(test_random *random,
                                   const int64_t *dims,
                                   int64_t num_devices,
                                   bool may_be_unreduced,
                                   char *text,
                                   size_t capacity) {
  rlo_sharding *sharding;
  int64_t kind = below(random, 8);
  if (kind == 0 || num_devices == 1) {
    ck_assert_int_eq(rlo_sharding_make(RLO_SHARDING_REPLICATED, &sharding),
                     RLO_OK);
  } else if (kind == 1) {
    ck_assert_int_eq(
        rlo_sharding_make_maximal(below(random, num_devices), &sharding),
        RLO_OK);
  } else if (kind == 2 && num_devices <= 64) {
    /* Slabs along one dimension, each of several devices, some empty. */
    rlo_box boxes[64];
    int32_t d = (int32_t)below(random, RANK);
    for (int64_t k = 0; k < num_devices; ++k) {
      boxes[k] = (rlo_box){.rank = RANK};
      for (int32_t e = 0; e < RANK; ++e) {
        boxes[k].limit[e] = dims[e];
      }
      int64_t slab = k % 3;
      boxes[k].start[d] = dims[d] * slab / 3;
      boxes[k].limit[d] = dims[d] * (slab + 1) / 3;
      if (num_devices < 3) {
        boxes[k].start[d] = k == 0 ? 0 : dims[d] / 2;
        boxes[k].limit[d] = k == 0 && num_devices > 1 ? dims[d] / 2 : dims[d];
      }
    }
    ck_assert_int_eq(rlo_sharding_make_boxes(boxes, num_devices, &sharding),
                     RLO_OK);
  } else {
    rlo_sharding_tiles tiles = {.rank = RANK};
    static int64_t devices[MAX_DEVICES];
    int64_t rest = num_devices;
    for (int32_t d = 0; d < RANK; ++d) {
      tiles.counts[d] = 1;
    }
    tiles.num_subgroups = (int32_t)below(random, 3);
    for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
      tiles.subgroups[k].count = 1;
      tiles.subgroups[k].kind = may_be_unreduced && below(random, 3) == 0
                                    ? RLO_SHARDING_UNREDUCED
                                    : RLO_SHARDING_REPLICATED;
    }
    for (int64_t prime = 2; rest > 1; ++prime) {
      for (; rest % prime == 0; rest /= prime) {
        int64_t at = below(random, RANK + tiles.num_subgroups);
        if (at < RANK) {
          tiles.counts[at] *= prime;
        } else {
          tiles.subgroups[at - RANK].count *= prime;
        }
      }
    }
    for (int64_t k = 0; k < num_devices; ++k) {
      int64_t other = below(random, k + 1);
      devices[k] = devices[other];
      devices[other] = k;
    }
    tiles.devices = devices;
    ck_assert_msg(rlo_sharding_make_tiled(&tiles, &sharding) == RLO_OK,
                  "%s",
                  rlo_error_last()->message);
  }
  rlo_sharding_format(sharding, text, capacity);
  return sharding;
}

/* Each element of each device's destination is in one piece of each addend, and
 * the piece lies in what its sender holds. */
static void check_received(const rlo_redistribution_options *o,
                           const lines *list,
                           int64_t device,
                           size_t begin,
                           size_t end,
                           int64_t num_addends) {
  rlo_box target;
  ck_assert_int_eq(rlo_sharding_get_box(o->to_sharding, o->to, device, &target),
                   RLO_OK);
  int64_t needed = 1;
  for (int32_t d = 0; d < RANK; ++d) {
    needed *= target.limit[d] - target.start[d];
  }
  int64_t got = 0;
  for (size_t k = begin; k < end; ++k) {
    const line *a = &list->items[k];
    rlo_box held;
    ck_assert_int_eq(
        rlo_sharding_get_box(o->from_sharding, o->from, a->from, &held),
        RLO_OK);
    int64_t elements = 1;
    for (int32_t d = 0; d < RANK; ++d) {
      ck_assert_int_ge(a->box.start[d], target.start[d]);
      ck_assert_int_le(a->box.limit[d], target.limit[d]);
      ck_assert_int_ge(a->box.start[d], held.start[o->permutation[d]]);
      ck_assert_int_le(a->box.limit[d], held.limit[o->permutation[d]]);
      elements *= a->box.limit[d] - a->box.start[d];
    }
    got += elements;
    for (size_t other = k + 1; other < end && end - begin < 200; ++other) {
      const line *b = &list->items[other];
      bool do_meet = a->addend == b->addend;
      for (int32_t d = 0; d < RANK; ++d) {
        do_meet = do_meet && a->box.start[d] < b->box.limit[d] &&
                  b->box.start[d] < a->box.limit[d];
      }
      ck_assert_msg(!do_meet, "two pieces of device %" PRId64 " meet", device);
    }
  }
  ck_assert_int_eq(got, needed * num_addends);
}

static void check_plan(const rlo_redistribution_options *o,
                       int64_t num_addends) {
  rlo_redistribution *plan;
  ck_assert_msg(rlo_redistribution_create(o, &plan) == RLO_OK,
                "%s",
                rlo_error_last()->message);
  lines received = {.are_received = true};
  lines sent = {.are_received = false};
  for (int64_t device = 0; device < o->num_devices; ++device) {
    size_t begin = received.count;
    received.device = device;
    ck_assert_int_eq(
        rlo_redistribution_visit_receives(plan, device, add_line, &received),
        RLO_OK);
    check_received(o, &received, device, begin, received.count, num_addends);
    sent.device = device;
    ck_assert_int_eq(
        rlo_redistribution_visit_sends(plan, device, add_line, &sent), RLO_OK);
  }
  /* What is sent is what is received. */
  ck_assert_uint_eq(sent.count, received.count);
  if (sent.count > 0) {
    qsort(sent.items, sent.count, sizeof *sent.items, compare_lines);
    qsort(received.items, received.count, sizeof *sent.items, compare_lines);
    ck_assert_int_eq(
        memcmp(sent.items, received.items, sent.count * sizeof *sent.items), 0);
  }
  rlo_redistribution_cost cost = cost_of(plan);
  ck_assert_int_eq(cost.bytes_sent, cost.least_bytes_sent);
  free(sent.items);
  free(received.items);
  rlo_redistribution_release(plan);
}

static void check_random_pair(test_random *random, int64_t num_devices) {
  static char texts[2][65536];
  static const int32_t permutations[][RANK] = {
      {0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}};
  const int32_t *permutation = permutations[below(random, 4)];
  int64_t dims[2][RANK];
  rlo_shape shapes[2];
  for (int32_t d = 0; d < RANK; ++d) {
    dims[0][d] = below(random, 12) == 0 ? 0 : 1 + below(random, 40);
  }
  for (int32_t d = 0; d < RANK; ++d) {
    dims[1][d] = dims[0][permutation[d]];
  }
  for (int k = 0; k < 2; ++k) {
    ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, dims[k], RANK, &shapes[k]),
                     RLO_OK);
  }
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  o.from = &shapes[0];
  o.to = &shapes[1];
  o.permutation = permutation;
  o.num_devices = num_devices;
  o.from_sharding = draw_sharding(
      random, dims[0], num_devices, true, texts[0], sizeof texts[0]);
  o.to_sharding = draw_sharding(
      random, dims[1], num_devices, false, texts[1], sizeof texts[1]);
  int64_t num_addends = 1;
  rlo_sharding_tiles tiles;
  if (rlo_sharding_get_tiles(o.from_sharding, &tiles) == RLO_OK) {
    for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
      num_addends *= tiles.subgroups[k].kind == RLO_SHARDING_UNREDUCED
                         ? tiles.subgroups[k].count
                         : 1;
    }
  }
  check_plan(&o, num_addends);
  rlo_sharding_release(o.from_sharding);
  rlo_sharding_release(o.to_sharding);
}

/* A failure says which pair; the seed makes them again. */
static void check_random_pairs(int count, int64_t most_devices) {
  test_random random = test_random_begin("test_redistribution");
  for (int k = 0; k < count; ++k) {
    check_random_pair(&random, 1 + below(&random, most_devices));
  }
}

RLO_TEST(test_redistribution__random_pairs_send_the_least) {
  check_random_pairs(getenv("RELAYOUT_TEST_ALL") == NULL ? 1000 : 10000, 24);
}

RLO_TEST(test_redistribution__thousands_of_devices) {
  test_random random = test_random_begin("test_redistribution");
  static const int64_t counts[] = {128, 1000, 2048, 4096};
  for (int k = 0; k < 4; ++k) {
    check_random_pair(&random, counts[k]);
  }
}

/* Four copies of each of two tiles feed six devices that hold none: each sends
 * three halves, or two. */
RLO_TEST(test_redistribution__copies_take_turns) {
  rlo_redistribution *plan = plan_of(
      "f32[8,8]",
      "{boxes=[0:4,0:8][0:4,0:8][4:8,0:8][4:8,0:8][0:0,0:0][0:0,0:0][0:0,0:0]"
      "[0:0,0:0][0:0,0:0][0:0,0:0]}",
      "f32[8,8]",
      "{devices=[1,2,5]<=[10] last_tile_dim_replicate}",
      NULL,
      10);
  ck_assert_msg(plan != NULL, "%s", rlo_error_last()->message);
  int64_t sent[10] = {0};
  for (int64_t device = 0; device < 4; ++device) {
    lines list = {.device = device};
    ck_assert_int_eq(
        rlo_redistribution_visit_sends(plan, device, add_line, &list), RLO_OK);
    for (size_t k = 0; k < list.count; ++k) {
      sent[device] += list.items[k].to != device ? 1 : 0;
    }
    free(list.items);
  }
  /* Each tile goes to the eight devices that do not hold it. */
  for (int k = 0; k < 4; ++k) {
    ck_assert_int_eq(sent[k], 4);
  }
  rlo_redistribution_release(plan);
}
