/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/gpu_packed.h"

#include "base/checked.h"
#include "base/threshold.h"

enum {
  /** Most local memory of a group. */
  MAX_LOCAL_BYTES = 24576,
  /** Bytes of the words into which units are gathered. */
  MIN_WORD_BYTES = 4,
  MAX_WORD_BYTES = 16,
  /** From so many bytes on a run of the destination needs no further axis, or
   *  from so many words on where a word turns once. */
  MIN_RUN_BYTES = 64,
  MANY_WORDS = 16,
  MAX_RUN_AXES = 3,
  /** Instructions of a unit that is a word; of one that is shifted into a word;
   * of a load of contiguous units, and of what such a word begins with; of a
   * unit that is in no word; and those of an axis of a run, for each word that
   * may turn and each place that is found. Counted in compiled kernels. */
  UNIT_INSTRUCTIONS = 4,
  SHIFT_INSTRUCTIONS = 6,
  LOAD_INSTRUCTIONS = 4,
  ALIGN_INSTRUCTIONS = 4,
  REST_INSTRUCTIONS = 30,
  TURN_INSTRUCTIONS = 12,
  FIND_INSTRUCTIONS = 4,
  /** Bytes of local memory before and behind the runs that are read along with
   *  words of contiguous units. */
  CONTIGUOUS_BYTES = 16 + 32
};

/* Tells if the points of all copies change each guard by less than 2^30. */
static bool guards_fit_32_bits(const rlo__gpu_packed_plan *plan) {
  const rlo__gpu_block *block = &plan->block;
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    const int64_t *coefs = plan->guards[g]->form.axis;
    int64_t reach = 0;
    for (int32_t k = -1; k < block->num_axes; ++k) {
      int32_t a = k < 0 ? block->repeat_axis : block->axes[k].problem_axis;
      int64_t size = k < 0 ? block->repeat : block->axes[k].size;
      int64_t along = 0;
      if (a >= 0 &&
          (!rlo__mul(rlo__abs(coefs[a]), size - 1, &along) || !rlo__add(reach, along, &reach))) {
        return false;
      }
    }
    if (reach >= INT64_C(1) << 30) {
      return false;
    }
  }
  return true;
}

static void list_ends(const rlo_problem *problem, rlo__gpu_packed_plan *plan) {
  for (int32_t k = 0; k < plan->block.num_axes; ++k) {
    const rlo__gpu_block_axis *axis = &plan->block.axes[k];
    if (problem->extents[axis->problem_axis] % axis->size != 0) {
      plan->ends[plan->num_ends++] = axis->problem_axis;
    }
  }
}

/* Index of an axis in the list of ends, or -1. */
static int32_t find_end(const rlo__gpu_packed_plan *plan, int32_t axis) {
  for (int32_t e = 0; e < plan->num_ends; ++e) {
    if (plan->ends[e] == axis) {
      return e;
    }
  }
  return -1;
}

/* Tells if an axis continues the last axis of the walk everywhere. */
static bool continues(const rlo__family_query *query, const rlo__gpu_packed_plan *plan, int32_t k) {
  const rlo__gpu_packed_walk *w = &plan->write;
  int32_t last = w->rank - 1;
  int32_t a = plan->block.axes[k].problem_axis;
  if (last < 0) {
    return false;
  }
  int64_t extent = w->extents[last];
  int64_t stride = query->problem->dst.axis[a] * plan->group.geometry.unit_bytes;
  if (stride != w->strides[last] * extent ||
      plan->stage.local_strides[k] != w->local_strides[last] * extent) {
    return false;
  }
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    if (plan->guards[g]->form.axis[a] != w->coefs[g][last] * extent) {
      return false;
    }
  }
  for (int32_t e = 0; e < plan->num_ends; ++e) {
    if (w->ends[e] == last) {
      return false;
    }
  }
  return find_end(plan, a) < 0;
}

/* Appends axis k of the block to the walk, or joins it to the last one. */
static void append_axis(const rlo__family_query *query, rlo__gpu_packed_plan *plan, int32_t k) {
  rlo__gpu_packed_walk *w = &plan->write;
  int32_t a = plan->block.axes[k].problem_axis;
  if (continues(query, plan, k)) {
    w->extents[w->rank - 1] *= plan->block.axes[k].size;
    return;
  }
  w->extents[w->rank] = plan->block.axes[k].size;
  w->strides[w->rank] = query->problem->dst.axis[a] * plan->group.geometry.unit_bytes;
  w->local_strides[w->rank] = plan->stage.local_strides[k];
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    w->coefs[g][w->rank] = plan->guards[g]->form.axis[a];
  }
  int32_t end = find_end(plan, a);
  if (end >= 0) {
    w->ends[end] = w->rank;
  }
  ++w->rank;
}

