/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"
#include "ir/lower.h"
#include "ir/rewrite.h"
#include "ops/chain.h"
#include "ops/combine.h"

/* The guards of one step, or of the layout, outermost first. */
typedef struct group {
  /** The number of steps from the result to here: 0 for the layout. */
  int32_t depth;
  rlo__out_of_bounds out_of_bounds;
  uint8_t fill[RLO_MAX_UNIT_BITS / 8];
  /** Guards [first, end) of the list. */
  int32_t first, end;
} group;

typedef struct lowering {
  const rlo_chain *chain;
  const rlo_shape *dst;
  rlo_combine_options options;
  rlo_problem_list *list;
  /** The box, guards and index of the cells of the destination: the start of
   * each part. */
  rlo_problem cells;
  rlo_form cells_index[RLO_MAX_RANK];
  /** The current part. */
  int32_t part;
  rlo_problem problem;
  /** The operand whose indices the part loads, or -1. */
  int32_t index_operand;
  rlo_form index[RLO_MAX_RANK + 1];
  rlo__guard_list guards;
  int32_t num_groups;
  group groups[RLO_MAX_GUARDS + 2];
  rlo_address_map address;
  rlo__index_step step;
} lowering;

/* A fill is a value of the result, so it must not need computation. */
static rlo_status check_fills(const rlo_chain *chain, const rlo_shape *dst,
                              const rlo_combine_options *options) {
  if (dst->dtype == chain->shape.dtype && rlo__ops_is_plain(options)) {
    return RLO_OK;
  }
  for (int32_t p = 0; p < chain->num_parts; ++p) {
    for (int32_t s = 0; s < chain->parts[p].num_steps; ++s) {
      RLO_FAIL_IF(chain->parts[p].steps[s].out_of_bounds == RLO__OOB_FILL, RLO_UNSUPPORTED,
                  "the chain pads; its fill is neither scaled nor added nor converted to the "
                  "destination's %s",
                  rlo_dtype_name(dst->dtype));
    }
  }
  return RLO_OK;
}

static rlo_status emit(lowering *l, const rlo_problem *problem) {
  return rlo__problem_list_add(l->list, l->chain->parts[l->part].operand, l->index_operand,
                               problem);
}

/* Emits the problem that reads the operand, and computes if the options ask for
 * it. */
static rlo_status emit_move(lowering *l) {
  int32_t operand = l->chain->parts[l->part].operand;
  bool has_sum = l->problem.num_axes > l->cells.num_axes;
  RLO_TRY(rlo__ops_combine(&l->chain->operands[operand], l->dst, &l->options, l->cells_index,
                           has_sum, &l->problem));
  return emit(l, &l->problem);
}

/* Tells if an earlier part has the same outermost `depth` steps, and so writes
 * the cells that are out of their bounds. */
static bool is_shared(const lowering *l, int32_t depth) {
  const rlo__chain_part *mine = &l->chain->parts[l->part];
  for (int32_t p = 0; p < l->part; ++p) {
    const rlo__chain_part *other = &l->chain->parts[p];
    int32_t same = 0;
    while (same < depth && same < other->num_steps &&
           other->steps[other->num_steps - 1 - same].id ==
               mine->steps[mine->num_steps - 1 - same].id) {
      ++same;
    }
    if (same == depth) {
      return true;
    }
  }
  return false;
}

static void close_group(lowering *l, int32_t first, int32_t depth, rlo__out_of_bounds out_of_bounds,
                        const uint8_t *fill) {
  if (l->guards.count == first && !l->guards.never_holds) {
    return;
  }
  group *g = &l->groups[l->num_groups++];
  *g = (group){depth, out_of_bounds, {0}, first, l->guards.count};
  memcpy(g->fill, fill, sizeof g->fill);
}

/* Starts with the guards of the destination's layout. SKIP guards stay in the
 * problem; PAD guards are the outermost group. */
static void begin_part(lowering *l) {
  l->problem = l->cells;
  memcpy(l->index, l->cells_index, sizeof l->cells_index);
  l->index_operand = -1;
  l->guards.count = 0;
  l->guards.never_holds = false;
  l->num_groups = 0;
  l->problem.num_guards = 0;
  for (int32_t g = 0; g < l->cells.num_guards; ++g) {
    const rlo_guard *guard = &l->cells.guards[g];
    if (guard->kind == RLO_GUARD_SKIP) {
      l->problem.guards[l->problem.num_guards++] = *guard;
    } else {
      l->guards.guards[l->guards.count++] = *guard;
    }
  }
  close_group(l, 0, 0, RLO__OOB_FILL, l->cells.fill);
}

/* Tells if a shape is row-major, apart from a tail after its elements. */
static bool is_row_major(const rlo_shape *shape) {
  rlo_layout layout = shape->layout;
  layout.tail_alignment_elems = 0;
  return rlo_layout_is_row_major(&layout, shape->rank);
}

