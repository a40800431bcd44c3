/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi_team.h"

#include <string.h>

rlo_context *mpi_team_context;
cl_command_queue mpi_team_queue;

void mpi_team_init(mpi_team *t,
                   MPI_Comm comm,
                   int64_t num_devices,
                   bool is_listed) {
  *t = (mpi_team){.num_devices = num_devices};
  MPI_Comm_rank(comm, &t->rank);
  MPI_Comm_size(comm, &t->num_ranks);
  rlo_mpi_link_options options = RLO_MPI_LINK_OPTIONS_INIT;
  options.devices_per_rank = (num_devices - 1) / t->num_ranks + 1;
  for (int64_t k = 0; k < num_devices; ++k) {
    t->ranks[k] =
        (int32_t)(is_listed ? k % t->num_ranks : k / options.devices_per_rank);
    if (t->ranks[k] == t->rank) {
      t->members[t->num_members++] =
          (rlo_exchange_member){k, mpi_team_context, mpi_team_queue};
    }
  }
  if (is_listed) {
    options.ranks = t->ranks;
    options.num_devices = num_devices;
  }
  CHECK_OK(rlo_mpi_link_create(comm, &options, &t->link));
  const rlo_exchange_link *link = rlo_mpi_link_get(t->link);
  CHECK(link->rank_of(link->payload, num_devices - 1) ==
            t->ranks[num_devices - 1],
        "device %d",
        (int)num_devices - 1);
}

static cl_mem make_buffer(const void *data, int64_t bytes) {
  cl_mem buffer;
  CHECK_OK(rlo_buffer_create(mpi_team_context, bytes > 0 ? bytes : 1, &buffer));
  if (bytes > 0) {
    CHECK(clEnqueueWriteBuffer(mpi_team_queue,
                               buffer,
                               CL_TRUE,
                               0,
                               (size_t)bytes,
                               data,
                               0,
                               NULL,
                               NULL) == CL_SUCCESS,
          "%lld bytes",
          (long long)bytes);
  }
  return buffer;
}

void mpi_team_begin_run(mpi_team *t, const mpi_case *c) {
  for (int64_t k = 0; k < t->num_members; ++k) {
    int64_t device = t->members[k].device;
    int64_t bytes = c->dst_bytes[device];
    unsigned char *dst = malloc((size_t)bytes + 1);
    CHECK(dst != NULL, "%lld bytes", (long long)bytes);
    memset(dst, 0xa5, (size_t)bytes + 1);
    t->memories[k] =
        (rlo_exchange_memory){.host_src = c->src[device], .host_dst = dst};
    if (t->members[k].context != NULL) {
      t->memories[k].src = make_buffer(c->src[device], c->src_bytes[device]);
      t->memories[k].dst = make_buffer(dst, bytes);
    }
  }
}

void mpi_team_end_run(mpi_team *t, const mpi_case *c, bool is_compared) {
  for (int64_t k = 0; k < t->num_members; ++k) {
    int64_t device = t->members[k].device;
    unsigned char *dst = t->memories[k].host_dst;
    size_t bytes = (size_t)c->dst_bytes[device];
    if (t->members[k].context != NULL) {
      CHECK(bytes == 0 || clEnqueueReadBuffer(mpi_team_queue,
                                              t->memories[k].dst,
                                              CL_TRUE,
                                              0,
                                              bytes,
                                              dst,
                                              0,
                                              NULL,
                                              NULL) == CL_SUCCESS,
            "%zu bytes",
            bytes);
      rlo_buffer_release(mpi_team_context, t->memories[k].src);
      rlo_buffer_release(mpi_team_context, t->memories[k].dst);
    }
    CHECK(!is_compared || memcmp(dst, c->dst[device], bytes + 1) == 0,
          "device %d of %s, rank %d of %d",
          (int)device,
          c->words,
          t->rank,
          t->num_ranks);
    free(dst);
  }
}
