/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/gpu_stage.h"

#include <string.h>

#include "base/checked.h"
#include "plan/grid.h"

enum {
  /** The size of the widest pieces. */
  PIECE_BYTES = 16,
  /** Banks of local memory, and their width. */
  BANKS = 32,
  BANK_BYTES = 4,
  /** Steps of padding that are tried. */
  MAX_PADDING = 8,
  /** Instructions that a piece takes, and those that a word takes beside its
   *  units. Counted in compiled kernels. */
  PIECE_INSTRUCTIONS = 16,
  WORD_INSTRUCTIONS = 18,
  /** Instructions that a multiprocessor begins while local memory serves one
   *  round. */
  ISSUES_PER_ROUND = 4
};

/* Fewer rounds are not looked for. */
#define GOOD_ROUNDS 1.3

/* A layout to be tried. */
typedef struct draft {
  const rlo__family_query *query;
  const rlo__gpu_block *block;
  int64_t unit_bytes;
  rlo__gpu_word word;
  /** All runs begin at multiples of a piece. */
  bool is_aligned;
  /** Strides of the block's axes in the source, in bytes. */
  int64_t strides[RLO__GPU_BLOCK_MAX_AXES];
  int64_t repeat_stride;
  /** Axes of a run. */
  int32_t run_axes;
  /** Axis whose distance is padded, and by how many steps. */
  int32_t padded;
  int64_t padding;
  /** Coordinates of the units that the first lanes gather first, along the
   *  block's axes. */
  int64_t lanes[BANKS][RLO__GPU_BLOCK_MAX_AXES];
} draft;

/* Axes of the block that continue each other without gaps, from the first. */
static int32_t count_run_axes(const draft *d) {
  int64_t span = d->unit_bytes;
  int32_t count = 0;
  while (count < d->block->num_axes && d->strides[count] != 0 &&
         rlo__abs(d->strides[count]) <= span) {
    span += (d->block->axes[count].size - 1) * rlo__abs(d->strides[count]);
    ++count;
  }
  return count;
}

/* Tells if all runs of `run_axes` axes begin at multiples of a piece. */
static bool is_aligned(const draft *d) {
  const rlo__family_query *query = d->query;
  const rlo_problem *problem = query->problem;
  int64_t align = rlo__alignment_after(query->src_alignment_bytes,
                                       problem->src.base * d->unit_bytes, PIECE_BYTES);
  int32_t number[RLO_MAX_AXES] = {0};
  for (int32_t k = 0; k < d->block->num_axes; ++k) {
    number[d->block->axes[k].problem_axis] = k + 1;
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int32_t k = number[a] - 1;
    int64_t step = k >= 0 && k < d->run_axes ? d->block->axes[k].size : 1;
    bool is_whole = step >= problem->extents[a];
    int64_t stride = problem->src.axis[a] * d->unit_bytes;
    if (!is_whole) {
      align = rlo__alignment_after(align, stride * step, PIECE_BYTES);
    }
    if (k >= 0 && k < d->run_axes && stride < 0) {
      align = rlo__alignment_after(align, stride * (step - 1), PIECE_BYTES);
    }
  }
  return align == PIECE_BYTES;
}

/* The least distance that is at least `least` and equals `stride` modulo
 * `step`, a power of two. */
static int64_t distance(int64_t least, int64_t stride, int64_t step) {
  return least + ((stride - least) & (step - 1));
}

/* Bytes of neighbours that may lie behind a run in local memory, before the
 * next one. */
static int64_t overhang(const draft *d, const rlo__gpu_stage *s) {
  if (s->read_bytes == d->unit_bytes) {
    return 0;
  }
  if (d->is_aligned) {
    return -s->run_bytes & (PIECE_BYTES - 1);
  }
  int64_t most = PIECE_BYTES - d->unit_bytes;
  return s->store_bytes == PIECE_BYTES ? most : 2 * most;
}

