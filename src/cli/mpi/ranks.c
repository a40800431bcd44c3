/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

void rlo__ranks_begin(int *argc, char ***argv, rlo__ranks *out_ranks) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  *out_ranks = (rlo__ranks){0};
  MPI_Comm_rank(MPI_COMM_WORLD, &out_ranks->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &out_ranks->num_ranks);
  rlo__message_hold(out_ranks->message, sizeof out_ranks->message);
  if (out_ranks->rank != 0 && freopen("/dev/null", "w", stdout) == NULL) {
    fclose(stdout);
  }
}

int rlo__ranks_agree(rlo__ranks *ranks, int code) {
  const int failing = code == RLO__EXIT_OK ? ranks->num_ranks : ranks->rank;
  int lowest = ranks->num_ranks;
  MPI_Allreduce(&failing, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (lowest < ranks->num_ranks) {
    MPI_Bcast(&code, 1, MPI_INT, lowest, MPI_COMM_WORLD);
    MPI_Bcast(ranks->message,
              (int)sizeof ranks->message,
              MPI_CHAR,
              lowest,
              MPI_COMM_WORLD);
  }
  /* Without a failure: what a rank only says, such as which file it leaves. */
  if (ranks->rank == 0) {
    fputs(ranks->message, stderr);
  }
  ranks->message[0] = '\0';
  return code;
}

void rlo__ranks_share(void *data, size_t bytes) {
  MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

int rlo__ranks_end(int code) {
  MPI_Finalize();
  return code;
}
