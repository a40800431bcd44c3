/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family rows, CPU class: the innermost axis is contiguous on both sides.
 *
 *     for each point i of a block, k < row_units:
 *         dst[dst_offset + sum(i_d * dst_stride_d) + k] =
 *         src[src_offset + sum(i_d * src_stride_d) + k]
 *
 * A block is a box of the grid's axes; one of these may be the row's own, of which a block then
 * takes a chunk. Here the coordinates of the grid are points: strides and the coefficients of
 * guards are those of one point. Arguments after the common ten:
 *
 *   10  rlo_grid grid_points      points of each grid axis, >= 1
 *   11  rlo_grid grid_step        points of it in a whole block, >= 1;
 *                                 grid_extent is ceil(points / step)
 *   12  int row_axis              grid axis along the row, -1: rows are whole
 *   13  rlo_index row_units       units of a row that is whole, >= 1
 *   14  int lean_axis             grid axis whose points continue a row in the
 *                                 destination, and whose blocks share lines;
 *                                 RLO_ROWS_ARE_LINES: every row begins and ends
 *                                 with a line, for any row_axis; -1: neither
 *   15  rlo_index blocks          blocks that one group moves, one after
 *                                 another
 *   16  int fetch_axes            bit d: a block's points of grid axis d
 *                                 continue its rows in the source
 *   17  int fetch_lines           lines of the next block to prefetch with a row
 *   18  rlo_index src_first       units [src_first, src_end) may be read, from
 *   19  rlo_index src_end         src_offset on
 *   20  the guards; x is the coefficient of k and must be 0 or 1, y is 0
 *
 * A block has at most RLO_ROWS_PLACES rows. They are moved in the order of the destination. What
 * follows itself there is made into whole lines: a line in which rows meet is blended from
 * unaligned loads of both, so that any alignment and any gap work. Along lean_axis, where rows
 * are 64 bytes or longer, a block begins with the first line that begins in it, and ends with the
 * last of these, for which it reads from the row behind it: no line of a run is written by two
 * groups but those at its ends.
 *
 * The host should choose: blocks of 4 to 16 KiB, a few rows in each direction, with runs of the
 * same length on both sides, and groups of several blocks in the order of the source, so that
 * hardware recognizes a few streams and looks ahead by itself. RLO_PREFETCH only where a block is
 * one run of the source, which is read in short jumps, or rows have RLO_LONG_BYTES. RLO_NT where
 * runs of the destination are 256 bytes or more, or whole lines, and the destination is larger
 * than the caches.
 */
#include "cpu_run.cl"

#ifndef RLO_KERNEL
#define RLO_KERNEL cpu_rows
#endif

/* Most rows of a block. */
#ifndef RLO_ROWS_PLACES
#define RLO_ROWS_PLACES 512
#endif

/* For lean_axis: every row begins and ends with a line of the destination. */
#define RLO_ROWS_ARE_LINES (-2)

/* Rows of this length and more are read page after page: see rlo_open_page. */
#define RLO_LONG_BYTES 1024

#define E RLO_UNIT_BYTES

/* A row: bytes from the block's corner, and what it adds to each guard. */
typedef struct rlo_place {
  rlo_index src;
  rlo_index dst;
#if RLO_GUARDS > 0
  rlo_index guard[RLO_GUARDS];
#endif
} rlo_place;

/* The source, and what of it may be read. */
typedef struct rlo_source {
  __global const uchar *begin;
  __global const uchar *end;
  /* The block that is being read is a line or more away from both. */
  bool is_inner;
  /* Bytes 0xff, and behind them zeros. */
  rlo_line masks[2];
} rlo_source;

/* A line of the destination that is being made: its bytes [begin, end) are in
 * `bytes`. */
typedef struct rlo_writer {
  __global uchar *line;
  long begin, end;
  rlo_line bytes;
} rlo_writer;

/* A line of which the bytes [at, at + n) are those from `from` on. */
RLO_INLINE rlo_line rlo_load(__private const rlo_source *source,
                             __global const uchar *from,
                             long at,
                             long n) {
  __global const uchar *line = from - at;
  if (source->is_inner ||
      (line >= source->begin && line + RLO_LINE_BYTES <= source->end)) {
    return *(__global const rlo_line_any *)line;
  }
  rlo_line part = 0;
#pragma unroll 1
  for (long k = 0; k < n; ++k) {
    ((__private uchar *)&part)[at + k] = from[k];
  }
  return part;
}

