/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_MODEL_PROGRAM_H
#define RLO_TESTS_MODEL_PROGRAM_H

#include "relayout/chain.h"

/** Programs of operations as README.md beside this file defines them. */

/**
 * Builds the chain of a program.
 *
 * @param program   is cut into words in place.
 * @param operands  the shapes that x:0, x:1, ... name.
 * @return the chain, to be released, or NULL after a complaint.
 */
rlo_chain *model_program_build(char *program, const rlo_shape *operands, int32_t num_operands);

/** The operand that a gather or a segment sum of a program takes its indices
 *  from, and below which limit they are; -1 if there is none. */
int32_t model_program_indices(const char *program, int64_t *out_limit);

/** The permutation of the program of a relayout; returns the rank. */
int32_t model_program_permutation(const char *program, int32_t permutation[RLO_MAX_RANK]);

#endif
