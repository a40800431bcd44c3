/* SPDX-License-Identifier: Apache-2.0 */
#include "host/tile.h"

#include <string.h>

#include "base/checked.h"
#include "base/threshold.h"
#include "host/packed.h"

/* Compilers drop calls of functions that do no more than to prefetch. */
#define INLINE inline __attribute__((always_inline))

enum {
  LINE = RLO__HOST_LINE_BYTES,
  /** Rows of grains that the prefetch runs ahead. */
  ROWS_AHEAD = 4,
  /** Bytes of the groups of rows that it runs ahead, if one has less. */
  BYTES_AHEAD = 4096,
  /** Rows of packed units that are prefetched at once, and columns. */
  PACKED_ROWS = 16,
  PACKED_COLUMNS = 64,
  /** Streams of so many bytes, and so few, may begin and end within lines, and so may what
   *  is converted. */
  LONG_BYTES = 1024,
  FEW_STREAMS = 4
};

static bool is_line(const uint8_t *p) {
  return (uintptr_t)p % LINE == 0;
}

/** Bytes from p to the next line. */
static int64_t to_line(const uint8_t *p) {
  return (int64_t)(-(uintptr_t)p % LINE);
}

/* -------------------------------------------------------------- the movers
 * Each moves a tile to `dst`, whose columns begin at `columns`.
 */

/** Grains of `bytes`, a constant. */
static INLINE void move_units(const rlo__host_tile *t, uint8_t *dst, const int64_t *columns,
                              size_t bytes) {
  const int64_t *rows = t->rows;
  const int64_t src_step = t->src_step;
  const int64_t dst_step = t->dst_step;
  if (t->ni > t->nj) {
    for (int64_t j = 0; j < t->nj; ++j) {
      const uint8_t *from = t->src + rows[j];
      uint8_t *to = dst + j * dst_step;
      for (int64_t i = 0; i < t->ni; ++i) {
        memcpy(to + columns[i], from + i * src_step, bytes);
      }
    }
    return;
  }
  for (int64_t i = 0; i < t->ni; ++i) {
    const uint8_t *from = t->src + i * src_step;
    uint8_t *to = dst + columns[i];
    for (int64_t j = 0; j < t->nj; ++j) {
      memcpy(to + j * dst_step, from + rows[j], bytes);
    }
  }
}

/** Copies pieces of a constant size, of which the last may overlap the one
 *  before it. */
static INLINE void copy_pieces(uint8_t *dst, const uint8_t *src, int64_t bytes, int64_t piece) {
  for (int64_t end = piece; end < bytes; end += piece) {
    memcpy(dst + end - piece, src + end - piece, (size_t)piece);
  }
  memcpy(dst + bytes - piece, src + bytes - piece, (size_t)piece);
}

/** memcpy without a call, for the lengths of usual grains. */
static inline void copy_grain(uint8_t *dst, const uint8_t *src, int64_t bytes) {
  if (bytes > 256) {
    memcpy(dst, src, (size_t)bytes);
  } else if (bytes >= 16) {
    copy_pieces(dst, src, bytes, 16);
  } else if (bytes >= 8) {
    copy_pieces(dst, src, bytes, 8);
  } else {
    copy_pieces(dst, src, bytes, 1);
  }
}

/** The row that is some rows ahead; NULL if it is not near, or no run. */
static const uint8_t *row_ahead(const rlo__host_tile *t, int64_t j) {
  const int64_t next = j + rlo__min(ROWS_AHEAD, t->nj);
  const uint8_t *src = next < t->nj ? t->src : t->next_src;
  return src != NULL && t->src_step == t->nest->grain_bytes ? src + t->rows[next % t->nj] : NULL;
}

/** Moves grains of whole lines to aligned lines. */
static void move_lines(const rlo__host_tile *t) {
  for (int64_t j = 0; j < t->nj; ++j) {
    t->kernels->grains_past_caches(t->dst + j * t->dst_step, t->workspace->columns,
                                   t->src + t->rows[j], t->src_step, t->ni, t->grain_bytes,
                                   row_ahead(t, j));
  }
}

/** Stores row j of column i past the caches: the lines that begin in it. The last of them ends
 *  in the next row. */
