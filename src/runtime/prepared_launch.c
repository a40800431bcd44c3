/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/variant.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/cl_error.h"

/* ----------------------------------------------------------------- arguments
 */

static bool is_of_ints(rlo__argument_kind kind) {
  return kind == RLO__ARGUMENT_INT || kind == RLO__ARGUMENT_INT16;
}

static rlo_status read_arguments(const rlo__launch *launch,
                                 rlo__variant *variant) {
  size_t total_bytes = 0;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    const rlo__argument *from = &launch->arguments[i];
    rlo__variant_argument *to = &variant->arguments[i];
    to->kind = from->kind;
    if (rlo__argument_lanes(from->kind) > 0) {
      to->num_bytes = (uint32_t)rlo__argument_bytes(from->kind);
      to->first_byte = (uint32_t)total_bytes;
      total_bytes += to->num_bytes;
    }
  }
  variant->num_arguments = launch->num_arguments;
  variant->constants = rlo__alloc(total_bytes);
  if (variant->constants == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    rlo__variant_argument *to = &variant->arguments[i];
    const int64_t *numbers = &launch->numbers[launch->arguments[i].first];
    for (int32_t lane = 0; lane < rlo__argument_lanes(to->kind); ++lane) {
      cl_int narrow = (cl_int)numbers[lane];
      cl_long wide = numbers[lane];
      size_t lane_bytes = is_of_ints(to->kind) ? sizeof narrow : sizeof wide;
      memcpy(variant->constants + to->first_byte + (size_t)lane * lane_bytes,
             is_of_ints(to->kind) ? (const void *)&narrow : (const void *)&wide,
             lane_bytes);
    }
  }
  return RLO_OK;
}

/** Set one argument for a target. */
static cl_int set_argument(const rlo__variant *variant,
                           int32_t index,
                           const rlo__variant_target *target,
                           cl_kernel kernel) {
  const rlo__variant_argument *argument = &variant->arguments[index];
  const void *value = NULL;
  size_t value_bytes = 0;
  cl_ulong offset = 0;
  switch (argument->kind) {
    case RLO__ARGUMENT_SRC:
      value = &target->src;
      value_bytes = sizeof target->src;
      break;
    case RLO__ARGUMENT_DST:
      value = &target->dst;
      value_bytes = sizeof target->dst;
      break;
    case RLO__ARGUMENT_SRC_OFFSET:
      /* The base may be negative while the sum is not; neither can wrap: both
       * were checked against memory that exists. */
      offset = (cl_ulong)target->src_offset_bytes +
               (cl_ulong)variant->src_base_bytes;
      value = &offset;
      value_bytes = sizeof offset;
      break;
    case RLO__ARGUMENT_DST_OFFSET:
      offset = (cl_ulong)target->dst_offset_bytes +
               (cl_ulong)variant->dst_base_bytes;
      value = &offset;
      value_bytes = sizeof offset;
      break;
    case RLO__ARGUMENT_INDEX:
      value = &target->indices;
      value_bytes = sizeof target->indices;
      break;
    case RLO__ARGUMENT_INDEX_OFFSET:
      offset = (cl_ulong)target->index_offset_bytes;
      value = &offset;
      value_bytes = sizeof offset;
      break;
    default:
      value = variant->constants + argument->first_byte;
      value_bytes = argument->num_bytes;
      break;
  }
  return clSetKernelArg(kernel, (cl_uint)index, value_bytes, value);
}

static rlo_status set_arguments(const rlo__variant *variant,
                                const rlo__variant_target *target,
                                rlo__pooled_kernel *kernel) {
  /* A kernel that last ran this variant has its constants already. */
  bool has_constants = kernel->arguments_of == variant->number;
  kernel->arguments_of = 0;
  for (int32_t i = 0; i < variant->num_arguments; ++i) {
    if (has_constants && variant->arguments[i].num_bytes > 0) {
      continue;
    }
    cl_int code = set_argument(variant, i, target, kernel->kernel);
    if (code != CL_SUCCESS) {
      return rlo__status_prefix(rlo__cl_error_check("clSetKernelArg", code),
                                "argument %d of kernel %s: ",
                                (int)i,
                                variant->spec.kernel_name);
    }
  }
  kernel->arguments_of = variant->number;
  return RLO_OK;
}

/* -------------------------------------------------------------------- limits
 */

static int64_t group_items(const rlo__variant *variant) {
  int64_t items = 1;
  for (cl_uint d = 0; d < variant->work_dim; ++d) {
    items *= (int64_t)variant->local_size[d];
  }
  return items;
}