/* The first n bytes of `low`, and those behind them of `high`. */
RLO_INLINE rlo_line rlo_blend(__private const rlo_source *source,
                              rlo_line low,
                              rlo_line high,
                              long n) {
  const rlo_line mask =
      *(__private const rlo_line_any *)((__private const uchar *)source->masks +
                                        (RLO_LINE_BYTES - n));
  return (low & mask) | (high & ~mask);
}

/* Stores what there is of a line, and begins one at `to`. */
RLO_INLINE void rlo_begin_line(__private rlo_writer *writer,
                               __global uchar *to) {
  rlo_line bytes = writer->bytes;
  rlo_piece_private(writer->line + writer->begin,
                    (__private const uchar *)&bytes + writer->begin,
                    writer->end - writer->begin);
  writer->begin = (long)((ulong)to % RLO_LINE_BYTES);
  writer->end = writer->begin;
  writer->line = to - writer->begin;
}

/* Adds n bytes to a line, as many as it takes or fewer, out of a line that has
 * them where they belong. */
RLO_INLINE void rlo_fill_up(__private const rlo_source *source,
                            __private rlo_writer *writer,
                            rlo_line bytes,
                            long n) {
  writer->bytes = rlo_blend(source, writer->bytes, bytes, writer->end);
  writer->end += n;
  if (writer->end == RLO_LINE_BYTES) {
    if (writer->begin == 0) {
      rlo_store_line(writer->line, writer->bytes);
      writer->end = 0;
      writer->line += RLO_LINE_BYTES;
    } else {
      rlo_begin_line(writer, writer->line + RLO_LINE_BYTES);
    }
  }
}

/* Writes n bytes of the source to `to`. */
RLO_INLINE void rlo_put(__private const rlo_source *source,
                        __private rlo_writer *writer,
                        __global uchar *to,
                        __global const uchar *from,
                        long n) {
  if (n <= 0) {
    return;
  }
  if (to != writer->line + writer->end) {
    rlo_begin_line(writer, to);
  }
  if (writer->end != 0) {
    const long taken = min(n, RLO_LINE_BYTES - writer->end);
    rlo_fill_up(
        source, writer, rlo_load(source, from, writer->end, taken), taken);
    from += taken;
    n -= taken;
  }
  if (n > 0) {
    const long whole = n / RLO_LINE_BYTES * RLO_LINE_BYTES;
    rlo_copy_lines(writer->line, from, whole);
    writer->line += whole;
    from += whole;
    n -= whole;
    if (n > 0) {
      writer->bytes = rlo_load(source, from, 0, n);
      writer->end = n;
    }
  }
}

/* Writes `count` rows of n >= 64 bytes, `step` bytes apart in the source, that
 * continue the line. A line before and behind all of them may be read. */
RLO_INLINE void rlo_put_rows(__private const rlo_source *source,
                             __private rlo_writer *writer,
                             __global const uchar *from,
                             long step,
                             long n,
                             int count) {
  __global uchar *line = writer->line;
  rlo_line bytes = writer->bytes;
  long end = writer->end;
  for (int r = 0; r < count; ++r) {
    rlo_store_line(
        line,
        rlo_blend(
            source, bytes, *(__global const rlo_line_any *)(from - end), end));
    line += RLO_LINE_BYTES;
    long k = RLO_LINE_BYTES - end;
    if (n >= RLO_LONG_BYTES) {
      const long whole = (n - k) / RLO_LINE_BYTES * RLO_LINE_BYTES;
      rlo_open_page(from + step);
      rlo_copy_lines(line, from + k, whole);
      line += whole;
      k += whole;
    }
    for (; k <= n - RLO_LINE_BYTES; k += RLO_LINE_BYTES) {
      rlo_store_line(line, *(__global const rlo_line_any *)(from + k));
      line += RLO_LINE_BYTES;
    }
    bytes = *(__global const rlo_line_any *)(from + k);
    end = n - k;
    from += step;
  }
  writer->line = line;
  writer->bytes = bytes;
  writer->end = end;
}

#if RLO_PAD_GUARDS > 0
/* Writes n bytes of `pattern`, a line as it is at a multiple of 64 bytes. */
RLO_INLINE void rlo_put_fill(__private const rlo_source *source,
                             __private rlo_writer *writer,
                             __global uchar *to,
                             long n,
                             rlo_line pattern) {
  if (n <= 0) {
    return;
  }
  if (to != writer->line + writer->end) {
    rlo_begin_line(writer, to);
  }
  if (writer->end != 0) {
    const long taken = min(n, RLO_LINE_BYTES - writer->end);
    rlo_fill_up(source, writer, pattern, taken);
    n -= taken;
  }
  if (n > 0) {
    for (; n >= RLO_LINE_BYTES; n -= RLO_LINE_BYTES) {
      rlo_store_line(writer->line, pattern);
      writer->line += RLO_LINE_BYTES;
    }
    writer->bytes = pattern;
    writer->end = n;
  }
}
#endif

