/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/problem.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "ir/element.h"
#include "ir/form.h"
#include "ir/update.h"

rlo_status rlo_problem_create(rlo_problem **out_problem) {
  RLO_REQUIRE(out_problem);
  *out_problem = rlo__alloc(sizeof **out_problem);
  return *out_problem != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

void rlo_problem_release(rlo_problem *problem) {
  rlo__free(problem);
}

int64_t rlo_problem_src_bytes(const rlo_problem *problem) {
  return problem != NULL ? problem->src_bytes : 0;
}

int64_t rlo_problem_dst_bytes(const rlo_problem *problem) {
  return problem != NULL ? problem->dst_bytes : 0;
}

int64_t rlo_problem_index_bytes(const rlo_problem *problem) {
  return problem != NULL ? problem->index_bytes : 0;
}

void rlo__problem_copy(const rlo_problem *from, rlo_problem *out_copy) {
  /* Counts are checked later: here they must only not lead astray. */
  int64_t num_terms = rlo__min(rlo__max(from->num_terms, 0), RLO_MAX_TERMS);
  int64_t num_guards = rlo__min(rlo__max(from->num_guards, 0), RLO_MAX_GUARDS);
  const size_t rest_at = offsetof(rlo_problem, fill);
  memcpy(out_copy, from, offsetof(rlo_problem, terms));
  memcpy(out_copy->terms, from->terms, (size_t)num_terms * sizeof from->terms[0]);
  memcpy(out_copy->guards, from->guards, (size_t)num_guards * sizeof from->guards[0]);
  memcpy((char *)out_copy + rest_at, (const char *)from + rest_at, sizeof *from - rest_at);
}

void rlo__problem_clear(rlo_problem *out_problem) {
  const size_t rest_at = offsetof(rlo_problem, fill);
  memset(out_problem, 0, offsetof(rlo_problem, terms));
  memset((char *)out_problem + rest_at, 0, sizeof *out_problem - rest_at);
}

bool rlo_problem_is_empty(const rlo_problem *problem) {
  RLO_REQUIRE_OR(false, problem);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (problem->extents[a] == 0) {
      return true;
    }
  }
  return false;
}

bool rlo_problem_loads(const rlo_problem *problem) {
  RLO_REQUIRE_OR(false, problem);
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (problem->terms[t].kind != RLO_TERM_QUOTIENT) {
      return true;
    }
  }
  return false;
}

bool rlo__problem_uses_fill(const rlo_problem *problem) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (problem->guards[g].kind == RLO_GUARD_PAD) {
      return true;
    }
  }
  return false;
}

static bool steps_are_equal(const rlo_arithmetic *a, const rlo_arithmetic *b) {
  bool are_equal = a->num_steps == b->num_steps;
  for (int32_t s = 0; are_equal && s < a->num_steps; ++s) {
    const rlo_element_step *x = &a->steps[s];
    const rlo_element_step *y = &b->steps[s];
    are_equal = x->op == y->op && rlo__factor_equal(x->numbers[0], y->numbers[0]) &&
                rlo__factor_equal(x->numbers[1], y->numbers[1]);
  }
  return are_equal;
}

static bool arithmetic_is_equal(const rlo_arithmetic *a, const rlo_arithmetic *b) {
  return a->src_type == b->src_type && a->dst_type == b->dst_type &&
         a->compute_type == b->compute_type && a->dst_unit_bits == b->dst_unit_bits &&
         steps_are_equal(a, b) && a->is_sequential == b->is_sequential;
}

bool rlo_problem_equal(const rlo_problem *a, const rlo_problem *b) {
  RLO_REQUIRE_OR(false, a, b);
  if (a->unit_bits != b->unit_bits || a->num_axes != b->num_axes || a->num_terms != b->num_terms ||
      a->num_guards != b->num_guards || a->update != b->update ||
      rlo__compare_numbers(a->extents, b->extents, a->num_axes) != 0) {
    return false;
  }
  bool are_equal = true;
  for (int32_t n = 0; n < rlo__problem_num_forms(a); ++n) {
    are_equal =
        are_equal && rlo__form_equal(rlo__problem_form_of(a, n), rlo__problem_form_of(b, n));
  }
  for (int32_t t = 0; t < a->num_terms; ++t) {
    const rlo_term *x = &a->terms[t];
    const rlo_term *y = &b->terms[t];
    are_equal = are_equal && x->kind == y->kind &&
                (x->kind == RLO_TERM_LOAD ? x->limit == y->limit : x->divisor == y->divisor);
  }
  for (int32_t g = 0; g < a->num_guards; ++g) {
    are_equal = are_equal && a->guards[g].kind == b->guards[g].kind &&
                a->guards[g].limit == b->guards[g].limit;
  }
  return are_equal &&
         (!rlo_problem_loads(a) ||
          (a->index_bits == b->index_bits && a->index_bytes == b->index_bytes)) &&
         (a->update != RLO_UPDATE_COMBINE || arithmetic_is_equal(&a->arithmetic, &b->arithmetic)) &&
         (!rlo__problem_uses_fill(a) || memcmp(a->fill, b->fill, sizeof a->fill) == 0);
}

