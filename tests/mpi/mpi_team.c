/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi_team.h"

#include <string.h>

#include "support/low_thresholds.h"

rlo_context *mpi_team_context;
cl_command_queue mpi_team_queue;

void mpi_team_init(mpi_team *t, MPI_Comm comm, int64_t num_devices, bool is_listed) {
  *t = (mpi_team){.num_devices = num_devices};
  MPI_Comm_rank(comm, &t->rank);
  MPI_Comm_size(comm, &t->num_ranks);
  rlo_mpi_link_options options = RLO_MPI_LINK_OPTIONS_INIT;
  options.devices_per_rank = (num_devices - 1) / t->num_ranks + 1;
  for (int64_t k = 0; k < num_devices; ++k) {
    t->ranks[k] = (int32_t)(is_listed ? k % t->num_ranks : k / options.devices_per_rank);
    if (t->ranks[k] == t->rank) {
      t->members[t->num_members++] = (rlo_exchange_member){k, mpi_team_context, mpi_team_queue};
    }
  }
  if (is_listed) {
    options.ranks = t->ranks;
    options.num_devices = num_devices;
  }
  CHECK_OK(rlo_mpi_link_create(comm, &options, &t->link));
  const rlo_exchange_link *link = rlo_mpi_link_get(t->link);
  CHECK(link->rank_of(link->payload, num_devices - 1) == t->ranks[num_devices - 1], "device %d",
        (int)num_devices - 1);
}

static cl_mem make_buffer(const void *data, int64_t bytes) {
  cl_mem buffer;
  CHECK_OK(rlo_buffer_create(mpi_team_context, bytes > 0 ? bytes : 1, &buffer));
  if (bytes > 0) {
    CHECK(clEnqueueWriteBuffer(mpi_team_queue, buffer, CL_TRUE, 0, (size_t)bytes, data, 0, NULL,
                               NULL) == CL_SUCCESS,
          "%lld bytes", (long long)bytes);
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
    t->memories[k] = (rlo_exchange_memory){.host_src = c->src[device], .host_dst = dst};
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
      CHECK(bytes == 0 || clEnqueueReadBuffer(mpi_team_queue, t->memories[k].dst, CL_TRUE, 0, bytes,
                                              dst, 0, NULL, NULL) == CL_SUCCESS,
            "%zu bytes", bytes);
      rlo_buffer_release(mpi_team_context, t->memories[k].src);
      rlo_buffer_release(mpi_team_context, t->memories[k].dst);
    }
    CHECK(!is_compared || memcmp(dst, c->dst[device], bytes + 1) == 0,
          "device %d of %s, rank %d of %d", (int)device, c->words, t->rank, t->num_ranks);
    free(dst);
  }
}

/* --------------------------------------------------------------- exchanges */

rlo_exchange *mpi_team_make_exchange(mpi_team *t, const mpi_case *c, int64_t message_bytes) {
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = c->plan;
  options.members = t->members;
  options.num_members = t->num_members;
  options.link = rlo_mpi_link_get(t->link);
  options.message_bytes = message_bytes;
  rlo_exchange *exchange;
  CHECK(rlo_exchange_create(&options, &exchange) == RLO_OK, "%s: %s", c->words,
        rlo_error_last()->message);
  return exchange;
}

static int64_t add_up(MPI_Comm comm, int64_t mine) {
  int64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, comm);
  return all;
}

/* Checks that all ranks together send the plan's bytes, which are the least,
 * and that no rank uses more memory than it stated. `is_cut`: the plan's
 * messages are cut into more. */
static void check_counters(MPI_Comm comm, const mpi_case *c, const rlo_exchange *exchange,
                           bool is_cut) {
  rlo_exchange_info info = RLO_EXCHANGE_INFO_INIT;
  CHECK_OK(rlo_exchange_get_info(exchange, &info));
  const int64_t sent = add_up(comm, info.bytes_sent);
  const int64_t messages = add_up(comm, info.messages_sent);
  CHECK(sent == c->cost.least_bytes_sent, "%lld of %s", (long long)sent, c->words);
  CHECK(is_cut ? messages >= c->cost.num_messages : messages == c->cost.num_messages,
        "%lld messages of %s", (long long)messages, c->words);
  CHECK(add_up(comm, info.link_bytes_sent) == add_up(comm, info.link_bytes_received), "%s",
        c->words);
  CHECK(info.host_scratch_peak <= info.host_scratch_bytes &&
            info.device_scratch_peak <= info.device_scratch_bytes,
        "%s", c->words);
}

void mpi_team_check_case(MPI_Comm comm, const mpi_case *c, bool is_listed, int64_t message_bytes) {
  mpi_team t;
  mpi_team_init(&t, comm, c->num_devices, is_listed);
  rlo_exchange *exchange = mpi_team_make_exchange(&t, c, message_bytes);
  /* An exchange runs many times. */
  for (int k = 0; k < 2; ++k) {
    mpi_team_begin_run(&t, c);
    CHECK(rlo_exchange_run(exchange, t.memories) == RLO_OK, "%s: %s", c->words,
          rlo_error_last()->message);
    check_counters(comm, c, exchange, message_bytes != 0 || test_thresholds_are_low());
    mpi_team_end_run(&t, c, true);
  }
  rlo_exchange_release(exchange);
  rlo_mpi_link_release(t.link);
}
