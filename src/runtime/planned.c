/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/planned.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "ir/problem.h"
#include "ir/record.h"
#include "ir/validate.h"
#include "runtime/context.h"

enum {
  /** Alignment beyond a cache line gains nothing, and a smaller requirement
   *  admits more offsets to the fast kernel. */
  ENOUGH_ALIGNMENT_BYTES = 64,
  /** Numbers of a key beside the record: the class and the promise. */
  KEY_NUMBERS = 2,
  /** Keys of most problems need no memory of the heap until they are kept. */
  FEW_NUMBERS = 256
};

/* ----------------------------------------------------------------- planning */

static int64_t whole_bytes(int64_t bits) {
  return bits > 0 && bits % 8 == 0 ? bits / 8 : 1;
}

/** The largest power of two that divides an element's size. */
static int64_t element_alignment(int32_t unit_bits) {
  return whole_bytes(unit_bits) & -whole_bytes(unit_bits);
}

/** Returns the alignment of the elements, the least that an enqueue accepts. */
static rlo__alignment smallest_of(const rlo_problem *problem) {
  return (rlo__alignment){
      element_alignment(problem->unit_bits),
      element_alignment(rlo_problem_dst_unit_bits(problem))};
}

static rlo_status set_launch(rlo_context *context,
                             const rlo__launch *launch,
                             rlo__alignment a,
                             int32_t index,
                             rlo__planned *planned) {
  planned->alignments[index] = a;
  return rlo__prepared_launch_init(context, launch, &planned->launches[index]);
}

/** Describes what was planned by the choice for its first launch. */
static void describe(const rlo__draft *d, rlo__planned *planned) {
  planned->family = d->choice.family;
  planned->schedule = d->choice.schedule;
  planned->decision = d->choice.decision;
  planned->measured_fraction = d->choice.measured_fraction;
  if (planned->family != NULL) {
    memcpy(
        planned->parameters, d->launch.parameters, sizeof planned->parameters);
    planned->parameters[sizeof planned->parameters - 1] = '\0';
  }
}

/** Plans the problem again, by the options that it was planned with.
 *  @param a  0: the least that memories of the problem are aligned to, which is
 *            then written. */
static rlo_status plan_again(rlo_context *context,
                             const rlo_device_info *device,
                             const rlo__planned *planned,
                             rlo__alignment *a,
                             rlo__draft *d) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = planned->forced_family;
  options.schedule = planned->forced_schedule;
  options.device_class = planned->asked_class;
  rlo_problem *problem = rlo__alloc_unset(sizeof *problem);
  if (problem == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__record_read(planned->entry.key, problem);
  if (a->src_bytes == 0) {
    *a = smallest_of(problem);
  }
  rlo_status status =
      rlo__draft_plan(context, device, problem, &options, *a, d);
  rlo__free(problem);
  return status;
}

static void clear_launch(rlo__prepared_launch *launch) {
  rlo__prepared_launch_deinit(launch);
  memset(launch, 0, sizeof *launch);
}

/** Plans for memory aligned to the element, by the options of the first launch;
 *  `second` is then settled. */
static rlo_status plan_second(rlo_context *context,
                              rlo__planned *planned,
                              rlo__draft *d) {
  rlo__prepared_launch *second = &planned->launches[1];
  rlo__second_launch is = RLO__SECOND_THERE;
  rlo__alignment a = {0, 0};
  rlo_status status =
      plan_again(context, &context->device_info, planned, &a, d);
  if (status == RLO_OK) {
    status = set_launch(context, &d->launch, a, 1, planned);
    if (status == RLO_OK &&
        rlo__prepared_launch_equal(&planned->launches[0], second)) {
      is = RLO__SECOND_SAME;
    }
  } else if (status == RLO_UNSUPPORTED) {
    /* A forced family may support aligned memory only. */
    is = RLO__SECOND_NONE;
    status = RLO_OK;
  }
  if (status != RLO_OK || is != RLO__SECOND_THERE) {
    clear_launch(second);
  }
  if (status == RLO_OK) {
    atomic_store_explicit(&planned->second, is, memory_order_release);
  }
  return status;
}

