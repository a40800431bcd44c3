/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/backend.h"
#include "relayout/engine_ops.h"
#include "relayout/gradient.h"
#include "relayout/opencl.h"
#include "relayout/tape.h"
#include "relayout/text.h"

/*
 * The gradients that TensorFlow's own tests ask for (and, of mirrored edges,
 * the true ones), of single kernels, on both backends, fused and not.
 */

#define DIMS(...)    ((const int64_t[]){__VA_ARGS__})
#define FLOATS(...)  ((const float[]){__VA_ARGS__})
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

enum { MOST = 64 };

typedef struct set_up {
  const char *backend;
  bool is_fusing;
} set_up;

static const set_up set_ups[] = {
    {"host", false}, {"host", true}, {"opencl", false}, {"opencl", true}};

static rlo_context *context;
static rlo_engine *engine;

static const float counted[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
static const float tens[] = {0, 10, 20, 30, 40, 50, 60, 70, 80};

static void expect_ok(rlo_status status) {
  ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
}

static void open_context(void) {
  expect_ok(rlo_context_create_default(-1, NULL, &context));
}

static void close_context(void) {
  rlo_context_release(context);
}

static void begin(int number) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  options.is_fusing = set_ups[number].is_fusing;
  options.checks_leaks = true;
  expect_ok(rlo_engine_create(&options, &engine));
  expect_ok(rlo_backend_set(engine, set_ups[number].backend));
}

static void end(void) {
  ck_assert_int_eq(rlo_engine_live_tensors(engine), 0);
  rlo_engine_release(engine);
}

/* Of floats; NULL: zeros. */
static rlo_tensor *tensor(const int64_t *dims,
                          int32_t rank,
                          const float *data) {
  rlo_shape shape;
  rlo_tensor *made = NULL;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, dims, rank, &shape));
  expect_ok(rlo_tensor_create(engine, &shape, data, &made));
  return made;
}

static rlo_tensor *indices_of(const int32_t *data, int64_t count) {
  rlo_shape shape;
  rlo_tensor *made = NULL;
  expect_ok(rlo_shape_make(RLO_DTYPE_S32, &count, 1, &shape));
  expect_ok(rlo_tensor_create(engine, &shape, data, &made));
  return made;
}

/* Compare and release. */
static void expect(rlo_tensor *y, const float *data, int64_t count) {
  float got[MOST];
  ck_assert_int_le(count, MOST);
  ck_assert_int_eq(rlo_tensor_bytes(y), count * 4);
  expect_ok(rlo_tensor_read(y, got, count * 4));
  /* No result has a zero with a sign. */
  ck_assert_int_eq(memcmp(got, data, (size_t)count * sizeof *got), 0);
  rlo_tensor_release(y);
}

/* The gradient of a kernel of one x, whose values do not matter. */
static void expect_vjp(const char *kernel_name,
                       const int64_t *x_dims,
                       int32_t x_rank,
                       const rlo_attribute *items,
                       int32_t num_items,
                       const int64_t *y_dims,
                       int32_t y_rank,
                       const float *dy_data,
                       const float *wanted) {
  const rlo_attributes attributes = {items, num_items};
  rlo_tensor *x = tensor(x_dims, x_rank, NULL);
  rlo_tensor *dy = tensor(y_dims, y_rank, dy_data);
  rlo_tensor *dx = NULL;
  expect_ok(
      rlo_vjp(engine, kernel_name, &x, 1, &attributes, &dy, 1, NULL, &dx));
  ck_assert(rlo_shape_equal(rlo_tensor_shape(dx), rlo_tensor_shape(x)));
  expect(dx, wanted, rlo_tensor_bytes(x) / 4);
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
}

static rlo_attribute list(const char *name,
                          const int64_t *values,
                          int32_t count) {
  return rlo_attribute_i64s(name, values, count);
}

START_TEST(test_gradient_vectors__transpose)
{
  begin(_i);
  const rlo_attribute perm = list("perm", DIMS(2, 1, 0), 3);
  expect_vjp("Transpose",
             DIMS(2, 2, 2),
             3,
             &perm,
             1,
             DIMS(2, 2, 2),
             3,
             FLOATS(111, 211, 121, 221, 112, 212, 122, 222),
             FLOATS(111, 112, 121, 122, 211, 212, 221, 222));
  end();
}

