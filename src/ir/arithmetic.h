/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_ARITHMETIC_H
#define RLO_IR_ARITHMETIC_H

#include "relayout/problem.h"

/** The rules of rlo_arithmetic on the host, one value at a time. Conversions are
 * integer arithmetic; combiners compute in C's default floating-point mode, which
 * their caller sets. */

/** The type of the computation. */
typedef enum rlo__compute {
  /** Integers modulo 2^64. */
  RLO__COMPUTE_INTEGER = 0,
  RLO__COMPUTE_F32 = 1,
  RLO__COMPUTE_F64 = 2
} rlo__compute;

/** The compute type of valid arithmetic. */
rlo__compute rlo__arithmetic_compute(const rlo_arithmetic *arithmetic);

/** A type that holds each value of the compute type: f32, f64 or s64. */
rlo_dtype rlo__arithmetic_sum_type(const rlo_arithmetic *arithmetic);

/** The type of an operand's numbers. */
rlo_dtype rlo__arithmetic_operand_type(const rlo_problem *problem);

/** The type of a number's parts: of a complex one its component, else itself.
 */
rlo_dtype rlo__arithmetic_part(rlo_dtype dtype);

/** Tells if values of a valid type can be added: all but pred and integers
 * below a byte. */
bool rlo__arithmetic_is_addable(rlo_dtype dtype);

/** Converts one value, passed as raw bits and zero-extended. The types are
 * valid; dst_type has a zero. `in` and `out` may be the same. */
void rlo__arithmetic_convert(rlo_dtype src_type, rlo_dtype dst_type, const uint8_t in[16],
                             uint8_t out[16]);

/** A number rounded to f32 as the rules say, in any floating-point mode of the
 * caller. */
float rlo__arithmetic_f32(double number);

typedef union rlo__number {
  uint64_t integer;
  double real;
} rlo__number;

/** One part of a cell's sum. */
typedef struct rlo__sum {
  rlo__number lanes[RLO_SUM_LANES];
  /** Sums of 1, 2, 4, ... blocks; the bits of the number of blocks select those
   * in use. */
  rlo__number levels[64];
} rlo__sum;

/** The state of one cell. */
typedef struct rlo__combiner {
  const rlo_arithmetic *arithmetic;
  rlo__compute compute;
  bool is_conversion;
  bool is_repacking;
  bool is_sum;
  bool reads_cells;
  /** The real and the imaginary part. */
  int32_t num_parts;
  uint64_t num_blocks;
  rlo_dtype operand_type;
  /** A number of each list of the third memory. */
  rlo__number operands[RLO_MAX_ELEMENT_STEPS];
  /** The value, if there is no sum. */
  uint8_t value[16];
  rlo__sum parts[2];
} rlo__combiner;

/** Initializes the combiner for the cells of a canonical problem, which it
 * borrows. */
void rlo__combiner_init(rlo__combiner *combiner, const rlo_problem *problem);

/** Begins a cell. */
void rlo__combiner_begin(rlo__combiner *combiner);

/** Adds a point: its source unit as raw bits, and, in a sum, its index along
 * the innermost reduction axis. */
void rlo__combiner_add(rlo__combiner *combiner, const uint8_t unit[16], int64_t place);

/** Sets the cell's operand of a list: its number as bits. */
void rlo__combiner_set_operand(rlo__combiner *combiner, int32_t list, uint64_t bits);

/** Ends a block of a sum. */
void rlo__combiner_end_block(rlo__combiner *combiner);

/** Computes the cell: its old bits in, its new bits out. */
void rlo__combiner_finish(rlo__combiner *combiner, uint8_t cell[16]);

#endif
