/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_CASE_H
#define RLO_BENCH_CASE_H

#include <relayout/relayout.h>
#include <stdbool.h>
#include <stdint.h>

/** Extents or a permutation, as the tables spell them. */
typedef struct bench_numbers {
  int32_t count;
  int64_t values[RLO_MAX_RANK];
} bench_numbers;

/** Read "7264,7264". @return false if it is not that, having said so. */
bool bench_numbers_parse(const char *text, bench_numbers *out_numbers);

/** Print "7264,7264". @return its length, as snprintf. */
size_t bench_numbers_print(const bench_numbers *numbers, char *out_text, size_t capacity);

/** Most operands of a chain, one problem for each. */
enum { BENCH_MAX_OPERANDS = 2 };

/** Begin a chain and grow it. Each of its operands has the source's shape; they
 *  lie one behind the other. */
typedef rlo_status (*bench_chain_fn)(const rlo_shape *src, rlo_chain **out_chain);

/** Lower the one relayout, of as many bytes, that makes an array of this shape.
 */
typedef rlo_status (*bench_single_fn)(const rlo_shape *dst, rlo_problem *out_problem);

/** One row of a table of cases: text, so that tables read well. */
typedef struct bench_case_spec {
  const char *name;
  /** "f32" */
  const char *dtype;
  /** Extents of the source, logical, at the full size. */
  const char *dims;
  /** Dimension k of the destination is dimension permutation[k] of the
   *  source. NULL: the same order. */
  const char *permutation;
  /** In braces. NULL: row-major. */
  const char *src_layout, *dst_layout;
  /** Widen the last dimension but one, and the last, to multiples of these; 0
   *  leaves them alone. */
  int32_t src_pad[2], dst_pad[2];
  /** Compute on the way: "bf16", the destination's type if it is another. */
  const char *dst_dtype;
  /** Dimensions of the source that are summed: "0,2". Then nothing is permuted.
   */
  const char *sum;
  /** alpha * x + beta * y; an alpha of 0 stands for 1. */
  double alpha, beta;
  /** A chain of operations; then nothing of the above but the source and the
   *  types is looked at, and the destination is row-major. */
  bench_chain_fn chain;
  bench_single_fn single;
} bench_case_spec;

/** A relayout to be timed. */
typedef struct bench_case {
  char name[64];
  rlo_shape src, dst;
  int32_t permutation[RLO_MAX_RANK];
  /** It is more than a movement: dst = alpha * the sum of src + beta * dst. */
  bool is_computed;
  int32_t num_summed;
  int32_t summed[RLO_MAX_RANK];
  rlo_combine_options options;
  /** NULL if it is no chain. */
  bench_chain_fn chain;
  bench_single_fn single;
  /** The operands of a chain; else 1. */
  int32_t num_operands;
} bench_case;

/** Cases that are made at some fraction of their full size. */
typedef struct bench_case_list {
  bench_case *items;
  int32_t count, capacity;
  /** In (0, BENCH_MAX_SIZE_FACTOR]: elements of a case, against those of its
   * spec. */
  double size_factor;
} bench_case_list;

enum { BENCH_MAX_SIZE_FACTOR = 8 };

/** The size factor at which arrays are four times as large as a cache, between
 * 1 and BENCH_MAX_SIZE_FACTOR. */
double bench_size_factor_beyond(int64_t cache_bytes);

/**
 * Halve the largest extent until the product is at most `factor` of what it
 * was, or double it until it is about as much. What an extent of 32 or more
 * leaves modulo 16 stays, so that odd sizes stay odd, and powers of two stay
 * what they are.
 */
void bench_dims_scale(bench_numbers *dims, double factor);

/** Append a case. @return false, having said why, if it is not valid. */
bool bench_case_add(bench_case_list *list, const bench_case_spec *spec);

/** Does what bench_case_add does, for `count` rows of a table. */
bool bench_case_add_all(bench_case_list *list, const bench_case_spec *specs, int32_t count);

/**
 * Lower a case.
 * @param out_problems  room for `num_operands`: problem n reads operand n.
 * @return false, having said why, if that cannot be.
 */
bool bench_case_lower(const bench_case *item, rlo_problem *out_problems);

/** Free the items. */
void bench_case_list_deinit(bench_case_list *list);

#endif
