/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_FAMILY_H
#define RLO_PLAN_FAMILY_H

#include "base/str.h"
#include "plan/launch.h"
#include "plan/schedule.h"

/** What a family is asked about. All borrowed. */
typedef struct rlo__family_query {
  /** Canonical, not empty, units of 8, 16, 32, 64 or 128 bits. Where it
   *  computes: not sequentially, not complex numbers. */
  const rlo_problem *problem;
  const rlo_device_info *device;
  /** Powers of two that memory + caller's offset are multiples of; at least
   *  the unit's size. */
  int64_t src_alignment_bytes;
  int64_t dst_alignment_bytes;
  /** How to run it, if not in the family's own schedule. What a schedule
   * switches off, `device` lacks already: a family reads the knobs that it has.
   */
  rlo__schedule schedule;
} rlo__family_query;

/** What a family can do that others cannot, or has to that others need not. */
typedef enum rlo__family_traits {
  /** The problem is compiled into the program, so that each has its own. */
  RLO__FAMILY_SPECIALIZES = 1,
  /** Takes terms that load indices. The planner refuses them for others. */
  RLO__FAMILY_LOADS = 2,
  /** Takes problems that compute. The planner refuses them for others. */
  RLO__FAMILY_COMPUTES = 4
} rlo__family_traits;

/**
 * One way to run problems on one class of device. The table has one row for
 * each; to add a family, add a row, a family_*.c and a kernel file.
 */
typedef struct rlo__family {
  /** As people force it: "tile". Unique within its class. */
  const char *name;
  rlo_device_class device_class;
  /** Whether it can run the problem; if not, says why in a few words. */
  bool (*applicable)(const rlo__family_query *query, rlo__str *why);
  /** Expected fraction of the copy limit, 0 .. 1; only if applicable. */
  double (*predict)(const rlo__family_query *query);
  /** Choose parameters and write the launch (zeroed before); only if
   *  applicable. Fails only for RLO_OVERFLOW and faults of ours. */
  rlo_status (*emit)(const rlo__family_query *query, rlo__launch *launch);
  /** Of rlo__family_traits, or-ed. */
  uint32_t traits;
} rlo__family;

/** Every row, one per family and class. */
extern const rlo__family rlo__family_cpu_copy;
extern const rlo__family rlo__family_cpu_rows;
extern const rlo__family rlo__family_cpu_tile;
extern const rlo__family rlo__family_cpu_skinny;
extern const rlo__family rlo__family_cpu_packed;
extern const rlo__family rlo__family_cpu_gather_rows;
extern const rlo__family rlo__family_cpu_gather;
extern const rlo__family rlo__family_cpu_compute_rows;
extern const rlo__family rlo__family_cpu_compute_tile;
extern const rlo__family rlo__family_cpu_compute_sum;
extern const rlo__family rlo__family_cpu_segments;
extern const rlo__family rlo__family_cpu_compute;
extern const rlo__family rlo__family_gpu_copy;
extern const rlo__family rlo__family_gpu_rows;
extern const rlo__family rlo__family_gpu_tile;
extern const rlo__family rlo__family_gpu_packed;
extern const rlo__family rlo__family_gpu_gather;
extern const rlo__family rlo__family_gpu_compute;

/** The table, of both classes. */
extern const rlo__family *const rlo__families[];
extern const int32_t rlo__num_families;

#endif