static void hash_form(rlo__hash *hash, const rlo_problem *problem, const rlo_form *form) {
  rlo__hash_i64(hash, form->base);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    rlo__hash_i64(hash, form->axis[a]);
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    rlo__hash_i64(hash, form->term[t]);
  }
}

static void hash_factor(rlo__hash *hash, double factor) {
  double positive_zero = rlo__factor_normal(factor);
  uint64_t bits;
  memcpy(&bits, &positive_zero, sizeof bits);
  rlo__hash_u64(hash, bits);
}

static void hash_arithmetic(rlo__hash *hash, const rlo_arithmetic *a) {
  rlo__hash_i64(hash, a->src_type);
  rlo__hash_i64(hash, a->dst_type);
  rlo__hash_i64(hash, a->compute_type);
  rlo__hash_i64(hash, a->dst_unit_bits);
  rlo__hash_i64(hash, a->num_steps);
  for (int32_t s = 0; s < a->num_steps; ++s) {
    rlo__hash_i64(hash, a->steps[s].op);
    hash_factor(hash, a->steps[s].numbers[0]);
    hash_factor(hash, a->steps[s].numbers[1]);
  }
  rlo__hash_i64(hash, a->is_sequential);
}

void rlo__problem_hash_into(const rlo_problem *problem, rlo__hash *hash) {
  rlo__hash_i64(hash, problem->unit_bits);
  rlo__hash_i64(hash, problem->num_axes);
  rlo__hash_i64(hash, problem->num_terms);
  rlo__hash_i64(hash, problem->num_guards);
  rlo__hash_i64(hash, problem->update);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    rlo__hash_i64(hash, problem->extents[a]);
  }
  hash_form(hash, problem, &problem->src);
  hash_form(hash, problem, &problem->dst);
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    bool is_load = term->kind == RLO_TERM_LOAD;
    rlo__hash_i64(hash, term->kind);
    rlo__hash_i64(hash, is_load ? term->limit : term->divisor);
    hash_form(hash, problem, &term->form);
  }
  if (rlo_problem_loads(problem)) {
    rlo__hash_i64(hash, problem->index_bits);
    rlo__hash_i64(hash, problem->index_bytes);
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    rlo__hash_i64(hash, problem->guards[g].kind);
    rlo__hash_i64(hash, problem->guards[g].limit);
    hash_form(hash, problem, &problem->guards[g].form);
  }
  if (rlo__problem_uses_fill(problem)) {
    rlo__hash_bytes(hash, problem->fill, sizeof problem->fill);
  }
  if (problem->update == RLO_UPDATE_COMBINE) {
    hash_arithmetic(hash, &problem->arithmetic);
  }
}

uint64_t rlo_problem_hash(const rlo_problem *problem) {
  RLO_REQUIRE_OR(0, problem);
  rlo__hash hash = rlo__hash_init(0x70726f626c656d00u);
  rlo__problem_hash_into(problem, &hash);
  return rlo__hash_finish_u64(&hash);
}

/* "3*a0 + a2 - 2*q0 + 7"; "0" for nothing. */
static void print_form(rlo__str *out, const rlo_problem *problem, const rlo_form *form) {
  bool is_first = true;
  for (int32_t v = 0; v < problem->num_axes + problem->num_terms; ++v) {
    bool is_axis = v < problem->num_axes;
    int32_t number = is_axis ? v : v - problem->num_axes;
    int64_t coefficient = is_axis ? form->axis[number] : form->term[number];
    if (coefficient == 0) {
      continue;
    }
    if (is_first) {
      rlo__str_append(out, coefficient < 0 ? "-" : "");
    } else {
      rlo__str_append(out, coefficient < 0 ? " - " : " + ");
    }
    uint64_t size = coefficient < 0 ? 0 - (uint64_t)coefficient : (uint64_t)coefficient;
    if (size != 1) {
      rlo__str_printf(out, "%llu*", (unsigned long long)size);
    }
    rlo__str_printf(out, "%c%d", is_axis ? 'a' : 'q', number);
    is_first = false;
  }
  if (is_first) {
    rlo__str_printf(out, "%lld", (long long)form->base);
  } else if (form->base != 0) {
    rlo__str_printf(
        out, " %c %llu", form->base < 0 ? '-' : '+',
        form->base < 0 ? 0 - (unsigned long long)form->base : (unsigned long long)form->base);
  }
}

