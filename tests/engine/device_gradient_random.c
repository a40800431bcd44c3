/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "relayout/backend.h"
#include "relayout/engine_ops.h"
#include "relayout/gradient.h"
#include "relayout/opencl.h"
#include "support/random_shape.h"

/*
 * Without any vectors: for random integers <dy, S x> == <S^T dy, x>, exactly,
 * for every built-in kernel S, with random shapes, layouts and attributes; x,
 * dy and so dx lie in random layouts. What S pads with is 0, or it would not be
 * linear.
 */

enum { MOST_TENSORS = 4, MOST_ITEMS = 5, MOST_NUMBERS = 16 };

enum { HOST_CASES = 2500, DEVICE_CASES = 56 };

/* A kernel and what it is called with. */
typedef struct sample {
  const char *kernel_name;
  int32_t num_inputs;
  /** The last of them when it holds indices. */
  bool has_indices;
  int64_t num_indexed;
  int64_t dims[MOST_TENSORS][RLO_MAX_RANK];
  int32_t ranks[MOST_TENSORS];
  rlo_attribute items[MOST_ITEMS];
  int32_t num_items;
  int64_t numbers[MOST_ITEMS][MOST_NUMBERS];
  /** For an attribute that is a shape. */
  rlo_shape shape;
} sample;

static rlo_context *context;
static rlo_engine *engine;
static test_random rng;

static void expect_ok(rlo_status status) {
  ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
}

static int64_t draw(int64_t low, int64_t high) {
  return test_random_in(&rng, low, high);
}

/* ------------------------------------------------------------------- samples
 */

static void add_list(sample *s,
                     const char *name,
                     const int64_t *values,
                     int32_t count) {
  int64_t *kept = s->numbers[s->num_items];
  for (int32_t i = 0; i < count; ++i) {
    kept[i] = values[i];
  }
  s->items[s->num_items++] = rlo_attribute_i64s(name, kept, count);
}

static void add_number(sample *s, const char *name, int64_t value) {
  s->items[s->num_items++] = rlo_attribute_i64(name, value);
}

static void draw_dims(sample *s, int32_t input, int32_t least, int32_t most) {
  s->ranks[input] = (int32_t)draw(least, most);
  for (int32_t k = 0; k < s->ranks[input]; ++k) {
    s->dims[input][k] = test_random_once_in(&rng, 25) ? 0 : draw(1, 6);
  }
}

static void copy_dims(sample *s, int32_t from, int32_t to) {
  s->ranks[to] = s->ranks[from];
  for (int32_t k = 0; k < s->ranks[from]; ++k) {
    s->dims[to][k] = s->dims[from][k];
  }
}

static void draw_transpose(sample *s) {
  int32_t order[RLO_MAX_RANK];
  int64_t perm[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 4);
  test_random_permutation(&rng, s->ranks[0], order);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    perm[k] = order[k];
  }
  add_list(s, "perm", perm, s->ranks[0]);
}

static void draw_reshape(sample *s) {
  int64_t shape[] = {0, 0, 2};
  draw_dims(s, 0, 2, 3);
  s->dims[0][0] *= 2;
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    s->dims[0][k] += s->dims[0][k] == 0;
  }
  shape[0] = s->dims[0][1];
  shape[1] = -1;
  add_list(s, "shape", shape, 3);
  if (s->dims[0][0] % 2 != 0) {
    s->dims[0][0] *= 2;
  }
}

static void draw_expand_dims(sample *s) {
  draw_dims(s, 0, 0, 3);
  add_number(s, "axis", draw(-1 - s->ranks[0], s->ranks[0]));
}

static void draw_slice(sample *s) {
  int64_t begin[RLO_MAX_RANK];
  int64_t size[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 4);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    begin[k] = draw(0, s->dims[0][k]);
    size[k] =
        test_random_once_in(&rng, 4) ? -1 : draw(0, s->dims[0][k] - begin[k]);
  }
  add_list(s, "begin", begin, s->ranks[0]);
  add_list(s, "size", size, s->ranks[0]);
}

