/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "base/threshold.h"
#include "relayout/mpi.h"

/* A sentence with its terminator: what a thread's error record holds. */
#define MESSAGE_BYTES 512

/* Sizes at least double, so that no link has more. */
#define MAX_WINDOWS 32

/* Messages of a link: the bytes of a message, or a notice of where they are in
 * a window. */
enum { DATA_TAG = 0, NOTICE_TAG = 1 };

/* Where a sender has a message. It gets a message of no bytes, with the tag
 * `slot`, when that was read. */
typedef struct notice {
  int32_t slot, window;
  int64_t offset;
} notice;

typedef struct transfer {
  /* The transfer; for a send from a window, the end of reading. */
  MPI_Request request;
  /* Bytes that are to come; -1 for a send. */
  int expected_bytes;
  /* The notice that a send from a window sends. */
  notice notice;
  /* True if a receive got `notice` in place of the message. */
  bool has_notice;
  int rank;
  void *data;
} transfer;

/* Memory of the ranks of one machine, each of which can read all of it. */
typedef struct window {
  MPI_Win win;
  char *memory;
  int64_t bytes;
} window;

struct rlo_mpi_link {
  /* Ours alone, so that all messages may have one tag. */
  MPI_Comm comm;
  rlo_exchange_link functions;
  int64_t devices_per_rank;
  /* NULL: by devices_per_rank. */
  int32_t *ranks;
  int64_t num_devices;
  transfer transfers[2 * RLO_EXCHANGE_MAX_SLOTS];
  /* The ranks of this machine, MPI_COMM_NULL before one is asked for memory;
   * by rank of `comm` the rank there, MPI_UNDEFINED for one elsewhere. */
  MPI_Comm neighbours;
  int *neighbour_ranks;
  window windows[MAX_WINDOWS];
  int num_windows;
  /** A rank of this machine got none: no more are asked for. */
  bool has_no_more;
};

/* ------------------------------------------------------------------ errors */

