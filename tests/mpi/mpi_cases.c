/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redistributions over MPI, of 8 ranks:
 *
 *     mpirun -n 8 mpi_cases host|device NUM_PAIRS
 *     mpirun -n 2 mpi_cases kill
 *
 * Smaller numbers of ranks are communicators of some of the eight, so that MPI
 * starts once. Each rank knows the whole case, and compares its own devices.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "mpi_team.h"
#include "support/low_thresholds.h"

/* -------------------------------------------------------------------- facts */

static void check_random_pairs(MPI_Comm comm, int num_pairs) {
  test_random random = test_random_begin("mpi_cases");
  int num_ranks = 0;
  MPI_Comm_size(comm, &num_ranks);
  for (int k = 0; k < num_pairs; ++k) {
    mpi_case c;
    mpi_case_draw(&c, &random, num_ranks * (test_random_once_in(&random, 2) ? 2 : 1));
    mpi_team_check_case(comm, &c, test_random_once_in(&random, 2),
                        test_random_once_in(&random, 2) ? test_random_in(&random, 16, 500) : 0);
    mpi_case_deinit(&c);
  }
}

/* openxla/xla#15207: 14,336 bytes in 56 messages, where XLA replicates. */
static void check_issue_15207(MPI_Comm comm) {
  mpi_case c;
  mpi_case_init(&c, "f32[16,16,16]", "{devices=[2,1,4]<=[4,2]T(1,0)}", "f32[16,16,16]",
                "{devices=[1,8,1]<=[8]}", NULL, 8);
  CHECK(c.cost.num_messages == 56 && c.cost.bytes_sent == 14336, "%lld bytes",
        (long long)c.cost.bytes_sent);
  mpi_team_check_case(comm, &c, false, 0);
  mpi_case_deinit(&c);
}

/* A message that is one run of bytes on either side is neither packed nor
 * placed: it needs no memory. */
static void check_runs(MPI_Comm comm) {
  mpi_case c;
  mpi_case_init(&c, "f32[12,6]", "{maximal device=0}", "f32[12,6]", "{devices=[2,1]<=[2]}", NULL,
                2);
  mpi_team t;
  mpi_team_init(&t, comm, 2, false);
  mpi_team_begin_run(&t, &c);
  rlo_exchange *exchange = mpi_team_make_exchange(&t, &c, 64);
  CHECK_OK(rlo_exchange_run(exchange, t.memories));
  rlo_exchange_info info = RLO_EXCHANGE_INFO_INIT;
  CHECK_OK(rlo_exchange_get_info(exchange, &info));
  CHECK(mpi_team_context != NULL || info.host_scratch_peak == 0, "%d bytes",
        (int)info.host_scratch_peak);
  rlo_exchange_release(exchange);
  mpi_team_end_run(&t, &c, true);
  rlo_mpi_link_release(t.link);
  mpi_case_deinit(&c);
}

static void check_failure(MPI_Comm comm, rlo_status got, rlo_status wanted, const char *message) {
  /* The same on all ranks. */
  CHECK(got == wanted && strstr(rlo_error_last()->message, message) == rlo_error_last()->message,
        "%s: %s, not %s", rlo_status_name(got), rlo_error_last()->message, message);
  MPI_Barrier(comm);
}

/* Counts the messages that are read in the memory of their senders. */
static rlo_exchange_link inner_link;
static int num_read;

static rlo_status open_and_count(void *payload, int32_t slot, const void **out_data) {
  const void *data = *out_data;
  rlo_status status = inner_link.open(payload, slot, out_data);
  num_read += *out_data != data;
  return status;
}

/* MPI's answers to the link of the machines: ranks with odd numbers are on
 * another one, and this one has no memory to share. */
static bool is_apart, has_no_memory;

/* True if this rank fails to get, or to lock, the memory of the others. */
static bool loses_memory, loses_lock;
static int num_asked;

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out_comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return is_apart ? PMPI_Comm_split(comm, rank % 2, key, out_comm)
                  : PMPI_Comm_split_type(comm, type, key, info, out_comm);
}

int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm,
                            void *out_memory, MPI_Win *out_win) {
  ++num_asked;
  if (has_no_memory) {
    return MPI_ERR_NO_MEM;
  }
  int code = PMPI_Win_allocate_shared(bytes, unit, info, comm, out_memory, out_win);
  return loses_memory ? MPI_ERR_NO_MEM : code;
}

