/* SPDX-License-Identifier: Apache-2.0 */
#include "host/nest.h"

#include <string.h>

#include "base/checked.h"
#include "base/threshold.h"
#include "ir/problem.h"

enum { LINE = RLO__HOST_LINE_BYTES, JOINED_STREAMS = 8, MAX_BLOCK_VECTORS = 8 };

typedef struct axis {
  int64_t extent, src, dst, operand;
  bool is_taken;
} axis;

typedef struct chooser {
  rlo__host_nest *nest;
  const rlo__host_kernels *kernels;
  int32_t num_axes;
  axis axes[RLO_MAX_AXES];
} chooser;

/** Adds an axis to a side: to that along the destination, or to that along the
 *  source, where it then counts upwards. */
static void take(chooser *c, axis *a, bool in_dst) {
  rlo__host_nest *nest = c->nest;
  if (!in_dst && a->src < 0) {
    nest->src_base += a->src * (a->extent - 1);
    nest->dst_base += a->dst * (a->extent - 1);
    nest->operand_base += a->operand * (a->extent - 1);
    a->src = -a->src;
    a->dst = -a->dst;
    a->operand = -a->operand;
  }
  rlo__host_side *side = in_dst ? &nest->along_dst : &nest->along_src;
  side->extents[side->num_levels] = a->extent;
  side->operand_steps[side->num_levels] = a->operand;
  nest->operand_varies = nest->operand_varies || (in_dst && a->operand != 0);
  side->steps[side->num_levels++] = in_dst ? a->src : a->dst;
  side->extent *= a->extent;
  a->is_taken = true;
}

/** A free axis of such a step in a memory, or NULL. */
static axis *find_free(chooser *c, bool in_dst, int64_t step) {
  for (int32_t a = 0; a < c->num_axes; ++a) {
    axis *one = &c->axes[a];
    if (!one->is_taken && (in_dst ? one->dst : rlo__abs(one->src)) == step) {
      return one;
    }
  }
  return NULL;
}

/** The run that both memories have in common. */
static void find_grain(chooser *c) {
  for (int32_t a = 0; a < c->num_axes; ++a) {
    axis *one = &c->axes[a];
    if (one->src == c->nest->grain_bytes && one->dst == c->nest->grain_bytes) {
      c->nest->grain_bytes *= one->extent;
      c->nest->operand_step = one->operand;
      c->nest->operand_varies = one->operand != 0;
      one->is_taken = true;
      return; /* the canonical form has merged what continues it */
    }
  }
}

/** The axis of the shortest step in a memory, but for those of step 0. */
static axis *find_closest(chooser *c, bool in_dst) {
  axis *found = NULL;
  int64_t least = INT64_MAX;
  for (int32_t a = 0; a < c->num_axes; ++a) {
    axis *one = &c->axes[a];
    int64_t step = in_dst ? one->dst : rlo__abs(one->src);
    if (!one->is_taken && step != 0 && step < least) {
      found = one;
      least = step;
    }
  }
  return found;
}

/** Joins the axes that follow each other in the destination up to where they are one run of
 *  the source too. @return its bytes; 0 if there is none of at most `most_bytes`. */
static int64_t join_block(chooser *c, int64_t most_bytes, rlo__host_side *out, axis **out_axes) {
  const int64_t unit = c->nest->grain_bytes;
  int64_t bytes = unit;
  int64_t span = unit;
  *out = (rlo__host_side){.extent = 1};
  while (out->num_levels < RLO__HOST_MAX_LEVELS) {
    axis *next = find_free(c, true, bytes);
    if (next == NULL || next->extent > most_bytes / bytes) {
      return 0;
    }
    out_axes[out->num_levels] = next;
    out->extents[out->num_levels] = next->extent;
    out->steps[out->num_levels++] = next->src;
    out->extent *= next->extent;
    bytes *= next->extent;
    span += rlo__abs(next->src) * (next->extent - 1);
    if (span == bytes) {
      return bytes;
    }
  }
  return 0;
}

/** Makes blocks that follow each other in both memories one grain, and some of them a
 *  period, if there are enough. */
