/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "counting_kernel.h"
#include "engine_case.h"
#include "fake_backend.h"
#include "relayout/engine_ops.h"

/* Kernels that say what happens to them, on backends that are the host's under
 * other names. */

/* ----------------------------------------------------------------- backends */

RLO_FIXTURE(begin_plain, end);

RLO_TEST(test_engine_registry__priority_chooses) {
  static fake low = {0};
  static fake high = {0};
  static fake broken = {.failures = 1};
  const char *name = NULL;
  expect_ok(rlo_backend_register(engine, "low", fake_create, &low, 0));
  expect_ok(rlo_backend_register(engine, "broken", fake_create, &broken, 9));
  expect_ok(rlo_backend_register(engine, "high", fake_create, &high, 5));
  ck_assert_int_eq(high.created, 0);
  expect_ok(rlo_backend_active(engine, &name));
  ck_assert_str_eq(name, "high");
  ck_assert_int_eq(broken.failures, 0);
  ck_assert_int_eq(low.created, 0);
  const char *names[4];
  int32_t count = 0;
  expect_ok(rlo_backend_list(engine, names, 4, &count));
  ck_assert_int_eq(count, 4);
  ck_assert_str_eq(names[0], "broken");
  ck_assert_str_eq(names[3], "low");
  /* Asked for, the broken one works by now. */
  expect_ok(rlo_backend_set(engine, "broken"));
  expect_ok(rlo_backend_set(engine, "high"));
  expect_ok(rlo_backend_set(engine, "broken"));
  ck_assert_int_eq(broken.created, 1);
  ck_assert_int_eq(high.created, 1);
  expect_ok(rlo_backend_remove(engine, "broken"));
  ck_assert_int_eq(broken.destroyed, 1);
  expect_ok(rlo_backend_active(engine, &name));
  ck_assert_str_eq(name, "high");
}

RLO_TEST(test_engine_registry__names_of_backends) {
  static fake f = {0};
  expect_refusal(rlo_backend_set(engine, "cuda"), RLO_NOT_FOUND,
                 "there is no backend 'cuda'; there is 'host'");
  expect_refusal(rlo_backend_remove(engine, "cuda"), RLO_NOT_FOUND,
                 "there is no backend 'cuda'; there is 'host'");
  expect_refusal(rlo_backend_register(engine, "host", fake_create, &f, 1), RLO_ALREADY_EXISTS,
                 "backend 'host' is registered already; remove it first");
  expect_ok(rlo_backend_remove(engine, "host"));
  const char *name = NULL;
  expect_refusal(rlo_backend_active(engine, &name), RLO_NOT_FOUND, "no backend is registered");
}

/* ------------------------------------------------------------------ kernels */

static double run_first(const char *kernel, rlo_tensor *x) {
  float got[3];
  rlo_tensor *y = NULL;
  expect_ok(rlo_run_kernel(engine, kernel, &x, 1, NULL, &y, 1, NULL));
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  rlo_tensor_release(y);
  return (double)got[0];
}

/* The test of the same name in TensorFlow.js: a kernel of one name on two
 * backends runs on the active one; setup and dispose are seen once. */
