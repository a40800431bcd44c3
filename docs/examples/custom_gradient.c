/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of one's own: one that is missing, one that takes the place of
 * another, and one that no registry knows of. Linked with the shared object of
 * multiply.c.
 */
#include <relayout/engine_ops.h>
#include <relayout/gradient.h>
#include <relayout/relayout.h>
#include <stdio.h>

#include "multiply.h"

// [snippet custom_gradient/add]
/** y = a * b: da = dy * b and db = dy * a. */
static rlo_status product_gradient(rlo_gradient_call *call, void *payload) {
  rlo_tensor *a = NULL;
  rlo_tensor *b = NULL;
  (void)payload;
  rlo_status status = rlo_gradient_saved(call, "a", 0, &a);
  if (status == RLO_OK) {
    status = rlo_gradient_saved(call, "b", 0, &b);
  }
  if (status == RLO_OK && call->wants[0]) {
    status = example_multiply(call->dys[0], b, &call->dxs[0]);
  }
  if (status == RLO_OK && call->wants[1]) {
    status = example_multiply(call->dys[0], a, &call->dxs[1]);
  }
  return status;
}

static rlo_status register_product_gradient(rlo_engine *engine) {
  static const char *const saved[] = {"a", "b"};
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  config.kernel_name = "Product";
  config.saved_names = saved;
  config.num_saved_names = 2;
  config.run = product_gradient;
  return rlo_gradient_register(engine, &config, 0, NULL);
}

// [/snippet]

// [snippet custom_gradient/override]
/** The gradient of MirrorPad, but what went into the mirrored edges is
 * forgotten. */
static rlo_status cropped_gradient(rlo_gradient_call *call, void *payload) {
  rlo_i64_list paddings;
  int64_t low[RLO_MAX_RANK];
  (void)payload;
  rlo_status status = rlo_attributes_get_i64s(call->attributes, "paddings", &paddings);
  if (status != RLO_OK || !call->wants[0]) {
    return status;
  }
  for (int32_t k = 0; k < call->input_shapes[0]->rank; ++k) {
    low[k] = paddings.values[2 * k];
  }
  return rlo_op_slice(call->dys[0], low, call->input_shapes[0]->dims, &call->dxs[0]);
}

/** @param out_old  begun with RLO_GRADIENT_CONFIG_INIT; to be registered
 *                 again. */
static rlo_status override_mirror_pad(rlo_engine *engine, rlo_gradient_config *out_old) {
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  config.kernel_name = "MirrorPad";
  config.run = cropped_gradient;
  return rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, out_old);
}

// [/snippet]

// [snippet custom_gradient/bypass]
/** y = x without what is behind the point. */
static rlo_status truncate(rlo_engine *engine, rlo_tensor *const *inputs, int32_t num_inputs,
                           rlo_saver *saver, rlo_tensor **outputs, int32_t num_outputs,
                           void *payload) {
  rlo_tensor *whole = NULL;
  (void)engine;
  (void)num_inputs;
  (void)saver;
  (void)num_outputs;
  (void)payload;
  rlo_status status = rlo_op_cast(inputs[0], RLO_DTYPE_S32, &whole);
  if (status == RLO_OK) {
    status = rlo_op_cast(whole, RLO_DTYPE_F32, &outputs[0]);
  }
  rlo_tensor_release(whole);
  return status;
}

/** dx = dy, as if nothing had been lost. */
static rlo_status straight_through(rlo_gradient_call *call, void *payload) {
  (void)payload;
  return call->wants[0] ? rlo_op_identity(call->dys[0], &call->dxs[0]) : RLO_OK;
}

static rlo_status truncated(rlo_engine *engine, rlo_tensor *const *xs, int32_t count,
                            rlo_tensor **out_y, void *payload) {
  return rlo_custom_gradient(engine, "Truncate", truncate, straight_through, payload, xs, count,
                             out_y, 1);
}

// [/snippet]

static rlo_status cube(rlo_engine *engine, rlo_tensor *const *xs, int32_t count, rlo_tensor **out_y,
                       void *payload) {
  rlo_tensor *square = NULL;
  (void)engine;
  (void)count;
  (void)payload;
  rlo_status status = example_multiply(xs[0], xs[0], &square);
  if (status == RLO_OK) {
    status = example_multiply(square, xs[0], out_y);
  }
  rlo_tensor_release(square);
  return status;
}

