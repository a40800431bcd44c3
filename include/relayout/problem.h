/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_PROBLEM_H
#define RELAYOUT_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/dtype.h"
#include "relayout/status.h"

RLO_BEGIN_DECLS

/** The lanes of a sum, and the points of one of its blocks. */
#define RLO_SUM_LANES 16
#define RLO_SUM_BLOCK 1024

/** The operation of an element-wise step on a value v of the compute type. */
typedef enum rlo_element_op {
  /** v = numbers[0] * v. */
  RLO_ELEMENT_SCALE = 1,
  /** v = v + numbers[0] * cell, where the cell still has its old contents. */
  RLO_ELEMENT_ACCUMULATE = 2,
  /** v = numbers[0] where v is below that, numbers[1] where v is above that; a
   *  NaN stays. The bounds may be infinite, the second is at least the first.
   *  Integers compare as signed numbers of 64 bits, so that there is no clamp
   * of u64 between integers; nor is there one of complex numbers. */
  RLO_ELEMENT_CLAMP = 3,
  /** v = operand * v. The operand is the number of the third memory at the
   *  position of the problem's RLO_TERM_OPERAND: of T where that is f32 or f64,
   *  else a signed integer. Complex numbers are scaled part by part. Where
   *  several steps take one, the memory holds a list for each, all of one length
   *  and in the order of these operations' values; the position counts in each. */
  RLO_ELEMENT_SCALE_BY = 4,
  /** v = cell * v, where the cell still has its old contents. */
  RLO_ELEMENT_MULTIPLY = 5,
  /** v = numbers[0] where the cell is below v, numbers[1] where they are equal,
   *  else 0, as where one is a NaN. */
  RLO_ELEMENT_COMPARE = 6,
  /** v without its sign; the smallest integer stays. */
  RLO_ELEMENT_ABS = 7,
  /** v = 1 where v is above 0, else numbers[0]; a NaN stays. */
  RLO_ELEMENT_STEP = 8,
  /** The exponential and the hyperbolic tangent of v, of floats only. The host
   *  computes them by its C library in f64 and rounds, a device by OpenCL's exp
   *  and tanh: within 3 and 5 units of the last place of T of the true value. */
  RLO_ELEMENT_EXP = 9,
  RLO_ELEMENT_TANH = 10,
  /** v = v / operand, of floats only. */
  RLO_ELEMENT_DIVIDE_BY = 11,
  /** v = v + numbers[0] * operand. */
  RLO_ELEMENT_ADD_BY = 12,
  /** v = v / numbers[0], of floats only. */
  RLO_ELEMENT_DIVIDE = 13,
  /** v = v + numbers[0]. */
  RLO_ELEMENT_ADD = 14,
  /** v = the integer nearest to v, of two the even one; of floats only. */
  RLO_ELEMENT_ROUND = 15
} rlo_element_op;

/** An element-wise step, and its constants. MULTIPLY and all that follow it take
 *  no complex numbers; COMPARE, ABS and STEP take integers as CLAMP does. A
 *  division by 0 makes an infinity, or a NaN of 0. */
typedef struct rlo_element_step {
  rlo_element_op op;
  double numbers[2];
} rlo_element_step;

/** The maximum number of steps. */
#define RLO_MAX_ELEMENT_STEPS 4

