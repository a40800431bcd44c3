/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "timer.h"
#include "turns.h"
#include "verify.h"

enum {
  /** A run is repeated until a round takes this long. */
  ROUND_NANOS = 1000000,
  /** The same where runs are queued: the one wait is less than a percent. */
  QUEUED_ROUND_NANOS = 5000000,
  MAX_REPEATS = 200,
  /** Longer than the threads of OpenMP wait actively. */
  SETTLE_NANOS = 5000000,
  COPY_GRAIN_BYTES = 64
};

/** A contestant in its place. */
typedef struct seat {
  const bench_peer *peer;
  /** NULL: it does not take part. */
  void *state;
  int32_t repeats;
  /** Runs are enqueued one after the other: on a GPU. */
  bool is_queued;
  double moved_bytes;
  double *nanos;
} seat;

/** The buffers that a case needs, guards not counted. */
static bool measure_buffers(const bench_case *item, int64_t *out_src_bytes,
                            int64_t *out_dst_bytes) {
  rlo_shape_extent src;
  rlo_shape_extent dst;
  if (rlo_shape_measure(&item->src, &src) != RLO_OK ||
      rlo_shape_measure(&item->dst, &dst) != RLO_OK) {
    return bench_fail_last(item->name);
  }
  *out_src_bytes = src.physical_bytes;
  *out_dst_bytes = dst.physical_bytes;
  *out_src_bytes *= item->num_operands;
  if (item->chain != NULL && *out_src_bytes < dst.physical_bytes) {
    *out_src_bytes = dst.physical_bytes; /* for the one relayout beside it */
  }
  if (item->num_summed > 0 && *out_dst_bytes < src.physical_bytes / 2) {
    *out_dst_bytes = src.physical_bytes / 2; /* for the copy beside it */
  }
  return true;
}

bool bench_reserve_for_cases(bench_arena *arena, const bench_case_list *list) {
  int64_t src_bytes = 1;
  int64_t dst_bytes = 1;
  for (int32_t i = 0; i < list->count; ++i) {
    int64_t src = 0;
    int64_t dst = 0;
    if (!measure_buffers(&list->items[i], &src, &dst)) {
      return false;
    }
    src_bytes = src > src_bytes ? src : src_bytes;
    dst_bytes = dst > dst_bytes ? dst : dst_bytes;
  }
  return bench_arena_reserve(arena, src_bytes, dst_bytes);
}

/** Run a contestant once and look at what it wrote. */
static bool try_once(bench_arena *arena, const bench_move *move, seat *one,
                     bench_entry *out_entry) {
  char reason[256];
  const int64_t dst_bytes = move->problem->dst_bytes;
  if (one->peer->is_copy || one->peer->moved_bytes != NULL) {
    return one->peer->run(one->state);
  }
  if (!bench_arena_clear_dst(arena, dst_bytes) || !one->peer->run(one->state) ||
      !bench_arena_fetch_dst(arena, dst_bytes)) {
    return false;
  }
  if (bench_verify(move->item, move->problem, arena->host_src, arena->host_dst, reason)) {
    return true;
  }
  out_entry->is_wrong = true;
  bench_fail("%s: %s: %s", move->item->name, one->peer->name, reason);
  return one->peer != &bench_peer_library;
}

static bool time_once(const seat *one, double *out_nanos) {
  if (!bench_turns_time(one->peer, one->state, one->repeats, one->is_queued, out_nanos)) {
    return false;
  }
  if (one->peer->is_spinning) {
    bench_nanos_sleep(SETTLE_NANOS);
  }
  return true;
}

