/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/copy/copy_op.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "ir/element.h"
#include "ops/chain.h"
#include "relayout/kernel_names.h"

/* The operation's name. */
#define ADJOINT_OF "adjoint_of"
/* The index of the input. */
#define ADJOINT_INPUT "adjoint_input"
/* The rank and the dimensions of each input, in one list. */
#define ADJOINT_DIMS "adjoint_dims"

/* --------------------------------------------------------------- attributes */

/* Counts the inputs: the list has a rank, and as many dimensions, for each. */
static rlo_status count_inputs(const rlo_i64_list *list, int32_t *out_count) {
  *out_count = 0;
  for (int32_t i = 0; i < list->count; ++*out_count) {
    int64_t rank = list->values[i++];
    RLO_FAIL_IF(rank < 0 || rank > list->count - i, RLO_INVALID_ARGUMENT,
                "'%s' gives a rank of %lld and %d numbers follow", ADJOINT_DIMS, (long long)rank,
                list->count - i);
    i += (int32_t)rank;
  }
  return RLO_OK;
}

static rlo_status find_op(const char *name, int32_t num_inputs, int64_t input,
                          const rlo__copy_op **out_op) {
  const rlo__copy_op *const *list = rlo__copy_lists;
  const rlo__copy_op *op = *list;
  while (op != NULL && (op->name == NULL || strcmp(op->name, name) != 0)) {
    op = op->name != NULL ? op + 1 : *++list;
  }
  RLO_FAIL_IF(op == NULL || op->append == NULL || rlo__copy_op_has(op, RLO__COPY_TAKES_INDICES),
              RLO_NOT_FOUND, "'%s' is no built-in movement of one array to another", name);
  RLO_FAIL_IF(num_inputs < op->kernel.min_inputs ||
                  (op->kernel.max_inputs >= 0 && num_inputs > op->kernel.max_inputs),
              RLO_INVALID_ARGUMENT, "'%s' does not have %d inputs", name, num_inputs);
  RLO_FAIL_IF(input < 0 || input >= num_inputs, RLO_OUT_OF_RANGE,
              "'%s' has %d inputs, and no input %lld", name, num_inputs, (long long)input);
  *out_op = op;
  return RLO_OK;
}

static bool is_own(const char *name) {
  return strcmp(name, ADJOINT_OF) == 0 || strcmp(name, ADJOINT_INPUT) == 0 ||
         strcmp(name, ADJOINT_DIMS) == 0;
}

/* Sets the parts of an adjoint, for which `a` has room. */
static rlo_status fill_in(const rlo_attributes *attributes, const rlo_i64_list *dims,
                          const rlo_shape *dy, const rlo_shape **inputs, rlo_attribute *items,
                          rlo__adjoint *a) {
  const int64_t *next = dims->values;
  for (int32_t n = 0; n < a->call.num_inputs; ++n) {
    int32_t rank = (int32_t)*next++;
    RLO_TRY(rlo__ops_shape_like(dy, next, rank, &a->shapes[n]));
    inputs[n] = &a->shapes[n];
    next += rank;
  }
  for (int32_t i = 0; i < attributes->count; ++i) {
    if (attributes->items[i].name == NULL || !is_own(attributes->items[i].name)) {
      items[a->attributes.count++] = attributes->items[i];
    }
  }
  return rlo_attributes_check(&a->attributes, a->call.op->name, a->call.op->kernel.attributes,
                              a->call.op->kernel.num_attributes);
}