END_TEST

START_TEST(test_gradient_vectors__pad)
{
  begin(_i);
  const rlo_attribute one[] = {list("paddings", DIMS(2, 1), 2),
                               rlo_attribute_f64("value", 9.0)};
  const rlo_attribute two = list("paddings", DIMS(1, 0, 0, 1), 4);
  expect_vjp(
      "PadV2", DIMS(3), 1, one, 2, DIMS(6), 1, tens + 1, FLOATS(30, 40, 50));
  expect_vjp("PadV2",
             DIMS(2, 2),
             2,
             &two,
             1,
             DIMS(3, 3),
             2,
             FLOATS(0, 0, 0, 10, 20, 0, 30, 40, 0),
             FLOATS(10, 20, 30, 40));
  end();
}

END_TEST

/* XLA's, with values between the elements, and the value's own gradient. */
START_TEST(test_gradient_vectors__pad_with_an_input)
{
  begin(_i);
  const rlo_attribute items[] = {list("paddings", DIMS(1, 2), 2),
                                 list("interior", DIMS(1), 1)};
  const rlo_attributes attributes = {items, 2};
  rlo_tensor *const inputs[] = {tensor(DIMS(3), 1, NULL),
                                tensor(NULL, 0, FLOATS(7))};
  rlo_tensor *dy = tensor(DIMS(8), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  expect_ok(
      rlo_vjp(engine, "PadV2", inputs, 2, &attributes, &dy, 1, NULL, dxs));
  expect(dxs[0], FLOATS(20, 40, 60), 3);
  expect(dxs[1], FLOATS(240), 1);
  /* One that is not asked for is not there. */
  const bool wants[] = {false, true};
  expect_ok(
      rlo_vjp(engine, "PadV2", inputs, 2, &attributes, &dy, 1, wants, dxs));
  ck_assert_ptr_null(dxs[0]);
  expect(dxs[1], FLOATS(240), 1);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  rlo_tensor_release(dy);
  end();
}

END_TEST

/* Edges that are taken away from an array with values in between, and a single
 * element, which has nothing in between. */
START_TEST(test_gradient_vectors__pad_that_takes_away)
{
  begin(_i);
  const rlo_attribute items[] = {list("paddings", DIMS(-1, 1), 2),
                                 list("interior", DIMS(1), 1)};
  const rlo_attributes attributes = {items, 2};
  rlo_tensor *const inputs[] = {tensor(DIMS(3), 1, NULL),
                                tensor(NULL, 0, FLOATS(7))};
  rlo_tensor *dy = tensor(DIMS(5), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  expect_ok(
      rlo_vjp(engine, "PadV2", inputs, 2, &attributes, &dy, 1, NULL, dxs));
  expect(dxs[0], FLOATS(0, 20, 40), 3);
  expect(dxs[1], FLOATS(90), 1);
  const rlo_attribute single[] = {list("paddings", DIMS(1, 0), 2),
                                  list("interior", DIMS(2), 1)};
  expect_vjp("PadV2", DIMS(1), 1, single, 2, DIMS(2), 1, tens + 1, FLOATS(20));
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  rlo_tensor_release(dy);
  end();
}

END_TEST

/* The gradient of the gradient of a pad is the pad, and of a mirror the mirror.
 */
START_TEST(test_gradient_vectors__second_order)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(3), 1, NULL);
  rlo_tensor *dy = tensor(DIMS(6), 1, tens + 1);
  rlo_tensor *v = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  for (int is_mirror = 0; is_mirror < 2; ++is_mirror) {
    rlo_tape *outer = NULL;
    rlo_tape *inner = NULL;
    rlo_tensor *y = NULL;
    rlo_tensor *dx = NULL;
    rlo_tensor *back = NULL;
    expect_ok(rlo_tape_begin(engine, &outer));
    expect_ok(rlo_tape_begin(engine, &inner));
    expect_ok(is_mirror ? rlo_op_mirror_pad(
                              x, DIMS(2), DIMS(1), RLO_MIRROR_REFLECT, &y)
                        : rlo_op_pad(x, DIMS(2), DIMS(1), NULL, NULL, &y));
    expect_ok(rlo_tape_gradients(inner, y, dy, &x, 1, 0, &dx));
    expect_ok(rlo_tape_end(inner));
    expect_ok(rlo_tape_gradients(outer, dx, v, &dy, 1, 0, &back));
    expect_ok(rlo_tape_end(outer));
    expect(dx, is_mirror ? FLOATS(30, 120, 60) : FLOATS(30, 40, 50), 3);
    expect(back,
           is_mirror ? FLOATS(3, 2, 1, 2, 3, 2) : FLOATS(0, 0, 1, 2, 3, 0),
           6);
    rlo_tensor_release(y);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
  rlo_tensor_release(v);
  end();
}

END_TEST

static rlo_status slice_packed(const char *x_text,
                               const char *y_text,
                               int64_t begin_at,
                               int64_t size,
                               const uint8_t *dy_data,
                               rlo_tensor **out_dx) {
  rlo_shape shape;
  rlo_shape result;
  rlo_tensor *x = NULL;
  rlo_tensor *dy = NULL;
  expect_ok(rlo_shape_parse(x_text, strlen(x_text), &shape));
  expect_ok(rlo_shape_parse(y_text, strlen(y_text), &result));
  expect_ok(rlo_tensor_create(engine, &shape, NULL, &x));
  expect_ok(rlo_tensor_create(engine, &result, dy_data, &dy));
  const rlo_attribute cut[] = {list("begin", DIMS(0, begin_at), 2),
                               list("size", DIMS(2, size), 2)};
  const rlo_attributes attributes = {cut, 2};
  rlo_status status =
      rlo_vjp(engine, "Slice", &x, 1, &attributes, &dy, 1, NULL, out_dx);
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
  return status;
}

/* Two to a byte. Devices move whole bytes, forwards and backwards. */
START_TEST(test_gradient_vectors__packed)
{
  begin(_i);
  const uint8_t dy_data[] = {0x21, 0x43, 0x65};
  const uint8_t even[] = {0x00, 0x21, 0x00, 0x43};
  const uint8_t odd[] = {0x10, 0x32, 0x00, 0x54, 0x06};
  rlo_tensor *dx = NULL;
  uint8_t got[5];
  expect_ok(slice_packed(
      "s4[2,4]{1,0:E(4)}", "s4[2,2]{1,0:E(4)}", 2, 2, dy_data, &dx));
  expect_ok(rlo_tensor_read(dx, got, sizeof even));
  ck_assert_mem_eq(got, even, sizeof even);
  rlo_tensor_release(dx);
  rlo_status status = slice_packed(
      "s4[2,5]{1,0:E(4)}", "s4[2,3]{1,0:E(4)}", 1, 3, dy_data, &dx);
  if (strcmp(set_ups[_i].backend, "host") == 0) {
    expect_ok(status);
    expect_ok(rlo_tensor_read(dx, got, sizeof odd));
    ck_assert_mem_eq(got, odd, sizeof odd);
    rlo_tensor_release(dx);
  } else {
    ck_assert_int_eq(status, RLO_UNSUPPORTED);
  }
  end();
}

END_TEST

/* The true ones: what stands in an edge comes from inside too. */
START_TEST(test_gradient_vectors__mirror_pad)
{
  begin(_i);
  const rlo_attribute reflect[] = {list("paddings", DIMS(2, 1), 2),
                                   rlo_attribute_string("mode", "reflect")};
  const rlo_attribute symmetric[] = {list("paddings", DIMS(2, 1), 2),
                                     rlo_attribute_string("mode", "symmetric")};
  expect_vjp("MirrorPad",
             DIMS(3),
             1,
             reflect,
             2,
             DIMS(6),
             1,
             tens + 1,
             FLOATS(30, 120, 60));
  expect_vjp("MirrorPad",
             DIMS(3),
             1,
             symmetric,
             2,
             DIMS(6),
             1,
             tens + 1,
             FLOATS(50, 50, 110));
  end();
}

END_TEST

START_TEST(test_gradient_vectors__slice)
{
  begin(_i);
  const rlo_attribute one[] = {list("begin", DIMS(1), 1),
                               list("size", DIMS(2), 1)};
  const rlo_attribute two[] = {list("begin", DIMS(0, 1), 2),
                               list("size", DIMS(2, 1), 2)};
  expect_vjp("Slice",
             DIMS(5),
             1,
             one,
             2,
             DIMS(2),
             1,
             FLOATS(10, 100),
             FLOATS(0, 10, 100, 0, 0));
  expect_vjp("Slice",
             DIMS(2, 3),
             2,
             two,
             2,
             DIMS(2, 1),
             2,
             FLOATS(20, 50),
             FLOATS(0, 20, 0, 0, 50, 0));
  end();
}

END_TEST

START_TEST(test_gradient_vectors__strided_slice)
{
  begin(_i);
  const rlo_attribute up[] = {list("begin", DIMS(0), 1),
                              list("end", DIMS(3), 1),
                              list("strides", DIMS(2), 1)};
  const rlo_attribute down[] = {list("begin", DIMS(-1), 1),
                                list("end", DIMS(-4), 1),
                                list("strides", DIMS(-1), 1)};
  const rlo_attribute none[] = {list("begin", DIMS(10), 1),
                                list("end", DIMS(3), 1),
                                list("strides", DIMS(2), 1)};
  expect_vjp("StridedSlice",
             DIMS(4),
             1,
             up,
             3,
             DIMS(2),
             1,
             tens + 1,
             FLOATS(10, 0, 20, 0));
  expect_vjp("StridedSlice",
             DIMS(4),
             1,
             down,
             3,
             DIMS(3),
             1,
             tens + 1,
             FLOATS(0, 30, 20, 10));
  expect_vjp("StridedSlice",
             DIMS(4),
             1,
             none,
             3,
             DIMS(0),
             1,
             NULL,
             FLOATS(0, 0, 0, 0));
  end();
}

END_TEST

START_TEST(test_gradient_vectors__reverse)
{
  begin(_i);
  const rlo_attribute all = list("dims", DIMS(0, 1), 2);
  const rlo_attribute first = list("dims", DIMS(0), 1);
  const rlo_attribute last = list("dims", DIMS(-1), 1);
  expect_vjp("Reverse",
             DIMS(2, 3),
             2,
             &all,
             1,
             DIMS(2, 3),
             2,
             tens + 1,
             FLOATS(60, 50, 40, 30, 20, 10));
  expect_vjp("Reverse",
             DIMS(2, 3),
             2,
             &first,
             1,
             DIMS(2, 3),
             2,
             tens + 1,
             FLOATS(40, 50, 60, 10, 20, 30));
  expect_vjp("Reverse",
             DIMS(2, 3),
             2,
             &last,
             1,
             DIMS(2, 3),
             2,
             tens + 1,
             FLOATS(30, 20, 10, 60, 50, 40));
  end();
}

END_TEST

START_TEST(test_gradient_vectors__tile)
{
  begin(_i);
  const rlo_attribute thrice = list("reps", DIMS(3), 1);
  const rlo_attribute twice = list("reps", DIMS(1, 2), 2);
  const rlo_attribute each = list("repeats", DIMS(2), 1);
  expect_vjp("Tile",
             DIMS(3),
             1,
             &thrice,
             1,
             DIMS(9),
             1,
             FLOATS(.125f, .25f, .5f, 1, 2, 3, 10, 20, 30),
             FLOATS(11.125f, 22.25f, 33.5f));
  expect_vjp("Tile",
             DIMS(2, 2),
             2,
             &twice,
             1,
             DIMS(2, 4),
             2,
             FLOATS(1, 2, 10, 20, 3, 4, 30, 40),
             FLOATS(11, 22, 33, 44));
  expect_vjp("Repeat",
             DIMS(3),
             1,
             &each,
             1,
             DIMS(6),
             1,
             tens + 1,
             FLOATS(30, 70, 110));
  end();
}

END_TEST

START_TEST(test_gradient_vectors__broadcast)
{
  begin(_i);
  const rlo_attribute shape = list("shape", DIMS(3, 2), 2);
  expect_vjp("BroadcastTo",
             DIMS(2),
             1,
             &shape,
             1,
             DIMS(3, 2),
             2,
             counted + 1,
             FLOATS(9, 12));
  expect_vjp("BroadcastTo",
             DIMS(3, 1),
             2,
             &shape,
             1,
             DIMS(3, 2),
             2,
             counted + 1,
             FLOATS(3, 7, 11));
  end();
}

END_TEST

START_TEST(test_gradient_vectors__concat_and_pack)
{
  begin(_i);
  const float data[] = {66, 6, 55, 5, 44, 4, 33, 3, 22, 2, 11, 1};
  rlo_tensor *const xs[] = {tensor(DIMS(1, 2, 2), 3, NULL),
                            tensor(DIMS(2, 2, 2), 3, NULL)};
  rlo_tensor *dy = tensor(DIMS(3, 2, 2), 3, data);
  rlo_tensor *dxs[2] = {NULL};
  const rlo_attribute item = rlo_attribute_i64("axis", 0);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine, "ConcatV2", xs, 2, &attributes, &dy, 1, NULL, dxs));
  expect(dxs[0], data, 4);
  expect(dxs[1], data + 4, 8);
  /* Pack, of one tensor three times. */
  rlo_tensor *const same[] = {xs[0], xs[0], xs[0]};
  rlo_tensor *packed = tensor(DIMS(1, 2, 2, 3), 4, data);
  rlo_tensor *three[3] = {NULL};
  const rlo_attribute last = rlo_attribute_i64("axis", -1);
  const rlo_attributes at_last = {&last, 1};
  expect_ok(
      rlo_vjp(engine, "Pack", same, 3, &at_last, &packed, 1, NULL, three));
  expect(three[0], FLOATS(66, 5, 33, 2), 4);
  expect(three[1], FLOATS(6, 44, 3, 11), 4);
  expect(three[2], FLOATS(55, 4, 22, 1), 4);
  rlo_tensor_release(xs[0]);
  rlo_tensor_release(xs[1]);
  rlo_tensor_release(dy);
  rlo_tensor_release(packed);
  end();
}

