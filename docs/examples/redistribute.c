/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array that four devices hold in rows is to be held in columns, transposed:
 * in memory by an exchange, in files by jobs of a service.
 */
#define _POSIX_C_SOURCE 200809L
#include <relayout/exchange.h>
#include <relayout/relayout.h>
#include <relayout/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUM_DEVICES = 4, SIZE = 64, SHARD = SIZE * SIZE / NUM_DEVICES };

static void check(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s: %s\n", rlo_status_name(status), rlo_error_last()->message);
    exit(EXIT_FAILURE);
  }
}

static rlo_sharding *parse(const char *text) {
  rlo_sharding *sharding;
  check(rlo_sharding_parse(text, strlen(text), &sharding));
  return sharding;
}

static rlo_redistribution *make_plan(void) {
  rlo_shape shape;
  const int64_t dims[] = {SIZE, SIZE};
  const int32_t permutation[] = {1, 0};
  check(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape));
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = &shape;
  options.to = &shape;
  options.permutation = permutation;
  options.from_sharding = parse("{devices=[1,4]<=[4]}");
  options.to_sharding = parse("{devices=[1,4]<=[4]}");
  rlo_redistribution *plan;
  check(rlo_redistribution_create(&options, &plan));
  rlo_sharding_release(options.from_sharding);
  rlo_sharding_release(options.to_sharding);
  return plan;
}

/* Element (i, j) is 64 * i + j: device d has columns 16 * d and on. */
static void fill(int device, float *shard) {
  const int columns = SIZE / NUM_DEVICES;
  for (int k = 0; k < SHARD; ++k) {
    shard[k] = (float)(SIZE * (k / columns) + device * columns + k % columns);
  }
}

static int count_wrong(int device, const float *shard) {
  const int columns = SIZE / NUM_DEVICES;
  int wrong = 0;
  for (int k = 0; k < SHARD; ++k) {
    int i = k / columns;
    int j = device * columns + k % columns;
    wrong += shard[k] != (float)(SIZE * j + i) ? 1 : 0;
  }
  return wrong;
}

/* ------------------------------------------------------------------ memory */

static int in_memory(rlo_redistribution *plan) {
  static float before[NUM_DEVICES][SHARD];
  static float after[NUM_DEVICES][SHARD];
  // [snippet redistribute/exchange]
  rlo_exchange_member members[NUM_DEVICES] = {{0}};
  rlo_exchange_memory memories[NUM_DEVICES] = {{0}};
  for (int k = 0; k < NUM_DEVICES; ++k) {
    fill(k, before[k]);
    members[k].device = k; /* and a context and a queue, if it is one of those */
    memories[k].host_src = before[k];
    memories[k].host_dst = after[k];
  }
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = plan;
  options.members = members;
  options.num_members = NUM_DEVICES;
  rlo_exchange *exchange;
  check(rlo_exchange_create(&options, &exchange));
  check(rlo_exchange_run(exchange, memories)); /* as often as needed */
  // [/snippet]
  rlo_exchange_info info = RLO_EXCHANGE_INFO_INIT;
  check(rlo_exchange_get_info(exchange, &info));
  printf("%lld bytes between devices\n", (long long)info.bytes_sent);
  rlo_exchange_release(exchange);
  int wrong = 0;
  for (int k = 0; k < NUM_DEVICES; ++k) {
    wrong += count_wrong(k, after[k]);
  }
  return wrong;
}

/* ------------------------------------------------------------------- files */

// [snippet redistribute/jobs]
typedef struct move {
  rlo_redistribution *plan;
  rlo_service *service;
  rlo_storage *before[NUM_DEVICES], *after[NUM_DEVICES];
  int64_t receiver;
  bool has_filled;
} move;

/* Jobs of one destination run one after the other. */
static rlo_status move_piece(void *payload, const rlo_redistribution_piece *piece) {
  move *m = payload;
  rlo_problem_list *list;
  check(rlo_redistribution_lower_move(m->plan, piece->peer, m->receiver, piece, !m->has_filled,
                                      &list));
  m->has_filled = true;
  for (int32_t n = 0; n < rlo_problem_list_count(list); ++n) {
    rlo_job *job;
    check(rlo_service_submit(m->service, rlo_problem_list_get(list, n), m->before[piece->peer],
                             m->after[m->receiver], NULL, &job));
    check(rlo_job_wait(job, -1, NULL));
    check(rlo_job_result(job));
    rlo_job_release(job);
  }
  rlo_problem_list_release(list);
  return RLO_OK;
}

// [/snippet]

static int in_files(rlo_redistribution *plan) {
  move m = {.plan = plan};
  FILE *files[2][NUM_DEVICES];
  float shard[SHARD];
  check(rlo_service_create(NULL, 0, NULL, &m.service)); /* on the host */
  for (int k = 0; k < NUM_DEVICES; ++k) {
    files[0][k] = tmpfile();
    files[1][k] = tmpfile();
    if (files[0][k] == NULL || files[1][k] == NULL) {
      perror("tmpfile");
      exit(EXIT_FAILURE);
    }
    fill(k, shard);
    if (fwrite(shard, sizeof shard, 1, files[0][k]) != 1 || fflush(files[0][k]) != 0) {
      perror("fwrite");
      exit(EXIT_FAILURE);
    }
    check(rlo_storage_from_fd(fileno(files[0][k]), 0, sizeof shard, NULL, &m.before[k]));
    check(rlo_storage_from_fd(fileno(files[1][k]), 0, sizeof shard, NULL, &m.after[k]));
  }
  // [snippet redistribute/walk]
  for (m.receiver = 0; m.receiver < NUM_DEVICES; ++m.receiver) {
    m.has_filled = false;
    check(rlo_redistribution_visit_receives(plan, m.receiver, move_piece, &m));
  }
  // [/snippet]
  int wrong = 0;
  for (int k = 0; k < NUM_DEVICES; ++k) {
    if (pread(fileno(files[1][k]), shard, sizeof shard, 0) != sizeof shard) {
      perror("pread");
      exit(EXIT_FAILURE);
    }
    wrong += count_wrong(k, shard);
    rlo_storage_release(m.before[k]);
    rlo_storage_release(m.after[k]);
    fclose(files[0][k]);
    fclose(files[1][k]);
  }
  rlo_service_release(m.service);
  return wrong;
}

int main(void) {
  rlo_redistribution *plan = make_plan();
  int wrong = in_memory(plan);
  wrong += in_files(plan);
  printf("%d wrong\n", wrong);
  rlo_redistribution_release(plan);
  return wrong != 0;
}
