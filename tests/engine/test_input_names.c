/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "derivable.h"
#include "engine_case.h"
#include "relayout/kernel.h"
#include "support/shape_of.h"

/* Inputs by name: in calls and in messages, on the host. */

#define NAMES(...) ((const char *const[]){__VA_ARGS__})

RLO_FIXTURE(begin_plain, end);
RLO_TIMEOUT(60);

/* ----------------------------------------------------------------- built in */

RLO_TEST(test_input_names__of_built_in_kernels) {
  /* TensorFlow.js's names of inputs; all other kernels take one input, 'x'. */
  static const struct {
    const char *kernel;
    const char *names[3];
  } others[] = {
      {"AddN", {"inputs", NULL}},
      {"Concat", {"inputs", NULL}},
      {"ConcatV2", {"inputs", NULL}},
      {"ExpandDims", {"input", NULL}},
      {"GatherV2", {"x", "indices"}},
      {"MoveAdjoint", {"dys", NULL}},
      {"Pack", {"inputs", NULL}},
      {"PadV2", {"x", "value"}},
      {"Unpack", {"value", NULL}},
      {"UnsortedSegmentSum", {"x", "segment_ids"}},
      {"Multiply", {"a", "b"}},
      {"Less", {"a", "b"}},
      {"LessEqual", {"a", "b"}},
      {"Greater", {"a", "b"}},
      {"GreaterEqual", {"a", "b"}},
      {"Equal", {"a", "b"}},
      {"Select", {"e", "t", "condition"}},
      {"Quantize", {"x", "scales"}},
      {"Dequantize", {"x", "scales"}},
  };

  rlo_kernel_config kernels[64];
  int32_t count = 0;
  int32_t num_found = 0;
  expect_ok(rlo_kernel_list(engine, "host", kernels, sizeof kernels[0], 64, &count));
  ck_assert_int_le(count, 64);
  for (int32_t k = 0; k < count; ++k) {
    const char *names[3] = {"x", NULL, NULL};
    for (int32_t n = 0; n < COUNT(others); ++n) {
      if (strcmp(kernels[k].kernel_name, others[n].kernel) == 0) {
        memcpy(names, others[n].names, sizeof names);
        ++num_found;
      }
    }
    ck_assert_int_eq(kernels[k].num_input_names, 1 + (names[1] != NULL) + (names[2] != NULL));
    for (int32_t n = 0; n < kernels[k].num_input_names; ++n) {
      ck_assert_str_eq(kernels[k].input_names[n], names[n]);
    }
  }
  ck_assert_int_eq(num_found, COUNT(others));
}

/* Runs it by name and compares s32 results. */
static void expect_named(const char *kernel, const rlo_named_tensor *inputs, int32_t num_inputs,
                         const rlo_attribute *items, int32_t num_items, const int32_t *wanted,
                         int32_t count) {
  const rlo_attributes attributes = {items, num_items};
  rlo_tensor *y = NULL;
  int32_t got[16];
  expect_ok(rlo_run_kernel_named(engine, kernel, inputs, num_inputs, &attributes, &y, 1, NULL));
  ck_assert_int_eq(rlo_tensor_bytes(y), 4 * count);
  expect_ok(rlo_tensor_read(y, got, 4 * count));
  ck_assert_mem_eq(got, wanted, 4 * (size_t)count);
  rlo_tensor_release(y);
}

RLO_TEST(test_input_names__in_any_order) {
  rlo_tensor *x = count_up(DIMS(3, 2), 2);
  rlo_tensor *ids = indices_of(DIMS(2), 1, (const int32_t[]){2, 0});
  rlo_tensor *one = indices_of(NULL, 0, (const int32_t[]){7});
  rlo_tensor *row = count_up(DIMS(2), 1);
  const int32_t gathered[] = {4, 5, 0, 1};
  expect_named("GatherV2", (rlo_named_tensor[]){{"indices", ids}, {"x", x}}, 2, NULL, 0, gathered,
               4);
  expect_named("GatherV2", (rlo_named_tensor[]){{"x", x}, {"indices", ids}}, 2, NULL, 0, gathered,
               4);
  const rlo_attribute paddings = rlo_attribute_i64s("paddings", DIMS(1, 0), 2);
  expect_named("PadV2", (rlo_named_tensor[]){{"value", one}, {"x", row}}, 2, &paddings, 1,
               (const int32_t[]){7, 0, 1}, 3);
  expect_named("PadV2", (rlo_named_tensor[]){{"x", row}}, 1, &paddings, 1,
               (const int32_t[]){0, 0, 1}, 3);
  /* Those that share a name keep their order. */
  expect_named("ConcatV2", (rlo_named_tensor[]){{"inputs", ids}, {"inputs", row}, {"inputs", ids}},
               3, NULL, 0, (const int32_t[]){2, 0, 0, 1, 2, 0}, 6);
  rlo_tensor_release(row);
  rlo_tensor_release(one);
  rlo_tensor_release(ids);
  rlo_tensor_release(x);
}

