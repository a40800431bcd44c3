/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/agreement.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

/* Receive from the two children, send to the parent, receive from it, send to the children. */
enum { NUM_STEPS = 6 };

static void set_failure(rlo__agreement *a, rlo_status status) {
  const rlo_error *error = rlo_error_last();
  a->verdict.rank = a->link->rank;
  a->verdict.status = (int32_t)status;
  (void)snprintf(a->verdict.message, sizeof a->verdict.message, "%s",
                 error->status == status ? error->message : "");
}

void rlo__agreement_begin(rlo__agreement *agreement, const rlo_exchange_link *link,
                          rlo_status status, uint64_t hash) {
  memset(agreement, 0, sizeof *agreement);
  agreement->link = link;
  agreement->verdict.rank = link->num_ranks;
  agreement->verdict.hash = hash;
  if (status != RLO_OK) {
    set_failure(agreement, status);
  }
}

/* The rank that a step is with; -1: there is none. */
static int32_t find_peer(const rlo__agreement *a) {
  static const int32_t to_child[NUM_STEPS] = {1, 2, 0, 0, 1, 2};
  int64_t child = to_child[a->step];
  if (child == 0) {
    return a->link->rank == 0 ? -1 : (a->link->rank - 1) / 2;
  }
  int64_t peer = 2 * (int64_t)a->link->rank + child;
  return peer < a->link->num_ranks ? (int32_t)peer : -1;
}

static bool is_receive(const rlo__agreement *a) {
  return a->step == 0 || a->step == 1 || a->step == 3;
}

/* Tells if this file can have sent the verdict that was received. */
static bool is_verdict(const rlo__agreement *a) {
  const rlo__verdict *v = &a->received;
  const bool is_failure = v->status > RLO_OK && v->status <= RLO_INTERNAL;
  return v->rank >= 0 && v->rank <= a->link->num_ranks &&
         (v->rank == a->link->num_ranks || is_failure) &&
         memchr(v->message, '\0', sizeof v->message) != NULL;
}

/* Takes in what a child or the parent has found. */
static void merge(rlo__agreement *a, int32_t peer) {
  if (!is_verdict(a)) {
    if (a->verdict.rank > a->link->rank) {
      set_failure(a, RLO_FAIL(RLO_DATA_LOSS, "rank %" PRId32 " sent what is no verdict", peer));
    }
    return;
  }
  if (a->received.rank < a->verdict.rank) {
    a->verdict = a->received;
    return;
  }
  if (a->received.hash != a->verdict.hash && a->verdict.rank == a->link->num_ranks) {
    set_failure(
        a, RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "rank %" PRId32 " has another plan, or other options, than this one", peer));
  }
}

rlo_status rlo__agreement_step(rlo__agreement *agreement, bool *out_is_done) {
  rlo__agreement *a = agreement;
  *out_is_done = false;
  while (a->step < NUM_STEPS) {
    const rlo_exchange_link *link = a->link;
    int32_t peer = find_peer(a);
    bool is_done = peer < 0;
    if (!is_done && !a->is_started) {
      const int64_t bytes = sizeof a->verdict;
      RLO_TRY(RLO__CALLBACK(is_receive(a)
                                ? link->start_receive(link->payload, 0, peer, &a->received, bytes)
                                : link->start_send(link->payload, 0, peer, &a->verdict, bytes),
                            "the link, with rank %" PRId32, peer));
      a->is_started = true;
    }
    if (!is_done) {
      RLO_TRY(RLO__CALLBACK(link->test(link->payload, 0, &is_done), "the link's test"));
      if (!is_done) {
        return RLO_OK;
      }
      if (is_receive(a)) {
        merge(a, peer);
      }
    }
    a->is_started = false;
    ++a->step;
  }
  *out_is_done = true;
  return RLO_OK;
}

rlo_status rlo__agreement_result(const rlo__agreement *agreement) {
  const rlo__verdict *v = &agreement->verdict;
  if (v->rank == agreement->link->num_ranks) {
    return RLO_OK;
  }
  return rlo_error_set((rlo_status)v->status, "rank %" PRId32 ": %s", v->rank, v->message);
}

rlo_status rlo__agreement_run(rlo__agreement *agreement) {
  for (;;) {
    bool is_done;
    RLO_TRY(rlo__agreement_step(agreement, &is_done));
    if (is_done) {
      return rlo__agreement_result(agreement);
    }
    (void)sched_yield();
  }
}
