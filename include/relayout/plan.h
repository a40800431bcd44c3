/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_PLAN_H
#define RELAYOUT_PLAN_H

#include "relayout/problem.h"

RLO_BEGIN_DECLS

/** Selects the kernels that suit a device. */
typedef enum rlo_device_class {
  /** In options: the class of the device. */
  RLO_DEVICE_CLASS_AUTO = 0,
  /** A work-item is a thread with wide registers and caches: PoCL. */
  RLO_DEVICE_CLASS_CPU = 1,
  /** A work-item is a lane; work-groups share local memory. */
  RLO_DEVICE_CLASS_GPU = 2
} rlo_device_class;

/**
 * The properties of a device that planning uses: plain numbers, from
 * rlo_device_query or invented. Planning makes no OpenCL call. Begin with
 * RLO_DEVICE_INFO_INIT.
 */
typedef struct rlo_device_info {
  /** sizeof(rlo_device_info). */
  size_t struct_size;
  rlo_device_class device_class;
  int32_t compute_units;
  int64_t max_work_group_items;
  /** 0 if the device is of the GPU class and has it in global memory only. */
  int64_t local_memory_bytes;
  int64_t global_memory_bytes;
  int64_t max_allocation_bytes;
  /** Alignment in bytes of every buffer that the device allocates. */
  int64_t base_alignment_bytes;
  int64_t cache_line_bytes;
  int64_t max_parameter_bytes;
  int32_t address_bits;
  /** The compiler supports __builtin_nontemporal_store, and it is faster. */
  bool has_nontemporal_store;
  /** The compiler supports __builtin_prefetch; some others crash on it. */
  bool has_builtin_prefetch;
  /** The compiler supports __builtin_shufflevector (clang's OpenCL C). */
  bool has_vector_shuffle;
  /** Computes doubles according to IEEE 754. */
  bool has_f64;
  /** Keeps the denormals of floats. Without them only integers are computed. */
  bool has_f32_denormals;
  /** The compiler takes -cl-intel-greater-than-4GB-buffer-required, without
   *  which kernels reach 4 GiB of a buffer only. */
  bool has_large_buffer_option;
  /** The compiler ends the process in kernels of the GPU class (PoCL 6 with
   * LLVM 18, unless POCL_WORK_GROUP_METHOD is cbs), or makes wrong ones (PoCL
   * 5, if it is): they are refused. */
  bool is_cpu_class_only;
  /** Bytes of the first-level data cache of a core of a CPU; 0 if unknown. */
  int64_t near_cache_bytes;
} rlo_device_info;

#define RLO_DEVICE_INFO_INIT                                                                 \
  {                                                                                          \
    sizeof(rlo_device_info), RLO_DEVICE_CLASS_AUTO, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, false, \
        false, false, false, false, false, 0                                                 \
  }

/** The effort spent on a plan. */
typedef enum rlo_effort {
  /** Wisdom if there is some for the problem, else the prediction. */
  RLO_EFFORT_ESTIMATE = 0,
  /** Wisdom if there is some, else candidates are timed and the fastest becomes
   *  wisdom. Without a device (rlo_plan_explain), as ESTIMATE. */
  RLO_EFFORT_MEASURE = 1
} rlo_effort;

/** The reason why a family and a schedule were chosen. */
typedef enum rlo_plan_decision {
  /** The best prediction; or there was no choice. */
  RLO_PLAN_DECISION_ESTIMATE = 0,
  /** The caller named the family or the schedule. */
  RLO_PLAN_DECISION_FORCED = 1,
  /** The fastest of an earlier measurement. */
  RLO_PLAN_DECISION_WISDOM = 2,
  /** The fastest of a measurement for this plan. */
  RLO_PLAN_DECISION_MEASURE = 3
} rlo_plan_decision;

/** Options of planning. Begin with RLO_PLAN_OPTIONS_INIT. */
typedef struct rlo_plan_options {
  /** sizeof(rlo_plan_options). */
  size_t struct_size;
  /** Kernel family to use, such as "gather"; borrowed. NULL: the best. */
  const char *family;
  /** Use the kernels of this class, whatever the device is. */
  rlo_device_class device_class;
  /** The schedule by which the family runs the problem, such as "output
   *  order"; borrowed. NULL: that of wisdom, or the family's own ("default").
   */
  const char *schedule;
  rlo_effort effort;
  /** With RLO_EFFORT_MEASURE: no candidate is begun after so many seconds; 0
   *  means 2. */
  double measure_seconds;
  /**
   * The caller promises that both memories begin, with their offsets, at
   * multiples of the device's alignment (rlo_device_info.base_alignment_bytes;
   * at most 64 is required), as whole buffers of the device do. A step of a
   * plan then has one kernel, without a second one for memory aligned to the
   * element only: rlo_plan_prepare compiles half as much. No effect on
   * rlo_plan_explain.
   */
  bool is_aligned;
  /**
   * Scratch memory that the plan may need so that it runs faster; 0: none. A
   * sum to fewer cells than keep the device busy is then cut into parts, with
   * the same bits: a kernel sums each part into scratch memory, another one
   * adds the parts up. rlo_plan_info.scratch_bytes tells what is needed, if
   * anything, and rlo_enqueue_operands takes it. No effect where `family` or
   * `schedule` is set, and on segment sums. With RLO_EFFORT_MEASURE the kernel
   * of the parts is measured; whether to cut is not. The promise of is_aligned
   * does not include scratch memory.
   */
  int64_t max_scratch_bytes;
} rlo_plan_options;