/** Make a contestant ready; it may turn out not to take part. */
static bool take_seat(bench_arena *arena, const bench_move *move, seat *one,
                      bench_entry *out_entry) {
  if (one->peer->is_on_host && !arena->is_host_memory) {
    return true;
  }
  one->state = one->peer->create(move);
  if (one->state == NULL) {
    return one->peer != &bench_peer_library && one->peer != &bench_peer_copy;
  }
  one->moved_bytes = one->peer->is_copy               ? 2.0 * (double)move->copy_bytes
                     : one->peer->moved_bytes != NULL ? (double)one->peer->moved_bytes(one->state)
                                                      : (double)move->moved_bytes;
  if (!try_once(arena, move, one, out_entry)) {
    return false;
  }
  if (out_entry->is_wrong) {
    one->peer->release(one->state);
    one->state = NULL;
    return true;
  }
  double nanos = 0;
  one->repeats = 1;
  if (!time_once(one, &nanos)) {
    return false;
  }
  one->is_queued = !arena->is_host_memory && one->peer->enqueue != NULL;
  double repeats = (one->is_queued ? QUEUED_ROUND_NANOS : ROUND_NANOS) / nanos;
  one->repeats = repeats > (double)MAX_REPEATS ? MAX_REPEATS : repeats > 1 ? (int32_t)repeats : 1;
  return true;
}

/** The limit of each round, in GB/s, and of all of them. */
static void find_limits(const bench_move *move, const seat *seats, int32_t rounds, double *scratch,
                        double *out_limits, bench_row *out_row) {
  const seat *kernel = &seats[BENCH_PEER_COPY];
  const seat *host = &seats[BENCH_PEER_HOST_COPY];
  const seat *read = &seats[BENCH_PEER_READ];
  const bool has_host = host->state != NULL && move->copy_bytes >= BENCH_HOST_COPY_MIN_BYTES;
  int32_t host_wins = 0;
  for (int32_t i = 0; i < rounds; ++i) {
    out_limits[i] = kernel->moved_bytes / kernel->nanos[i];
    if (read->state != NULL) {
      out_limits[i] = read->moved_bytes / read->nanos[i];
    } else if (has_host && host->moved_bytes / host->nanos[i] > out_limits[i]) {
      out_limits[i] = host->moved_bytes / host->nanos[i];
      host_wins += 1;
    }
  }
  memcpy(scratch, out_limits, (size_t)rounds * sizeof *scratch);
  out_row->limit_gb_per_s = bench_median(scratch, rounds);
  out_row->limit_peer = read->state != NULL      ? BENCH_PEER_READ
                        : host_wins > rounds / 2 ? BENCH_PEER_HOST_COPY
                                                 : BENCH_PEER_COPY;
}

/** The medians of one contestant. */
static void summarize(const seat *one, const double *limits, int32_t rounds, double *scratch,
                      bench_entry *out_entry) {
  double best_limit = 0;
  for (int32_t i = 0; i < rounds; ++i) {
    scratch[i] = one->moved_bytes / one->nanos[i] / limits[i];
    best_limit = limits[i] > best_limit ? limits[i] : best_limit;
  }
  out_entry->fraction = bench_median(scratch, rounds);
  memcpy(scratch, one->nanos, (size_t)rounds * sizeof *scratch);
  out_entry->nanos = bench_median(scratch, rounds);
  out_entry->best_nanos = scratch[0];
  out_entry->best_fraction = one->moved_bytes / out_entry->best_nanos / best_limit;
  out_entry->gb_per_s = one->moved_bytes / out_entry->nanos;
  out_entry->is_timed = true;
}

static bool take_turns(bench_arena *arena, const bench_settings *settings, const bench_move *move,
                       seat *seats, bench_row *row) {
  for (int32_t p = 0; p < settings->num_peers; ++p) {
    if (!take_seat(arena, move, &seats[p], &row->entries[p])) {
      return false;
    }
  }
  for (int32_t i = 0; i < settings->rounds; ++i) {
    for (int32_t p = 0; p < settings->num_peers; ++p) {
      if (seats[p].state != NULL && !time_once(&seats[p], &seats[p].nanos[i])) {
        return false;
      }
    }
  }
  return true;
}

