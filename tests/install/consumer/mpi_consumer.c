/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the component of MPI as it is installed; one rank is enough, which needs
 * no mpirun. */
#include "relayout/mpi.h"

int main(int argc, char **argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
    return 1;
  }
  rlo_mpi_link *link = NULL;
  if (rlo_mpi_link_create(MPI_COMM_WORLD, NULL, &link) != RLO_OK ||
      rlo_mpi_link_get(link)->num_ranks != 1) {
    return 1;
  }
  rlo_mpi_link_release(link);
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
