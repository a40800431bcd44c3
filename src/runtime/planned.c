/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/planned.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/record.h"
#include "ir/validate.h"

enum {
  NUM_TERMS = sizeof(rlo__planned_terms) / sizeof(int64_t),
  /** Keys of most problems need no memory of the heap until they are kept. */
  FEW_NUMBERS = 256
};

/* ---------------------------------------------------------------- lifecycle */

static void destroy(rlo__memo_entry *entry) {
  rlo__planned *planned = (rlo__planned *)entry;
  rlo__program_cache_put(
      planned->context->programs,
      atomic_load_explicit(&planned->program, memory_order_acquire));
  rlo__planned_release(
      atomic_load_explicit(&planned->smaller, memory_order_acquire));
  rlo__planned_release(planned->spare);
  rlo__free(planned->launch);
  rlo__free(planned);
}

static rlo_status create(rlo_context *context, rlo__planned **out_planned) {
  rlo__planned *planned = rlo__alloc(sizeof *planned);
  if (planned == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__memo_entry_init(&planned->entry, destroy);
  planned->context = context;
  planned->id = (uint64_t)atomic_fetch_add_explicit(
                    &context->last_launch_id, 1, memory_order_relaxed) +
                1;
  *out_planned = planned;
  return RLO_OK;
}

void rlo__planned_release(rlo__planned *planned) {
  rlo__memo_entry_release(planned == NULL ? NULL : &planned->entry);
}

static rlo_status set_launch(rlo__planned *planned, const rlo__launch *launch) {
  RLO_TRY(rlo__launch_check(planned->context, launch));
  planned->launch = rlo__launch_pack(launch);
  return planned->launch != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

rlo_status rlo__planned_of_launch(rlo_context *context,
                                  const rlo__launch *launch,
                                  rlo__planned *spare,
                                  rlo__planned **out_planned) {
  rlo__planned *planned = NULL;
  RLO_TRY(create(context, &planned));
  rlo_status status = set_launch(planned, launch);
  if (status != RLO_OK) {
    rlo__planned_release(planned);
    return status;
  }
  planned->spare = spare;
  *out_planned = planned;
  return RLO_OK;
}

/* ----------------------------------------------------------------- planning */

/** The planner's work on one problem: too large for the stack. */
typedef struct workspace {
  rlo_problem problem;
  rlo__choice choice;
  rlo__launch launch;
} workspace;

/** Lets the planner write the launch of terms. */
static rlo_status choose(rlo__planned *planned, workspace *w) {
  rlo_context *context = planned->context;
  const rlo__planned_terms *terms = &planned->terms;
  const rlo__family *family = (const rlo__family *)(uintptr_t)terms->family;
  const rlo__schedule *schedule =
      (const rlo__schedule *)(uintptr_t)terms->schedule;
  rlo_device_info device = context->device_info;
  device.max_work_group_items = terms->max_group_items;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.device_class = (rlo_device_class)terms->device_class;
  options.family = family != NULL ? family->name : NULL;
  options.schedule = schedule != NULL ? schedule->name : NULL;
  const rlo__plan_request request = {
      .problem = &w->problem,
      .device = &device,
      .options = &options,
      .src_alignment_bytes = terms->src_alignment_bytes,
      .dst_alignment_bytes = terms->dst_alignment_bytes,
      .wisdom = &context->wisdom};
  atomic_fetch_add_explicit(&context->planned, 1, memory_order_relaxed);
  rlo__rwlock_lock_read(&context->wisdom_lock);
  rlo_status status = rlo__planner_choose(&request, &w->choice, &w->launch);
  rlo__rwlock_unlock(&context->wisdom_lock);
  return status;
}

/** Plans what a key tells. */
static rlo_status plan(const int64_t *numbers,
                       workspace *w,
                       rlo__planned *planned) {
  memcpy(&planned->terms, numbers, sizeof planned->terms);
  rlo__record_read(numbers + NUM_TERMS, &w->problem);
  RLO_TRY(choose(planned, w));
  planned->family = w->choice.family;
  planned->schedule = w->choice.schedule;
  planned->decision = w->choice.decision;
  planned->measured_fraction = w->choice.measured_fraction;
  return planned->family != NULL ? set_launch(planned, &w->launch) : RLO_OK;
}

static rlo_status get(rlo_context *context,
                      const int64_t *numbers,
                      size_t count,
                      rlo__planned **out_planned) {
  rlo__memo_key key = {.numbers = numbers, .count = count};
  rlo__planned *made =
      (rlo__planned *)rlo__plan_memo_find(&context->memo, &key);
  if (made == NULL) {
    RLO_TRY(create(context, &made));
    workspace *w = rlo__alloc_unset(sizeof *w);
    rlo_status status = RLO_OUT_OF_MEMORY;
    if (w != NULL) {
      rlo__launch_init(&w->launch);
      status = plan(numbers, w, made);
      rlo__launch_deinit(&w->launch);
      rlo__free(w);
    }
    if (status == RLO_OK) {
      status = rlo__plan_memo_add(&context->memo, &key, &made->entry);
    }
    if (status != RLO_OK) {
      rlo__planned_release(made);
      return status;
    }
  }
  *out_planned = made;
  return RLO_OK;
}

rlo_status rlo__planned_get(rlo_context *context,
                            const rlo_problem *problem,
                            const rlo__planned_terms *terms,
                            rlo__planned **out_planned) {
  const size_t record_count = rlo__record_count(problem);
  if (record_count == 0) {
    RLO_TRY(rlo__problem_validate(problem));
    return RLO_FAIL(RLO_INTERNAL, "a valid problem has no record");
  }
  int64_t few[FEW_NUMBERS];
  int64_t *numbers = RLO__SMALL_ARRAY(few, NUM_TERMS + record_count);
  if (numbers == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(numbers, terms, sizeof *terms);
  rlo__record_write(problem, numbers + NUM_TERMS);
  rlo_status status =
      get(context, numbers, NUM_TERMS + record_count, out_planned);
  rlo__small_array_free(numbers, few);
  return status;
}

rlo_status rlo__planned_get_again(const rlo__planned *planned,
                                  const rlo__planned_terms *terms,
                                  rlo__planned **out_planned) {
  rlo_problem *problem = rlo__alloc_unset(sizeof *problem);
  if (problem == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__record_read(planned->entry.key + NUM_TERMS, problem);
  rlo_status status =
      rlo__planned_get(planned->context, problem, terms, out_planned);
  rlo__free(problem);
  return status;
}

/* ----------------------------------------------------------------- building */

/** Finds or plans the launch in place of one whose kernel runs no more than
 *  `max_group_items`. */
static rlo_status shrink(rlo__planned *planned,
                         int64_t max_group_items,
                         rlo__planned **out_smaller) {
  rlo__planned *made = planned->spare;
  if (made != NULL) {
    rlo__memo_entry_retain(&made->entry);
  } else {
    rlo__planned_terms terms = planned->terms;
    terms.max_group_items = max_group_items;
    RLO_TRY(rlo__planned_get_again(planned, &terms, &made));
  }
  rlo__log(&planned->context->log,
           RLO__LOG_INFO,
           "kernel %s runs %lld work-items in a group: planned again, %s",
           planned->launch->kernel_file,
           (long long)max_group_items,
           made->launch->parameters);
  *out_smaller = NULL;
  if (atomic_compare_exchange_strong_explicit(&planned->smaller,
                                              out_smaller,
                                              made,
                                              memory_order_acq_rel,
                                              memory_order_acquire)) {
    *out_smaller = made;
  } else {
    /* Another thread was first. */
    rlo__planned_release(made);
  }
  return RLO_OK;
}

/** Builds the program of this launch. @param out_max_group_items  set if it
 *  fails because the compiled kernel runs no larger work-groups. */
static rlo_status build(rlo__planned *planned,
                        rlo__build_priority priority,
                        int64_t *out_max_group_items) {
  rlo__program_cache *programs = planned->context->programs;
  rlo__program_spec spec;
  rlo__program *program = NULL;
  RLO_TRY(rlo__codegen_program(planned->launch, &spec));
  rlo_status status =
      rlo__program_cache_get(programs, &spec, priority, &program);
  rlo__codegen_deinit(&spec);
  RLO_TRY(status);
  status = rlo__launch_check_program(
      planned->context, planned->launch, program, out_max_group_items);
  rlo__program *none = NULL;
  if (status != RLO_OK ||
      !atomic_compare_exchange_strong_explicit(&planned->program,
                                               &none,
                                               program,
                                               memory_order_acq_rel,
                                               memory_order_acquire)) {
    /* Another thread may have stored the same program first. */
    rlo__program_cache_put(programs, program);
  }
  return status;
}

rlo_status rlo__planned_build(rlo__planned *planned,
                              rlo__build_priority priority,
                              rlo__planned **out_ready) {
  while (atomic_load_explicit(&planned->program, memory_order_acquire) ==
         NULL) {
    rlo__planned *smaller =
        atomic_load_explicit(&planned->smaller, memory_order_acquire);
    if (smaller == NULL) {
      int64_t max_group_items = 0;
      rlo_status status = build(planned, priority, &max_group_items);
      if (max_group_items > 0) {
        status = shrink(planned, max_group_items, &smaller);
      }
      RLO_TRY(status);
    }
    planned = smaller != NULL ? smaller : planned;
  }
  *out_ready = planned;
  return RLO_OK;
}

rlo_status rlo__planned_enqueue(rlo__planned *planned,
                                const rlo__launch_target *target) {
  return rlo__launch_enqueue(
      planned->context,
      planned->launch,
      planned->id,
      atomic_load_explicit(&planned->program, memory_order_acquire),
      target);
}