int MPI_Win_lock_all(int assert, MPI_Win win) {
  int code = PMPI_Win_lock_all(assert, win);
  return loses_lock && code == MPI_SUCCESS && PMPI_Win_unlock_all(win) == MPI_SUCCESS
             ? MPI_ERR_RMA_SYNC
             : code;
}

/* The link of a team, which counts. */
static rlo_exchange_link counting_link(const mpi_team *t) {
  inner_link = *rlo_mpi_link_get(t->link);
  rlo_exchange_link link = inner_link;
  link.open = open_and_count;
  return link;
}

static rlo_exchange_options options_of(const mpi_case *c, const mpi_team *t,
                                       const rlo_exchange_link *link) {
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = c->plan;
  options.members = t->members;
  options.num_members = t->num_members;
  options.link = link;
  return options;
}

/* From how many ranks one reads messages where they are. */
static int64_t count_near(const mpi_team *t) {
  if (!is_apart) {
    return t->num_ranks - 1;
  }
  return t->rank % 2 == 0 ? 0 : t->num_ranks / 2 - 1;
}

/* Messages that are long enough to be read where they are. */
static void init_long_messages(mpi_case *c) {
  mpi_case_init(c, "f32[1024,1024]", "{devices=[8,1]<=[8]}", "f32[1024,1024]",
                "{devices=[1,8]<=[8]}", NULL, 8);
}

/* Two exchanges over one link, of which the second one shares more memory;
 * devices with even numbers are the host's, the only ones that share. A rank
 * that fails leaves no sender waiting. If ranks are `apart`, odd ones share
 * memory with each other and even ones have none. */
static void check_shared_memory(MPI_Comm comm, bool are_apart) {
  mpi_case c;
  init_long_messages(&c);
  mpi_team t;
  mpi_team_init(&t, comm, 8, false);
  for (int64_t k = 0; k < t.num_members; ++k) {
    if (t.members[k].device % 2 == 0) {
      t.members[k] = (rlo_exchange_member){t.members[k].device, NULL, NULL};
    }
  }
  is_apart = are_apart;
  has_no_memory = are_apart && t.rank % 2 == 0;
  const rlo_exchange_link counting = counting_link(&t);
  rlo_exchange_options options = options_of(&c, &t, &counting);
  rlo_exchange *exchanges[2];
  options.message_bytes = 16384;
  options.num_slots = 16;
  CHECK_OK(rlo_exchange_create(&options, &exchanges[0]));
  options.message_bytes = 65536;
  options.num_slots = 6;
  CHECK_OK(rlo_exchange_create(&options, &exchanges[1]));
  for (int k = 0; k < 4; ++k) {
    rlo_exchange_info info = RLO_EXCHANGE_INFO_INIT;
    rlo_exchange *exchange = exchanges[k % 2];
    mpi_team_begin_run(&t, &c);
    num_read = 0;
    CHECK_OK(rlo_exchange_run(exchange, t.memories));
    CHECK_OK(rlo_exchange_get_info(exchange, &info));
    CHECK(mpi_team_context != NULL
              ? are_apart || num_read > 0
              : num_read * (t.num_ranks - 1) == info.link_messages_received * count_near(&t),
          "%d of %lld messages, exchange %d", num_read, (long long)info.link_messages_received,
          k % 2);
    mpi_team_end_run(&t, &c, true);
    mpi_team_begin_run(&t, &c);
    rlo_exchange_memory memories[MPI_CASE_MAX_DEVICES];
    memcpy(memories, t.memories, sizeof memories);
    if (t.rank == 0) {
      memories[0] = (rlo_exchange_memory){0};
    }
    check_failure(comm, rlo_exchange_run(exchange, memories), RLO_INVALID_ARGUMENT,
                  "rank 0: the source of device 0");
    mpi_team_end_run(&t, &c, false);
  }
  is_apart = has_no_memory = false;
  rlo_exchange_release(exchanges[0]);
  rlo_exchange_release(exchanges[1]);
  rlo_mpi_link_release(t.link);
  mpi_case_deinit(&c);
}