END_TEST

/* A result that nothing depends on counts as zeros. */
START_TEST(test_gradient_vectors__split_and_unpack)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(3), 1, NULL);
  const rlo_attribute sizes = list("num_or_size_splits", DIMS(1, 2), 2);
  const rlo_attributes attributes = {&sizes, 1};
  rlo_tensor *dys[3] = {NULL, tensor(DIMS(2), 1, FLOATS(1, 1)), NULL};
  rlo_tensor *dx = NULL;
  expect_ok(rlo_vjp(engine, "SplitV", &x, 1, &attributes, dys, 2, NULL, &dx));
  expect(dx, FLOATS(0, 1, 1), 3);
  rlo_tensor *table = tensor(DIMS(2, 3), 2, NULL);
  const rlo_attribute axis = rlo_attribute_i64("axis", 1);
  const rlo_attributes at_axis = {&axis, 1};
  dys[0] = tensor(DIMS(2), 1, FLOATS(3, 4));
  expect_ok(rlo_vjp(engine, "Unpack", &table, 1, &at_axis, dys, 3, NULL, &dx));
  expect(dx, FLOATS(3, 1, 0, 4, 1, 0), 6);
  rlo_tensor_release(dys[0]);
  rlo_tensor_release(dys[1]);
  rlo_tensor_release(table);
  rlo_tensor_release(x);
  end();
}