static rlo_status check_call(int code, const char *call) {
  if (code == MPI_SUCCESS) {
    return RLO_OK;
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  (void)MPI_Error_string(code, text, &length);
  return RLO_FAIL(RLO_IO, "%s failed: %s", call, text);
}

/* Returns the status of a call from the current function if it failed. */
#define TRY_MPI(call, arguments) RLO_TRY(check_call(call arguments, #call))

/* Fails on all ranks as the lowest one does that has failed. */
static rlo_status agree(MPI_Comm comm, rlo_status status) {
  struct {
    int32_t status;
    char message[MESSAGE_BYTES];
  } failure = {.status = (int32_t)status};

  int rank = 0;
  int num_ranks = 0;
  if (status != RLO_OK) {
    (void)snprintf(failure.message, sizeof failure.message, "%s", rlo_error_last()->message);
  }
  TRY_MPI(MPI_Comm_rank, (comm, &rank));
  TRY_MPI(MPI_Comm_size, (comm, &num_ranks));
  const int failing = status == RLO_OK ? num_ranks : rank;
  int lowest = num_ranks;
  TRY_MPI(MPI_Allreduce, (&failing, &lowest, 1, MPI_INT, MPI_MIN, comm));
  if (lowest == num_ranks) {
    return RLO_OK;
  }
  TRY_MPI(MPI_Bcast, (&failure, (int)sizeof failure, MPI_BYTE, lowest, comm));
  return rlo_error_set((rlo_status)failure.status, "rank %d: %s", lowest, failure.message);
}

/* --------------------------------------------------------------- transfers */

static int32_t rank_of(void *payload, int64_t device) {
  const rlo_mpi_link *link = payload;
  if (link->ranks != NULL) {
    return device < 0 || device >= link->num_devices ? -1 : link->ranks[device];
  }
  int64_t rank = device / link->devices_per_rank;
  return device < 0 || rank >= link->functions.num_ranks ? -1 : (int32_t)rank;
}

/* The window that has `data`; -1: none, or the rank is on another machine. */
static int find_window(const rlo_mpi_link *link, int32_t rank, const void *data) {
  const uintptr_t at = (uintptr_t)data;
  int n = link->num_windows;
  if (n == 0 || link->neighbour_ranks[rank] == MPI_UNDEFINED) {
    return -1;
  }
  do {
    --n;
  } while (n >= 0 && at - (uintptr_t)link->windows[n].memory >= (uintptr_t)link->windows[n].bytes);
  return n;
}

/* Sends where the message is, and waits for the answer. */
static rlo_status start_notice(rlo_mpi_link *link, int32_t slot, int32_t rank, int n,
                               const void *data) {
  transfer *t = &link->transfers[slot];
  MPI_Request sent;
  t->notice = (notice){slot, n, (const char *)data - link->windows[n].memory};
  TRY_MPI(MPI_Win_sync, (link->windows[n].win));
  TRY_MPI(MPI_Irecv,
          (NULL, 0, MPI_BYTE, link->neighbour_ranks[rank], slot, link->neighbours, &t->request));
  TRY_MPI(MPI_Isend,
          (&t->notice, (int)sizeof t->notice, MPI_BYTE, rank, NOTICE_TAG, link->comm, &sent));
  /* The answer says that it is done. */
  TRY_MPI(MPI_Request_free, (&sent));
  return RLO_OK;
}

static rlo_status start_send(void *payload, int32_t slot, int32_t rank, const void *data,
                             int64_t bytes) {
  rlo_mpi_link *link = payload;
  transfer *t = &link->transfers[slot];
  t->expected_bytes = -1;
  const int n =
      bytes < rlo__thresholds.mpi_shared_message_bytes ? -1 : find_window(link, rank, data);
  if (n >= 0) {
    return start_notice(link, slot, rank, n, data);
  }
  TRY_MPI(MPI_Isend, (data, (int)bytes, MPI_BYTE, rank, DATA_TAG, link->comm, &t->request));
  return RLO_OK;
}

static rlo_status start_receive(void *payload, int32_t slot, int32_t rank, void *data,
                                int64_t bytes) {
  rlo_mpi_link *link = payload;
  transfer *t = &link->transfers[slot];
  t->expected_bytes = (int)bytes;
  t->rank = rank;
  t->data = data;
  TRY_MPI(MPI_Irecv, (data, (int)bytes, MPI_BYTE, rank, MPI_ANY_TAG, link->comm, &t->request));
  return RLO_OK;
}

static rlo_status test(void *payload, int32_t slot, bool *out_is_done) {
  rlo_mpi_link *link = payload;
  transfer *t = &link->transfers[slot];
  int is_done = 0;
  MPI_Status received;
  TRY_MPI(MPI_Test, (&t->request, &is_done, &received));
  *out_is_done = is_done != 0;
  if (is_done == 0 || t->expected_bytes < 0) {
    return RLO_OK;
  }
  int bytes = 0;
  TRY_MPI(MPI_Get_count, (&received, MPI_BYTE, &bytes));
  t->has_notice = received.MPI_TAG == NOTICE_TAG;
  const int expected_bytes = t->has_notice ? (int)sizeof t->notice : t->expected_bytes;
  t->expected_bytes = -1;
  RLO_FAIL_IF(bytes != expected_bytes, RLO_INTERNAL,
              "rank %d sent a message of %d bytes where %d are due", received.MPI_SOURCE, bytes,
              expected_bytes);
  if (t->has_notice) {
    memcpy(&t->notice, t->data, sizeof t->notice);
  }
  return RLO_OK;
}

static rlo_status open_message(void *payload, int32_t slot, const void **out_data) {
  rlo_mpi_link *link = payload;
  const transfer *t = &link->transfers[slot];
  if (!t->has_notice) {
    return RLO_OK;
  }
  const MPI_Win win = link->windows[t->notice.window].win;
  MPI_Aint bytes = 0;
  int unit = 0;
  char *memory = NULL;
  TRY_MPI(MPI_Win_shared_query,
          (win, link->neighbour_ranks[t->rank], &bytes, &unit, (void *)&memory));
  TRY_MPI(MPI_Win_sync, (win));
  *out_data = memory + t->notice.offset;
  return RLO_OK;
}

static rlo_status close_message(void *payload, int32_t slot) {
  rlo_mpi_link *link = payload;
  transfer *t = &link->transfers[slot];
  if (!t->has_notice) {
    return RLO_OK;
  }
  MPI_Request sent;
  t->has_notice = false;
  TRY_MPI(MPI_Isend, (NULL, 0, MPI_BYTE, link->neighbour_ranks[t->rank], t->notice.slot,
                      link->neighbours, &sent));
  TRY_MPI(MPI_Request_free, (&sent));
  return RLO_OK;
}

/* ------------------------------------------------------------------- memory */

/* Finds the ranks of this machine. Collective. */
static rlo_status find_neighbours(rlo_mpi_link *link) {
  const int num_ranks = link->functions.num_ranks;
  if (link->neighbour_ranks == NULL) {
    link->neighbour_ranks = rlo__alloc_array(2 * (size_t)num_ranks, sizeof *link->neighbour_ranks);
  }
  RLO_TRY(agree(link->comm, link->neighbour_ranks == NULL ? RLO_OUT_OF_MEMORY : RLO_OK));
  /* The numbers of all ranks, to be translated. */
  int *ranks = link->neighbour_ranks + num_ranks;
  for (int k = 0; k < num_ranks; ++k) {
    ranks[k] = k;
  }
  MPI_Group all;
  MPI_Group few;
  TRY_MPI(MPI_Comm_split_type,
          (link->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &link->neighbours));
  (void)MPI_Comm_set_errhandler(link->neighbours, MPI_ERRORS_RETURN);
  (void)MPI_Comm_group(link->comm, &all);
  (void)MPI_Comm_group(link->neighbours, &few);
  (void)MPI_Group_translate_ranks(all, num_ranks, ranks, few, link->neighbour_ranks);
  (void)MPI_Group_free(&all);
  (void)MPI_Group_free(&few);
  return RLO_OK;
}

/* Adds a window, if all ranks of this machine get theirs. Collective among
 * them. */
static rlo_status add_window(rlo_mpi_link *link, int64_t bytes) {
  window *w = &link->windows[link->num_windows];
  MPI_Info info = MPI_INFO_NULL;
  /* Each rank's memory begins at a page. */
  TRY_MPI(MPI_Info_create, (&info));
  (void)MPI_Info_set(info, "alloc_shared_noncontig", "true");
  /* True if it is made, and if it is locked: on this rank, then on all. */
  int has[2] = {MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, link->neighbours, &w->memory,
                                        &w->win) == MPI_SUCCESS};
  has[1] = has[0] && MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win) == MPI_SUCCESS;
  const bool is_locked = has[1];
  (void)MPI_Info_free(&info);
  TRY_MPI(MPI_Allreduce, (MPI_IN_PLACE, has, 2, MPI_INT, MPI_MIN, link->neighbours));
  w->bytes = bytes;
  link->num_windows += has[1];
  link->has_no_more = !has[1];
  if (is_locked && !has[1]) {
    (void)MPI_Win_unlock_all(w->win);
  }
  /* All ranks free a window together: one that some did not get stays. */
  return has[0] && !has[1] ? check_call(MPI_Win_free(&w->win), "MPI_Win_free") : RLO_OK;
}