/* A message of one rank, which is read where it lies from some size on. */
static void check_one_message(const mpi_team *t, char *window, int64_t bytes) {
  const rlo_exchange_link *link = rlo_mpi_link_get(t->link);
  const bool is_shared = bytes >= rlo__thresholds.mpi_shared_message_bytes;
  char *received = calloc(1, (size_t)bytes);
  if (t->rank == 0) {
    memset(window, 7, (size_t)bytes);
    CHECK_OK(link->start_send(link->payload, 0, 1, window, bytes));
  } else {
    CHECK_OK(link->start_receive(link->payload, 0, 0, received, bytes));
  }
  for (bool is_done = false; !is_done;) {
    CHECK_OK(link->test(link->payload, 0, &is_done));
  }
  if (t->rank == 1) {
    const void *data = received;
    CHECK_OK(link->open(link->payload, 0, &data));
    CHECK((data != received) == is_shared, "%lld bytes", (long long)bytes);
    CHECK(((const char *)data)[bytes - 1] == 7, "%lld bytes", (long long)bytes);
    CHECK_OK(link->close(link->payload, 0));
  }
  free(received);
}

/* A rank with few bytes to send shares no memory, nor does one with many. */
static void check_window_sizes(MPI_Comm comm) {
  mpi_team t;
  mpi_team_init(&t, comm, 2, false);
  const rlo_exchange_link *link = rlo_mpi_link_get(t.link);
  const int64_t least = rlo__thresholds.mpi_least_window_bytes;
  const int64_t most = rlo__thresholds.mpi_most_window_bytes;
  const int64_t sizes[] = {least - 1, least, most, most + 1};
  void *memory[4];
  for (int n = 0; n < 4; ++n) {
    CHECK_OK(link->share(link->payload, sizes[n], &memory[n]));
    CHECK((memory[n] != NULL) == (n == 1 || n == 2), "%lld bytes", (long long)sizes[n]);
  }
  for (int n = -1; n <= 1; ++n) {
    check_one_message(&t, memory[2], rlo__thresholds.mpi_shared_message_bytes + n);
  }
  rlo_mpi_link_release(t.link);
}

/* One rank alone has no window: all send, and nobody asks again. */
static void check_memory_of_some(MPI_Comm comm, bool is_lock) {
  mpi_case c;
  init_long_messages(&c);
  mpi_team t;
  mpi_team_init(&t, comm, 8, false);
  for (int64_t k = 0; k < t.num_members; ++k) {
    t.members[k] = (rlo_exchange_member){t.members[k].device, NULL, NULL};
  }
  loses_memory = t.rank == 1 && !is_lock;
  loses_lock = t.rank == 1 && is_lock;
  num_asked = 0;
  const rlo_exchange_link counting = counting_link(&t);
  rlo_exchange_options options = options_of(&c, &t, &counting);
  options.message_bytes = 65536;
  for (int k = 0; k < 2; ++k) {
    rlo_exchange *exchange;
    CHECK_OK(rlo_exchange_create(&options, &exchange));
    mpi_team_begin_run(&t, &c);
    num_read = 0;
    CHECK_OK(rlo_exchange_run(exchange, t.memories));
    CHECK(num_read == 0, "%d messages", num_read);
    mpi_team_end_run(&t, &c, true);
    rlo_exchange_release(exchange);
  }
  CHECK(num_asked == 1, "%d windows", num_asked);
  loses_memory = loses_lock = false;
  rlo_mpi_link_release(t.link);
  mpi_case_deinit(&c);
}

/* 8 summands by any number of ranks: the bits of one process. */
static void check_sums(MPI_Comm comm) {
  mpi_case c;
  mpi_case_init(&c, "f32[6,5]", "{devices=[1,2,4]<=[8] last_tile_dims={unreduced}}",
                "f32[5,6]{0,1:pad(6,6)fill(one)}", "{devices=[2,4]<=[8]}", (const int32_t[]){1, 0},
                8);
  mpi_team_check_case(comm, &c, false, 0);
  mpi_team_check_case(comm, &c, true, 8);
  mpi_case_deinit(&c);
}

/* A link whose third send makes the next allocation fail: in round 3. */
static int sends_left;

static rlo_status send_and_lose(void *payload, int32_t slot, int32_t rank, const void *data,
                                int64_t bytes) {
  if (--sends_left == 0) {
    rlo__alloc_set_fault(1, true);
  }
  return inner_link.start_send(payload, slot, rank, data, bytes);
}