RLO_TEST(test_engine_registry__each_backend_has_its_own) {
  static fake f = {0};
  static counted_kernel here = {.factor = 2};
  static counted_kernel there = {.factor = 3};
  expect_ok(rlo_backend_register(engine, "my_backend", fake_create, &f, 0));
  const rlo_kernel_config on_host = config_of("Scale", "host", &here);
  const rlo_kernel_config on_mine = config_of("Scale", "my_backend", &there);
  expect_ok(rlo_kernel_register(engine, &on_host, 0, NULL));
  expect_ok(rlo_kernel_register(engine, &on_mine, 0, NULL));
  ck_assert_int_eq(here.setups + there.setups, 0);
  expect_ok(rlo_backend_set(engine, "host"));
  expect_ok(rlo_backend_set(engine, "host"));
  ck_assert_int_eq(here.setups, 1);
  ck_assert_int_eq(there.setups, 0);
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  ck_assert_double_eq(run_first("Scale", x), 2.0);
  expect_ok(rlo_backend_set(engine, "my_backend"));
  expect_ok(rlo_backend_set(engine, "host"));
  expect_ok(rlo_backend_set(engine, "my_backend"));
  ck_assert_int_eq(there.setups, 1);
  rlo_tensor *y = NULL;
  /* Its memory is not the host's. */
  expect_refusal(rlo_run_kernel(engine, "Scale", &x, 1, NULL, &y, 1, NULL), RLO_UNSUPPORTED,
                 "kernel 'Scale': backend 'my_backend' has no host memory");
  ck_assert_int_eq(there.runs, 1);
  rlo_engine_stats stats = RLO_ENGINE_STATS_INIT;
  ck_assert_int_eq(rlo_engine_get_stats(engine, &stats), RLO_OK);
  ck_assert_int_eq(stats.copies, 1);
  ck_assert_int_eq(stats.copied_bytes, 12);
  rlo_tensor_release(x);
  expect_ok(rlo_kernel_unregister(engine, "Scale", "my_backend"));
  ck_assert_int_eq(there.disposals, 1);
  expect_ok(rlo_backend_remove(engine, "host"));
  ck_assert_int_eq(here.disposals, 1);
  ck_assert_int_eq(f.destroyed, 0);
}

RLO_TEST(test_engine_registry__set_up_once_for_each_instance) {
  static fake f = {0};
  static counted_kernel c = {0};
  const rlo_kernel_config config = config_of("Late", "mine", &c);
  expect_ok(rlo_backend_register(engine, "mine", fake_create, &f, 0));
  expect_ok(rlo_backend_set(engine, "mine"));
  /* Registered while the backend is there. */
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  ck_assert_int_eq(c.setups, 1);
  expect_ok(rlo_backend_remove(engine, "mine"));
  ck_assert_int_eq(c.disposals, 1);
  ck_assert_int_eq(f.destroyed, 1);
  /* The kernel has stayed for the next of that name. */
  expect_ok(rlo_backend_register(engine, "mine", fake_create, &f, 0));
  ck_assert_int_eq(c.setups, 1);
  expect_ok(rlo_backend_set(engine, "mine"));
  ck_assert_int_eq(c.setups, 2);
  expect_ok(rlo_kernel_unregister(engine, "Late", "mine"));
  ck_assert_int_eq(c.disposals, 2);
  expect_refusal(rlo_kernel_unregister(engine, "Late", "mine"), RLO_NOT_FOUND,
                 "kernel 'Late' is not registered for backend 'mine'; no "
                 "backend has it");
}

RLO_TEST(test_engine_registry__dispose_with_the_engine) {
  static counted_kernel c = {0};
  static counted_kernel unused = {0};
  rlo_engine *other = NULL;
  expect_ok(rlo_engine_create(NULL, &other));
  const rlo_kernel_config config = config_of("Own", "host", &c);
  const rlo_kernel_config elsewhere = config_of("Own", "nowhere", &unused);
  expect_ok(rlo_kernel_register(other, &config, 0, NULL));
  expect_ok(rlo_kernel_register(other, &elsewhere, 0, NULL));
  expect_ok(rlo_backend_set(other, "host"));
  rlo_engine_release(other);
  ck_assert_int_eq(c.setups, 1);
  ck_assert_int_eq(c.disposals, 1);
  ck_assert_int_eq(unused.setups + unused.disposals, 0);
}

