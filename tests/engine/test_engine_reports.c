/* SPDX-License-Identifier: Apache-2.0 */
/* The engine writes no more than the struct of the caller's header holds, and
 * reads structs of older headers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counting_kernel.h"
#include "derivable.h"
#include "fake_backend.h"
#include "relayout/gradient.h"
#include "relayout/kernel.h"
#include "relayout/tensor.h"
#include "support/expect.h"
#include "support/report.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Two kernels of one name, which replace each other, and what they count. */
static counted_kernel first, second;
static rlo_engine *engine;

static void begin(void) {
  const rlo_kernel_config kernel = config_of("Mine", "host", &first);
  rlo_gradient_config gradient = multiply_config();
  gradient.kernel_name = "Mine";
  expect_ok(rlo_engine_create(NULL, &engine));
  expect_ok(rlo_kernel_register(engine, &kernel, 0, NULL));
  expect_ok(rlo_gradient_register(engine, &gradient, 0, NULL));
}

static void end(void) {
  rlo_engine_release(engine);
}

static rlo_status write_found_kernel(void *out) {
  return rlo_kernel_find(engine, "Mine", "host", out);
}

static rlo_status write_old_kernel(void *out) {
  const rlo_kernel_config config = config_of("Mine", "host", &second);
  return rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, out);
}

/* There is none to be replaced: what is written are the defaults. */
static rlo_status write_no_kernel(void *out) {
  const rlo_kernel_config config = config_of("New", "host", &second);
  rlo_status status = rlo_kernel_register(engine, &config, 0, out);
  if (status == RLO_OK) {
    status = rlo_kernel_unregister(engine, "New", "host");
  }
  return status;
}

static rlo_status write_found_gradient(void *out) {
  return rlo_gradient_find(engine, "Mine", out);
}

static rlo_status write_old_gradient(void *out) {
  rlo_gradient_config config = multiply_config();
  config.kernel_name = "Mine";
  return rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, out);
}

static rlo_status write_no_gradient(void *out) {
  rlo_gradient_config config = multiply_config();
  config.kernel_name = "New";
  rlo_status status = rlo_gradient_register(engine, &config, 0, out);
  if (status == RLO_OK) {
    status = rlo_gradient_unregister(engine, "New");
  }
  return status;
}

static const test_report reports[] = {
    {"kernel config", sizeof(rlo_kernel_config), offsetof(rlo_kernel_config, built_in),
     write_found_kernel},
    {"old kernel config", sizeof(rlo_kernel_config), offsetof(rlo_kernel_config, built_in),
     write_old_kernel},
    {"old kernel config", sizeof(rlo_kernel_config), offsetof(rlo_kernel_config, min_inputs),
     write_no_kernel},
    {"gradient config", sizeof(rlo_gradient_config), offsetof(rlo_gradient_config, payload),
     write_found_gradient},
    {"old gradient config", sizeof(rlo_gradient_config), offsetof(rlo_gradient_config, payload),
     write_old_gradient},
    {"old gradient config", sizeof(rlo_gradient_config),
     offsetof(rlo_gradient_config, saved_inputs), write_no_gradient},
};

RLO_TABLE_TEST(test_engine_reports__fit_the_header_of_the_caller, reports) {
  begin();
  expect_report_fits(&reports[_i]);
  end();
}

/* ----------------------------------------------------------------- refusals */

static const void *payload_of(const char *name) {
  rlo_kernel_config found = RLO_KERNEL_CONFIG_INIT;
  expect_ok(rlo_kernel_find(engine, name, "host", &found));
  return found.payload;
}

RLO_TEST(test_engine_reports__a_refused_old_kernel_changes_nothing) {
  const rlo_kernel_config other = config_of("New", "host", &second);
  const rlo_kernel_config same = config_of("Mine", "host", &second);
  rlo_kernel_config old = RLO_KERNEL_CONFIG_INIT;
  begin();
  int32_t setups = first.setups;
  old.struct_size = sizeof old + 1;
  ck_assert_int_eq(rlo_kernel_register(engine, &other, 0, &old), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_kernel_register(engine, &same, RLO_KERNEL_REPLACE, &old),
                   RLO_INVALID_ARGUMENT);
  old.struct_size = sizeof old;
  ck_assert_int_eq(rlo_kernel_find(engine, "New", "host", &old), RLO_NOT_FOUND);
  ck_assert_ptr_eq(payload_of("Mine"), &first);
  ck_assert(first.setups == setups && first.disposals == 0);
  end();
}

