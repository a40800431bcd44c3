/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/gpu_block.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "plan/grid.h"

enum {
  /** Most leading axes of one side that are tried. */
  MAX_LEADING = 6,
  MAX_REPEAT = 4,
  LONG_WORD_BYTES = 8,
  SHORT_WORD_BYTES = 4,
  /** Bytes that a lane has in flight. */
  FLIGHT_BYTES = 64
};

/* The cost of a word beside its units, and of reading its bytes, in gathered
 * units. */
#define WORD_MOVES 6.4

/* The cost of a unit that is in no word, at the ends of a run, in the same. */
#define END_MOVES 15.0

/* A block under construction. */
typedef struct draft {
  const rlo__family_query *query;
  int64_t unit_bytes;
  /** Axes by rising distance of their points. */
  int32_t num_axes;
  int32_t by_src[RLO_MAX_AXES];
  int32_t by_dst[RLO_MAX_AXES];
  /** Points of each problem axis that the block holds; 0: not part of it. */
  int64_t size[RLO_MAX_AXES];
} draft;

/* Sort key: axes of stride 0 are last. */
static int64_t sort_key(int64_t stride) {
  return stride == 0 ? INT64_MAX : rlo__abs(stride);
}

static void sort_axes(const rlo_problem *problem, const rlo_form *form, int32_t *out_axes) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int32_t place = a;
    while (place > 0 && sort_key(form->axis[out_axes[place - 1]]) > sort_key(form->axis[a])) {
      out_axes[place] = out_axes[place - 1];
      --place;
    }
    out_axes[place] = a;
  }
}

/* Units of the block along the first `count` axes of an order. */
static int64_t volume_of(const draft *d, const int32_t *order, int32_t count) {
  int64_t volume = 1;
  for (int32_t k = 0; k < count; ++k) {
    if (d->size[order[k]] > 0) {
      volume *= d->size[order[k]];
    }
  }
  return volume;
}

/* Cuts an axis into nearly equal pieces of at most `max` points, of whole
 * sectors if the axis is long. */
static int64_t even_piece(int64_t extent, int64_t max, int64_t unit_bytes) {
  if (extent <= max) {
    return extent;
  }
  int64_t sector = RLO__GPU_SECTOR_BYTES / unit_bytes;
  int64_t even = rlo__ceil_div(extent, rlo__ceil_div(extent, max));
  if (even < sector) {
    return even;
  }
  int64_t rounded = rlo__ceil_div(even, sector) * sector;
  return rounded <= max ? rounded : max / sector * sector;
}

/* Chooses the points of the two outermost axes, so that the runs of both sides
 * have about the same length. `inside` is the volume of the other axes. */
static void cut_two(draft *d, int32_t num_src, int32_t num_dst, int64_t inside, int64_t budget) {
  const rlo_problem *problem = d->query->problem;
  int32_t axis[2] = {d->by_src[num_src - 1], d->by_dst[num_dst - 1]};
  int64_t run[2] = {volume_of(d, d->by_src, num_src - 1), volume_of(d, d->by_dst, num_dst - 1)};
  int64_t size[2] = {1, 1};
  for (;;) {
    int side = run[0] * size[0] <= run[1] * size[1] ? 0 : 1;
    int64_t grown[2] = {0, 0};
    for (int s = 0; s < 2; ++s) {
      int64_t extent = problem->extents[axis[s]];
      grown[s] = size[s] > extent / 2 ? extent : 2 * size[s];
      if (grown[s] == size[s] || inside * grown[s] * size[1 - s] > budget) {
        grown[s] = 0;
      }
    }
    side = grown[side] > 0 ? side : 1 - side;
    if (grown[side] == 0) {
      break;
    }
    size[side] = grown[side];
  }
  for (int s = 0; s < 2; ++s) {
    int64_t extent = problem->extents[axis[s]];
    int64_t max = budget / (inside * size[1 - s]);
    size[s] = even_piece(extent, max, d->unit_bytes);
    d->size[axis[s]] = size[s];
  }
}

/* Makes the block hold the first axes of both orders, at most `budget` units;
 * false if they do not fit. */