rlo_status rlo__adjoint_decode(const rlo_attributes *attributes, const rlo_shape *dy,
                               rlo__adjoint **out_adjoint) {
  const char *name = NULL;
  const rlo__copy_op *op = NULL;
  int64_t input = 0;
  int32_t count = 0;
  rlo_i64_list dims;
  *out_adjoint = NULL;
  RLO_TRY(rlo_attributes_get_string(attributes, ADJOINT_OF, &name));
  RLO_TRY(rlo_attributes_get_i64(attributes, ADJOINT_INPUT, &input));
  RLO_TRY(rlo_attributes_get_i64s(attributes, ADJOINT_DIMS, &dims));
  RLO_TRY(count_inputs(&dims, &count));
  RLO_TRY(find_op(name, count, input, &op));
  RLO_TRY(rlo_shape_validate(dy));
  rlo__adjoint *a =
      rlo__alloc(sizeof *a + (size_t)count * (sizeof a->shapes[0] + sizeof(rlo_shape *)) +
                 (size_t)attributes->count * sizeof(rlo_attribute));
  RLO_TRY_MEMORY(a);
  rlo_attribute *items = (rlo_attribute *)(void *)(a->shapes + count);
  const rlo_shape **inputs = (const rlo_shape **)(void *)(items + attributes->count);
  *a = (rlo__adjoint){.call = {op, inputs, count, &a->attributes},
                      .input = (int32_t)input,
                      .attributes = {items, 0}};
  rlo_status status = fill_in(attributes, &dims, dy, inputs, items, a);
  if (status != RLO_OK) {
    rlo__free(a);
    return status;
  }
  *out_adjoint = a;
  return RLO_OK;
}

rlo_status rlo__adjoint_encode(const rlo__copy_call *call, int32_t input,
                               rlo_attributes **out_attributes) {
  const rlo_attributes *attributes = call->attributes;
  size_t num_given = attributes != NULL ? (size_t)attributes->count : 0;
  /* An upper bound. */
  size_t num_dims = (size_t)call->num_inputs * (RLO_MAX_RANK + 1);
  rlo_attributes *code = rlo__alloc(sizeof *code + (num_given + 3) * sizeof(rlo_attribute) +
                                    num_dims * sizeof(int64_t));
  RLO_TRY_MEMORY(code);
  rlo_attribute *items = (rlo_attribute *)(void *)(code + 1);
  int64_t *dims = (int64_t *)(void *)(items + num_given + 3);
  int64_t *next = dims;
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    const rlo_shape *shape = call->inputs[n];
    *next++ = shape->rank;
    memcpy(next, shape->dims, (size_t)shape->rank * sizeof *next);
    next += shape->rank;
  }
  *code = (rlo_attributes){items, (int32_t)num_given + 3};
  items[0] = rlo_attribute_string(ADJOINT_OF, call->op->name);
  items[1] = rlo_attribute_i64(ADJOINT_INPUT, input);
  items[2] = rlo_attribute_i64s(ADJOINT_DIMS, dims, (int32_t)(next - dims));
  if (num_given > 0) {
    memcpy(items + 3, attributes->items, num_given * sizeof *items);
  }
  *out_attributes = code;
  return RLO_OK;
}

/* -------------------------------------------------------------------- shape */

/* Checks that there is a dy for each result, and gets the gradient's shape. */
static rlo_status check_dys(const rlo__adjoint *a, const rlo_shape *const *dys, int32_t count,
                            rlo_shape *out_shape) {
  int32_t num_outputs = 0;
  rlo_shape wanted;
  RLO_TRY(rlo__copy_op_count(&a->call, &num_outputs));
  RLO_FAIL_IF(num_outputs != count, RLO_INVALID_ARGUMENT,
              "'%s' has %d results, and there are %d dys", a->call.op->name, num_outputs, count);
  for (int32_t k = 0; k < count; ++k) {
    RLO_TRY(rlo__copy_op_shape(&a->call, k, &wanted));
    RLO_FAIL_IF(!rlo_shape_equal(dys[k], &wanted), RLO_INVALID_ARGUMENT,
                "dy %d is not what '%s' gives, row-major", k, a->call.op->name);
  }
  *out_shape = *a->call.inputs[a->input];
  return RLO_OK;
}

