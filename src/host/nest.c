/* SPDX-License-Identifier: Apache-2.0 */
#include "host/nest.h"

#include <string.h>

#include "base/checked.h"
#include "base/threshold.h"
#include "ir/problem.h"

enum { LINE = RLO__HOST_LINE_BYTES };

typedef struct axis {
  int64_t extent, src, dst;
  bool is_taken;
} axis;

typedef struct chooser {
  rlo__host_nest *nest;
  int32_t num_axes;
  axis axes[RLO_MAX_AXES];
} chooser;

/** Adds an axis to a side; along the source it counts upwards there. */
static void take_along_src(chooser *c, axis *a) {
  rlo__host_nest *nest = c->nest;
  if (a->src < 0) {
    nest->src_base += a->src * (a->extent - 1);
    nest->dst_base += a->dst * (a->extent - 1);
    a->src = -a->src;
    a->dst = -a->dst;
  }
  rlo__host_side *side = &nest->along_src;
  side->extents[side->num_levels] = a->extent;
  side->steps[side->num_levels++] = a->dst;
  side->extent *= a->extent;
  a->is_taken = true;
}

static void take_along_dst(chooser *c, axis *a) {
  rlo__host_side *side = &c->nest->along_dst;
  side->extents[side->num_levels] = a->extent;
  side->steps[side->num_levels++] = a->src;
  side->extent *= a->extent;
  a->is_taken = true;
}

/** The run that both memories have in common. */
static void find_grain(chooser *c) {
  for (int32_t a = 0; a < c->num_axes; ++a) {
    axis *one = &c->axes[a];
    if (one->src == c->nest->grain_bytes && one->dst == c->nest->grain_bytes) {
      c->nest->grain_bytes *= one->extent;
      one->is_taken = true;
      return; /* the canonical form has merged what continues it */
    }
  }
}

static axis *find_free(chooser *c, int64_t src, int64_t dst) {
  for (int32_t a = 0; a < c->num_axes; ++a) {
    axis *one = &c->axes[a];
    if (!one->is_taken && (src == 0 || rlo__abs(one->src) == src) &&
        (dst == 0 || one->dst == dst)) {
      return one;
    }
  }
  return NULL;
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
  take_along_dst(c, to);
  if (from != NULL && (rlo__abs(from->src) == nest->grain_bytes ||
                       rlo__abs(from->src) < rlo__abs(to->src))) {
    take_along_src(c, from);
    nest->src_step = from->src;
  }
}