static bool take_axes(draft *d, int32_t num_src, int32_t num_dst, int64_t budget) {
  const rlo_problem *problem = d->query->problem;
  memset(d->size, 0, sizeof d->size);
  int32_t last_src = d->by_src[num_src - 1];
  int32_t last_dst = d->by_dst[num_dst - 1];
  for (int32_t k = 0; k < num_src; ++k) {
    d->size[d->by_src[k]] = problem->extents[d->by_src[k]];
  }
  for (int32_t k = 0; k < num_dst; ++k) {
    d->size[d->by_dst[k]] = problem->extents[d->by_dst[k]];
  }
  d->size[last_src] = 0;
  d->size[last_dst] = 0;
  int64_t inside = 1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (d->size[a] > 0) {
      if (d->size[a] > budget / inside) {
        return false;
      }
      inside *= d->size[a];
    }
  }
  if (last_src == last_dst) {
    d->size[last_src] = even_piece(problem->extents[last_src], budget / inside, d->unit_bytes);
  } else {
    cut_two(d, num_src, num_dst, inside, budget);
  }
  return true;
}

/* Bytes of a block that are consecutive on one side, and the largest power of
 * two, at most a sector, that divides every address at which they begin.
 * Unlike rlo__axis_run_units it follows falling axes, too. */
static int64_t run_of(const draft *d, const rlo_form *form, const int32_t *order,
                      int64_t alignment_bytes, int64_t *out_begin_bytes) {
  const rlo_problem *problem = d->query->problem;
  int64_t run = 1;
  int64_t begin =
      rlo__alignment_after(alignment_bytes, form->base * d->unit_bytes, RLO__GPU_SECTOR_BYTES);
  bool is_run = true;
  for (int32_t k = 0; k < d->num_axes; ++k) {
    int32_t a = order[k];
    int64_t size = d->size[a];
    int64_t stride = rlo__abs(form->axis[a]);
    is_run = is_run && size > 0 && stride == run;
    if (is_run) {
      run *= size;
    }
    if (!is_run || size < problem->extents[a]) {
      /* Blocks and the other runs of a block begin at multiples of it. */
      int64_t step = is_run ? size * stride : stride;
      begin = rlo__alignment_after(begin, step * d->unit_bytes, RLO__GPU_SECTOR_BYTES);
      is_run = false;
    }
  }
  *out_begin_bytes = begin;
  return run * d->unit_bytes;
}

/* The axis of the copies: the first of either order that is long enough and
 * not in the block. */
static int32_t find_repeat_axis(const draft *d, int64_t repeat) {
  const rlo_problem *problem = d->query->problem;
  for (int32_t k = 0; repeat > 1 && k < d->num_axes; ++k) {
    int32_t axes[2] = {d->by_dst[k], d->by_src[k]};
    for (int s = 0; s < 2; ++s) {
      if (d->size[axes[s]] == 0 && problem->extents[axes[s]] >= repeat) {
        return axes[s];
      }
    }
  }
  return -1;
}

static void write_block(const draft *d, int64_t repeat, rlo__gpu_block *out) {
  const rlo_problem *problem = d->query->problem;
  memset(out, 0, sizeof *out);
  int32_t number[RLO_MAX_AXES] = {0};
  out->repeat_axis = find_repeat_axis(d, repeat);
  out->repeat = repeat;
  out->fullness = 1.0;
  for (int32_t k = 0; k < d->num_axes; ++k) {
    int32_t a = d->by_src[k];
    if (d->size[a] > 0) {
      number[a] = out->num_axes;
      out->axes[out->num_axes].problem_axis = a;
      out->axes[out->num_axes].size = d->size[a];
      ++out->num_axes;
      out->fullness *= rlo__grid_fullness(problem->extents[a], d->size[a]);
    }
  }
  int32_t count = 0;
  for (int32_t k = 0; k < d->num_axes; ++k) {
    if (d->size[d->by_dst[k]] > 0) {
      out->by_dst[count++] = number[d->by_dst[k]];
    }
  }
  if (out->repeat_axis >= 0) {
    out->fullness *= rlo__grid_fullness(problem->extents[out->repeat_axis], repeat);
  }
  int64_t begin;
  out->src_run_bytes = run_of(d, &problem->src, d->by_src, d->query->src_alignment_bytes, &begin);
  out->src_share = rlo__gpu_sector_share(out->src_run_bytes, begin);
  out->dst_run_bytes = run_of(d, &problem->dst, d->by_dst, d->query->dst_alignment_bytes, &begin);
  out->dst_begin_bytes = begin;
  out->dst_share = rlo__gpu_sector_share(out->dst_run_bytes, begin);
}