/** Plans the launch in place of another one. */
static rlo_status plan_smaller(rlo_context *context,
                               rlo__planned *planned,
                               int32_t index,
                               int64_t max_group_items,
                               rlo__draft *d) {
  const int32_t smaller = index + RLO__PLANNED_SMALLER;
  rlo_device_info device = context->device_info;
  device.max_work_group_items = max_group_items;
  rlo__alignment a = planned->alignments[index];
  RLO_TRY(plan_again(context, &device, planned, &a, d));
  rlo_status status = set_launch(context, &d->launch, a, smaller, planned);
  if (status != RLO_OK) {
    clear_launch(&planned->launches[smaller]);
    return status;
  }
  atomic_store_explicit(
      &planned->has_smaller[index], true, memory_order_release);
  rlo__log(&context->log,
           RLO__LOG_INFO,
           "kernel %s runs %lld work-items in a group: planned again as %s, %s",
           planned->launches[index].parts.kernel_file,
           (long long)max_group_items,
           d->choice.family->name,
           d->launch.parameters);
  return RLO_OK;
}

rlo_status rlo__planned_shrink(rlo_context *context,
                               rlo__planned *planned,
                               int32_t index,
                               int64_t max_group_items) {
  if (planned->entry.key == NULL) {
    /* rlo__planned_of_launch has put the smallest there already. */
    atomic_store_explicit(
        &planned->has_smaller[index], true, memory_order_release);
    return RLO_OK;
  }
  rlo__draft *d = rlo__draft_create();
  if (d == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__mutex_lock(&context->planning);
  rlo_status status =
      atomic_load_explicit(&planned->has_smaller[index], memory_order_acquire)
          ? RLO_OK
          : plan_smaller(context, planned, index, max_group_items, d);
  rlo__mutex_unlock(&context->planning);
  rlo__draft_destroy(d);
  return status;
}

static rlo__second_launch second_of(const rlo__planned *planned) {
  return (rlo__second_launch)atomic_load_explicit(&planned->second,
                                                  memory_order_acquire);
}

rlo_status rlo__planned_complete(rlo_context *context, rlo__planned *planned) {
  if (second_of(planned) != RLO__SECOND_LATER) {
    return RLO_OK;
  }
  rlo__draft *d = rlo__draft_create();
  if (d == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__mutex_lock(&context->planning);
  rlo_status status = second_of(planned) == RLO__SECOND_LATER
                          ? plan_second(context, planned, d)
                          : RLO_OK;
  rlo__mutex_unlock(&context->planning);
  rlo__draft_destroy(d);
  return status;
}

static bool suits(rlo__alignment have, rlo__alignment need) {
  return have.src_bytes >= need.src_bytes && have.dst_bytes >= need.dst_bytes;
}

rlo_status rlo__planned_choose(rlo_context *context,
                               rlo__planned *planned,
                               int64_t src_alignment_bytes,
                               int64_t dst_alignment_bytes,
                               int32_t *out_index) {
  const rlo__alignment have = {src_alignment_bytes, dst_alignment_bytes};
  *out_index = 0;
  if (suits(have, planned->alignments[0])) {
    return RLO_OK;
  }
  RLO_TRY(rlo__planned_complete(context, planned));
  switch (second_of(planned)) {
    case RLO__SECOND_SAME:
      /* An enqueue accepts no memory that is aligned to less. */
      return RLO_OK;
    case RLO__SECOND_THERE:
      if (suits(have, planned->alignments[1])) {
        *out_index = 1;
        return RLO_OK;
      }
      break;
    case RLO__SECOND_LATER:
    case RLO__SECOND_NONE:
      break;
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "the plan of family %s needs memory aligned to %lld and %lld "
                  "bytes; this memory is aligned to %lld and %lld",
                  planned->family == NULL ? "none" : planned->family->name,
                  (long long)planned->alignments[0].src_bytes,
                  (long long)planned->alignments[0].dst_bytes,
                  (long long)src_alignment_bytes,
                  (long long)dst_alignment_bytes);
}

/** Both drafts of a problem, of which the second may be missing. */
static rlo_status set_both(rlo_context *context,
                           const rlo__draft *aligned,
                           const rlo__draft *element,
                           rlo__planned *planned) {
  describe(aligned, planned);
  atomic_store(&planned->second, RLO__SECOND_NONE);
  if (planned->family == NULL) {
    return RLO_OK;
  }
  const bool is_one =
      element == NULL || rlo__launch_equal(&aligned->launch, &element->launch);
  const rlo__alignment first =
      rlo__draft_alignment(element != NULL && is_one ? element : aligned);
  RLO_TRY(set_launch(context, &aligned->launch, first, 0, planned));
  if (!is_one) {
    RLO_TRY(set_launch(
        context, &element->launch, rlo__draft_alignment(element), 1, planned));
    atomic_store(&planned->second, RLO__SECOND_THERE);
  }
  return RLO_OK;
}

/** Measures, which is done with both drafts. */
static rlo_status plan_by_measuring(rlo_context *context,
                                    const rlo_problem *problem,
                                    const rlo_plan_options *options,
                                    rlo__draft *aligned,
                                    rlo__planned *planned) {
  rlo__draft *element = rlo__draft_create();
  if (element == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_UNSUPPORTED;
  if (!options->is_aligned) {
    status = rlo__draft_plan(context,
                             &context->device_info,
                             problem,
                             options,
                             smallest_of(problem),
                             element);
  }
  const bool has_element = status == RLO_OK;
  if (status == RLO_OK || status == RLO_UNSUPPORTED) {
    rlo__mutex_lock(&context->measuring);
    status = rlo__drafts_measure(
        context, problem, options, aligned, has_element ? element : NULL);
    rlo__mutex_unlock(&context->measuring);
  }
  if (status == RLO_OK) {
    status = set_both(context, aligned, has_element ? element : NULL, planned);
  }
  rlo__draft_destroy(element);
  return status;
}

/** Plans a problem for aligned memory, and leaves the rest for later where that
 *  is possible. */
static rlo_status plan(rlo_context *context,
                       const rlo_problem *problem,
                       const rlo_plan_options *options,
                       rlo__draft *d,
                       rlo__planned *planned) {
  const rlo__alignment smallest = smallest_of(problem);
  const int64_t enough = rlo__min(context->device_info.base_alignment_bytes,
                                  ENOUGH_ALIGNMENT_BYTES);
  const rlo__alignment best = {rlo__max(enough, smallest.src_bytes),
                               rlo__max(enough, smallest.dst_bytes)};
  rlo_status status = rlo__draft_plan(
      context, &context->device_info, problem, options, best, d);
  if (status == RLO_UNSUPPORTED) {
    /* A forced family may support only one of the alignments, which suffices.
     */
    RLO_TRY(rlo__draft_plan(
        context, &context->device_info, problem, options, smallest, d));
    return set_both(context, d, NULL, planned);
  }
  RLO_TRY(status);
  if (options != NULL && rlo__draft_wants_measuring(options, d)) {
    return plan_by_measuring(context, problem, options, d, planned);
  }
  RLO_TRY(set_both(context, d, NULL, planned));
  if (planned->family != NULL && (options == NULL || !options->is_aligned)) {
    atomic_store(&planned->second, RLO__SECOND_LATER);
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- lifecycle */

static void destroy(rlo__memo_entry *entry) {
  rlo__planned *planned = (rlo__planned *)entry;
  for (int32_t n = 0; n < RLO__PLANNED_MAX_LAUNCHES; ++n) {
    rlo__prepared_launch_deinit(&planned->launches[n]);
  }
  rlo__free(planned);
}

static rlo__planned *create(void) {
  rlo__planned *planned = rlo__alloc(sizeof *planned);
  if (planned != NULL) {
    atomic_init(&planned->entry.num_references, 1);
    planned->entry.destroy = destroy;
    atomic_init(&planned->second, RLO__SECOND_NONE);
    for (int32_t n = 0; n < RLO__PLANNED_SMALLER; ++n) {
      atomic_init(&planned->has_smaller[n], false);
    }
  }
  return planned;
}

void rlo__planned_release(rlo__planned *planned) {
  rlo__memo_entry_release(planned == NULL ? NULL : &planned->entry);
}

rlo_status rlo__planned_of_launch(rlo_context *context,
                                  const rlo__launch *launch,
                                  const rlo__launch *smallest,
                                  rlo__planned **out_planned) {
  const rlo__alignment any = {1, 1};
  *out_planned = NULL;
  rlo__planned *planned = create();
  if (planned == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = set_launch(context, launch, any, 0, planned);
  if (status == RLO_OK) {
    status = set_launch(context, smallest, any, RLO__PLANNED_SMALLER, planned);
  }
  if (status != RLO_OK) {
    rlo__planned_release(planned);
    return status;
  }
  *out_planned = planned;
  return RLO_OK;
}

/** Returns whether a plan follows from the problem, the class and the promised
 *  alignment alone, and the other options need no check. */
static bool is_memorable(const rlo_plan_options *options) {
  return options == NULL ||
         (options->family == NULL && options->schedule == NULL &&
          options->effort == RLO_EFFORT_ESTIMATE &&
          options->measure_seconds >= 0.0 && options->measure_seconds <= 0.0);
}

static void write_key(const rlo_problem *problem,
                      const rlo_plan_options *options,
                      int64_t *key,
                      size_t key_count) {
  rlo__record_write(problem, key);
  key[key_count - 2] =
      options == NULL ? RLO_DEVICE_CLASS_AUTO : options->device_class;
  key[key_count - 1] = options != NULL && options->is_aligned;
}

/** Plans anew. */
static rlo_status plan_anew(rlo_context *context,
                            const rlo_problem *problem,
                            const rlo_plan_options *options,
                            const int64_t *key,
                            size_t key_count,
                            rlo__planned **out_planned) {
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo__draft *d = rlo__draft_create();
  rlo__planned *planned = create();
  if (d == NULL || planned == NULL) {
    goto fail;
  }
  planned->entry.key_count = key_count;
  planned->entry.key = rlo__alloc_unset(key_count * sizeof key[0]);
  if (planned->entry.key == NULL) {
    goto fail;
  }
  memcpy(planned->entry.key, key, key_count * sizeof key[0]);
  RLO_TRY_GOTO(plan(context, problem, options, d, planned));
  if (options != NULL && planned->family != NULL) {
    planned->asked_class = options->device_class;
    planned->forced_family =
        options->family != NULL ? planned->family->name : NULL;
    planned->forced_schedule =
        options->schedule != NULL ? planned->schedule->name : NULL;
  }
  *out_planned = planned;
  planned = NULL;
fail:
  rlo__draft_destroy(d);
  rlo__planned_release(planned);
  return status;
}

/** Does the work of rlo__planned_get for options that may be remembered. */
static rlo_status get_remembered(rlo_context *context,
                                 const rlo_problem *problem,
                                 const rlo_plan_options *options,
                                 const int64_t *key,
                                 size_t key_count,
                                 rlo__planned **out_planned) {
  const uint64_t hash = rlo__plan_memo_hash(key, key_count);
  int64_t generation = 0;
  rlo__memo_entry *known =
      rlo__plan_memo_find(&context->memo, hash, key, key_count, &generation);
  if (known != NULL) {
    *out_planned = (rlo__planned *)known;
    return RLO_OK;
  }
  RLO_TRY(plan_anew(context, problem, options, key, key_count, out_planned));
  rlo__plan_memo_add(&context->memo, hash, generation, &(*out_planned)->entry);
  return RLO_OK;
}

rlo_status rlo__planned_get(rlo_context *context,
                            const rlo_problem *problem,
                            const rlo_plan_options *options,
                            rlo__planned **out_planned) {
  *out_planned = NULL;
  const size_t record_count = rlo__record_count(problem);
  if (record_count == 0) {
    return rlo__problem_validate(problem);
  }
  const size_t key_count = record_count + KEY_NUMBERS;
  int64_t few[FEW_NUMBERS];
  int64_t *key = RLO__SMALL_ARRAY(few, key_count);
  if (key == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  write_key(problem, options, key, key_count);
  rlo_status status =
      is_memorable(options)
          ? get_remembered(
                context, problem, options, key, key_count, out_planned)
          : plan_anew(context, problem, options, key, key_count, out_planned);
  rlo__small_array_free(key, few);
  return status;
}