RLO_TEST(test_engine_reports__a_refused_old_gradient_changes_nothing) {
  rlo_gradient_config config = multiply_config();
  rlo_gradient_config old = RLO_GRADIENT_CONFIG_INIT;
  begin();
  old.struct_size = sizeof old + 1;
  config.payload = &second;
  config.kernel_name = "New";
  ck_assert_int_eq(rlo_gradient_register(engine, &config, 0, &old), RLO_INVALID_ARGUMENT);
  config.kernel_name = "Mine";
  ck_assert_int_eq(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, &old),
                   RLO_INVALID_ARGUMENT);
  old.struct_size = sizeof old;
  ck_assert_int_eq(rlo_gradient_find(engine, "New", &old), RLO_NOT_FOUND);
  expect_ok(rlo_gradient_find(engine, "Mine", &old));
  ck_assert_ptr_ne(old.payload, &second);
  end();
}

/* ------------------------------------------------------------- what is read */

/* The fields behind an older struct are not read; they take their defaults. */
RLO_TEST(test_engine_reports__an_older_kernel_config_is_registered) {
  rlo_kernel_config config = config_of("Older", "host", &second);
  rlo_kernel_config found = RLO_KERNEL_CONFIG_INIT;
  begin();
  config.struct_size = offsetof(rlo_kernel_config, built_in);
  config.built_in = &second;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  expect_ok(rlo_kernel_find(engine, "Older", "host", &found));
  ck_assert_ptr_eq(found.payload, &second);
  ck_assert_ptr_null(found.built_in);
  ck_assert_uint_eq(found.struct_size, sizeof found);
  /* A config that ends before `infer` lacks a required field. */
  config.struct_size = offsetof(rlo_kernel_config, infer);
  expect_refusal(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL),
                 RLO_INVALID_ARGUMENT, "kernel 'Older' has no infer");
  config.struct_size = sizeof config + 8;
  ck_assert_int_eq(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL),
                   RLO_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "begin with RLO_KERNEL_CONFIG_INIT"));
  end();
}

RLO_TEST(test_engine_reports__an_older_gradient_config_is_registered) {
  rlo_gradient_config config = multiply_config();
  rlo_gradient_config found = RLO_GRADIENT_CONFIG_INIT;
  begin();
  config.kernel_name = "Older";
  config.struct_size = offsetof(rlo_gradient_config, payload);
  config.payload = &second;
  expect_ok(rlo_gradient_register(engine, &config, 0, NULL));
  expect_ok(rlo_gradient_find(engine, "Older", &found));
  ck_assert(found.run == config.run && found.payload == NULL);
  ck_assert_uint_eq(found.struct_size, sizeof found);
  config.struct_size = offsetof(rlo_gradient_config, run);
  expect_refusal(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL),
                 RLO_INVALID_ARGUMENT, "the gradient of kernel 'Older' has no function to run");
  config.struct_size = sizeof config + 8;
  ck_assert_int_eq(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL),
                   RLO_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "begin with RLO_GRADIENT_CONFIG_INIT"));
  end();
}

/* The methods of fake_create, by another header. */
static rlo_backend_methods methods;
static fake backend;

static rlo_status fail_clear(void *self, void *memory, int64_t bytes) {
  (void)self;
  (void)memory;
  (void)bytes;
  return RLO_INTERNAL;
}

static rlo_status create_other(rlo_engine *of, void *payload,
                               const rlo_backend_methods **out_methods, void **out_self) {
  size_t bytes = *(const size_t *)payload;
  rlo_status status = fake_create(of, &backend, out_methods, out_self);
  methods = **out_methods;
  methods.struct_size = bytes;
  methods.clear = fail_clear;
  *out_methods = &methods;
  return status;
}

/* The engine does not call a method that an older backend lacks. */
RLO_TEST(test_engine_reports__an_older_backend_is_created) {
  static const size_t older = offsetof(rlo_backend_methods, clear);
  static const size_t newer = sizeof(rlo_backend_methods) + 8;
  static const size_t none = offsetof(rlo_backend_methods, read);
  rlo_shape shape = test_shape_of("f32[3]");
  rlo_tensor *tensor = NULL;
  begin();
  expect_ok(rlo_backend_register(engine, "older", create_other, (void *)(uintptr_t)&older, 0));
  expect_ok(rlo_backend_set(engine, "older"));
  float y[3] = {1, 1, 1};
  expect_ok(rlo_tensor_create(engine, &shape, NULL, &tensor));
  expect_ok(rlo_tensor_read(tensor, y, sizeof y));
  ck_assert(y[0] == 0 && y[1] == 0 && y[2] == 0);
  rlo_tensor_release(tensor);
  const size_t *const others[] = {&newer, &none};
  const char *const names[] = {"newer", "none"};
  for (int k = 0; k < 2; ++k) {
    expect_ok(
        rlo_backend_register(engine, names[k], create_other, (void *)(uintptr_t)others[k], 0));
    ck_assert_int_eq(rlo_backend_set(engine, names[k]), RLO_INVALID_ARGUMENT);
  }
  /* The struct of `none` ends before `destroy`. */
  ck_assert_int_eq(backend.destroyed, 1);
  end();
}

