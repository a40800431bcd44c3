/* SPDX-License-Identifier: Apache-2.0 */
#include "counting_kernel.h"

static rlo_status count_setup(rlo_engine *of, void *self, void *payload) {
  (void)of;
  (void)self;
  counted_kernel *c = payload;
  ++c->setups;
  return c->setup_status;
}

static void count_disposal(rlo_engine *of, void *self, void *payload) {
  (void)of;
  (void)self;
  ++((counted_kernel *)payload)->disposals;
}

static rlo_status scale(rlo_kernel_call *call, void *payload) {
  counted_kernel *c = payload;
  ++c->runs;
  const void *from = NULL;
  void *to = NULL;
  rlo_status status = rlo_tensor_host_data(call->inputs[0], &from);
  if (status == RLO_OK) {
    status = rlo_kernel_output_host_data(call, 0, &to);
  }
  if (status != RLO_OK) {
    return status;
  }
  const float *x = from;
  float *y = to;
  for (int64_t i = 0; i < rlo_tensor_bytes(call->inputs[0]) / 4; ++i) {
    y[i] = x[i] * c->factor;
  }
  return RLO_OK;
}

rlo_kernel_config config_of(const char *kernel, const char *backend, counted_kernel *c) {
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = kernel;
  config.backend_name = backend;
  config.infer = rlo_infer_elementwise;
  config.run = scale;
  config.setup = count_setup;
  config.dispose = count_disposal;
  config.payload = c;
  return config;
}