/**
 * The arithmetic of a problem with RLO_UPDATE_COMBINE:
 *
 *   v = sum(values of the cell's points)
 *   for each step, in the order of the list: v = step(v)
 *   cell = to_dst(v)
 *
 * *Compute type* T: integers modulo 2^64 where both types are integers or pred;
 * f64 where either is f64 or c128, or compute_type asks for it; else f32. Each
 * value and the cell are converted to T, and the numbers of the steps rounded
 * to T; each product, quotient and sum is rounded to T, to nearest even and
 * never fused. Without steps and without a sum the value is converted with one
 * rounding, whatever T is. Complex numbers are computed part by part; a real
 * source has the imaginary part 0, a real destination takes the real part.
 *
 * *Steps*: an operation stands in the list once at most. A scale by 1 and an
 * accumulation of 0 times the cell are no steps: the canonical form has none.
 * A cell that is not accumulated is not read: a NaN in it has no effect.
 *
 * *Conversion*: to a float, to nearest even; a value beyond the type becomes
 * infinity, NaN if the type has no infinity, or its maximum if it has neither.
 * A NaN becomes the type's NaN, without sign and payload, or 0 where there is
 * none. A float to an integer: towards zero, clamped to the limits of the type;
 * NaN is 0. An integer to an integer: modulo 2^bits. To pred: whether it is not
 * 0 (a NaN is not), of a complex number whether either part is not. To the
 * same type, in units of another size: the bits of the value, whatever they
 * mean; of pred whether its byte is not 0. Units wider than the value have
 * zeros above it, and what a source has there has no effect.
 *
 * *Sums*: an axis of destination stride 0 is a
 * reduction axis; the points of a cell are those along all of them for which
 * no SKIP guard fails. A cell without points is unchanged. Order, which is the
 * same on every device: in the canonical form the reduction axes are the last
 * ones; the innermost is cut into blocks of RLO_SUM_BLOCK points up to its end,
 * or up to the last point that the SKIP guards that are linear along it let
 * through; a block has at least one point. In a
 * block, point n is added to lane n mod RLO_SUM_LANES, in rising order; lanes
 * begin as +0; then lane l takes lane l + 8, for l < 8; then l + 4, l + 2, l
 * + 1. The sums of the blocks, in the order of the box, are added as a binary
 * counter counts: two neighbours, then two such sums, and so on; the partial
 * sums that remain at the end are added from the last to the first. A skipped
 * point does not change its lane.
 *
 * *Fill*: raw bits in dst_type, as with STORE; the steps do not touch it.
 * A PAD guard does not depend on reduction axes.
 */
typedef struct rlo_arithmetic {
  /** The types of the source's and the destination's units. */
  rlo_dtype src_type, dst_type;
  /** RLO_DTYPE_INVALID for the rule above; RLO_DTYPE_F64 for f64. */
  rlo_dtype compute_type;
  /** Bits of one unit of the destination: 1 .. RLO_MAX_UNIT_BITS. Positions in
   *  the destination count these; those in the source count unit_bits. */
  int32_t dst_unit_bits;
  /** Their numbers are finite, but for bounds; whole and of at most 63 bits
   *  where T is an integer. */
  int32_t num_steps;
  rlo_element_step steps[RLO_MAX_ELEMENT_STEPS];
  /** Cells may have points that differ outside of the reduction axes; these are
   *  combined one after the other, in the order of the canonical box. Then the
   *  destination's form may have term coefficients. The host runs it; devices
   *  refuse. */
  bool is_sequential;
} rlo_arithmetic;

/** The maximum number of axes of a problem. */
#define RLO_MAX_AXES 48
/** The maximum number of terms: residual quotients and loaded indices. */
#define RLO_MAX_TERMS 16
/** The maximum number of guards. */
#define RLO_MAX_GUARDS 48
/** The widest unit that a device moves as one element. */
#define RLO_MAX_UNIT_BITS 128

/**
 * A linear form over the variables of a problem:
 *
 *   base + sum(axis[a] * i_a) + sum(term[t] * q_t)
 */
typedef struct rlo_form {
  int64_t base;
  int64_t axis[RLO_MAX_AXES];
  int64_t term[RLO_MAX_TERMS];
} rlo_form;

