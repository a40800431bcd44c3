/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_case.h"
#include "relayout/gradient.h"
#include "relayout/kernel.h"
#include "support/shape_of.h"

/* Attributes of every kind: lists, maps and copies.
 * On the host. */

RLO_FIXTURE(begin_plain, end);
RLO_TIMEOUT(60);

/* ------------------------------------------------------------------- parts */

/* One attribute of each kind, in memory that the test overwrites. */
typedef struct values {
  int64_t integers[3];
  double numbers[2];
  char text[8], other_text[8];
  const char *texts[2];
  rlo_shape shapes[2];
  rlo_attribute inner_items[2];
  rlo_attributes inner;
  rlo_attribute items[9];
  rlo_attributes list;
} values;

enum { NUM_VALUES = 9 };

static void fill_values(values *v) {
  const rlo_attribute items[NUM_VALUES] = {
      rlo_attribute_i64("i64", INT64_MIN),         rlo_attribute_f64("f64", 0.5),
      rlo_attribute_string("text", v->text),       rlo_attribute_shape("shape", &v->shapes[1]),
      rlo_attribute_i64s("i64s", v->integers, 3),  rlo_attribute_f64s("f64s", v->numbers, 2),
      rlo_attribute_strings("texts", v->texts, 2), rlo_attribute_shapes("shapes", v->shapes, 2),
      rlo_attribute_map("map", &v->inner),
  };
  *v = (values){.integers = {1, -2, INT64_MAX}, .numbers = {0.25, -1e300}};
  strcpy(v->text, "one");
  strcpy(v->other_text, "two");
  v->texts[0] = v->text;
  v->texts[1] = v->other_text;
  v->shapes[0] = test_shape_of("f32[2,3]");
  v->shapes[1] = test_shape_of("s8[4]");
  v->inner_items[0] = rlo_attribute_strings("texts", v->texts, 2);
  v->inner_items[1] = rlo_attribute_i64("deep", 9007199254740993);
  v->inner = (rlo_attributes){v->inner_items, 2};
  memcpy(v->items, items, sizeof items);
  v->list = (rlo_attributes){v->items, NUM_VALUES};
}

static void expect_lists(const rlo_attributes *a) {
  rlo_i64_list integers;
  rlo_f64_list numbers;
  rlo_string_list texts;
  rlo_shape_list shapes;
  expect_ok(rlo_attributes_get_i64s(a, "i64s", &integers));
  ck_assert_int_eq(integers.count, 3);
  ck_assert_int_eq(integers.values[2], INT64_MAX);
  expect_ok(rlo_attributes_get_f64s(a, "f64s", &numbers));
  ck_assert_int_eq(numbers.count, 2);
  ck_assert_double_eq(numbers.values[1], -1e300);
  expect_ok(rlo_attributes_get_strings(a, "texts", &texts));
  ck_assert_int_eq(texts.count, 2);
  ck_assert_str_eq(texts.values[0], "one");
  ck_assert_str_eq(texts.values[1], "two");
  expect_ok(rlo_attributes_get_shapes(a, "shapes", &shapes));
  ck_assert_int_eq(shapes.count, 2);
  test_expect_shape(&shapes.values[0], "f32[2,3]{1,0}");
  test_expect_shape(&shapes.values[1], "s8[4]{0}");
  /* A single value is a list of one. */
  expect_ok(rlo_attributes_get_i64s(a, "i64", &integers));
  ck_assert_int_eq(integers.count, 1);
  ck_assert_int_eq(integers.values[0], INT64_MIN);
  expect_ok(rlo_attributes_get_f64s(a, "f64", &numbers));
  ck_assert_int_eq(numbers.count, 1);
  ck_assert_double_eq(numbers.values[0], 0.5);
  expect_ok(rlo_attributes_get_strings(a, "text", &texts));
  ck_assert_int_eq(texts.count, 1);
  ck_assert_str_eq(texts.values[0], "one");
  expect_ok(rlo_attributes_get_shapes(a, "shape", &shapes));
  ck_assert_int_eq(shapes.count, 1);
  test_expect_shape(&shapes.values[0], "s8[4]{0}");
}

