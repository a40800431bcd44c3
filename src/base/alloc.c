/* SPDX-License-Identifier: Apache-2.0 */
/* MAP_ANONYMOUS and madvise are not part of POSIX 2008. */
#define _DEFAULT_SOURCE
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/status.h"
#include "base/threshold.h"

/* The first elements of a growing array: so many, if they are small. */
enum { FIRST_CAPACITY = 8, FIRST_BYTES = 512 };

/* Counters of the test hook. They synchronize nothing, so relaxed order is
 * enough. */
static atomic_int_least64_t fault_nth;
static atomic_bool fault_is_sticky;
static atomic_int_least64_t tried_count;
static atomic_int_least64_t live_count;

static bool is_refused(void) {
  int64_t number = atomic_fetch_add_explicit(&tried_count, 1, memory_order_relaxed) + 1;
  int64_t nth = atomic_load_explicit(&fault_nth, memory_order_relaxed);
  return nth != 0 &&
         (number == nth ||
          (number > nth && atomic_load_explicit(&fault_is_sticky, memory_order_relaxed)));
}

static void *record_failure(size_t count, size_t elem_bytes) {
  (void)RLO_FAIL(RLO_OUT_OF_MEMORY, "the host has no memory for %zu elements of %zu bytes", count,
                 elem_bytes);
  return NULL;
}

/* NULL when the product does not fit size_t, too. */
static void *allocate(size_t count, size_t elem_bytes, bool is_zeroed) {
  size_t bytes;
  if (is_refused() || __builtin_mul_overflow(count, elem_bytes, &bytes)) {
    return NULL;
  }
  /* For 0 bytes NULL may be returned, which here means failure. */
  bytes = bytes == 0 ? 1 : bytes;
  void *memory = is_zeroed ? calloc(bytes, 1) : malloc(bytes);
  if (memory != NULL) {
    atomic_fetch_add_explicit(&live_count, 1, memory_order_relaxed);
  }
  return memory;
}

void *rlo__alloc(size_t bytes) {
  return rlo__alloc_array(bytes, 1);
}

void *rlo__alloc_unset(size_t bytes) {
  void *memory = allocate(bytes, 1, false);
  return memory != NULL ? memory : record_failure(bytes, 1);
}

void *rlo__alloc_array_quiet(size_t count, size_t elem_bytes) {
  return allocate(count, elem_bytes, true);
}

void *rlo__alloc_array(size_t count, size_t elem_bytes) {
  void *memory = allocate(count, elem_bytes, true);
  return memory != NULL ? memory : record_failure(count, elem_bytes);
}

void *rlo__alloc_resize(void *array, size_t old_count, size_t new_count, size_t elem_bytes) {
  if (array == NULL) {
    return rlo__alloc_array(new_count, elem_bytes);
  }
  size_t new_bytes;
  const bool fails = is_refused() || __builtin_mul_overflow(new_count, elem_bytes, &new_bytes);
  /* realloc(p, 0) may free p. */
  char *memory = fails ? NULL : realloc(array, new_bytes == 0 ? 1 : new_bytes);
  if (memory == NULL) {
    return record_failure(new_count, elem_bytes);
  }
  if (new_count > old_count) {
    memset(memory + old_count * elem_bytes, 0, (new_count - old_count) * elem_bytes);
  }
  return memory;
}

char *rlo__alloc_string(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = rlo__alloc(bytes);
  if (copy != NULL) {
    memcpy(copy, text, bytes);
  }
  return copy;
}

void rlo__free(void *memory) {
  if (memory != NULL) {
    atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
    free(memory);
  }
}

void *rlo__alloc_pages(size_t bytes) {
  bytes = bytes == 0 ? 1 : bytes;
  void *pages = is_refused()
                    ? MAP_FAILED
                    : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    return record_failure(bytes, 1);
  }
  if (bytes >= (size_t)rlo__thresholds.base_huge_page_bytes) {
    /* A hint: its failure costs time only. */
    (void)madvise(pages, bytes, MADV_HUGEPAGE);
  }
  atomic_fetch_add_explicit(&live_count, 1, memory_order_relaxed);
  return pages;
}

void rlo__free_pages(void *pages, size_t bytes) {
  if (pages != NULL) {
    atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
    (void)munmap(pages, bytes == 0 ? 1 : bytes);
  }
}

rlo_status rlo__array_reserve(void *array, size_t elem_bytes, size_t count, size_t *capacity) {
  if (count <= *capacity) {
    return RLO_OK;
  }
  size_t new_capacity = *capacity;
  if (new_capacity == 0) {
    new_capacity = elem_bytes <= FIRST_BYTES / FIRST_CAPACITY ? FIRST_CAPACITY : 1;
  }
  while (new_capacity < count) {
    new_capacity = new_capacity <= SIZE_MAX / 2 ? 2 * new_capacity : SIZE_MAX;
  }
  /* Copied bytewise: the pointer is of a type that is not known here. */
  void *elements;
  memcpy(&elements, array, sizeof elements);
  elements = rlo__alloc_resize(elements, *capacity, new_capacity, elem_bytes);
  RLO_TRY_MEMORY(elements);
  memcpy(array, &elements, sizeof elements);
  *capacity = new_capacity;
  return RLO_OK;
}

const void *rlo__keep(rlo__kept *kept, const void *block, size_t bytes) {
  enum { NUM_RECENT = 64 };

  for (size_t n = kept->count; n > 0 && n + NUM_RECENT > kept->count; --n) {
    if (memcmp(kept->blocks[n - 1], block, bytes) == 0) {
      return kept->blocks[n - 1];
    }
  }
  void *copy = rlo__array_reserve(&kept->blocks, sizeof *kept->blocks, kept->count + 1,
                                  &kept->capacity) == RLO_OK
                   ? rlo__alloc_unset(bytes)
                   : NULL;
  if (copy != NULL) {
    memcpy(copy, block, bytes);
    kept->blocks[kept->count++] = copy;
  }
  return copy;
}

void rlo__kept_free(rlo__kept *kept) {
  for (size_t n = 0; n < kept->count; ++n) {
    rlo__free(kept->blocks[n]);
  }
  rlo__free(kept->blocks);
}

void *rlo__small_array_create(void *few, size_t few_bytes, size_t count, size_t elem_bytes) {
  if (count > few_bytes / elem_bytes) {
    return rlo__alloc_array(count, elem_bytes);
  }
  memset(few, 0, count * elem_bytes);
  return few;
}

void rlo__small_array_free(void *array, const void *few) {
  if (array != few) {
    rlo__free(array);
  }
}

void rlo__alloc_set_fault(int64_t nth, bool is_sticky) {
  atomic_store_explicit(&fault_nth, 0, memory_order_relaxed);
  atomic_store_explicit(&tried_count, 0, memory_order_relaxed);
  atomic_store_explicit(&fault_is_sticky, is_sticky, memory_order_relaxed);
  atomic_store_explicit(&fault_nth, nth, memory_order_relaxed);
}

int64_t rlo__alloc_tried_count(void) {
  return atomic_load_explicit(&tried_count, memory_order_relaxed);
}

int64_t rlo__alloc_live_count(void) {
  return atomic_load_explicit(&live_count, memory_order_relaxed);
}
