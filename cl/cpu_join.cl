/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of kernels of the CPU class that transpose: bytes as they are, or put
 * together from packed elements of several rows (src/plan/joined_rows.h).
 *
 * With RLO_JOINED_BITS b a unit is a byte, and the kernel moves
 *
 *     for k < 8 / b: element h of the byte k * step bytes further, as element k
 *
 * in place of the byte at an address. Its arguments for that are
 *
 *     rlo_index joined_ld   bytes from a joined row to the next
 *     rlo_index element_ld  and from the row of the destination for one element
 *                           of a byte to that of the next: the last grid axis
 *                           counts these
 *
 * Rows that begin anywhere in a byte (cpu_odd.cl) have a place and a bit each.
 */
#ifndef RLO_CPU_JOIN_CL
#define RLO_CPU_JOIN_CL

#include "cpu_common.cl"

/* Bits of a packed element: 1, 2 or 4. 0: bytes are read as they are. */
#ifndef RLO_JOINED_BITS
#define RLO_JOINED_BITS 0
#endif

/* 1: rows begin anywhere in a byte, on both sides. */
#ifndef RLO_JOINED_ODD
#define RLO_JOINED_ODD 0
#endif

#if RLO_JOINED_BITS > 0
#define RLO_JOINED_ROWS (8 / RLO_JOINED_BITS)

/* Rows that are joined: how many bytes further the element of each is, and its
 * first bit there. A block of bytes as they are: `is_plain`. */
typedef struct rlo_join {
  long places[RLO_JOINED_ROWS];
  int bits[RLO_JOINED_ROWS];
  bool is_plain;
} rlo_join;

/* The rows from an element on, in elements, `ld` from one to the next. */
RLO_INLINE rlo_join rlo_join_rows(long first, long ld) {
  rlo_join join = {.is_plain = false};
#pragma unroll
  for (int k = 0; k < RLO_JOINED_ROWS; ++k) {
    const long bit = (first + k * ld) * RLO_JOINED_BITS;
    join.places[k] = bit >> 3;
    join.bits[k] = (int)(bit & 7);
  }
  return join;
}

/* In each byte of a word: the bits of element k. */
#define RLO_JOINED_MASK(k)                                         \
  (((1UL << RLO_JOINED_BITS) - 1UL) * 0x0101010101010101UL         \
   << (k) * RLO_JOINED_BITS)

RLO_INLINE rlo_line rlo_read_line(__global const uchar *from, rlo_join join) {
  if (join.is_plain) {
    return *(__global const rlo_line_any *)from;
  }
  rlo_line sum = (rlo_line)0UL;
#pragma unroll
  for (int k = 0; k < RLO_JOINED_ROWS; ++k) {
    const rlo_line row = *(__global const rlo_line_any *)(from + join.places[k]);
    /* Rotated by less than a byte: the mask drops what came from another. */
    const ulong turn = (ulong)(k * RLO_JOINED_BITS - join.bits[k]) & 63UL;
    sum |= (row << turn | row >> (-turn & 63UL)) & RLO_JOINED_MASK(k);
  }
  return sum;
}

/* Exchanges elements of as many lines as a byte has elements: element k of line
 * h becomes element h of line k, in each byte. */
RLO_INLINE void rlo_exchange_elements(__private rlo_line *lines) {
#pragma unroll
  for (int shift = 4; shift >= RLO_JOINED_BITS; shift /= 2) {
    const int step = shift / RLO_JOINED_BITS;
    const ulong low = ~0UL / ((1UL << shift) + 1UL); /* 0x0f0f, 0x3333, 0x5555 */
#pragma unroll
    for (int k = 0; k < RLO_JOINED_ROWS; ++k) {
      if ((k & step) == 0) {
        const rlo_line other =
            (lines[k] >> (ulong)shift ^ lines[k + step]) & low;
        lines[k + step] ^= other;
        lines[k] ^= other << (ulong)shift;
      }
    }
  }
}

RLO_INLINE rlo_unit rlo_read_unit(__global const uchar *from, rlo_join join) {
  uint sum = 0;
  for (int k = 0; k < RLO_JOINED_ROWS; ++k) {
    sum |= ((uint)from[join.places[k]] >> join.bits[k] &
            ((1U << RLO_JOINED_BITS) - 1U))
           << k * RLO_JOINED_BITS;
  }
  return (rlo_unit)sum;
}
#else
typedef struct rlo_join {
  bool is_plain;
} rlo_join;

RLO_INLINE rlo_line rlo_read_line(__global const uchar *from, rlo_join join) {
  (void)join;
  return *(__global const rlo_line_any *)from;
}

RLO_INLINE rlo_unit rlo_read_unit(__global const uchar *from, rlo_join join) {
  (void)join;
  return *(__global const rlo_unit_any *)from;
}
#endif

#endif
