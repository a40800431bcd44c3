/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_HLO_TEXT_H
#define RLO_CLI_HLO_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/xla/shape_tree.h"

/**
 * A reader of HLO text, as XLA dumps it: modules, their computations and the
 * shape of each instruction. A line is read at a time, so that files of any
 * size are read in the memory of their longest line. It passes over operands,
 * attributes, computations within them, comments, the tables of source locations
 * and the values of constants, however many lines they take.
 */

/** An instruction. All borrowed for the call. */
typedef struct rlo__hlo_instruction {
  int64_t line;
  const char *name;
  const char *opcode;
  /** NULL if it is not stated. */
  const rlo_shape_tree *shape;
  /** The computation whose body the instruction runs as one kernel: of a
   *  fusion; else NULL. */
  const char *fused_computation;
} rlo__hlo_instruction;

/** Called for what is read, in the order of the file. The functions return
 *  RLO__EXIT_OK, or another exit code after a message: reading ends with it. */
typedef struct rlo__hlo_visitor {
  /** @param parameters  a tuple, and the result: of entry_computation_layout;
   *                     both NULL without it. Borrowed for the call. */
  int (*begin_module)(void *payload, const char *name, const rlo_shape_tree *parameters,
                      const rlo_shape_tree *result);
  /** Also for computations outside of a module. */
  int (*begin_computation)(void *payload, const char *name);
  int (*add_instruction)(void *payload, const rlo__hlo_instruction *instruction);
} rlo__hlo_visitor;

/**
 * Reads a file; "-" is standard input.
 * @param out_bad_lines  how many lines are no HLO: the first ones are reported,
 *                       with their numbers, and reading goes on.
 * @return RLO__EXIT_OK; RLO__EXIT_FAILURE, after a message, if the file cannot
 *         be read; or what a function of the visitor returned.
 */
int rlo__hlo_read(const char *path, const rlo__hlo_visitor *visitor, void *payload,
                  int64_t *out_bad_lines);

#endif