/* The reads of the next block: runs of the source, prefetched line after line
 * while this block is moved. */
typedef struct rlo_fetch {
  __global const uchar *from;
  __private const rlo_place *runs;
  int n;
  long run_bytes;
  ulong line, run_end;
} rlo_fetch;

RLO_INLINE void rlo_fetch_lines(__private rlo_fetch *fetch, int lines) {
#if RLO_PREFETCH
#pragma unroll 1
  for (int k = 0; k < lines; ++k) {
    if (fetch->line >= fetch->run_end) {
      if (fetch->n == 0) {
        return;
      }
      const ulong run = (ulong)(fetch->from + fetch->runs->src);
      fetch->line = run & ~(ulong)(RLO_LINE_BYTES - 1);
      fetch->run_end = run + (ulong)fetch->run_bytes;
      fetch->runs += 1;
      fetch->n -= 1;
    }
    rlo_prefetch((__global const uchar *)fetch->line);
    fetch->line += RLO_LINE_BYTES;
  }
#else
  (void)fetch;
  (void)lines;
#endif
}

/* Lists the rows of a block that are apart along the axes in `axes` (bit d:
 * grid axis d); the axis with the smallest stride in `order` varies fastest.
 * Returns their count. */
RLO_INLINE int rlo_list_rows(int axes,
                             __private const rlo_index *order,
                             __private const rlo_index *size,
                             __private const rlo_index *src_strides,
                             __private const rlo_index *dst_strides,
                             __private const rlo_index *const *guard_strides,
                             __private rlo_place *out) {
  int n = 1;
  out[0] = (rlo_place){0};
  while (axes != 0) {
    int next = -1;
    for (int d = 0; axes >> d != 0; ++d) {
      if ((axes >> d & 1) != 0 &&
          (next < 0 || abs(order[d]) < abs(order[next]))) {
        next = d;
      }
    }
    axes &= ~(1 << next);
    const int before = n;
    for (rlo_index at = 1; at < size[next]; ++at) {
      const rlo_index src = at * src_strides[next] * E;
      const rlo_index dst = at * dst_strides[next] * E;
#pragma unroll 1
      for (int m = 0; m < before; ++m) {
        out[n].src = out[m].src + src;
        out[n].dst = out[m].dst + dst;
#if RLO_GUARDS > 0
        for (int g = 0; g < RLO_GUARDS; ++g) {
          out[n].guard[g] = out[m].guard[g] + at * guard_strides[g][next];
        }
#endif
        ++n;
      }
    }
  }
  (void)guard_strides;
  return n;
}

#define RLO_GUARD_STRIDES(g) \
  guard_strides[g] = (__private const rlo_index *)&guard##g##_grid_coef;

#if RLO_GUARDS > 0
/* Tells if no guard cuts a row of a block, nor one more along `added_axis`. */
RLO_INLINE bool rlo_is_inside(__private const rlo_guard *guards,
                              __private const rlo_index *const *guard_strides,
                              int n_grid,
                              int row_axis,
                              int added_axis,
                              __private const rlo_index *size,
                              long units) {
  bool is_inside = true;
  for (int g = 0; g < RLO_GUARDS; ++g) {
    long low = guards[g].v;
    long high = guards[g].v + guards[g].x * (units - 1);
    for (int d = 0; d < n_grid; ++d) {
      if (d != row_axis) {
        const long reach =
            (long)guard_strides[g][d] * (size[d] - (d != added_axis));
        low += min(reach, 0L);
        high += max(reach, 0L);
      }
    }
    is_inside = is_inside && low >= 0 && high < guards[g].limit;
  }
  return is_inside;
}
#endif

