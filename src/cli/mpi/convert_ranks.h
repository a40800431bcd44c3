/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_MPI_CONVERT_RANKS_H
#define RLO_CLI_MPI_CONVERT_RANKS_H

#include "ranks.h"

/** `relayout-mpi convert`; argv[0] is the verb. Collective. Each rank moves one
 *  contiguous part of the output, by a service of its own.
 *  @return an exit code of message.h, the same on all ranks. */
int rlo__convert_by_ranks(rlo__ranks *ranks, int argc, char **argv);

#endif