RLO_TEST(test_engine_registry__replacing_hands_back_the_old) {
  static counted_kernel first = {.factor = 2};
  static counted_kernel second = {.factor = 3};
  rlo_kernel_config old = RLO_KERNEL_CONFIG_INIT;
  const rlo_kernel_config a = config_of("Scale", "host", &first);
  const rlo_kernel_config b = config_of("Scale", "host", &second);
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  expect_ok(rlo_kernel_register(engine, &a, RLO_KERNEL_REPLACE, &old));
  ck_assert_ptr_null(old.kernel_name);
  expect_refusal(rlo_kernel_register(engine, &b, 0, &old), RLO_ALREADY_EXISTS,
                 "kernel 'Scale' is registered for backend 'host' already; "
                 "RLO_KERNEL_REPLACE would replace it");
  ck_assert_double_eq(run_first("Scale", x), 2.0);
  expect_ok(rlo_kernel_register(engine, &b, RLO_KERNEL_REPLACE, &old));
  ck_assert_double_eq(run_first("Scale", x), 3.0);
  ck_assert_int_eq(first.disposals, 1);
  ck_assert_ptr_eq(old.payload, &first);
  ck_assert_str_eq(old.kernel_name, "Scale");
  /* And what was handed back can be put back. */
  expect_ok(rlo_kernel_register(engine, &old, RLO_KERNEL_REPLACE, NULL));
  ck_assert_double_eq(run_first("Scale", x), 2.0);
  ck_assert_int_eq(first.setups, 2);
  rlo_tensor_release(x);
}

/* A built-in kernel is a kernel like any other. */
RLO_TEST(test_engine_registry__built_in_kernels_can_be_replaced) {
  static counted_kernel c = {.factor = 5};
  rlo_kernel_config old = RLO_KERNEL_CONFIG_INIT;
  const rlo_kernel_config mine = config_of("Identity", "host", &c);
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  ck_assert_double_eq(run_first("Identity", x), 1.0);
  expect_ok(rlo_kernel_register(engine, &mine, RLO_KERNEL_REPLACE, &old));
  ck_assert_double_eq(run_first("Identity", x), 5.0);
  expect_ok(rlo_kernel_register(engine, &old, RLO_KERNEL_REPLACE, NULL));
  ck_assert_double_eq(run_first("Identity", x), 1.0);
  expect_ok(rlo_kernel_unregister(engine, "Identity", "host"));
  rlo_tensor *y = NULL;
  expect_refusal(rlo_op_identity(x, &y), RLO_NOT_FOUND,
                 "kernel 'Identity' is not registered for backend 'host'; no "
                 "backend has it");
  rlo_tensor_release(x);
}

RLO_TEST(test_engine_registry__a_failed_setup_changes_nothing) {
  static fake f = {0};
  static counted_kernel good = {0};
  static counted_kernel bad = {.setup_status = RLO_UNSUPPORTED};
  const char *name = NULL;
  expect_ok(rlo_backend_register(engine, "mine", fake_create, &f, 9));
  const rlo_kernel_config a = config_of("A", "mine", &good);
  const rlo_kernel_config b = config_of("B", "mine", &bad);
  expect_ok(rlo_kernel_register(engine, &a, 0, NULL));
  expect_ok(rlo_kernel_register(engine, &b, 0, NULL));
  expect_ok(rlo_backend_active(engine, &name));
  ck_assert_str_eq(name, "host");
  ck_assert_int_eq(good.setups, good.disposals);
  ck_assert_int_eq(bad.disposals, 0);
  ck_assert_int_eq(f.destroyed, f.created);
  ck_assert_int_eq(rlo_backend_set(engine, "mine"), RLO_UNSUPPORTED);
  /* For an instance that is there. */
  const rlo_kernel_config c = config_of("C", "host", &bad);
  rlo_kernel_config found = RLO_KERNEL_CONFIG_INIT;
  ck_assert_int_eq(rlo_kernel_register(engine, &c, 0, NULL), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_kernel_find(engine, "C", "host", &found), RLO_NOT_FOUND);
}

