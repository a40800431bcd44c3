/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

/* Which of these are built is for CMake to say. */
#ifndef BENCH_HAS_HPTT
#define BENCH_HAS_HPTT 0
#endif
#ifndef BENCH_HAS_ONEDNN
#define BENCH_HAS_ONEDNN 0
#endif
#ifndef BENCH_HAS_OPENBLAS
#define BENCH_HAS_OPENBLAS 0
#endif

int32_t bench_peers_get(const bench_peer **out_peers) {
  int32_t count = 0;
  out_peers[count++] = &bench_peer_copy;
  out_peers[count++] = &bench_peer_library;
  out_peers[count++] = &bench_peer_memcpy;
  out_peers[count++] = &bench_peer_read;
  out_peers[count++] = &bench_peer_estimate;
  out_peers[count++] = &bench_peer_memcpy_cached;
  out_peers[count++] = &bench_peer_host;
  out_peers[count++] = &bench_peer_service;
  out_peers[count++] = &bench_peer_service_host;
  out_peers[count++] = &bench_peer_service_parts;
  out_peers[count++] = &bench_peer_clcopy;
  out_peers[count++] = &bench_peer_naive;
  out_peers[count++] = &bench_peer_single;
#if BENCH_HAS_HPTT
  out_peers[count++] = &bench_peer_hptt;
  out_peers[count++] = &bench_peer_hptt_measure;
#endif
#if BENCH_HAS_ONEDNN
  out_peers[count++] = &bench_peer_onednn;
#endif
#if BENCH_HAS_OPENBLAS
  out_peers[count++] = &bench_peer_openblas;
#endif
  return count;
}