/* The exchanges of a link run one at a time and so need one window, the
 * largest, but the earlier ones keep theirs. */
static rlo_status share(void *payload, int64_t bytes, void **out_memory) {
  rlo_mpi_link *link = payload;
  *out_memory = NULL;
  if (bytes < rlo__thresholds.mpi_least_window_bytes ||
      bytes > rlo__thresholds.mpi_most_window_bytes) {
    bytes = 0;
  }
  int64_t most = bytes;
  TRY_MPI(MPI_Allreduce, (MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, link->comm));
  if (most == 0) {
    return RLO_OK;
  }
  if (link->neighbours == MPI_COMM_NULL) {
    RLO_TRY(find_neighbours(link));
  }
  const int last = link->num_windows - 1;
  if (!link->has_no_more && (last < 0 || link->windows[last].bytes < most)) {
    const int64_t doubled = last < 0 ? 0 : 2 * link->windows[last].bytes;
    RLO_TRY(add_window(link, most > doubled ? most : doubled));
  }
  const int newest = link->num_windows - 1;
  if (newest >= 0 && bytes > 0 && link->windows[newest].bytes >= bytes) {
    *out_memory = link->windows[newest].memory;
  }
  return RLO_OK;
}

static void free_windows(rlo_mpi_link *link) {
  for (int n = 0; n < link->num_windows; ++n) {
    (void)MPI_Win_unlock_all(link->windows[n].win);
    (void)MPI_Win_free(&link->windows[n].win);
  }
  if (link->neighbours != MPI_COMM_NULL) {
    (void)MPI_Comm_free(&link->neighbours);
  }
}

