/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_COMBINE_H
#define RLO_CLI_OP_COMBINE_H

#include "relayout/tensor.h"

#include "array_file.h"

/** What becomes of the results of an operation: out = alpha * result + beta *
 *  out, by the rules of rlo_arithmetic. */
typedef struct rlo__op_factors {
  double alpha, beta;
} rlo__op_factors;

#define RLO__OP_FACTORS_INIT \
  { 1.0, 0.0 }

/** Returns whether the results are more than what the operation gives. */
bool rlo__op_factors_matter(const rlo__op_factors *factors);

/** Reads what the file of a result holds into the result's memory, if it is to
 *  be added. Returns RLO__EXIT_OK, or prints the reason and returns
 *  RLO__EXIT_FAILURE. */
int rlo__op_load_old(const rlo__op_factors *factors,
                     const char *path,
                     const rlo__array *output);

/** Combines a result with the array in output->data, on the host, and writes it
 *  there in the output's layout. */
RLO_NODISCARD rlo_status rlo__op_combine(const rlo__op_factors *factors,
                                         rlo_tensor *result,
                                         const rlo__array *output);

#endif
