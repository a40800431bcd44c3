/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/arith.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/dtype.h"
#include "ir/arithmetic.h"
#include "ir/element.h"
#include "ir/form.h"
#include "ir/problem.h"
#include "ir/rewrite.h"
#include "ir/update.h"
#include "plan/geometry.h"

/* Tells if a quotient of floats is computed. */
static bool divides_floats(const rlo_arithmetic *a) {
  bool divides = false;
  for (int32_t s = 0; s < a->num_steps; ++s) {
    divides =
        divides || a->steps[s].op == RLO_ELEMENT_DIVIDE || a->steps[s].op == RLO_ELEMENT_DIVIDE_BY;
  }
  return divides && rlo__arithmetic_compute(a) == RLO__COMPUTE_F32;
}

rlo_status rlo__arith_check(const rlo_problem *problem, const rlo_device_info *device) {
  const rlo_arithmetic *a = &problem->arithmetic;
  RLO_FAIL_IF(a->is_sequential, RLO_UNSUPPORTED,
              "several points of the problem may add to one cell one after the other; the host "
              "reference runs it");
  RLO_FAIL_IF(
      rlo__problem_is_repacking(problem) && rlo__arithmetic_compute(a) != RLO__COMPUTE_INTEGER,
      RLO_UNSUPPORTED,
      "%s in elements of %d bits cannot move to elements of %d: devices would not keep the bits of "
      "a NaN; the host reference runs it",
      rlo_dtype_name(a->src_type), problem->unit_bits, a->dst_unit_bits);
  RLO_FAIL_IF(rlo__arithmetic_compute(a) == RLO__COMPUTE_F64 && !device->has_f64, RLO_UNSUPPORTED,
              "%s to %s is computed in f64, which the device lacks", rlo_dtype_name(a->src_type),
              rlo_dtype_name(a->dst_type));
  RLO_FAIL_IF(divides_floats(a) && !device->has_f64, RLO_UNSUPPORTED,
              "floats are divided, which the device does exactly in f64 only, and that it lacks; "
              "the host runs it");
  /* Doubles as well, for every other number passes through a float. */
  bool is_all_f64 = a->src_type == RLO_DTYPE_F64 && a->dst_type == RLO_DTYPE_F64;
  RLO_FAIL_IF(rlo__arithmetic_compute(a) != RLO__COMPUTE_INTEGER && !is_all_f64 &&
                  !device->has_f32_denormals,
              RLO_UNSUPPORTED,
              "%s to %s is computed in floats, of which the device takes denormals for 0; the host "
              "reference runs it",
              rlo_dtype_name(a->src_type), rlo_dtype_name(a->dst_type));
  return RLO_OK;
}

static rlo_status check_fill(const rlo_problem *problem) {
  size_t half = (size_t)problem->arithmetic.dst_unit_bits / 16;
  RLO_FAIL_IF(memcmp(problem->fill, problem->fill + half, half) != 0, RLO_UNSUPPORTED,
              "a fill of two different parts; devices compute complex numbers part by part; the "
              "host reference runs it");
  return RLO_OK;
}

static rlo_status fail_between(const rlo_arithmetic *a, const char *why) {
  return RLO_FAIL(
      RLO_UNSUPPORTED,
      "%s to %s%s: devices compute complex numbers part by part; the host reference runs it",
      rlo_dtype_name(a->src_type), rlo_dtype_name(a->dst_type), why);
}

/* The source's parts that are no part of a real destination are skipped. */
static rlo_status take_real_parts(rlo_problem *problem) {
  rlo_arithmetic *a = &problem->arithmetic;
  if (a->dst_type == RLO_DTYPE_PRED) {
    return fail_between(a, ", which asks for both parts at once");
  }
  if (!rlo__form_scale(&problem->src, 2)) {
    return rlo__fail_overflow("a position of a part");
  }
  return RLO_OK;
}

/* A PAD guard gives the imaginary part of a real number its zero. */
static rlo_status fill_imaginary_part(rlo_problem *problem, int32_t axis) {
  static const uint8_t zeros[sizeof problem->fill];
  const rlo_arithmetic *a = &problem->arithmetic;
  if (!rlo__problem_is_conversion(problem)) {
    return fail_between(a, ", scaled, added or summed");
  }
  if (rlo__problem_uses_fill(problem) && memcmp(problem->fill, zeros, sizeof zeros) != 0) {
    return fail_between(a, ", with a fill other than 0");
  }
  if (problem->num_guards == RLO_MAX_GUARDS) {
    return fail_between(a, ", with as many guards as there may be");
  }
  memset(problem->fill, 0, sizeof problem->fill);
  rlo_form part = {0};
  part.axis[axis] = 1;
  return rlo__rewrite_add_guard(problem, "a part", RLO_GUARD_PAD, &part, 1);
}

