/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_PLAN_H
#define RELAYOUT_PLAN_H

#include "relayout/problem.h"

RLO_BEGIN_DECLS

/** Which kernels suit a device. */
typedef enum rlo_device_class {
  /** In options: whatever the device is. */
  RLO_DEVICE_CLASS_AUTO = 0,
  /** A work-item is a thread with wide registers and caches: PoCL. */
  RLO_DEVICE_CLASS_CPU = 1,
  /** A work-item is a lane; work-groups share local memory. */
  RLO_DEVICE_CLASS_GPU = 2
} rlo_device_class;

/**
 * What planning knows of a device: plain numbers, from rlo_device_query or
 * made up. Planning never asks the device itself.
 */
typedef struct rlo_device_info {
  rlo_device_class device_class;
  int32_t compute_units;
  int64_t max_work_group_items;
  int64_t local_memory_bytes;
  int64_t global_memory_bytes;
  int64_t max_allocation_bytes;
  /** Alignment of every buffer that the device allocates. */
  int64_t base_alignment_bytes;
  int64_t cache_line_bytes;
  int64_t max_parameter_bytes;
  int32_t address_bits;
  /** The compiler takes __builtin_nontemporal_store and the device gains. */
  bool has_nontemporal_store;
  /** The compiler takes __builtin_prefetch; others die of it. */
  bool has_builtin_prefetch;
  /** The compiler takes __builtin_shufflevector (clang's OpenCL C). */
  bool has_vector_shuffle;
  /** Computes doubles, as IEEE 754 has them. */
  bool has_f64;
} rlo_device_info;

/** How much trouble to take over a plan. */
typedef enum rlo_effort {
  /** Wisdom if there is some for the problem, else the expectation. */
  RLO_EFFORT_ESTIMATE = 0,
  /** Wisdom if there is some, else try and time, and remember. Only
   *  rlo_plan_create does that; planning without a device expects. */
  RLO_EFFORT_MEASURE = 1
} rlo_effort;

/** What a family and a schedule were chosen by. */
typedef enum rlo_plan_decision {
  /** The best expectation; or nothing to choose. */
  RLO_PLAN_DECISION_ESTIMATE = 0,
  /** The caller named the family or the schedule. */
  RLO_PLAN_DECISION_FORCED = 1,
  /** It was fastest when it was measured. */
  RLO_PLAN_DECISION_WISDOM = 2,
  /** It was fastest just now. */
  RLO_PLAN_DECISION_MEASURE = 3
} rlo_plan_decision;

/** How to plan. Begin with RLO_PLAN_OPTIONS_INIT. */
typedef struct rlo_plan_options {
  /** sizeof(rlo_plan_options). */
  size_t struct_size;
  /** Kernel family to use, such as "gather"; borrowed. NULL: the best. */
  const char *family;
  /** Kernels of this class, whatever the device is. */
  rlo_device_class device_class;
  /** The schedule by which the family runs the problem, such as "output
   *  order"; borrowed. NULL: that of wisdom, or the family's own ("default").
   */
  const char *schedule;
  rlo_effort effort;
  /** With RLO_EFFORT_MEASURE: no candidate is begun after so many seconds. 0
   *  stands for 2. */
  double measure_seconds;
  /**
   * Promise that both memories will begin, with their offsets, at multiples of
   * the device's alignment (rlo_device_info.base_alignment_bytes, of which 64
   * are enough), as whole buffers of the device's own do. A plan then has one
   * kernel at most, and not another one for elements anywhere: half of the
   * planning and compiling. Without effect on rlo_plan_explain.
   */
  bool is_aligned;
} rlo_plan_options;

#define RLO_PLAN_OPTIONS_INIT                                    \
  {                                                              \
    sizeof(rlo_plan_options), NULL, RLO_DEVICE_CLASS_AUTO, NULL, \
        RLO_EFFORT_ESTIMATE, 0.0, false                          \
  }

/** What the planner thought of one family. */
typedef struct rlo_plan_candidate {
  /** Static. */
  const char *family;
  bool is_applicable;
  /** If applicable: expected fraction of the device's copy limit. */
  double predicted_fraction;
  /** Why it was refused, or what it would do; one sentence or less. */
  char reason[160];
} rlo_plan_candidate;

/** Most families of one device class. */
#define RLO_MAX_FAMILIES 16

