/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "relayout/problem.h"

/* The odometer of the box, with the values of the terms at its point. */
typedef struct point {
  const rlo_problem *problem;
  int64_t axis[RLO_MAX_AXES];
  int64_t term[RLO_MAX_TERMS];
} point;

static int64_t value_at(const point *p, const rlo_form *form, int32_t terms) {
  int64_t value = form->base;
  for (int32_t a = 0; a < p->problem->num_axes; ++a) {
    value += form->axis[a] * p->axis[a];
  }
  for (int32_t t = 0; t < terms; ++t) {
    value += form->term[t] * p->term[t];
  }
  return value;
}

static void compute_terms(point *p) {
  for (int32_t t = 0; t < p->problem->num_terms; ++t) {
    const rlo_term *term = &p->problem->terms[t];
    p->term[t] = rlo__floor_div(value_at(p, &term->form, t), term->divisor);
  }
}

static bool holds(const point *p, rlo_guard_kind kind) {
  for (int32_t g = 0; g < p->problem->num_guards; ++g) {
    const rlo_guard *guard = &p->problem->guards[g];
    if (guard->kind == kind) {
      int64_t value = value_at(p, &guard->form, p->problem->num_terms);
      if (value < 0 || value >= guard->limit) {
        return false;
      }
    }
  }
  return true;
}

static bool advance(point *p) {
  for (int32_t a = p->problem->num_axes - 1; a >= 0; --a) {
    if (++p->axis[a] < p->problem->extents[a]) {
      return true;
    }
    p->axis[a] = 0;
  }
  return false;
}

/* Copy `bits` bits between bit positions; bytes of dst around them stay. */
static void copy_bits(const uint8_t *src,
                      int64_t src_bit,
                      uint8_t *dst,
                      int64_t dst_bit,
                      int64_t bits) {
  for (int64_t i = 0; i < bits; ++i) {
    int bit = src[(src_bit + i) / 8] >> ((src_bit + i) % 8) & 1;
    uint8_t *byte = &dst[(dst_bit + i) / 8];
    int shift = (int)((dst_bit + i) % 8);
    *byte = (uint8_t)((*byte & ~(1 << shift)) | bit << shift);
  }
}

static void copy_unit(const uint8_t *src,
                      int64_t src_unit,
                      uint8_t *dst,
                      int64_t dst_unit,
                      int64_t bits) {
  if (bits % 8 == 0) {
    int64_t bytes = bits / 8;
    memcpy(dst + dst_unit * bytes, src + src_unit * bytes, (size_t)bytes);
  } else {
    copy_bits(src, src_unit * bits, dst, dst_unit * bits, bits);
  }
}

/* Add `bits` bits to those at a bit position, without the last carry. */
static void add_bits(const uint8_t *src,
                     int64_t src_bit,
                     uint8_t *dst,
                     int64_t dst_bit,
                     int64_t bits) {
  int carry = 0;
  for (int64_t i = 0; i < bits; ++i) {
    int bit = src[(src_bit + i) / 8] >> ((src_bit + i) % 8) & 1;
    uint8_t *byte = &dst[(dst_bit + i) / 8];
    int shift = (int)((dst_bit + i) % 8);
    int sum = bit + (*byte >> shift & 1) + carry;
    *byte = (uint8_t)((*byte & ~(1 << shift)) | (sum & 1) << shift);
    carry = sum >> 1;
  }
}

static rlo_status check_unit(const char *side,
                             int64_t unit,
                             int64_t bits,
                             int64_t memory_bytes) {
  int64_t end;
  if (unit < 0 || !rlo__mul_add(bits, unit, bits, &end) ||
      rlo__ceil_div(end, 8) > memory_bytes) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "%s position %lld of %lld bits lies outside its %lld bytes",
                    side,
                    (long long)unit,
                    (long long)bits,
                    (long long)memory_bytes);
  }
  return RLO_OK;
}

static void move_unit(const rlo_problem *problem,
                      const uint8_t *src,
                      int64_t src_unit,
                      uint8_t *dst,
                      int64_t dst_unit) {
  int64_t bits = problem->unit_bits;
  if (problem->update == RLO_UPDATE_ACCUMULATE) {
    add_bits(src, src_unit * bits, dst, dst_unit * bits, bits);
  } else {
    copy_unit(src, src_unit, dst, dst_unit, bits);
  }
}

rlo_status rlo_problem_run_host(const rlo_problem *problem,
                                const void *src,
                                void *dst) {
  if (rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  int64_t bits = problem->unit_bits;
  point p;
  memset(&p, 0, sizeof p);
  p.problem = problem;
  do {
    compute_terms(&p);
    if (!holds(&p, RLO_GUARD_SKIP)) {
      continue;
    }
    int64_t to = value_at(&p, &problem->dst, problem->num_terms);
    RLO_TRY(check_unit("destination", to, bits, problem->dst_bytes));
    if (holds(&p, RLO_GUARD_PAD)) {
      int64_t from = value_at(&p, &problem->src, problem->num_terms);
      RLO_TRY(check_unit("source", from, bits, problem->src_bytes));
      move_unit(problem, src, from, dst, to);
    } else {
      move_unit(problem, problem->fill, 0, dst, to);
    }
  } while (advance(&p));
  return RLO_OK;
}
