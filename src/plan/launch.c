/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/launch.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/** Points to the arrays of its own. */
static void point(rlo__launch *launch) {
  launch->defines = launch->own_defines;
  launch->arguments = launch->own_arguments;
  launch->numbers = launch->few_numbers;
  launch->max_numbers = RLO__LAUNCH_FEW_NUMBERS;
}

void rlo__launch_init(rlo__launch *launch) {
  point(launch);
  rlo__launch_clear(launch);
}

void rlo__launch_clear(rlo__launch *launch) {
  launch->kernel_file = NULL;
  launch->num_defines = 0;
  launch->num_arguments = 0;
  launch->num_numbers = 0;
  launch->src_base_bytes = 0;
  launch->dst_base_bytes = 0;
  launch->work_dim = 0;
  memset(launch->global_size, 0, sizeof launch->global_size);
  memset(launch->local_size, 0, sizeof launch->local_size);
  memset(launch->parameters, 0, sizeof launch->parameters);
}

rlo__launch *rlo__launch_pack(const rlo__launch *launch) {
  const size_t head = offsetof(rlo__launch, few_numbers);
  const size_t numbers = (size_t)launch->num_numbers * sizeof(int64_t);
  const size_t defines = (size_t)launch->num_defines * sizeof(rlo__define);
  const size_t arguments = (size_t)launch->num_arguments * sizeof(rlo__argument);
  char *memory = rlo__alloc_unset(head + numbers + defines + arguments);
  if (memory == NULL) {
    return NULL;
  }
  rlo__launch *packed = (rlo__launch *)(void *)memory;
  memcpy(memory, launch, head);
  packed->numbers = (int64_t *)(void *)(memory + head);
  packed->defines = (rlo__define *)(void *)(memory + head + numbers);
  packed->arguments = (rlo__argument *)(void *)(memory + head + numbers + defines);
  if (numbers > 0) {
    memcpy(packed->numbers, launch->numbers, numbers);
  }
  if (defines > 0) {
    memcpy(packed->defines, launch->defines, defines);
  }
  if (arguments > 0) {
    memcpy(packed->arguments, launch->arguments, arguments);
  }
  return packed;
}

void rlo__launch_deinit(rlo__launch *launch) {
  if (launch->numbers != launch->few_numbers) {
    rlo__free(launch->numbers);
  }
  rlo__launch_init(launch);
}

int32_t rlo__argument_lanes(rlo__argument_kind kind) {
  static const int32_t lanes[] = {[RLO__ARGUMENT_INT] = 1,
                                  [RLO__ARGUMENT_LONG] = 1,
                                  [RLO__ARGUMENT_INT16] = 16,
                                  [RLO__ARGUMENT_LONG16] = 16,
                                  [RLO__ARGUMENT_LONG8] = 8};
  return lanes[kind];
}

static bool is_of_ints(rlo__argument_kind kind) {
  return kind == RLO__ARGUMENT_INT || kind == RLO__ARGUMENT_INT16;
}

int64_t rlo__argument_bytes(rlo__argument_kind kind) {
  /* An address or an offset has as many as a lane. */
  int64_t lanes = rlo__max(rlo__argument_lanes(kind), 1);
  return lanes * (is_of_ints(kind) ? 4 : 8);
}

/* Ensures room for numbers beyond those of a launch that owns none yet. */
static rlo_status reserve(rlo__launch *launch, size_t count) {
  if (launch->numbers == NULL) {
    point(launch);
  }
  if (count <= launch->max_numbers || launch->numbers != launch->few_numbers) {
    return rlo__array_reserve(&launch->numbers, sizeof launch->numbers[0], count,
                              &launch->max_numbers);
  }
  int64_t *many = NULL;
  size_t room = 0;
  RLO_TRY(rlo__array_reserve(&many, sizeof many[0], count, &room));
  memcpy(many, launch->few_numbers, (size_t)launch->num_numbers * sizeof many[0]);
  launch->numbers = many;
  launch->max_numbers = room;
  return RLO_OK;
}

/* Appends numbers, and zeros up to `room`. */
static rlo_status add_numbers(rlo__launch *launch, const int64_t *values, int32_t count,
                              int32_t room, int32_t *out_first) {
  assert(room <= RLO__LAUNCH_MAX_NUMBERS - launch->num_numbers);
  RLO_TRY(reserve(launch, (size_t)launch->num_numbers + (size_t)room));
  *out_first = launch->num_numbers;
  launch->num_numbers += room;
  for (int32_t k = 0; k < room; ++k) {
    launch->numbers[*out_first + k] = k < count ? values[k] : 0;
  }
  return RLO_OK;
}

rlo_status rlo__launch_define(rlo__launch *launch, const char *name, int64_t value) {
  return rlo__launch_define_list(launch, name, &value, 1);
}

rlo_status rlo__launch_define_all(rlo__launch *launch, const rlo__constant *constants) {
  for (const rlo__constant *c = constants; c->name != NULL; ++c) {
    RLO_TRY(rlo__launch_define(launch, c->name, c->value));
  }
  return RLO_OK;
}

rlo_status rlo__launch_define_list(rlo__launch *launch, const char *name, const int64_t *values,
                                   int32_t count) {
  assert(launch->num_defines < RLO__LAUNCH_MAX_DEFINES);
  int32_t first = 0;
  RLO_TRY(add_numbers(launch, values, count, count, &first));
  launch->defines[launch->num_defines++] =
      (rlo__define){.name = name, .first = first, .count = count};
  return RLO_OK;
}