#define RLO_PLAN_OPTIONS_INIT                                                                     \
  {                                                                                               \
    sizeof(rlo_plan_options), NULL, RLO_DEVICE_CLASS_AUTO, NULL, RLO_EFFORT_ESTIMATE, 0.0, false, \
        0                                                                                         \
  }

/** The planner's assessment of one family. */
typedef struct rlo_plan_candidate {
  /** Static. */
  const char *family;
  bool is_applicable;
  /** If applicable: expected fraction of the device's copy limit. */
  double predicted_fraction;
  /** If applicable, how it would run the problem; else why not. One sentence or
   *  less. */
  char reason[160];
} rlo_plan_candidate;

/** Limit of families of one device class. */
#define RLO_MAX_FAMILIES 16

/** An argument of a kernel, which a caller without a plan sets with clSetKernelArg. */
typedef struct rlo_plan_argument {
  /** "src", "dst", "indices": a memory, without values. "src_offset", "dst_offset": an
   *  ulong, the caller's offset in bytes and values[0]. "index_offset": an ulong, the
   *  caller's offset alone. Else the type of a constant, "int", "long", "int16", "long8" or
   *  "long16", of which `values` has the lanes. Static. */
  const char *type;
  int32_t num_values;
  /** Owned by the report. */
  const int64_t *values;
} rlo_plan_argument;

/** The description of a plan. Owned by the caller: rlo_plan_report_release. */
typedef struct rlo_plan_report {
  /** The problem that the kernel runs, in canonical form. */
  rlo_problem problem;
  /** The family chosen; "none" for an empty problem, which needs no kernel. */
  const char *family;
  rlo_device_class device_class;
  /** The schedule that the family runs by: "default" or another. Static. */
  const char *schedule;
  rlo_plan_decision decision;
  /** If wisdom decided: the measured rate as a fraction of the copy limit. */
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
  /** The kernel's arguments, in their order; none without a kernel. */
  int32_t num_arguments;
  const rlo_plan_argument *arguments;
} rlo_plan_report;

/**
 * Plans a problem for a device and reports every decision; no OpenCL call. Of a
 * sum that is cut into parts (rlo_plan_options.max_scratch_bytes) it reports
 * the kernel of the parts, and `parameters` begins with their number.
 *
 * @param problem  borrowed; a copy is canonicalized.
 * @param device   borrowed; numbers that an older header lacks count as 0.
 * @param options  borrowed; NULL for the defaults.
 * @param src_alignment_bytes, dst_alignment_bytes  powers of two that divide
 *        memory + offset; 0 means the device's own alignment.
 * @return RLO_OK; RLO_NOT_FOUND for an unknown family or schedule;
 *         RLO_UNSUPPORTED, with the reason, if the forced family, or every
 *         family, refuses the problem, or if the device is_cpu_class_only; or
 *         the status of rlo_problem_canonicalize; RLO_INVALID_ARGUMENT for a
 *         struct_size that this library does not know, or a negative
 *         max_scratch_bytes.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_plan_explain(
    const rlo_problem *problem, const rlo_device_info *device, const rlo_plan_options *options,
    int64_t src_alignment_bytes, int64_t dst_alignment_bytes, rlo_plan_report **out_report);

/** Releases a report; NULL is legal. */
RLO_API void rlo_plan_report_release(rlo_plan_report *report);

/*
 * Wisdom: the fastest choice for each problem that was measured. It is text,
 * which can be read, merged and deleted, and contains no code. A context reads
 * and writes it (rlo_context_import_wisdom and others in relayout/opencl.h).
 * Fields are separated by tabs, lines end in a newline:
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

/** One measurement. All pointers are borrowed for the call. */
typedef struct rlo_wisdom_record {
  const char *device;
  const char *driver;
  /** Hash of the families, schedules and kernels that were measured. */
  uint64_t table;
  /** Hash of the problem, high half first. */
  uint64_t problem[2];
  /** Alignment of memory + offset on both sides that the plan relies on. */
  int64_t alignment_bytes;
  /** Rate divided by that of the copy kernel measured beside it; may exceed 1.
   */
  double fraction;
  /** The class of the kernels: CPU or GPU. */
  rlo_device_class device_class;
  const char *family;
  const char *schedule;
  /** A short description of the canonical problem, for people. */
  const char *note;
} rlo_wisdom_record;

typedef void (*rlo_wisdom_fn)(void *payload, const rlo_wisdom_record *record);

/**
 * Reads a text of wisdom.
 *
 * @param text    any bytes; need not be terminated. NULL only if num_bytes is
 * 0.
 * @param fn      called for each record, in order; NULL: only check the text.
 * @return RLO_OK; RLO_PARSE with the number of the invalid line, after the
 *         calls for the lines before it.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_wisdom_read(const char *text, size_t num_bytes,
                                                 rlo_wisdom_fn fn, void *payload);

/** The hash of this library's families, schedules and kernels. Records with
 *  another one are ignored. */
RLO_API uint64_t rlo_wisdom_table(void);

RLO_END_DECLS

#endif
