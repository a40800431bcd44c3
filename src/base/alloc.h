/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_ALLOC_H
#define RLO_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/status.h"

/**
 * The library's heap memory: no other module calls malloc. A function that
 * returns NULL or RLO_OUT_OF_MEMORY has recorded that status with the size, so
 * the caller needs only
 *
 *     thing *t = rlo__alloc(sizeof *t);
 *     if (t == NULL) {
 *       return RLO_OUT_OF_MEMORY;
 *     }
 *
 * Threads: safe.
 */

/** Allocates `bytes` zeroed bytes, aligned for any type. 0 bytes are legal and
 *  give a distinct pointer. Free the result with rlo__free. */
RLO_NODISCARD void *rlo__alloc(size_t bytes);

/** Like rlo__alloc, but the bytes have any contents: for large structs of which
 *  most calls use little. */
RLO_NODISCARD void *rlo__alloc_unset(size_t bytes);

/** Allocates a zeroed array of `count` elements of `elem_bytes` each; NULL also
 *  when the product does not fit size_t. */
RLO_NODISCARD void *rlo__alloc_array(size_t count, size_t elem_bytes);

/** Like rlo__alloc_array, but leaves the error record unchanged on failure: for
 *  memory that the caller can do without. */
RLO_NODISCARD void *rlo__alloc_array_quiet(size_t count, size_t elem_bytes);

/**
 * Resizes an array, as realloc does: preserves the first min(old_count,
 * new_count) elements and zeroes those beyond old_count. `array` may be NULL
 * with old_count 0. On NULL, `array` is unchanged and still the caller's.
 */
RLO_NODISCARD void *rlo__alloc_resize(void *array, size_t old_count, size_t new_count,
                                      size_t elem_bytes);

/** Copies a string. Free the copy with rlo__free. */
RLO_NODISCARD char *rlo__alloc_string(const char *text);

/** Frees memory; NULL is legal. */
void rlo__free(void *memory);

/** Allocates zeroed pages of the system's, at least one, huge ones from base_huge_page_bytes
 *  on: for memory that is large and that the system has back when it is freed, whatever other
 *  threads do. */
RLO_NODISCARD void *rlo__alloc_pages(size_t bytes);

/** Frees pages of the same size; NULL is legal. */
void rlo__free_pages(void *pages, size_t bytes);

/**
 * Ensures that a growing array has room for `count` elements: doubles its
 * capacity until it has. New elements are zero.
 *
 *     RLO_TRY(rlo__array_reserve(
 *         &list->items, sizeof *list->items, list->count + 1,
 *         &list->capacity));
 *     list->items[list->count++] = item;
 *
 * @param array     address of the pointer to the elements, which is NULL while
 *                  *capacity is 0. Free the array with rlo__free.
 * @param capacity  in elements; read and updated.
 * @return RLO_OK; RLO_OUT_OF_MEMORY, also when the size does not fit size_t;
 *         then the array and its capacity are unchanged.
 */
RLO_NODISCARD rlo_status rlo__array_reserve(void *array, size_t elem_bytes, size_t count,
                                            size_t *capacity);

/** Copies of blocks of one size, equal ones near each other once. Begins with zeros. */
typedef struct rlo__kept {
  void **blocks;
  size_t count, capacity;
} rlo__kept;

/** Returns the copy of a block, made now or one of the last 64, which lives until
 *  rlo__kept_free; NULL if there is no memory. */
RLO_NODISCARD const void *rlo__keep(rlo__kept *kept, const void *block, size_t bytes);

void rlo__kept_free(rlo__kept *kept);

/**
 * A zeroed array of `count` elements that uses the caller's array `few` if it
 * is large enough, else the heap; NULL if there is no memory.
 *
 *     rlo_tensor *few[8];
 *     rlo_tensor **tensors = RLO__SMALL_ARRAY(few, count);
 *     ...
 *     rlo__small_array_free(tensors, few);
 */
#define RLO__SMALL_ARRAY(few, count) \
  rlo__small_array_create((few), sizeof(few), (count), sizeof(*(few)))

RLO_NODISCARD void *rlo__small_array_create(void *few, size_t few_bytes, size_t count,
                                            size_t elem_bytes);

/** Frees `array` unless it is `few`; NULL is legal. */
void rlo__small_array_free(void *array, const void *few);

/**
 * For tests: makes the `nth` allocation from now fail (1 is the next one), and
 * with `is_sticky` every later one too; 0 ends that. Process-wide.
 */
void rlo__alloc_set_fault(int64_t nth, bool is_sticky);

/** For tests: the number of allocations attempted since the last
 *  rlo__alloc_set_fault. */
int64_t rlo__alloc_tried_count(void);

/** For tests: the number of allocations that have not been freed. */
int64_t rlo__alloc_live_count(void);

#endif