/** The gradient of the cube, as a function like any other. */
static rlo_status cube_gradient(rlo_engine *engine, rlo_tensor *const *xs, int32_t count,
                                rlo_tensor **out_y, void *payload) {
  return rlo_value_and_gradients(engine, cube, payload, xs, count, NULL, 0, NULL, out_y);
}

static rlo_status mirrored(rlo_engine *engine, rlo_tensor *const *xs, int32_t count,
                           rlo_tensor **out_y, void *payload) {
  const int64_t low = 2;
  const int64_t high = 1;
  (void)engine;
  (void)count;
  (void)payload;
  return rlo_op_mirror_pad(xs[0], &low, &high, RLO_MIRROR_REFLECT, out_y);
}

static rlo_status vector(rlo_engine *engine, const float *data, int64_t count, rlo_tensor **out_x) {
  rlo_shape shape;
  rlo_status status = rlo_shape_make(RLO_DTYPE_F32, &count, 1, &shape);
  return status == RLO_OK ? rlo_tensor_create(engine, &shape, data, out_x) : status;
}

/** Print the gradient of f at x. @return whether it is as wanted. */
static int show(rlo_engine *engine, const char *title, rlo_tensor_fn f, const float x_data[3],
                const float *dy_data, int64_t dy_count, const float wanted[3]) {
  float got[3] = {0};
  rlo_tensor *x = NULL;
  rlo_tensor *dy = NULL;
  rlo_tensor *dx = NULL;
  int is_right = 0;
  if (vector(engine, x_data, 3, &x) == RLO_OK && vector(engine, dy_data, dy_count, &dy) == RLO_OK &&
      rlo_value_and_gradients(engine, f, NULL, &x, 1, dy, 0, NULL, &dx) == RLO_OK &&
      rlo_tensor_read(dx, got, sizeof got) == RLO_OK) {
    printf("%s:", title);
    is_right = 1;
    for (int i = 0; i < 3; ++i) {
      printf(" %g", (double)got[i]);
      is_right = is_right && got[i] <= wanted[i] && got[i] >= wanted[i];
    }
    printf("\n");
  } else {
    fprintf(stderr, "%s: %s\n", title, rlo_error_last()->message);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
  rlo_tensor_release(dx);
  return is_right;
}

static int show_all(rlo_engine *engine) {
  const float x[] = {1, 2, 3};
  const float fractions[] = {1.75f, -2.5f, 0.5f};
  const float ones[] = {1, 1, 1};
  const float halves[] = {0.5f, 1.5f, -2.5f};
  const float tens[] = {10, 20, 30, 40, 50, 60};
  rlo_gradient_config old = RLO_GRADIENT_CONFIG_INIT;
  return register_product_gradient(engine) == RLO_OK &&
         show(engine, "cube", cube, x, ones, 3, (float[]){3, 12, 27}) &&
         show(engine, "cube, twice", cube_gradient, x, ones, 3, (float[]){6, 12, 18}) &&
         show(engine, "mirrored", mirrored, x, tens, 6, (float[]){30, 120, 60}) &&
         override_mirror_pad(engine, &old) == RLO_OK &&
         show(engine, "mirrored, overridden", mirrored, x, tens, 6, (float[]){30, 40, 50}) &&
         // [snippet custom_gradient/restore]
         rlo_gradient_register(engine, &old, RLO_GRADIENT_REPLACE, NULL) == RLO_OK &&
         // [/snippet]
         show(engine, "mirrored, as before", mirrored, x, tens, 6, (float[]){30, 120, 60}) &&
         show(engine, "truncated", truncated, fractions, halves, 3, halves);
}

int main(void) {
  rlo_engine *engine = NULL;
  int is_right = rlo_engine_create(NULL, &engine) == RLO_OK &&
                 example_multiply_register(engine) == RLO_OK && show_all(engine) &&
                 rlo_engine_live_tensors(engine) == 0;
  if (!is_right) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
  }
  rlo_engine_release(engine);
  return is_right ? 0 : 1;
}