#if RLO_BATCH
static void rlo_item(RLO_ITEM_PARAMS,
#else
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void RLO_KERNEL(
#endif
    RLO_COMMON_PARAMS,
    rlo_grid grid_points,
    rlo_grid grid_step,
    int row_axis,
    rlo_index row_units,
    int lean_axis,
    rlo_index blocks,
    int fetch_axes,
    int fetch_lines,
    rlo_index src_first,
    rlo_index src_end RLO_GUARD_PARAMS) {
  __private const rlo_index *points = (__private const rlo_index *)&grid_points;
  __private const rlo_index *steps = (__private const rlo_index *)&grid_step;
  __private const rlo_index *src_strides =
      (__private const rlo_index *)&grid_src_stride;
  __private const rlo_index *dst_strides =
      (__private const rlo_index *)&grid_dst_stride;
  __private const rlo_index *guard_strides[RLO_GUARDS + 1];
  RLO_EACH_GUARD(RLO_GUARD_STRIDES)
  rlo_source source = {src + src_offset_bytes + (long)src_first * E,
                       src + src_offset_bytes + (long)src_end * E,
                       false,
                       {(rlo_line)(~0UL), (rlo_line)(0UL)}};
  __global uchar *base = dst + dst_offset_bytes;
  rlo_writer writer = {base - (ulong)base % RLO_LINE_BYTES, 0, 0, 0};
#if RLO_PAD_GUARDS > 0
  rlo_line twice[2];
  twice[0] = rlo_fill_line(fill_lo, fill_hi);
  twice[1] = twice[0];
  const rlo_line pattern =
      *(__private const rlo_line_any *)((__private const uchar *)twice +
                                        (-(ulong)base) % 16);
#endif
  /* The rows of a block, and its runs in the source. */
  rlo_place places[2][RLO_ROWS_PLACES];
  int counts[2] = {0, 0};
  long run_bytes = 0;
  rlo_index size[RLO_GRID_RANK];
  for (int d = 0; d < n_grid; ++d) {
    size[d] = 0;
  }

  rlo_index coordinates[RLO_GRID_RANK];
  rlo_index index[RLO_GRID_RANK]; /* the first point of a block */
  rlo_decode(RLO_GROUP * (ulong)blocks, n_grid, grid_extent, coordinates);
  for (int d = 0; d < n_grid; ++d) {
    index[d] = coordinates[d] * steps[d];
  }
  __global const uchar *from = RLO_SRC_CORNER(E);
  bool is_more = true;
  for (rlo_index b = 0; b < blocks && is_more; ++b) {
    __global uchar *to = RLO_DST_CORNER(E);
    bool is_same = counts[0] > 0;
    int axes = 0; /* those along which the block has several rows */
    for (int d = 0; d < n_grid; ++d) {
      const rlo_index n = min(points[d] - index[d], steps[d]);
      is_same = is_same && n == size[d];
      size[d] = n;
      axes |= n > 1 && d != row_axis ? 1 << d : 0;
    }
    const long units = row_axis >= 0 ? size[row_axis] : row_units;
    const long row_bytes = units * E;
    if (!is_same) {
#pragma unroll 1
      for (int list = 0; list < 2; ++list) {
        counts[list] = rlo_list_rows(list == 0 ? axes : axes & ~fetch_axes,
                                     list == 0 ? dst_strides : src_strides,
                                     size,
                                     src_strides,
                                     dst_strides,
                                     guard_strides,
                                     places[list]);
      }
      run_bytes = row_bytes;
      for (int d = 0; d < n_grid; ++d) {
        if ((axes & fetch_axes) >> d & 1) {
          run_bytes += (size[d] - 1) * (long)src_strides[d] * E;
        }
      }
    }
    const bool is_first = lean_axis < 0 || index[lean_axis] == 0;
    const bool is_last = lean_axis < 0 || index[lean_axis] + size[lean_axis] ==
                                              points[lean_axis];
#if RLO_GUARDS > 0
    rlo_guard guards[RLO_GUARDS];
    RLO_GUARDS_LOAD
    const bool is_inside = rlo_is_inside(guards,
                                         guard_strides,
                                         n_grid,
                                         row_axis,
                                         is_last ? -1 : lean_axis,
                                         size,
                                         units);
#endif
    long low = -RLO_LINE_BYTES;
    long high = row_bytes + RLO_LINE_BYTES;
    for (int d = 0; d < n_grid; ++d) {
      if (d != row_axis) {
        /* A part of the row behind a run is read, too. */
        const long reach =
            (size[d] - (d != lean_axis)) * (long)src_strides[d] * E;
        low += min(reach, 0L);
        high += max(reach, 0L);
      }
    }
    source.is_inner = from + low >= source.begin && from + high <= source.end;
    const int run_rows = lean_axis < 0 ? 1 : (int)size[lean_axis];
    is_more = rlo_next(n_grid, grid_extent, coordinates);
    for (int d = 0; d < n_grid; ++d) {
      index[d] = coordinates[d] * steps[d];
    }
    __global const uchar *next = RLO_SRC_CORNER(E);
    rlo_fetch fetch = {
        next, places[1], is_more ? counts[1] : 0, run_bytes, 0, 0};
#if RLO_GUARDS > 0
    /* True if guards cut all rows in the same way. */
    bool is_steady = true;
    for (int g = 0; g < RLO_GUARDS; ++g) {
      for (int d = 0; d < n_grid; ++d) {
        is_steady = is_steady && (d == row_axis || guard_strides[g][d] == 0);
      }
    }
    const rlo_part same = rlo_row_part(guards, 0, units);
    const bool is_plain = lean_axis == RLO_ROWS_ARE_LINES && is_inside;
    const bool is_whole = lean_axis >= 0 && is_inside && source.is_inner;
#else
    const bool is_plain = lean_axis == RLO_ROWS_ARE_LINES;
    const bool is_whole = lean_axis >= 0 && source.is_inner;
#endif
    const bool is_long = row_bytes >= RLO_LONG_BYTES;
    if (is_plain) {
      const int count = counts[0];
      for (int r = 0; r < count; ++r) {
        __global const uchar *row_from = from + places[0][r].src;
        __global uchar *row_to = to + places[0][r].dst;
        rlo_fetch_lines(&fetch, fetch_lines);
        if (is_long) {
          rlo_open_page(r + 1 < count ? from + places[0][r + 1].src : next);
          rlo_copy_lines(row_to, row_from, row_bytes);
          continue;
        }
        for (long k = 0; k < row_bytes; k += RLO_LINE_BYTES) {
          rlo_store_line(row_to + k,
                         *(__global const rlo_line_any *)(row_from + k));
        }
      }
      from = next;
      continue;
    }
    for (int r = 0; r < counts[0]; r += run_rows) {
      /* Bytes of the run that the block before it writes; bytes that this one
       * writes beyond it. */
      long skipped = 0;
      long added = 0;
      if (!is_first) {
        skipped = (long)(-(ulong)(to + places[0][r].dst) % RLO_LINE_BYTES);
      }
      if (!is_last) {
        added = (long)(-(ulong)(to + places[0][r].dst + run_rows * row_bytes) %
                       RLO_LINE_BYTES);
      }
      const int run_end = r + run_rows + (added > 0);
      for (int q = r; q < run_end; ++q) {
        if (is_whole && q == r + 1 && run_rows > 1) {
          /* The first row has completed a line. */
          const long step = (long)src_strides[lean_axis] * E;
          rlo_fetch_lines(&fetch, fetch_lines * (run_rows - 1));
          rlo_put_rows(&source,
                       &writer,
                       from + places[0][r].src + step,
                       step,
                       row_bytes,
                       run_rows - 1);
          q = r + run_rows;
          if (q == run_end) {
            break;
          }
        }
        const bool is_added = q == r + run_rows;
        __private const rlo_place *place = &places[0][q - is_added];
        __global const uchar *row_from = from + place->src;
        __global uchar *row_to = to + place->dst;
        rlo_part part = {skipped, row_bytes, skipped, row_bytes};
        if (is_added) {
          row_from += src_strides[lean_axis] * (long)E;
          row_to += row_bytes;
          part.read1 = added;
          part.write1 = added;
        }
        rlo_fetch_lines(&fetch, fetch_lines);
        if (is_long) {
          rlo_open_page(q + 1 < counts[0] ? from + places[0][q + 1].src : next);
        }
#if RLO_GUARDS > 0
        if (!is_inside) {
          rlo_part whole = same;
          if (!is_steady) {
            rlo_guard cut[RLO_GUARDS];
            for (int g = 0; g < RLO_GUARDS; ++g) {
              cut[g] = guards[g];
              cut[g].v += place->guard[g];
              cut[g].v += is_added ? guard_strides[g][lean_axis] : 0;
            }
            whole = rlo_row_part(cut, 0, units);
          }
          part.write0 = min(max(whole.write0, part.write0), part.write1);
          part.write1 = max(min(whole.write1, part.write1), part.write0);
          part.read0 = min(max(whole.read0, part.write0), part.write1);
          part.read1 = max(min(whole.read1, part.write1), part.read0);
        }
#endif
#if RLO_PAD_GUARDS > 0
        rlo_put_fill(&source,
                     &writer,
                     row_to + part.write0,
                     part.read0 - part.write0,
                     pattern);
#endif
        rlo_put(&source,
                &writer,
                row_to + part.read0,
                row_from + part.read0,
                part.read1 - part.read0);
#if RLO_PAD_GUARDS > 0
        rlo_put_fill(&source,
                     &writer,
                     row_to + part.read1,
                     part.write1 - part.read1,
                     pattern);
#endif
        skipped = 0;
      }
    }
    from = next;
  }
  rlo_begin_line(&writer, base);
  (void)fill_lo;
  (void)fill_hi;
}

#include "batch.cl"