/** The kind of a term. */
typedef enum rlo_term_kind {
  /** A quotient that no split of axes could turn into a linear form:
   *  q = floor(form / divisor). */
  RLO_TERM_QUOTIENT = 0,
  /** An index loaded from a third memory: v = indices[form], and q = v if 0 <=
     v < limit, else -1. A position outside of that memory is not read and gives
     -1 too, so that points that guards exclude may have any. */
  RLO_TERM_LOAD = 1,
  /** A position in the third memory, q = form, for the step that takes an
     operand: the form says which axes that follows. It does not depend on a
     summed axis. A problem has one, and then no LOAD: there is one third
     memory. */
  RLO_TERM_OPERAND = 2
} rlo_term_kind;

/** A number that is not linear in the axes. Its form may use earlier terms. */
typedef struct rlo_term {
  rlo_term_kind kind;
  rlo_form form;
  /** QUOTIENT: above 0. OPERAND: 1. */
  int64_t divisor;
  /** LOAD: 0 or more. */
  int64_t limit;
} rlo_term;

/** The effect of a guard that does not hold. */
typedef enum rlo_guard_kind {
  /** The cell takes the fill; the source is not read. */
  RLO_GUARD_PAD = 0,
  /** The cell is unchanged. SKIP takes precedence over PAD. */
  RLO_GUARD_SKIP = 1
} rlo_guard_kind;

/** Holds where 0 <= form < limit. */
typedef struct rlo_guard {
  rlo_guard_kind kind;
  rlo_form form;
  int64_t limit;
} rlo_guard;

/** How a point changes its cell. */
typedef enum rlo_update {
  /** The cell becomes the value, bit for bit; its type does not matter. */
  RLO_UPDATE_STORE = 0,
  /** The cell is computed, by the rules of rlo_arithmetic. */
  RLO_UPDATE_COMBINE = 1
} rlo_update;

/**
 * A movement of data, without shapes, layouts or a device. Equivalent loop:
 *
 *   for (i_0 = 0; i_0 < extents[0]; ++i_0) ... for (i_n ...) {
 *     if (some SKIP guard does not hold) continue;
 *     dst[dst(i)] = every PAD guard holds ? src[src(i)] : fill;
 *   }
 *
 * in any order: no two points write one cell, unless `update` defines how they
 * are combined. Positions count units of `unit_bits`, packed from the low bits
 * of each byte upwards, from the first byte of the source and of the
 * destination. A plain value of about 36 KiB: only the counted parts of its
 * arrays mean anything.
 */
typedef struct rlo_problem {
  /** Bits of one unit: 1 .. RLO_MAX_UNIT_BITS; of the source only if the
   * problem computes. */
  int32_t unit_bits;
  int32_t num_axes;
  int32_t num_terms;
  int32_t num_guards;
  int64_t extents[RLO_MAX_AXES];
  /** Position in the source; term coefficients may be set. */
  rlo_form src;
  /** Position in the destination; its term coefficients are 0, unless
   *  arithmetic.is_sequential. */
  rlo_form dst;
  rlo_term terms[RLO_MAX_TERMS];
  rlo_guard guards[RLO_MAX_GUARDS];
  /** The fill: a destination unit of raw bits, low bits first, zero-extended.
   */
  uint8_t fill[RLO_MAX_UNIT_BITS / 8];
  /** Bytes that the source and the destination memory must have. */
  int64_t src_bytes, dst_bytes;
  /** Bytes that the problem must read and write, for reports. */
  int64_t read_bytes, written_bytes;
  rlo_update update;
  /** Used with RLO_UPDATE_COMBINE only. */
  rlo_arithmetic arithmetic;
  /** If there is a third memory: 32 or 64, the width of its signed indices or
   *  of the operand's numbers, and how many bytes of them there are. Positions
   *  of a LOAD and of an OPERAND count these. */
  int32_t index_bits;
  int64_t index_bytes;
} rlo_problem;

/**
 * Creates an empty problem on the heap, for callers that do not know the size
 * of the struct: bindings of other languages. What lowers a problem
 * (rlo_relayout_lower, rlo_chain_lower) fills it.
 * @param out_problem  the caller's: rlo_problem_release. On failure NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_OUT_OF_MEMORY.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_problem_create(rlo_problem **out_problem);

/** Frees a problem of rlo_problem_create; NULL is legal. */
RLO_API void rlo_problem_release(rlo_problem *problem);