/** A plan, told. Owned by the caller: rlo_plan_report_release. */
typedef struct rlo_plan_report {
  /** The problem that the kernel runs, in canonical form. */
  rlo_problem problem;
  /** The family chosen; "none" for an empty problem, which needs no kernel. */
  const char *family;
  rlo_device_class device_class;
  /** The schedule that the family runs by: "default" or another. Static. */
  const char *schedule;
  rlo_plan_decision decision;
  /** If wisdom decided: the fraction of the copy limit that was measured. */
  double measured_fraction;
  /** Tile, order, unit: "tile 64x64, units of 4 bytes, input order". */
  char parameters[160];
  int32_t num_candidates;
  rlo_plan_candidate candidates[RLO_MAX_FAMILIES];
  /** Kernel function, OpenCL C source (static) and build options. */
  const char *kernel_name;
  const char *source;
  const char *build_options;
  int32_t work_dim;
  size_t global_size[3];
  size_t local_size[3];
  /** Alignment of memory + offset that this kernel relies on. */
  int64_t src_alignment_bytes;
  int64_t dst_alignment_bytes;
} rlo_plan_report;

/**
 * Plan a problem for a device and tell everything about it; no OpenCL call.
 *
 * @param problem  borrowed; is canonicalised here.
 * @param device   borrowed.
 * @param options  borrowed; NULL for the defaults.
 * @param src_alignment_bytes, dst_alignment_bytes  powers of two that memory +
 *        offset are multiples of; 0 stands for the device's own alignment.
 * @return RLO_OK; RLO_NOT_FOUND for an unknown family or schedule;
 *         RLO_UNSUPPORTED, with the reason, if the forced family, or every
 *         family, refuses the problem; or the status of
 *         rlo_problem_canonicalize.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_plan_explain(const rlo_problem *problem,
                 const rlo_device_info *device,
                 const rlo_plan_options *options,
                 int64_t src_alignment_bytes,
                 int64_t dst_alignment_bytes,
                 rlo_plan_report **out_report);

/** Give a report back; NULL is legal. */
RLO_API void rlo_plan_report_release(rlo_plan_report *report);

/*
 * Wisdom: what was fastest when it was measured. It is text, so that it can be
 * looked at, merged and thrown away, and holds no code; a context reads and
 * writes it (rlo_context_import_wisdom and its neighbours in
 * relayout/opencl.h). Fields stand between tabs, lines end in a newline:
 *
 *   relayout-wisdom  1
 *   device  NAME  DRIVER  TABLE
 *   PROBLEM  ALIGNMENT  FRACTION  CLASS  FAMILY  SCHEDULE  NOTE
 *
 * The lines below a device are of that device, driver and table of kernel
 * families. Empty lines and lines that begin with # are skipped. A problem is
 * known by 128 bits of hash over its canonical form, the class of kernels and
 * the alignment. That is short, and enough: should two problems share it, one
 * is planned by a schedule that suits the other. Every schedule is correct for
 * every problem, so that this costs time and never a byte.
 */

/** One remembered measurement. Everything is borrowed for the call. */
typedef struct rlo_wisdom_record {
  const char *device;
  const char *driver;
  /** Hash of the families, schedules and kernels that were measured. */
  uint64_t table;
  /** Hash of the problem, high half first. */
  uint64_t problem[2];
  /** Of memory + offset on both sides: what the plan relies on. */
  int64_t alignment_bytes;
  /** Rate against that of the copy kernel beside it, 0 .. 1 and more. */
  double fraction;
  /** Which kernels: CPU or GPU. */
  rlo_device_class device_class;
  const char *family;
  const char *schedule;
  /** The canonical problem in a few words, for people. */
  const char *note;
} rlo_wisdom_record;

typedef void (*rlo_wisdom_fn)(void *payload, const rlo_wisdom_record *record);

/**
 * Read a text of wisdom.
 *
 * @param text    any bytes; need not be terminated. NULL only if num_bytes is
 * 0.
 * @param fn      called for each record, in order; NULL: only check the text.
 * @return RLO_OK; RLO_PARSE with the number of the line that is wrong, after
 *         the calls for those before it.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_wisdom_read(const char *text,
                                                 size_t num_bytes,
                                                 rlo_wisdom_fn fn,
                                                 void *payload);

/** The hash of this library's families, schedules and kernels. Records with
 *  another one are ignored. */
RLO_API uint64_t rlo_wisdom_table(void);

RLO_END_DECLS

#endif
