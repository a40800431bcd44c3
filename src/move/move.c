/* SPDX-License-Identifier: Apache-2.0 */
#include "move/move.h"

#include "base/alloc.h"
#include "base/status.h"
#include "host/mover.h"
#include "ir/record.h"
#include "ops/chain.h"
#include "runtime/plan_handle.h"

/** A problem made ready. */
typedef struct step {
  /** Either is NULL. */
  rlo__host_mover *mover;
  rlo_plan *plan;
  /** The operand that it reads, and that of its indices or -1. */
  int32_t operand, index_operand;
} step;

struct rlo__move {
  /** References; and, of a move of rlo__move_get, its key. */
  rlo__memo_entry entry;
  /** On the host: the segment sum that the steps compute, or NULL. Operand 1 is
   *  then the order of the rows, which each run makes from the ids. */
  rlo_segment_sum *sum;
  int32_t count;
  step steps[];
};

/* ---------------------------------------------------------------- preparing */

/** A rlo__memo_entry.destroy. */
static void destroy(rlo__memo_entry *entry) {
  rlo__move *move = (rlo__move *)entry;
  for (int32_t n = 0; n < move->count; ++n) {
    rlo__host_mover_release(move->steps[n].mover);
    rlo_plan_release(move->steps[n].plan);
  }
  rlo_segment_sum_release(move->sum);
  rlo__free(move);
}

void rlo__move_release(rlo__move *move) {
  if (move != NULL) {
    rlo__memo_entry_release(&move->entry);
  }
}

static rlo_status add_step(const rlo__place *place, const rlo__listed_problem *entry,
                           const rlo_segment_sum *sum, const rlo_plan_options *options,
                           rlo__move *move) {
  step *s = &move->steps[move->count++];
  s->operand = entry->operand;
  s->index_operand = entry->index_operand;
  if (place->context == NULL) {
    return rlo__host_mover_create(entry->problem, &s->mover);
  }
  return sum != NULL ? rlo_plan_create_segment_sum(place->context, sum, options, &s->plan)
                     : rlo_plan_create(place->context, entry->problem, options, &s->plan);
}

/* `sum`: on a device, the one entry stands for this segment sum; else NULL. */
static rlo_status prepare(const rlo__place *place, const rlo__listed_problem *entries,
                          int32_t count, const rlo_segment_sum *sum,
                          const rlo_plan_options *options, rlo__move **out_move) {
  rlo__move *made = rlo__alloc(sizeof *made + (size_t)count * sizeof(step));
  RLO_TRY_MEMORY(made);
  rlo__memo_entry_init(&made->entry, destroy);
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY_GOTO(add_step(place, &entries[n], sum, options, made));
  }
  *out_move = made;
  return RLO_OK;
fail:
  rlo__move_release(made);
  return status;
}

rlo_status rlo__move_create(const rlo__place *place, const rlo_problem_list *list,
                            const rlo_plan_options *options, rlo__move **out_move) {
  return prepare(place, list->entries, list->count, NULL, options, out_move);
}

rlo_status rlo__move_create_segment_sum(const rlo__place *place, rlo_segment_sum *sum,
                                        rlo__move **out_move) {
  if (place->context != NULL) {
    const rlo__listed_problem whole = {NULL, 0, 1};
    RLO_TRY(prepare(place, &whole, 1, sum, NULL, out_move));
    rlo_segment_sum_release(sum);
    return RLO_OK;
  }
  RLO_TRY(rlo__move_create(place, rlo_segment_sum_problems(sum), NULL, out_move));
  (*out_move)->sum = sum;
  return RLO_OK;
}

/* -------------------------------------------------------------------- cache */

/* Prepares a problem and keeps the move under its key, unless another thread
 * has kept an equal one meanwhile. */
static rlo_status prepare_kept(rlo__place *place, const rlo_problem *problem, bool is_aligned,
                               const rlo__memo_key *key, rlo__move **out_move) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.is_aligned = is_aligned;
  options.family = place->family;
  options.schedule = place->schedule;
  const rlo__listed_problem entry = {(rlo_problem *)(uintptr_t)problem, 0,
                                     rlo_problem_loads(problem) ? 1 : -1};
  rlo__move *made;
  RLO_TRY(prepare(place, &entry, 1, NULL, &options, &made));
  rlo_status status = rlo__plan_memo_add(&place->moves, key, &made->entry);
  if (status != RLO_OK) {
    rlo__move_release(made);
    return status;
  }
  *out_move = made;
  return RLO_OK;
}

