/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_MPI_MPI_TEAM_H
#define RLO_TESTS_MPI_MPI_TEAM_H

#include "mpi_case.h"
#include "relayout/opencl.h"

/** The device of the members' memory. NULL: on the host. */
extern rlo_context *mpi_team_context;
extern cl_command_queue mpi_team_queue;

/** A link between ranks, and the members that are this rank's. */
typedef struct mpi_team {
  rlo_mpi_link *link;
  int32_t rank, num_ranks;
  int64_t num_devices;
  int32_t ranks[MPI_CASE_MAX_DEVICES];
  rlo_exchange_member members[MPI_CASE_MAX_DEVICES];
  rlo_exchange_memory memories[MPI_CASE_MAX_DEVICES];
  int64_t num_members;
} mpi_team;

/** Makes a link of devices that are dealt out to the ranks, in turns if
 *  `is_listed`, else in runs. The caller releases it. */
void mpi_team_init(mpi_team *t, MPI_Comm comm, int64_t num_devices, bool is_listed);

/** Makes the memories of a run of the case. */
void mpi_team_begin_run(mpi_team *t, const mpi_case *c);

/** Frees them, after a comparison with what the case wants. */
void mpi_team_end_run(mpi_team *t, const mpi_case *c, bool is_compared);

/** Makes the exchange of a case. The caller releases it. @param message_bytes
 *  0: the usual limit. */
rlo_exchange *mpi_team_make_exchange(mpi_team *t, const mpi_case *c, int64_t message_bytes);

/** Runs a case twice on a team of its own, and compares bytes and counters. */
void mpi_team_check_case(MPI_Comm comm, const mpi_case *c, bool is_listed, int64_t message_bytes);

#endif