int64_t rlo__gpu_block_step(const rlo__gpu_block *block, int32_t axis) {
  if (axis == block->repeat_axis) {
    return block->repeat;
  }
  for (int32_t k = 0; k < block->num_axes; ++k) {
    if (block->axes[k].problem_axis == axis) {
      return block->axes[k].size;
    }
  }
  return 1;
}

/* An assumption: long words where the destination has runs of two of them, else
 * short ones. The layout in local memory, which comes later, decides. */
static int64_t likely_word_bytes(const rlo__gpu_block *block, int64_t unit_bytes) {
  return rlo__max(unit_bytes, block->dst_run_bytes >= INT64_C(2) * LONG_WORD_BYTES
                                  ? LONG_WORD_BYTES
                                  : SHORT_WORD_BYTES);
}

/* A lane finds a place for each word of the destination, once for all copies,
 * gathers its units, and reads as many bytes in pieces of 16. */
double rlo__gpu_block_rate(const rlo__family_query *query, const rlo__gpu_block *block,
                           int64_t lanes, int64_t word_bytes, double bank_rounds) {
  const rlo_problem *problem = query->problem;
  const int64_t unit_bytes = problem->unit_bits / 8;
  int64_t volume = 1;
  int32_t num_ends = 0;
  for (int32_t k = 0; k < block->num_axes; ++k) {
    const rlo__gpu_block_axis *axis = &block->axes[k];
    volume *= axis->size;
    num_ends += problem->extents[axis->problem_axis] % axis->size != 0;
  }
  const double lane_bytes = (double)(volume * block->repeat * unit_bytes) / (double)lanes;
  const double word_units = (double)word_bytes / (double)unit_bytes;
  const double words = fmax(lane_bytes / (double)(word_bytes * block->repeat), 1.0);
  double moves = words * (double)block->repeat * (word_units + WORD_MOVES);
  if (block->dst_begin_bytes < word_bytes) {
    moves += lane_bytes / (double)block->dst_run_bytes * word_units * END_MOVES;
  }
  return rlo__gpu_rate(
      &(rlo__gpu_group){.loop = RLO__GPU_PACKED,
                        .items = lanes,
                        .local_bytes = volume * block->repeat * unit_bytes,
                        .bytes = 2.0 * lane_bytes * (double)lanes,
                        .fullness = block->fullness,
                        .src_share = block->src_share,
                        .dst_share = block->dst_share,
                        .num_grid_axes = problem->num_axes - block->num_axes + num_ends,
                        .num_guards = problem->num_guards,
                        .num_ends = num_ends,
                        .finds = words,
                        .find_axes = block->num_axes,
                        .moves = moves,
                        .flight_bytes = fmin(lane_bytes, FLIGHT_BYTES),
                        .bank_rounds = bank_rounds});
}

bool rlo__gpu_block_choose(const rlo__family_query *query, int64_t budget_bytes, int64_t lanes,
                           rlo__gpu_block *out_block) {
  const rlo_problem *problem = query->problem;
  draft d = {.query = query, .unit_bytes = problem->unit_bits / 8, .num_axes = problem->num_axes};
  sort_axes(problem, &problem->src, d.by_src);
  sort_axes(problem, &problem->dst, d.by_dst);
  int32_t max = (int32_t)rlo__min(d.num_axes, MAX_LEADING);
  int64_t budget = budget_bytes / d.unit_bytes;
  bool is_found = false;
  double best = 0.0;
  for (int64_t repeat = 1; repeat <= MAX_REPEAT; repeat *= 2) {
    for (int32_t i = 1; i <= max; ++i) {
      for (int32_t j = 1; j <= max; ++j) {
        rlo__gpu_block block;
        if (d.num_axes < 2 || budget < repeat || !take_axes(&d, i, j, budget / repeat)) {
          break;
        }
        int32_t taken = 0;
        for (int32_t a = 0; a < d.num_axes; ++a) {
          taken += d.size[a] > 0;
        }
        /* Family rows serves blocks of one axis. */
        if (taken < 2 || taken > RLO__GPU_BLOCK_MAX_AXES ||
            (repeat > 1 && find_repeat_axis(&d, repeat) < 0)) {
          continue;
        }
        write_block(&d, repeat, &block);
        double fraction =
            rlo__gpu_block_rate(query, &block, lanes, likely_word_bytes(&block, d.unit_bytes), 0.0);
        if (fraction > best) {
          best = fraction;
          *out_block = block;
          is_found = true;
        }
      }
    }
  }
  return is_found;
}
