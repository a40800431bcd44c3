/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of units that are contiguous on both sides, for kernels of the CPU
 * class: cut by guards, copied, or filled.
 */
#ifndef RLO_CPU_RUN_CL
#define RLO_CPU_RUN_CL

#include "cpu_common.cl"

/* Which part of a row is read and which is written; bytes. Of [0, row bytes).
 */
typedef struct rlo_part {
  long read0, read1, write0, write1;
} rlo_part;

#if RLO_GUARDS > 0
RLO_INLINE void rlo_cut_row(__private const rlo_guard *guards,
                            int n,
                            long r,
                            __private long *from,
                            __private long *to) {
  const long end = *to;
  for (int g = 0; g < n; ++g) {
    const long v = guards[g].v + guards[g].y * r;
    const long limit = guards[g].limit;
    if (guards[g].x != 0) {
      *from = max(*from, -v);
      *to = min(*to, limit - v);
    } else if (v < 0 || v >= limit) {
      *to = min(*to, *from);
    }
  }
  *from = min(*from, end);
  *to = max(*from, min(*to, end));
}

RLO_INLINE rlo_part rlo_row_part(__private const rlo_guard *guards,
                                 long r,
                                 long units) {
  long w0 = 0;
  long w1 = units;
  rlo_cut_row(guards + RLO_PAD_GUARDS, RLO_SKIP_GUARDS, r, &w0, &w1);
  long r0 = w0;
  long r1 = w1;
  rlo_cut_row(guards, RLO_PAD_GUARDS, r, &r0, &r1);
  const rlo_part part = {r0 * RLO_UNIT_BYTES,
                         r1 * RLO_UNIT_BYTES,
                         w0 * RLO_UNIT_BYTES,
                         w1 * RLO_UNIT_BYTES};
  return part;
}
#endif

#define RLO_PAGE_BYTES 4096

/* Has the first lines of a page brought into the first-level cache, so that
 * hardware, whose streams end with a page, begins with it before it is read. p
 * need not be mapped. */
RLO_INLINE void rlo_open_page(__global const uchar *p) {
#if RLO_PREFETCH
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    __builtin_prefetch(
        (const void *)((ulong)p + (ulong)(k * RLO_LINE_BYTES)), 0, 3);
  }
#else
  (void)p;
#endif
}

/* Bytes that are brought near ahead of those that are copied. */
#define RLO_RUN_AHEAD 1024

/* Stores n bytes, whole lines, and opens the pages of the source meanwhile. */
RLO_INLINE void rlo_copy_lines(__global uchar *to,
                               __global const uchar *from,
                               long n) {
  for (long k = 0; k < n;) {
    const long page =
        RLO_PAGE_BYTES - (long)((ulong)(from + k) % RLO_PAGE_BYTES);
    if (k + page < n) {
      rlo_open_page(from + k + page);
    }
    const long end = min(n, k + page);
    for (; k < end; k += RLO_LINE_BYTES) {
      rlo_prefetch(from + k + RLO_RUN_AHEAD);
      rlo_store_line(to + k, *(__global const rlo_line_any *)(from + k));
    }
  }
}

/* Lines of a row where it has them, pieces at its ends. */
RLO_INLINE void rlo_copy_run(__global uchar *to,
                             __global const uchar *from,
                             long n,
                             long ahead_bytes) {
#if RLO_PREFETCH
  if (ahead_bytes != 0) {
    for (long k = 0; k < n; k += RLO_LINE_BYTES) {
      rlo_prefetch(from + k + ahead_bytes);
    }
  }
#else
  (void)ahead_bytes;
#endif
  const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES));
  rlo_piece_global(to, from, head);
  to += head;
  from += head;
  n -= head;
  const long whole = n / RLO_LINE_BYTES * RLO_LINE_BYTES;
  for (long k = 0; k < whole; k += RLO_LINE_BYTES) {
    rlo_store_line(to + k, *(__global const rlo_line_any *)(from + k));
  }
  rlo_piece_global(to + whole, from + whole, n - whole);
}

#if RLO_PAD_GUARDS > 0
RLO_INLINE void rlo_fill_run(__global uchar *to, long n, rlo_line fill) {
  const long head = min(n, (long)(-(ulong)to % RLO_LINE_BYTES));
  rlo_piece_private(to, (__private const uchar *)&fill, head);
  to += head;
  n -= head;
  const long whole = n / RLO_LINE_BYTES * RLO_LINE_BYTES;
  if (whole > 0) {
    /* A line begins head bytes into the pattern. */
    rlo_line twice[2] = {fill, fill};
    const rlo_line pattern =
        *(__private const rlo_line_any *)((__private const uchar *)twice +
                                          head % 16);
    for (long k = 0; k < whole; k += RLO_LINE_BYTES) {
      rlo_store_line(to + k, pattern);
    }
  }
  rlo_line twice[2] = {fill, fill};
  rlo_piece_private(
      to + whole, (__private const uchar *)twice + head % 16, n - whole);
}
#endif

#endif
