/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the positions along a side of a plane lie, for cpu_tile.cl: a side is one
 * axis, or up to three that are one behind the other.
 */
#ifndef RLO_CPU_PLACES_CL
#define RLO_CPU_PLACES_CL

/* Axes that a side of the plane may be made of: 1 or 3. */
#ifndef RLO_LEVELS
#define RLO_LEVELS 1
#endif

/* A prefetch follows a table of places. */
#define RLO_AHEAD_LISTED (RLO_LEVELS > 1)

#include "cpu_common.cl"

/* A side of the plane: position c1 + n1 * (c2 + n2 * c3), where c1 < n1 and
 * c2 < n2, is at c1 * step1 + c2 * step2 + c3 * step3 bytes. */
typedef struct rlo_side {
  long n1, n2;
  long step1, step2, step3;
} rlo_side;

#if RLO_LEVELS > 1
/* Offsets of the positions of a side, in bytes: a table, computed per tile. */
typedef __private const long *rlo_places;

RLO_INLINE long rlo_place_at(rlo_places places, long position, long step) {
  (void)step;
  return places[position];
}

RLO_INLINE rlo_places rlo_places_from(rlo_places places,
                                      long position,
                                      long step) {
  (void)step;
  return places + position;
}

/* Writes the offsets of `count` positions from `first` on. */
RLO_INLINE void rlo_find_places(rlo_side side,
                                long first,
                                long count,
                                __private long *out) {
  const long q = first / side.n1;
  const long c3 = q / side.n2;
  long c1 = first - q * side.n1;
  long c2 = q - c3 * side.n2;
  long at = c2 * side.step2 + c3 * side.step3;
  for (long k = 0; k < count;) {
    const long n = min(count - k, side.n1 - c1);
    for (long i = 0; i < n; ++i) {
      out[k + i] = at + (c1 + i) * side.step1;
    }
    k += n;
    c1 = 0;
    at += side.step2;
    c2 += 1;
    if (c2 == side.n2) {
      c2 = 0;
      at += side.step3 - side.n2 * side.step2;
    }
  }
}
#else
/* Offsets of the positions of a side, in bytes: the first one; all lie at one
 * step. */
typedef long rlo_places;

RLO_INLINE long rlo_place_at(rlo_places places, long position, long step) {
  return places + position * step;
}

RLO_INLINE rlo_places rlo_places_from(rlo_places places,
                                      long position,
                                      long step) {
  return places + position * step;
}
#endif

#endif
