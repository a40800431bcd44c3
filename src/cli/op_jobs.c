/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "relayout/engine.h"
#include "relayout/kernel_names.h"
#include "relayout/ops.h"
#include "relayout/xla/shape_util.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "message.h"
#include "op.h"
#include "subprocess.h"

/* The jobs that make the results: the problems of the operation and, where the
 * results are scaled or added, those that do that. */

/* By order, because compilers warn about == between floats. */
static bool is_equal(double a, double b) {
  return a <= b && a >= b;
}

bool rlo__op_is_adding(const rlo__op_request *request) {
  return !is_equal(request->beta, 0.0);
}

/* Returns whether the results are more than what the operation gives. */
static bool is_factored(const rlo__op_request *request) {
  return !is_equal(request->alpha, 1.0) || rlo__op_is_adding(request);
}

/* Adds a job of a copy of a problem; returns the copy, which is zero without
 * one, or NULL after a message. */
static rlo_problem *add_job(rlo__op *op, const rlo_problem *problem, int32_t source,
                            int32_t indices, int32_t output) {
  rlo_problem *copy = NULL;
  if (rlo__array_reserve(&op->jobs, sizeof(*op->jobs), (size_t)op->num_jobs + 1,
                         &op->jobs_capacity) != RLO_OK ||
      rlo_problem_create(&copy) != RLO_OK) {
    rlo__fail_last();
    return NULL;
  }
  if (problem != NULL) {
    *copy = *problem;
  }
  op->jobs[op->num_jobs++] = (rlo__stream_job){copy, source, output, indices};
  return copy;
}

/* The problem of a job is a copy of its own. */
static rlo_problem *problem_of(const rlo__stream_job *job) {
  return (rlo_problem *)(uintptr_t)job->problem;
}

/* Removes the jobs from number `first` on. */
static void drop_jobs(rlo__op *op, int32_t first) {
  while (op->num_jobs > first) {
    rlo_problem_release(problem_of(&op->jobs[--op->num_jobs]));
  }
}

void rlo__op_release_jobs(rlo__op *op) {
  drop_jobs(op, 0);
  rlo__free(op->jobs);
}

/* ------------------------------------------------------- inputs that are read
 */

/* Makes the value of a padding, which may be an input, an attribute. */
static int take_pad_value(rlo__op *op) {
  if (strcmp(op->kernel.kernel_name, RLO_KERNEL_NAME_PAD_V2) != 0 || op->num_operands < 2) {
    return RLO__EXIT_OK;
  }
  rlo__array_source *source = &op->sources[1];
  const rlo_dtype dtype = source->contents.shape.dtype;
  rlo__op_attributes *attributes = &op->attributes;
  const size_t bytes = 2 * sizeof(int64_t);
  uint8_t *bits = rlo__alloc((size_t)source->bytes + bytes);
  RLO__EXIT_TRY_MEMORY(bits);
  attributes->items[attributes->list.count++] =
      rlo_attribute_i64s("value_bits", (const int64_t *)(void *)bits, 2);
  op->num_operands = 1;
  const int code = rlo__array_source_read(source, bits);
  if (dtype == RLO_DTYPE_PRED) {
    bits[0] = bits[0] != 0;
  }
  for (size_t b = (size_t)rlo_dtype_value_bits(dtype); b < 8 * bytes; ++b) {
    bits[b / 8] = (uint8_t)(bits[b / 8] & ~(1U << b % 8));
  }
  return code;
}

/* Reads the ids of a segment sum, and puts the order of the rows into their
 * place. */
static int order_rows(rlo__op *op, const rlo_segment_sum *sum) {
  rlo__array_source *ids = &op->sources[1];
  rlo_segment_sum_sizes sizes;
  if (ids->memory != NULL) {
    return RLO__EXIT_OK;
  }
  rlo_segment_sum_get_sizes(sum, &sizes);
  RLO__EXIT_TRY(rlo__memory_check(ids->bytes, sizes.order_bytes));
  void *bytes = rlo__alloc((size_t)ids->bytes + 1);
  void *order = rlo__alloc((size_t)sizes.order_bytes + 1);
  int code = bytes == NULL || order == NULL ? rlo__fail_last() : rlo__array_source_read(ids, bytes);
  if (code == RLO__EXIT_OK) {
    code = rlo__check(rlo_segment_sum_order_host(sum, bytes, order));
  }
  rlo__free(bytes);
  ids->memory = order;
  ids->bytes = sizes.order_bytes;
  return code;
}

/* ----------------------------------------------------------------- problems */

static int add_list(rlo__op *op, const rlo_problem_list *list, int32_t output) {
  for (int32_t n = 0; n < rlo_problem_list_count(list); ++n) {
    if (add_job(op, rlo_problem_list_get(list, n), rlo_problem_list_operand(list, n),
                rlo_problem_list_indices(list, n), output) == NULL) {
      return RLO__EXIT_FAILURE;
    }
  }
  return RLO__EXIT_OK;
}

static int64_t attribute_or_0(const rlo__op *op, const char *name) {
  const rlo_attribute *found = rlo_attributes_find(&op->attributes.list, name);
  return found == NULL ? 0 : found->value.i64;
}