/* Fills in what follows from the draft and the sizes of pieces. */
static void stack(const draft *d, rlo__gpu_stage *s) {
  const rlo__gpu_block *block = d->block;
  s->run_low = 0;
  s->run_bytes = d->unit_bytes;
  for (int32_t k = 0; k < d->run_axes; ++k) {
    int64_t along = (block->axes[k].size - 1) * d->strides[k];
    s->local_strides[k] = d->strides[k];
    s->run_bytes += rlo__abs(along);
    s->run_low += rlo__min(along, 0);
  }
  int64_t shift = d->is_aligned ? 0 : s->read_bytes - d->unit_bytes;
  s->rank = 1;
  s->extents[0] = rlo__ceil_div(shift + s->run_bytes, s->read_bytes);
  s->src_strides[0] = s->run_strides[0] = 0;
  int64_t over = overhang(d, s);
  int64_t total = s->run_bytes;
  for (int32_t k = d->run_axes; k < block->num_axes; ++k) {
    if (d->strides[k] == 0) {
      s->local_strides[k] = 0;
      continue;
    }
    if (s->rank == RLO__GPU_BLOCK_MAX_AXES) {
      /* With none in runs, a block of so many axes has one too many. */
      s->local_bytes = INT64_MAX;
      return;
    }
    int64_t padding = k == d->padded ? d->padding * s->store_bytes : 0;
    int64_t pitch = distance(total + over + padding, d->strides[k], s->store_bytes);
    total += (block->axes[k].size - 1) * pitch;
    s->local_strides[k] = pitch;
    s->extents[s->rank] = block->axes[k].size;
    s->src_strides[s->rank] = d->strides[k];
    s->run_strides[s->rank] = pitch;
    ++s->rank;
  }
  s->copy_bytes = distance(total + over, d->repeat_stride, s->store_bytes);
  s->pieces = 1;
  for (int32_t k = 0; k < s->rank; ++k) {
    s->pieces *= s->extents[k];
  }
  /* The first run begins within a piece, and the last one ends within one. */
  int64_t ends = 2 * (s->read_bytes - d->unit_bytes);
  s->local_bytes = total + (block->repeat - 1) * s->copy_bytes + (d->is_aligned ? over : ends);
}

/* Rounds of bank accesses in which the first lanes gather a unit each: 1
 * without conflicts. The mean over the groups of lanes that memory serves at a
 * time. */
static double find_load_rounds(const draft *d, const rlo__gpu_stage *s) {
  /* Units and banks have powers of two of bytes, and no lane is below run_low. */
  const int32_t log2_access = __builtin_ctzll((uint64_t)rlo__max(d->unit_bytes, BANK_BYTES));
  const int64_t at_a_time = (int64_t)BANKS * BANK_BYTES >> log2_access;
  int64_t rounds = 0;
  for (int64_t first = 0; first < BANKS; first += at_a_time) {
    /* The words wanted of each bank, without repetition. */
    int64_t words[BANKS][BANKS];
    int32_t count[BANKS] = {0};
    int32_t most = 0;
    for (int64_t lane = 0; lane < at_a_time; ++lane) {
      int64_t at = -s->run_low;
      for (int32_t k = 0; k < d->block->num_axes; ++k) {
        at += d->lanes[first + lane][k] * s->local_strides[k];
      }
      int64_t word = at >> log2_access;
      int64_t bank = word & (at_a_time - 1);
      int32_t n = 0;
      while (n < count[bank] && words[bank][n] != word) {
        ++n;
      }
      if (n == count[bank]) {
        words[bank][count[bank]++] = word;
        most = count[bank] > most ? count[bank] : most;
      }
    }
    rounds += most;
  }
  return (double)(rounds * at_a_time) / (double)BANKS;
}

static void place_lanes(draft *d) {
  const rlo__gpu_block *block = d->block;
  for (int64_t lane = 0; lane < BANKS; ++lane) {
    int64_t rest = lane * d->word.units;
    for (int32_t k = 0; k < block->num_axes; ++k) {
      int32_t axis = block->by_dst[k];
      d->lanes[lane][axis] = rest % block->axes[axis].size;
      rest /= block->axes[axis].size;
    }
  }
}

/* Works out what a copy takes, where the first lanes gather a unit each in so
 * many rounds. */