/* A step after the first: " + 2 * cell", ", scaled 2". */
static void print_step(rlo__str *out, const rlo_element_step *step) {
  if (step->op == RLO_ELEMENT_ACCUMULATE) {
    rlo__str_printf(out, " + %.17g * cell", step->numbers[0]);
    return;
  }
  const rlo__element_info *info = rlo__element_info_of(step->op);
  rlo__str_printf(out, ", %s", info->name);
  for (int32_t n = 0; n < 2 && info->numbers[n] != NULL; ++n) {
    rlo__str_printf(out, " %.17g", step->numbers[n]);
  }
}

/* "cell = bf16(2 * sum of src + 1 * cell), src of f32, dst unit 16 bits". */
static void print_arithmetic(rlo__str *out, const rlo_problem *problem) {
  const rlo_arithmetic *a = &problem->arithmetic;
  int32_t first = a->num_steps > 0 && a->steps[0].op == RLO_ELEMENT_SCALE;
  rlo__str_printf(out, "cell = %s(%.17g * %ssrc", rlo_dtype_name(a->dst_type),
                  first > 0 ? a->steps[0].numbers[0] : 1.0,
                  rlo_problem_is_sum(problem) ? "sum of " : "");
  for (int32_t s = first; s < a->num_steps; ++s) {
    print_step(out, &a->steps[s]);
  }
  rlo__str_printf(out, "), src of %s, dst unit %d bits%s%s\n", rlo_dtype_name(a->src_type),
                  a->dst_unit_bits, a->compute_type == RLO_DTYPE_F64 ? ", in f64" : "",
                  a->is_sequential ? ", one point after the other" : "");
}

static void print_term(rlo__str *out, const rlo_problem *problem, int32_t number) {
  const rlo_term *term = &problem->terms[number];
  if (term->kind == RLO_TERM_LOAD) {
    rlo__str_printf(out, "q%d  = indices[", number);
    print_form(out, problem, &term->form);
    rlo__str_printf(out, "] of %d bits; -1 unless 0 <= it < %lld\n", problem->index_bits,
                    (long long)term->limit);
    return;
  }
  if (term->kind == RLO_TERM_OPERAND) {
    rlo__str_printf(out, "q%d  = ", number);
    print_form(out, problem, &term->form);
    rlo__str_printf(out, ", the operand's place, of %d bits\n", problem->index_bits);
    return;
  }
  rlo__str_printf(out, "q%d  = floor((", number);
  print_form(out, problem, &term->form);
  rlo__str_printf(out, ") / %lld)\n", (long long)term->divisor);
}

size_t rlo_problem_format(const rlo_problem *problem, char *buffer, size_t capacity) {
  rlo__str out = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(out.length, problem);
  rlo__str_printf(&out, "unit %d bits, box", problem->unit_bits);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    rlo__str_printf(&out, "%s a%d:%lld", a == 0 ? "" : " x", a, (long long)problem->extents[a]);
  }
  rlo__str_append(&out, problem->num_axes == 0 ? " of one point\n" : "\n");
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    print_term(&out, problem, t);
  }
  rlo__str_append(&out, "src = ");
  print_form(&out, problem, &problem->src);
  rlo__str_append(&out, "\ndst = ");
  print_form(&out, problem, &problem->dst);
  rlo__str_append(&out, "\n");
  if (problem->update == RLO_UPDATE_COMBINE) {
    print_arithmetic(&out, problem);
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    bool is_pad = problem->guards[g].kind == RLO_GUARD_PAD;
    rlo__str_append(&out, is_pad ? "pad unless 0 <= " : "skip unless 0 <= ");
    print_form(&out, problem, &problem->guards[g].form);
    rlo__str_printf(&out, " < %lld\n", (long long)problem->guards[g].limit);
  }
  if (rlo__problem_uses_fill(problem)) {
    rlo__str_append(&out, "fill 0x");
    int32_t bytes = (rlo_problem_dst_unit_bits(problem) + 7) / 8;
    for (int32_t b = bytes - 1; b >= 0; --b) {
      rlo__str_printf(&out, "%02x", problem->fill[b]);
    }
    rlo__str_append(&out, "\n");
  }
  return out.length;
}
