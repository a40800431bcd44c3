/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/status.h"

static bool is_zero(const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != 0) {
      return false;
    }
  }
  return true;
}

START_TEST(test_alloc__memory_is_zeroed)
{
  for (size_t bytes = 1; bytes < 5000; bytes = bytes * 3 + 1) {
    unsigned char *memory = rlo__alloc(bytes);
    ck_assert_ptr_nonnull(memory);
    ck_assert(is_zero(memory, bytes));
    memset(memory, 0xff, bytes);
    rlo__free(memory);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

END_TEST

START_TEST(test_alloc__nothing_is_a_pointer_too)
{
  void *a = rlo__alloc(0);
  void *b = rlo__alloc_array(0, 8);
  void *c = rlo__alloc_array(8, 0);
  ck_assert(a != NULL && b != NULL && c != NULL && a != b);
  ck_assert_int_eq(rlo__alloc_live_count(), 3);
  rlo__free(a);
  rlo__free(b);
  rlo__free(c);
  rlo__free(NULL);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

END_TEST

START_TEST(test_alloc__a_product_that_wraps_is_refused)
{
  /* The product is 16 modulo 2^64. */
  ck_assert_ptr_null(rlo__alloc_array(SIZE_MAX / 16 + 2, 16));
  ck_assert_int_eq(rlo_error_last()->status, RLO_OUT_OF_MEMORY);
  char *array = rlo__alloc_array(4, 16);
  ck_assert_ptr_nonnull(array);
  array[63] = 'x';
  ck_assert_ptr_null(rlo__alloc_resize(array, 4, SIZE_MAX / 16 + 2, 16));
  ck_assert_int_eq(array[63], 'x');
  rlo__free(array);
}

END_TEST

START_TEST(test_alloc__resize_keeps_and_zeroes)
{
  int *array = rlo__alloc_resize(NULL, 0, 3, sizeof *array);
  ck_assert_ptr_nonnull(array);
  for (int i = 0; i < 3; ++i) {
    ck_assert_int_eq(array[i], 0);
    array[i] = i + 1;
  }
  array = rlo__alloc_resize(array, 3, 1000, sizeof *array);
  ck_assert_ptr_nonnull(array);
  for (int i = 0; i < 1000; ++i) {
    ck_assert_int_eq(array[i], i < 3 ? i + 1 : 0);
  }
  array = rlo__alloc_resize(array, 1000, 2, sizeof *array);
  ck_assert_ptr_nonnull(array);
  ck_assert_int_eq(array[1], 2);
  array = rlo__alloc_resize(array, 2, 0, sizeof *array);
  ck_assert_ptr_nonnull(array);
  rlo__free(array);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

END_TEST

START_TEST(test_alloc__copies_strings)
{
  char *copy = rlo__alloc_string("padded");
  ck_assert_str_eq(copy, "padded");
  rlo__free(copy);
}

END_TEST

START_TEST(test_alloc__the_nth_fails_once)
{
  rlo__alloc_set_fault(2, false);
  void *a = rlo__alloc(1);
  void *b = rlo__alloc(17);
  ck_assert_int_eq(rlo_error_last()->status, RLO_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "17"));
  void *c = rlo__alloc(1);
  ck_assert_ptr_nonnull(a);
  ck_assert_ptr_null(b);
  ck_assert_ptr_nonnull(c);
  ck_assert_int_eq(rlo__alloc_tried_count(), 3);
  rlo__free(a);
  rlo__free(c);
  rlo__alloc_set_fault(0, false);
}

END_TEST

START_TEST(test_alloc__from_the_nth_on_all_fail)
{
  rlo__alloc_set_fault(2, true);
  char *a = rlo__alloc(1);
  ck_assert_ptr_nonnull(a);
  ck_assert_ptr_null(rlo__alloc(1));
  ck_assert_ptr_null(rlo__alloc_array(1, 1));
  ck_assert_ptr_null(rlo__alloc_resize(a, 1, 2, 1));
  ck_assert_ptr_null(rlo__alloc_string("x"));
  rlo__alloc_set_fault(0, false);
  rlo__free(a);
  void *b = rlo__alloc(1);
  ck_assert_ptr_nonnull(b);
  rlo__free(b);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

END_TEST

int main(void) {
  Suite *suite = suite_create("alloc");
  TCase *tcase = tcase_create("alloc");
  tcase_add_test(tcase, test_alloc__memory_is_zeroed);
  tcase_add_test(tcase, test_alloc__nothing_is_a_pointer_too);
  tcase_add_test(tcase, test_alloc__a_product_that_wraps_is_refused);
  tcase_add_test(tcase, test_alloc__resize_keeps_and_zeroes);
  tcase_add_test(tcase, test_alloc__copies_strings);
  tcase_add_test(tcase, test_alloc__the_nth_fails_once);
  tcase_add_test(tcase, test_alloc__from_the_nth_on_all_fail);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
