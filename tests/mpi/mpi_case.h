/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_MPI_MPI_CASE_H
#define RLO_TESTS_MPI_MPI_CASE_H

#include <stdio.h>
#include <stdlib.h>

#include "relayout/mpi.h"
#include "support/random.h"

/** Ends all ranks, with a line that says where and why, unless `condition`. A
 *  rank that went on alone would leave the others waiting. */
#define CHECK(condition, ...)                                         \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: " #condition ": ", __FILE__, __LINE__); \
      fprintf(stderr, __VA_ARGS__);                                   \
      fputc('\n', stderr);                                            \
      MPI_Abort(MPI_COMM_WORLD, 1);                                   \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

/** CHECK for a call of the library. */
#define CHECK_OK(call) CHECK((call) == RLO_OK, "%s", rlo_error_last()->message)

enum { MPI_CASE_RANK = 3, MPI_CASE_MAX_DEVICES = 16 };

/** A redistribution, with the memory of every device before and after it: as
 *  one process moves it, without a link. The same on all ranks. */
typedef struct mpi_case {
  char words[512];
  rlo_redistribution *plan;
  rlo_redistribution_cost cost;
  int64_t num_devices;
  unsigned char *src[MPI_CASE_MAX_DEVICES];
  unsigned char *dst[MPI_CASE_MAX_DEVICES];
  int64_t src_bytes[MPI_CASE_MAX_DEVICES], dst_bytes[MPI_CASE_MAX_DEVICES];
} mpi_case;

/** Makes a case of four texts: shape and sharding on either side. */
void mpi_case_init(mpi_case *c, const char *from, const char *from_sharding, const char *to,
                   const char *to_sharding, const int32_t *permutation, int64_t num_devices);

/** Draws a case of so many devices. */
void mpi_case_draw(mpi_case *c, test_random *random, int64_t num_devices);

void mpi_case_deinit(mpi_case *c);

#endif