RLO_TEST(test_engine_registry__list_and_copy) {
  rlo_kernel_config configs[64];
  int32_t count = 0;
  int32_t copied = 0;
  expect_ok(rlo_kernel_list(engine, "host", configs, sizeof configs[0], 64, &count));
  ck_assert_int_ge(count, 22);
  for (int32_t k = 1; k < count; ++k) {
    ck_assert_int_lt(strcmp(configs[k - 1].kernel_name, configs[k].kernel_name), 0);
  }
  expect_ok(rlo_kernel_copy_all(engine, "host", "my_backend", 0, &copied));
  ck_assert_int_eq(copied, count);
  expect_ok(rlo_kernel_list(engine, "my_backend", NULL, 0, 0, &count));
  ck_assert_int_eq(count, copied);
  expect_refusal(rlo_kernel_copy_all(engine, "my", "host", 0, NULL), RLO_NOT_FOUND,
                 "backend 'my' has no kernel to copy");
  ck_assert_int_eq(rlo_kernel_copy_all(engine, "host", "my_backend", 0, NULL), RLO_ALREADY_EXISTS);
  expect_ok(rlo_kernel_copy_all(engine, "host", "my_backend", RLO_KERNEL_REPLACE, NULL));
  /* A backend that runs no moves says so. */
  static fake f = {0};
  expect_ok(rlo_backend_register(engine, "my_backend", fake_create, &f, 0));
  expect_ok(rlo_backend_set(engine, "my_backend"));
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  expect_refusal(rlo_op_reverse(x, DIMS(0), 1, &y), RLO_UNSUPPORTED,
                 "backend 'my_backend' does not run moves");
  rlo_tensor_release(x);
  expect_ok(rlo_backend_remove(engine, "my_backend"));
}

/* A built-in kernel is registered again as it was found, under any name; with a
 * function of its own, that runs. */
RLO_TEST(test_engine_registry__built_in_again) {
  static counted_kernel c = {.factor = 2};
  rlo_kernel_config found = RLO_KERNEL_CONFIG_INIT;
  rlo_kernel_config old = RLO_KERNEL_CONFIG_INIT;
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  const rlo_attribute dims = rlo_attribute_i64s("dims", DIMS(0), 1);
  const rlo_attributes attributes = {&dims, 1};
  expect_ok(rlo_kernel_find(engine, "Reverse", "host", &found));
  ck_assert(found.run == NULL && found.built_in != NULL);
  found.kernel_name = "Backwards";
  expect_ok(rlo_kernel_register(engine, &found, 0, NULL));
  expect_ok(rlo_run_kernel(engine, "Backwards", &x, 1, &attributes, &y, 1, NULL));
  expect(y, FLOATS(3, 2, 1), 3);
  /* A function in place of the operation. */
  found.run = config_of("Backwards", "host", &c).run;
  found.infer = rlo_infer_elementwise;
  found.payload = &c;
  expect_ok(rlo_kernel_register(engine, &found, RLO_KERNEL_REPLACE, &old));
  expect_ok(rlo_run_kernel(engine, "Backwards", &x, 1, &attributes, &y, 1, NULL));
  expect(y, FLOATS(2, 4, 6), 3);
  /* Back to what it was. */
  expect_ok(rlo_kernel_register(engine, &old, RLO_KERNEL_REPLACE, NULL));
  expect_ok(rlo_run_kernel(engine, "Backwards", &x, 1, &attributes, &y, 1, NULL));
  expect(y, FLOATS(3, 2, 1), 3);
  rlo_tensor_release(x);
}