static void expect_values(const rlo_attributes *a) {
  int64_t integer = 0;
  double number = 0.0;
  const char *text = NULL;
  const rlo_shape *shape = NULL;
  const rlo_attributes *map = NULL;
  rlo_string_list texts;
  expect_ok(rlo_attributes_get_i64(a, "i64", &integer));
  ck_assert_int_eq(integer, INT64_MIN);
  expect_ok(rlo_attributes_get_f64(a, "f64", &number));
  ck_assert_double_eq(number, 0.5);
  expect_ok(rlo_attributes_get_string(a, "text", &text));
  ck_assert_str_eq(text, "one");
  expect_ok(rlo_attributes_get_shape(a, "shape", &shape));
  test_expect_shape(shape, "s8[4]{0}");
  expect_lists(a);
  expect_ok(rlo_attributes_get_map(a, "map", &map));
  ck_assert_int_eq(map->count, 2);
  expect_ok(rlo_attributes_get_i64(map, "deep", &integer));
  ck_assert_int_eq(integer, 9007199254740993);
  expect_ok(rlo_attributes_get_strings(map, "texts", &texts));
  ck_assert_str_eq(texts.values[1], "two");
}

RLO_TEST(test_attributes__copies_own_their_parts) {
  values *v = calloc(1, sizeof *v);
  rlo_attributes *clone = NULL;
  rlo_attributes *again = NULL;
  ck_assert_ptr_nonnull(v);
  fill_values(v);
  expect_values(&v->list);
  expect_ok(rlo_attributes_clone(&v->list, &clone));
  memset(v, 0xa5, sizeof *v);
  free(v);
  expect_values(clone);
  expect_ok(rlo_attributes_clone(clone, &again));
  rlo_attributes_release(clone);
  expect_values(again);
  rlo_attributes_release(again);
  /* Nothing at all, and empty lists and maps. */
  const rlo_attributes none = {NULL, 0};
  const rlo_attribute items[] = {rlo_attribute_f64s("f64s", NULL, 0),
                                 rlo_attribute_strings("texts", NULL, 0),
                                 rlo_attribute_map("map", &none)};
  const rlo_attributes empty = {items, 3};
  const rlo_attributes *map = NULL;
  rlo_string_list texts = {NULL, 7};
  expect_ok(rlo_attributes_clone(&empty, &clone));
  expect_ok(rlo_attributes_get_strings(clone, "texts", &texts));
  ck_assert_int_eq(texts.count, 0);
  expect_ok(rlo_attributes_get_map(clone, "map", &map));
  ck_assert_int_eq(map->count, 0);
  rlo_attributes_release(clone);
}

/* ------------------------------------------------------------------ refused */

RLO_TEST(test_attributes__refused) {
  const char *const holes[] = {"a", NULL};
  const rlo_attribute twins[] = {rlo_attribute_i64("a", 1), rlo_attribute_i64("a", 1)};
  const rlo_attributes twice = {twins, 2};
  const rlo_attribute unnamed = rlo_attribute_i64(NULL, 1);
  const rlo_attributes nameless = {&unnamed, 1};
  rlo_attribute loop = rlo_attribute_map("loop", NULL);
  const rlo_attributes endless = {&loop, 1};
  loop.value.map = &endless;

  const struct {
    rlo_attribute item;
    const char *why;
  } cases[] = {
      {rlo_attribute_f64s("x", NULL, 2), "attribute 'x' is a list of numbers without its values"},
      {{"x", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_F64, 1, {0}},
       "attribute 'x' is of no known type (3)"},
      {{"x", RLO_ATTRIBUTE_LIST, 0, {0}}, "attribute 'x' is of no known type (32)"},
      {{"x", RLO_ATTRIBUTE_MAP | RLO_ATTRIBUTE_LIST, 0, {0}},
       "attribute 'x' is of no known type (48)"},
      {rlo_attribute_string("x", NULL), "attribute 'x' is a string without its values"},
      {rlo_attribute_shapes("x", NULL, -1), "attribute 'x' is a list of shapes without its values"},
      {rlo_attribute_strings("x", holes, 2), "string 1 of attribute 'x' is NULL"},
      {rlo_attribute_map("x", NULL), "attribute 'x' is a map without its values"},
      {rlo_attribute_map("x", &twice), "in 'x': attribute 'a' is given twice"},
      {rlo_attribute_map("x", &nameless), "in 'x': attribute 0 has no name"},
  };

  rlo_attributes *clone = NULL;
  for (int32_t k = 0; k < COUNT(cases); ++k) {
    const rlo_attributes list = {&cases[k].item, 1};
    expect_refusal(rlo_attributes_clone(&list, &clone), RLO_INVALID_ARGUMENT, cases[k].why);
    ck_assert_ptr_null(clone);
  }
  ck_assert_int_eq(rlo_attributes_clone(&endless, &clone), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "maps nest deeper than 8"));
  /* Maps as deep as may be. */
  rlo_attribute items[RLO_MAX_ATTRIBUTE_DEPTH + 1];
  rlo_attributes maps[RLO_MAX_ATTRIBUTE_DEPTH + 1];
  for (int32_t d = 0; d <= RLO_MAX_ATTRIBUTE_DEPTH; ++d) {
    items[d] = d == 0 ? rlo_attribute_i64("leaf", true) : rlo_attribute_map("map", &maps[d - 1]);
    maps[d] = (rlo_attributes){&items[d], 1};
  }
  expect_ok(rlo_attributes_clone(&maps[RLO_MAX_ATTRIBUTE_DEPTH], &clone));
  rlo_attributes_release(clone);
}