END_TEST

static void expect_gather(const int64_t *x_dims,
                          int32_t rank,
                          int64_t axis,
                          const int32_t *indices,
                          const int64_t *y_dims,
                          const float *wanted) {
  rlo_tensor *const inputs[] = {tensor(x_dims, rank, NULL),
                                indices_of(indices, 4)};
  rlo_tensor *dy = tensor(y_dims, rank, counted + 3);
  rlo_tensor *dxs[2] = {NULL};
  const rlo_attribute item = rlo_attribute_i64("axis", axis);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(
      rlo_vjp(engine, "GatherV2", inputs, 2, &attributes, &dy, 1, NULL, dxs));
  expect(dxs[0], wanted, rlo_tensor_bytes(inputs[0]) / 4);
  /* Indices cannot be moved a little. */
  int32_t zeros[4] = {1, 1, 1, 1};
  expect_ok(rlo_tensor_read(dxs[1], zeros, sizeof zeros));
  ck_assert(zeros[0] == 0 && zeros[1] == 0 && zeros[2] == 0 && zeros[3] == 0);
  rlo_tensor_release(dxs[1]);
  rlo_tensor_release(dy);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
}

START_TEST(test_gradient_vectors__gather)
{
  begin(_i);
  const int32_t some[] = {0, 2, 0, 1};
  const int32_t both[] = {1, 0, 0, 1};
  expect_gather(DIMS(3), 1, 0, some, DIMS(4), FLOATS(8, 6, 4));
  expect_gather(DIMS(2, 2), 2, 0, both, DIMS(4, 2), FLOATS(12, 14, 12, 14));
  expect_gather(DIMS(2, 2), 2, -1, both, DIMS(2, 4), FLOATS(9, 9, 17, 17));
  /* And back: each row gets what its segment got. */
  rlo_tensor *const inputs[] = {tensor(DIMS(4), 1, NULL), indices_of(some, 4)};
  rlo_tensor *dy = tensor(DIMS(3), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  const bool wants[] = {true, false};
  const rlo_attribute item = rlo_attribute_i64("num_segments", 3);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine,
                    "UnsortedSegmentSum",
                    inputs,
                    2,
                    &attributes,
                    &dy,
                    1,
                    wants,
                    dxs));
  expect(dxs[0], FLOATS(10, 30, 10, 20), 4);
  rlo_tensor_release(dy);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  end();
}