RLO_TEST(test_engine_registry__missing_kernels) {
  static fake f = {0};
  static counted_kernel c = {.factor = 2};
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  expect_ok(rlo_backend_register(engine, "mine", fake_create, &f, 0));
  expect_ok(rlo_backend_set(engine, "mine"));
  expect_refusal(rlo_op_transpose(x, NULL, &y), RLO_NOT_FOUND,
                 "kernel 'Transpose' is not registered for backend 'mine'; it "
                 "is for 'host'");
  expect_refusal(rlo_run_kernel(engine, "MatMul", &x, 1, NULL, &y, 1, NULL), RLO_NOT_FOUND,
                 "kernel 'MatMul' is not registered for backend 'mine'; no "
                 "backend has it");
  rlo_tensor_release(x);
  end();
  /* Where it is allowed, the host steps in. */
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.allow_host_fallback = true;
  begin_with(options);
  const rlo_kernel_config config = config_of("Scale", "host", &c);
  expect_ok(rlo_backend_register(engine, "mine", fake_create, &f, 9));
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  ck_assert_str_eq(rlo_tensor_backend_name(x), "mine");
  ck_assert_double_eq(run_first("Scale", x), 2.0);
  rlo_engine_stats stats = RLO_ENGINE_STATS_INIT;
  ck_assert_int_eq(rlo_engine_get_stats(engine, &stats), RLO_OK);
  ck_assert_int_eq(stats.fallbacks, 1);
  ck_assert_int_eq(stats.copies, 1);
  ck_assert_double_eq(run_first("Scale", x), 2.0);
  ck_assert_int_eq(rlo_engine_get_stats(engine, &stats), RLO_OK);
  ck_assert_int_eq(stats.fallbacks, 2);
  /* The copy was kept. */
  ck_assert_int_eq(stats.copies, 1);
  rlo_tensor_release(x);
}

/* An address that was borrowed stays, wherever else the tensor is wanted. */
/* A backend has the kernel, but refuses the problem: the host runs it where
 * that is allowed, at once and when it is pending. */
RLO_LOOP_TEST(test_engine_registry__what_a_backend_refuses, 0, 2) {
  static fake f = {0};
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  rlo_tensor *y = NULL;
  for (int allows = 0; allows <= 1; ++allows) {
    end();
    options.is_fusing = _i == 1;
    options.allow_host_fallback = allows == 1;
    begin_with(options);
    expect_ok(rlo_backend_register(engine, "mine", fake_create, &f, 9));
    expect_ok(rlo_kernel_copy_all(engine, "host", "mine", 0, NULL));
    rlo_tensor *x = tensor(DIMS(2, 2), 2, FLOATS(1, 2, 3, 4));
    ck_assert_str_eq(rlo_tensor_backend_name(x), "mine");
    rlo_status status = rlo_op_transpose(x, NULL, &y);
    if (status == RLO_OK) {
      status = rlo_tensor_materialize(y);
    }
    if (allows == 1) {
      expect_ok(status);
      ck_assert_str_eq(rlo_tensor_backend_name(y), "host");
      ck_assert_int_eq(engine_stats().fallbacks, 1);
      expect(y, FLOATS(1, 3, 2, 4), 4);
    } else {
      ck_assert_int_eq(status, RLO_UNSUPPORTED);
      ck_assert_str_eq(rlo_error_last()->message, "backend 'mine' does not run moves");
      rlo_tensor_release(y);
    }
    y = NULL;
    rlo_tensor_release(x);
  }
}

RLO_TEST(test_engine_registry__copies_stay) {
  static fake a = {0};
  static fake b = {0};
  static counted_kernel c = {.factor = 2};
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  const void *first = NULL;
  const void *again = NULL;
  expect_ok(rlo_backend_register(engine, "a", fake_create, &a, 9));
  expect_ok(rlo_backend_register(engine, "b", fake_create, &b, 8));
  const rlo_kernel_config config = config_of("Scale", "b", &c);
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  expect_ok(rlo_tensor_host_data(x, &first));
  expect_ok(rlo_backend_set(engine, "b"));
  ck_assert_int_eq(rlo_run_kernel(engine, "Scale", &x, 1, NULL, &y, 1, NULL), RLO_UNSUPPORTED);
  expect_ok(rlo_tensor_host_data(x, &again));
  ck_assert_ptr_eq(first, again);
  ck_assert_double_eq((double)((const float *)first)[2], 3.0);
  rlo_engine_stats stats = RLO_ENGINE_STATS_INIT;
  ck_assert_int_eq(rlo_engine_get_stats(engine, &stats), RLO_OK);
  ck_assert_int_eq(stats.copies, 2);
  rlo_tensor_release(x);
}