static void find_shuffle(chooser *c) {
  rlo__host_nest *nest = c->nest;
  const int64_t width = c->kernels->block_width;
  const int64_t unit = nest->grain_bytes;
  rlo__host_side block;
  axis *axes[RLO__HOST_MAX_LEVELS];
  const int64_t bytes = join_block(c, width * MAX_BLOCK_VECTORS, &block, axes);
  if (bytes == 0 || nest->written_bytes / bytes < rlo__thresholds.host_shuffled_blocks ||
      (block.extents[0] * unit % LINE == 0 && block.steps[0] % LINE == 0)) {
    return; /* the last are rows of whole lines in both */
  }
  int64_t vectors = rlo__ceil_div(bytes, width);
  vectors += vectors * width / bytes * bytes < width ? 1 : 0;
  const int64_t period = vectors * width / bytes * bytes;
  axis *run = find_free(c, true, bytes);
  const int64_t grain = run != NULL && run->src == bytes ? bytes * run->extent : bytes;
  if (grain < period) {
    return;
  }
  if (grain > bytes) {
    run->is_taken = true;
  }
  for (int32_t n = 0; n < block.num_levels; ++n) {
    axes[n]->is_taken = true;
    nest->src_base += rlo__min(axes[n]->src, 0) * (axes[n]->extent - 1);
  }
  nest->block = block;
  nest->unit_bytes = unit;
  nest->period = period;
  nest->grain_bytes = grain;
}

static void begin_sides(chooser *c) {
  rlo__host_nest *nest = c->nest;
  nest->along_src = (rlo__host_side){.extent = 1};
  nest->along_dst = (rlo__host_side){.extent = 1};
  nest->src_step = nest->grain_bytes;
  nest->dst_step = nest->grain_bytes;
  axis *to = find_closest(c, true);
  if (to == NULL) {
    return;
  }
  nest->dst_step = to->dst;
  to->is_taken = true;
  axis *from = find_closest(c, false);
  to->is_taken = false;
  take(c, to, true);
  if (from != NULL &&
      (rlo__abs(from->src) == nest->grain_bytes || rlo__abs(from->src) < rlo__abs(to->src))) {
    take(c, from, false);
    nest->src_step = from->src;
  }
}

/** Joins axes to a side until it is long enough. */
static void grow_side(chooser *c, bool in_dst) {
  const rlo__host_nest *nest = c->nest;
  const int64_t grain = nest->grain_bytes;
  const rlo__host_side *side = in_dst ? &nest->along_dst : &nest->along_src;
  axis *next = NULL;
  while ((in_dst ? nest->dst_step : nest->src_step) == grain && side->num_levels > 0 &&
         side->num_levels < RLO__HOST_MAX_LEVELS &&
         side->extent * grain < rlo__thresholds.host_side_bytes &&
         (next = find_free(c, in_dst, side->extent * grain)) != NULL) {
    take(c, next, in_dst);
  }
}

static bool is_unit(int64_t bytes) {
  return bytes <= 16 && (bytes & (bytes - 1)) == 0;
}

/** Sets the move and returns true if the plane of the first axes is a few
 * streams that become one run, or one run that becomes a few streams. */
static bool find_streams(rlo__host_nest *nest) {
  const int64_t grain = nest->grain_bytes;
  const rlo__host_side *from = &nest->along_src;
  const rlo__host_side *to = &nest->along_dst;
  if (!is_unit(grain) || nest->src_step != grain || nest->dst_step != grain ||
      from->num_levels != 1 || to->num_levels != 1) {
    return false;
  }
  const bool is_split = from->extent <= RLO__HOST_MAX_SHUFFLED &&
                        to->extent * grain >= RLO__HOST_STREAM_WIDTH &&
                        to->steps[0] == from->extent * grain;
  nest->move = is_split ? RLO__HOST_MOVE_SPLIT : RLO__HOST_MOVE_JOIN;
  return is_split ||
         (to->extent <= RLO__HOST_MAX_SHUFFLED && from->extent * grain >= RLO__HOST_STREAM_WIDTH &&
          from->steps[0] == to->extent * grain);
}