/* A rank fails to plan, to allocate, to run; all ranks say so, and go on. */
static void check_faults(MPI_Comm comm) {
  const double begin = MPI_Wtime();
  mpi_case c;
  mpi_case_init(&c, "f32[16,16]", "{devices=[8,1]<=[8]}", "f32[16,16]{0,1}", "{devices=[1,8]<=[8]}",
                NULL, 8);
  mpi_team t;
  mpi_team_init(&t, comm, 8, false);
  mpi_team_begin_run(&t, &c);
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = t.rank == 2 ? NULL : c.plan;
  options.members = t.members;
  options.num_members = t.num_members;
  options.link = rlo_mpi_link_get(t.link);
  rlo_exchange *exchange;
  check_failure(comm, rlo_exchange_create(&options, &exchange), RLO_INVALID_ARGUMENT, "rank 2: ");
  check_failure(comm,
                rlo_mpi_redistribute(comm, options.plan, t.members, t.num_members, t.memories),
                RLO_INVALID_ARGUMENT, "rank 2: ");
  check_failure(comm, rlo_mpi_agree(t.link, t.rank < 1 ? RLO_OK : rlo_error_set(RLO_IO, "no disk")),
                RLO_IO, "rank 1: no disk");
  CHECK_OK(rlo_mpi_agree(t.link, RLO_OK));
  options.plan = c.plan;

  const int64_t live = rlo__alloc_live_count();
  rlo__alloc_set_fault(t.rank == 1 ? 5 : 0, false);
  check_failure(comm, rlo_exchange_create(&options, &exchange), RLO_OUT_OF_MEMORY, "rank 1: ");
  rlo__alloc_set_fault(0, false);
  /* A context remembers what it has planned. */
  CHECK(mpi_team_context != NULL || rlo__alloc_live_count() == live, "rank %d", t.rank);

  inner_link = *options.link;
  rlo_exchange_link lossy = inner_link;
  lossy.start_send = send_and_lose;
  options.link = &lossy;
  CHECK_OK(rlo_exchange_create(&options, &exchange));
  rlo_exchange_memory memories[MPI_CASE_MAX_DEVICES];
  memcpy(memories, t.memories, sizeof memories);
  memories[0].host_dst = t.rank == 3 ? NULL : memories[0].host_dst;
  if (mpi_team_context == NULL) {
    check_failure(comm, rlo_exchange_run(exchange, memories), RLO_INVALID_ARGUMENT,
                  "rank 3: the destination of device");
  } else {
    sends_left = t.rank == 3 ? 3 : 0;
    rlo_status status = rlo_exchange_run(exchange, t.memories);
    rlo__alloc_set_fault(0, false);
    check_failure(comm, status, RLO_OUT_OF_MEMORY, "rank 3: ");
  }
  /* It can run again. */
  sends_left = 0;
  CHECK_OK(rlo_exchange_run(exchange, t.memories));
  rlo_exchange_release(exchange);
  mpi_team_end_run(&t, &c, true);
  mpi_team_begin_run(&t, &c);
  CHECK_OK(rlo_mpi_redistribute(comm, c.plan, t.members, t.num_members, t.memories));
  mpi_team_end_run(&t, &c, true);
  rlo_mpi_link_release(t.link);
  mpi_case_deinit(&c);
  /* Ten seconds, on a machine that is not busy with other tests. */
  const char *patience = getenv("CK_TIMEOUT_MULTIPLIER");
  const double limit = 10 * (patience != NULL ? atof(patience) : 1);
  CHECK(MPI_Wtime() - begin < limit, "%g s", MPI_Wtime() - begin);
}