/** The bytes that the source, the destination and the indices must have; 0 for
 *  NULL. */
RLO_API int64_t rlo_problem_src_bytes(const rlo_problem *problem);
RLO_API int64_t rlo_problem_dst_bytes(const rlo_problem *problem);
RLO_API int64_t rlo_problem_index_bytes(const rlo_problem *problem);

/** Called after each rewriting step with its name ("merge axes 1 and 2") and
 * the problem, both borrowed for the call. */
typedef void (*rlo_problem_trace_fn)(void *payload, const char *step, const rlo_problem *after);

/**
 * Rewrites a problem into its canonical form: the same cells get the same
 * contents, and problems that differ only in the order, splitting or direction
 * of axes become equal. Splits axes until quotients vanish where they can,
 * tightens and drops guards, drops axes of extent 1, makes destination strides
 * positive, orders axes by falling destination stride, merges axes contiguous
 * on both sides, and widens the unit while the innermost run allows it and
 * nothing is computed. Reduction axes come last, in order of their falling
 * source stride, which settles the order of sums. Idempotent. A box without
 * points becomes one axis of extent 0.
 *
 * @param max_unit_bits  widest unit to form: at most RLO_MAX_UNIT_BITS; 0
 *                       keeps the unit. The caller must know that
 *                       both memories are aligned to it.
 * @param trace  called after each step that changes the problem; may be NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if two points write one cell because a
 *         destination stride is 0 and nothing is computed, for no known update,
 *         or for arithmetic that breaks its rules; RLO_OVERFLOW;
 *         RLO_UNSUPPORTED beyond RLO_MAX_AXES, or for a destination type that
 *         has no zero. On failure *problem is unchanged. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_problem_canonicalize(rlo_problem *problem,
                                                          int32_t max_unit_bits,
                                                          rlo_problem_trace_fn trace,
                                                          void *payload);

/** Tells if the box has no points. */
RLO_API bool rlo_problem_is_empty(const rlo_problem *problem);

/** Bits of one unit of the destination: unit_bits, or arithmetic.dst_unit_bits
 * if the problem computes. */
RLO_API int32_t rlo_problem_dst_unit_bits(const rlo_problem *problem);

/** Tells if points are summed: an axis of extent above 1 is a reduction axis.
 */
RLO_API bool rlo_problem_is_sum(const rlo_problem *problem);

/** Tells if a term loads an index or a step takes an operand, so that there is
 * a third memory. */
RLO_API bool rlo_problem_loads(const rlo_problem *problem);

/** Tells if a step takes what a cell holds before it is written. False for NULL. */
RLO_API bool rlo_problem_reads_cells(const rlo_problem *problem);

/** Tells if two problems have the same unit, axes, forms, terms, guards,
 * update, arithmetic and (with a PAD guard) fill, entry by entry. Buffer sizes
 * and byte counts are not compared, except those of loaded indices. */
RLO_API bool rlo_problem_equal(const rlo_problem *a, const rlo_problem *b);

/** A 64-bit hash of what rlo_problem_equal compares. */
RLO_API uint64_t rlo_problem_hash(const rlo_problem *problem);

/**
 * Runs a problem on host memory, at the speed of memory: the loop above, in
 * cache-sized tiles, on several threads. A problem that computes runs in its
 * canonical form, which fixes the order of its sums, so that the bytes do not
 * depend on the number of threads.
 *
 * @param problem      borrowed for the call; need not be canonical.
 * @param src          rlo_problem_src_bytes bytes, borrowed, at any alignment;
 *                     NULL only if that is 0.
 * @param indices      rlo_problem_index_bytes bytes, likewise; NULL if the
 *                     problem loads none.
 * @param dst          rlo_problem_dst_bytes bytes, at any alignment; overlaps
 *                     neither src nor indices. Bytes that no point writes keep
 *                     their contents.
 * @param num_threads  1 or more: the calling thread and those that the call
 *                     starts and joins. It starts fewer for a small problem,
 *                     none below some 512 KiB.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, fewer than 1 thread or what
 *         is no problem; RLO_OUT_OF_RANGE if a position lies outside its
 *         memory: cells of earlier points may be written; RLO_OUT_OF_MEMORY;
 *         for a problem that computes, also what rlo_problem_canonicalize
 *         returns. Threads: safe on distinct destinations.
 */
