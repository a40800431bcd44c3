/* SPDX-License-Identifier: Apache-2.0 */

/* A scope around a few operations, the memory that they take, and a profile. */

#include <stdio.h>
#include <stdlib.h>

#include <relayout/engine_ops.h>
#include <relayout/profile.h>
#include <relayout/relayout.h>
#include <relayout/scope.h>

// [snippet scope/scope]
/** y = x transposed, with a row of zeros above, upside down. */
static rlo_status compute(rlo_engine *engine, rlo_tensor *x, rlo_tensor **out_y) {
  const int64_t low[] = {1, 0};
  const int64_t rows[] = {0};
  rlo_scope *scope = NULL;
  rlo_tensor *turned = NULL;
  rlo_tensor *padded = NULL;
  rlo_tensor *y = NULL;
  rlo_status status = rlo_scope_begin(engine, &scope);
  if (status == RLO_OK) {
    status = rlo_op_transpose(x, NULL, &turned);
  }
  if (status == RLO_OK) {
    status = rlo_op_pad(turned, low, NULL, NULL, NULL, &padded);
  }
  if (status == RLO_OK) {
    status = rlo_op_reverse(padded, rows, 1, &y);
  }
  if (status == RLO_OK) {
    status = rlo_scope_keep(scope, y);
  }
  if (status == RLO_OK) {
    *out_y = y;
  }
  rlo_status ended = rlo_scope_end(scope);
  return status != RLO_OK ? status : ended;
}

// [/snippet]

// [snippet scope/memory]
static rlo_status print_memory(rlo_engine *engine) {
  rlo_memory_info memory = RLO_MEMORY_INFO_INIT;
  rlo_status status = rlo_engine_get_memory(engine, NULL, &memory);
  if (status == RLO_OK) {
    (void)printf("%lld tensors, %lld bytes; at most %lld, %lld bytes\n", (long long)memory.tensors,
                 (long long)memory.bytes, (long long)memory.peak_tensors,
                 (long long)memory.peak_bytes);
  }
  return status;
}

// [/snippet]

// [snippet scope/profile]
static void print_run(const rlo_profile_entry *entry, void *payload) {
  (void)payload;
  (void)printf("%-9s on %s: %lld bytes in, %lld out\n", entry->name, entry->backend_name,
               (long long)entry->input_bytes, (long long)entry->output_bytes);
}

// [/snippet]

static rlo_status run(rlo_engine *engine, float y_data[8]) {
  const int64_t dims[] = {2, 3};
  const float x_data[] = {1, 2, 3, 4, 5, 6};
  rlo_shape shape;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_status status = rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape);
  if (status == RLO_OK) {
    status = rlo_tensor_create(engine, &shape, x_data, &x);
  }
  if (status == RLO_OK) {
    status = rlo_profile_begin(engine, print_run, NULL);
  }
  if (status == RLO_OK) {
    status = compute(engine, x, &y);
  }
  if (status == RLO_OK) {
    status = print_memory(engine);
  }
  if (status == RLO_OK) {
    status = rlo_profile_end(engine);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_read(y, y_data, 8 * (int64_t)sizeof *y_data);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(y);
  return status;
}

int main(void) {
  const float wanted[] = {3, 6, 2, 5, 1, 4, 0, 0};
  float y[8] = {0};
  rlo_engine *engine = NULL;
  rlo_status status = rlo_engine_create(NULL, &engine);
  if (status == RLO_OK) {
    status = run(engine, y);
  }
  rlo_engine_release(engine);
  if (status != RLO_OK) {
    (void)fprintf(stderr, "%s\n", rlo_error_last()->message);
    return EXIT_FAILURE;
  }
  for (int i = 0; i < 8; ++i) {
    if (y[i] < wanted[i] || y[i] > wanted[i]) {
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}
