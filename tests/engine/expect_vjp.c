/* SPDX-License-Identifier: Apache-2.0 */
#include "expect_vjp.h"

#include "engine_case.h"

void expect_vjp(const char *kernel_name, const int64_t *x_dims, int32_t x_rank,
                const rlo_attribute *items, int32_t num_items, const int64_t *y_dims,
                int32_t y_rank, const float *dy_data, const float *wanted) {
  const rlo_attributes attributes = {items, num_items};
  rlo_tensor *x = tensor(x_dims, x_rank, NULL);
  rlo_tensor *dy = tensor(y_dims, y_rank, dy_data);
  rlo_tensor *dx = NULL;
  expect_ok(rlo_vjp(engine, kernel_name, &x, 1, &attributes, &dy, 1, NULL, &dx));
  ck_assert(rlo_shape_equal(rlo_tensor_shape(dx), rlo_tensor_shape(x)));
  expect(dx, wanted, rlo_tensor_bytes(x) / 4);
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
}

rlo_attribute list(const char *name, const int64_t *values, int32_t count) {
  return rlo_attribute_i64s(name, values, count);
}