/* -------------------------------------------------------------------- links */

static rlo_status check_running(void) {
  int is_begun = 0;
  int is_ended = 0;
  (void)MPI_Initialized(&is_begun);
  (void)MPI_Finalized(&is_ended);
  return is_begun != 0 && is_ended == 0
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "MPI is not %s",
                        is_begun == 0 ? "initialised" : "usable any more: it was finalized");
}

static rlo_status read_options(const rlo_mpi_link_options *options, int num_ranks,
                               rlo_mpi_link_options *out) {
  RLO_TRY(rlo__options_read("MPI link options", "RLO_MPI_LINK_OPTIONS_INIT", options, out,
                            sizeof *out));
  RLO_FAIL_IF(out->devices_per_rank < 0 || out->num_devices < 0, RLO_INVALID_ARGUMENT,
              "%" PRId64 " devices to a rank and ranks of %" PRId64
              " devices: neither may be negative",
              out->devices_per_rank, out->num_devices);
  RLO_REQUIRE_LIST(out->ranks, out->num_devices);
  for (int64_t k = 0; k < out->num_devices; ++k) {
    RLO_FAIL_IF(out->ranks[k] < 0 || out->ranks[k] >= num_ranks, RLO_OUT_OF_RANGE,
                "device %" PRId64 " is that of rank %" PRId32 ", which is outside 0..%d", k,
                out->ranks[k], num_ranks - 1);
  }
  return RLO_OK;
}

static rlo_status fill_link(MPI_Comm comm, const rlo_mpi_link_options *options,
                            rlo_mpi_link *link) {
  int rank = 0;
  int num_ranks = 0;
  TRY_MPI(MPI_Comm_rank, (comm, &rank));
  TRY_MPI(MPI_Comm_size, (comm, &num_ranks));
  rlo_mpi_link_options o = RLO_MPI_LINK_OPTIONS_INIT;
  RLO_TRY(read_options(options, num_ranks, &o));
  link->devices_per_rank = o.devices_per_rank == 0 ? 1 : o.devices_per_rank;
  link->num_devices = o.num_devices;
  if (o.num_devices > 0) {
    link->ranks = rlo__alloc_array((size_t)o.num_devices, sizeof *link->ranks);
    RLO_TRY_MEMORY(link->ranks);
    memcpy(link->ranks, o.ranks, (size_t)o.num_devices * sizeof *link->ranks);
  }
  link->functions = (rlo_exchange_link){.struct_size = sizeof link->functions,
                                        .payload = link,
                                        .rank = rank,
                                        .num_ranks = num_ranks,
                                        .rank_of = rank_of,
                                        .start_send = start_send,
                                        .start_receive = start_receive,
                                        .test = test,
                                        .share = share,
                                        .open = open_message,
                                        .close = close_message};
  link->neighbours = MPI_COMM_NULL;
  return RLO_OK;
}

/* A number that is mostly another one for other ranks of devices. */
static uint64_t hash_ranks(const rlo_mpi_link *link) {
  uint64_t hash = (uint64_t)link->devices_per_rank;
  for (int64_t k = 0; k < link->num_devices; ++k) {
    hash = (hash ^ (uint64_t)(link->ranks[k] + 1)) * UINT64_C(0x100000001b3);
  }
  return hash ^ (uint64_t)link->num_devices << 40;
}

/* Checks that all ranks agree on the rank of each device. */
static rlo_status check_equal(const rlo_mpi_link *link) {
  const uint64_t mine = hash_ranks(link);
  const uint64_t both[2] = {mine, ~mine};
  uint64_t least[2];
  TRY_MPI(MPI_Allreduce, (both, least, 2, MPI_UINT64_T, MPI_MIN, link->comm));
  return least[0] == ~least[1]
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "the ranks differ in which rank runs which device");
}

static void free_link(rlo_mpi_link *link) {
  if (link != NULL) {
    rlo__free(link->ranks);
    rlo__free(link->neighbour_ranks);
    rlo__free(link);
  }
}

