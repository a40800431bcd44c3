/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_MPI_RANKS_H
#define RLO_CLI_MPI_RANKS_H

#include <stddef.h>
#include <stdint.h>

/** The ranks that run a command together: all of MPI_COMM_WORLD. Messages of a
 *  rank are held until the ranks agree on an exit code. */
typedef struct rlo__ranks {
  int rank, num_ranks;
  char message[16384];
} rlo__ranks;

/** Initialises MPI and holds the messages of this rank; ranks other than 0
 *  print nothing on standard output. The address must not change. */
void rlo__ranks_begin(int *argc, char ***argv, rlo__ranks *out_ranks);

/**
 * Makes an exit code one of all ranks: that of the lowest one where it is not
 * RLO__EXIT_OK. Its message is printed, by rank 0. Collective. Failures of MPI
 * end all ranks, here and below.
 */
int rlo__ranks_agree(rlo__ranks *ranks, int code);

/** Copies bytes from rank 0 to all. Collective. */
void rlo__ranks_share(void *data, size_t bytes);

/** `relayout-mpi convert`; argv[0] is the verb. Collective. Each rank moves one
 *  contiguous part of the output, by a service of its own.
 *  @return an exit code of message.h, the same on all ranks. */
int rlo__convert_by_ranks(rlo__ranks *ranks, int argc, char **argv);

/** Ends MPI. @return `code`. */
int rlo__ranks_end(int code);

#endif