static void estimate(const draft *d, double load_rounds, rlo__gpu_stage *s) {
  int64_t units = 1;
  for (int32_t k = 0; k < d->block->num_axes; ++k) {
    units *= d->block->axes[k].size;
  }
  const double words = (double)rlo__ceil_div(units, d->word.units);
  const double pieces = (double)s->pieces;
  const double stores = (double)s->read_bytes / (double)s->store_bytes;
  const double store_rounds = stores * stores * (double)s->store_bytes / (double)BANK_BYTES;
  const double rounds = pieces * store_rounds + words * (double)d->word.loads * load_rounds;
  const double instructions = pieces * ((double)PIECE_INSTRUCTIONS + stores) +
                              words * (double)(WORD_INSTRUCTIONS + d->word.instructions);
  const double issues = (double)ISSUES_PER_ROUND * rounds;
  s->load_rounds = load_rounds;
  s->bank_rounds = rounds / (double)BANKS;
  s->cost = instructions > issues ? instructions + 0.1 * issues : issues + 0.1 * instructions;
}

/* Keeps the layout of a draft in `best` if it fits and costs less; cost 0:
 * there is none so far. */
static void try_layout(const draft *d, int64_t limit_bytes, rlo__gpu_stage *s,
                       rlo__gpu_stage *best) {
  stack(d, s);
  if (s->local_bytes > limit_bytes) {
    return;
  }
  /* To find the rounds takes long: not where the least of them would not do. */
  estimate(d, 1.0, s);
  if (best->cost > 0.0 && s->cost >= best->cost) {
    return;
  }
  estimate(d, find_load_rounds(d, s), s);
  if (best->cost == 0.0 || s->cost < best->cost) {
    *best = *s;
  }
}

/* Tries the padding of each axis that leads from run to run, if it may help.
 * Returns whether a layout without conflicts was found. */
static bool try_paddings(draft *d, int64_t limit_bytes, rlo__gpu_stage *s, rlo__gpu_stage *best) {
  d->padding = 0;
  d->padded = -1;
  try_layout(d, limit_bytes, s, best);
  if (s->local_bytes > limit_bytes) {
    return false;
  }
  for (int32_t k = d->run_axes; k < d->block->num_axes; ++k) {
    d->padded = k;
    for (d->padding = 1; d->padding < MAX_PADDING; ++d->padding) {
      if (best->load_rounds < GOOD_ROUNDS) {
        return true;
      }
      try_layout(d, limit_bytes, s, best);
    }
  }
  return best->load_rounds < GOOD_ROUNDS;
}

bool rlo__gpu_stage_lay_out(const rlo__family_query *query, const rlo__gpu_block *block,
                            int64_t limit_bytes, rlo__gpu_word word, rlo__gpu_stage *out_stage) {
  const rlo_problem *problem = query->problem;
  draft d = {.query = query, .block = block, .unit_bytes = problem->unit_bits / 8, .word = word};
  for (int32_t k = 0; k < block->num_axes; ++k) {
    d.strides[k] = problem->src.axis[block->axes[k].problem_axis] * d.unit_bytes;
  }
  d.repeat_stride =
      block->repeat_axis >= 0 ? problem->src.axis[block->repeat_axis] * d.unit_bytes : 0;
  place_lanes(&d);
  rlo__gpu_stage best = {.cost = 0.0};
  rlo__gpu_stage s = {0};
  int64_t narrow = rlo__max(d.unit_bytes, BANK_BYTES);
  for (d.run_axes = count_run_axes(&d); d.run_axes >= 0; --d.run_axes) {
    d.is_aligned = is_aligned(&d);
    s.read_bytes = s.store_bytes = PIECE_BYTES;
    if (try_paddings(&d, limit_bytes, &s, &best)) {
      break;
    }
    if (narrow < PIECE_BYTES) {
      s.store_bytes = narrow;
      (void)try_paddings(&d, limit_bytes, &s, &best);
      s.read_bytes = s.store_bytes = d.unit_bytes;
      (void)try_paddings(&d, limit_bytes, &s, &best);
    }
  }
  if (best.cost > 0.0) {
    *out_stage = best;
  }
  return best.cost > 0.0;
}
