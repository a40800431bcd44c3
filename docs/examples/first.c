/* SPDX-License-Identifier: Apache-2.0 */
/* The first program of getting_started.md: a transpose on the default device.
 */
// [snippet first]
#include <relayout/engine_ops.h>
#include <relayout/opencl.h>
#include <relayout/relayout.h>
#include <stdio.h>

/* The rows of a table of 2 rows and 3 columns become columns. */
static rlo_status turn(rlo_engine *engine, const float in[6], float out[6]) {
  const int64_t dims[] = {2, 3};
  const int64_t permutation[] = {-1, -2};
  rlo_shape shape;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_status status = rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape);
  if (status == RLO_OK) {
    status = rlo_tensor_create(engine, &shape, in, &x);
  }
  if (status == RLO_OK) {
    status = rlo_op_transpose(x, permutation, &y);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_read(y, out, 6 * sizeof *out);
  }
  if (status == RLO_OK) {
    printf("%s:", rlo_tensor_backend_name(y));
  }
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  return status;
}

int main(void) {
  const float table[6] = {1, 2, 3, 4, 5, 6};
  float turned[6] = {0};
  // [snippet first/engine]
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  rlo_engine *engine = NULL;
  rlo_status status = rlo_context_create_default(-1, NULL, &options.context);
  if (status == RLO_OK) {
    status = rlo_engine_create(&options, &engine);
  }
  // [/snippet]
  if (status == RLO_OK) {
    status = turn(engine, table, turned);
  }
  if (status != RLO_OK) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
    return 1;
  }
  for (int i = 0; i < 6; ++i) {
    printf(" %g", (double)turned[i]);
  }
  printf("\n");
  rlo_engine_release(engine);
  rlo_context_release(options.context);
  return 0;
}

// [/snippet]
