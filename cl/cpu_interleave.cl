/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins streams to structures, or splits structures into streams, in registers:
 * for cpu_skinny.cl, which defines the names.
 */
#ifndef RLO_CPU_INTERLEAVE_CL
#define RLO_CPU_INTERLEAVE_CL

#include "cpu_shuffle.cl"

/* 1: structures to arrays; 0: arrays to structures. */
#ifndef RLO_SKINNY_SPLIT
#define RLO_SKINNY_SPLIT 1
#endif

/* The short extent, 2..16. */
#ifndef RLO_SKINNY_N
#define RLO_SKINNY_N 3
#endif

/* With SPLIT: units from structure to structure in the source, N..16. */
#ifndef RLO_SKINNY_LD
#define RLO_SKINNY_LD RLO_SKINNY_N
#endif

#define L RLO_LINE_UNITS
#define E RLO_UNIT_BYTES
#define N RLO_SKINNY_N
/* Vectors of one step, of which SPLIT may leave some outputs unused. */
#if RLO_SKINNY_SPLIT
#define V RLO_SKINNY_LD
#else
#define V N
#endif

/*
 * Bytes and 16-bit units are shuffled within 16-byte lanes, because moving them
 * across lanes costs several instructions: lane q of a vector then holds units
 * of the q-th of four groups. Wider units are shuffled across the whole line.
 * GRAIN is the number of units that a shuffle may mix.
 */
#if RLO_UNIT_BYTES <= 2 && RLO_VECTOR_SHUFFLE
#define RLO_GRAIN (16 / RLO_UNIT_BYTES)
#else
#define RLO_GRAIN RLO_LINE_UNITS
#endif
#define RLO_GRAIN_BYTES (RLO_GRAIN * RLO_UNIT_BYTES)
#define RLO_GRAINS      (RLO_LINE_UNITS / RLO_GRAIN)

#if RLO_VECTOR_SHUFFLE
/*
 * Joining V streams is a transposition of V x GRAIN units, and splitting is its
 * inverse. Where V = R * M, R streams that are M apart are joined first, and
 * then M of those: passes over the prime factors of V. The pass of R takes
 * R - 1 shuffles to a vector, where a single one for V would take V - 1.
 */

/* Element e of a vector is element e % RLO_SUB of unit e / RLO_SUB, which is
 * unit RLO_LOCAL of its grain. */
#define RLO_LOCAL(e)    ((e) / RLO_SUB % RLO_GRAIN)
#define RLO_GRAIN_OF(e) ((e) / RLO_SUB - RLO_LOCAL(e))
#define RLO_ELEMENT(unit, e) \
  (((unit) + RLO_GRAIN_OF(e)) * RLO_SUB + (e) % RLO_SUB)

/* Which unit of n vectors, laid end to end per grain, moves to element e of
 * output o of a pass: its vector and its place there. */
#if RLO_SKINNY_SPLIT
#define RLO_FLAT(n, o, e)      (RLO_LOCAL(e) * (n) + (o))
#define RLO_SOURCE_OF(n, o, e) (RLO_FLAT(n, o, e) / RLO_GRAIN)
#define RLO_AT(n, o, e)        (RLO_FLAT(n, o, e) % RLO_GRAIN)
#else
#define RLO_FLAT(n, o, e)      ((o)*RLO_GRAIN + RLO_LOCAL(e))
#define RLO_SOURCE_OF(n, o, e) (RLO_FLAT(n, o, e) % (n))
#define RLO_AT(n, o, e)        (RLO_FLAT(n, o, e) / (n))
#endif
#define RLO_ELEMENT_OF(n, o, e) RLO_ELEMENT(RLO_AT(n, o, e), e)

/* The vectors that a pass joins or splits in iteration g. */
#define RLO_APART(n, k)    ((k) * (V / (n)) + g)
#define RLO_TOGETHER(n, k) (g * (n) + (k))
#if RLO_SKINNY_SPLIT
#define RLO_IN(n, k)       in[RLO_TOGETHER(n, k)]
#define RLO_PUT(n, k, sum) out[RLO_APART(n, k)] = (sum)
#else
#define RLO_IN(n, k)       in[RLO_APART(n, k)]
#define RLO_PUT(n, k, sum) out[RLO_TOGETHER(n, k)] = (sum)
#endif