END_TEST

START_TEST(test_gradient_vectors__blocks)
{
  begin(_i);
  const rlo_attribute block = rlo_attribute_i64("block_size", 2);
  const rlo_attribute batch[] = {list("block_shape", DIMS(2), 1),
                                 list("paddings", DIMS(0, 2), 2)};
  const rlo_attribute crop[] = {list("block_shape", DIMS(2), 1),
                                list("crops", DIMS(1, 2), 2)};
  expect_vjp("DepthToSpace",
             DIMS(1, 2, 2, 4),
             4,
             &block,
             1,
             DIMS(1, 4, 4, 1),
             4,
             counted + 1,
             FLOATS(1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16));
  expect_vjp("SpaceToDepth",
             DIMS(1, 4, 4, 1),
             4,
             &block,
             1,
             DIMS(1, 2, 2, 4),
             4,
             FLOATS(1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16),
             counted + 1);
  expect_vjp("SpaceToBatchND",
             DIMS(4, 2, 2),
             3,
             batch,
             2,
             DIMS(8, 2, 2),
             3,
             counted + 1,
             FLOATS(1, 2, 17, 18, 5, 6, 21, 22, 9, 10, 25, 26, 13, 14, 29, 30));
  /* y[i] is element i + 1 of x0, x3, x1, x4, x2, x5. */
  expect_vjp("BatchToSpaceND",
             DIMS(2, 3),
             2,
             crop,
             2,
             DIMS(1, 3),
             2,
             tens + 1,
             FLOATS(0, 20, 0, 10, 30, 0));
  end();
}