static void store_grain(const rlo__host_tile *t, int64_t i, int64_t j, uint8_t *to) {
  const rlo__host_copy_fn copy = t->kernels->copy_past_caches;
  const uint8_t *from = t->src + i * t->src_step;
  const int64_t grain = t->grain_bytes;
  const bool is_last = t->j0 + j + 1 == t->nest->along_dst.extent;
  if (grain < LINE || grain < t->nest->grain_bytes) {
    copy(to, from + t->rows[j], (size_t)grain);
    return;
  }
  const int64_t begin = t->j0 + j == 0 ? 0 : to_line(to);
  const int64_t after = is_last ? 0 : to_line(to + grain);
  const int64_t end = after > 0 ? grain + after - LINE : grain;
  copy(to + begin, from + t->rows[j] + begin, (size_t)(end - begin));
  if (after > 0) {
    uint8_t line[LINE];
    memcpy(line, from + t->rows[j] + end, (size_t)(grain - end));
    memcpy(line + grain - end, from + t->rows[j + 1], (size_t)after);
    copy(to + end, line, LINE);
  }
}

static void move_grains(const rlo__host_tile *t, uint8_t *dst, const int64_t *columns,
                        bool is_past_caches) {
  for (int64_t j = 0; j < t->nj; ++j) {
    const uint8_t *from = t->src + t->rows[j];
    uint8_t *to = dst + j * t->dst_step;
    const uint8_t *ahead = row_ahead(t, j);
    for (int64_t k = 0; ahead != NULL && k < t->ni * t->grain_bytes + LINE; k += LINE) {
      __builtin_prefetch(ahead + k, 0, 2);
    }
    for (int64_t i = 0; i < t->ni; ++i) {
      if (is_past_caches) {
        store_grain(t, i, j, to + columns[i]);
      } else {
        copy_grain(to + columns[i], from + i * t->src_step, t->grain_bytes);
      }
    }
  }
}

static void move_one_by_one(const rlo__host_tile *t, uint8_t *dst, const int64_t *columns) {
  switch (t->grain_bytes) {
    case 1:
      move_units(t, dst, columns, 1);
      break;
    case 2:
      move_units(t, dst, columns, 2);
      break;
    case 4:
      move_units(t, dst, columns, 4);
      break;
    case 8:
      move_units(t, dst, columns, 8);
      break;
    case 16:
      move_units(t, dst, columns, 16);
      break;
    default:
      move_grains(t, dst, columns, false);
  }
}

static void move_blocks(const rlo__host_tile *t, uint8_t *dst, const int64_t *columns,
                        bool is_past_caches) {
  const rlo__host_kernels *kernels = t->kernels;
  const int64_t grain = t->grain_bytes;
  const int64_t few = 16 / grain;
  const int64_t many = LINE / grain;
  if (t->ni < few || t->nj < few) {
    move_one_by_one(t, dst, columns);
    return;
  }
  const int32_t unit = __builtin_ctzll((uint64_t)grain);
  const rlo__host_group_fn move_line =
      is_past_caches ? kernels->line_rows_past_caches[unit] : kernels->line_rows[unit];
  rlo__host_group group = {.src = t->src, .columns = columns, .num_columns = t->ni};
  const int64_t whole = t->nj / many * many;
  const int64_t distance = rlo__min(rlo__max(BYTES_AHEAD / (t->ni * LINE), 1) * many, whole);
  int64_t j = 0;
  for (; j < whole; j += many) {
    const int64_t next = j + distance;
    group.rows = t->rows + j;
    group.dst = dst + j * grain;
    group.ahead_src = next < whole ? t->src : t->next_src;
    group.ahead = group.ahead_src != NULL ? t->rows + next % whole : NULL;
    move_line(&group);
  }
  group.ahead = NULL;
  while (j < t->nj) {
    j = rlo__min(j, t->nj - few);
    group.rows = t->rows + j;
    group.dst = dst + j * grain;
    kernels->few_rows[unit](&group);
    j += few;
  }
}

/** Splits a run into streams, whose positions are `columns`, or joins streams,
 * whose positions are `rows`; the run begins at the first entry of the other.
 */