/** Tells if streams take fewer instructions than blocks: those of streams grow with the
 *  square of their number. */
static bool are_streams_better(const rlo__host_nest *nest) {
  const bool is_split = nest->move == RLO__HOST_MOVE_SPLIT;
  const int64_t few = is_split ? nest->along_src.extent : nest->along_dst.extent;
  const int64_t length = is_split ? nest->along_dst.extent : nest->along_src.extent;
  return few <= (is_split ? RLO__HOST_STORED_STREAMS : JOINED_STREAMS) &&
         length * nest->grain_bytes >= (int64_t)4 * LINE;
}

static bool is_plane_of_blocks(const rlo__host_nest *nest) {
  const int64_t grain = nest->grain_bytes;
  return is_unit(grain) && nest->src_step == grain && nest->dst_step == grain &&
         nest->along_src.num_levels > 0 && nest->along_dst.num_levels > 0 &&
         nest->along_src.extent * grain >= 16 && nest->along_dst.extent * grain >= 16;
}

static void choose_move(chooser *c) {
  rlo__host_nest *nest = c->nest;
  chooser begun;
  rlo__host_nest begun_nest;
  begin_sides(c);
  if (nest->period > 0) {
    nest->move = RLO__HOST_MOVE_SHUFFLE;
    return;
  }
  nest->move = RLO__HOST_MOVE_GRAINS;
  const bool is_packed = nest->bits < 8;
  if (nest->along_dst.num_levels > 0 && nest->dst_step == nest->grain_bytes &&
      nest->along_dst.steps[0] == 0 && nest->grain_bytes <= LINE && nest->cast == NULL &&
      !is_packed) {
    nest->move = RLO__HOST_MOVE_SPLAT;
    return;
  }
  begun = *c;
  begun_nest = *nest;
  grow_side(c, true);
  grow_side(c, false);
  const bool is_plane = is_plane_of_blocks(nest);
  if (c->kernels->shuffle_streams != NULL && !is_packed &&
      (nest->cast == NULL || nest->cast->num_lists == 0) && find_streams(&begun_nest) &&
      (!is_plane || are_streams_better(&begun_nest))) {
    *c = begun;
    *nest = begun_nest;
  } else if (is_plane) {
    nest->move = RLO__HOST_MOVE_BLOCKS;
  }
}

/** Cuts a side into tiles of about the same length. */
static int64_t cut(int64_t extent, int64_t most, int64_t multiple) {
  most = rlo__max(rlo__min(most, RLO__HOST_MAX_TILE), 1);
  if (extent <= most) {
    return extent;
  }
  int64_t pieces = rlo__ceil_div(extent, most);
  int64_t tile = rlo__ceil_div(extent, pieces);
  int64_t rounded = rlo__ceil_div(tile, multiple) * multiple;
  return rounded <= most ? rounded : most;
}

/** The largest power of two, up to a line, that divides all steps between rows of the
 *  destination. */
static int64_t align_rows(const chooser *c) {
  const rlo__host_nest *nest = c->nest;
  int64_t steps = LINE;
  for (int32_t a = 0; a < c->num_axes; ++a) {
    steps |= c->axes[a].is_taken ? 0 : c->axes[a].dst;
  }
  for (int32_t n = 0; n < nest->along_src.num_levels; ++n) {
    steps |= nest->along_src.steps[n];
  }
  return steps & -steps;
}

/** Chooses the tile of a plane of blocks. */
static void choose_blocks(const chooser *c) {
  rlo__host_nest *nest = c->nest;
  const int64_t grain = nest->grain_bytes;
  const bool is_packed = nest->bits < 8;
  const bool is_staged = !is_packed && (nest->cast != NULL || align_rows(c) < LINE);
  const int64_t row =
      is_staged ? rlo__thresholds.host_staged_tile_src_bytes : rlo__thresholds.host_tile_src_bytes;
  const int64_t bytes = is_packed ? rlo__thresholds.host_packed_tile_bytes
                                  : (is_staged ? rlo__thresholds.host_staged_tile_bytes
                                               : rlo__thresholds.host_tile_bytes);
  const int64_t column =
      rlo__max(rlo__thresholds.host_tile_min_dst_bytes,
               rlo__min(rlo__thresholds.host_tile_dst_bytes, bytes / (row / grain)));
  nest->tile_src = cut(nest->along_src.extent, row / grain, LINE / grain);
  nest->tile_dst = cut(nest->along_dst.extent, column / grain, LINE / grain);
}

