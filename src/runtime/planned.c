/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/planned.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/record.h"
#include "ir/validate.h"
#include "runtime/cl_error.h"
#include "runtime/command_log.h"

enum {
  NUM_TERMS = sizeof(rlo__planned_terms) / sizeof(int64_t),
  /** Keys of most problems need no memory of the heap until they are kept. */
  FEW_NUMBERS = 256
};

/* ------------------------------------------------------------------- limits */

static int64_t group_items(const rlo__launch *launch) {
  int64_t items = 1;
  for (int32_t d = 0; d < launch->work_dim; ++d) {
    items *= (int64_t)launch->local_size[d];
  }
  return items;
}

/** Checks a launch against the device's limits. */
static rlo_status check_launch(const rlo_context *context, const rlo__launch *launch) {
  const rlo_device_info *info = &context->device_info;
  const char *name = launch->kernel_file;
  for (int32_t d = 0; d < launch->work_dim; ++d) {
    RLO_FAIL_IF(launch->local_size[d] == 0 || launch->global_size[d] == 0 ||
                    launch->global_size[d] % launch->local_size[d] != 0,
                RLO_INTERNAL,
                "kernel %s: a global size of %zu is not a multiple of the group's %zu", name,
                launch->global_size[d], launch->local_size[d]);
    RLO_FAIL_IF(launch->local_size[d] > context->max_work_item_sizes[d], RLO_UNSUPPORTED,
                "kernel %s wants groups of %zu work-items in dimension %d; %s allows %zu", name,
                launch->local_size[d], (int)d, context->device_name,
                context->max_work_item_sizes[d]);
    RLO_FAIL_IF(info->address_bits < 64 && launch->global_size[d] >> info->address_bits != 0,
                RLO_UNSUPPORTED,
                "kernel %s wants %zu work-items in dimension %d; %s counts in %d bits", name,
                launch->global_size[d], (int)d, context->device_name, (int)info->address_bits);
  }
  RLO_FAIL_IF(group_items(launch) > info->max_work_group_items, RLO_UNSUPPORTED,
              "kernel %s wants groups of %lld work-items; %s allows %lld", name,
              (long long)group_items(launch), context->device_name,
              (long long)info->max_work_group_items);
  int64_t argument_bytes = 0;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    argument_bytes += rlo__argument_bytes(launch->arguments[i].kind);
  }
  RLO_FAIL_IF(argument_bytes > info->max_parameter_bytes, RLO_UNSUPPORTED,
              "kernel %s has %lld bytes of arguments; %s allows %lld", name,
              (long long)argument_bytes, context->device_name,
              (long long)info->max_parameter_bytes);
  return RLO_OK;
}

/** Checks that a compiled kernel can run a launch on the device.
 *  @param out_max_group_items  set if it runs no larger work-groups. */
static rlo_status check_program(const rlo_context *context, const rlo__launch *launch,
                                const rlo__program *program, int64_t *out_max_group_items) {
  if (group_items(launch) > program->max_work_group_items) {
    *out_max_group_items = program->max_work_group_items;
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants groups of %lld work-items; compiled for %s it can run %lld",
                    launch->kernel_file, (long long)group_items(launch), context->device_name,
                    (long long)program->max_work_group_items);
  }
  RLO_FAIL_IF(program->local_memory_bytes > context->device_info.local_memory_bytes,
              RLO_UNSUPPORTED, "kernel %s wants %lld bytes of local memory; %s has %lld",
              launch->kernel_file, (long long)program->local_memory_bytes, context->device_name,
              (long long)context->device_info.local_memory_bytes);
  return RLO_OK;
}

/* ---------------------------------------------------------------- lifecycle */

static void destroy(rlo__memo_entry *entry) {
  rlo__planned *planned = (rlo__planned *)entry;
  rlo__program_cache_put(planned->context->programs,
                         atomic_load_explicit(&planned->program, memory_order_acquire));
  rlo__planned_release(atomic_load_explicit(&planned->smaller, memory_order_acquire));
  rlo__planned_release(planned->spare);
  rlo__free(planned->launch);
  rlo__free(planned);
}