/* -------------------------------------------------------------------- lists */

enum { ROOM = 64 };

typedef rlo_status (*list_fn)(void *out, size_t bytes, int32_t capacity, int32_t *count);

static rlo_status list_kernels(void *out, size_t bytes, int32_t capacity, int32_t *count) {
  return rlo_kernel_list(engine, "host", out, bytes, capacity, count);
}

static rlo_status list_gradients(void *out, size_t bytes, int32_t capacity, int32_t *count) {
  return rlo_gradient_list(engine, out, bytes, capacity, count);
}

static const struct {
  const char *type;
  size_t bytes, older_bytes;
  list_fn list;
} lists[] = {
    {"rlo_kernel_config", sizeof(rlo_kernel_config), offsetof(rlo_kernel_config, built_in),
     list_kernels},
    {"rlo_gradient_config", sizeof(rlo_gradient_config), offsetof(rlo_gradient_config, payload),
     list_gradients},
};

/* Elements of an older header: the same bytes, but for struct_size. */
static void expect_narrow(size_t bytes, size_t older_bytes, int32_t capacity, list_fn list) {
  unsigned char *whole = calloc(ROOM, bytes);
  unsigned char *narrow = test_guarded_make(ROOM * older_bytes);
  int32_t count = 0;
  int32_t again = 0;
  ck_assert_ptr_nonnull(whole);
  expect_ok(list(whole, bytes, ROOM, &count));
  expect_ok(list(narrow, older_bytes, capacity, &again));
  ck_assert(count == again && count > 2 && count <= ROOM);
  int32_t written = count < capacity ? count : capacity;
  for (int32_t k = 0; k < written; ++k) {
    const unsigned char *element = narrow + (size_t)k * older_bytes;
    size_t size;
    memcpy(&size, element, sizeof size);
    ck_assert_uint_eq(size, older_bytes);
    ck_assert_mem_eq(element + sizeof size, whole + (size_t)k * bytes + sizeof size,
                     older_bytes - sizeof size);
  }
  expect_guard(narrow, (size_t)written * older_bytes, ROOM * older_bytes);
  free(narrow);
  free(whole);
}

static void expect_list_refused(list_fn list, size_t bytes, int32_t capacity, const char *message) {
  unsigned char *out = test_guarded_make(bytes);
  int32_t count = -5;
  expect_refusal(list(out, bytes, capacity, &count), RLO_INVALID_ARGUMENT, message);
  ck_assert_int_eq(count, -5);
  expect_guard(out, 0, bytes);
  free(out);
}

RLO_TABLE_TEST(test_engine_reports__lists_have_an_element_size, lists) {
  size_t bytes = lists[_i].bytes;
  list_fn list = lists[_i].list;
  begin();
  expect_narrow(bytes, lists[_i].older_bytes, ROOM, list);
  expect_narrow(bytes, lists[_i].older_bytes, 2, list);
  const size_t unknown[] = {0, sizeof(size_t) - 1, bytes + 8};
  for (size_t k = 0; k < sizeof unknown / sizeof *unknown; ++k) {
    char message[200];
    (void)snprintf(message, sizeof message,
                   "entries of %zu bytes; this library knows %s of up to %zu", unknown[k],
                   lists[_i].type, bytes);
    expect_list_refused(list, unknown[k], 1, message);
  }
  expect_list_refused(list, bytes, -1, "room for -1 entries");
  end();
}

/* An entry of a list with an older header can be registered again. */
RLO_TEST(test_engine_reports__a_listed_config_is_registered) {
  const size_t older = offsetof(rlo_gradient_config, payload);
  unsigned char *narrow = test_guarded_make(ROOM * older);
  int32_t count = 0;
  begin();
  expect_ok(list_gradients(narrow, older, ROOM, &count));
  rlo_gradient_config config;
  memcpy(&config, narrow, older);
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL));
  free(narrow);
  end();
}