/** The bytes of a source row in a tile of grains: one grain where all rows make a short run of
 *  the destination and each is stored by itself, so that they are stored in order. */
static int64_t grains_row(const rlo__host_nest *nest) {
  const int64_t run = nest->along_dst.extent * nest->grain_bytes;
  return run <= rlo__thresholds.host_grains_src_bytes && nest->along_src.num_levels > 0 &&
                 nest->along_src.steps[0] == run &&
                 nest->grain_bytes > rlo__thresholds.host_staged_grain_bytes
             ? nest->grain_bytes
             : rlo__thresholds.host_grains_src_bytes;
}

static void choose_tiles(const chooser *c) {
  rlo__host_nest *nest = c->nest;
  const int64_t grain = nest->grain_bytes;
  const int64_t stream = rlo__thresholds.host_stream_bytes / grain;
  const int64_t grains = rlo__thresholds.host_grains_bytes;
  const bool is_shuffled = nest->move == RLO__HOST_MOVE_SHUFFLE;
  nest->chunk_bytes = rlo__min(
      grain, is_shuffled ? grains / nest->period * nest->period : rlo__thresholds.host_chunk_bytes);
  nest->tile_src = nest->along_src.extent;
  nest->tile_dst = nest->along_dst.extent;
  if (nest->move == RLO__HOST_MOVE_BLOCKS) {
    choose_blocks(c);
  } else if (nest->move == RLO__HOST_MOVE_SPLIT) {
    nest->tile_dst = rlo__min(nest->tile_dst, stream);
  } else if (nest->move == RLO__HOST_MOVE_JOIN) {
    nest->tile_src = rlo__min(nest->tile_src, stream);
  } else if (nest->move == RLO__HOST_MOVE_SPLAT) {
    nest->tile_src = 1;
    nest->tile_dst = rlo__min(nest->tile_dst, rlo__thresholds.host_chunk_bytes / LINE * LINE);
  } else {
    nest->tile_src = cut(nest->tile_src, rlo__min(grains, grains_row(nest)) / grain, 1);
    nest->tile_dst =
        cut(nest->tile_dst, grains / (grain * nest->tile_src), LINE / rlo__gcd(grain, LINE));
  }
}

static void add_loop(rlo__host_nest *nest, rlo__host_loop loop) {
  if (loop.count > 1) {
    nest->loops[nest->num_loops++] = loop;
  }
  nest->num_turns *= loop.count;
}

/** Loops of longer steps in the source are further outside, so that the source
 *  is read as much in order as tiles allow. */
static int64_t loop_rank(const rlo__host_loop *loop) {
  static const int64_t ranks[] = {
      [RLO__HOST_LOOP_GRAIN] = -3, [RLO__HOST_LOOP_SRC] = -2, [RLO__HOST_LOOP_DST] = -1};
  return loop->kind == RLO__HOST_LOOP_AXIS ? rlo__abs(loop->src_step) : ranks[loop->kind];
}

static void sort_loops(rlo__host_nest *nest) {
  for (int32_t n = 1; n < nest->num_loops; ++n) {
    for (int32_t k = n; k > 0 && loop_rank(&nest->loops[k - 1]) < loop_rank(&nest->loops[k]); --k) {
      rlo__host_loop moved = nest->loops[k];
      nest->loops[k] = nest->loops[k - 1];
      nest->loops[k - 1] = moved;
    }
  }
}

