/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/gpu_cost.h"

#include <math.h>
#include <stdbool.h>

#include "base/checked.h"

/*
 * Counted, not measured: tests/coalescing/check_instructions.py compiles the
 * kernels to PTX and counts what a warp issues, and registers are those of
 * ptxas for an H200. A column is fitted to several cases of the table there:
 * tiles of several sizes, blocks of one to three axes with one and four copies,
 * rows of 4 and 16 bytes. The test holds what rlo__gpu_rate expects against
 * what is counted.
 */
static const struct {
  /** Instructions of a warp before its first load: at all, for each grid axis,
   *  for each guard and for each overhanging axis. */
  double begin, axis, guard, end;
  /** For a place in a block: at all, and for each axis of the block. */
  double find, find_axis;
  /** For a piece moved. */
  double move;
  /** Registers of a lane. */
  int64_t registers;
  /** Loads of a group wait for a barrier, so that for a third of its life none
   *  is on its way. */
  bool has_barrier;
} costs[RLO__GPU_NUM_LOOPS] = {
    [RLO__GPU_COPY] = {17, 0, 0, 0, 0, 0, 4, 32, false},
    [RLO__GPU_ROWS] = {70, 8, 50, 0, 0, 0, 41, 64, false},
    [RLO__GPU_ROWS_SHIFTED] = {70, 8, 50, 0, 0, 0, 90, 40, false},
    [RLO__GPU_ROWS_FLAT] = {40, 12, 50, 0, 40, 12, 10, 40, false},
    [RLO__GPU_SKINNY] = {45, 12, 50, 0, 0, 0, 2, 40, false},
    [RLO__GPU_TILE] = {80, 6, 50, 0, 0, 0, 7, 40, true},
    [RLO__GPU_TILE_SQUARES] = {22, 8, 50, 0, 0, 0, 13.5, 38, true},
    [RLO__GPU_PACKED] = {70, 6, 22, 40, 0, 4, 4, 44, true},
    [RLO__GPU_COMPUTE_ROWS] = {24, 8, 50, 0, 0, 0, 34, 38, false},
    [RLO__GPU_COMPUTE_TILE] = {24, 8, 50, 0, 0, 0, 30, 38, true},
};

/* A multiprocessor of an H200: what it issues in a clock, in which local memory
 * serves a round, and in the time in which it copies a byte, and what it holds.
 */
#define ISSUES_PER_CLOCK 4
static const double issues_for_a_byte = ISSUES_PER_CLOCK * 1.755e9 * 132 / 4.3e12;

enum {
  WARP = 32,
  MAX_ITEMS = 2048,
  MAX_GROUPS = 32,
  REGISTERS = 65536,
  LOCAL_BYTES = 227 << 10,
  /** The part of it that the driver takes for each group. */
  DRIVER_BYTES = 1 << 10,
  /** Bytes of a line of the caches. */
  LINE_BYTES = 128,
  /** Reads that have to be on their way at a time, at a latency of 0.8 us. */
  FLIGHT_BYTES = 13 << 10
};

/* What a run of less than a line takes besides its own sectors: measured, runs of
 * 32 bytes have 0.8 of the rate, and those of 64 have 0.9. */
#define PART_SECTORS 0.25

/* The share of the sectors that runs have in common of which each run is charged:
 * a cache serves the others. */
#define OVERHANG 0.5

/* The share of the schedulers' slots that kernels of integers fill. */
#define FILLED_SLOTS 0.8

/* The share of a copy's rate that any kernel reaches, and one with a barrier.
 */
#define COPY_RATE    0.95
#define BARRIER_RATE 0.92

static double instructions(const rlo__gpu_group *group) {
  double begin = costs[group->loop].begin + costs[group->loop].axis * group->num_grid_axes +
                 costs[group->loop].guard * group->num_guards +
                 costs[group->loop].end * group->num_ends;
  double find = costs[group->loop].find + costs[group->loop].find_axis * group->find_axes;
  return begin + find * group->finds + costs[group->loop].move * group->moves;
}

static int64_t groups_at_a_time(const rlo__gpu_group *group) {
  int64_t groups = rlo__min(MAX_GROUPS, MAX_ITEMS / group->items);
  groups = rlo__min(groups, REGISTERS / (group->items * costs[group->loop].registers));
  if (group->local_bytes > 0) {
    groups = rlo__min(groups, LOCAL_BYTES / (group->local_bytes + DRIVER_BYTES));
  }
  return rlo__max(groups, 1);
}

static double fourth_power(double x) {
  return x * x * x * x;
}

double rlo__gpu_rate(const rlo__gpu_group *group) {
  bool has_barrier = costs[group->loop].has_barrier;
  double memory = 2.0 / (1.0 / group->src_share + 1.0 / group->dst_share) *
                  (has_barrier ? BARRIER_RATE : COPY_RATE);
  double warps = (double)rlo__ceil_div(group->items, WARP);
  double issue = FILLED_SLOTS * issues_for_a_byte * group->bytes * group->fullness /
                 (warps * instructions(group));
  double in_flight =
      group->fullness * group->flight_bytes * (double)(group->items * groups_at_a_time(group));
  double latency = in_flight / ((has_barrier ? 1.5 : 1.0) * (double)FLIGHT_BYTES);
  double banks = group->bank_rounds * ISSUES_PER_CLOCK / (issues_for_a_byte * group->bytes);
  /* They overlap, but where two are about as slow not wholly: the norm of the
   * times with exponent 4. */
  double slow = fourth_power(1.0 / memory) + fourth_power(1.0 / issue) +
                fourth_power(1.0 / latency) + fourth_power(banks);
  return 1.0 / sqrt(sqrt(slow));
}

double rlo__gpu_sector_share(int64_t run_bytes, int64_t begin_bytes) {
  double run = (double)run_bytes;
  double sectors = begin_bytes >= RLO__GPU_SECTOR_BYTES
                       ? (double)rlo__ceil_div(run_bytes, RLO__GPU_SECTOR_BYTES)
                       : run / RLO__GPU_SECTOR_BYTES +
                             OVERHANG * (1.0 - (double)begin_bytes / RLO__GPU_SECTOR_BYTES);
  sectors = sectors < 1.0 ? 1.0 : sectors;
  return run /
         (RLO__GPU_SECTOR_BYTES * (run_bytes < LINE_BYTES ? sectors + PART_SECTORS : sectors));
}
