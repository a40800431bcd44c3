/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_ENGINE_EXPECT_VJP_H
#define RLO_TESTS_ENGINE_EXPECT_VJP_H

#include "relayout/gradient.h"

/** Compare the gradient of a kernel of one x, whose values do not matter. */
void expect_vjp(const char *kernel_name, const int64_t *x_dims, int32_t x_rank,
                const rlo_attribute *items, int32_t num_items, const int64_t *y_dims,
                int32_t y_rank, const float *dy_data, const float *wanted);

/** rlo_attribute_i64s, for short. */
rlo_attribute list(const char *name, const int64_t *values, int32_t count);

#endif
