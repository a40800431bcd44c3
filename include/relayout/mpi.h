/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_MPI_H
#define RELAYOUT_MPI_H

#include <mpi.h>

#include "relayout/exchange.h"

RLO_BEGIN_DECLS

/*
 * Redistributions over the ranks of MPI: a link (exchange.h) that sends with
 * MPI. Each rank runs the devices that are its own.
 *
 * These functions are in a library of their own, librelayout-mpi, which is
 * built where MPI is found. Link relayout::mpi in CMake, which
 * find_package(relayout COMPONENTS mpi) defines, or relayout-mpi with
 * pkg-config, and compile with the mpicc of the MPI that it was built with.
 *
 * Functions that are called *collective* are called by all ranks of the
 * communicator, in the same order, and return the same status on all of them:
 * where a rank fails, that of the lowest one that does, with its message,
 * "rank 3: ...", in the error record. So a rank that fails leaves no other one
 * waiting. Failures of MPI itself are the exception: RLO_IO, on a rank that
 * sees them, which then had better call MPI_Abort, since others may wait for
 * it.
 *
 * Threads: MPI has to be initialised for them. A link is used by one thread at
 * a time, with MPI_THREAD_FUNNELED by the thread that initialised MPI.
 */

/** The ranks of a communicator, and the devices that each one runs. */
typedef struct rlo_mpi_link rlo_mpi_link;

/** Which rank runs which device. Begin with RLO_MPI_LINK_OPTIONS_INIT. Equal on
 *  all ranks. */
typedef struct rlo_mpi_link_options {
  /** sizeof(rlo_mpi_link_options). */
  size_t struct_size;
  /** Device k is run by rank k / devices_per_rank. 0: 1. */
  int64_t devices_per_rank;
  /** The rank of each device, in place of that: `num_devices` of them, copied;
   *  NULL: none are listed. */
  const int32_t *ranks;
  int64_t num_devices;
} rlo_mpi_link_options;

#define RLO_MPI_LINK_OPTIONS_INIT \
  { sizeof(rlo_mpi_link_options), 0, NULL, 0 }

/**
 * Creates a link. Collective.
 *
 * @param comm     duplicated, so that no message meets one of the caller's.
 *                 Errors of the duplicate are returned, whatever the handler of
 *                 `comm`.
 * @param options  NULL: one device to a rank.
 * @param out_link  owned by the caller; rlo_mpi_link_release frees it. NULL on
 *                 failure.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, MPI_COMM_NULL, an
 *         intercommunicator, a negative number, another struct_size, options
 *         that differ between ranks, and while MPI is not initialised, or not
 *         any more; RLO_OUT_OF_RANGE for a rank that is none of the
 *         communicator; RLO_OUT_OF_MEMORY; RLO_IO for a failure of MPI.
 */
RLO_API RLO_NODISCARD rlo_status rlo_mpi_link_create(MPI_Comm comm,
                                                     const rlo_mpi_link_options *options,
                                                     rlo_mpi_link **out_link);

/** Frees a link, which no exchange uses any more, and the memory that its
 *  exchanges shared. Collective, and before
 *  MPI_Finalize. NULL is legal. */
RLO_API void rlo_mpi_link_release(rlo_mpi_link *link);

/** Returns what rlo_exchange_options takes: borrowed, as long as the link
 *  lives; NULL for NULL. One exchange over a link runs at a time, the same one
 *  on all ranks. */
RLO_API const rlo_exchange_link *rlo_mpi_link_get(const rlo_mpi_link *link);

/**
 * Makes a status of this rank one of all. Collective: for what comes before an
 * exchange, or after it.
 *
 *     rlo_status status = rlo_redistribution_create(&options, &plan);
 *     status = rlo_mpi_agree(link, status);
 *
 * @param status  RLO_OK, or what a relayout call has just returned, with its
 *                message in this thread's record.
 * @return RLO_OK if it is on all ranks; else the status of the lowest rank on
 *         which it is not.
 */
RLO_API RLO_NODISCARD rlo_status rlo_mpi_agree(rlo_mpi_link *link, rlo_status status);

/**
 * Redistributes an array once. Collective. Who does so many times makes a link
 * and an exchange, and runs that.
 *
 * @param plan     the same on all ranks; NULL on one that has none, which then
 *                 fails on all.
 * @param members  the devices that this rank runs: device num_members * rank
 *                 and those that follow, as many on every rank.
 * @param memories  of each member.
 * @return as rlo_mpi_link_create, rlo_exchange_create and rlo_exchange_run.
 */
RLO_API RLO_NODISCARD rlo_status rlo_mpi_redistribute(MPI_Comm comm, rlo_redistribution *plan,
                                                      const rlo_exchange_member *members,
                                                      int64_t num_members,
                                                      const rlo_exchange_memory *memories);

RLO_END_DECLS

#endif
