/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_OPS_COMBINE_H
#define RLO_OPS_COMBINE_H

#include "relayout/ops.h"

/** Reads options, which may be those of an older header; NULL: y = x.
 *  @return RLO_OK, or RLO_INVALID_ARGUMENT for a struct_size that is unknown or
 *          factors that are not finite. */
RLO_NODISCARD rlo_status rlo__ops_read_options(const rlo_combine_options *options,
                                               rlo_combine_options *out_options);

/** Tells if options leave the result as it is. */
bool rlo__ops_is_plain(const rlo_combine_options *options);

/**
 * Let a lowered problem compute as options and types ask for; where there is
 * nothing to compute it stays a movement of bits. Elements of different sizes
 * keep the bits of their values, with zeros above.
 *
 * @param src      the operand, whose units the source's positions count.
 * @param options  from rlo__ops_read_options.
 * @param index    dst->rank forms: the logical index in dst of a point.
 * @param has_sum  some axes of the problem are summed.
 * @return RLO_OK; RLO_INVALID_ARGUMENT or RLO_UNSUPPORTED for options or types
 *         that do not go together.
 */
RLO_NODISCARD rlo_status rlo__ops_combine(const rlo_shape *src, const rlo_shape *dst,
                                          const rlo_combine_options *options, const rlo_form *index,
                                          bool has_sum, rlo_problem *problem);

/** RLO_OK, or RLO_UNSUPPORTED for a type whose values cannot be added. */
RLO_NODISCARD rlo_status rlo__ops_check_addable(const char *operation, rlo_dtype dtype);

/** RLO_OK, or RLO_UNSUPPORTED if the chain has converted its operands' values
 *  to a type that does not hold all of them. */
RLO_NODISCARD rlo_status rlo__ops_check_exact(const char *operation, const rlo_chain *chain);

#endif
