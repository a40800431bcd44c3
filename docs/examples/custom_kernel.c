/* SPDX-License-Identifier: Apache-2.0 */
#include <relayout/relayout.h>
#include <stdio.h>

// [snippet custom_kernel/kernel]
/** y = -x, for f32, on the host. */
static rlo_status negate(rlo_kernel_call *call, void *payload) {
  const void *from;
  void *to;
  (void)payload;
  rlo_status status = rlo_tensor_host_data(call->inputs[0], &from);
  if (status == RLO_OK) {
    status = rlo_kernel_output_host_data(call, 0, &to);
  }
  if (status == RLO_OK) {
    const float *x = from;
    float *y = to;
    for (int64_t i = 0; i < rlo_tensor_bytes(call->inputs[0]) / 4; ++i) {
      y[i] = -x[i];
    }
  }
  return status;
}

static rlo_status register_negate(rlo_engine *engine) {
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Negate";
  config.backend_name = "host";
  config.infer = rlo_infer_like_input;
  config.run = negate;
  return rlo_kernel_register(engine, &config, 0, NULL);
}

// [/snippet]

// [snippet custom_kernel/operation]
/** An operation made of others: the negative of x's columns from the last to
 *  the first. */
static rlo_status negated_columns(rlo_tensor *x, rlo_tensor **out_y) {
  const int64_t first = 0;
  rlo_tensor *columns = NULL;
  rlo_tensor *turned = NULL;
  rlo_status status = rlo_op_transpose(x, NULL, &columns);
  if (status == RLO_OK) {
    status = rlo_op_reverse(columns, &first, 1, &turned);
  }
  if (status == RLO_OK) {
    status = rlo_run_kernel(
        rlo_tensor_engine(x), "Negate", &turned, 1, NULL, out_y, 1, NULL);
  }
  rlo_tensor_release(columns);
  rlo_tensor_release(turned);
  return status;
}

// [/snippet]

int main(void) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  const float wanted[] = {-3, -6, -2, -5, -1, -4};
  const int64_t dims[] = {2, 3};
  float got[6] = {0};
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  rlo_engine *engine = NULL;
  rlo_shape shape;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  /* The transpose and the reverse are one movement. */
  options.is_fusing = true;
  int is_right = 0;
  if (rlo_engine_create(&options, &engine) == RLO_OK &&
      register_negate(engine) == RLO_OK &&
      rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape) == RLO_OK &&
      rlo_tensor_create(engine, &shape, data, &x) == RLO_OK &&
      negated_columns(x, &y) == RLO_OK &&
      rlo_tensor_read(y, got, sizeof got) == RLO_OK) {
    is_right = 1;
    for (int i = 0; i < 6; ++i) {
      printf("%g%c", (double)got[i], i % 2 == 0 ? ' ' : '\n');
      is_right = is_right && got[i] <= wanted[i] && got[i] >= wanted[i];
    }
  } else {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  is_right = is_right && rlo_engine_live_tensors(engine) == 0;
  rlo_engine_release(engine);
  return is_right ? 0 : 1;
}
