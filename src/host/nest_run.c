/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/threshold.h"
#include "host/nest.h"

enum {
  LINE = RLO__HOST_LINE_BYTES,
  /** Where a tile is assembled before it is stored past the caches. */
  STAGE_BYTES = 128 * 1024,
  /** Rows of grains that the prefetch runs ahead. */
  ROWS_AHEAD = 4
};

struct rlo__host_workspace {
  /** Positions of the tile's rows in the source, of its columns in the
   *  destination and in the stage. */
  int64_t rows[RLO__HOST_MAX_TILE + LINE];
  int64_t columns[RLO__HOST_MAX_TILE];
  int64_t staged_columns[RLO__HOST_MAX_TILE];
  /** What the tile's rows and columns add to the place of operands. */
  int64_t operand_rows[RLO__HOST_MAX_TILE + LINE];
  int64_t operand_columns[RLO__HOST_MAX_TILE];
  rlo__host_operands operands;
  uint8_t masks[RLO__HOST_MASK_BYTES(RLO__HOST_MAX_STREAMS)];
  uint8_t stage[STAGE_BYTES + LINE];
};

/** A tile: ni positions along the source from i0, nj along the destination from
 *  j0. Both memories begin at (i0, j0) and the present chunk of the grain, but
 *  for what `rows` and `columns` add. */
typedef struct tile {
  const rlo__host_nest *nest;
  const rlo__host_kernels *kernels;
  rlo__host_workspace *workspace;
  const uint8_t *src;
  uint8_t *dst;
  int64_t i0, ni, j0, nj;
  int64_t grain_bytes;
  /** The operands' place, but for what rows and columns add. */
  int64_t operand;
} tile;

rlo__host_workspace *rlo__host_workspace_create(void) {
  return rlo__alloc_unset(sizeof(rlo__host_workspace));
}

static bool is_line(const uint8_t *p) {
  return (uintptr_t)p % LINE == 0;
}

/** Bytes from p to the next line. */
static int64_t to_line(const uint8_t *p) {
  return (int64_t)(-(uintptr_t)p % LINE);
}

/** The steps of positions first <= p < first + count of a side. */
static void find_places(const rlo__host_side *side, const int64_t *steps, int64_t first,
                        int64_t count, int64_t *out) {
  int64_t digits[RLO__HOST_MAX_LEVELS] = {0};
  int64_t at = 0;
  int64_t rest = first;
  for (int32_t n = 0; n < side->num_levels; ++n) {
    digits[n] = rest % side->extents[n];
    rest /= side->extents[n];
    at += digits[n] * steps[n];
  }
  const int64_t extent = side->num_levels == 0 ? 1 : side->extents[0];
  const int64_t step = side->num_levels == 0 ? 0 : steps[0];
  for (int64_t k = 0; k < count;) {
    const int64_t run = rlo__min(count - k, extent - digits[0]);
    for (int64_t i = 0; i < run; ++i) {
      out[k + i] = at + i * step;
    }
    k += run;
    at -= digits[0] * step;
    digits[0] = 0;
    for (int32_t n = 1; n < side->num_levels; ++n) {
      at += steps[n];
      if (++digits[n] < side->extents[n]) {
        break;
      }
      at -= steps[n] * side->extents[n];
      digits[n] = 0;
    }
  }
}

/* -------------------------------------------------------------- the movers
 * Each moves a tile to `dst`, whose columns begin at `columns`.
 */