static bool measure_move(bench_arena *arena, const bench_settings *settings, const bench_move *move,
                         bench_row *row) {
  seat seats[BENCH_MAX_PEERS] = {0};
  const size_t rounds = (size_t)settings->rounds;
  double *nanos = calloc((size_t)(settings->num_peers + 2) * rounds, sizeof *nanos);
  if (nanos == NULL) {
    return bench_fail("out of memory");
  }
  for (int32_t p = 0; p < settings->num_peers; ++p) {
    seats[p].peer = settings->peers[p];
    seats[p].nanos = nanos + (size_t)(p + 2) * rounds;
  }
  double *limits = nanos + rounds;
  bool is_done = take_turns(arena, settings, move, seats, row);
  if (is_done) {
    find_limits(move, seats, settings->rounds, nanos, limits, row);
  }
  for (int32_t p = 0; p < settings->num_peers; ++p) {
    if (is_done && seats[p].state != NULL) {
      summarize(&seats[p], limits, settings->rounds, nanos, &row->entries[p]);
    }
  }
  if (is_done) {
    const rlo_plan_info *info = bench_peer_library_info(seats[BENCH_PEER_LIBRARY].state);
    snprintf(row->family, sizeof row->family, "%s", info->family);
    snprintf(row->schedule, sizeof row->schedule, "%s", info->schedule);
    snprintf(row->parameters, sizeof row->parameters, "%s", info->parameters);
  }
  for (int32_t p = 0; p < settings->num_peers; ++p) {
    if (seats[p].state != NULL) {
      seats[p].peer->release(seats[p].state);
    }
  }
  free(nanos);
  return is_done;
}

/** The share that the planner expects of the chosen family. */
static double predict(const bench_arena *arena, const rlo_problem *problem) {
  rlo_plan_report *report = NULL;
  double fraction = 0;
  if (rlo_plan_explain(problem, rlo_context_device_info(arena->context), NULL, 0, 0, &report) !=
      RLO_OK) {
    return 0;
  }
  for (int32_t i = 0; i < report->num_candidates; ++i) {
    if (strcmp(report->candidates[i].family, report->family) == 0) {
      fraction = report->candidates[i].predicted_fraction;
    }
  }
  rlo_plan_report_release(report);
  return fraction;
}

bool bench_measure_case(bench_arena *arena, const bench_settings *settings, const bench_case *item,
                        bench_row *out_row) {
  bench_plain plain;
  rlo_shape_extent extent;
  memset(out_row, 0, sizeof *out_row);
  snprintf(out_row->name, sizeof out_row->name, "%s", item->name);
  rlo_shape_format(&item->src, out_row->src, sizeof out_row->src);
  rlo_shape_format(&item->dst, out_row->dst, sizeof out_row->dst);
  rlo_problem *problem = calloc((size_t)item->num_operands, sizeof *problem);
  if (problem == NULL) {
    return bench_fail("out of memory");
  }
  bool is_done = bench_case_lower(item, problem);
  if (is_done && rlo_shape_measure(&item->src, &extent) != RLO_OK) {
    is_done = bench_fail_last(item->name);
  }
  if (is_done) {
    int64_t smaller =
        problem->src_bytes < problem->dst_bytes ? problem->src_bytes : problem->dst_bytes;
    bench_move move = {.arena = arena,
                       .item = item,
                       .problem = problem,
                       .element_bytes = extent.element_bits / 8,
                       .measure_seconds = settings->measure_seconds,
                       .copy_bytes = smaller - smaller % COPY_GRAIN_BYTES};
    for (int32_t n = 0; n < item->num_operands; ++n) {
      out_row->read_bytes += problem[n].read_bytes;
      out_row->written_bytes += problem[n].written_bytes;
    }
    move.moved_bytes = out_row->read_bytes + out_row->written_bytes;
    if (item->num_summed > 0 || item->chain != NULL) {
      /* A sum writes hardly anything, a chain may read less or more than it
       * writes: as many bytes, half of them read. */
      int64_t half = item->chain != NULL ? move.moved_bytes / 2 : problem->src_bytes / 2;
      half = half < arena->dst_capacity_bytes ? half : arena->dst_capacity_bytes;
      move.copy_bytes = half - half % COPY_GRAIN_BYTES;
    }
    /* Peers move; none of them computes the same. */
    move.plain = !item->is_computed && item->chain == NULL && bench_plain_from_case(item, &plain)
                     ? &plain
                     : NULL;
    out_row->predicted_fraction = predict(arena, problem);
    is_done = measure_move(arena, settings, &move, out_row);
  }
  free(problem);
  return is_done;
}