static void draw_strided_slice(sample *s) {
  int64_t begin[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  int64_t strides[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 4);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    begin[k] = draw(-8, 8);
    end[k] = draw(-8, 8);
    strides[k] = draw(1, 3) * (test_random_once_in(&rng, 2) ? 1 : -1);
  }
  add_list(s, "begin", begin, s->ranks[0]);
  add_list(s, "end", end, s->ranks[0]);
  add_list(s, "strides", strides, s->ranks[0]);
}

static void draw_pad(sample *s) {
  int64_t paddings[2 * RLO_MAX_RANK];
  int64_t interior[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 3);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    interior[k] = draw(0, 2);
    int64_t size = s->dims[0][k];
    int64_t spread = size + (size > 0 ? (size - 1) * interior[k] : 0);
    paddings[2 * (size_t)k] = draw(spread > 1 ? -2 : 0, 3);
    paddings[2 * (size_t)k + 1] = draw(spread > 3 ? -2 : 0, 3);
  }
  add_list(s, "paddings", paddings, 2 * s->ranks[0]);
  add_list(s, "interior", interior, s->ranks[0]);
}

static void draw_mirror_pad(sample *s) {
  int64_t paddings[2 * RLO_MAX_RANK];
  bool is_reflecting = test_random_once_in(&rng, 2);
  draw_dims(s, 0, 1, 3);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    s->dims[0][k] += s->dims[0][k] == 0;
    for (int32_t side = 0; side < 2; ++side) {
      paddings[2 * (size_t)k + (size_t)side] =
          draw(0, s->dims[0][k] - is_reflecting);
    }
  }
  add_list(s, "paddings", paddings, 2 * s->ranks[0]);
  s->items[s->num_items++] =
      rlo_attribute_string("mode", is_reflecting ? "reflect" : "symmetric");
}

static void draw_reverse(sample *s) {
  int64_t dims[RLO_MAX_RANK];
  int32_t count = 0;
  draw_dims(s, 0, 1, 4);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    if (test_random_once_in(&rng, 2)) {
      dims[count++] = k;
    }
  }
  add_list(s, "dims", dims, count);
}

static void draw_broadcast(sample *s) {
  int64_t shape[RLO_MAX_RANK];
  draw_dims(s, 0, 0, 3);
  int32_t more = (int32_t)draw(0, 2);
  for (int32_t k = 0; k < more + s->ranks[0]; ++k) {
    shape[k] = draw(1, 5);
    if (k >= more) {
      if (test_random_once_in(&rng, 2)) {
        s->dims[0][k - more] = 1;
      } else {
        shape[k] = s->dims[0][k - more];
      }
    }
  }
  add_list(s, "shape", shape, more + s->ranks[0]);
}

static void draw_times(sample *s, const char *name) {
  int64_t times[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 3);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    times[k] = draw(1, 4);
  }
  add_list(s, name, times, s->ranks[0]);
}

static void draw_tile(sample *s) {
  draw_times(s, "reps");
}

static void draw_repeat(sample *s) {
  draw_times(s, "repeats");
}

static void draw_concat(sample *s) {
  draw_dims(s, 0, 1, 3);
  int64_t axis = draw(0, s->ranks[0] - 1);
  s->num_inputs = (int32_t)draw(1, 3);
  for (int32_t n = 1; n < s->num_inputs; ++n) {
    copy_dims(s, 0, n);
    s->dims[n][axis] = draw(0, 4);
  }
  add_number(s, "axis", axis);
}

static void draw_pack(sample *s) {
  draw_dims(s, 0, 0, 3);
  s->num_inputs = (int32_t)draw(1, 3);
  for (int32_t n = 1; n < s->num_inputs; ++n) {
    copy_dims(s, 0, n);
  }
  add_number(s, "axis", draw(0, s->ranks[0]));
}

static void draw_split(sample *s) {
  draw_dims(s, 0, 1, 3);
  int64_t axis = draw(0, s->ranks[0] - 1);
  int64_t size = s->dims[0][axis];
  int64_t sizes[3] = {draw(0, size), 0, 0};
  sizes[1] = draw(0, size - sizes[0]);
  sizes[2] = size - sizes[0] - sizes[1];
  add_list(s, "num_or_size_splits", sizes, 3);
  add_number(s, "axis", axis);
}

