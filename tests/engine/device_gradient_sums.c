/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "derivable.h"
#include "engine_case.h"
#include "expect_vjp.h"
#include "relayout/kernel.h"
#include "support/shape_of.h"

/*
 * The gradients that TensorFlow's own tests ask for (and, of mirrored edges,
 * the true ones), of single kernels that read elements twice or compute, on
 * both backends, fused and not.
 */

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(120);

RLO_LOOP_TEST(test_gradient_vectors__second_order, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  expect_move_back(false);
  expect_move_back(true);
  end();
}

/* The true ones: what stands in an edge comes from inside too. */
RLO_LOOP_TEST(test_gradient_vectors__mirror_pad, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute reflect[] = {list("paddings", DIMS(2, 1), 2),
                                   rlo_attribute_string("mode", "reflect")};
  const rlo_attribute symmetric[] = {list("paddings", DIMS(2, 1), 2),
                                     rlo_attribute_string("mode", "symmetric")};
  expect_vjp("MirrorPad", DIMS(3), 1, reflect, 2, DIMS(6), 1, tens + 1, FLOATS(30, 120, 60));
  expect_vjp("MirrorPad", DIMS(3), 1, symmetric, 2, DIMS(6), 1, tens + 1, FLOATS(50, 50, 110));
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__tile, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute thrice = list("reps", DIMS(3), 1);
  const rlo_attribute twice = list("reps", DIMS(1, 2), 2);
  const rlo_attribute each = list("repeats", DIMS(2), 1);
  expect_vjp("Tile", DIMS(3), 1, &thrice, 1, DIMS(9), 1,
             FLOATS(.125f, .25f, .5f, 1, 2, 3, 10, 20, 30), FLOATS(11.125f, 22.25f, 33.5f));
  expect_vjp("Tile", DIMS(2, 2), 2, &twice, 1, DIMS(2, 4), 2, FLOATS(1, 2, 10, 20, 3, 4, 30, 40),
             FLOATS(11, 22, 33, 44));
  expect_vjp("Repeat", DIMS(3), 1, &each, 1, DIMS(6), 1, tens + 1, FLOATS(30, 70, 110));
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__broadcast, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute shape = list("shape", DIMS(3, 2), 2);
  expect_vjp("BroadcastTo", DIMS(2), 1, &shape, 1, DIMS(3, 2), 2, counted + 1, FLOATS(9, 12));
  expect_vjp("BroadcastTo", DIMS(3, 1), 2, &shape, 1, DIMS(3, 2), 2, counted + 1, FLOATS(3, 7, 11));
  end();
}

static void expect_gather(const int64_t *x_dims, int32_t rank, int64_t axis, const int32_t *indices,
                          const int64_t *y_dims, const float *wanted) {
  rlo_tensor *const inputs[] = {tensor(x_dims, rank, NULL), indices_of(DIMS(4), 1, indices)};
  rlo_tensor *dy = tensor(y_dims, rank, counted + 3);
  rlo_tensor *dxs[2] = {NULL};
  const rlo_attribute item = rlo_attribute_i64("axis", axis);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine, "GatherV2", inputs, 2, &attributes, &dy, 1, NULL, dxs));
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

