/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_FAMILY_H
#define RLO_PLAN_FAMILY_H

#include "base/str.h"
#include "plan/joined_rows.h"
#include "plan/launch.h"
#include "plan/schedule.h"

/** The problem that a family judges. All pointers are borrowed. */
typedef struct rlo__family_query {
  /** Canonical, not empty, with units of 8, 16, 32, 64 or 128 bits, or of any
   *  for RLO__FAMILY_BITS. If it computes: not sequential, no complex numbers.
   */
  const rlo_problem *problem;
  /** For RLO__FAMILY_JOINS: what `problem`, then one of bytes, was made of. */
  rlo__joined_rows joined;
  const rlo_device_info *device;
  /** The class to plan for, which may be another than the device's own. */
  rlo_device_class device_class;
  /** Alignments of memory + caller's offset: powers of two, at least the unit's
   *  size. */
  int64_t src_alignment_bytes;
  int64_t dst_alignment_bytes;
  /** The knobs of the schedule, of which a family reads those that apply to it.
   *  Features that the schedule disables are cleared from `device`. */
  rlo__schedule schedule;
  /** The facts of `problem`, found once for all families; NULL:
   *  rlo__geometry_of finds them. */
  const struct rlo__geometry *geometry;
  /** Points of a block of a sum, if not RLO_SUM_BLOCK: 1 where the points are
   *  sums of blocks themselves (plan/sum_parts.h), else 0. */
  int64_t block_points;
  /** The prediction that `judge` has to exceed for its family to be chosen: one
   *  that cannot may be any number up to this. 0 where all are of interest. */
  double to_beat;
} rlo__family_query;

/** Traits in which a family differs from most. */
typedef enum rlo__family_traits {
  /** The problem is compiled into the program: one program for each problem. */
  RLO__FAMILY_SPECIALIZES = 1,
  /** Takes terms that load indices. The planner refuses them for other
   *  families. */
  RLO__FAMILY_LOADS = 2,
  /** Takes problems that compute. The planner refuses them for other families.
   */
  RLO__FAMILY_COMPUTES = 4,
  /** Takes units of any number of bits. The planner refuses units that are not
   *  1, 2, 4, 8 or 16 bytes for other families. */
  RLO__FAMILY_BITS = 8,
  /** Takes packed elements as bytes with joined rows (plan/joined_rows.h). */
  RLO__FAMILY_JOINS = 16
} rlo__family_traits;

/** A kernel family: one way to run problems on one class of device. To add a
 *  family, add a row to the table, a family_*.c and a kernel file;
 *  docs/kernels.md describes the steps. */
typedef struct rlo__family {
  /** The name that options use: "tile". Unique within its class. */
  const char *name;
  rlo_device_class device_class;
  /** The expected fraction of the copy limit, 0 .. 1; or a negative number if
   *  the family refuses the problem, and `why`, unless NULL, takes a short
   *  reason. */
  double (*judge)(const rlo__family_query *query, rlo__str *why);
  /** Chooses the parameters and writes the launch, which is zero before; called
   *  only for problems that the family takes. @return RLO_OK; RLO_OVERFLOW;
   *  RLO_OUT_OF_MEMORY. */
  rlo_status (*emit)(const rlo__family_query *query, rlo__launch *launch);
  /** Flags of rlo__family_traits, or-ed. */
  uint32_t traits;
} rlo__family;

/** A judgement: refused. */
#define RLO__REFUSED (-1.0)

/** The rows, in the order of the table: among equal judgements the first one of
 *  a class wins. X(NAME) is rlo__family_NAME. */
#define RLO__FAMILIES(X) \
  X(cpu_copy)            \
  X(cpu_rows)            \
  X(cpu_skinny)          \
  X(cpu_tile)            \
  X(cpu_packed)          \
  X(cpu_gather)          \
  X(cpu_gather_rows)     \
  X(cpu_bits)            \
  X(cpu_compute_rows)    \
  X(cpu_compute_tile)    \
  X(cpu_compute_sum)     \
  X(cpu_segment_sum)     \
  X(cpu_compute)         \
  X(gpu_copy)            \
  X(gpu_rows)            \
  X(gpu_skinny)          \
  X(gpu_tile)            \
  X(gpu_packed)          \
  X(gpu_gather)          \
  X(gpu_bits)            \
  X(gpu_compute_tile)    \
  X(gpu_compute_sum)     \
  X(gpu_compute)

#define RLO__DECLARE_FAMILY(NAME) extern const rlo__family rlo__family_##NAME;
RLO__FAMILIES(RLO__DECLARE_FAMILY)

/** The table, of both classes. */
extern const rlo__family *const rlo__families[];
extern const int32_t rlo__num_families;

/** The family of a name, or NULL. */
const rlo__family *rlo__family_find(rlo_device_class device_class, const char *name);

#endif