static void draw_unpack(sample *s) {
  draw_dims(s, 0, 1, 3);
  int64_t axis = draw(0, s->ranks[0] - 1);
  s->dims[0][axis] = draw(1, 4);
  add_number(s, "axis", axis);
}

static void draw_to_batch(sample *s) {
  int64_t blocks[2];
  int64_t paddings[4];
  draw_dims(s, 0, 3, 4);
  for (int32_t k = 0; k < 2; ++k) {
    blocks[k] = draw(1, 3);
    paddings[2 * (size_t)k] = draw(0, 3);
    int64_t rest = (s->dims[0][k + 1] + paddings[2 * (size_t)k]) % blocks[k];
    paddings[2 * (size_t)k + 1] = (blocks[k] - rest) % blocks[k];
  }
  add_list(s, "block_shape", blocks, 2);
  add_list(s, "paddings", paddings, 4);
}

static void draw_from_batch(sample *s) {
  int64_t blocks[2];
  int64_t crops[4];
  draw_dims(s, 0, 3, 4);
  s->dims[0][0] = draw(1, 2);
  for (int32_t k = 0; k < 2; ++k) {
    blocks[k] = draw(1, 3);
    s->dims[0][0] *= blocks[k];
    int64_t size = s->dims[0][k + 1] * blocks[k];
    crops[2 * (size_t)k] = draw(0, size);
    crops[2 * (size_t)k + 1] = draw(0, size - crops[2 * (size_t)k]);
  }
  add_list(s, "block_shape", blocks, 2);
  add_list(s, "crops", crops, 4);
}

static void draw_blocks(sample *s, bool is_to_depth) {
  int64_t block = draw(2, 3);
  bool is_nchw = test_random_once_in(&rng, 2);
  s->ranks[0] = 4;
  for (int32_t k = 0; k < 4; ++k) {
    bool is_channel = k == (is_nchw ? 1 : 3);
    int64_t factor = k == 0                      ? 1
                     : is_channel == is_to_depth ? 1
                     : is_channel                ? block * block
                                                 : block;
    s->dims[0][k] = draw(1, 3) * factor;
  }
  if (!is_to_depth) {
    for (int32_t k = 1; k < 4; ++k) {
      if (k != (is_nchw ? 1 : 3)) {
        s->dims[0][k] = draw(1, 3);
      }
    }
  }
  add_number(s, "block_size", block);
  s->items[s->num_items++] =
      rlo_attribute_string("data_format", is_nchw ? "NCHW" : "NHWC");
}

static void draw_to_depth(sample *s) {
  draw_blocks(s, true);
}

static void draw_to_space(sample *s) {
  draw_blocks(s, false);
}

static void draw_any(sample *s) {
  draw_dims(s, 0, 0, 4);
}

static void draw_relayout(sample *s) {
  draw_dims(s, 0, 1, 3);
  s->shape =
      test_random_shape(&rng, RLO_DTYPE_S32, s->dims[0], s->ranks[0], TEST_ALL);
  s->items[s->num_items++] = rlo_attribute_shape("shape", &s->shape);
}

static void draw_cast(sample *s) {
  draw_dims(s, 0, 0, 3);
  s->items[s->num_items++] = rlo_attribute_string("dtype", "s64");
}

static void draw_sum(sample *s) {
  draw_reverse(s);
  s->items[s->num_items++] =
      rlo_attribute_bool("keep_dims", test_random_once_in(&rng, 2));
}

static void draw_add_n(sample *s) {
  draw_dims(s, 0, 0, 3);
  s->num_inputs = (int32_t)draw(1, 3);
  for (int32_t n = 1; n < s->num_inputs; ++n) {
    copy_dims(s, 0, n);
  }
}

static void draw_scale(sample *s) {
  draw_dims(s, 0, 0, 3);
  add_number(s, "factor", draw(-5, 5));
}

/* x and indices of a gather, of which the first dimensions are the same. */
static int32_t draw_indexed(sample *s, int64_t *out_axis) {
  s->num_inputs = 2;
  s->has_indices = true;
  draw_dims(s, 0, 1, 3);
  draw_dims(s, 1, 0, 2);
  *out_axis = draw(0, s->ranks[0] - 1);
  int64_t most = *out_axis < s->ranks[1] ? *out_axis : s->ranks[1];
  int32_t batch_dims = (int32_t)draw(0, most);
  for (int32_t k = 0; k < batch_dims; ++k) {
    s->dims[1][k] = s->dims[0][k];
  }
  add_number(s, "axis", *out_axis);
  add_number(s, "batch_dims", batch_dims);
  return batch_dims;
}

