/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_PROBLEM_H
#define RELAYOUT_PROBLEM_H

#include <stdbool.h>

#include "relayout/status.h"

RLO_BEGIN_DECLS

/** Most axes of a problem. */
#define RLO_MAX_AXES 48
/** Most residual quotients of a problem. */
#define RLO_MAX_TERMS 16
/** Most guards of a problem. */
#define RLO_MAX_GUARDS 48
/** Widest unit that a device moves as one element. */
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

/** A quotient that no split of axes could turn into a linear form:
 *  q = floor(form / divisor), divisor > 0. It may use earlier terms. */
typedef struct rlo_term {
  rlo_form form;
  int64_t divisor;
} rlo_term;

/** What happens at the points of the box where a guard does not hold. */
typedef enum rlo_guard_kind {
  /** The cell takes the fill; the source is not read. */
  RLO_GUARD_PAD = 0,
  /** The cell is left alone. Wins over PAD. */
  RLO_GUARD_SKIP = 1
} rlo_guard_kind;

/** Holds where 0 <= form < limit. */
typedef struct rlo_guard {
  rlo_guard_kind kind;
  rlo_form form;
  int64_t limit;
} rlo_guard;

/** What a point does to its cell. */
typedef enum rlo_update {
  /** The cell becomes the value. */
  RLO_UPDATE_STORE = 0,
  /** The value is added to the cell, both as unsigned integers of unit_bits,
   *  modulo 2^unit_bits: exact for integers of that size, meaningless for other
   *  numbers. Several points may then write one cell, and the destination's
   *  form may have term coefficients. The host runs it; no device does yet. */
  RLO_UPDATE_ACCUMULATE = 1
} rlo_update;

/**
 * A movement of data, without shapes, layouts or a device. Equivalent loop:
 *
 *   for (i_0 = 0; i_0 < extents[0]; ++i_0) ... for (i_n ...) {
 *     if (some SKIP guard does not hold) continue;
 *     dst[dst(i)] = every PAD guard holds ? src[src(i)] : fill;
 *   }
 *
 * in any order: no two points write one cell, unless `update` says that they
 * add to it (dst[dst(i)] += ...). Positions count units of
 * `unit_bits`, packed from the low bits of each byte upwards, from the first
 * byte of the source and of the destination. A plain value of about 36 KiB:
 * only the counted parts of its arrays mean anything.
 */
typedef struct rlo_problem {
  /** Bits of one unit: 1 .. RLO_MAX_UNIT_BITS. */
  int32_t unit_bits;
  int32_t num_axes;
  int32_t num_terms;
  int32_t num_guards;
  int64_t extents[RLO_MAX_AXES];
  /** Position in the source; term coefficients may be set. */
  rlo_form src;
  /** Position in the destination; its term coefficients are 0, unless points
   *  accumulate. */
  rlo_form dst;
  rlo_term terms[RLO_MAX_TERMS];
  rlo_guard guards[RLO_MAX_GUARDS];
  /** The fill: unit_bits of raw bits, low bits first, zero-extended. */
  uint8_t fill[RLO_MAX_UNIT_BITS / 8];
  /** Bytes that the source and the destination memory must have. */
  int64_t src_bytes, dst_bytes;
  /** Bytes that have to be read and written, for reports. */
  int64_t read_bytes, written_bytes;
  rlo_update update;
} rlo_problem;

/** Told of each rewriting step: its name ("merge axes 1 and 2") and the
 *  problem after it, both borrowed for the call. */
typedef void (*rlo_problem_trace_fn)(void *payload,
                                     const char *step,
                                     const rlo_problem *after);

/**
 * Rewrite a problem into its canonical form: the same cells get the same
 * contents, and problems that differ only in the order, splitting or direction
 * of axes become equal. Splits axes until quotients vanish where they can,
 * tightens and drops guards, drops axes of extent 1, makes destination strides
 * positive, orders axes by falling destination stride, merges axes contiguous
 * on both sides, and widens the unit while the innermost run allows it.
 * Idempotent. A box without points becomes one axis of extent 0.
 *
 * @param max_unit_bits  widest unit to form: at most RLO_MAX_UNIT_BITS; 0
 *                       leaves the unit as it is. The caller must know that
 *                       both memories are aligned to it.
 * @param trace  called after each step that changed something; may be NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if two points write one cell because a
 *         destination stride is 0, or for no known update; RLO_OVERFLOW;
 * RLO_UNSUPPORTED beyond RLO_MAX_AXES. On failure *problem is unchanged.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_problem_canonicalize(rlo_problem *problem,
                         int32_t max_unit_bits,
                         rlo_problem_trace_fn trace,
                         void *payload);

/** True if the box has no points. */
RLO_API bool rlo_problem_is_empty(const rlo_problem *problem);

/** Same unit, axes, forms, guards, update and (if a PAD guard is left) fill,
 * entry by entry; buffer sizes and byte counts do not take part. */
RLO_API bool rlo_problem_equal(const rlo_problem *a, const rlo_problem *b);

/** A 64-bit hash of what rlo_problem_equal compares. */
RLO_API uint64_t rlo_problem_hash(const rlo_problem *problem);

/**
 * Run a problem on the host: the loop above, point by point.
 *
 * The oracle of the tests and the "host" backend: plain, exact, not fast.
 * @param src  problem->src_bytes bytes, borrowed; NULL only if that is 0.
 * @param dst  problem->dst_bytes bytes; does not overlap src.
 * @return RLO_OK; RLO_OUT_OF_RANGE, before that cell is touched, if a position
 *         lies outside its memory. Threads: safe on distinct memory.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_problem_run_host(const rlo_problem *problem, const void *src, void *dst);

/**
 * Whether every unit of the source is read at most once, as far as the strides
 * tell: false may also mean that it takes more than comparing them to see.
 * Each gradient of such a movement is a movement, in every element type.
 * @return RLO_OK; or what rlo_problem_canonicalize says.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_problem_reads_once(const rlo_problem *problem, bool *out_reads_once);

/**
 * The adjoint of a problem: the two maps change places. Equivalent loop:
 *
 *   for each point i of the box where every guard holds:
 *     dx[src(i)] += dy[dst(i)]        (ACCUMULATE; = with STORE)
 *
 * dx must hold zeros (or, to accumulate, what is to be added to): units that
 * the problem does not read are not touched. Its fill is a constant and has no
 * part in the adjoint, so <dy, S x> == <S^T dy, x> holds for S x without fills.
 * Of several problems into one destination (rlo_chain_lower) the adjoints of
 * those that read one operand add up.
 *
 * @param problem  borrowed; its units are elements (not widened). One that
 *                 accumulates has an adjoint too.
 * @param update   STORE moves bits and is for every element type;
 *                 RLO_INVALID_ARGUMENT unless rlo_problem_reads_once.
 * @param out_problem  in canonical form, its units as they were; untouched on
 *                 failure. May be `problem`.
 * @return RLO_OK; or what rlo_problem_canonicalize says.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_problem_adjoint(const rlo_problem *problem,
                                                     rlo_update update,
                                                     rlo_problem *out_problem);

/** Print a problem for people, several lines, each ending in a newline;
 *  snprintf rules, as rlo_shape_format. */
RLO_API size_t rlo_problem_format(const rlo_problem *problem,
                                  char *buffer,
                                  size_t capacity);

RLO_END_DECLS

#endif