static void move_streams(const rlo__host_tile *t, uint8_t *dst, const int64_t *columns,
                         bool is_past_caches) {
  const int64_t grain = t->grain_bytes;
  const int64_t *rows = t->rows;
  const bool is_split = t->nest->move == RLO__HOST_MOVE_SPLIT;
  const int64_t num_streams = is_split ? t->ni : t->nj;
  const int64_t length = is_split ? t->nj : t->ni;
  const int64_t width = RLO__HOST_STREAM_WIDTH / grain;
  const uint8_t *src = t->src + (is_split ? rows[0] : 0);
  rlo__host_shuffle shuffle = t->workspace->shuffle;
  shuffle.streams = is_split ? columns : rows;
  shuffle.is_past_caches = is_past_caches;
  dst += is_split ? 0 : columns[0];
  t->kernels->shuffle_streams(dst, src, &shuffle, length / width);
  for (int64_t k = length / width * width; k < length; ++k) {
    for (int64_t n = 0; n < num_streams; ++n) {
      const int64_t near = (k * num_streams + n) * grain;
      const int64_t far = k * grain + shuffle.streams[n];
      memcpy(dst + (is_split ? far : near), src + (is_split ? near : far), (size_t)grain);
    }
  }
}

/** Moves grains period by period. */
static void move_shuffled(const rlo__host_tile *t, uint8_t *dst, const int64_t *columns,
                          bool is_past_caches) {
  const rlo__host_nest *nest = t->nest;
  rlo__host_workspace *w = t->workspace;
  const int64_t rest = t->grain_bytes % nest->period;
  const int64_t whole = t->grain_bytes - rest;
  for (int64_t j = 0; j < t->nj; ++j) {
    for (int64_t i = 0; i < t->ni; ++i) {
      const uint8_t *from = t->src + t->rows[j] + i * t->src_step;
      uint8_t *to = dst + j * t->dst_step + columns[i];
      w->shuffle.is_past_caches = is_past_caches;
      t->kernels->shuffle_blocks(to, from, &w->shuffle, whole / nest->period);
      w->shuffle.is_past_caches = false;
      if (rest > 0) {
        memcpy(w->rest[0], from + whole, (size_t)rest);
        t->kernels->shuffle_blocks(w->rest[1], w->rest[0], &w->shuffle, 1);
        memcpy(to + whole, w->rest[1], (size_t)rest);
      }
    }
  }
}

/** @param is_past_caches  only where what it stores is aligned. */
static void move_tile(const rlo__host_tile *t, uint8_t *dst, const int64_t *columns,
                      bool is_past_caches) {
  const rlo__host_move move = t->nest->move;
  if (move == RLO__HOST_MOVE_BLOCKS) {
    move_blocks(t, dst, columns, is_past_caches);
  } else if (move == RLO__HOST_MOVE_SPLIT || move == RLO__HOST_MOVE_JOIN) {
    move_streams(t, dst, columns, is_past_caches);
  } else if (move == RLO__HOST_MOVE_SHUFFLE) {
    move_shuffled(t, dst, columns, is_past_caches);
  } else {
    move_one_by_one(t, dst, columns);
  }
}

/** Fills a run with a grain. */
static void splat(const rlo__host_tile *t) {
  const int64_t grain = t->grain_bytes;
  const int64_t bytes = t->nj * grain;
  uint8_t *pattern = t->workspace->stage;
  const int64_t period = rlo__min(bytes, rlo__thresholds.host_pattern_bytes / grain * grain);
  memcpy(pattern, t->src, (size_t)grain);
  for (int64_t have = grain; have < period; have *= 2) {
    memcpy(pattern + have, pattern, (size_t)rlo__min(have, period - have));
  }
  uint8_t *dst = t->dst + t->workspace->columns[0];
  const bool is_past_caches =
      t->nest->is_past_caches && bytes >= rlo__thresholds.host_staged_run_bytes;
  for (int64_t at = 0; at < bytes; at += period) {
    const size_t count = (size_t)rlo__min(period, bytes - at);
    if (is_past_caches) {
      t->kernels->copy_past_caches(dst + at, pattern, count);
    } else {
      memcpy(dst + at, pattern, count);
    }
  }
}

/* ---------------------------------------------------------------- the stage */

/** Tells if the columns of a tile follow each other in the destination. */
static bool columns_touch(const rlo__host_tile *t) {
  const int64_t *columns = t->workspace->columns;
  if (t->nest->move == RLO__HOST_MOVE_JOIN) {
    return true;
  }
  for (int64_t i = 1; i < t->ni; ++i) {
    if (columns[i] - columns[i - 1] != t->nj * t->grain_bytes) {
      return false;
    }
  }
  return (t->ni > 1 || t->nest->move == RLO__HOST_MOVE_SHUFFLE) &&
         t->nj == t->nest->along_dst.extent;
}

