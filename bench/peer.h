/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_PEER_H
#define RLO_BENCH_PEER_H

#include "arena.h"
#include "case.h"
#include "plain.h"

/** A task for a contestant. Everything is borrowed. */
typedef struct bench_move {
  const bench_arena *arena;
  const bench_case *item;
  /** One for each operand of the case. */
  const rlo_problem *problem;
  /** NULL if the case is not a plain permutation. */
  const bench_plain *plain;
  int64_t element_bytes;
  /** Read and written, by all problems. */
  int64_t moved_bytes;
  /** Bytes that the copying contestants copy: the smaller array, or half of
   *  what is moved where the arrays differ for a reason. */
  int64_t copy_bytes;
  /** The library measures its plan for so long; 0: it estimates. */
  double measure_seconds;
} bench_move;

/** A contestant that does a move, or copies as many bytes. */
typedef struct bench_peer {
  const char *name;
  const char *summary;
  /** Copies instead of doing the move: nothing to check. */
  bool is_copy;
  /** Does another move: nothing to check. Its own bytes count. */
  int64_t (*moved_bytes)(const void *state);
  /** Works in host memory, so it runs on CPU devices only. */
  bool is_on_host;
  /** Runs only if it is named: it takes long. */
  bool is_opt_in;
  /** Its threads spin for a while after their work, in the way of others. */
  bool is_spinning;
  /** Everything that is not timed. @return NULL if it cannot do the move. */
  void *(*create)(const bench_move *move);
  /** Once, complete on return. @return false, having said why, on failure. */
  bool (*run)(void *state);
  /** The two halves of that, or NULL: on a GPU several runs are enqueued, and
   *  waited for once. */
  bool (*enqueue)(void *state);
  bool (*finish)(void *state);
  void (*release)(void *state);
} bench_peer;

/** The first four take part always, the last two of them on CPU devices: the
 *  copy kernel, the library, the host's copy, and for sums its reading. */
enum {
  BENCH_PEER_COPY = 0,
  BENCH_PEER_LIBRARY = 1,
  BENCH_PEER_HOST_COPY = 2,
  BENCH_PEER_READ = 3,
  BENCH_MAX_PEERS = 20
};

/** Below this many bytes the host's copy is no limit: what its threads take to
 *  wake up is not what work-groups take. */
#define BENCH_HOST_COPY_MIN_BYTES (INT64_C(64) << 10)

/** Lists the contestants that are built in. @return their number, at most
 *  BENCH_MAX_PEERS. */
int32_t bench_peers_get(const bench_peer **out_peers);

/** Returns the facts of the plan of the library's contestant. */
const rlo_plan_info *bench_peer_library_info(void *state);

extern const bench_peer bench_peer_copy;
extern const bench_peer bench_peer_library;
/** The library, as it plans without measuring: beside measured plans. */
extern const bench_peer bench_peer_estimate;
extern const bench_peer bench_peer_naive;
/** For a chain: one relayout that makes an array of the same shape. */
extern const bench_peer bench_peer_single;
extern const bench_peer bench_peer_clcopy;
extern const bench_peer bench_peer_memcpy;
extern const bench_peer bench_peer_memcpy_cached;
/** For a sum: as many bytes as the copies read and write, only read. */
extern const bench_peer bench_peer_read;
/** The library without OpenCL. */
extern const bench_peer bench_peer_host;
/** The library's service: on the arena's context, without one, and on two
 *  parts of the device. */
extern const bench_peer bench_peer_service;
extern const bench_peer bench_peer_service_host;
extern const bench_peer bench_peer_service_parts;
extern const bench_peer bench_peer_hptt;
extern const bench_peer bench_peer_hptt_measure;
extern const bench_peer bench_peer_onednn;
extern const bench_peer bench_peer_openblas;

#endif