RLO_API RLO_NODISCARD rlo_status rlo_run_host(const rlo_problem *problem, const void *src,
                                              const void *indices, void *dst, int32_t num_threads);

/**
 * Runs a problem on the host: the loop above, point by point, with the bytes of
 * rlo_run_host. It is the oracle of the tests: plain, exact, not fast.
 * @param src  problem->src_bytes bytes, borrowed; NULL only if that is 0.
 * @param dst  problem->dst_bytes bytes; does not overlap src.
 * @return RLO_OK; RLO_OUT_OF_RANGE, before that cell is touched, if a position
 *         lies outside its memory; for one that computes, also what
 *         rlo_problem_canonicalize returns. Threads: safe on distinct memory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_problem_run_host(const rlo_problem *problem, const void *src,
                                                      void *dst);

/**
 * Runs a problem that loads indices; rlo_problem_run_host returns
 * RLO_INVALID_ARGUMENT for it.
 * @param indices  problem->index_bytes bytes, borrowed, at any alignment; NULL
 *                 only if that is 0 or nothing is loaded. Does not overlap dst.
 */
RLO_API RLO_NODISCARD rlo_status rlo_problem_run_host_indexed(const rlo_problem *problem,
                                                              const void *src, const void *indices,
                                                              void *dst);

/**
 * Tells if every unit of the source is read at most once, judged by
 * the strides: false may also mean that strides do not decide it.
 * Each gradient of such a movement is a movement, in every element type.
 * @return RLO_OK; or what rlo_problem_canonicalize returns.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_problem_reads_once(const rlo_problem *problem,
                                                        bool *out_reads_once);

/**
 * Computes the adjoint of a problem: its two maps exchanged. Equivalent loop:
 *
 *   for each point i of the box where every guard holds:
 *     dx[src(i)] += dy[dst(i)]             (= without a sum_type)
 *
 * and steps(dy[dst(i)]) where the problem computes: its scale, without its
 * accumulation; there is no adjoint of a clamp, which needs the values. dx must
 * hold zeros (or, to add, what is to be added to): units that the problem does
 * not read are not touched. Its fill is a constant and has no part in the
 * adjoint, nor has the cell: <dy, S x> == <S^T dy, x> holds for S x without
 * fills. Of several problems into one destination (rlo_chain_lower) the
 * adjoints of those that read one operand add up. One that loads indices has an
 * adjoint that loads the same.
 *
 * @param problem   borrowed; its units are elements (not widened).
 * @param sum_type  what the units of a moving problem hold, to be added with
 *                  beta 1 (for one that computes any type: its own are used);
 *                  or RLO_DTYPE_INVALID to store, for every element type:
 *                  RLO_INVALID_ARGUMENT unless rlo_problem_reads_once.
 * @param out_problem  in canonical form, its units as they were; untouched on
 *                 failure. May be `problem`.
 * @return RLO_OK; RLO_UNSUPPORTED to add pred or integers of less than a byte,
 *         or for a clamp; or what rlo_problem_canonicalize returns. Threads:
 * safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_problem_adjoint(const rlo_problem *problem, rlo_dtype sum_type,
                                                     rlo_problem *out_problem);

/** Print a problem for people, several lines, each ending in a newline;
 *  snprintf rules, as rlo_shape_format. */
RLO_API size_t rlo_problem_format(const rlo_problem *problem, char *buffer, size_t capacity);

RLO_END_DECLS

#endif