static bool stage_fits(const rlo__host_tile *t, int64_t pitch) {
  return t->ni * pitch + LINE <= rlo__thresholds.host_stage_bytes;
}

static uint8_t *stage_of(const rlo__host_tile *t) {
  uint8_t *stage = t->workspace->stage;
  return stage + to_line(stage);
}

/** Moves a tile whose columns are one run. */
static void move_run(const rlo__host_tile *t) {
  rlo__host_workspace *w = t->workspace;
  const int64_t pitch = t->nj * t->grain_bytes;
  const int64_t num_columns = t->nest->move == RLO__HOST_MOVE_JOIN ? 1 : t->ni;
  uint8_t *to = t->dst + w->columns[0];
  uint8_t *stage = stage_of(t) + (uintptr_t)to % LINE;
  for (int64_t i = 0; i < num_columns; ++i) {
    w->staged_columns[i] = i * pitch;
  }
  move_tile(t, stage, w->staged_columns, false);
  t->kernels->copy_past_caches(to, stage, (size_t)(t->ni * pitch));
}

/** Moves a tile that owns, of each column, the lines that begin in it. The last
 *  of them continue in the next tile, so some more rows are read. */
static void move_columns(const rlo__host_tile *t) {
  rlo__host_workspace *w = t->workspace;
  const int64_t grain = t->grain_bytes;
  const int64_t extent = t->nest->along_dst.extent;
  rlo__host_tile longer = *t;
  longer.nj = rlo__min(t->nj + rlo__ceil_div(LINE - 1, grain), extent - t->j0);
  const int64_t pitch = (longer.nj * grain + (int64_t)2 * LINE - 1) / LINE * LINE;
  uint8_t *stage = stage_of(t);
  for (int64_t i = 0; i < t->ni; ++i) {
    const uint8_t *to = t->dst + w->columns[i];
    w->staged_columns[i] = i * pitch + (int64_t)((uintptr_t)to % LINE);
  }
  move_tile(&longer, stage, w->staged_columns, false);
  for (int64_t i = 0; i < t->ni; ++i) {
    uint8_t *to = t->dst + w->columns[i];
    const int64_t begin = t->j0 == 0 ? 0 : to_line(to);
    const int64_t end =
        rlo__min(t->nj * grain + to_line(to + t->nj * grain), (extent - t->j0) * grain);
    if (begin < end) { /* else the row ends in a line of the tile before */
      t->kernels->copy_past_caches(to + begin, stage + w->staged_columns[i] + begin,
                                   (size_t)(end - begin));
    }
  }
}

/** Converts a run that begins at row j and column i of a tile. */
static void cast_run(const rlo__host_tile *t, int64_t i, int64_t j, uint8_t *dst,
                     const uint8_t *src, int64_t bytes) {
  const rlo__host_cast *cast = t->nest->cast;
  rlo__host_operands *operands = &t->workspace->operands;
  if (cast->num_lists > 0) {
    operands->place = t->operand + t->workspace->operand_columns[i];
    operands->grains = t->workspace->operand_rows + j;
    operands->grain_values = t->grain_bytes / cast->src_bytes;
  }
  const bool is_long = rlo__host_cast_scale(cast, bytes) >= LONG_BYTES;
  rlo__host_cast_run(cast, dst, src, bytes, operands,
                     t->nest->is_past_caches && is_long ? t->kernels->copy_past_caches : NULL);
}

/** Converts grain by grain where grains are long or stand apart in the destination, else
 *  what is moved to the stage in the order of the destination. */
static void cast_tile(const rlo__host_tile *t) {
  const rlo__host_nest *nest = t->nest;
  rlo__host_workspace *w = t->workspace;
  const int64_t pitch = t->nj * t->grain_bytes;
  const bool is_join = nest->move == RLO__HOST_MOVE_JOIN;
  if (!is_join && (t->dst_step != nest->grain_bytes || !stage_fits(t, pitch) ||
                   t->grain_bytes >= rlo__thresholds.host_staged_run_bytes)) {
    for (int64_t j = 0; j < t->nj; ++j) {
      uint8_t *to = t->dst + rlo__host_cast_scale(nest->cast, j * t->dst_step);
      for (int64_t i = 0; i < t->ni; ++i) {
        cast_run(t, i, j, to + w->columns[i], t->src + t->rows[j] + i * t->src_step,
                 t->grain_bytes);
      }
    }
    return;
  }
  const int64_t num_runs = is_join ? 1 : t->ni;
  const int64_t run = is_join ? t->ni * pitch : pitch;
  uint8_t *stage = stage_of(t);
  for (int64_t i = 0; i < num_runs; ++i) {
    w->staged_columns[i] = i * run;
  }
  move_tile(t, stage, w->staged_columns, false);
  for (int64_t i = 0; i < num_runs; ++i) {
    cast_run(t, i, 0, t->dst + w->columns[i], stage + i * run, run);
  }
}