/** Grains of `bytes`, a constant. */
static inline __attribute__((always_inline)) void move_units(const tile *t, uint8_t *dst,
                                                             const int64_t *columns, size_t bytes) {
  const int64_t *rows = t->workspace->rows;
  const int64_t src_step = t->nest->src_step;
  const int64_t dst_step = t->nest->dst_step;
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
static inline __attribute__((always_inline)) void copy_pieces(uint8_t *dst, const uint8_t *src,
                                                              int64_t bytes, int64_t piece) {
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

/** Prefetches the row that is some rows ahead. */
static void prefetch_ahead(const tile *t, int64_t j) {
  if (j + ROWS_AHEAD >= t->nj) {
    return;
  }
  const rlo__host_nest *nest = t->nest;
  const uint8_t *row = t->src + t->workspace->rows[j + ROWS_AHEAD];
  const uint8_t *end = row + (t->ni - 1) * nest->src_step + t->grain_bytes;
  if (nest->src_step == nest->grain_bytes) {
    for (row -= (uintptr_t)row % LINE; row < end; row += LINE) {
      __builtin_prefetch(row, 0, 2);
    }
  }
}

/** Moves grains of whole lines to aligned lines. */
static void move_lines(const tile *t) {
  const rlo__host_nest *nest = t->nest;
  for (int64_t j = 0; j < t->nj; ++j) {
    prefetch_ahead(t, j);
    t->kernels->grains_past_caches(t->dst + j * nest->dst_step, t->workspace->columns,
                                   t->src + t->workspace->rows[j], nest->src_step, t->ni,
                                   t->grain_bytes);
  }
}

static void move_grains(const tile *t, uint8_t *dst, const int64_t *columns, bool is_past_caches) {
  const rlo__host_nest *nest = t->nest;
  for (int64_t j = 0; j < t->nj; ++j) {
    const uint8_t *from = t->src + t->workspace->rows[j];
    uint8_t *to = dst + j * nest->dst_step;
    prefetch_ahead(t, j);
    for (int64_t i = 0; i < t->ni; ++i) {
      if (is_past_caches) {
        t->kernels->copy_past_caches(to + columns[i], from + i * nest->src_step,
                                     (size_t)t->grain_bytes);
      } else {
        copy_grain(to + columns[i], from + i * nest->src_step, t->grain_bytes);
      }
    }
  }
}

static void move_one_by_one(const tile *t, uint8_t *dst, const int64_t *columns) {
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

static void move_blocks(const tile *t, uint8_t *dst, const int64_t *columns, bool is_past_caches) {
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
  int64_t j = 0;
  for (; j + many <= t->nj; j += many) {
    group.rows = t->workspace->rows + j;
    group.dst = dst + j * grain;
    group.ahead = NULL;
    if (j + 2 * many <= t->nj) {
      group.ahead_src = t->src;
      group.ahead = group.rows + many;
    } else if (t->i0 + t->ni < t->nest->along_src.extent) {
      group.ahead_src = t->src + t->ni * grain;
      group.ahead = t->workspace->rows;
    }
    move_line(&group);
  }
  group.ahead = NULL;
  while (j < t->nj) {
    j = rlo__min(j, t->nj - few);
    group.rows = t->workspace->rows + j;
    group.dst = dst + j * grain;
    kernels->few_rows[unit](&group);
    j += few;
  }
}

/** Splits a run into streams, whose positions are `columns`, or joins streams,
 * whose positions are `rows`; the run begins at the first entry of the other.
 */
static void move_streams(const tile *t, uint8_t *dst, const int64_t *columns) {
  const int64_t grain = t->grain_bytes;
  const int64_t *rows = t->workspace->rows;
  const bool is_split = t->nest->move == RLO__HOST_MOVE_SPLIT;
  const int64_t num_streams = is_split ? t->ni : t->nj;
  const int64_t length = is_split ? t->nj : t->ni;
  const int64_t steps = length * grain / 16;
  const int64_t *streams = is_split ? columns : rows;
  const uint8_t *src = t->src + (is_split ? rows[0] : 0);
  dst += is_split ? 0 : columns[0];
  (is_split ? t->kernels->split : t->kernels->join)(dst, src, streams, num_streams, steps,
                                                    t->workspace->masks);
  for (int64_t k = steps * 16 / grain; k < length; ++k) {
    for (int64_t n = 0; n < num_streams; ++n) {
      const int64_t near = (k * num_streams + n) * grain;
      const int64_t far = k * grain + streams[n];
      memcpy(dst + (is_split ? far : near), src + (is_split ? near : far), (size_t)grain);
    }
  }
}

static void move_tile(const tile *t, uint8_t *dst, const int64_t *columns) {
  const rlo__host_move move = t->nest->move;
  if (move == RLO__HOST_MOVE_BLOCKS) {
    move_blocks(t, dst, columns, false);
  } else if (move == RLO__HOST_MOVE_SPLIT || move == RLO__HOST_MOVE_JOIN) {
    move_streams(t, dst, columns);
  } else {
    move_one_by_one(t, dst, columns);
  }
}

/** Fills a run with a grain. */
static void splat(const tile *t) {
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
static bool columns_touch(const tile *t) {
  const int64_t *columns = t->workspace->columns;
  if (t->nest->move == RLO__HOST_MOVE_JOIN) {
    return true;
  }
  for (int64_t i = 1; i < t->ni; ++i) {
    if (columns[i] - columns[i - 1] != t->nj * t->grain_bytes) {
      return false;
    }
  }
  return t->ni > 1 && t->nj == t->nest->along_dst.extent;
}

static bool stage_fits(const tile *t, int64_t pitch) {
  return t->ni * pitch + LINE <= rlo__thresholds.host_stage_bytes;
}

static uint8_t *stage_of(const tile *t) {
  uint8_t *stage = t->workspace->stage;
  return stage + to_line(stage);
}

/** Moves a tile whose columns are one run. */
static void move_run(const tile *t) {
  rlo__host_workspace *w = t->workspace;
  const int64_t pitch = t->nj * t->grain_bytes;
  const int64_t num_columns = t->nest->move == RLO__HOST_MOVE_JOIN ? 1 : t->ni;
  uint8_t *to = t->dst + w->columns[0];
  uint8_t *stage = stage_of(t) + (uintptr_t)to % LINE;
  for (int64_t i = 0; i < num_columns; ++i) {
    w->staged_columns[i] = i * pitch;
  }
  move_tile(t, stage, w->staged_columns);
  t->kernels->copy_past_caches(to, stage, (size_t)(t->ni * pitch));
}

/** Moves a tile that owns, of each column, the lines that begin in it. The last
 *  of them continue in the next tile, so some more rows are read. */
static void move_columns(const tile *t) {
  rlo__host_workspace *w = t->workspace;
  const int64_t grain = t->grain_bytes;
  const int64_t extent = t->nest->along_dst.extent;
  tile longer = *t;
  longer.nj = rlo__min(t->nj + rlo__ceil_div(LINE - 1, grain), extent - t->j0);
  const int64_t pitch = (longer.nj * grain + (int64_t)2 * LINE - 1) / LINE * LINE;
  uint8_t *stage = stage_of(t);
  for (int64_t i = 0; i < t->ni; ++i) {
    const uint8_t *to = t->dst + w->columns[i];
    w->staged_columns[i] = i * pitch + (int64_t)((uintptr_t)to % LINE);
  }
  move_tile(&longer, stage, w->staged_columns);
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
static void cast_run(const tile *t, int64_t i, int64_t j, uint8_t *dst, const uint8_t *src,
                     int64_t bytes) {
  const rlo__host_cast *cast = t->nest->cast;
  rlo__host_operands *operands = &t->workspace->operands;
  if (cast->num_lists > 0) {
    operands->place = t->operand + t->workspace->operand_columns[i];
    operands->grains = t->workspace->operand_rows + j;
    operands->grain_values = t->grain_bytes / cast->src_bytes;
  }
  rlo__host_cast_run(cast, dst, src, bytes, operands);
}

/** Converts grain by grain where grains are long or stand apart in the destination, else
 *  what is moved to the stage in the order of the destination. */
static void cast_tile(const tile *t) {
  const rlo__host_nest *nest = t->nest;
  rlo__host_workspace *w = t->workspace;
  const int64_t pitch = t->nj * t->grain_bytes;
  const bool is_join = nest->move == RLO__HOST_MOVE_JOIN;
  if (!is_join && (nest->dst_step != nest->grain_bytes || !stage_fits(t, pitch) ||
                   t->grain_bytes >= rlo__thresholds.host_staged_run_bytes)) {
    for (int64_t j = 0; j < t->nj; ++j) {
      uint8_t *to = t->dst + rlo__host_cast_scale(nest->cast, j * nest->dst_step);
      for (int64_t i = 0; i < t->ni; ++i) {
        cast_run(t, i, j, to + w->columns[i], t->src + w->rows[j] + i * nest->src_step,
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
  move_tile(t, stage, w->staged_columns);
  for (int64_t i = 0; i < num_runs; ++i) {
    cast_run(t, i, 0, t->dst + w->columns[i], stage + i * run, run);
  }
}

static void run_tile(const tile *t) {
  const rlo__host_nest *nest = t->nest;
  const int64_t grain = t->grain_bytes;
  const int64_t *columns = t->workspace->columns;
  if (nest->move == RLO__HOST_MOVE_SPLAT) {
    splat(t);
    return;
  }
  if (nest->cast != NULL) {
    cast_tile(t);
    return;
  }
  /* Such grains need no neighbours to fill their lines. */
  if (nest->is_past_caches && nest->move == RLO__HOST_MOVE_GRAINS && nest->has_line_steps &&
      is_line(t->dst) && grain % LINE == 0 && nest->dst_step % LINE == 0) {
    move_lines(t);
    return;
  }
  if (!nest->is_past_caches || nest->dst_step != nest->grain_bytes) {
    move_tile(t, t->dst, columns);
    return;
  }
  const bool has_lines = nest->has_line_steps && is_line(t->dst) && t->nj * grain % LINE == 0;
  if (nest->move == RLO__HOST_MOVE_BLOCKS && has_lines) {
    move_blocks(t, t->dst, columns, true);
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
    move_tile(t, t->dst, columns);
  }
}

/* ---------------------------------------------------------------- the loops */

/** The turns of the loops that are under way. */
typedef struct turns {
  int64_t digits[RLO_MAX_AXES + 3];
  const uint8_t *src;
  uint8_t *dst;
  int64_t operand;
} turns;

static void step(const rlo__host_loop *loop, int64_t count, turns *at) {
  at->src += count * loop->src_step;
  at->dst += count * loop->dst_step;
  at->operand += count * loop->operand_step;
}

static void begin_turns(const rlo__host_nest *nest, int64_t first, turns *out_at) {
  for (int32_t n = nest->num_loops - 1; n >= 0; --n) {
    const rlo__host_loop *loop = &nest->loops[n];
    out_at->digits[n] = first % loop->count;
    first /= loop->count;
    step(loop, out_at->digits[n], out_at);
  }
}

static void next_turn(const rlo__host_nest *nest, turns *at) {
  for (int32_t n = nest->num_loops - 1; n >= 0; --n) {
    const rlo__host_loop *loop = &nest->loops[n];
    if (++at->digits[n] < loop->count) {
      step(loop, 1, at);
      return;
    }
    step(loop, 1 - loop->count, at);
    at->digits[n] = 0;
  }
}

/** Prepares the numbers of steps. */
static void begin_cast(const rlo__host_nest *nest, const rlo__host_memories *memories,
                       rlo__host_operands *operands) {
  if (nest->cast != NULL) {
    rlo__host_cast_begin(nest->cast, operands);
    operands->memory = memories->operands;
    operands->length = memories->operand_length;
    operands->step = nest->operand_step;
    operands->varies = nest->operand_varies;
  }
}

void rlo__host_nest_run(const rlo__host_nest *nest, const rlo__host_kernels *kernels,
                        const rlo__host_memories *memories, int64_t first, int64_t end,
                        rlo__host_workspace *workspace) {
  const int64_t grain = nest->grain_bytes;
  turns at = {.src = (nest->reads_fill ? nest->fill : memories->src) + nest->src_base,
              .dst = memories->dst + nest->dst_base,
              .operand = nest->operand_base};
  if (first >= end) {
    return;
  }
  begin_cast(nest, memories, &workspace->operands);
  begin_turns(nest, first, &at);
  if (nest->move == RLO__HOST_MOVE_SPLIT || nest->move == RLO__HOST_MOVE_JOIN) {
    bool is_split = nest->move == RLO__HOST_MOVE_SPLIT;
    const rlo__host_side *few = is_split ? &nest->along_src : &nest->along_dst;
    rlo__host_make_masks((int32_t)few->extent, (int32_t)grain, is_split, workspace->masks);
  }
  const bool has_operands = nest->cast != NULL && nest->cast->num_lists > 0;
  int64_t rows_from = -1;
  int64_t columns_from = -1;
  const int64_t reach = rlo__ceil_div(LINE - 1, grain);
  for (int64_t turn = first; turn < end; ++turn) {
    /* Where the tile begins along the sides and in the grain. */
    int64_t corner[RLO__HOST_LOOP_NUM_KINDS] = {0};
    for (int32_t n = 0; n < nest->num_loops; ++n) {
      corner[nest->loops[n].kind] = at.digits[n] * nest->loops[n].points;
    }
    const int64_t i0 = corner[RLO__HOST_LOOP_SRC];
    const int64_t j0 = corner[RLO__HOST_LOOP_DST];
    const int64_t left_i = nest->along_src.extent - i0;
    const int64_t left_j = nest->along_dst.extent - j0;
    const tile t = {
        .nest = nest,
        .kernels = kernels,
        .workspace = workspace,
        .src = at.src,
        .dst = at.dst,
        .i0 = i0,
        .ni = rlo__min(left_i, nest->tile_src),
        .j0 = j0,
        .nj = rlo__min(left_j, nest->tile_dst),
        .grain_bytes = rlo__min(grain - corner[RLO__HOST_LOOP_GRAIN], nest->chunk_bytes),
        .operand = at.operand};
    if (columns_from != i0) {
      find_places(&nest->along_src, nest->along_src.steps, i0,
                  nest->move == RLO__HOST_MOVE_JOIN ? 1 : t.ni, workspace->columns);
      find_places(&nest->along_src, nest->along_src.operand_steps, i0, has_operands ? t.ni : 0,
                  workspace->operand_columns);
      columns_from = i0;
    }
    if (rows_from != j0 && nest->move != RLO__HOST_MOVE_SPLAT) {
      find_places(&nest->along_dst, nest->along_dst.steps, j0,
                  nest->move == RLO__HOST_MOVE_SPLIT ? 1 : rlo__min(left_j, t.nj + reach),
                  workspace->rows);
      find_places(&nest->along_dst, nest->along_dst.operand_steps, j0, has_operands ? t.nj : 0,
                  workspace->operand_rows);
      rows_from = j0;
    }
    run_tile(&t);
    next_turn(nest, &at);
  }
  if (nest->is_past_caches) {
    kernels->fence();
  }
}