/* Adds the axis along which a destination has its two parts. */
static rlo_status add_part_axis(rlo_problem *problem, bool is_src_complex) {
  int32_t axis;
  RLO_TRY(rlo__rewrite_add_axis(problem, "the parts of complex numbers need", "axes", 2, &axis));
  /* The two parts of a number are adjacent. */
  if ((is_src_complex && !rlo__form_scale(&problem->src, 2)) ||
      !rlo__form_scale(&problem->dst, 2)) {
    return rlo__fail_overflow("a position of a part");
  }
  problem->src.axis[axis] = is_src_complex;
  problem->dst.axis[axis] = 1;
  return is_src_complex ? check_fill(problem) : fill_imaginary_part(problem, axis);
}

rlo_status rlo__arith_split_parts(rlo_problem *problem) {
  rlo_arithmetic *a = &problem->arithmetic;
  bool is_src_complex = rlo_dtype_is_complex(a->src_type);
  bool is_dst_complex = rlo_dtype_is_complex(a->dst_type);
  if (!is_src_complex && !is_dst_complex) {
    return RLO_OK;
  }
  RLO_FAIL_IF((is_src_complex && problem->unit_bits != rlo_dtype_value_bits(a->src_type)) ||
                  (is_dst_complex && a->dst_unit_bits != rlo_dtype_value_bits(a->dst_type)),
              RLO_UNSUPPORTED,
              "%s in elements of %d bits to %s in %d; devices compute complex numbers of their own "
              "size; the host reference runs it",
              rlo_dtype_name(a->src_type), problem->unit_bits, rlo_dtype_name(a->dst_type),
              a->dst_unit_bits);
  RLO_TRY(is_dst_complex ? add_part_axis(problem, is_src_complex) : take_real_parts(problem));
  a->src_type = rlo__arithmetic_part(a->src_type);
  a->dst_type = rlo__arithmetic_part(a->dst_type);
  problem->unit_bits /= is_src_complex ? 2 : 1;
  a->dst_unit_bits /= is_dst_complex ? 2 : 1;
  return rlo_problem_canonicalize(problem, 0, NULL, NULL);
}

static rlo_status define_type(rlo_dtype dtype, int32_t unit_bits, const char *const names[8],
                              rlo__launch *launch) {
  const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
  int64_t values[] = {(int64_t)info->class_of,
                      unit_bits / 8,
                      info->value_bits,
                      info->format.exponent_bits,
                      info->format.mantissa_bits,
                      info->format.bias,
                      (int64_t)info->format.specials,
                      info->format.is_unsigned};
  for (int n = 0; n < 8; ++n) {
    RLO_TRY(rlo__launch_define(launch, names[n], values[n]));
  }
  return RLO_OK;
}

bool rlo__arith_has_vectors(const rlo_problem *problem) {
  const rlo_arithmetic *a = &problem->arithmetic;
  rlo__compute compute = rlo__arithmetic_compute(a);
  if (compute == RLO__COMPUTE_INTEGER || !rlo_dtype_is_integral(a->dst_type)) {
    return true;
  }
  return compute == RLO__COMPUTE_F32 && rlo_dtype_value_bits(a->dst_type) <= 32;
}

int32_t rlo__arith_num_sum_axes(const rlo_problem *problem) {
  int32_t count = 0;
  while (count < problem->num_axes &&
         rlo__problem_is_reduction_axis(problem, problem->num_axes - 1 - count)) {
    ++count;
  }
  return count;
}

int64_t rlo__arith_block_points(const rlo__family_query *query) {
  return query->block_points > 0 ? query->block_points : RLO_SUM_BLOCK;
}

rlo_status rlo__arith_sum_levels(const rlo__family_query *query, int64_t *out_levels) {
  const rlo_problem *problem = query->problem;
  int32_t count = rlo__arith_num_sum_axes(problem);
  int64_t blocks = 1;
  if (count > 0) {
    int32_t last = problem->num_axes - 1;
    blocks = rlo__ceil_div(problem->extents[last], rlo__arith_block_points(query));
    RLO_TRY(rlo__geometry_count_points(problem, problem->num_axes - count, last, &blocks));
  }
  *out_levels = 1;
  while (blocks >> *out_levels != 0) {
    ++*out_levels;
  }
  return RLO_OK;
}