static rlo_status infer_adjoint(const rlo__copy_call *call, rlo_shape *out_shape) {
  rlo__adjoint *a = NULL;
  RLO_TRY(rlo__adjoint_decode(call->attributes, call->inputs[0], &a));
  rlo_status status = check_dys(a, call->inputs, call->num_inputs, out_shape);
  rlo__free(a);
  return status;
}

/* ----------------------------------------------------------------- problems */

/* The problems of an adjoint under construction. */
typedef struct collection {
  rlo__adjoint *adjoint;
  const rlo_shape *dst;
  /** The problems of the operation that read the input, each with the number of its result
   *  in place of the operand; and their adjoints. */
  rlo_problem_list *forward, *problems;
  rlo_problem problem;
  /** The operation reads every unit of the input at most once, so that dy is
   *  stored; else it is added. */
  bool is_storing;
  /** The number of points that write dx; negative if guards exclude some. */
  int64_t num_written;
} collection;

static rlo_status collect_forward(collection *c, const rlo_shape *const *dys, int32_t num_outputs) {
  for (int32_t k = 0; k < num_outputs; ++k) {
    rlo_problem_list *list = NULL;
    RLO_TRY(rlo__copy_op_lower(&c->adjoint->call, k, dys[k], &list, NULL));
    rlo_status status = RLO_OK;
    for (int32_t n = 0; n < list->count && status == RLO_OK; ++n) {
      if (list->entries[n].operand == c->adjoint->input) {
        status = rlo__problem_list_add(c->forward, k, -1, list->entries[n].problem);
      }
    }
    rlo_problem_list_release(list);
    RLO_TRY(status);
  }
  return RLO_OK;
}

/* Chooses to store if each result has at most one problem that reads the input
 * (a fill does not), and none reads a unit twice. The results of one operation
 * are disjoint parts of its input. */
static rlo_status choose_update(collection *c) {
  int32_t last_read = -1;
  c->is_storing = true;
  for (int32_t n = 0; n < c->forward->count && c->is_storing; ++n) {
    const rlo__listed_problem *forward = &c->forward->entries[n];
    RLO_TRY(rlo_problem_reads_once(forward->problem, &c->is_storing));
    if (c->is_storing) {
      RLO_TRY(rlo_problem_adjoint(forward->problem, RLO_DTYPE_INVALID, &c->problem));
      if (!rlo_problem_is_empty(&c->problem)) {
        c->is_storing = last_read != forward->operand;
        last_read = forward->operand;
      }
    }
  }
  return RLO_OK;
}

/* Adds the points that c->problem writes. */
static void count_written(collection *c) {
  const rlo_problem *p = &c->problem;
  int64_t points = 1;
  for (int32_t a = 0; a < p->num_axes; ++a) {
    points *= p->dst.axis[a] != 0 ? p->extents[a] : 1;
  }
  c->num_written = p->num_guards > 0 || c->num_written < 0 ? -1 : c->num_written + points;
}

static rlo_status add_adjoint(collection *c, const rlo__listed_problem *forward) {
  RLO_TRY(rlo_problem_adjoint(forward->problem, c->is_storing ? RLO_DTYPE_INVALID : c->dst->dtype,
                              &c->problem));
  if (rlo_problem_is_empty(&c->problem)) {
    return RLO_OK;
  }
  const rlo_arithmetic *arithmetic = &c->problem.arithmetic;
  bool is_plain = c->is_storing && arithmetic->src_type == arithmetic->dst_type &&
                  c->problem.unit_bits == arithmetic->dst_unit_bits;
  if (c->problem.update == RLO_UPDATE_COMBINE && is_plain) {
    /* The adjoint of a sum gives each its dy, bit for bit. */
    c->problem.update = RLO_UPDATE_STORE;
  }
  count_written(c);
  return rlo__problem_list_add(c->problems, forward->operand, -1, &c->problem);
}