/* If the first step reshapes a row-major operand, the index of an element is
 * its position: no quotient is needed to find coordinates that the address map
 * combines again. */
static rlo_status flatten_operand(lowering *l, rlo_shape *operand) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(operand, &extent));
  int64_t count = extent.elements;
  int64_t tail = operand->layout.tail_alignment_elems;
  RLO_TRY(rlo__ops_shape_like(operand, &count, 1, operand));
  operand->layout.tail_alignment_elems = tail;
  l->step.rank = 1;
  l->step.dims[0] = count;
  return RLO_OK;
}

/* Adds the index that the step loads at the result's coordinates as one more
 * coordinate. */
static rlo_status load_index(lowering *l) {
  const rlo__index_step *step = &l->step;
  const rlo_shape *indices = &l->chain->operands[step->gather_operand];
  RLO_FAIL_IF(l->index_operand >= 0 && l->index_operand != step->gather_operand, RLO_UNSUPPORTED,
              "the chain gathers with operand %d and with operand %d; one movement loads from one "
              "array of indices",
              l->index_operand, step->gather_operand);
  l->index_operand = step->gather_operand;
  rlo_form *index = rlo__alloc_array((size_t)indices->rank + 1, sizeof *index);
  RLO_TRY_MEMORY(index);
  for (int32_t k = 0; k < indices->rank; ++k) {
    int32_t at = k < step->batch_dims ? k : step->gather_dim + k - step->batch_dims;
    index[k] = l->index[at];
  }
  rlo_status status;
  RLO_TRY_GOTO(rlo__address_make(indices, &l->address));
  RLO_TRY_GOTO(rlo__lower_load(indices, &l->address, index, step->dims[step->gather_dim],
                               &l->problem, &l->index[step->result_rank]));
fail:
  rlo__free(index);
  return status;
}

/* Walks from the destination to the operand; stops if no element is in bounds.
 */
static rlo_status walk_back(lowering *l, rlo_shape *operand) {
  const rlo__chain_part *part = &l->chain->parts[l->part];
  for (int32_t s = part->num_steps - 1; s >= 0 && !l->guards.never_holds; --s) {
    l->step = part->steps[s];
    if (s == 0 && l->step.is_reshape && is_row_major(operand)) {
      RLO_TRY(flatten_operand(l, operand));
    }
    if (l->step.is_gather) {
      RLO_TRY(load_index(l));
    }
    int32_t first = l->guards.count;
    RLO_TRY(rlo__index_step_back(&l->step, &l->problem, l->index, &l->guards));
    close_group(l, first, part->num_steps - s, l->step.out_of_bounds, l->step.fill);
  }
  return RLO_OK;
}

static rlo_status put_group(const lowering *l, const group *g, rlo_problem *problem,
                            rlo_guard_kind kind) {
  for (int32_t n = g->first; n < g->end; ++n) {
    const rlo_guard *guard = &l->guards.guards[n];
    RLO_TRY(rlo__rewrite_add_guard(problem, "the chain", kind, &guard->form, guard->limit));
  }
  return RLO_OK;
}

/* Writes the fill to every cell that the guards let through. */
static rlo_status emit_fill(lowering *l, const uint8_t *fill) {
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  RLO_TRY_MEMORY(problem);
  static const rlo_form zero;
  *problem = l->problem;
  /* A sum that is out of bounds is one fill, not one for each of its points. */
  problem->num_axes = l->cells.num_axes;
  memset(&problem->src, 0, sizeof problem->src);
  memcpy(problem->fill, fill, sizeof problem->fill);
  problem->read_bytes = 0;
  (void)rlo__rewrite_drop_unused_terms(problem);
  rlo_status status = rlo__rewrite_add_guard(problem, "the chain", RLO_GUARD_PAD, &zero, 0);
  if (status == RLO_OK) {
    status = emit(l, problem);
  }
  rlo__free(problem);
  return status;
}

/* The first group after `n` that does not write the same fill. */
static int32_t end_of_fill(const lowering *l, int32_t n) {
  const group *g = &l->groups[n];
  int32_t end = n + 1;
  while (end < l->num_groups && l->groups[end].out_of_bounds == RLO__OOB_FILL &&
         memcmp(l->groups[end].fill, g->fill, sizeof g->fill) == 0) {
    ++end;
  }
  return end;
}

/* Groups [first, end), with one fill, are the innermost: they are guards of the
 * move itself. */
static rlo_status emit_padded(lowering *l, int32_t first, int32_t end) {
  memcpy(l->problem.fill, l->groups[first].fill, sizeof l->problem.fill);
  for (int32_t n = first; n < end; ++n) {
    RLO_TRY(put_group(l, &l->groups[n], &l->problem, RLO_GUARD_PAD));
  }
  return emit_move(l);
}