rlo_status rlo__launch_define_reach(const rlo_problem *problem, const rlo_device_info *device,
                                    rlo__launch *launch) {
  /* A caller's offset leads anywhere within a buffer. */
  const int64_t limit = INT64_C(4) << 30;
  bool is_large = device->max_allocation_bytes > limit || problem->src_bytes > limit ||
                  problem->dst_bytes > limit;
  return device->has_large_buffer_option && is_large
             ? rlo__launch_define(launch, RLO__LARGE_BUFFERS, 1)
             : RLO_OK;
}

rlo_status rlo__launch_argument(rlo__launch *launch, rlo__argument_kind kind, const int64_t *values,
                                int32_t count) {
  int32_t lanes = rlo__argument_lanes(kind);
  assert(launch->num_arguments < RLO__LAUNCH_MAX_ARGUMENTS);
  assert(count >= 0 && count <= lanes && (lanes != 1 || count == 1));
  for (int32_t k = 0; is_of_ints(kind) && k < count; ++k) {
    RLO_FAIL_IF(values[k] < INT32_MIN || values[k] > INT32_MAX, RLO_OVERFLOW,
                "argument %d of kernel %s is %lld, beyond 32 bits", launch->num_arguments,
                launch->kernel_file, (long long)values[k]);
  }
  int32_t first = 0;
  RLO_TRY(add_numbers(launch, values, count, lanes, &first));
  launch->arguments[launch->num_arguments++] = (rlo__argument){.kind = kind, .first = first};
  return RLO_OK;
}

rlo_status rlo__launch_longs(rlo__launch *launch, const int64_t *values, int32_t count) {
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &values[n], 1));
  }
  return RLO_OK;
}

void rlo__launch_set_groups(rlo__launch *launch, size_t num_groups, int64_t local_items) {
  launch->work_dim = 1;
  launch->global_size[0] = num_groups * (size_t)local_items;
  launch->local_size[0] = (size_t)local_items;
}

void rlo__launch_describe(rlo__launch *launch, const char *format, ...) {
  size_t length = strlen(launch->parameters);
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(launch->parameters + length, sizeof launch->parameters - length, format,
                  arguments);
  va_end(arguments);
}

/* A fill of up to 16 bytes as the two numbers that kernels take. */
static rlo_status add_fill(const rlo_problem *problem, rlo__launch *launch) {
  uint64_t halves[2] = {0, 0};
  for (int32_t b = 0; 8 * b < rlo_problem_dst_unit_bits(problem); ++b) {
    halves[b / 8] |= (uint64_t)problem->fill[b] << (b % 8 * 8);
  }
  const int64_t numbers[] = {(int64_t)halves[0], (int64_t)halves[1]};
  return rlo__launch_longs(launch, numbers, 2);
}

rlo_status rlo__launch_begin(const rlo_problem *problem, const char *kernel_file, uint32_t head,
                             rlo__launch *launch) {
  static const rlo__argument_kind memories[] = {RLO__ARGUMENT_SRC, RLO__ARGUMENT_SRC_OFFSET,
                                                RLO__ARGUMENT_DST, RLO__ARGUMENT_DST_OFFSET};
  launch->kernel_file = kernel_file;
  RLO_FAIL_IF((head & RLO__LAUNCH_ORIGIN) != 0 &&
                  (!rlo__mul(problem->src.base, problem->unit_bits / 8, &launch->src_base_bytes) ||
                   !rlo__mul(problem->dst.base, rlo_problem_dst_unit_bits(problem) / 8,
                             &launch->dst_base_bytes)),
              RLO_OVERFLOW, "the origin of the problem, in bytes, exceeds 64 bits");
  for (size_t n = 0; n < sizeof memories / sizeof memories[0]; ++n) {
    RLO_TRY(rlo__launch_argument(launch, memories[n], NULL, 0));
  }
  return (head & RLO__LAUNCH_FILL) == 0 ? RLO_OK : add_fill(problem, launch);
}

static bool are_equal(const void *a, const void *b, int32_t count, size_t size) {
  return count == 0 || memcmp(a, b, (size_t)count * size) == 0;
}

/* Names of constants are static, and one function writes the constants of a
 * kernel file: equal names are one pointer. */
bool rlo__launch_equal(const rlo__launch *a, const rlo__launch *b) {
  return strcmp(a->kernel_file, b->kernel_file) == 0 && a->num_defines == b->num_defines &&
         a->num_arguments == b->num_arguments && a->num_numbers == b->num_numbers &&
         a->src_base_bytes == b->src_base_bytes && a->dst_base_bytes == b->dst_base_bytes &&
         a->work_dim == b->work_dim &&
         are_equal(a->defines, b->defines, a->num_defines, sizeof a->defines[0]) &&
         are_equal(a->arguments, b->arguments, a->num_arguments, sizeof a->arguments[0]) &&
         are_equal(a->global_size, b->global_size, a->work_dim, sizeof a->global_size[0]) &&
         are_equal(a->local_size, b->local_size, a->work_dim, sizeof a->local_size[0]) &&
         are_equal(a->numbers, b->numbers, a->num_numbers, sizeof a->numbers[0]);
}
