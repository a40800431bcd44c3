/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that takes a map of attributes, and a call of it. */
#include <relayout/engine.h>
#include <relayout/kernel.h>
#include <stdio.h>

// [snippet attributes/read]
static rlo_status read_options(const rlo_kernel_call *call, rlo_f64_list *out_means,
                               double *out_scale) {
  static const rlo_attribute_spec specs[] = {
      {"means", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_LIST, true},
      {"scale", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, true},
  };
  const rlo_attributes *options = NULL;
  rlo_status status = rlo_attributes_get_map(call->attributes, "options", &options);
  if (status == RLO_OK) {
    status = rlo_attributes_check(options, "Center: 'options'", specs, 2);
  }
  if (status == RLO_OK) {
    status = rlo_attributes_get_f64s(options, "means", out_means);
  }
  return status == RLO_OK ? rlo_attributes_get_f64(options, "scale", out_scale) : status;
}

// [/snippet]

/** y = scale * (x[c] - means[c]). */
static rlo_status run_center(rlo_kernel_call *call, void *payload) {
  const int64_t count = rlo_tensor_shape(call->inputs[0])->dims[0];
  rlo_f64_list means = {NULL, 0};
  double scale = 1.0;
  const void *x = NULL;
  void *y = NULL;
  (void)payload;
  rlo_status status = read_options(call, &means, &scale);
  if (status == RLO_OK && means.count != count) {
    return rlo_error_set(RLO_INVALID_ARGUMENT, "Center: %d means for %lld numbers", means.count,
                         (long long)count);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_host_data(call->inputs[0], &x);
  }
  if (status == RLO_OK) {
    status = rlo_kernel_output_host_data(call, 0, &y);
  }
  for (int64_t c = 0; status == RLO_OK && c < count; ++c) {
    ((float *)y)[c] = (float)(scale * ((double)((const float *)x)[c] - means.values[c]));
  }
  return status;
}

static rlo_status center(rlo_engine *engine, rlo_tensor *x, rlo_tensor **y) {
  // [snippet attributes/maps]
  const double means[] = {0.5, 0.25, 0.75};
  const rlo_attribute options[] = {
      rlo_attribute_f64s("means", means, 3),
      rlo_attribute_i64("scale", 4),
  };
  const rlo_attributes map = {options, 2};
  const rlo_attribute item = rlo_attribute_map("options", &map);
  const rlo_attributes attributes = {&item, 1};
  // [/snippet]
  return rlo_run_kernel(engine, "Center", &x, 1, &attributes, y, 1, NULL);
}

int main(void) {
  static const rlo_attribute_spec specs[] = {{"options", RLO_ATTRIBUTE_MAP, true}};
  const float data[] = {1.0F, 1.0F, 1.0F};
  const int64_t count = 3;
  float got[3] = {0};
  rlo_engine *engine = NULL;
  rlo_shape shape;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Center";
  config.backend_name = RLO_BACKEND_NAME_HOST;
  config.attributes = specs;
  config.num_attributes = 1;
  config.infer = rlo_infer_elementwise;
  config.run = run_center;
  int is_right = rlo_engine_create(NULL, &engine) == RLO_OK &&
                 rlo_kernel_register(engine, &config, 0, NULL) == RLO_OK &&
                 rlo_shape_make(RLO_DTYPE_F32, &count, 1, &shape) == RLO_OK &&
                 rlo_tensor_create(engine, &shape, data, &x) == RLO_OK &&
                 center(engine, x, &y) == RLO_OK && rlo_tensor_read(y, got, sizeof got) == RLO_OK;
  if (!is_right) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
  }
  printf("%g %g %g\n", (double)got[0], (double)got[1], (double)got[2]);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  rlo_engine_release(engine);
  return is_right && got[0] > 1.9F && got[1] > 2.9F && got[2] < 1.1F ? 0 : 1;
}