/* Emits the problems of a part. The move itself writes the innermost fill. A
 * fill with other fills or another part inside it is a problem of its own
 * before them, over all that they cover, and its guards then skip. */
static rlo_status emit_part(lowering *l) {
  int32_t end = 0;
  for (int32_t n = 0; n < l->num_groups; n = end) {
    const group *g = &l->groups[n];
    end = n + 1;
    if (g->out_of_bounds == RLO__OOB_FILL && !is_shared(l, g->depth)) {
      end = end_of_fill(l, n);
      if (end == l->num_groups && !l->guards.never_holds) {
        return emit_padded(l, n, end);
      }
      RLO_TRY(emit_fill(l, g->fill));
    }
    for (; n < end; ++n) {
      RLO_TRY(put_group(l, &l->groups[n], &l->problem, RLO_GUARD_SKIP));
    }
  }
  return l->guards.never_holds ? RLO_OK : emit_move(l);
}

static rlo_status lower_part(lowering *l) {
  const rlo__chain_part *part = &l->chain->parts[l->part];
  rlo_shape operand = l->chain->operands[part->operand];
  begin_part(l);
  rlo_shape_extent extent;
  rlo_shape_extent dst_extent;
  RLO_TRY(rlo_shape_measure(&operand, &extent));
  RLO_TRY(rlo_shape_measure(l->dst, &dst_extent));
  l->problem.src_bytes = extent.physical_bytes;
  RLO_TRY(walk_back(l, &operand));
  if (!l->guards.never_holds) {
    RLO_TRY(rlo__address_make(&operand, &l->address));
    RLO_TRY(rlo__lower_source(&operand, &l->address, l->index, &l->problem));
  }
  int64_t most = dst_extent.bytes;
  if (extent.element_bits != dst_extent.element_bits) {
    most = rlo__ceil_div(most, dst_extent.element_bits) * extent.element_bits;
  }
  if (l->problem.read_bytes > most && l->problem.num_axes == l->cells.num_axes) {
    l->problem.read_bytes = most;
  }
  if (l->chain->num_parts > 1 && l->problem.written_bytes > extent.bytes) {
    l->problem.written_bytes = extent.bytes;
  }
  return emit_part(l);
}

static rlo_status lower(lowering *l) {
  RLO_TRY(rlo__address_make(l->dst, &l->address));
  RLO_TRY(rlo__lower_destination(l->dst, &l->address, &l->cells, l->cells_index));
  if (rlo_problem_is_empty(&l->cells)) {
    return RLO_OK;
  }
  for (l->part = 0; l->part < l->chain->num_parts; ++l->part) {
    RLO_TRY(lower_part(l));
  }
  return RLO_OK;
}

static rlo_status lower_chain(const rlo_chain *chain, const rlo_shape *dst,
                              const rlo_combine_options *options, rlo_problem_list **out_list) {
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo_problem_list *list = rlo__alloc(sizeof *list);
  lowering *l = rlo__alloc(sizeof *l);
  if (list != NULL && l != NULL) {
    l->chain = chain;
    l->dst = dst;
    l->options = *options;
    l->list = list;
    status = lower(l);
  }
  rlo__free(l);
  if (status != RLO_OK) {
    rlo_problem_list_release(list);
    return status;
  }
  *out_list = list;
  return RLO_OK;
}

rlo_status rlo_chain_combine(const rlo_chain *chain, const rlo_shape *dst,
                             const rlo_combine_options *options, rlo_problem_list **out_list) {
  RLO_REQUIRE(out_list);
  *out_list = NULL;
  RLO_REQUIRE(chain);
  dst = dst == NULL ? &chain->shape : dst;
  rlo_combine_options known;
  RLO_TRY(rlo__ops_read_options(options, &known));
  RLO_TRY(rlo_shape_validate(dst));
  RLO_TRY(rlo__ops_check_result("", "the chain's result", &chain->shape, dst));
  RLO_TRY(check_fills(chain, dst, &known));
  return lower_chain(chain, dst, &known, out_list);
}

rlo_status rlo_chain_lower(const rlo_chain *chain, const rlo_shape *dst,
                           rlo_problem_list **out_list) {
  RLO_REQUIRE(out_list);
  *out_list = NULL;
  RLO_REQUIRE(chain);
  if (dst != NULL && dst->dtype != chain->shape.dtype) {
    RLO_TRY(rlo_shape_validate(dst));
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the chain holds %s, the destination %s",
                    rlo_dtype_name(chain->shape.dtype), rlo_dtype_name(dst->dtype));
  }
  return rlo_chain_combine(chain, dst, NULL, out_list);
}