/* Tells if every run of the destination begins with a word. */
static bool begins_with_word(const rlo__family_query *query, const rlo__gpu_packed_plan *plan) {
  const rlo__gpu_packed_walk *w = &plan->write;
  int64_t word_bytes = w->word_units * plan->group.geometry.unit_bytes;
  int64_t align =
      rlo__grid_dst_alignment(query, &plan->group.grid, plan->block.repeat_axis, word_bytes);
  for (int32_t k = w->run_axes; k < w->rank; ++k) {
    align = rlo__alignment_after(align, w->strides[k], word_bytes);
  }
  return align == word_bytes;
}

/* Bytes of the block that are consecutive in the destination, counted from its
 * first point. */
static int64_t dst_run_bytes(const rlo__family_query *query, const rlo__gpu_packed_plan *plan) {
  const rlo__gpu_block *block = &plan->block;
  int64_t run = 1;
  for (int32_t k = 0; k < block->num_axes; ++k) {
    const rlo__gpu_block_axis *axis = &block->axes[block->by_dst[k]];
    if (query->problem->dst.axis[axis->problem_axis] != run) {
      break;
    }
    run *= axis->size;
  }
  return run * plan->group.geometry.unit_bytes;
}

/* Bytes from which on a run needs no further axis, so that few of its units are
 * in no word. More axes cost little where a word turns once. */
static int64_t enough_run_bytes(int64_t first_units, int64_t word_units, int64_t word_bytes) {
  const int64_t many = MANY_WORDS * word_bytes;
  return first_units >= word_units ? many : MIN_RUN_BYTES;
}

/* The cost of a word, as cut_runs will cut the runs: units of less than
 * MIN_WORD_BYTES are joined, and those of runs of several axes are found along
 * each of them, once for all that follow each other. */
static rlo__gpu_word word_of(const rlo__family_query *query, const rlo__gpu_packed_plan *plan,
                             int64_t word_bytes) {
  const rlo__gpu_block *block = &plan->block;
  const int64_t unit_bytes = plan->group.geometry.unit_bytes;
  const rlo__gpu_block_axis *first = &block->axes[block->by_dst[0]];
  const int64_t units = word_bytes / unit_bytes;
  rlo__gpu_word word = {units, units, UNIT_INSTRUCTIONS * units};
  if (units == 1) {
    return word;
  }
  const bool is_contiguous =
      unit_bytes < MIN_WORD_BYTES && query->problem->src.axis[first->problem_axis] == 1;
  if (is_contiguous) {
    word.loads = word_bytes / MIN_WORD_BYTES + 1;
    word.instructions = ALIGN_INSTRUCTIONS + LOAD_INSTRUCTIONS * word.loads;
  } else if (unit_bytes < MIN_WORD_BYTES) {
    word.instructions = SHIFT_INSTRUCTIONS * units;
  }
  int64_t run_bytes = unit_bytes * first->size;
  int32_t axes = 1;
  const int64_t enough_bytes = enough_run_bytes(first->size, units, word_bytes);
  while (axes < MAX_RUN_AXES && axes < block->num_axes && run_bytes < enough_bytes &&
         run_bytes % word_bytes != 0) {
    run_bytes *= block->axes[block->by_dst[axes++]].size;
  }
  if (axes > 1 && first->size >= units) {
    /* Contiguous units are two words, joined by masks. */
    word.instructions += is_contiguous ? word.instructions + word_bytes : units;
    word.instructions += (int64_t)TURN_INSTRUCTIONS * axes;
    word.loads *= is_contiguous ? 2 : 1;
  } else if (axes > 1) {
    word.instructions += (int64_t)FIND_INSTRUCTIONS * axes * units;
  }
  if (run_bytes % word_bytes != 0) {
    const int64_t words = rlo__max(run_bytes / word_bytes - 1, 1);
    word.instructions +=
        REST_INSTRUCTIONS * rlo__max(run_bytes / unit_bytes - words * units, 0) / words;
  }
  return word;
}

/* Lays out the block for words of the bytes that cost least: of one unit, or of
 * 4 to 16 bytes where the destination has runs of two. False if it does not
 * fit. */
static bool lay_out(const rlo__family_query *query, int64_t limit_bytes,
                    rlo__gpu_packed_plan *plan) {
  static const int64_t sizes[] = {1, MIN_WORD_BYTES, 8, MAX_WORD_BYTES};
  const int64_t unit_bytes = plan->group.geometry.unit_bytes;
  const int64_t run_bytes = dst_run_bytes(query, plan);
  bool fits = false;
  for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; ++n) {
    const int64_t word_bytes = rlo__max(sizes[n], unit_bytes);
    if (n > 0 && (word_bytes == unit_bytes || run_bytes < 2 * word_bytes)) {
      continue;
    }
    rlo__gpu_stage stage;
    if (rlo__gpu_stage_lay_out(query, &plan->block, limit_bytes, word_of(query, plan, word_bytes),
                               &stage) &&
        (!fits || stage.cost < plan->stage.cost)) {
      plan->stage = stage;
      plan->write.word_units = word_bytes / unit_bytes;
      fits = true;
    }
  }
  return fits;
}