rlo_status rlo_mpi_link_create(MPI_Comm comm, const rlo_mpi_link_options *options,
                               rlo_mpi_link **out_link) {
  RLO_REQUIRE(out_link);
  *out_link = NULL;
  RLO_TRY(check_running());
  RLO_FAIL_IF(comm == MPI_COMM_NULL, RLO_INVALID_ARGUMENT, "'comm' is MPI_COMM_NULL");
  int is_inter = 0;
  TRY_MPI(MPI_Comm_test_inter, (comm, &is_inter));
  RLO_FAIL_IF(is_inter, RLO_INVALID_ARGUMENT,
              "'comm' is an intercommunicator, of two groups of ranks; one of a single group is "
              "needed, as MPI_Intercomm_merge makes it");
  MPI_Comm ours;
  TRY_MPI(MPI_Comm_dup, (comm, &ours));
  (void)MPI_Comm_set_errhandler(ours, MPI_ERRORS_RETURN);
  rlo_mpi_link *link = rlo__alloc(sizeof *link);
  rlo_status status = link == NULL ? RLO_OUT_OF_MEMORY : fill_link(ours, options, link);
  status = agree(ours, status);
  if (status == RLO_OK && link != NULL) {
    link->comm = ours;
    status = check_equal(link);
  }
  if (status != RLO_OK) {
    free_link(link);
    (void)MPI_Comm_free(&ours);
    return status;
  }
  *out_link = link;
  return RLO_OK;
}

void rlo_mpi_link_release(rlo_mpi_link *link) {
  if (link != NULL) {
    if (check_running() == RLO_OK) {
      free_windows(link);
      (void)MPI_Comm_free(&link->comm);
    }
    free_link(link);
  }
}

const rlo_exchange_link *rlo_mpi_link_get(const rlo_mpi_link *link) {
  return link == NULL ? NULL : &link->functions;
}

rlo_status rlo_mpi_agree(rlo_mpi_link *link, rlo_status status) {
  RLO_REQUIRE(link);
  return agree(link->comm, status);
}

/* -------------------------------------------------------------------- once */

/* Gives each rank the numbers of as many devices as any rank has. */
static rlo_status number_devices(rlo_mpi_link *link, const rlo_exchange_member *members,
                                 int64_t num_members, int64_t *out_message_bytes) {
  bool is_on_host = true;
  for (int64_t k = 0; members != NULL && k < num_members; ++k) {
    is_on_host = is_on_host && members[k].context == NULL;
  }
  const int64_t mine[2] = {num_members < 1 ? 1 : num_members, !is_on_host};
  int64_t most[2];
  TRY_MPI(MPI_Allreduce, (mine, most, 2, MPI_INT64_T, MPI_MAX, link->comm));
  link->devices_per_rank = most[0];
  *out_message_bytes = most[1] == 0 ? rlo__thresholds.mpi_host_message_bytes : 0;
  return RLO_OK;
}

static rlo_status run_once(rlo_mpi_link *link, rlo_redistribution *plan,
                           const rlo_exchange_member *members, int64_t num_members,
                           const rlo_exchange_memory *memories) {
  /* A window takes longer to make than it gains once. */
  rlo_exchange_link functions = link->functions;
  functions.share = NULL;
  functions.open = NULL;
  functions.close = NULL;
  rlo_exchange_options options = {.struct_size = sizeof options,
                                  .plan = plan,
                                  .members = members,
                                  .num_members = num_members,
                                  .link = &functions};
  RLO_TRY(number_devices(link, members, num_members, &options.message_bytes));
  rlo_exchange *exchange = NULL;
  RLO_TRY(rlo_exchange_create(&options, &exchange));
  rlo_status status = rlo_exchange_run(exchange, memories);
  rlo_exchange_release(exchange);
  return status;
}

rlo_status rlo_mpi_redistribute(MPI_Comm comm, rlo_redistribution *plan,
                                const rlo_exchange_member *members, int64_t num_members,
                                const rlo_exchange_memory *memories) {
  rlo_mpi_link *link = NULL;
  RLO_TRY(rlo_mpi_link_create(comm, NULL, &link));
  rlo_status status = run_once(link, plan, members, num_members, memories);
  rlo_mpi_link_release(link);
  return status;
}
