/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "relayout/index.h"
#include "relayout/text.h"

/*
 * Times questions about a shape on the host: nanoseconds for each call, the
 * best of several rounds. A dot product of index and strides, by hand, stands
 * beside the index of a prepared map, which should take at most twice as long.
 */

/* Rounds are short, so that on a busy machine some are left in peace. */
enum { ROUNDS = 200, SLOW_CALLS = 200, FAST_CALLS = 20000, RANK = 4 };

/* Slots are summed up here, so that no work is left out. */
static volatile int64_t sink;

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* The data of one measurement. */
typedef struct job {
  const char *text;
  rlo_shape shape;
  rlo_address_map map;
  int64_t strides[RANK];
  /* How often. */
  int64_t calls;
} job;

typedef int64_t (*job_fn)(const job *j);

static void check(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
    exit(1);
  }
}

static int64_t parse(const job *j) {
  int64_t sum = 0;
  size_t length = strlen(j->text);
  for (int64_t i = 0; i < j->calls; ++i) {
    rlo_shape shape;
    check(rlo_shape_parse(j->text, length, &shape));
    sum += shape.rank;
  }
  return sum;
}

static int64_t print(const job *j) {
  char buffer[256];
  int64_t sum = 0;
  for (int64_t i = 0; i < j->calls; ++i) {
    sum += (int64_t)rlo_shape_format(&j->shape, buffer, sizeof buffer);
  }
  return sum;
}

/* Walks the indices as rlo_index_bump does, in line, so that the walk costs
 * every candidate the same little. */
static inline void step(const job *j, int64_t index[RANK]) {
  for (int k = RANK - 1; k >= 0; --k) {
    if (++index[k] < j->shape.dims[k]) {
      return;
    }
    index[k] = 0;
  }
}

static int64_t walk_only(const job *j) {
  int64_t index[RANK] = {0};
  int64_t sum = 0;
  for (int64_t i = 0; i < j->calls; ++i, step(j, index)) {
    sum += index[RANK - 1];
  }
  return sum;
}

static int64_t dot_by_hand(const job *j) {
  int64_t index[RANK] = {0};
  int64_t sum = 0;
  for (int64_t i = 0; i < j->calls; ++i, step(j, index)) {
    int64_t slot = 0;
    for (int k = 0; k < RANK; ++k) {
      slot += index[k] * j->strides[k];
    }
    sum += slot;
  }
  return sum;
}

static int64_t index_checked(const job *j) {
  int64_t index[RANK] = {0};
  int64_t sum = 0;
  for (int64_t i = 0; i < j->calls; ++i, step(j, index)) {
    int64_t slot;
    check(rlo_index_to_linear(&j->shape, index, &slot));
    sum += slot;
  }
  return sum;
}

static int64_t index_prepared(const job *j) {
  int64_t index[RANK] = {0};
  int64_t sum = 0;
  for (int64_t i = 0; i < j->calls; ++i, step(j, index)) {
    sum += rlo_address_map_slot(&j->map, index);
  }
  return sum;
}

static int64_t inverse_checked(const job *j) {
  int64_t sum = 0;
  for (int64_t i = 0; i < j->calls; ++i) {
    int64_t index[RANK] = {0};
    bool is_element;
    check(rlo_index_from_linear(&j->shape, i % j->map.slots, index, &is_element));
    sum += index[0];
  }
  return sum;
}

static int64_t inverse_prepared(const job *j) {
  int64_t sum = 0;
  int64_t slot = 0;
  for (int64_t i = 0; i < j->calls; ++i) {
    int64_t index[RANK] = {0};
    bool is_element;
    check(rlo_address_map_element(&j->map, slot, index, &is_element));
    sum += index[0];
    slot = slot + 1 < j->map.slots ? slot + 1 : 0;
  }
  return sum;
}

static int64_t prepare(const job *j) {
  int64_t sum = 0;
  for (int64_t i = 0; i < j->calls; ++i) {
    static rlo_address_map map;
    check(rlo_address_map_make(&j->shape, &map));
    sum += map.slots;
  }
  return sum;
}

static double best_ns(const job *j, job_fn run) {
  double best = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    double begin = now_ns();
    sink = run(j);
    double ns = (now_ns() - begin) / (double)j->calls;
    if (round == 0 || ns < best) {
      best = ns;
    }
  }
  return best;
}

static void measure(const char *what, job *j, int64_t calls, job_fn run) {
  j->calls = calls;
  printf("  %-18s %9.2f ns\n", what, best_ns(j, run));
}

static void measure_shape(const char *text) {
  static job j;
  j.text = text;
  check(rlo_shape_parse(text, strlen(text), &j.shape));
  check(rlo_address_map_make(&j.shape, &j.map));
  int64_t stride = 1;
  for (int k = RANK - 1; k >= 0; --k) {
    j.strides[k] = stride;
    stride *= j.shape.dims[k];
  }
  printf("%s\n", text);
  measure("parse", &j, SLOW_CALLS, parse);
  measure("print", &j, SLOW_CALLS, print);
  measure("prepare", &j, SLOW_CALLS, prepare);
  measure("index, checked", &j, SLOW_CALLS, index_checked);
  measure("inverse, checked", &j, SLOW_CALLS, inverse_checked);
  measure("inverse, prepared", &j, FAST_CALLS, inverse_prepared);
  measure("index, prepared", &j, FAST_CALLS, index_prepared);
  j.calls = FAST_CALLS;
  double hand = best_ns(&j, dot_by_hand);
  double walk = best_ns(&j, walk_only);
  double index = best_ns(&j, index_prepared);
  printf("  %-18s %9.2f ns, of which the walk %.2f\n", "dot by hand", hand, walk);
  printf("  index / dot        %9.2f\n", index / hand);
}

int main(void) {
  measure_shape("f32[17,19,23,29]{3,2,1,0}");
  measure_shape("f32[17,19,23,29]{0,2,3,1}");
  measure_shape("bf16[17,19,64,300]{3,2,1,0:T(8,128)(2,1)}");
  return 0;
}