END_TEST

/* Cells of a layout that hold no element are ignored in dy, and filled in dx.
 */
START_TEST(test_gradient_vectors__relayout)
{
  begin(_i);
  static const char text[] = "f32[2,3]{0,1:pad(3,5)fill(one)}";
  rlo_shape padded;
  expect_ok(rlo_shape_parse(text, strlen(text), &padded));
  rlo_tensor *x = tensor(DIMS(2, 3), 2, NULL);
  rlo_tensor *dy = NULL;
  rlo_tensor *dx = NULL;
  expect_ok(rlo_tensor_create(engine, &padded, counted + 1, &dy));
  const rlo_attribute item = rlo_attribute_shape("shape", &padded);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine, "Relayout", &x, 1, &attributes, &dy, 1, NULL, &dx));
  expect(dx, FLOATS(1, 4, 7, 2, 5, 8), 6);
  /* A slice of what lies so: its gradient does too. */
  const rlo_attribute cut[] = {list("begin", DIMS(1, 1), 2),
                               list("size", DIMS(1, 2), 2)};
  const rlo_attributes cuts = {cut, 2};
  rlo_tensor *small = tensor(DIMS(1, 2), 2, tens + 1);
  expect_ok(rlo_vjp(engine, "Slice", &dy, 1, &cuts, &small, 1, NULL, &dx));
  ck_assert(rlo_shape_equal(rlo_tensor_shape(dx), &padded));
  expect(dx, FLOATS(0, 0, 1, 0, 10, 1, 0, 20, 1, 1, 1, 1, 1, 1, 1), 15);
  rlo_tensor_release(small);
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
  end();
}

