/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte shuffles for one set of instructions: kernels_x86.c includes this file once for
 * each. It defines, and this file undefines:
 *
 *   ISA             the end of the names of its functions: blocks_ssse3
 *   TARGET          the attribute that permits the instructions
 *   VECTOR, LANES   a vector, and how many steps of a shuffle it holds, one in a lane
 *   WIDTH           bytes of a lane
 *   LOAD(p, step), STORE(p, v, step), STREAM(p, v, step)
 *                   lane q at p + q * step; the last past the caches, aligned to WIDTH
 *   SHUFFLE(v, mask)  the bytes of each lane of v that those at mask choose; anything
 *                   where their high bit is set
 *   MERGE(out, v, mask)  the same, with those of out where the high bit is set
 *
 * No include guard: see above. PASTE(a, b) joins the values of two macros.
 */

/* How far a run is prefetched where stores go past the caches: hardware does not look beyond a
 * page. */
#define RUN_AHEAD 4096

#define INLINE TARGET static inline __attribute__((always_inline))

/* Where vector k of a step is, in a run or of a stream. */
INLINE int64_t PASTE(place_, ISA)(const rlo__host_shuffle *shuffle, int64_t k, int64_t num_vectors,
                                  bool is_run) {
  const int64_t in_run = k + 1 < num_vectors ? k * WIDTH : shuffle->period - WIDTH;
  return is_run ? in_run : shuffle->streams[k];
}

/* Moves LANES steps at a time, and returns the steps that it has moved. */
INLINE int64_t PASTE(steps_, ISA)(uint8_t *dst, const uint8_t *src,
                                  const rlo__host_shuffle *shuffle, int64_t steps,
                                  int64_t num_vectors, bool is_src_run, bool is_dst_run) {
  const int64_t src_step = is_src_run ? shuffle->period : WIDTH;
  const int64_t dst_step = is_dst_run ? shuffle->period : WIDTH;
  const bool is_past_caches = shuffle->is_past_caches;
  int64_t step = 0;
  for (; step + LANES <= steps; step += LANES) {
    const uint8_t *from = src + step * src_step;
    const uint8_t *mask = shuffle->masks;
    VECTOR in[RLO__HOST_MAX_SHUFFLED];
    if (is_past_caches && is_src_run) {
      for (int64_t k = 0; k < LANES * shuffle->period; k += 64) {
        __builtin_prefetch(from + RUN_AHEAD + k, 0, 2);
      }
    }
#pragma GCC unroll 8
    for (int64_t u = 0; u < num_vectors; ++u) {
      in[u] = LOAD(from + PASTE(place_, ISA)(shuffle, u, num_vectors, is_src_run), src_step);
    }
#pragma GCC unroll 8
    for (int64_t v = 0; v < num_vectors; ++v) {
      VECTOR out = SHUFFLE(in[0], mask);
      mask += WIDTH;
#pragma GCC unroll 8
      for (int64_t u = 1; u < num_vectors; ++u) {
        out = MERGE(out, in[u], mask);
        mask += WIDTH;
      }
      uint8_t *to = dst + step * dst_step + PASTE(place_, ISA)(shuffle, v, num_vectors, is_dst_run);
      if (is_past_caches) {
        STREAM(to, out, dst_step);
      } else {
        STORE(to, out, dst_step);
      }
    }
  }
  return step;
}

#define CASE(n) \
  case n:       \
    return PASTE(steps_, ISA)(dst, src, shuffle, steps, n, is_src_run, is_dst_run)

/* Loops of a constant length for the usual numbers of vectors. */
INLINE int64_t PASTE(cases_, ISA)(uint8_t *dst, const uint8_t *src,
                                  const rlo__host_shuffle *shuffle, int64_t steps, bool is_src_run,
                                  bool is_dst_run) {
  switch (shuffle->num_vectors) {
    CASE(1);
    CASE(2);
    CASE(3);
    CASE(4);
    CASE(5);
    CASE(6);
    CASE(7);
    CASE(8);
    default:
      return PASTE(steps_, ISA)(dst, src, shuffle, steps, shuffle->num_vectors, is_src_run,
                                is_dst_run);
  }
}

TARGET static void PASTE(blocks_, ISA)(uint8_t *dst, const uint8_t *src,
                                       const rlo__host_shuffle *shuffle, int64_t steps) {
  const int64_t done = PASTE(cases_, ISA)(dst, src, shuffle, steps, true, true);
#if LANES > 1
  blocks_ssse3(dst + done * shuffle->period, src + done * shuffle->period, shuffle, steps - done);
#else
  (void)done;
#endif
}

#if WIDTH == RLO__HOST_STREAM_WIDTH
TARGET static void PASTE(streams_, ISA)(uint8_t *dst, const uint8_t *src,
                                        const rlo__host_shuffle *shuffle, int64_t steps) {
  const int64_t done = shuffle->is_split
                           ? PASTE(cases_, ISA)(dst, src, shuffle, steps, true, false)
                           : PASTE(cases_, ISA)(dst, src, shuffle, steps, false, true);
#if LANES > 1
  const int64_t far = done * WIDTH;
  const int64_t near = done * shuffle->period;
  streams_ssse3(dst + (shuffle->is_split ? far : near), src + (shuffle->is_split ? near : far),
                shuffle, steps - done);
#else
  (void)done;
#endif
}
#endif

#undef INLINE
#undef RUN_AHEAD
#undef CASE
#undef ISA
#undef TARGET
#undef VECTOR
#undef LANES
#undef WIDTH
#undef LOAD
#undef STORE
#undef STREAM
#undef SHUFFLE
#undef MERGE