/** Joins axes to the sides until they are long enough. */
static void grow_sides(chooser *c) {
  rlo__host_nest *nest = c->nest;
  const int64_t grain = nest->grain_bytes;
  rlo__host_side *to = &nest->along_dst;
  rlo__host_side *from = &nest->along_src;
  for (;;) {
    axis *next = NULL;
    if (nest->dst_step == grain && to->num_levels > 0 &&
        to->num_levels < RLO__HOST_MAX_LEVELS &&
        to->extent * grain < rlo__thresholds.host_side_bytes) {
      next = find_free(c, 0, to->extent * grain);
    }
    if (next == NULL) {
      break;
    }
    take_along_dst(c, next);
  }
  for (;;) {
    axis *next = NULL;
    if (nest->src_step == grain && from->num_levels > 0 &&
        from->num_levels < RLO__HOST_MAX_LEVELS &&
        from->extent * grain < rlo__thresholds.host_side_bytes) {
      next = find_free(c, from->extent * grain, 0);
    }
    if (next == NULL) {
      break;
    }
    take_along_src(c, next);
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
  if (from->extent <= RLO__HOST_MAX_STREAMS && to->extent * grain >= 16 &&
      to->steps[0] == from->extent * grain) {
    nest->move = RLO__HOST_MOVE_SPLIT;
    return true;
  }
  if (to->extent <= RLO__HOST_MAX_STREAMS && from->extent * grain >= 16 &&
      from->steps[0] == to->extent * grain) {
    nest->move = RLO__HOST_MOVE_JOIN;
    return true;
  }
  return false;
}

static bool is_plane_of_blocks(const rlo__host_nest *nest) {
  const int64_t grain = nest->grain_bytes;
  return is_unit(grain) && nest->src_step == grain && nest->dst_step == grain &&
         nest->along_src.num_levels > 0 && nest->along_dst.num_levels > 0 &&
         nest->along_src.extent * grain >= 16 &&
         nest->along_dst.extent * grain >= 16;
}

static void choose_move(chooser *c, const rlo__host_kernels *kernels) {
  rlo__host_nest *nest = c->nest;
  chooser begun;
  rlo__host_nest begun_nest;
  begin_sides(c);
  nest->move = RLO__HOST_MOVE_GRAINS;
  if (nest->along_dst.num_levels > 0 && nest->dst_step == nest->grain_bytes &&
      nest->along_dst.steps[0] == 0 && nest->grain_bytes <= LINE) {
    nest->move = RLO__HOST_MOVE_SPLAT;
    return;
  }
  begun = *c;
  begun_nest = *nest;
  grow_sides(c);
  if (is_plane_of_blocks(nest)) {
    nest->move = RLO__HOST_MOVE_BLOCKS;
  } else if (kernels->split != NULL && find_streams(&begun_nest)) {
    *c = begun;
    *nest = begun_nest;
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

/** Tells if each row of the destination begins with a line, if the memory does.
 */
static bool has_line_rows(const chooser *c) {
  const rlo__host_nest *nest = c->nest;
  int64_t steps = nest->dst_base;
  for (int32_t a = 0; a < c->num_axes; ++a) {
    steps |= c->axes[a].is_taken ? 0 : c->axes[a].dst;
  }
  for (int32_t n = 0; n < nest->along_src.num_levels; ++n) {
    steps |= nest->along_src.steps[n];
  }
  return steps % LINE == 0;
}

/** Chooses the tile of a plane of blocks. */
static void choose_blocks(const chooser *c) {
  rlo__host_nest *nest = c->nest;
  const int64_t grain = nest->grain_bytes;
  const bool is_staged = !has_line_rows(c);
  const int64_t row = is_staged ? rlo__thresholds.host_staged_tile_src_bytes
                                : rlo__thresholds.host_tile_src_bytes;
  const int64_t bytes = is_staged ? rlo__thresholds.host_staged_tile_bytes
                                  : rlo__thresholds.host_tile_bytes;
  const int64_t column = rlo__max(
      rlo__thresholds.host_tile_min_dst_bytes,
      rlo__min(rlo__thresholds.host_tile_dst_bytes, bytes / (row / grain)));
  nest->tile_src = cut(nest->along_src.extent, row / grain, LINE / grain);
  nest->tile_dst = cut(nest->along_dst.extent, column / grain, LINE / grain);
}

static void choose_tiles(const chooser *c) {
  rlo__host_nest *nest = c->nest;
  const int64_t grain = nest->grain_bytes;
  const int64_t from = nest->along_src.extent;
  const int64_t to = nest->along_dst.extent;
  nest->chunk_bytes = rlo__min(grain, rlo__thresholds.host_chunk_bytes);
  switch (nest->move) {
    case RLO__HOST_MOVE_BLOCKS:
      choose_blocks(c);
      break;
    case RLO__HOST_MOVE_SPLIT:
      nest->tile_src = from;
      nest->tile_dst = rlo__min(to, rlo__thresholds.host_stream_bytes / grain);
      break;
    case RLO__HOST_MOVE_JOIN:
      nest->tile_dst = to;
      nest->tile_src =
          rlo__min(from, rlo__thresholds.host_stream_bytes / grain);
      break;
    case RLO__HOST_MOVE_SPLAT:
      nest->tile_src = 1;
      nest->tile_dst =
          rlo__min(to, rlo__thresholds.host_chunk_bytes / LINE * LINE);
      break;
    case RLO__HOST_MOVE_GRAINS:
      nest->tile_src = cut(from,
                           rlo__min(rlo__thresholds.host_grains_bytes,
                                    rlo__thresholds.host_grains_src_bytes) /
                               grain,
                           1);
      nest->tile_dst =
          cut(to,
              rlo__thresholds.host_grains_bytes / (grain * nest->tile_src),
              LINE / rlo__gcd(grain, LINE));
      break;
  }
}

static void add_loop(rlo__host_nest *nest,
                     rlo__host_loop_kind kind,
                     int64_t count,
                     int64_t src_step,
                     int64_t dst_step) {
  if (count > 1) {
    nest->loops[nest->num_loops++] =
        (rlo__host_loop){kind, count, src_step, dst_step};
  }
  nest->num_turns *= count;
}

/** Loops of longer steps in the source are further outside, so that the source
 *  is read as much in order as tiles allow. */
static int64_t loop_rank(const rlo__host_loop *loop) {
  switch (loop->kind) {
    case RLO__HOST_LOOP_GRAIN:
      return -3;
    case RLO__HOST_LOOP_SRC:
      return -2;
    case RLO__HOST_LOOP_DST:
      return -1;
    default:
      return rlo__abs(loop->src_step);
  }
}

static void sort_loops(rlo__host_nest *nest) {
  for (int32_t n = 1; n < nest->num_loops; ++n) {
    for (int32_t k = n;
         k > 0 && loop_rank(&nest->loops[k - 1]) < loop_rank(&nest->loops[k]);
         --k) {
      rlo__host_loop moved = nest->loops[k];
      nest->loops[k] = nest->loops[k - 1];
      nest->loops[k - 1] = moved;
    }
  }
}

static void lay_loops(chooser *c) {
  rlo__host_nest *nest = c->nest;
  nest->num_turns = 1;
  for (int32_t a = 0; a < c->num_axes; ++a) {
    const axis *one = &c->axes[a];
    if (!one->is_taken) {
      add_loop(nest, RLO__HOST_LOOP_AXIS, one->extent, one->src, one->dst);
    }
  }
  const rlo__host_side *from = &nest->along_src;
  const rlo__host_side *to = &nest->along_dst;
  add_loop(nest,
           RLO__HOST_LOOP_SRC,
           rlo__ceil_div(from->extent, nest->tile_src),
           nest->tile_src * nest->src_step,
           0);
  add_loop(nest,
           RLO__HOST_LOOP_DST,
           rlo__ceil_div(to->extent, nest->tile_dst),
           0,
           nest->tile_dst * nest->dst_step);
  add_loop(nest,
           RLO__HOST_LOOP_GRAIN,
           rlo__ceil_div(nest->grain_bytes, nest->chunk_bytes),
           nest->chunk_bytes,
           nest->chunk_bytes);
  sort_loops(nest);
}

void rlo__host_nest_make(const rlo_problem *problem,
                         const rlo__host_kernels *kernels,
                         bool is_past_caches,
                         rlo__host_nest *out) {
  const int64_t unit = problem->unit_bits / 8;
  *out = (rlo__host_nest){.src_base = problem->src.base * unit,
                          .dst_base = problem->dst.base * unit,
                          .grain_bytes = unit,
                          .written_bytes = unit,
                          .is_past_caches = is_past_caches};
  if (rlo__problem_uses_fill(problem)) {
    out->reads_fill = true;
    memcpy(out->fill, problem->fill, sizeof out->fill);
  }
  chooser c = {.nest = out, .num_axes = problem->num_axes};
  for (int32_t a = 0; a < c.num_axes; ++a) {
    c.axes[a] = (axis){problem->extents[a],
                       problem->src.axis[a] * unit,
                       problem->dst.axis[a] * unit,
                       false};
    out->written_bytes *= problem->extents[a];
  }
  find_grain(&c);
  choose_move(&c, kernels);
  choose_tiles(&c);
  lay_loops(&c);
  out->has_line_steps =
      has_line_rows(&c) && (out->tile_dst == out->along_dst.extent ||
                            out->tile_dst * out->dst_step % LINE == 0);
}
