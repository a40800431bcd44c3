/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation made of others: the sums over a window that moves along a
 * vector. It knows of no kernel and of no backend.
 */
#include <relayout/engine_ops.h>
#include <relayout/gradient.h>
#include <relayout/relayout.h>
#include <stdio.h>

// [snippet custom_op/moving_sum]
enum { MAX_WINDOW = 16 };

/** y[i] = x[i] + x[i + 1] + ... + x[i + window - 1], of a vector. */
static rlo_status moving_sum(rlo_tensor *x, int64_t window, rlo_tensor **out_y) {
  const int64_t count = rlo_tensor_shape(x)->dims[0];
  const int64_t length = count - window + 1;
  rlo_tensor *shifted[MAX_WINDOW] = {NULL};
  rlo_status status = RLO_OK;
  if (window < 1 || window > MAX_WINDOW || length < 0) {
    return rlo_error_set(RLO_OUT_OF_RANGE,
                         "moving sum: a window of %lld over %lld elements; 1 "
                         "to %d are possible",
                         (long long)window, (long long)count, MAX_WINDOW);
  }
  for (int64_t i = 0; i < window && status == RLO_OK; ++i) {
    status = rlo_op_slice(x, &i, &length, &shifted[i]);
  }
  if (status == RLO_OK) {
    status = rlo_op_add_n(shifted, (int32_t)window, out_y);
  }
  for (int64_t i = 0; i < window; ++i) {
    rlo_tensor_release(shifted[i]);
  }
  return status;
}

// [/snippet]

int main(void) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  const float wanted[] = {6, 9, 12, 15};
  const int64_t length = 6;
  float got[4] = {0};
  rlo_engine *engine = NULL;
  rlo_shape shape;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  int is_right = 0;
  if (rlo_engine_create(NULL, &engine) == RLO_OK &&
      rlo_shape_make(RLO_DTYPE_F32, &length, 1, &shape) == RLO_OK &&
      rlo_tensor_create(engine, &shape, data, &x) == RLO_OK && moving_sum(x, 3, &y) == RLO_OK &&
      rlo_tensor_read(y, got, sizeof got) == RLO_OK) {
    is_right = 1;
    printf("sums of 3:");
    for (int i = 0; i < 4; ++i) {
      printf(" %g", (double)got[i]);
      is_right = is_right && got[i] <= wanted[i] && got[i] >= wanted[i];
    }
    printf("\n");
  } else {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  is_right = is_right && rlo_engine_live_tensors(engine) == 0;
  rlo_engine_release(engine);
  return is_right ? 0 : 1;
}