/** Rows or columns of a tile in a packed memory: from place `at` on, each `num_grains` grains. */
typedef struct packed_lines {
  int64_t at, step, num_grains;
  const int64_t *places;
} packed_lines;

/** Prefetches some lines, so that their addresses are translated at once. */
static INLINE void prefetch_packed(const rlo__host_tile *t, const packed_lines *lines,
                                   const uint8_t *memory, int64_t first, int64_t count) {
  const int64_t bits = t->nest->bits;
  const int64_t run = (lines->step == t->grain_bytes ? lines->num_grains : 1) * t->grain_bytes;
  for (int64_t k = first; k < first + count; ++k) {
    const uint8_t *p = memory + (lines->at + lines->places[k]) * bits / 8;
    const uint8_t *end = p + run * bits / 8;
    for (p -= (uintptr_t)p % LINE; p <= end; p += LINE) {
      __builtin_prefetch(p, 0, 2);
    }
  }
}

/** Unpacks lines, or packs them, one after the other in the stage. */
static void convert_lines(const rlo__host_tile *t, const packed_lines *lines, int64_t first,
                          int64_t count, uint8_t *stage, bool packs) {
  const bool is_run = lines->step == t->grain_bytes;
  const int64_t num_runs = is_run ? 1 : lines->num_grains;
  const int64_t run = is_run ? lines->num_grains * t->grain_bytes : t->grain_bytes;
  for (int64_t k = first; k < first + count; ++k) {
    for (int64_t n = 0; n < num_runs; ++n) {
      const int64_t at = lines->at + lines->places[k] + n * lines->step;
      if (packs) {
        rlo__host_pack(t->kernels, t->nest->bits, t->dst, at, stage, run);
      } else {
        rlo__host_unpack(t->kernels, t->nest->bits, stage, t->src, at, run);
      }
      stage += run;
    }
  }
}

/** Moves a tile of units below a byte as bytes: all rows of it, then some columns at a time. */
static void move_packed(const rlo__host_tile *t) {
  rlo__host_workspace *w = t->workspace;
  const int64_t grain = t->grain_bytes;
  const packed_lines rows = {t->src_at, t->src_step, t->ni, t->rows};
  const packed_lines columns = {t->dst_at, t->dst_step, t->nj, w->columns};
  uint8_t *from = stage_of(t);
  uint8_t *to = from + t->ni * t->nj * grain + RLO__HOST_PACKED_SLACK;
  rlo__host_tile part = *t;
  part.dst_step = grain;
  part.next_src = NULL;
  if (!t->nest->reads_fill) {
    for (int64_t j = 0; j < t->nj; j += PACKED_ROWS) {
      const int64_t next = rlo__min(j + PACKED_ROWS, t->nj);
      prefetch_packed(t, &rows, t->src, next, rlo__min(t->nj - next, PACKED_ROWS));
      convert_lines(t, &rows, j, next - j, from + j * t->ni * grain, false);
    }
    for (int64_t j = 0; j < t->nj; ++j) {
      w->staged_rows[j] = j * t->ni * grain;
    }
    part.src = from;
    part.src_step = grain;
    part.rows = w->staged_rows;
  }
  for (int64_t i = 0; i < t->ni; i += PACKED_COLUMNS) {
    part.ni = rlo__min(t->ni - i, PACKED_COLUMNS);
    for (int64_t k = 0; k < part.ni; ++k) {
      w->staged_columns[k] = k * t->nj * grain;
    }
    prefetch_packed(t, &columns, t->dst, i, part.ni);
    move_tile(&part, to, w->staged_columns, false);
    convert_lines(t, &columns, i, part.ni, to, true);
    part.src += part.ni * part.src_step;
  }
}