RLO_TEST(test_attributes__wrong_types) {
  const rlo_attribute items[] = {rlo_attribute_f64s("f64s", NULL, 0), rlo_attribute_i64("i64", -1)};
  const rlo_attributes a = {items, 2};
  const rlo_attribute_spec specs[] = {{"f64s", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, false},
                                      {"f64", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, false},
                                      {"one", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_STRING, false},
                                      {"i64", RLO_ATTRIBUTE_I64, false}};
  int64_t integer = 0;
  double number = 0;
  rlo_string_list texts;
  const rlo_attributes *map = NULL;
  expect_refusal(rlo_attributes_get_strings(&a, "f64s", &texts), RLO_INVALID_ARGUMENT,
                 "attribute 'f64s' is a list of numbers, not a list of "
                 "strings");
  expect_refusal(rlo_attributes_get_map(&a, "i64", &map), RLO_INVALID_ARGUMENT,
                 "attribute 'i64' is an integer, not a map");
  expect_refusal(rlo_attributes_get_f64(&a, "f64s", &number), RLO_INVALID_ARGUMENT,
                 "attribute 'f64s' is a list of numbers, not a number");
  expect_refusal(rlo_attributes_get_i64(&a, NULL, &integer), RLO_INVALID_ARGUMENT,
                 "'name' is NULL");
  expect_refusal(rlo_attributes_get_i64(&a, "i64", NULL), RLO_INVALID_ARGUMENT,
                 "'out_value' is NULL");
  expect_refusal(rlo_attributes_check(&a, "K", specs, 4), RLO_INVALID_ARGUMENT,
                 "K: attribute 'f64s' is a list of numbers, not a list of "
                 "integers");
  rlo_attribute item = rlo_attribute_string("f64", "2");
  const rlo_attributes one = {&item, 1};
  expect_refusal(rlo_attributes_check(&one, "K", specs, 4), RLO_INVALID_ARGUMENT,
                 "K: attribute 'f64' is a string, not a number");
  item = rlo_attribute_f64("one", 2);
  expect_refusal(rlo_attributes_check(&one, "K", specs, 4), RLO_INVALID_ARGUMENT,
                 "K: attribute 'one' is a number, not an integer or a string");
  /* A list of one is no single value. */
  item = rlo_attribute_i64s("i64", DIMS(1), 1);
  expect_refusal(rlo_attributes_check(&one, "K", specs, 4), RLO_INVALID_ARGUMENT,
                 "K: attribute 'i64' is a list of integers, not an integer");
}

/* ------------------------------------------------------------------ kernels */

