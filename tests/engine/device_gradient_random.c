/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "engine_case.h"
#include "gradient_samples.h"
#include "relayout/backend.h"
#include "relayout/gradient.h"

/*
 * Without any vectors: for random integers <dy, S x> == <S^T dy, x>, exactly,
 * for every built-in kernel S, with random shapes, layouts and attributes; x,
 * dy and so dx lie in random layouts.
 */

enum {
  HOST_CASES = 2500,
  /** Each kernel with fusion and without. By default the device takes every
   *  second one in turn, since its time goes into compiling kernels. */
  DEVICE_CASES = 56
};

/* ------------------------------------------------------------------ numbers */

static int64_t elements_of(const rlo_shape *shape) {
  rlo_shape_extent extent;
  expect_ok(rlo_shape_measure(shape, &extent));
  return extent.elements;
}

/* Elements from `low` to `high`, in this layout. */
static rlo_tensor *draw_tensor(const rlo_shape *shape, int64_t low, int64_t high) {
  rlo_shape plain;
  rlo_tensor *row_major = NULL;
  rlo_tensor *placed = NULL;
  bool is_wide = shape->dtype == RLO_DTYPE_S64;
  int64_t count = elements_of(shape);
  int64_t *wide = calloc((size_t)count + 1, sizeof *wide);
  int32_t *narrow = calloc((size_t)count + 1, sizeof *narrow);
  ck_assert(wide != NULL && narrow != NULL);
  for (int64_t i = 0; i < count; ++i) {
    wide[i] = draw(low, high);
    narrow[i] = (int32_t)wide[i];
  }
  expect_ok(rlo_shape_make(shape->dtype, shape->dims, shape->rank, &plain));
  expect_ok(rlo_tensor_create(engine, &plain, is_wide ? (void *)wide : (void *)narrow, &row_major));
  expect_ok(rlo_op_relayout(row_major, shape, &placed));
  rlo_tensor_release(row_major);
  free(wide);
  free(narrow);
  return placed;
}

/* The elements, row-major, as 64-bit integers; to be freed. */
static int64_t *elements(rlo_tensor *tensor) {
  const rlo_shape *shape = rlo_tensor_shape(tensor);
  rlo_shape plain;
  rlo_tensor *wide = NULL;
  rlo_tensor *placed = NULL;
  int64_t count = elements_of(shape);
  int64_t *read = calloc((size_t)count + 1, sizeof *read);
  ck_assert_ptr_nonnull(read);
  expect_ok(rlo_op_cast(tensor, RLO_DTYPE_S64, &wide));
  expect_ok(rlo_shape_make(RLO_DTYPE_S64, shape->dims, shape->rank, &plain));
  expect_ok(rlo_op_relayout(wide, &plain, &placed));
  expect_ok(rlo_tensor_read(placed, read, count * 8));
  rlo_tensor_release(wide);
  rlo_tensor_release(placed);
  return read;
}

static int64_t inner_product(rlo_tensor *a, rlo_tensor *b) {
  int64_t *left = elements(a);
  int64_t *right = elements(b);
  int64_t sum = 0;
  for (int64_t i = 0; i < elements_of(rlo_tensor_shape(a)); ++i) {
    sum += left[i] * right[i];
  }
  free(left);
  free(right);
  return sum;
}

/* -------------------------------------------------------------------- cases */