static int add_segment_sum(rlo__op *op, const rlo_shape *dst, int32_t output) {
  const rlo_shape *ids = op->input_shapes[1];
  const int64_t batch_dims = attribute_or_0(op, "batch_dims");
  rlo_segment_sum *sum = NULL;
  RLO__EXIT_TRY(rlo__check(rlo_segment_sum_create(
      op->input_shapes[0], ids, (int32_t)attribute_or_0(op, "axis"),
      (int32_t)(batch_dims < 0 ? batch_dims + ids->rank : batch_dims), dst, &sum)));
  int code = order_rows(op, sum);
  if (code == RLO__EXIT_OK) {
    code = add_list(op, rlo_segment_sum_problems(sum), output);
  }
  rlo_segment_sum_release(sum);
  return code;
}

/* Adds the jobs that make a result in a layout. */
static int add_operation(rlo__op *op, int32_t result, const rlo_shape *dst, int32_t output) {
  if (strcmp(op->kernel.kernel_name, RLO_KERNEL_NAME_UNSORTED_SEGMENT_SUM) == 0) {
    return add_segment_sum(op, dst, output);
  }
  rlo_problem_list *list = NULL;
  RLO__EXIT_TRY(
      rlo__check(rlo_lower_kernel(op->engine, op->kernel.kernel_name, op->input_shapes,
                                  op->num_operands, &op->attributes.list, result, dst, &list)));
  const int code = add_list(op, list, output);
  rlo_problem_list_release(list);
  return code;
}

/* ------------------------------------------------------------------ factors */

/* Returns whether all cells of a job take values of its source as they are. */
static bool is_move(const rlo_problem *problem) {
  bool has_fill = false;
  for (int32_t n = 0; n < problem->num_guards; ++n) {
    has_fill |= problem->guards[n].kind == RLO_GUARD_PAD;
  }
  return problem->update == RLO_UPDATE_STORE && !has_fill;
}

static void multiply(const rlo__op_request *request, rlo_dtype dtype, rlo_problem *problem) {
  const bool is_adding = rlo__op_is_adding(request);
  problem->update = RLO_UPDATE_COMBINE;
  problem->arithmetic = (rlo_arithmetic){
      .src_type = dtype,
      .dst_type = dtype,
      .dst_unit_bits = problem->unit_bits,
      .num_steps = is_adding ? 2 : 1,
      .steps = {{RLO_ELEMENT_SCALE, {request->alpha}}, {RLO_ELEMENT_ACCUMULATE, {request->beta}}}};
  problem->read_bytes += is_adding ? problem->written_bytes : 0;
}

/* Adds a job that multiplies a result, which is in memory by then. */
static int add_combination(rlo__op *op, int32_t result, int32_t stage) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = op->request->alpha;
  options.beta = op->request->beta;
  rlo_problem *problem = add_job(op, NULL, op->num_open + stage, 0, result);
  return problem == NULL
             ? RLO__EXIT_FAILURE
             : rlo__check(rlo_relayout_combine(&op->plain_shapes[result], op->outputs[result].shape,
                                               NULL, &options, problem));
}

/* Makes a result beside its output first, in memory. */
static int add_stage(rlo__op *op, int32_t result) {
  const rlo_shape *shape = &op->plain_shapes[result];
  int64_t *memory_bytes = &op->request->stream.memory_bytes;
  const int32_t stage = op->num_stages++;
  op->outputs[stage].shape = shape;
  RLO__EXIT_TRY(rlo__check(rlo_shape_array_size(shape, &op->outputs[stage].bytes)));
  if (*memory_bytes != 0) {
    const int64_t least = rlo__add_capped(op->outputs[stage].bytes, RLO_SERVICE_MIN_HOST_BYTES);
    RLO__EXIT_IF(*memory_bytes < least,
                 "%s computes or fills: --alpha and --beta take its result from memory, which "
                 "needs --memory %" PRId64 " or more",
                 op->kernel.kernel_name, least);
    *memory_bytes -= op->outputs[stage].bytes;
  }
  RLO__EXIT_TRY(add_operation(op, result, shape, stage));
  return add_combination(op, result, stage);
}

static int add_factored(rlo__op *op, int32_t result) {
  const rlo_shape *shape = op->outputs[result].shape;
  if (rlo__op_is_adding(op->request)) {
    /* The file of the result as it is. */
    rlo_problem *problem = add_job(op, NULL, op->num_inputs + result, 0, result);
    RLO__EXIT_TRY(problem == NULL ? RLO__EXIT_FAILURE
                                  : rlo__check(rlo_relayout_lower(shape, shape, NULL, problem)));
  }
  const int32_t first = op->num_jobs;
  RLO__EXIT_TRY(add_operation(op, result, shape, result));
  bool is_moved = true;
  for (int32_t n = first; n < op->num_jobs; ++n) {
    is_moved &= is_move(op->jobs[n].problem);
  }
  if (!is_moved) {
    drop_jobs(op, first);
    return add_stage(op, result);
  }
  for (int32_t n = first; n < op->num_jobs; ++n) {
    multiply(op->request, shape->dtype, problem_of(&op->jobs[n]));
  }
  return RLO__EXIT_OK;
}

int rlo__op_make_jobs(rlo__op *op) {
  op->num_operands = op->num_inputs;
  op->num_stages = op->num_outputs;
  RLO__EXIT_TRY(take_pad_value(op));
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    RLO__EXIT_TRY(is_factored(op->request) ? add_factored(op, n)
                                           : add_operation(op, n, op->outputs[n].shape, n));
  }
  return RLO__EXIT_OK;
}
