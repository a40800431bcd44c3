/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/combine.h"

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "ir/arithmetic.h"
#include "ir/element.h"
#include "ir/form.h"
#include "ir/lower.h"
#include "ir/update.h"
#include "ir/validate.h"
#include "ops/chain.h"

bool rlo__ops_is_plain(const rlo_combine_options *options) {
  return rlo__factor_equal(options->alpha, 1.0) && rlo__factor_equal(options->beta, 0.0) &&
         options->num_steps == 0;
}

rlo_status rlo__ops_read_options(const rlo_combine_options *options,
                                 rlo_combine_options *out_options) {
  *out_options = (rlo_combine_options)RLO_COMBINE_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("combine options", "RLO_COMBINE_OPTIONS_INIT", options, out_options,
                            sizeof *out_options));
  RLO_TRY(rlo__factor_check("alpha", out_options->alpha));
  return rlo__factor_check("beta", out_options->beta);
}

static rlo_status list_steps(const rlo_combine_options *options, rlo_arithmetic *arithmetic) {
  int32_t limit = RLO_MAX_ELEMENT_STEPS - !rlo__factor_equal(options->alpha, 1.0) -
                  !rlo__factor_equal(options->beta, 0.0);
  RLO_FAIL_IF(options->num_steps < 0 || options->num_steps > limit, RLO_INVALID_ARGUMENT,
              "%d element-wise steps beside alpha and beta; the limit is %d", options->num_steps,
              limit);
  rlo__arithmetic_append(arithmetic, RLO_ELEMENT_SCALE, options->alpha);
  for (int32_t s = 0; s < options->num_steps; ++s) {
    arithmetic->steps[arithmetic->num_steps++] = options->steps[s];
  }
  rlo__arithmetic_append(arithmetic, RLO_ELEMENT_ACCUMULATE, options->beta);
  return RLO_OK;
}

/* Places an array of operands whose dimensions divide those of the destination. */
static rlo_status place_blocks(const rlo_shape *dst, const rlo_shape *operand,
                               const rlo_form *index, rlo_problem *problem, rlo_form *out_place,
                               int64_t *out_count) {
  RLO_FAIL_IF(operand->rank != dst->rank, RLO_INVALID_ARGUMENT,
              "operands of rank %d for a destination of rank %d", operand->rank, dst->rank);
  for (int32_t k = dst->rank - 1; k >= 0; --k) {
    const int64_t size = operand->dims[k];
    RLO_FAIL_IF(size < 1 ? size != dst->dims[k] : dst->dims[k] % size != 0, RLO_INVALID_ARGUMENT,
                "dimension %d has %lld operands, which does not divide the destination's %lld", k,
                (long long)size, (long long)dst->dims[k]);
    rlo_form block = {0};
    if (size > 1 && !rlo_problem_is_empty(problem)) {
      RLO_TRY(rlo__lower_quotient(problem, &index[k], dst->dims[k] / size, &block));
    }
    if (!rlo__form_add(out_place, *out_count, &block) || !rlo__mul(*out_count, size, out_count)) {
      return rlo__fail_overflow("the place of an operand");
    }
  }
  return RLO_OK;
}

/* Places the operands of steps. */
static rlo_status lower_operand(const rlo_shape *dst, const rlo_combine_options *options,
                                const rlo_form *index, rlo_problem *problem) {
  const int32_t num_lists = rlo__arithmetic_lists_before(&problem->arithmetic, INT32_MAX);
  const int32_t dim = options->operand_dim;
  rlo_form place = {0};
  int64_t count = 1;
  if (num_lists == 0) {
    return RLO_OK;
  }
  if (options->operand != NULL) {
    RLO_TRY(place_blocks(dst, options->operand, index, problem, &place, &count));
  } else if (dim < 0 || dim >= dst->rank) {
    return RLO_FAIL(RLO_OUT_OF_RANGE, "an operand along dimension %d of a destination of rank %d",
                    dim, dst->rank);
  } else {
    place = index[dim];
    count = dst->dims[dim];
  }
  if (!rlo_problem_loads(problem)) {
    problem->index_bits = rlo_dtype_value_bits(rlo__arithmetic_operand_type(problem));
    if (!rlo__mul(count, (int64_t)num_lists * (problem->index_bits / 8), &problem->index_bytes)) {
      return rlo__fail_overflow("the size of the operands");
    }
  }
  return rlo__lower_operand_at(problem, &place);
}

rlo_status rlo__ops_combine(const rlo_shape *src, const rlo_shape *dst,
                            const rlo_combine_options *options, const rlo_form *index, bool has_sum,
                            rlo_problem *problem) {
  rlo_shape_extent from;
  rlo_shape_extent to;
  RLO_TRY(rlo_shape_measure(src, &from));
  RLO_TRY(rlo_shape_measure(dst, &to));
  if (src->dtype == dst->dtype && from.element_bits == to.element_bits &&
      rlo__ops_is_plain(options) && !has_sum) {
    return RLO_OK;
  }
  problem->update = RLO_UPDATE_COMBINE;
  problem->unit_bits = (int32_t)from.element_bits;
  problem->arithmetic = (rlo_arithmetic){.src_type = src->dtype,
                                         .dst_type = dst->dtype,
                                         .compute_type = options->compute_type,
                                         .dst_unit_bits = (int32_t)to.element_bits};
  RLO_TRY(list_steps(options, &problem->arithmetic));
  RLO_TRY(lower_operand(dst, options, index, problem));
  RLO_FAIL_IF(rlo_problem_reads_cells(problem) &&
                  !rlo__add(problem->read_bytes, to.bytes, &problem->read_bytes),
              RLO_OVERFLOW, "the bytes to be read exceed 64 bits");
  return rlo__arithmetic_validate(problem);
}

rlo_status rlo__ops_check_addable(const char *operation, rlo_dtype dtype) {
  RLO_FAIL_IF(!rlo__arithmetic_is_addable(dtype), RLO_UNSUPPORTED,
              "%s: values of type %s are not added up", operation, rlo_dtype_name(dtype));
  return RLO_OK;
}

rlo_status rlo__ops_check_exact(const char *operation, const rlo_chain *chain) {
  for (int32_t p = 0; p < chain->num_parts; ++p) {
    rlo_dtype from = chain->operands[chain->parts[p].operand].dtype;
    RLO_FAIL_IF(
        !rlo_dtype_can_upcast(from, chain->shape.dtype), RLO_UNSUPPORTED,
        "%s: the chain has converted %s to %s, which rounds; a chain rounds once, at its end",
        operation, rlo_dtype_name(from), rlo_dtype_name(chain->shape.dtype));
  }
  return RLO_OK;
}
