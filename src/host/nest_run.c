/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/checked.h"
#include "host/nest.h"
#include "host/tile.h"

enum { LINE = RLO__HOST_LINE_BYTES };

rlo__host_workspace *rlo__host_workspace_create(void) {
  return rlo__alloc_unset(sizeof(rlo__host_workspace));
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

/** The turns of the loops that are under way. */
typedef struct turns {
  int64_t digits[RLO_MAX_AXES + 3];
  int64_t src, dst, operand;
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

/** The places of a block's units in the source, from its first byte on. */
static void find_block_places(const rlo__host_side *block, int64_t *out) {
  int64_t first = 0;
  for (int32_t n = 0; n < block->num_levels; ++n) {
    first += rlo__min(block->steps[n], 0) * (block->extents[n] - 1);
  }
  find_places(block, block->steps, 0, block->extent, out);
  for (int64_t k = 0; k < block->extent; ++k) {
    out[k] -= first;
  }
}

/** Prepares the shuffle of a nest that has one. */
static void make_shuffle(const rlo__host_nest *nest, const rlo__host_kernels *kernels,
                         rlo__host_workspace *out) {
  const bool is_split = nest->move == RLO__HOST_MOVE_SPLIT;
  if (nest->move == RLO__HOST_MOVE_SHUFFLE) {
    find_block_places(&nest->block, out->rows);
    rlo__host_shuffle_blocks(out->rows, nest->block.extent, nest->unit_bytes, nest->period,
                             kernels->block_width, out->masks, &out->shuffle);
  } else if (is_split || nest->move == RLO__HOST_MOVE_JOIN) {
    const int64_t few = is_split ? nest->along_src.extent : nest->along_dst.extent;
    rlo__host_shuffle_streams(few, nest->grain_bytes, is_split, out->masks, &out->shuffle);
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
    operands->has_row = nest->along_dst.num_levels == 1 && nest->along_dst.operand_steps[0] == 1;
  }
}

void rlo__host_nest_run(const rlo__host_nest *nest, const rlo__host_kernels *kernels,
                        const rlo__host_memories *memories, int64_t first, int64_t end,
                        rlo__host_workspace *workspace) {
  const int64_t grain = nest->grain_bytes;
  const uint8_t *src = nest->reads_fill ? nest->fill : memories->src;
  const bool is_packed = nest->bits < 8;
  turns at = {.src = nest->src_base, .dst = nest->dst_base, .operand = nest->operand_base};
  if (first >= end) {
    return;
  }
  begin_cast(nest, memories, &workspace->operands);
  begin_turns(nest, first, &at);
  make_shuffle(nest, kernels, workspace);
  const bool has_operands = nest->cast != NULL && nest->cast->num_lists > 0;
  int64_t rows_from = -1;
  int64_t columns_from = -1;
  const int64_t reach = rlo__ceil_div(LINE - 1, grain);
  /* Then all tiles along the destination have the same rows, from their loop's step on. */
  const bool is_line = nest->along_dst.num_levels == 1;
  /* Positions along a side, or bytes of the grain, of an iteration. */
  const int64_t points[RLO__HOST_LOOP_NUM_KINDS] = {[RLO__HOST_LOOP_SRC] = nest->tile_src,
                                                    [RLO__HOST_LOOP_DST] = nest->tile_dst,
                                                    [RLO__HOST_LOOP_GRAIN] = nest->chunk_bytes};
  for (int64_t turn = first; turn < end; ++turn) {
    /* Where the tile begins along the sides and in the grain. */
    int64_t corner[RLO__HOST_LOOP_NUM_KINDS] = {0};
    for (int32_t n = 0; n < nest->num_loops; ++n) {
      corner[nest->loops[n].kind] = at.digits[n] * points[nest->loops[n].kind];
    }
    const int64_t i0 = corner[RLO__HOST_LOOP_SRC];
    const int64_t j0 = corner[RLO__HOST_LOOP_DST];
    const int64_t left_i = nest->along_src.extent - i0;
    const int64_t left_j = nest->along_dst.extent - j0;
    rlo__host_tile t = {
        .nest = nest,
        .kernels = kernels,
        .workspace = workspace,
        .src = src + (is_packed ? 0 : at.src),
        .dst = memories->dst + (is_packed ? 0 : at.dst),
        .src_at = at.src,
        .dst_at = at.dst,
        .src_step = nest->src_step,
        .dst_step = nest->dst_step,
        .i0 = i0,
        .ni = rlo__min(left_i, nest->tile_src),
        .j0 = j0,
        .nj = rlo__min(left_j, nest->tile_dst),
        .rows = workspace->rows,
        .grain_bytes = rlo__min(grain - corner[RLO__HOST_LOOP_GRAIN], nest->chunk_bytes),
        .operand = at.operand};
    if (columns_from != i0) {
      find_places(&nest->along_src, nest->along_src.steps, i0,
                  nest->move == RLO__HOST_MOVE_JOIN ? 1 : t.ni, workspace->columns);
      find_places(&nest->along_src, nest->along_src.operand_steps, i0, has_operands ? t.ni : 0,
                  workspace->operand_columns);
      columns_from = i0;
    }
    const int64_t row = is_line ? 0 : j0;
    if (rows_from != row && nest->move != RLO__HOST_MOVE_SPLAT) {
      const int64_t rows = rlo__min(nest->along_dst.extent - row, nest->tile_dst + reach);
      find_places(&nest->along_dst, nest->along_dst.steps, row,
                  nest->move == RLO__HOST_MOVE_SPLIT ? 1 : rows, workspace->rows);
      find_places(&nest->along_dst, nest->along_dst.operand_steps, row, has_operands ? rows : 0,
                  workspace->operand_rows);
      rows_from = row;
    }
    next_turn(nest, &at);
    if (is_line || nest->tile_dst >= nest->along_dst.extent) {
      t.next_src = src + at.src;
    }
    rlo__host_tile_run(&t);
  }
  if (nest->is_past_caches) {
    kernels->fence();
  }
}
