/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "relayout/status.h"
#include "support/expect.h"
#include "support/suite.h"

static bool is_zero(const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != 0) {
      return false;
    }
  }
  return true;
}

RLO_TEST(test_alloc__memory_is_zeroed) {
  for (size_t bytes = 1; bytes < 5000; bytes = bytes * 3 + 1) {
    unsigned char *memory = rlo__alloc(bytes);
    ck_assert_ptr_nonnull(memory);
    ck_assert(is_zero(memory, bytes));
    memset(memory, 0xff, bytes);
    rlo__free(memory);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_alloc__nothing_is_a_pointer_too) {
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

RLO_TEST(test_alloc__a_product_that_wraps_is_refused) {
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

RLO_TEST(test_alloc__resize_keeps_and_zeroes) {
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

RLO_TEST(test_alloc__copies_strings) {
  char *copy = rlo__alloc_string("padded");
  ck_assert_str_eq(copy, "padded");
  rlo__free(copy);
}

RLO_TEST(test_alloc__the_nth_fails_once) {
  rlo__alloc_set_fault(2, false);
  void *a = rlo__alloc(1);
  void *b = rlo__alloc(17);
  expect_refusal_with(rlo_error_last()->status, RLO_OUT_OF_MEMORY, "17");
  void *c = rlo__alloc(1);
  ck_assert_ptr_nonnull(a);
  ck_assert_ptr_null(b);
  ck_assert_ptr_nonnull(c);
  ck_assert_int_eq(rlo__alloc_tried_count(), 3);
  rlo__free(a);
  rlo__free(c);
  rlo__alloc_set_fault(0, false);
}

RLO_TEST(test_alloc__from_the_nth_on_all_fail) {
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

RLO_TEST(test_alloc__quiet_leaves_the_record) {
  (void)rlo_error_set(RLO_PARSE, "before");
  ck_assert_ptr_null(rlo__alloc_array_quiet(SIZE_MAX / 16 + 2, 16));
  rlo__alloc_set_fault(1, false);
  ck_assert_ptr_null(rlo__alloc_array_quiet(1, 1));
  expect_refusal(rlo_error_last()->status, RLO_PARSE, "before");
  rlo__alloc_set_fault(0, false);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_alloc__array_reserve_doubles) {
  int *array = NULL;
  size_t capacity = 0;
  expect_ok(rlo__array_reserve(&array, sizeof *array, 0, &capacity));
  ck_assert_ptr_null(array);
  rlo__alloc_set_fault(0, false);
  for (int i = 0; i < 1000; ++i) {
    expect_ok(rlo__array_reserve(&array, sizeof *array, (size_t)i + 1, &capacity));
    ck_assert_uint_gt(capacity, (size_t)i);
    ck_assert_int_eq(array[i], 0);
    array[i] = i + 1;
  }
  ck_assert_int_lt(rlo__alloc_tried_count(), 12);
  expect_ok(rlo__array_reserve(&array, sizeof *array, 100000, &capacity));
  ck_assert_uint_ge(capacity, 100000);
  for (int i = 0; i < 100000; ++i) {
    ck_assert_int_eq(array[i], i < 1000 ? i + 1 : 0);
  }
  rlo__free(array);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_TEST(test_alloc__array_reserve_fails_unchanged) {
  int *array = NULL;
  size_t capacity = 0;
  expect_ok(rlo__array_reserve(&array, sizeof *array, 1, &capacity));
  array[0] = 7;
  const int *before = array;
  size_t capacity_before = capacity;
  const size_t too_many[] = {SIZE_MAX, SIZE_MAX / sizeof *array + 1};
  for (int i = 0; i < 2; ++i) {
    ck_assert_int_eq(rlo__array_reserve(&array, sizeof *array, too_many[i], &capacity),
                     RLO_OUT_OF_MEMORY);
  }
  rlo__alloc_set_fault(1, false);
  ck_assert_int_eq(rlo__array_reserve(&array, sizeof *array, capacity + 1, &capacity),
                   RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  ck_assert_int_eq(rlo_error_last()->status, RLO_OUT_OF_MEMORY);
  ck_assert_ptr_eq(array, before);
  ck_assert_uint_eq(capacity, capacity_before);
  ck_assert_int_eq(array[0], 7);
  rlo__free(array);
}

RLO_TEST(test_alloc__small_array) {
  int few[4] = {1, 2, 3, 4};
  int *array = RLO__SMALL_ARRAY(few, 3);
  ck_assert_ptr_eq(array, few);
  ck_assert(few[0] == 0 && few[1] == 0 && few[2] == 0 && few[3] == 4);
  rlo__small_array_free(array, few);
  ck_assert_ptr_eq(RLO__SMALL_ARRAY(few, 0), few);
  ck_assert_ptr_eq(RLO__SMALL_ARRAY(few, 4), few);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
  array = RLO__SMALL_ARRAY(few, 5);
  ck_assert(array != NULL && array != few);
  ck_assert(is_zero((const unsigned char *)array, 5 * sizeof *array));
  ck_assert_int_eq(rlo__alloc_live_count(), 1);
  rlo__small_array_free(array, few);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
  rlo__alloc_set_fault(1, false);
  ck_assert_ptr_null(RLO__SMALL_ARRAY(few, 5));
  rlo__alloc_set_fault(0, false);
  rlo__small_array_free(NULL, few);
}

/* Whether the system knows that huge pages are wanted for the memory at p. */
static bool is_huge(const void *p) {
  FILE *file = fopen("/proc/self/smaps", "r");
  bool is_there = false;
  bool is_wanted = false;
  char line[512];
  uintptr_t begin;
  uintptr_t end;
  ck_assert_ptr_nonnull(file);
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      is_there = begin <= (uintptr_t)p && (uintptr_t)p < end;
    }
    is_wanted |= is_there && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL;
  }
  ck_assert_int_eq(fclose(file), 0);
  return is_wanted;
}

RLO_TEST(test_alloc__large_pages_are_huge) {
  if (access("/sys/kernel/mm/transparent_hugepage", R_OK) != 0) {
    return;
  }
  const size_t large = (size_t)rlo__thresholds.base_huge_page_bytes;
  for (size_t bytes = large - 1; bytes <= large; ++bytes) {
    void *pages = rlo__alloc_pages(bytes);
    ck_assert_ptr_nonnull(pages);
    ck_assert(is_huge(pages) == (bytes == large));
    rlo__free_pages(pages, bytes);
  }
}
