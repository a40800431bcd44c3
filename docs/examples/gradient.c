/* SPDX-License-Identifier: Apache-2.0 */

/* The gradient of pad(transpose(x)), by a tape. */

#include <stdio.h>
#include <stdlib.h>

#include <relayout/engine_ops.h>
#include <relayout/gradient.h>
#include <relayout/relayout.h>

// [snippet gradient/function]
/** y = x transposed, with a row of zeros above. */
static rlo_status padded_transpose(rlo_engine *engine, rlo_tensor *const *xs, int32_t count,
                                   rlo_tensor **out_y, void *payload) {
  const int64_t low[] = {1, 0};
  const int64_t high[] = {0, 0};
  rlo_tensor *turned = NULL;
  (void)engine;
  (void)count;
  (void)payload;
  rlo_status status = rlo_op_transpose(xs[0], NULL, &turned);
  if (status == RLO_OK) {
    status = rlo_op_pad(turned, low, high, NULL, NULL, out_y);
  }
  rlo_tensor_release(turned);
  return status;
}

// [/snippet]

static rlo_status run(rlo_engine *engine, float dx_data[6]) {
  const int64_t dims[] = {2, 3};
  const int64_t y_dims[] = {4, 2};
  const float dy_data[] = {0, 0, 1, 2, 3, 4, 5, 6};
  rlo_shape shape;
  rlo_shape y_shape;
  rlo_tensor *x = NULL;
  rlo_tensor *dy = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_status status = rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape);
  if (status == RLO_OK) {
    status = rlo_shape_make(RLO_DTYPE_F32, y_dims, 2, &y_shape);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_create(engine, &shape, NULL, &x);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_create(engine, &y_shape, dy_data, &dy);
  }
  if (status == RLO_OK) {
    // [snippet gradient/call]
    status = rlo_value_and_gradients(engine, padded_transpose, NULL, &x, 1, dy, 0, &y, &dx);
    // [/snippet]
  }
  if (status == RLO_OK) {
    status = rlo_tensor_read(dx, dx_data, 6 * (int64_t)sizeof *dx_data);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
  rlo_tensor_release(y);
  rlo_tensor_release(dx);
  return status;
}

int main(void) {
  const float wanted[] = {1, 3, 5, 2, 4, 6};
  float dx[6] = {0};
  rlo_engine *engine = NULL;
  rlo_status status = rlo_engine_create(NULL, &engine);
  if (status == RLO_OK) {
    status = run(engine, dx);
  }
  rlo_engine_release(engine);
  if (status != RLO_OK) {
    (void)fprintf(stderr, "%s\n", rlo_error_last()->message);
    return EXIT_FAILURE;
  }
  for (int i = 0; i < 6; ++i) {
    (void)printf("%g ", (double)dx[i]);
    if (dx[i] < wanted[i] || dx[i] > wanted[i]) {
      return EXIT_FAILURE;
    }
  }
  (void)printf("\n");
  return EXIT_SUCCESS;
}