rlo_status rlo__move_get(rlo__place *place, const rlo_problem *problem, bool is_aligned,
                         rlo__move **out_move) {
  const size_t count = rlo__record_count(problem);
  int64_t few[128];
  int64_t *numbers = RLO__SMALL_ARRAY(few, count + 1);
  RLO_TRY_MEMORY(numbers);
  rlo__record_write(problem, numbers);
  numbers[count] = is_aligned;
  rlo__memo_key key = {.numbers = numbers, .count = count + 1};
  rlo_status status = RLO_OK;
  *out_move = (rlo__move *)rlo__plan_memo_find(&place->moves, &key);
  if (*out_move == NULL) {
    status = prepare_kept(place, problem, is_aligned, &key, out_move);
  }
  rlo__small_array_free(numbers, few);
  return status;
}

/* ------------------------------------------------------------------ running */

/* An operand of 0 bytes. */
static const rlo__memory nothing = {0};

static const rlo__memory *operand_of(void *const *operands, int32_t number) {
  return number >= 0 && operands[number] != NULL ? operands[number] : &nothing;
}

static rlo_status enqueue(const step *s, const rlo__memory *src, const rlo__memory *indices,
                          rlo__memory *dst) {
  rlo__memory *scratch = NULL;
  cl_event event = NULL;
  RLO_TRY(rlo__memory_check_commands(dst));
  RLO_TRY(rlo__memory_check_commands(src));
  RLO_TRY(rlo__memory_check_commands(indices));
  if (s->plan->info.scratch_bytes > 0) {
    RLO_TRY(rlo__memory_create(dst->place, s->plan->info.scratch_bytes, &scratch));
  }
  cl_event waits[2] = {rlo__memory_gate(src)};
  cl_uint num_waits = waits[0] != NULL;
  waits[num_waits] = rlo__memory_gate(indices);
  num_waits += waits[num_waits] != NULL;
  const rlo_operands o = {.struct_size = sizeof o,
                          .src = src->buffer,
                          .src_offset_bytes = src->offset_bytes,
                          .indices = indices->buffer,
                          .index_offset_bytes = indices->offset_bytes,
                          .dst = dst->buffer,
                          .dst_offset_bytes = dst->offset_bytes,
                          .scratch = scratch != NULL ? scratch->buffer : NULL};
  rlo_status status = rlo_enqueue_operands(s->plan, dst->place->queue, &o, num_waits,
                                           num_waits > 0 ? waits : NULL, &event);
  /* The next user of the scratch memory comes later on the queue. */
  rlo__memory_free(scratch);
  if (event != NULL) {
    rlo__memory_set_ready(dst, event);
  }
  return status;
}

static rlo_status run_steps(const rlo__move *move, void *const *operands, rlo__memory *dst) {
  for (int32_t n = 0; n < move->count; ++n) {
    const step *s = &move->steps[n];
    const rlo__memory *src = operand_of(operands, s->operand);
    const rlo__memory *indices = operand_of(operands, s->index_operand);
    RLO_TRY(s->mover != NULL ? rlo__host_mover_run(s->mover, src->host, indices->host, dst->host,
                                                   dst->place->num_threads)
                             : enqueue(s, src, indices, dst));
  }
  return RLO_OK;
}

rlo_status rlo__move_run(const rlo__move *move, void *const *operands, rlo__memory *dst) {
  if (move->sum == NULL) {
    return run_steps(move, operands, dst);
  }
  rlo_segment_sum_sizes sizes;
  rlo_segment_sum_get_sizes(move->sum, &sizes);
  rlo__memory order = {.host = rlo__alloc((size_t)sizes.order_bytes)};
  RLO_TRY_MEMORY(order.host);
  rlo_status status =
      rlo_segment_sum_order_host(move->sum, operand_of(operands, 1)->host, order.host);
  if (status == RLO_OK) {
    void *const sources[] = {operands[0], &order};
    status = run_steps(move, sources, dst);
  }
  rlo__free(order.host);
  return status;
}

rlo_status rlo__move_run_share(const rlo__move *move, const void *src, const void *indices,
                               void *dst, int32_t share, int32_t num_shares) {
  return rlo__host_mover_run_share(move->steps[0].mover, src, indices, dst, share, num_shares);
}