/* Each built-in kernel has its constant, and each constant is a kernel. */
RLO_TEST(test_engine_registry__names_of_kernels) {
  static const char *const names[] = {RLO_KERNEL_NAME_IDENTITY,
                                      RLO_KERNEL_NAME_RELAYOUT,
                                      RLO_KERNEL_NAME_TRANSPOSE,
                                      RLO_KERNEL_NAME_RESHAPE,
                                      RLO_KERNEL_NAME_EXPAND_DIMS,
                                      RLO_KERNEL_NAME_SLICE,
                                      RLO_KERNEL_NAME_STRIDED_SLICE,
                                      RLO_KERNEL_NAME_PAD_V2,
                                      RLO_KERNEL_NAME_MIRROR_PAD,
                                      RLO_KERNEL_NAME_REVERSE,
                                      RLO_KERNEL_NAME_ROLL,
                                      RLO_KERNEL_NAME_BROADCAST_TO,
                                      RLO_KERNEL_NAME_TILE,
                                      RLO_KERNEL_NAME_REPEAT,
                                      RLO_KERNEL_NAME_CONCAT,
                                      RLO_KERNEL_NAME_CONCAT_V2,
                                      RLO_KERNEL_NAME_PACK,
                                      RLO_KERNEL_NAME_SPLIT_V,
                                      RLO_KERNEL_NAME_UNPACK,
                                      RLO_KERNEL_NAME_SPACE_TO_BATCH_ND,
                                      RLO_KERNEL_NAME_BATCH_TO_SPACE_ND,
                                      RLO_KERNEL_NAME_SPACE_TO_DEPTH,
                                      RLO_KERNEL_NAME_DEPTH_TO_SPACE,
                                      RLO_KERNEL_NAME_CAST,
                                      RLO_KERNEL_NAME_SUM,
                                      RLO_KERNEL_NAME_ADD_N,
                                      RLO_KERNEL_NAME_RESCALE,
                                      RLO_KERNEL_NAME_GATHER_V2,
                                      RLO_KERNEL_NAME_UNSORTED_SEGMENT_SUM,
                                      RLO_KERNEL_NAME_MULTIPLY,
                                      RLO_KERNEL_NAME_LESS,
                                      RLO_KERNEL_NAME_LESS_EQUAL,
                                      RLO_KERNEL_NAME_GREATER,
                                      RLO_KERNEL_NAME_GREATER_EQUAL,
                                      RLO_KERNEL_NAME_EQUAL,
                                      RLO_KERNEL_NAME_ABS,
                                      RLO_KERNEL_NAME_STEP,
                                      RLO_KERNEL_NAME_EXP,
                                      RLO_KERNEL_NAME_TANH,
                                      RLO_KERNEL_NAME_SELECT,
                                      RLO_KERNEL_NAME_QUANTIZE,
                                      RLO_KERNEL_NAME_DEQUANTIZE,
                                      RLO_KERNEL_NAME_MOVE_ADJOINT};
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  int32_t count = 0;
  expect_ok(rlo_kernel_list(engine, RLO_BACKEND_NAME_HOST, NULL, 0, 0, &count));
  ck_assert_int_eq(count, COUNT(names));
  for (int32_t n = 0; n < COUNT(names); ++n) {
    expect_ok(rlo_kernel_find(engine, names[n], RLO_BACKEND_NAME_HOST, &config));
    for (int32_t other = 0; other < n; ++other) {
      ck_assert_str_ne(names[n], names[other]);
    }
  }
}