/* clang-format off */
#define RLO_PASS(n)                                       \
  {                                                       \
    rlo_units out[V];                                     \
    _Pragma("unroll") for (int g = 0; g < V / (n); ++g) { \
      RLO_MIXES(n, n)                                     \
    }                                                     \
    _Pragma("unroll") for (int k = 0; k < V; ++k) {       \
      in[k] = out[k];                                     \
    }                                                     \
  }

/* clang-format on */

/* In place: lines of V streams to lines, or the inverse, grain by grain. */
RLO_INLINE void rlo_shuffle_grains(__private rlo_units *in) {
#if V % 2 == 0
  RLO_PASS(2)
#endif
#if V % 4 == 0
  RLO_PASS(2)
#endif
#if V % 8 == 0
  RLO_PASS(2)
#endif
#if V % 16 == 0
  RLO_PASS(2)
#endif
#if V % 3 == 0
  RLO_PASS(3)
#endif
#if V % 9 == 0
  RLO_PASS(3)
#endif
#if V % 5 == 0
  RLO_PASS(5)
#endif
#if V % 7 == 0
  RLO_PASS(7)
#endif
#if V % 11 == 0
  RLO_PASS(11)
#endif
#if V % 13 == 0
  RLO_PASS(13)
#endif
}

#if RLO_GRAINS > 1 && !RLO_SKINNY_SPLIT
/* Lane q of vector m is piece q * V + m of what leaves, and line k is made of
 * pieces 4 * k to 4 * k + 3. */
#define RLO_GRAIN_AT(k, j) in[(4 * (k) + (j)) % V]
#define RLO_LANE(k, j)     (2 * ((4 * (k) + (j)) / V))
/* clang-format off */
#define RLO_LINE_OF_PIECES(unused, k)                                        \
  {                                                                          \
    const rlo_line low = __builtin_shufflevector(                            \
        __builtin_astype(RLO_GRAIN_AT(k, 0), rlo_line),                      \
        __builtin_astype(RLO_GRAIN_AT(k, 1), rlo_line),                      \
        RLO_LANE(k, 0), RLO_LANE(k, 0) + 1,                                  \
        8 + RLO_LANE(k, 1), 9 + RLO_LANE(k, 1), -1, -1, -1, -1);             \
    const rlo_line high = __builtin_shufflevector(                           \
        __builtin_astype(RLO_GRAIN_AT(k, 2), rlo_line),                      \
        __builtin_astype(RLO_GRAIN_AT(k, 3), rlo_line),                      \
        -1, -1, -1, -1, RLO_LANE(k, 2), RLO_LANE(k, 2) + 1,                  \
        8 + RLO_LANE(k, 3), 9 + RLO_LANE(k, 3));                             \
    out[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 12, 13, 14, 15); \
  }
/* clang-format on */
#endif

/* N lines of output from the vectors of a step, which it overwrites. */
RLO_INLINE void rlo_shuffle(__private rlo_units *in, __private rlo_line *out) {
  rlo_shuffle_grains(in);
#if RLO_GRAINS > 1 && !RLO_SKINNY_SPLIT
  RLO_EACH(N)(RLO_LINE_OF_PIECES, 0)
#else
#pragma unroll
  for (int k = 0; k < N; ++k) {
    out[k] = __builtin_astype(in[k], rlo_line);
  }
#endif
}
#else
RLO_INLINE void rlo_shuffle(__private rlo_units *in, __private rlo_line *out) {
  __private const rlo_unit *from = (__private const rlo_unit *)in;
  __private rlo_unit *to = (__private rlo_unit *)out;
  for (int o = 0; o < N; ++o) {
    for (int u = 0; u < L; ++u) {
#if RLO_SKINNY_SPLIT
      to[o * L + u] = from[u * V + o];
#else
      const int flat = o * L + u;
      to[o * L + u] = from[flat % N * L + flat / N];
#endif
    }
  }
}
#endif

#endif
