/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_MPI_PARTS_H
#define RLO_CLI_MPI_PARTS_H

#include "relayout/shape.h"

/** The part that one rank writes of an array that ranks write together: one run
 *  of its bytes. The runs of all ranks follow each other and are the whole
 * array. */
typedef struct rlo__part {
  /** 0: nothing. */
  int64_t bytes;
  /** From the beginning of the array. */
  int64_t offset_bytes;
  /** The box in the array: start <= index < limit in each dimension. */
  int64_t start[RLO_MAX_RANK], limit[RLO_MAX_RANK];
  /** The box, in the layout of the array, with the padding around it. */
  rlo_shape shape;
} rlo__part;

/** Cuts an array along its most major dimension, at tiles; one that has no such
 *  parts is rank 0's. @return the statuses of rlo_shape_array_size. */
rlo_status rlo__part_make(const rlo_shape *array,
                          int num_ranks,
                          int rank,
                          rlo__part *out_part);

#endif