RLO_TEST(test_input_names__places) {
  int32_t places[3] = {-1, -1, -1};
  expect_ok(
      rlo_kernel_place_inputs(engine, "UnsortedSegmentSum", NAMES("segment_ids", "x"), 2, places));
  ck_assert_int_eq(places[0], 1);
  ck_assert_int_eq(places[1], 0);
  expect_ok(
      rlo_kernel_place_inputs(engine, "Pack", NAMES("inputs", "inputs", "inputs"), 3, places));
  for (int32_t n = 0; n < 3; ++n) {
    ck_assert_int_eq(places[n], n);
  }
  ck_assert_int_eq(rlo_kernel_place_inputs(engine, "None", NAMES("x"), 1, places), RLO_NOT_FOUND);
  ck_assert_int_eq(rlo_kernel_place_inputs(NULL, "Pack", NULL, 0, places), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_kernel_place_inputs(engine, "Pack", NULL, 1, places), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_kernel_place_inputs(engine, "Pack", NAMES("inputs"), 1, NULL),
                   RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_input_names__wrong_names) {
  static const struct {
    const char *kernel;
    const char *names[3];
    int32_t count;
    const char *why;
  } cases[] = {
      {"GatherV2",
       {"x", "ids", NULL},
       2,
       "kernel 'GatherV2': input 'ids' is unknown; it takes 'x', 'indices'"},
      {"GatherV2",
       {"x", "x", NULL},
       2,
       "kernel 'GatherV2': input 'x' is given twice; it takes 'x', 'indices'"},
      {"GatherV2",
       {"indices", NULL, NULL},
       1,
       "kernel 'GatherV2': input 'x' is missing; it takes 'x', 'indices'"},
      {"GatherV2",
       {"x", NULL, NULL},
       1,
       "kernel 'GatherV2': input 'indices' is missing; it takes 'x', "
       "'indices'"},
      {"GatherV2",
       {"x", NULL, NULL},
       2,
       "kernel 'GatherV2': the name of input 1 of those given is NULL"},
      {"PadV2",
       {"value", NULL, NULL},
       1,
       "kernel 'PadV2': input 'x' is missing; it takes 'x', 'value' (may be "
       "left out)"},
      {"PadV2",
       {"x", "value", "value"},
       3,
       "kernel 'PadV2': input 'value' is given twice; it takes 'x', 'value' "
       "(may be left out)"},
      {"Pack",
       {NULL, NULL, NULL},
       0,
       "kernel 'Pack': input 'inputs' is missing; it takes 'inputs' (any "
       "number)"},
      {"Pack",
       {"inputs", "x", NULL},
       2,
       "kernel 'Pack': input 'x' is unknown; it takes 'inputs' (any number)"},
  };

  rlo_tensor *x = count_up(DIMS(2), 1);
  for (int32_t k = 0; k < COUNT(cases); ++k) {
    rlo_named_tensor inputs[3];
    int32_t places[3];
    rlo_tensor *y = NULL;
    for (int32_t n = 0; n < 3; ++n) {
      inputs[n] = (rlo_named_tensor){cases[k].names[n], x};
    }
    expect_refusal(
        rlo_run_kernel_named(engine, cases[k].kernel, inputs, cases[k].count, NULL, &y, 1, NULL),
        RLO_INVALID_ARGUMENT, cases[k].why);
    expect_refusal(
        rlo_kernel_place_inputs(engine, cases[k].kernel, cases[k].names, cases[k].count, places),
        RLO_INVALID_ARGUMENT, cases[k].why);
    ck_assert_ptr_null(y);
  }
  rlo_tensor_release(x);
}

/* ----------------------------------------------------------------- messages */

RLO_TEST(test_input_names__in_messages) {
  rlo_tensor *x = count_up(DIMS(3, 2), 2);
  rlo_tensor *floats = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *row = count_up(DIMS(2), 1);
  static const rlo_attribute batch[] = {{"batch_dims", RLO_ATTRIBUTE_I64, 1, {.i64 = 1}},
                                        {"axis", RLO_ATTRIBUTE_I64, 1, {.i64 = 1}}};
  static const rlo_attribute segments[] = {{"num_segments", RLO_ATTRIBUTE_I64, 1, {.i64 = 4}}};

  const struct {
    const char *kernel;
    rlo_tensor *inputs[3];
    int32_t count;
    rlo_attributes attributes;
    const char *why;
  } cases[] = {
      {"GatherV2", {x}, 1, {NULL, 0}, "kernel 'GatherV2' has 1 input; it takes 2: 'x', 'indices'"},
      {"PadV2",
       {x, x, x},
       3,
       {NULL, 0},
       "kernel 'PadV2' has 3 inputs; it takes 1 to 2: 'x', 'value' (may be "
       "left out)"},
      {"GatherV2", {x, NULL}, 2, {NULL, 0}, "kernel 'GatherV2': input 'indices' is NULL"},
      {"Pack", {x, x, NULL}, 3, {NULL, 0}, "kernel 'Pack': input 'inputs[2]' is NULL"},
      {"GatherV2",
       {x, floats},
       2,
       {NULL, 0},
       "GatherV2: gather: input 'indices' is f32; it must be s32 or s64"},
      {"GatherV2",
       {x, row},
       2,
       {batch, 2},
       "GatherV2: gather: batch dimension 0 is 3 in input 'x' and 2 in input "
       "'indices'; they must be equal"},
      {"UnsortedSegmentSum",
       {x, floats},
       2,
       {segments, 1},
       "UnsortedSegmentSum: segment_sum: input 'segment_ids' is f32; it must "
       "be s32 or s64"},
      {"UnsortedSegmentSum",
       {x, row},
       2,
       {segments, 1},
       "UnsortedSegmentSum: segment_sum: dimension 0 of input 'x' is 3, "
       "dimension 0 of input 'segment_ids' 2; they must be equal"},
      {"Pack",
       {row, row, floats},
       3,
       {NULL, 0},
       "Pack: stack: input 'inputs[2]' has another type or other dimensions "
       "than input 'inputs[0]'"},
      {"ConcatV2",
       {row, floats},
       2,
       {NULL, 0},
       "ConcatV2: concatenate: input 'inputs[1]' is of f32 and rank 1, input "
       "'inputs[0]' of s32 and rank 1; they and the element size must be "
       "equal"},
  };

  for (int32_t k = 0; k < COUNT(cases); ++k) {
    rlo_tensor *y = NULL;
    expect_refusal(rlo_run_kernel(engine, cases[k].kernel, cases[k].inputs, cases[k].count,
                                  &cases[k].attributes, &y, 1, NULL),
                   RLO_INVALID_ARGUMENT, cases[k].why);
  }
  /* Shapes that are not valid. */
  rlo_shape bad = test_shape_of("s32[2]");
  bad.dims[0] = -1;
  const rlo_shape *const shapes[] = {rlo_tensor_shape(x), &bad};
  const rlo_shape *const half[] = {rlo_tensor_shape(x), NULL};
  rlo_shape result;
  int32_t count = 0;
  rlo_status status = rlo_infer_kernel(engine, "GatherV2", shapes, 2, NULL, &result, 1, &count);
  const char *begin = "GatherV2: input 'indices': ";
  ck_assert_int_ne(status, RLO_OK);
  ck_assert_int_eq(strncmp(rlo_error_last()->message, begin, strlen(begin)), 0);
  expect_refusal(rlo_infer_kernel(engine, "GatherV2", half, 2, NULL, &result, 1, &count),
                 RLO_INVALID_ARGUMENT, "kernel 'GatherV2': input 'indices' is NULL");
  rlo_tensor_release(row);
  rlo_tensor_release(floats);
  rlo_tensor_release(x);
}

/* ---------------------------------------------------- kernels of the user's */

/* y = a copy of the input that the payload names. */
static rlo_status copy_named(rlo_kernel_call *call, void *payload) {
  const char *const *name = payload;
  rlo_tensor *x = NULL;
  rlo_status status = rlo_kernel_input(call, name[0], 0, &x);
  if (status == RLO_OK) {
    status = rlo_op_identity(x, &call->outputs[0]);
  }
  return status;
}

static rlo_kernel_config config_named(const char *const *names, int32_t count) {
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Choose";
  config.backend_name = "host";
  config.min_inputs = 1;
  config.max_inputs = count;
  config.input_names = names;
  config.num_input_names = count;
  config.infer = rlo_infer_elementwise;
  config.run = copy_named;
  return config;
}

RLO_TEST(test_input_names__of_a_kernel_of_ones_own) {
  static const char *chosen = "second";
  char first[] = "first";
  char second[] = "second";
  const char *names[] = {first, second};
  rlo_kernel_config config = config_named(names, 2);
  rlo_kernel_config found = RLO_KERNEL_CONFIG_INIT;
  rlo_tensor *x = scalar(1);
  rlo_tensor *z = scalar(2);
  rlo_tensor *y = NULL;
  config.payload = &chosen;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  /* The engine has copied the names. */
  first[0] = 'F';
  second[0] = 'S';
  names[0] = NULL;
  expect_ok(rlo_kernel_find(engine, "Choose", "host", &found));
  ck_assert_int_eq(found.num_input_names, 2);
  ck_assert_str_eq(found.input_names[0], "first");
  ck_assert_str_eq(found.input_names[1], "second");
  const rlo_named_tensor both[] = {{"second", z}, {"first", x}};
  expect_ok(rlo_run_kernel_named(engine, "Choose", both, 2, NULL, &y, 1, NULL));
  expect(y, FLOATS(2), 1);
  /* By place as well. */
  rlo_tensor *const placed[] = {z, x};
  expect_ok(rlo_run_kernel(engine, "Choose", placed, 2, NULL, &y, 1, NULL));
  expect(y, FLOATS(1), 1);
  expect_refusal(rlo_run_kernel_named(engine, "Choose", both + 1, 1, NULL, &y, 1, NULL),
                 RLO_NOT_FOUND, "kernel 'Choose': the call has no input 'second'");
  /* A config that was found can be registered again, on other engines as
   * well. */
  rlo_engine *other = NULL;
  expect_ok(rlo_engine_create(NULL, &other));
  expect_ok(rlo_kernel_register(other, &found, 0, NULL));
  expect_ok(rlo_kernel_register(engine, &found, RLO_KERNEL_REPLACE, NULL));
  rlo_engine_release(other);
  rlo_tensor_release(x);
  rlo_tensor_release(z);
}

RLO_TEST(test_input_names__a_kernel_without_names) {
  rlo_tensor *x = scalar(3);
  rlo_tensor *y = NULL;
  register_multiply();
  expect_ok(multiply(x, x, &y));
  expect(y, FLOATS(9), 1);
  const rlo_named_tensor named[] = {{"a", x}, {"b", x}};
  expect_refusal(rlo_run_kernel_named(engine, "Product", named, 2, NULL, &y, 1, NULL),
                 RLO_INVALID_ARGUMENT,
                 "kernel 'Product' for backend 'host' gives its inputs no names; pass "
                 "them by place");
  rlo_tensor *const one[] = {x, NULL};
  expect_refusal(rlo_run_kernel(engine, "Product", one, 1, NULL, &y, 1, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'Product' has 1 input; it takes 2");
  expect_refusal(rlo_run_kernel(engine, "Product", one, 2, NULL, &y, 1, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'Product': input 1 is NULL");
  rlo_tensor_release(x);
}

RLO_TEST(test_input_names__wrong_configs) {
  const struct {
    const char *names[3];
    int32_t count, max_inputs;
    const char *output;
    const char *why;
  } cases[] = {
      {{"a", "a"}, 2, 2, NULL, "kernel 'Choose': two of its inputs are named 'a'"},
      {{"a", ""}, 2, 2, NULL, "kernel 'Choose': name 1 of its inputs is empty"},
      {{"a", NULL}, 2, 2, NULL, "kernel 'Choose': name 1 of its inputs is NULL"},
      {{"a"},
       1,
       2,
       NULL,
       "kernel 'Choose' takes up to 2 inputs and names 1 of them; it names all "
       "or none"},
      {{"a", "b", "c"},
       3,
       2,
       NULL,
       "kernel 'Choose' takes up to 2 inputs and names 3 of them; it names all "
       "or none"},
      {{"a", "b"}, -1, 2, NULL, "kernel 'Choose': -1 names of its inputs without a list of them"},
      {{"a", "b"}, 2, 2, "b", "kernel 'Choose': an input and a result are named 'b'"},
  };

  for (int32_t k = 0; k < COUNT(cases); ++k) {
    rlo_kernel_config config = config_named(cases[k].names, cases[k].count);
    config.max_inputs = cases[k].max_inputs;
    config.output_names = &cases[k].output;
    config.num_output_names = cases[k].output != NULL;
    expect_refusal(rlo_kernel_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT,
                   cases[k].why);
  }
  rlo_kernel_config config = config_named(NULL, 2);
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'Choose': 2 names of its inputs without a list of "
                 "them");
  /* The last of an unlimited number stands for the rest. */
  config = config_named(NAMES("a", "rest"), 2);
  config.max_inputs = -1;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
}