static rlo_status check_limits(const rlo_context *context,
                               const rlo__launch *launch,
                               const rlo__variant *variant) {
  const rlo_device_info *info = &context->device_info;
  const char *name = variant->spec.kernel_name;
  for (cl_uint d = 0; d < variant->work_dim; ++d) {
    if (variant->local_size[d] == 0 || variant->global_size[d] == 0 ||
        variant->global_size[d] % variant->local_size[d] != 0) {
      return RLO_FAIL(RLO_INTERNAL,
                      "kernel %s: a global size of %zu is no multiple of the "
                      "group's %zu",
                      name,
                      variant->global_size[d],
                      variant->local_size[d]);
    }
    if (variant->local_size[d] > context->max_work_item_sizes[d]) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "kernel %s wants groups of %zu work-items in dimension "
                      "%u; %s allows %zu",
                      name,
                      variant->local_size[d],
                      (unsigned)d,
                      context->device_name,
                      context->max_work_item_sizes[d]);
    }
    if (info->address_bits < 64 &&
        variant->global_size[d] >> info->address_bits != 0) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "kernel %s wants %zu work-items in dimension %u; %s "
                      "counts in %d bits",
                      name,
                      variant->global_size[d],
                      (unsigned)d,
                      context->device_name,
                      (int)info->address_bits);
    }
  }
  if (group_items(variant) > info->max_work_group_items) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants groups of %lld work-items; %s allows %lld",
                    name,
                    (long long)group_items(variant),
                    context->device_name,
                    (long long)info->max_work_group_items);
  }
  int64_t argument_bytes = 0;
  for (int32_t i = 0; i < launch->num_arguments; ++i) {
    argument_bytes += rlo__argument_bytes(launch->arguments[i].kind);
  }
  if (argument_bytes > info->max_parameter_bytes) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s has %lld bytes of arguments; %s allows %lld",
                    name,
                    (long long)argument_bytes,
                    context->device_name,
                    (long long)info->max_parameter_bytes);
  }
  return RLO_OK;
}

static rlo_status check_compiled_limits(const rlo_context *context,
                                        const rlo__variant *variant,
                                        const rlo__program *program) {
  if (group_items(variant) > program->max_work_group_items) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants groups of %lld work-items; compiled for "
                    "%s it can run %lld",
                    variant->spec.kernel_name,
                    (long long)group_items(variant),
                    context->device_name,
                    (long long)program->max_work_group_items);
  }
  if (program->local_memory_bytes > context->device_info.local_memory_bytes) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "kernel %s wants %lld bytes of local memory; %s has %lld",
                    variant->spec.kernel_name,
                    (long long)program->local_memory_bytes,
                    context->device_name,
                    (long long)context->device_info.local_memory_bytes);
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ lifecycle
 */

rlo_status rlo__variant_init(rlo_context *context,
                             const rlo__launch *launch,
                             rlo__variant *variant) {
  atomic_init(&variant->program, NULL);
  RLO_TRY(rlo__codegen_program(launch, &variant->spec));
  RLO_TRY(read_arguments(launch, variant));
  variant->number = (uint64_t)atomic_fetch_add_explicit(
                        &context->num_variants, 1, memory_order_relaxed) +
                    1;
  variant->src_base_bytes = launch->src_base_bytes;
  variant->dst_base_bytes = launch->dst_base_bytes;
  variant->work_dim = (cl_uint)launch->work_dim;
  memcpy(
      variant->global_size, launch->global_size, sizeof variant->global_size);
  memcpy(variant->local_size, launch->local_size, sizeof variant->local_size);
  return check_limits(context, launch, variant);
}

void rlo__variant_deinit(rlo_context *context, rlo__variant *variant) {
  rlo__program_cache_put(
      context->programs,
      atomic_load_explicit(&variant->program, memory_order_acquire));
  rlo__codegen_deinit(&variant->spec);
  rlo__free(variant->constants);
}

rlo_status rlo__variant_prepare(rlo_context *context,
                                rlo__variant *variant,
                                rlo__build_haste haste) {
  if (atomic_load_explicit(&variant->program, memory_order_acquire) != NULL) {
    return RLO_OK;
  }
  rlo__program *program = NULL;
  RLO_TRY(rlo__program_cache_get(
      context->programs, &variant->spec, haste, &program));
  rlo_status status = check_compiled_limits(context, variant, program);
  if (status != RLO_OK) {
    rlo__program_cache_put(context->programs, program);
    return status;
  }
  rlo__program *nobody = NULL;
  if (!atomic_compare_exchange_strong_explicit(&variant->program,
                                               &nobody,
                                               program,
                                               memory_order_acq_rel,
                                               memory_order_acquire)) {
    /* Another thread was first, with the same program. */
    rlo__program_cache_put(context->programs, program);
  }
  return RLO_OK;
}

rlo_status rlo__variant_enqueue(rlo_context *context,
                                rlo__variant *variant,
                                const rlo__variant_target *target) {
  RLO_TRY(rlo__variant_prepare(context, variant, RLO__BUILD_URGENT));
  rlo__program *program =
      atomic_load_explicit(&variant->program, memory_order_acquire);
  rlo__pooled_kernel *kernel = NULL;
  RLO_TRY(rlo__kernel_pool_take(&program->kernels, &kernel));
  rlo_status status = set_arguments(variant, target, kernel);
  if (status == RLO_OK) {
    /* Into a place of our own: a driver that fails may write there. */
    cl_event event = NULL;
    status = RLO_CL(clEnqueueNDRangeKernel,
                    target->queue,
                    kernel->kernel,
                    variant->work_dim,
                    NULL,
                    variant->global_size,
                    variant->local_size,
                    target->num_wait,
                    target->wait_list,
                    target->out_event != NULL ? &event : NULL);
    if (status == RLO_OK && target->out_event != NULL) {
      *target->out_event = event;
    }
  }
  rlo__kernel_pool_give(&program->kernels, kernel);
  if (status == RLO_OK) {
    atomic_fetch_add_explicit(&context->launches, 1, memory_order_relaxed);
  }
  return status;
}