static void check_refusals(MPI_Comm comm) {
  rlo_mpi_link *link;
  rlo_mpi_link_options options = RLO_MPI_LINK_OPTIONS_INIT;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  CHECK(rlo_mpi_link_create(comm, NULL, NULL) == RLO_INVALID_ARGUMENT, "NULL");
  check_failure(comm, rlo_mpi_link_create(MPI_COMM_NULL, NULL, &link), RLO_INVALID_ARGUMENT,
                "'comm' is MPI_COMM_NULL");
  MPI_Comm half;
  MPI_Comm between;
  MPI_Comm_split(comm, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 0, &between);
  check_failure(comm, rlo_mpi_link_create(between, NULL, &link), RLO_INVALID_ARGUMENT,
                "'comm' is an intercommunicator");
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  options.devices_per_rank = rank == 1 ? -1 : 1;
  check_failure(comm, rlo_mpi_link_create(comm, &options, &link), RLO_INVALID_ARGUMENT,
                "rank 1: -1 devices to a rank");
  options.devices_per_rank = rank == 1 ? 2 : 1;
  check_failure(comm, rlo_mpi_link_create(comm, &options, &link), RLO_INVALID_ARGUMENT,
                "the ranks differ");
  options.ranks = (const int32_t[]){0, 99};
  options.num_devices = 2;
  check_failure(comm, rlo_mpi_link_create(comm, &options, &link), RLO_OUT_OF_RANGE,
                "rank 0: device 1 is that of rank 99");
  CHECK(rlo_mpi_link_get(NULL) == NULL, "NULL");
  CHECK(rlo_mpi_agree(NULL, RLO_OK) == RLO_INVALID_ARGUMENT, "NULL");
  rlo_mpi_link_release(NULL);
}

/* ----------------------------------------------------------------- programs */

/* By communicators of the first ranks, of these sizes. */
static void check_all(int num_pairs) {
  static const int sizes[] = {2, 3, 4, 8, 1};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int64_t live = rlo__alloc_live_count();
  for (int n = 0; n < 5; ++n) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank < sizes[n] ? 0 : MPI_UNDEFINED, rank, &comm);
    if (comm == MPI_COMM_NULL) {
      continue;
    }
    check_random_pairs(comm, sizes[n] == 1 ? 1 : num_pairs / 4);
    check_sums(comm);
    /* With low thresholds their windows would be too large. */
    const bool has_windows = !test_thresholds_are_low();
    if (sizes[n] == 2) {
      check_runs(comm);
      check_window_sizes(comm);
    }
    if (has_windows && sizes[n] == 2) {
      check_memory_of_some(comm, false);
      check_memory_of_some(comm, true);
    }
    if (has_windows && (sizes[n] == 2 || sizes[n] == 8)) {
      check_shared_memory(comm, sizes[n] == 8);
    }
    if (sizes[n] == 4) {
      check_faults(comm);
      check_refusals(comm);
    }
    if (sizes[n] >= 4) {
      check_issue_15207(comm);
    }
    MPI_Comm_free(&comm);
  }
  CHECK(mpi_team_context != NULL || rlo__alloc_live_count() == live, "rank %d", rank);
}

static rlo_status die(void *payload, int32_t slot, int32_t rank, const void *data, int64_t bytes) {
  (void)payload, (void)slot, (void)rank, (void)data, (void)bytes;
  raise(SIGKILL);
  return RLO_OK;
}

/* Rank 1 dies in its first round. MPI ends rank 0, which waits for it. */
static void run_and_die(void) {
  mpi_case c;
  mpi_case_init(&c, "f32[4,4]", "{devices=[2,1]<=[2]}", "f32[4,4]", "{devices=[1,2]<=[2]}", NULL,
                2);
  mpi_team t;
  mpi_team_init(&t, MPI_COMM_WORLD, 2, false);
  mpi_team_begin_run(&t, &c);
  inner_link = *rlo_mpi_link_get(t.link);
  inner_link.start_send = t.rank == 1 ? die : inner_link.start_send;
  const rlo_exchange_options options = options_of(&c, &t, &inner_link);
  rlo_exchange *exchange;
  CHECK_OK(rlo_exchange_create(&options, &exchange));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const char *word = argc > 1 ? argv[1] : "";
  if (strcmp(word, "kill") == 0) {
    run_and_die();
    return 0;
  }
  if (strcmp(word, "device") == 0) {
    CHECK_OK(rlo_context_create_default(0, NULL, &mpi_team_context));
    mpi_team_queue = clCreateCommandQueue(rlo_context_cl_context(mpi_team_context),
                                          rlo_context_cl_device(mpi_team_context), 0, NULL);
    CHECK(mpi_team_queue != NULL, "no queue");
  }
  check_all(argc > 2 ? atoi(argv[2]) : 0);
  if (mpi_team_context != NULL) {
    clReleaseCommandQueue(mpi_team_queue);
    rlo_context_release(mpi_team_context);
  }
  MPI_Finalize();
  return 0;
}
