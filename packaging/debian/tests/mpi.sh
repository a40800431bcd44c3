#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The example of MPI, by four ranks on this machine, which may have fewer processors.
set -eu
work=$AUTOPKGTEST_TMP
export POCL_CACHE_DIR="$work" XDG_CACHE_HOME="$work" POCL_MAX_PTHREAD_COUNT=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# Options, to be split at their spaces.
# shellcheck disable=SC2046
mpicc docs/examples/redistribute_mpi.c -o "$work/redistribute" \
  -DCL_TARGET_OPENCL_VERSION=120 $(pkg-config --cflags --libs relayout-mpi OpenCL)
mpirun -n 4 "$work/redistribute"
mpirun -n 1 relayout-mpi help