static void lay_loops(chooser *c, int64_t unit) {
  rlo__host_nest *nest = c->nest;
  const rlo__host_side *to = &nest->along_dst;
  const bool is_line = to->num_levels == 1;
  nest->num_turns = 1;
  for (int32_t a = 0; a < c->num_axes; ++a) {
    const axis *one = &c->axes[a];
    if (!one->is_taken) {
      add_loop(nest, (rlo__host_loop){.kind = RLO__HOST_LOOP_AXIS,
                                      .count = one->extent,
                                      .src_step = one->src,
                                      .dst_step = one->dst,
                                      .operand_step = one->operand});
    }
  }
  add_loop(nest, (rlo__host_loop){.kind = RLO__HOST_LOOP_SRC,
                                  .count = rlo__ceil_div(nest->along_src.extent, nest->tile_src),
                                  .src_step = nest->tile_src * nest->src_step});
  add_loop(nest,
           (rlo__host_loop){.kind = RLO__HOST_LOOP_DST,
                            .count = rlo__ceil_div(nest->along_dst.extent, nest->tile_dst),
                            .src_step = is_line ? nest->tile_dst * to->steps[0] : 0,
                            .dst_step = nest->tile_dst * nest->dst_step,
                            .operand_step = is_line ? nest->tile_dst * to->operand_steps[0] : 0});
  add_loop(nest, (rlo__host_loop){.kind = RLO__HOST_LOOP_GRAIN,
                                  .count = rlo__ceil_div(nest->grain_bytes, nest->chunk_bytes),
                                  .src_step = nest->chunk_bytes,
                                  .dst_step = nest->chunk_bytes,
                                  .operand_step = nest->chunk_bytes / unit * nest->operand_step});
  sort_loops(nest);
}

/** Makes places in the destination of those that values of the source would have
 *  there. */
static void scale_destination(rlo__host_nest *nest) {
  const rlo__host_cast *cast = nest->cast;
  nest->dst_base = rlo__host_cast_scale(cast, nest->dst_base);
  for (int32_t n = 0; n < nest->along_src.num_levels; ++n) {
    nest->along_src.steps[n] = rlo__host_cast_scale(cast, nest->along_src.steps[n]);
  }
  for (int32_t n = 0; n < nest->num_loops; ++n) {
    nest->loops[n].dst_step = rlo__host_cast_scale(cast, nest->loops[n].dst_step);
  }
}

void rlo__host_nest_make(const rlo_problem *problem, const rlo__host_kernels *kernels,
                         const rlo__host_cast *cast, bool is_past_caches, rlo__host_nest *out) {
  const bool reads_fill = rlo__problem_uses_fill(problem);
  const int32_t bits = reads_fill ? rlo_problem_dst_unit_bits(problem) : problem->unit_bits;
  const int64_t unit = rlo__ceil_div(bits, 8);
  *out = (rlo__host_nest){.bits = bits < 8 ? bits : 8,
                          .src_base = problem->src.base * unit,
                          .dst_base = problem->dst.base * unit,
                          .grain_bytes = unit,
                          .written_bytes = unit,
                          .is_past_caches = is_past_caches,
                          .cast = reads_fill ? NULL : cast,
                          .reads_fill = reads_fill};
  if (reads_fill) {
    memcpy(out->fill, problem->fill, sizeof out->fill);
    out->fill[0] &= (uint8_t)((1 << out->bits) - 1);
  }
  chooser c = {.nest = out, .kernels = kernels, .num_axes = problem->num_axes};
  static const rlo_form none;
  const rlo_form *operand = problem->num_terms > 0 ? &problem->terms[0].form : &none;
  out->operand_base = operand->base;
  for (int32_t a = 0; a < c.num_axes; ++a) {
    c.axes[a] = (axis){problem->extents[a], problem->src.axis[a] * unit,
                       problem->dst.axis[a] * unit, operand->axis[a], false};
    out->written_bytes *= problem->extents[a];
  }
  find_grain(&c);
  if (kernels->shuffle_blocks != NULL && out->cast == NULL) {
    find_shuffle(&c);
  }
  choose_move(&c);
  choose_tiles(&c);
  lay_loops(&c, unit);
  const int64_t steps =
      (out->tile_dst < out->along_dst.extent ? out->tile_dst * out->dst_step : 0) |
      (out->chunk_bytes < out->grain_bytes ? out->chunk_bytes : 0) | align_rows(&c);
  out->alignment = steps & -steps;
  if (out->cast != NULL) {
    scale_destination(out);
  }
}
