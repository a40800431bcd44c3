/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_THRESHOLD_H
#define RLO_BASE_THRESHOLD_H

#include <stdint.h>

/**
 * The sizes at which code takes another path, all in one place, so that tests
 * can lower them and take with arrays of some KiB the paths that users take
 * with large ones. X(name, value, low): `low` is what tests set
 * (tests/support/low_thresholds.h). Units are in the names. docs/testing.md has
 * the table.
 */
#define RLO__THRESHOLDS(X)                                                   \
  /* The widest vectors of the host mover; 1: portable C. */                 \
  X(host_vector_bytes, 64, 64)                                               \
  /* The host mover stores destinations of at least so many bytes past the   \
   * caches: about what caches hold. */                                      \
  X(host_past_caches_bytes, INT64_C(4) << 20, 1)                             \
  /* A thread of the host mover that moves less is not worth its start. */   \
  X(host_thread_bytes, INT64_C(256) << 10, 512)                              \
  /* Axes are joined to a side of a plane until it has so many bytes. */     \
  X(host_side_bytes, 1024, 96)                                               \
  /* A tile of blocks: the bytes of a source row, of a row where the tile is \
   * staged, of a destination row (most and least), and of all of it. */     \
  X(host_tile_src_bytes, 512, 64)                                            \
  X(host_staged_tile_src_bytes, 256, 64)                                     \
  X(host_tile_dst_bytes, 1024, 128)                                          \
  X(host_tile_min_dst_bytes, 256, 64)                                        \
  X(host_tile_bytes, INT64_C(128) << 10, 4096)                               \
  X(host_staged_tile_bytes, INT64_C(64) << 10, 4096)                         \
  /* A tile of grains: the bytes of a source row, and of all of it. */       \
  X(host_grains_src_bytes, 1024, 64)                                         \
  X(host_grains_bytes, INT64_C(16) << 10, 1024)                              \
  /* The bytes that a tile has of each of a few streams. */                  \
  X(host_stream_bytes, 4096, 96)                                             \
  /* A longer grain moves in chunks of so many bytes. */                     \
  X(host_chunk_bytes, INT64_C(64) << 10, 192)                                \
  /* Tiles that need more are not staged; at most RLO__HOST_STAGE_BYTES. */  \
  X(host_stage_bytes, INT64_C(128) << 10, 8192)                              \
  /* Shorter runs of the destination are stored without a stage; at least a  \
   * line, so that a tile holds the end of a line that the one before began. \
   */                                                                        \
  X(host_staged_run_bytes, 256, 64)                                          \
  /* Longer grains are stored past the caches one by one. */                 \
  X(host_staged_grain_bytes, 1024, 48)                                       \
  /* A splat copies so much of its pattern at once. */                       \
  X(host_pattern_bytes, 4096, 64)                                            \
  /* A problem in so many parts is cut no further at its guards. */          \
  X(host_parts, 256, 12)                                                     \
  /* So many points of an axis are looked at one by one for a guard. */      \
  X(host_guard_points, 16, 3)

/** A field for each row of the table. */
typedef struct rlo__threshold_values {
#define RLO__THRESHOLD_FIELD(name, value, low) int64_t name;
  RLO__THRESHOLDS(RLO__THRESHOLD_FIELD)
#undef RLO__THRESHOLD_FIELD
} rlo__threshold_values;

/** Constant but for tests, which set it before anything else runs. */
extern rlo__threshold_values rlo__thresholds;

#endif