static rlo_status create(rlo_context *context, rlo__planned **out_planned) {
  rlo__planned *planned = rlo__alloc(sizeof *planned);
  RLO_TRY_MEMORY(planned);
  rlo__memo_entry_init(&planned->entry, destroy);
  planned->context = context;
  planned->id =
      (uint64_t)atomic_fetch_add_explicit(&context->last_launch_id, 1, memory_order_relaxed) + 1;
  *out_planned = planned;
  return RLO_OK;
}

void rlo__planned_release(rlo__planned *planned) {
  rlo__memo_entry_release(planned == NULL ? NULL : &planned->entry);
}

static rlo_status set_launch(rlo__planned *planned, const rlo__launch *launch) {
  RLO_TRY(check_launch(planned->context, launch));
  planned->launch = rlo__launch_pack(launch);
  return planned->launch != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

rlo_status rlo__planned_of_launch(rlo_context *context, const rlo__launch *launch,
                                  rlo__planned *spare, rlo__planned **out_planned) {
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
  const rlo__schedule *schedule = (const rlo__schedule *)(uintptr_t)terms->schedule;
  rlo_device_info device = context->device_info;
  device.max_work_group_items = terms->max_group_items;
  const rlo_plan_options options = {.struct_size = sizeof options,
                                    .device_class = (rlo_device_class)terms->device_class,
                                    .family = family != NULL ? family->name : NULL,
                                    .schedule = schedule != NULL ? schedule->name : NULL};
  const rlo__plan_request request = {.problem = &w->problem,
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
static rlo_status plan(const int64_t *numbers, workspace *w, rlo__planned *planned) {
  memcpy(&planned->terms, numbers, sizeof planned->terms);
  rlo__record_read(numbers + NUM_TERMS, &w->problem);
  RLO_TRY(choose(planned, w));
  planned->family = w->choice.family;
  planned->schedule = w->choice.schedule;
  planned->decision = w->choice.decision;
  planned->measured_fraction = w->choice.measured_fraction;
  return planned->family != NULL ? set_launch(planned, &w->launch) : RLO_OK;
}

static rlo_status get(rlo_context *context, const int64_t *numbers, size_t count,
                      rlo__planned **out_planned) {
  rlo__memo_key key = {.numbers = numbers, .count = count};
  rlo__planned *made = (rlo__planned *)rlo__plan_memo_find(&context->memo, &key);
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

rlo_status rlo__planned_get(rlo_context *context, const rlo_problem *problem,
                            const rlo__planned_terms *terms, rlo__planned **out_planned) {
  const size_t record_count = rlo__record_count(problem);
  if (record_count == 0) {
    RLO_TRY(rlo__problem_validate(problem));
    return RLO_FAIL(RLO_INTERNAL, "a valid problem has no record");
  }
  int64_t few[FEW_NUMBERS];
  int64_t *numbers = RLO__SMALL_ARRAY(few, NUM_TERMS + record_count);
  RLO_TRY_MEMORY(numbers);
  memcpy(numbers, terms, sizeof *terms);
  rlo__record_write(problem, numbers + NUM_TERMS);
  rlo_status status = get(context, numbers, NUM_TERMS + record_count, out_planned);
  rlo__small_array_free(numbers, few);
  return status;
}

rlo_status rlo__planned_get_again(const rlo__planned *planned, const rlo__planned_terms *terms,
                                  rlo__planned **out_planned) {
  rlo_problem *problem = rlo__alloc_unset(sizeof *problem);
  RLO_TRY_MEMORY(problem);
  rlo__record_read(planned->entry.key + NUM_TERMS, problem);
  rlo_status status = rlo__planned_get(planned->context, problem, terms, out_planned);
  rlo__free(problem);
  return status;
}

/* ----------------------------------------------------------------- building */

/** Finds or plans the launch in place of one whose kernel runs no more than
 *  `max_group_items`. */
static rlo_status shrink(rlo__planned *planned, int64_t max_group_items,
                         rlo__planned **out_smaller) {
  rlo__planned *made = planned->spare;
  if (made != NULL) {
    rlo__memo_entry_retain(&made->entry);
  } else {
    rlo__planned_terms terms = planned->terms;
    terms.max_group_items = max_group_items;
    RLO_TRY(rlo__planned_get_again(planned, &terms, &made));
  }
  rlo__log(&planned->context->log, RLO__LOG_INFO,
           "kernel %s runs %lld work-items in a group: planned again, %s",
           planned->launch->kernel_file, (long long)max_group_items, made->launch->parameters);
  *out_smaller = NULL;
  if (atomic_compare_exchange_strong_explicit(&planned->smaller, out_smaller, made,
                                              memory_order_acq_rel, memory_order_acquire)) {
    *out_smaller = made;
  } else {
    /* Another thread was first. */
    rlo__planned_release(made);
  }
  return RLO_OK;
}

/** Builds the program of this launch. @param out_max_group_items  set if it
 *  fails because the compiled kernel runs no larger work-groups. */
static rlo_status build(rlo__planned *planned, rlo__build_priority priority,
                        int64_t *out_max_group_items) {
  rlo__program_cache *programs = planned->context->programs;
  rlo__program_spec spec;
  rlo__program *program = NULL;
  RLO_TRY(rlo__codegen_program(planned->launch, &spec));
  rlo_status status = rlo__program_cache_get(programs, &spec, priority, &program);
  rlo__codegen_deinit(&spec);
  RLO_TRY(status);
  status = check_program(planned->context, planned->launch, program, out_max_group_items);
  rlo__program *none = NULL;
  if (status != RLO_OK ||
      !atomic_compare_exchange_strong_explicit(&planned->program, &none, program,
                                               memory_order_acq_rel, memory_order_acquire)) {
    /* Another thread may have stored the same program first. */
    rlo__program_cache_put(programs, program);
  }
  return status;
}

rlo_status rlo__planned_build(rlo__planned *planned, rlo__build_priority priority,
                              rlo__planned **out_ready) {
  while (atomic_load_explicit(&planned->program, memory_order_acquire) == NULL) {
    rlo__planned *smaller = atomic_load_explicit(&planned->smaller, memory_order_acquire);
    if (smaller == NULL) {
      int64_t max_group_items = 0;
      rlo_status status = build(planned, priority, &max_group_items);
      const bool has_other = planned->spare != NULL || planned->entry.key != NULL;
      if (max_group_items > 0 && has_other) {
        status = shrink(planned, max_group_items, &smaller);
      }
      RLO_TRY(status);
    }
    planned = smaller != NULL ? smaller : planned;
  }
  *out_ready = planned;
  return RLO_OK;
}

/* ---------------------------------------------------------------- arguments */

static cl_int set_constant(const rlo__launch *launch, int32_t index, cl_kernel kernel) {
  const rlo__argument *argument = &launch->arguments[index];
  const int64_t *numbers = &launch->numbers[argument->first];
  const size_t bytes = (size_t)rlo__argument_bytes(argument->kind);
  cl_int narrow[16];
  if (argument->kind != RLO__ARGUMENT_INT && argument->kind != RLO__ARGUMENT_INT16) {
    return clSetKernelArg(kernel, (cl_uint)index, bytes, numbers);
  }
  for (size_t lane = 0; lane < bytes / sizeof narrow[0]; ++lane) {
    narrow[lane] = (cl_int)numbers[lane];
  }
  return clSetKernelArg(kernel, (cl_uint)index, bytes, narrow);
}

static cl_int set_memory(cl_kernel kernel, cl_uint n, const rlo__operand *operand) {
  return operand->set_pointer != NULL
             ? operand->set_pointer(kernel, n, operand->pointer)
             : clSetKernelArg(kernel, n, sizeof operand->memory, &operand->memory);
}

/** Sets one kernel argument. */
static cl_int set_argument(const rlo__launch *launch, int32_t index,
                           const rlo__launch_operands *operands, cl_kernel kernel) {
  const cl_uint n = (cl_uint)index;
  cl_ulong offset = 0;
  switch (launch->arguments[index].kind) {
    case RLO__ARGUMENT_SRC:
      return set_memory(kernel, n, operands->src);
    case RLO__ARGUMENT_DST:
      return set_memory(kernel, n, operands->dst);
    case RLO__ARGUMENT_INDEX:
      return set_memory(kernel, n, operands->indices);
    case RLO__ARGUMENT_SRC_OFFSET:
      /* The base may be negative while the sum is not. Neither wraps: both are
       * checked against the size of an existing buffer. */
      offset = (cl_ulong)operands->src->offset_bytes + (cl_ulong)launch->src_base_bytes;
      break;
    case RLO__ARGUMENT_DST_OFFSET:
      offset = (cl_ulong)operands->dst->offset_bytes + (cl_ulong)launch->dst_base_bytes;
      break;
    case RLO__ARGUMENT_INDEX_OFFSET:
      offset = (cl_ulong)operands->indices->offset_bytes;
      break;
    default:
      return set_constant(launch, index, kernel);
  }
  return clSetKernelArg(kernel, n, sizeof offset, &offset);
}

/** The memories that are pointers, a bit for each. */
static uint32_t find_pointers(const rlo__launch_operands *operands) {
  const rlo__operand *all[] = {operands->src, operands->dst, operands->indices};
  uint32_t pointers = 0;
  for (uint32_t n = 0; n < sizeof all / sizeof all[0]; ++n) {
    pointers |= (uint32_t)(all[n] != NULL && all[n]->set_pointer != NULL) << n;
  }
  return pointers;
}

static rlo_status set_arguments(const rlo__launch *launch, uint64_t id,
                                const rlo__launch_operands *operands, rlo__pooled_kernel *kernel) {
  /* A kernel that ran this launch last still has its constants. */
  bool has_constants = kernel->arguments_of == id;
  kernel->arguments_of = 0;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    if (has_constants && launch->arguments[i].kind >= RLO__ARGUMENT_INT) {
      continue;
    }
    cl_int code = set_argument(launch, i, operands, kernel->kernel);
    if (code != CL_SUCCESS) {
      return rlo__status_prefix(rlo__cl_error_check("clSetKernelArg", code),
                                "argument %d of kernel %s: ", (int)i, launch->kernel_file);
    }
  }
  kernel->arguments_of = id;
  return RLO_OK;
}

rlo_status rlo__planned_launch(rlo__planned *planned, const rlo__launch_operands *operands,
                               int32_t step, int32_t num_steps, rlo_launch_fn fn, void *payload) {
  const rlo__launch *launch = planned->launch;
  rlo__program *program = atomic_load_explicit(&planned->program, memory_order_acquire);
  rlo__pooled_kernel *kernel = NULL;
  RLO_TRY(rlo__program_take_kernel(program, &kernel));
  const uint32_t pointers = find_pointers(operands);
  rlo_status status =
      (kernel->pointers & ~pointers) != 0 ? rlo__program_renew_kernel(program, kernel) : RLO_OK;
  kernel->pointers |= pointers;
  if (status == RLO_OK) {
    status = set_arguments(launch, planned->id, operands, kernel);
  }
  if (status == RLO_OK) {
    const rlo_launch ready = {.struct_size = sizeof ready,
                              .kernel = kernel->kernel,
                              .work_dim = (cl_uint)launch->work_dim,
                              .global_size = launch->global_size,
                              .local_size = launch->local_size,
                              .step = step,
                              .num_steps = num_steps};
    status = fn(payload, &ready);
  }
  rlo__program_give_kernel(program, kernel);
  return status;
}

rlo_status rlo__launch_enqueue(void *payload, const rlo_launch *launch) {
  rlo__submission *to = payload;
  const bool is_last = launch->step + 1 == launch->num_steps;
  const bool is_wanted = !is_last || to->out_event != NULL || rlo__command_log_is_open();
  const cl_event before = to->last;
  to->last = NULL;
  /* A local variable, because a driver that fails may write to it. */
  cl_event event = NULL;
  rlo_status status =
      RLO_CL(clEnqueueNDRangeKernel, to->queue, launch->kernel, launch->work_dim, NULL,
             launch->global_size, launch->local_size, before != NULL ? 1 : to->num_wait,
             before != NULL ? &before : to->wait_list, is_wanted ? &event : NULL);
  if (before != NULL) {
    clReleaseEvent(before);
  }
  RLO_TRY(status);
  atomic_fetch_add_explicit(&to->context->launches, 1, memory_order_relaxed);
  if (is_wanted) {
    rlo__command_log_add(event);
  }
  if (!is_last) {
    to->last = event;
  } else if (to->out_event != NULL) {
    *to->out_event = event;
  } else if (is_wanted) {
    clReleaseEvent(event);
  }
  return RLO_OK;
}
