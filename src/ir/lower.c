/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/lower.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "desc/strides.h"
#include "ir/form.h"
#include "ir/problem.h"
#include "ir/rewrite.h"

static rlo_status overflow(void) {
  return RLO_FAIL(RLO_OVERFLOW, "a position of the relayout exceeds 64 bits");
}

static rlo_status add(rlo_form *form, int64_t factor, const rlo_form *other) {
  return rlo__form_add(form, factor, other) ? RLO_OK : overflow();
}

static rlo_status new_axis(rlo_problem *problem, int64_t extent, int32_t *out_axis) {
  return rlo__rewrite_add_axis(problem, "the destination has",
                               "physical dimensions of extent above 1", extent, out_axis);
}

rlo_status rlo__lower_quotient(rlo_problem *problem, const rlo_form *form, int64_t divisor,
                               rlo_form *out) {
  if (rlo__form_quotient(problem, form, divisor, out)) {
    return RLO_OK;
  }
  rlo_form high;
  rlo_term term = {.kind = RLO_TERM_QUOTIENT, .divisor = divisor};
  rlo__form_divide(form, divisor, &high, &term.form);
  int32_t t = 0;
  while (t < problem->num_terms &&
         (problem->terms[t].kind != RLO_TERM_QUOTIENT || problem->terms[t].divisor != divisor ||
          !rlo__form_equal(&problem->terms[t].form, &term.form))) {
    ++t;
  }
  RLO_FAIL_IF(t == RLO_MAX_TERMS, RLO_UNSUPPORTED,
              "the tiles of source and destination need more than %d quotients", RLO_MAX_TERMS);
  if (t == problem->num_terms) {
    problem->terms[problem->num_terms++] = term;
  }
  *out = high;
  ++out->term[t];
  return RLO_OK;
}

/* whole = high * radix + low. */
static rlo_status recompose(const rlo_step *step, rlo_form *forms) {
  rlo_form whole = forms[step->low];
  RLO_TRY(add(&whole, step->radix, &forms[step->high]));
  forms[step->whole] = whole;
  return RLO_OK;
}

/* high = floor(whole / radix), low = whole - radix * high. */
static rlo_status decompose(rlo_problem *problem, const rlo_step *step, rlo_form *forms) {
  rlo_form high;
  RLO_TRY(rlo__lower_quotient(problem, &forms[step->whole], step->radix, &high));
  rlo_form low = forms[step->whole];
  RLO_TRY(add(&low, -step->radix, &high));
  forms[step->high] = high;
  forms[step->low] = low;
  return RLO_OK;
}

/* One guard for each variable that exceeds its limit in some cell. */
static rlo_status guard_overhang(const rlo_address_map *address, const rlo_form *forms,
                                 rlo_guard_kind kind, rlo_problem *problem) {
  for (int32_t v = 0; v < address->num_vars; ++v) {
    int64_t min;
    int64_t max;
    if (!rlo__form_range(problem, &forms[v], &min, &max)) {
      return overflow();
    }
    if (max >= address->limits[v]) {
      RLO_TRY(rlo__rewrite_add_guard(problem, "the relayout", kind, &forms[v], address->limits[v]));
    }
  }
  return RLO_OK;
}

/* The tail: the most major physical axis grows until the box covers all slots.
 * Cells from tiled_slots on take the fill; cells from slots on do not exist. */
static rlo_status extend_to_tail(const rlo_address_map *address, rlo_problem *problem) {
  int32_t major = 0;
  if (problem->num_axes == 0) {
    RLO_TRY(new_axis(problem, 1, &major));
    problem->dst.axis[major] = 1;
  }
  int64_t stride = problem->dst.axis[major];
  problem->extents[major] = rlo__ceil_div(address->slots, stride);
  RLO_TRY(rlo__rewrite_add_guard(problem, "the relayout", RLO_GUARD_PAD, &problem->dst,
                                 address->tiled_slots));
  return rlo__rewrite_add_guard(problem, "the relayout", RLO_GUARD_SKIP, &problem->dst,
                                address->slots);
}

static rlo_status check_distinct(const rlo_problem *problem) {
  rlo__stride list[RLO_MAX_AXES];
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    list[a] = (rlo__stride){problem->extents[a], problem->dst.axis[a], a};
  }
  if (rlo__strides_are_distinct(list, problem->num_axes)) {
    return RLO_OK;
  }
  /* Sorted: name the narrowest stride that is at fault. */
  int32_t i = problem->num_axes - 1;
  while (rlo__strides_are_distinct(list + i, problem->num_axes - i)) {
    --i;
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "a strided destination must have a slot for each element: stride %lld is not "
                  "wider than what the narrower strides span",
                  (long long)list[i].stride);
}

static rlo_status place_cells(const rlo_address_map *address, rlo_problem *problem,
                              rlo_form *forms) {
  problem->dst.base = address->offset;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    if (address->leaves[p].extent == 1) {
      continue;
    }
    int32_t axis = 0;
    RLO_TRY(new_axis(problem, address->leaves[p].extent, &axis));
    problem->dst.axis[axis] = address->leaves[p].stride;
    forms[address->leaves[p].var].axis[axis] = 1;
  }
  return RLO_OK;
}