static void check_case(const sample *s, int64_t number) {
  enum { MOST_RESULTS = 8 };

  const rlo_attributes attributes = {s->items, s->num_items};
  rlo_tensor *xs[MOST_TENSORS] = {NULL};
  rlo_tensor *ys[MOST_RESULTS] = {NULL};
  rlo_tensor *dys[MOST_RESULTS] = {NULL};
  rlo_tensor *dxs[MOST_TENSORS] = {NULL};
  int32_t count = 0;
  for (int32_t n = 0; n < s->num_inputs; ++n) {
    bool is_index = s->has_indices && n == 1;
    rlo_shape shape = test_random_shape(&rng, RLO_DTYPE_S32, s->dims[n], s->ranks[n], TEST_ALL);
    xs[n] = draw_tensor(&shape, is_index ? -1 : -9, is_index ? s->num_indexed : 9);
  }
  rlo_status status = rlo_run_kernel(engine, s->kernel_name, xs, s->num_inputs, &attributes, ys,
                                     MOST_RESULTS, &count);
  ck_assert_msg(status == RLO_OK, "case %lld, %s: %s", (long long)number, s->kernel_name,
                rlo_error_last()->message);
  int64_t forward = 0;
  for (int32_t k = 0; k < count; ++k) {
    const rlo_shape *y = rlo_tensor_shape(ys[k]);
    rlo_shape shape = test_random_shape(&rng, y->dtype, y->dims, y->rank, TEST_ALL);
    dys[k] = draw_tensor(&shape, -9, 9);
    forward += inner_product(dys[k], ys[k]);
  }
  status = rlo_vjp(engine, s->kernel_name, xs, s->num_inputs, &attributes, dys, count, NULL, dxs);
  ck_assert_msg(status == RLO_OK, "case %lld, gradient of %s: %s", (long long)number,
                s->kernel_name, rlo_error_last()->message);
  int64_t backward = 0;
  for (int32_t n = 0; n < s->num_inputs; ++n) {
    ck_assert(rlo_shape_equal(rlo_tensor_shape(dxs[n]), rlo_tensor_shape(xs[n])));
    backward += inner_product(dxs[n], xs[n]);
    rlo_tensor_release(dxs[n]);
    rlo_tensor_release(xs[n]);
  }
  ck_assert_msg(forward == backward, "case %lld, %s: <dy, S x> is %lld, <S^T dy, x> is %lld",
                (long long)number, s->kernel_name, (long long)forward, (long long)backward);
  for (int32_t k = 0; k < count; ++k) {
    rlo_tensor_release(ys[k]);
    rlo_tensor_release(dys[k]);
  }
}

/* A kernel that only moves has a gradient in types without addition too. */
static void check_pred(sample *s, int64_t number) {
  rlo_tensor *xs[MOST_TENSORS] = {NULL};
  rlo_tensor *ys[8] = {NULL};
  rlo_tensor *dxs[MOST_TENSORS] = {NULL};
  rlo_shape shape;
  int32_t count = 0;
  expect_ok(rlo_shape_make(RLO_DTYPE_PRED, s->dims[0], s->ranks[0], &s->shape));
  const rlo_attributes attributes = {s->items, s->num_items};
  for (int32_t n = 0; n < s->num_inputs; ++n) {
    expect_ok(rlo_shape_make(RLO_DTYPE_PRED, s->dims[n], s->ranks[n], &shape));
    expect_ok(rlo_tensor_create(engine, &shape, NULL, &xs[n]));
  }
  expect_ok(rlo_run_kernel(engine, s->kernel_name, xs, s->num_inputs, &attributes, ys, 8, &count));
  rlo_status status =
      rlo_vjp(engine, s->kernel_name, xs, s->num_inputs, &attributes, ys, count, NULL, dxs);
  ck_assert_msg(status == RLO_OK, "case %lld, gradient of %s in pred: %s", (long long)number,
                s->kernel_name, rlo_error_last()->message);
  for (int32_t n = 0; n < s->num_inputs; ++n) {
    rlo_tensor_release(xs[n]);
    rlo_tensor_release(dxs[n]);
  }
  for (int32_t k = 0; k < count; ++k) {
    rlo_tensor_release(ys[k]);
  }
}

static void check_cases(const char *backend, int64_t cases, int64_t stride) {
  for (int is_fusing = 0; is_fusing < 2; ++is_fusing) {
    begin(is_fusing == 1);
    expect_ok(rlo_backend_set(engine, backend));
    for (int64_t i = is_fusing % stride; i < cases / 2; i += stride) {
      sample s;
      draw_sample(i, &s);
      check_case(&s, i);
      if (s.is_injective) {
        check_pred(&s, i);
      }
    }
    end();
  }
}

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(500);

RLO_TEST(test_gradient_random__host) {
  rng = test_random_begin("gradient_random");
  check_cases("host", HOST_CASES, 1);
}

RLO_TEST(test_gradient_random__device) {
  rng = test_random_begin("gradient_random");
  check_cases("opencl", DEVICE_CASES, getenv("RELAYOUT_TEST_ALL") == NULL ? 2 : 1);
}