/** Moves some rows of a tile. */
static void move_rows(const rlo__host_tile *t, int64_t first, int64_t count, bool is_past_caches) {
  rlo__host_tile part = *t;
  part.rows += first;
  part.dst += first * t->grain_bytes;
  part.nj = count;
  if (count > 0) {
    move_tile(&part, part.dst, t->workspace->columns, is_past_caches);
  }
}

/** Moves a tile of blocks whose columns begin equally many bytes before a line: the lines that
 *  begin in it, and what is before the first and after the last one of a column. */
static void move_whole_lines(const rlo__host_tile *t) {
  const int64_t many = LINE / t->grain_bytes;
  const int64_t left = t->nest->along_dst.extent - t->j0;
  const int64_t before = to_line(t->dst) / t->grain_bytes;
  const int64_t end = rlo__min(t->nj + before, left);
  const int64_t after = end == left ? rlo__max(end - before, 0) % many : 0;
  if (t->j0 == 0) {
    move_rows(t, 0, rlo__min(before, left), false);
  }
  move_rows(t, before, end - before - after, true);
  move_rows(t, end - after, after, false);
}

/** Tells if what the tile's shuffles store may be stored past the caches: it begins with
 *  vectors, and with lines where many streams or short ones would write parts of many. The
 *  same for all tiles along a row. */
static bool has_aligned_shuffles(const rlo__host_tile *t) {
  const rlo__host_nest *nest = t->nest;
  const int64_t first = (int64_t)(uintptr_t)(t->dst + t->workspace->columns[0]);
  const bool is_long = t->ni <= FEW_STREAMS && nest->tile_dst * t->grain_bytes >= LONG_BYTES;
  switch (nest->move) {
    case RLO__HOST_MOVE_SPLIT:
      return t->ni <= RLO__HOST_STORED_STREAMS &&
             (first | nest->alignment) % (is_long ? RLO__HOST_STREAM_WIDTH : LINE) == 0;
    case RLO__HOST_MOVE_JOIN:
      return first % RLO__HOST_STREAM_WIDTH == 0;
    default:
      return (first | nest->alignment | nest->period | t->dst_step) % t->kernels->block_width == 0;
  }
}

/** Tells if a tile is stored past the caches from registers, and does it. */
static bool move_past_caches(const rlo__host_tile *t) {
  const rlo__host_nest *nest = t->nest;
  switch (nest->move) {
    case RLO__HOST_MOVE_BLOCKS:
      if (nest->alignment < LINE || to_line(t->dst) % t->grain_bytes != 0 ||
          (!is_line(t->dst) && columns_touch(t))) {
        return false; /* the last are written as one run */
      }
      move_whole_lines(t);
      return true;
    case RLO__HOST_MOVE_GRAINS:
      /* Such grains need no neighbours to fill their lines. */
      if (nest->alignment < LINE || !is_line(t->dst) || t->grain_bytes % LINE != 0 ||
          t->dst_step % LINE != 0) {
        return false;
      }
      move_lines(t);
      return true;
    default:
      if (!has_aligned_shuffles(t)) {
        return false;
      }
      move_tile(t, t->dst, t->workspace->columns, true);
      return true;
  }
}

void rlo__host_tile_run(const rlo__host_tile *t) {
  const rlo__host_nest *nest = t->nest;
  const int64_t grain = t->grain_bytes;
  const int64_t *columns = t->workspace->columns;
  if (nest->bits < 8) {
    move_packed(t);
    return;
  }
  if (nest->move == RLO__HOST_MOVE_SPLAT) {
    splat(t);
    return;
  }
  if (nest->cast != NULL) {
    cast_tile(t);
    return;
  }
  if (nest->is_past_caches && move_past_caches(t)) {
    return;
  }
  if (!nest->is_past_caches || t->dst_step != nest->grain_bytes) {
    move_tile(t, t->dst, columns, false);
    return;
  }
  if (nest->move == RLO__HOST_MOVE_GRAINS &&
      (grain > rlo__thresholds.host_staged_grain_bytes || grain < nest->grain_bytes)) {
    move_grains(t, t->dst, columns, true);
    return;
  }
  /* The same for all tiles along a row of the destination: they share lines. */
  const int64_t run = nest->tile_dst * grain;
  if (columns_touch(t) && stage_fits(t, run)) {
    move_run(t);
  } else if (run >= rlo__thresholds.host_staged_run_bytes &&
             stage_fits(t, run + (int64_t)3 * LINE)) {
    move_columns(t);
  } else {
    move_tile(t, t->dst, columns, false);
  }
}