static void draw_gather(sample *s) {
  int64_t axis = 0;
  (void)draw_indexed(s, &axis);
  s->num_indexed = s->dims[0][axis];
}

/* A gather's result takes x's place. */
static void draw_segment_sum(sample *s) {
  int64_t axis = 0;
  int32_t batch_dims = draw_indexed(s, &axis);
  int64_t dims[RLO_MAX_RANK];
  int32_t rank = 0;
  s->num_indexed = s->dims[0][axis];
  for (int32_t k = 0; k < axis; ++k) {
    dims[rank++] = s->dims[0][k];
  }
  for (int32_t k = batch_dims; k < s->ranks[1]; ++k) {
    dims[rank++] = s->dims[1][k];
  }
  for (int32_t k = (int32_t)axis + 1; k < s->ranks[0]; ++k) {
    dims[rank++] = s->dims[0][k];
  }
  for (int32_t k = 0; k < rank; ++k) {
    s->dims[0][k] = dims[k];
  }
  s->ranks[0] = rank;
  add_number(s, "num_segments", s->num_indexed);
}

typedef struct kind {
  const char *kernel_name;
  void (*draw)(sample *s);
  /** It reads no element twice and computes nothing. */
  bool is_injective;
} kind;

static const kind kinds[] = {{"Identity", draw_any, true},
                             {"Relayout", draw_relayout, true},
                             {"Transpose", draw_transpose, true},
                             {"Reshape", draw_reshape, true},
                             {"ExpandDims", draw_expand_dims, true},
                             {"Slice", draw_slice, true},
                             {"StridedSlice", draw_strided_slice, true},
                             {"PadV2", draw_pad, true},
                             {"MirrorPad", draw_mirror_pad, false},
                             {"Reverse", draw_reverse, true},
                             {"BroadcastTo", draw_broadcast, false},
                             {"Tile", draw_tile, false},
                             {"Repeat", draw_repeat, false},
                             {"Concat", draw_concat, true},
                             {"ConcatV2", draw_concat, true},
                             {"SplitV", draw_split, true},
                             {"Pack", draw_pack, true},
                             {"Unpack", draw_unpack, true},
                             {"SpaceToBatchND", draw_to_batch, true},
                             {"BatchToSpaceND", draw_from_batch, true},
                             {"SpaceToDepth", draw_to_depth, true},
                             {"DepthToSpace", draw_to_space, true},
                             {"Cast", draw_cast, false},
                             {"Sum", draw_sum, false},
                             {"AddN", draw_add_n, false},
                             {"GatherV2", draw_gather, false},
                             {"UnsortedSegmentSum", draw_segment_sum, false},
                             {"Rescale", draw_scale, false}};

enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

/* ------------------------------------------------------------------- numbers
 */

static int64_t elements_of(const rlo_shape *shape) {
  rlo_shape_extent extent;
  expect_ok(rlo_shape_measure(shape, &extent));
  return extent.elements;
}