/* A problem that fills all of dx with zeros, byte by byte. */
static void make_zeros(rlo_problem *problem, const rlo_shape_extent *extent) {
  *problem = (rlo_problem){.unit_bits = 8,
                           .num_axes = 1,
                           .extents = {extent->physical_bytes},
                           .dst.axis = {1},
                           /* A guard that never holds: every cell takes the
                            * fill. */
                           .num_guards = 1,
                           .guards = {{.kind = RLO_GUARD_PAD}},
                           .dst_bytes = extent->physical_bytes,
                           .written_bytes = extent->bytes};
}

/* Fills dx with zeros first, unless every unit of it is written, and by the
 * first problem. */
static rlo_status put_zeros_in_front(collection *c) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(c->dst, &extent));
  bool is_covered = c->num_written == extent.elements;
  rlo_problem_list *problems = c->problems;
  if (is_covered && (c->is_storing || problems->count == 1)) {
    if (!c->is_storing) {
      rlo__arithmetic_remove(&problems->entries[0].problem->arithmetic, RLO_ELEMENT_ACCUMULATE);
    }
    return RLO_OK;
  }
  make_zeros(&c->problem, &extent);
  RLO_TRY(rlo__problem_list_add(problems, 0, -1, &c->problem));
  /* Move it from the last place to the first. */
  int32_t last = problems->count - 1;
  const rlo__listed_problem zeros = problems->entries[last];
  memmove(problems->entries + 1, problems->entries, (size_t)last * sizeof problems->entries[0]);
  problems->entries[0] = zeros;
  problems->entries[0].operand = 0;
  return RLO_OK;
}

static rlo_status make_moves(collection *c, const rlo_shape *const *dys, int32_t num_outputs) {
  RLO_TRY(collect_forward(c, dys, num_outputs));
  RLO_TRY(choose_update(c));
  for (int32_t n = 0; n < c->forward->count; ++n) {
    RLO_TRY(add_adjoint(c, &c->forward->entries[n]));
  }
  return put_zeros_in_front(c);
}

static rlo_status lower_adjoint(const rlo__copy_call *call, const rlo_shape *dst,
                                rlo_problem_list **out_problems) {
  collection *c = rlo__alloc(sizeof *c);
  RLO_TRY_MEMORY(c);
  rlo_status status = RLO_OUT_OF_MEMORY;
  *c = (collection){.dst = dst,
                    .forward = rlo__alloc(sizeof *c->forward),
                    .problems = rlo__alloc(sizeof *c->problems)};
  if (c->forward == NULL || c->problems == NULL) {
    goto fail;
  }
  RLO_TRY_GOTO(rlo__adjoint_decode(call->attributes, call->inputs[0], &c->adjoint));
  /* A dy for each result of the operation. */
  status = make_moves(c, call->inputs, call->num_inputs);
  if (status != RLO_OK) {
    rlo__status_prefix(status, "the adjoint of %s: ", c->adjoint->call.op->name);
    goto fail;
  }
  *out_problems = c->problems;
  c->problems = NULL;
fail:
  rlo_problem_list_release(c->forward);
  rlo_problem_list_release(c->problems);
  rlo__free(c->adjoint);
  rlo__free(c);
  return status;
}

/* -------------------------------------------------------------------- table */

static const rlo__copy_op adjoint_ops[] = {
    {
        .name = RLO_KERNEL_NAME_MOVE_ADJOINT,
        RLO__COPY_INPUTS(1, -1, "dys"),
        .flags = RLO__COPY_STANDS_ALONE | RLO__COPY_CHECKS_ATTRIBUTES,
        .infer = infer_adjoint,
        .lower = lower_adjoint,
    },
    {.name = NULL},
};

const rlo__copy_op *const rlo__copy_lists[] = {
    rlo__move_ops,    rlo__cut_ops,      rlo__pad_ops, rlo__compute_ops,
    rlo__indexed_ops, rlo__quantize_ops, adjoint_ops,  NULL};