/* Adds map.scale times the first of "biases" to each s32. */
static rlo_status run_shift(rlo_kernel_call *call, void *payload) {
  static const rlo_attribute_spec specs[] = {{"scale", RLO_ATTRIBUTE_I64, true}};
  const rlo_attributes *map = NULL;
  rlo_f64_list biases;
  int64_t scale = 0;
  const void *from = NULL;
  void *to = NULL;
  (void)payload;
  rlo_status status = rlo_attributes_get_map(call->attributes, "map", &map);
  if (status == RLO_OK) {
    status = rlo_attributes_check(map, "Shift: 'map'", specs, 1);
  }
  if (status == RLO_OK) {
    status = rlo_attributes_get_i64(map, "scale", &scale);
  }
  if (status == RLO_OK) {
    status = rlo_attributes_get_f64s(call->attributes, "biases", &biases);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_host_data(call->inputs[0], &from);
  }
  if (status == RLO_OK) {
    status = rlo_kernel_output_host_data(call, 0, &to);
  }
  for (int32_t i = 0; status == RLO_OK && i < 3; ++i) {
    ((int32_t *)to)[i] = ((const int32_t *)from)[i] + (int32_t)scale * (int32_t)biases.values[0];
  }
  return status;
}

/* dx = dy, if the map is still what it was. */
static rlo_status shift_gradient(rlo_gradient_call *call, void *payload) {
  const rlo_attributes *map = NULL;
  int64_t scale = 0;
  (void)payload;
  rlo_status status = rlo_attributes_get_map(call->attributes, "map", &map);
  if (status == RLO_OK) {
    status = rlo_attributes_get_i64(map, "scale", &scale);
  }
  if (status == RLO_OK && scale != 100) {
    return rlo_error_set(RLO_INTERNAL, "the map has changed");
  }
  return status == RLO_OK ? rlo_op_identity(call->dys[0], &call->dxs[0]) : status;
}

/* A tape keeps a copy of what a kernel was called with. */
RLO_TEST(test_attributes__maps_reach_kernels_and_gradients) {
  static const rlo_attribute_spec specs[] = {
      {"map", RLO_ATTRIBUTE_MAP, true}, {"biases", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_LIST, true}};
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  rlo_gradient_config gradient = RLO_GRADIENT_CONFIG_INIT;
  config.kernel_name = "Shift";
  config.backend_name = RLO_BACKEND_NAME_HOST;
  config.attributes = specs;
  config.num_attributes = 2;
  config.infer = rlo_infer_elementwise;
  config.run = run_shift;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  gradient.kernel_name = "Shift";
  gradient.run = shift_gradient;
  expect_ok(rlo_gradient_register(engine, &gradient, 0, NULL));
  rlo_attribute inner = rlo_attribute_i64("scale", 100);
  rlo_attributes map = {&inner, 1};
  double biases[] = {7.0};
  rlo_attribute items[] = {rlo_attribute_map("map", &map), rlo_attribute_f64s("biases", biases, 1)};
  rlo_attributes attributes = {items, 2};
  rlo_tape *tape = NULL;
  rlo_tensor *x = count_up(DIMS(3), 1);
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  int32_t got[3];
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(rlo_run_kernel(engine, "Shift", &x, 1, &attributes, &y, 1, NULL));
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_int_eq(got[2], 702);
  inner.value.i64 = 5;
  map.count = 0;
  expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
  expect_ok(rlo_tape_end(tape));
  expect_refusal(rlo_run_kernel(engine, "Shift", &x, 1, &attributes, &y, 1, NULL), RLO_NOT_FOUND,
                 "Shift: 'map': attribute 'scale' is missing");
  rlo_tensor_release(dx);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
}

/* A built-in kernel that checks its attributes itself meets every kind. */
RLO_TEST(test_attributes__every_kind_makes_a_key) {
  values *v = calloc(1, sizeof *v);
  rlo_tensor *x = count_up(DIMS(3), 1);
  rlo_tensor *y = NULL;
  ck_assert_ptr_nonnull(v);
  fill_values(v);
  for (int32_t n = 0; n < 2; ++n) {
    expect_refusal(
        rlo_run_kernel(engine, RLO_KERNEL_NAME_MOVE_ADJOINT, &x, 1, &v->list, &y, 1, NULL),
        RLO_NOT_FOUND, "MoveAdjoint: attribute 'adjoint_of' is missing");
  }
  rlo_tensor_release(x);
  free(v);
}