END_TEST

START_TEST(test_gradient_vectors__numbers)
{
  begin(_i);
  const rlo_attribute dims[] = {list("dims", DIMS(0), 1),
                                rlo_attribute_bool("keep_dims", true)};
  const rlo_attribute shape = list("shape", DIMS(3, 2), 2);
  const rlo_attribute factor = rlo_attribute_f64("factor", -2.0);
  expect_vjp("Sum",
             DIMS(2, 3),
             2,
             dims,
             2,
             DIMS(1, 3),
             2,
             tens + 1,
             FLOATS(10, 20, 30, 10, 20, 30));
  expect_vjp("Sum", DIMS(2), 1, NULL, 0, NULL, 0, FLOATS(5), FLOATS(5, 5));
  expect_vjp(
      "Reshape", DIMS(2, 3), 2, &shape, 1, DIMS(3, 2), 2, counted, counted);
  expect_vjp("Rescale",
             DIMS(2),
             1,
             &factor,
             1,
             DIMS(2),
             1,
             tens + 1,
             FLOATS(-20, -40));
  rlo_tensor *const xs[] = {tensor(DIMS(2), 1, NULL), tensor(DIMS(2), 1, NULL)};
  rlo_tensor *dy = tensor(DIMS(2), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  expect_ok(rlo_vjp(engine, "AddN", xs, 2, NULL, &dy, 1, NULL, dxs));
  expect(dxs[0], tens + 1, 2);
  expect(dxs[1], tens + 1, 2);
  /* From bf16 to f32 and back. */
  rlo_tensor *narrow = NULL;
  rlo_tensor *dx = NULL;
  expect_ok(rlo_op_cast(xs[0], RLO_DTYPE_BF16, &narrow));
  const rlo_attribute dtype = rlo_attribute_string("dtype", "f32");
  const rlo_attributes attributes = {&dtype, 1};
  expect_ok(
      rlo_vjp(engine, "Cast", &narrow, 1, &attributes, &dy, 1, NULL, &dx));
  ck_assert_int_eq(rlo_tensor_shape(dx)->dtype, RLO_DTYPE_BF16);
  rlo_tensor_release(dx);
  rlo_tensor_release(narrow);
  rlo_tensor_release(dy);
  rlo_tensor_release(xs[0]);
  rlo_tensor_release(xs[1]);
  end();
}

END_TEST

/* Halves are added in f32: 2048 + 1 + 1 is 2050, and not 2048. */
START_TEST(test_gradient_vectors__halves)
{
  begin(_i);
  rlo_tensor *wide = tensor(DIMS(3, 1), 2, FLOATS(2048, 1, 1));
  rlo_tensor *x = NULL;
  rlo_tensor *dy = NULL;
  rlo_tensor *dx = NULL;
  rlo_tensor *got = NULL;
  rlo_tensor *one = tensor(DIMS(1, 1), 2, NULL);
  expect_ok(rlo_op_cast(wide, RLO_DTYPE_F16, &dy));
  expect_ok(rlo_op_cast(one, RLO_DTYPE_F16, &x));
  const rlo_attribute shape = list("shape", DIMS(3, 1), 2);
  const rlo_attributes attributes = {&shape, 1};
  expect_ok(
      rlo_vjp(engine, "BroadcastTo", &x, 1, &attributes, &dy, 1, NULL, &dx));
  expect_ok(rlo_op_cast(dx, RLO_DTYPE_F32, &got));
  expect(got, FLOATS(2050), 1);
  rlo_tensor_release(dx);
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
  /* Three mirrors of one element. */
  rlo_tensor *edge = tensor(DIMS(3), 1, FLOATS(1, 2048, 1));
  rlo_tensor *point = tensor(DIMS(1), 1, NULL);
  expect_ok(rlo_op_cast(edge, RLO_DTYPE_F16, &dy));
  expect_ok(rlo_op_cast(point, RLO_DTYPE_F16, &x));
  const rlo_attribute mirror[] = {list("paddings", DIMS(1, 1), 2),
                                  rlo_attribute_string("mode", "symmetric")};
  const rlo_attributes mirrored = {mirror, 2};
  expect_ok(rlo_vjp(engine, "MirrorPad", &x, 1, &mirrored, &dy, 1, NULL, &dx));
  expect_ok(rlo_op_cast(dx, RLO_DTYPE_F32, &got));
  expect(got, FLOATS(2050), 1);
  rlo_tensor *const all[] = {wide, one, edge, point, x, dy, dx};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}

END_TEST

/* Where nothing is added, every type has a gradient, bit for bit. */
START_TEST(test_gradient_vectors__types_that_are_not_added)
{
  begin(_i);
  const uint8_t bits[] = {1, 0, 1, 1, 0, 0};
  const uint8_t turned[] = {1, 1, 0, 0, 1, 0};
  const int64_t dims[] = {2, 3};
  const int64_t back[] = {3, 2};
  rlo_shape shape;
  rlo_shape result;
  rlo_tensor *x = NULL;
  rlo_tensor *dy = NULL;
  rlo_tensor *dx = NULL;
  uint8_t got[6];
  expect_ok(rlo_shape_make(RLO_DTYPE_PRED, dims, 2, &shape));
  expect_ok(rlo_shape_make(RLO_DTYPE_PRED, back, 2, &result));
  expect_ok(rlo_tensor_create(engine, &shape, NULL, &x));
  expect_ok(rlo_tensor_create(engine, &result, bits, &dy));
  expect_ok(rlo_vjp(engine, "Transpose", &x, 1, NULL, &dy, 1, NULL, &dx));
  expect_ok(rlo_tensor_read(dx, got, sizeof got));
  ck_assert_mem_eq(got, turned, sizeof got);
  rlo_tensor_release(dx);
  rlo_tensor_release(x);
  const int64_t row[] = {2};
  rlo_shape rows;
  expect_ok(rlo_shape_make(RLO_DTYPE_PRED, row, 1, &rows));
  expect_ok(rlo_tensor_create(engine, &rows, NULL, &x));
  const rlo_attribute item = list("shape", back, 2);
  const rlo_attributes attributes = {&item, 1};
  ck_assert_int_eq(
      rlo_vjp(engine, "BroadcastTo", &x, 1, &attributes, &dy, 1, NULL, &dx),
      RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "MoveAdjoint: the adjoint of BroadcastTo: values of type "
                   "pred are not added up");
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
  end();
}

END_TEST

int main(void) {
  const TTest *const tests[] = {
      test_gradient_vectors__transpose,
      test_gradient_vectors__pad,
      test_gradient_vectors__pad_with_an_input,
      test_gradient_vectors__pad_that_takes_away,
      test_gradient_vectors__second_order,
      test_gradient_vectors__packed,
      test_gradient_vectors__mirror_pad,
      test_gradient_vectors__slice,
      test_gradient_vectors__strided_slice,
      test_gradient_vectors__reverse,
      test_gradient_vectors__tile,
      test_gradient_vectors__broadcast,
      test_gradient_vectors__concat_and_pack,
      test_gradient_vectors__split_and_unpack,
      test_gradient_vectors__gather,
      test_gradient_vectors__blocks,
      test_gradient_vectors__relayout,
      test_gradient_vectors__numbers,
      test_gradient_vectors__halves,
      test_gradient_vectors__types_that_are_not_added};
  Suite *suite = suite_create("gradient_vectors");
  TCase *tcase = tcase_create("vectors");
  tcase_add_unchecked_fixture(tcase, open_context, close_context);
  tcase_set_timeout(tcase, 120);
  for (int32_t t = 0; t < COUNT(tests); ++t) {
    tcase_add_loop_test(tcase, tests[t], 0, COUNT(set_ups));
  }
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