RLO_LOOP_TEST(test_gradient_vectors__gather, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const int32_t some[] = {0, 2, 0, 1};
  const int32_t both[] = {1, 0, 0, 1};
  expect_gather(DIMS(3), 1, 0, some, DIMS(4), FLOATS(8, 6, 4));
  expect_gather(DIMS(2, 2), 2, 0, both, DIMS(4, 2), FLOATS(12, 14, 12, 14));
  expect_gather(DIMS(2, 2), 2, -1, both, DIMS(2, 4), FLOATS(9, 9, 17, 17));
  /* And back: each row gets what its segment got. */
  rlo_tensor *const inputs[] = {tensor(DIMS(4), 1, NULL), indices_of(DIMS(4), 1, some)};
  rlo_tensor *dy = tensor(DIMS(3), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  const bool wants[] = {true, false};
  const rlo_attribute item = rlo_attribute_i64("num_segments", 3);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine, "UnsortedSegmentSum", inputs, 2, &attributes, &dy, 1, wants, dxs));
  expect(dxs[0], FLOATS(10, 30, 10, 20), 4);
  rlo_tensor_release(dy);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__numbers, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute dims[] = {list("dims", DIMS(0), 1), rlo_attribute_i64("keep_dims", true)};
  const rlo_attribute shape = list("shape", DIMS(3, 2), 2);
  const rlo_attribute factor = rlo_attribute_f64("factor", -2.0);
  expect_vjp("Sum", DIMS(2, 3), 2, dims, 2, DIMS(1, 3), 2, tens + 1,
             FLOATS(10, 20, 30, 10, 20, 30));
  expect_vjp("Sum", DIMS(2), 1, NULL, 0, NULL, 0, FLOATS(5), FLOATS(5, 5));
  expect_vjp("Reshape", DIMS(2, 3), 2, &shape, 1, DIMS(3, 2), 2, counted, counted);
  expect_vjp("Rescale", DIMS(2), 1, &factor, 1, DIMS(2), 1, tens + 1, FLOATS(-20, -40));
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
  expect_ok(rlo_vjp(engine, "Cast", &narrow, 1, &attributes, &dy, 1, NULL, &dx));
  ck_assert_int_eq(rlo_tensor_shape(dx)->dtype, RLO_DTYPE_BF16);
  rlo_tensor_release(dx);
  rlo_tensor_release(narrow);
  rlo_tensor_release(dy);
  rlo_tensor_release(xs[0]);
  rlo_tensor_release(xs[1]);
  end();
}