/* Chooses the axes of a run, and cuts it into words. */
static void cut_runs(const rlo__family_query *query, const rlo__gpu_packed_plan *plan,
                     rlo__gpu_packed_walk *w) {
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int64_t word_bytes = w->word_units * unit_bytes;
  int64_t units = w->extents[0];
  w->run_axes = 1;
  bool is_whole = units % w->word_units == 0 && begins_with_word(query, plan);
  const int64_t enough_bytes = enough_run_bytes(w->extents[0], w->word_units, word_bytes);
  while (!is_whole && units * unit_bytes < enough_bytes && w->run_axes < w->rank &&
         w->run_axes < MAX_RUN_AXES && w->strides[w->run_axes] == units * unit_bytes) {
    units *= w->extents[w->run_axes++];
    is_whole = units % w->word_units == 0 && begins_with_word(query, plan);
  }
  w->is_shifted = !is_whole;
  w->words = w->is_shifted ? (units * unit_bytes - (word_bytes - unit_bytes)) / word_bytes
                           : units / w->word_units;
  w->rest = units - w->words * w->word_units;
}

static bool is_contiguous(const rlo__gpu_packed_walk *w, int64_t unit_bytes) {
  return w->word_units > 1 && unit_bytes < MIN_WORD_BYTES && w->local_strides[0] == unit_bytes;
}

static void make_walk(const rlo__family_query *query, rlo__gpu_packed_plan *plan) {
  rlo__gpu_packed_walk *w = &plan->write;
  const int64_t units = w->word_units;
  *w = (rlo__gpu_packed_walk){.ends = {-1, -1}, .run_axes = 1, .word_units = units};
  for (int32_t k = 0; k < plan->block.num_axes; ++k) {
    append_axis(query, plan, plan->block.by_dst[k]);
  }
  if (units > 1) {
    cut_runs(query, plan, w);
  }
  if (w->words <= 0) {
    w->run_axes = 1;
    w->word_units = 1;
    w->is_shifted = false;
    w->words = w->extents[0];
    w->rest = 0;
  }
  w->is_contiguous = is_contiguous(w, plan->group.geometry.unit_bytes);
  w->runs = 1;
  for (int32_t k = w->run_axes; k < w->rank; ++k) {
    w->runs *= w->extents[k];
  }
}

/* Local memory comes in few sizes, for fewer programs. */
static int64_t local_bytes(int64_t bytes) {
  int64_t size = 1024;
  while (size < bytes) {
    size += size < 4096 ? size : 4096;
  }
  return size;
}

bool rlo__gpu_packed_choose(const rlo__family_query *query, rlo__gpu_packed_plan *plan,
                            rlo__str *why) {
  const rlo_problem *problem = query->problem;
  const rlo_device_info *device = query->device;
  *plan = (rlo__gpu_packed_plan){.group = RLO__GRID_PLAN_INIT(query)};
  rlo__grid_plan *group = &plan->group;
  int64_t budget_bytes = device->local_memory_bytes / 2;
  budget_bytes = rlo__min(budget_bytes, rlo__thresholds.plan_gpu_packed_bytes);
  if (!rlo__gpu_block_choose(query, budget_bytes, rlo__gpu_local_items(device), &plan->block)) {
    return RLO__REFUSE(why, "%d axes; no two of them fit into %lld bytes of local memory",
                       problem->num_axes, (long long)budget_bytes);
  }
  plan->num_guards = problem->num_guards;
  rlo__geometry_list_guards(problem, plan->guards);
  list_ends(problem, plan);
  group->geometry.fits_32_bits = group->geometry.fits_32_bits && guards_fit_32_bits(plan);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    rlo__grid_add_axis(&group->grid, problem, a, rlo__gpu_block_step(&plan->block, a));
  }
  rlo__grid_round_axes(&group->grid);
  if (rlo__grid_num_groups(&group->grid, &group->num_groups) != RLO_OK) {
    return RLO__REFUSE(why, "it has more blocks than 64 bits can count");
  }
  int64_t limit_bytes = rlo__min(device->local_memory_bytes, MAX_LOCAL_BYTES);
  if (!lay_out(query, limit_bytes, plan)) {
    return RLO__REFUSE(why, "its blocks do not fit into %lld bytes of local memory",
                       (long long)limit_bytes);
  }
  make_walk(query, plan);
  plan->local_bytes =
      local_bytes(plan->stage.local_bytes + (plan->write.is_contiguous ? CONTIGUOUS_BYTES : 0));
  return rlo__gpu_has_local_bytes(device, "blocks take", plan->local_bytes, why) &&
         rlo__gpu_can_launch(group->num_groups, why);
}