/* Elements from `low` to `high`, in this layout. */
static rlo_tensor *draw_tensor(const rlo_shape *shape,
                               int64_t low,
                               int64_t high) {
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
  expect_ok(rlo_tensor_create(
      engine, &plain, is_wide ? (void *)wide : (void *)narrow, &row_major));
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

/* --------------------------------------------------------------------- cases
 */

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
    rlo_shape shape = test_random_shape(
        &rng, RLO_DTYPE_S32, s->dims[n], s->ranks[n], TEST_ALL);
    xs[n] =
        draw_tensor(&shape, is_index ? -1 : -9, is_index ? s->num_indexed : 9);
  }
  rlo_status status = rlo_run_kernel(engine,
                                     s->kernel_name,
                                     xs,
                                     s->num_inputs,
                                     &attributes,
                                     ys,
                                     MOST_RESULTS,
                                     &count);
  ck_assert_msg(status == RLO_OK,
                "case %lld, %s: %s",
                (long long)number,
                s->kernel_name,
                rlo_error_last()->message);
  int64_t forward = 0;
  for (int32_t k = 0; k < count; ++k) {
    const rlo_shape *y = rlo_tensor_shape(ys[k]);
    rlo_shape shape =
        test_random_shape(&rng, y->dtype, y->dims, y->rank, TEST_ALL);
    dys[k] = draw_tensor(&shape, -9, 9);
    forward += inner_product(dys[k], ys[k]);
  }
  status = rlo_vjp(engine,
                   s->kernel_name,
                   xs,
                   s->num_inputs,
                   &attributes,
                   dys,
                   count,
                   NULL,
                   dxs);
  ck_assert_msg(status == RLO_OK,
                "case %lld, gradient of %s: %s",
                (long long)number,
                s->kernel_name,
                rlo_error_last()->message);
  int64_t backward = 0;
  for (int32_t n = 0; n < s->num_inputs; ++n) {
    ck_assert(
        rlo_shape_equal(rlo_tensor_shape(dxs[n]), rlo_tensor_shape(xs[n])));
    backward += inner_product(dxs[n], xs[n]);
    rlo_tensor_release(dxs[n]);
    rlo_tensor_release(xs[n]);
  }
  ck_assert_msg(forward == backward,
                "case %lld, %s: <dy, S x> is %lld, <S^T dy, x> is %lld",
                (long long)number,
                s->kernel_name,
                (long long)forward,
                (long long)backward);
  for (int32_t k = 0; k < count; ++k) {
    rlo_tensor_release(ys[k]);
    rlo_tensor_release(dys[k]);
  }
}

/* What moves only has a gradient in types that are not added too. */
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
  expect_ok(rlo_run_kernel(
      engine, s->kernel_name, xs, s->num_inputs, &attributes, ys, 8, &count));
  rlo_status status = rlo_vjp(engine,
                              s->kernel_name,
                              xs,
                              s->num_inputs,
                              &attributes,
                              ys,
                              count,
                              NULL,
                              dxs);
  ck_assert_msg(status == RLO_OK,
                "case %lld, gradient of %s in pred: %s",
                (long long)number,
                s->kernel_name,
                rlo_error_last()->message);
  for (int32_t n = 0; n < s->num_inputs; ++n) {
    rlo_tensor_release(xs[n]);
    rlo_tensor_release(dxs[n]);
  }
  for (int32_t k = 0; k < count; ++k) {
    rlo_tensor_release(ys[k]);
  }
}

static void check_cases(const char *backend, int64_t cases) {
  for (int is_fusing = 0; is_fusing < 2; ++is_fusing) {
    rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
    options.context = context;
    options.is_fusing = is_fusing == 1;
    options.checks_leaks = true;
    expect_ok(rlo_engine_create(&options, &engine));
    expect_ok(rlo_backend_set(engine, backend));
    for (int64_t i = 0; i < cases / 2; ++i) {
      sample s = {.num_inputs = 1};
      const kind *k = &kinds[i % NUM_KINDS];
      s.kernel_name = k->kernel_name;
      k->draw(&s);
      check_case(&s, i);
      if (k->is_injective) {
        check_pred(&s, i);
      }
    }
    ck_assert_int_eq(rlo_engine_live_tensors(engine), 0);
    rlo_engine_release(engine);
  }
}

START_TEST(test_gradient_random__host)
{
  rng = test_random_begin("gradient_random");
  check_cases("host", HOST_CASES);
}

END_TEST

START_TEST(test_gradient_random__device)
{
  rng = test_random_begin("gradient_random");
  check_cases("opencl", DEVICE_CASES);
}

END_TEST

static void open_context(void) {
  expect_ok(rlo_context_create_default(-1, NULL, &context));
}

static void close_context(void) {
  rlo_context_release(context);
}

int main(void) {
  Suite *suite = suite_create("gradient_random");
  TCase *tcase = tcase_create("cases");
  tcase_add_unchecked_fixture(tcase, open_context, close_context);
  tcase_set_timeout(tcase, 500);
  tcase_add_test(tcase, test_gradient_random__host);
  tcase_add_test(tcase, test_gradient_random__device);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