/* Adds the constants of arith.cl except RLO_LANES and RLO_SUM_BLOCK. */
static rlo_status define(const rlo_problem *problem, rlo__launch *launch) {
  static const char *const src_names[8] = {"RLO_SRC_CLASS",    "RLO_SRC_BYTES",    "RLO_SRC_BITS",
                                           "RLO_SRC_EXPONENT", "RLO_SRC_MANTISSA", "RLO_SRC_BIAS",
                                           "RLO_SRC_SPECIALS", "RLO_SRC_BARE"};
  static const char *const dst_names[8] = {"RLO_DST_CLASS",    "RLO_DST_BYTES",    "RLO_DST_BITS",
                                           "RLO_DST_EXPONENT", "RLO_DST_MANTISSA", "RLO_DST_BIAS",
                                           "RLO_DST_SPECIALS", "RLO_DST_BARE"};
  const rlo_arithmetic *a = &problem->arithmetic;
  RLO_TRY(define_type(a->src_type, problem->unit_bits, src_names, launch));
  RLO_TRY(define_type(a->dst_type, a->dst_unit_bits, dst_names, launch));
  RLO_TRY(rlo__launch_define(launch, "RLO_COMPUTE", (int64_t)rlo__arithmetic_compute(a)));
  RLO_TRY(rlo__launch_define(launch, "RLO_CONVERT", rlo__problem_is_conversion(problem)));
  static const char *const step_names[RLO_MAX_ELEMENT_STEPS] = {"RLO_STEP_0", "RLO_STEP_1",
                                                                "RLO_STEP_2", "RLO_STEP_3"};
  for (int32_t s = 0; s < RLO_MAX_ELEMENT_STEPS; ++s) {
    RLO_TRY(
        rlo__launch_define(launch, step_names[s], s < a->num_steps ? (int64_t)a->steps[s].op : 0));
  }
  return rlo__launch_define(launch, "RLO_BETA", rlo_problem_reads_cells(problem));
}

static int64_t number_bits(rlo__compute compute, double factor) {
  int64_t bits = 0;
  if (compute == RLO__COMPUTE_INTEGER) {
    bits = rlo__element_integer(factor);
  } else if (compute == RLO__COMPUTE_F32) {
    float narrow = rlo__arithmetic_f32(factor);
    uint32_t narrow_bits;
    memcpy(&narrow_bits, &narrow, sizeof narrow);
    bits = (int64_t)narrow_bits;
  } else {
    memcpy(&bits, &factor, sizeof bits);
  }
  return bits;
}

rlo_status rlo__arith_add_numbers(const rlo_problem *problem, rlo__launch *launch) {
  const rlo_arithmetic *a = &problem->arithmetic;
  rlo__compute compute = rlo__arithmetic_compute(a);
  int64_t numbers[2 * RLO_MAX_ELEMENT_STEPS] = {0};
  for (size_t s = 0; s < (size_t)a->num_steps; ++s) {
    numbers[2 * s] = number_bits(compute, a->steps[s].numbers[0]);
    numbers[2 * s + 1] = number_bits(compute, a->steps[s].numbers[1]);
  }
  return rlo__launch_argument(launch, RLO__ARGUMENT_LONG8, numbers, 2 * RLO_MAX_ELEMENT_STEPS);
}

/* Appends a description, such as "f32 to bf16 in f32, summed". */
static void describe(const rlo_problem *problem, rlo__str *words) {
  static const char *const computes[] = {"integers", "f32", "f64"};
  const rlo_arithmetic *a = &problem->arithmetic;
  rlo__str_printf(words, "%s to %s in %s%s", rlo_dtype_name(a->src_type),
                  rlo_dtype_name(a->dst_type), computes[rlo__arithmetic_compute(a)],
                  rlo_problem_is_sum(problem) ? ", summed" : "");
  for (int32_t s = 0; s < a->num_steps; ++s) {
    rlo__str_printf(words, ", %s", rlo__element_info_of(a->steps[s].op)->name);
  }
}

rlo_status rlo__arith_define_ends(const rlo_problem *problem, rlo__launch *launch) {
  int32_t guards[RLO_MAX_GUARDS];
  int64_t places[RLO_MAX_GUARDS];
  int32_t count = rlo__problem_ending_guards(problem, guards);
  if (rlo__arith_num_sum_axes(problem) == 0 || count == 0) {
    return RLO_OK;
  }
  for (int32_t n = 0; n < count; ++n) {
    /* The kernel lists the guards of kind PAD first. */
    places[n] = guards[n];
    for (int32_t g = guards[n] + 1; g < problem->num_guards; ++g) {
      places[n] += problem->guards[g].kind == RLO_GUARD_PAD;
    }
  }
  RLO_TRY(rlo__launch_define(launch, "RLO_NUM_ENDS", count));
  return rlo__launch_define_list(launch, "RLO_ENDS", places, count);
}

rlo_status rlo__arith_begin(const rlo__family_query *query, rlo__launch *launch) {
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  describe(query->problem, &words);
  RLO_TRY(define(query->problem, launch));
  if (divides_floats(&query->problem->arithmetic)) {
    RLO_TRY(rlo__launch_define(launch, "RLO_WIDE_QUOTIENT",
                               query->device_class == RLO_DEVICE_CLASS_GPU));
  }
  /* The kernel has a number of its own. */
  return query->block_points > 0 ? rlo__launch_define(launch, "RLO_SUM_BLOCK", query->block_points)
                                 : RLO_OK;
}