/* Halves are added in f32: 2048 + 1 + 1 is 2050, and not 2048. */
RLO_LOOP_TEST(test_gradient_vectors__halves, 0, NUM_SET_UPS) {
  begin_set_up(_i);
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
  expect_ok(rlo_vjp(engine, "BroadcastTo", &x, 1, &attributes, &dy, 1, NULL, &dx));
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

/* ---------------------------------------------------------- element by element */

typedef struct element_case {
  const char *kernel_name;
  int32_t num_inputs;
  /** Step's alpha; 0: none is given. */
  double alpha;
  float wanted[8];
} element_case;

#define INF      ((float)INFINITY)
#define NAN_BITS ((float)NAN)

static rlo_status run_case(const element_case *c, rlo_tensor *const *inputs, rlo_tensor **out_y) {
  const rlo_attribute alpha = rlo_attribute_f64("alpha", c->alpha);
  const bool has_alpha = c->alpha < 0 || c->alpha > 0;
  const rlo_attributes attributes = {&alpha, has_alpha};
  return rlo_run_kernel(engine, c->kernel_name, inputs, c->num_inputs, &attributes, out_y, 1, NULL);
}

/* b is stored by columns. */
RLO_LOOP_TEST(test_gradient_vectors__element_by_element, 0, NUM_SET_UPS) {
  static const element_case cases[] = {
      {"Multiply", 2, 0, {4, 0, NAN_BITS, INF, NAN_BITS, INF, INF, NAN_BITS}},
      {"Less", 2, 0, {0, 0, 0, 0, 0, 1, 1, 0}},
      {"LessEqual", 2, 0, {1, 1, 0, 0, 0, 1, 1, 0}},
      {"Greater", 2, 0, {0, 0, 0, 1, 0, 0, 0, 0}},
      {"GreaterEqual", 2, 0, {1, 1, 0, 1, 0, 0, 0, 0}},
      {"Equal", 2, 0, {1, 1, 0, 0, 0, 0, 0, 0}},
      {"Abs", 1, 0, {2, 0, 3, INF, NAN_BITS, 0.5F, INF, 1}},
      {"Step", 1, 0, {0, 0, 1, 1, NAN_BITS, 1, 0, 1}},
      {"Step", 1, -0.1, {-0.1F, -0.1F, 1, 1, NAN_BITS, 1, -0.1F, 1}}};
  begin_set_up(_i);
  const float b_data[] = {-2, NAN_BITS, 0, -3, -0.0F, 1, INF, NAN_BITS};
  rlo_tensor *inputs[2] = {
      tensor(DIMS(4, 2), 2, FLOATS(-2, -0.0F, 3, INF, NAN_BITS, 0.5F, -INF, 1)), NULL};
  rlo_tensor *y = NULL;
  rlo_shape by_columns = test_shape_make(RLO_DTYPE_F32, DIMS(4, 2), 2);
  by_columns.layout.minor_to_major[0] = 0;
  by_columns.layout.minor_to_major[1] = 1;
  expect_ok(rlo_tensor_create(engine, &by_columns, b_data, &inputs[1]));
  for (int32_t c = 0; c < COUNT(cases); ++c) {
    expect_ok(run_case(&cases[c], inputs, &y));
    expect(y, cases[c].wanted, 8);
  }
  /* Equal is false for NaN, and picks b. */
  rlo_tensor *mask = NULL;
  expect_ok(rlo_op_compare(inputs[0], RLO_KERNEL_NAME_EQUAL, inputs[1], &mask));
  ck_assert_int_eq(rlo_tensor_shape(mask)->dtype, RLO_DTYPE_PRED);
  expect_ok(rlo_op_where(mask, inputs[0], inputs[1], &y));
  expect(y, FLOATS(-2, -0.0F, NAN_BITS, 1, 0, INF, -3, NAN_BITS), 8);
  rlo_tensor_release(mask);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  end();
}

static rlo_tensor *doubles(const double *data) {
  rlo_tensor *made = NULL;
  rlo_shape shape = test_shape_make(RLO_DTYPE_F64, DIMS(4), 1);
  expect_ok(rlo_tensor_create(engine, &shape, data, &made));
  return made;
}

/* <kernel(inputs), dy>, with element e of input n moved. */
static double weigh(const element_case *c, double data[3][4], rlo_tensor *condition, int32_t n,
                    int32_t e, double by) {
  double y_data[4];
  double sum = 0;
  rlo_tensor *y = NULL;
  data[n][e] += by;
  rlo_tensor *inputs[] = {doubles(data[0]), doubles(data[1]), condition};
  data[n][e] -= by;
  expect_ok(run_case(c, inputs, &y));
  expect_ok(rlo_tensor_read(y, y_data, sizeof y_data));
  for (int32_t k = 0; k < 4; ++k) {
    sum += y_data[k] * data[2][k];
  }
  rlo_tensor_release(y);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  return sum;
}

/* Gradients against differences, in f64. */
RLO_LOOP_TEST(test_gradient_vectors__differences, 0, NUM_SET_UPS) {
  static const element_case cases[] = {
      {"Multiply", 2, 0, {0}}, {"Greater", 2, 0, {0}}, {"Equal", 2, 0, {0}}, {"Abs", 1, 0, {0}},
      {"Step", 1, 0.5, {0}},   {"Exp", 1, 0, {0}},     {"Tanh", 1, 0, {0}},  {"Select", 3, 0, {0}}};
  double data[3][4] = {{-1.5, 0.75, 2, -0.25}, {3, -0.5, 1.25, 2}, {1, -2, 0.5, 4}};
  begin_set_up(_i);
  rlo_tensor *condition = indices_of(DIMS(4), 1, (const int32_t[]){0, 1, 1, 0});
  for (int32_t c = 0; c < COUNT(cases); ++c) {
    const int32_t num_inputs = cases[c].num_inputs;
    const rlo_attribute alpha = rlo_attribute_f64("alpha", cases[c].alpha);
    const rlo_attributes attributes = {&alpha, cases[c].alpha > 0};
    rlo_tensor *inputs[] = {doubles(data[0]), doubles(data[1]), condition};
    rlo_tensor *dy = doubles(data[2]);
    rlo_tensor *dxs[3] = {NULL};
    expect_ok(rlo_vjp(engine, cases[c].kernel_name, inputs, num_inputs, &attributes, &dy, 1,
                      (const bool[]){true, true, false}, dxs));
    for (int32_t n = 0; n < num_inputs && n < 2; ++n) {
      double dx[4];
      expect_ok(rlo_tensor_read(dxs[n], dx, sizeof dx));
      for (int32_t e = 0; e < 4; ++e) {
        const double h = 1e-5;
        const double slope = (weigh(&cases[c], data, condition, n, e, h) -
                              weigh(&cases[c], data, condition, n, e, -h)) /
                             (2 * h);
        ck_assert_msg(fabs(slope - dx[e]) < 1e-8, "%s: dx %d[%d] is %g, not %g",
                      cases[c].kernel_name, n, e, dx[e], slope);
      }
      rlo_tensor_release(dxs[n]);
    }
    rlo_tensor_release(dy);
    rlo_tensor_release(inputs[0]);
    rlo_tensor_release(inputs[1]);
  }
  rlo_tensor_release(condition);
  end();
}

/* The bounds that engine_ops.h states, and infinity. */
RLO_LOOP_TEST(test_gradient_vectors__exponentials, 0, NUM_SET_UPS) {
  float x_data[64];
  float got[2][64];
  rlo_tensor *ys[2] = {NULL, NULL};
  begin_set_up(_i);
  for (int32_t n = 0; n < 64; ++n) {
    x_data[n] = (float)(n - 32) * 2.8F + 0.03F;
  }
  x_data[63] = 1000;
  rlo_tensor *x = tensor(DIMS(64), 1, x_data);
  expect_ok(rlo_op_exp(x, &ys[0]));
  expect_ok(rlo_op_tanh(x, &ys[1]));
  for (int32_t f = 0; f < 2; ++f) {
    expect_ok(rlo_tensor_read(ys[f], got[f], sizeof got[f]));
    for (int32_t n = 0; n < 64; ++n) {
      const double right = f == 0 ? exp((double)x_data[n]) : tanh((double)x_data[n]);
      const double unit = ldexp(1, (int)fmin(fmax(logb(right), -126), 127) - 23);
      const double limit = _i < 2 ? 0.5001 : f == 0 ? 3 : 5;
      ck_assert_msg((double)got[f][n] >= right || fabs((double)got[f][n] - right) <= limit * unit,
                    "function %d of %g is %g, not %g", f, (double)x_data[n], (double)got[f][n],
                    right);
      ck_assert_msg(isinf(got[f][n]) != 0 ? n >= 63 : (double)got[f][n] - right <= limit * unit,
                    "function %d of %g is %g, not %g", f, (double)x_data[n], (double)got[f][n],
                    right);
    }
    rlo_tensor_release(ys[f]);
  }
  rlo_tensor_release(x);
  end();
}

/* The same bits in every type that both compute. */
RLO_TEST(test_gradient_vectors__element_types) {
  static const struct {
    const char *kernel_name;
    rlo_dtype dtype;
    float wanted[4];
  } rows[] = {{"Multiply", RLO_DTYPE_BF16, {9, 4, 0.25F, 0}},
              {"Multiply", RLO_DTYPE_F8E4M3FN, {9, 4, 0.25F, 0}},
              {"Multiply", RLO_DTYPE_U64, {9, 4, 0, 0}},
              {"Abs", RLO_DTYPE_S8, {3, 2, 0, 0}},
              {"Abs", RLO_DTYPE_F16, {3, 2, 0.5F, 0}},
              {"Step", RLO_DTYPE_S64, {0, 1, 0, 0}},
              {"Exp", RLO_DTYPE_BF16, {0.0498046875F, 7.375F, 1.6484375F, 1}}};

  for (int32_t s = 0; s < NUM_SET_UPS; s += 2) {
    begin_set_up(s);
    for (int32_t r = 0; r < COUNT(rows); ++r) {
      const bool is_unsigned = rows[r].dtype == RLO_DTYPE_U64;
      rlo_tensor *wide = tensor(DIMS(4), 1, FLOATS(is_unsigned ? 3 : -3, 2, 0.5F, 0));
      rlo_tensor *xs[2] = {NULL, NULL};
      rlo_tensor *y = NULL;
      rlo_tensor *got = NULL;
      expect_ok(rlo_op_cast(wide, rows[r].dtype, &xs[0]));
      xs[1] = xs[0];
      expect_ok(rlo_run_kernel(engine, rows[r].kernel_name, xs, r < 3 ? 2 : 1, NULL, &y, 1, NULL));
      ck_assert_int_eq(rlo_tensor_shape(y)->dtype, rows[r].dtype);
      expect_ok(rlo_op_cast(y, RLO_DTYPE_F32, &got));
      expect(got, rows[r].wanted, 4);
      rlo_tensor_release(y);
      rlo_tensor_release(xs[0]);
      rlo_tensor_release(wide);
    }
    end();
  }
}

RLO_TEST(test_gradient_vectors__elements_that_are_refused) {
  static const struct {
    const char *kernel_name;
    rlo_dtype a, b;
    int64_t dims;
    const char *why;
  } rows[] = {{"Multiply", RLO_DTYPE_F32, RLO_DTYPE_F32, 1,
               "Multiply: input 'b' has another type or other dimensions than input 'a'; nothing "
               "is converted or broadcast here: Cast and BroadcastTo do that"},
              {"Less", RLO_DTYPE_F32, RLO_DTYPE_S32, 2,
               "Less: input 'b' has another type or other dimensions than input 'a'; nothing "
               "is converted or broadcast here: Cast and BroadcastTo do that"},
              {"Less", RLO_DTYPE_U64, RLO_DTYPE_U64, 2,
               "Less: numbers of type u64 are not compared; integers compare as signed numbers "
               "of 64 bits, complex numbers not at all"},
              {"Multiply", RLO_DTYPE_C64, RLO_DTYPE_C64, 2,
               "Multiply: numbers of type c64 are not multiplied; complex numbers are scaled only"},
              {"Exp", RLO_DTYPE_S32, RLO_DTYPE_INVALID, 2,
               "Exp: numbers of type s32 are not made an exponential; real floats are"}};

  begin_set_up(0);
  for (int32_t r = 0; r < COUNT(rows); ++r) {
    rlo_tensor *xs[2] = {NULL, NULL};
    rlo_tensor *y = NULL;
    const int32_t count = rows[r].b == RLO_DTYPE_INVALID ? 1 : 2;
    for (int32_t n = 0; n < count; ++n) {
      const rlo_shape shape =
          test_shape_make(n == 0 ? rows[r].a : rows[r].b, DIMS(n == 0 ? 2 : rows[r].dims), 1);
      expect_ok(rlo_tensor_create(engine, &shape, NULL, &xs[n]));
    }
    rlo_status status = rlo_run_kernel(engine, rows[r].kernel_name, xs, count, NULL, &y, 1, NULL);
    expect_refusal(status, r < 2 ? RLO_INVALID_ARGUMENT : RLO_UNSUPPORTED, rows[r].why);
    rlo_tensor_release(xs[0]);
    rlo_tensor_release(xs[1]);
  }
  rlo_tensor *x = tensor(DIMS(2), 1, NULL);
  rlo_tensor *y = NULL;
  expect_refusal(rlo_op_where(x, x, x, &y), RLO_INVALID_ARGUMENT,
                 "where: the condition is of type f32; Cast makes it pred");
  rlo_tensor_release(x);
  end();
}