/* The logical index of each cell, and guards for those that have none. */
static rlo_status invert_dense(const rlo_address_map *address, bool has_fill, rlo_problem *problem,
                               rlo_form *forms) {
  for (int32_t s = address->num_steps - 1; s >= 0; --s) {
    const rlo_step *step = &address->steps[s];
    RLO_TRY(step->kind == RLO_STEP_SPLIT ? recompose(step, forms)
                                         : decompose(problem, step, forms));
  }
  RLO_TRY(guard_overhang(address, forms, has_fill ? RLO_GUARD_PAD : RLO_GUARD_SKIP, problem));
  return has_fill && address->slots > address->tiled_slots ? extend_to_tail(address, problem)
                                                           : RLO_OK;
}

rlo_status rlo__lower_destination(const rlo_shape *shape, const rlo_address_map *address,
                                  rlo_problem *problem, rlo_form *out_index) {
  rlo__problem_clear(problem);
  memset(out_index, 0, (size_t)shape->rank * sizeof *out_index);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  bool has_fill = false;
  if (address->is_dense) {
    RLO_TRY(rlo_shape_fill_bits(shape, problem->fill, &has_fill));
  }
  problem->unit_bits = (int32_t)extent.element_bits;
  problem->dst_bytes = extent.physical_bytes;
  problem->written_bytes = has_fill ? extent.physical_bytes : extent.bytes;

  rlo_form *forms = rlo__alloc_array((size_t)address->num_vars + 1, sizeof *forms);
  RLO_TRY_MEMORY(forms);
  rlo_status status = place_cells(address, problem, forms);
  if (status == RLO_OK && !rlo_problem_is_empty(problem)) {
    status = address->is_dense ? invert_dense(address, has_fill, problem, forms)
                               : check_distinct(problem);
  }
  if (status == RLO_OK) {
    memcpy(out_index, forms, (size_t)shape->rank * sizeof *out_index);
  }
  rlo__free(forms);
  return status;
}

/* The position that an address map gives a logical index. */
static rlo_status place(const rlo_address_map *address, rlo_problem *problem, rlo_form *forms,
                        rlo_form *out_position) {
  for (int32_t s = 0; s < address->num_steps; ++s) {
    const rlo_step *step = &address->steps[s];
    RLO_TRY(step->kind == RLO_STEP_SPLIT ? decompose(problem, step, forms)
                                         : recompose(step, forms));
  }
  memset(out_position, 0, sizeof *out_position);
  out_position->base = address->offset;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    RLO_TRY(add(out_position, address->leaves[p].stride, &forms[address->leaves[p].var]));
  }
  return RLO_OK;
}

rlo_status rlo__lower_position(const rlo_address_map *address, const rlo_form *index,
                               rlo_problem *problem, rlo_form *out_position) {
  rlo_form *forms = rlo__alloc_array((size_t)address->num_vars + 1, sizeof *forms);
  RLO_TRY_MEMORY(forms);
  memcpy(forms, index, (size_t)address->rank * sizeof *forms);
  rlo_status status = place(address, problem, forms, out_position);
  rlo__free(forms);
  return status;
}

rlo_status rlo__lower_source(const rlo_shape *shape, const rlo_address_map *address,
                             const rlo_form *index, rlo_problem *problem) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  problem->src_bytes = extent.physical_bytes;
  problem->read_bytes = extent.bytes;
  if (rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  return rlo__lower_position(address, index, problem, &problem->src);
}

static rlo_status new_third(rlo_problem *problem, const rlo_term *term) {
  RLO_FAIL_IF(problem->num_terms == RLO_MAX_TERMS, RLO_UNSUPPORTED,
              "the loads and the tiles need more than %d terms", RLO_MAX_TERMS);
  problem->terms[problem->num_terms++] = *term;
  return RLO_OK;
}

rlo_status rlo__lower_load_at(rlo_problem *problem, const rlo_form *position, int64_t limit,
                              rlo_form *out) {
  RLO_TRY(new_third(
      problem,
      &(rlo_term){.kind = RLO_TERM_LOAD, .form = *position, .divisor = 1, .limit = limit}));
  memset(out, 0, sizeof *out);
  out->term[problem->num_terms - 1] = 1;
  return RLO_OK;
}

rlo_status rlo__lower_operand_at(rlo_problem *problem, const rlo_form *position) {
  return new_third(problem, &(rlo_term){.kind = RLO_TERM_OPERAND, .form = *position, .divisor = 1});
}

rlo_status rlo__lower_load(const rlo_shape *indices, const rlo_address_map *address,
                           const rlo_form *index, int64_t limit, rlo_problem *problem,
                           rlo_form *out) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(indices, &extent));
  rlo_form position;
  RLO_TRY(rlo__lower_position(address, index, problem, &position));
  problem->index_bits = (int32_t)extent.element_bits;
  problem->index_bytes = extent.physical_bytes;
  return rlo__lower_load_at(problem, &position, limit, out);
}
