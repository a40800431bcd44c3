/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_ALLOC_H
#define RLO_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/export.h"

/**
 * Memory of the library: nothing else in it calls malloc. Each function that
 * returns NULL has recorded RLO_OUT_OF_MEMORY with the size, so that the
 * caller needs only
 *
 *     thing *t = rlo__alloc(sizeof *t);
 *     if (t == NULL) {
 *       return RLO_OUT_OF_MEMORY;
 *     }
 *
 * Threads: safe. RLO_API: as in base/status.h.
 */

/** Allocate `bytes` zeroed bytes, aligned for any type. 0 bytes are legal and
 *  give a pointer of their own. The result goes to rlo__free. */
RLO_API RLO_NODISCARD void *rlo__alloc(size_t bytes);

/** Allocate a zeroed array of `count` elements of `elem_bytes` each; NULL also
 *  when the product does not fit size_t. */
RLO_API RLO_NODISCARD void *rlo__alloc_array(size_t count, size_t elem_bytes);

/**
 * Resize an array, as realloc does: the first min(old_count, new_count)
 * elements are kept, those beyond old_count are zero. `array` may be NULL with
 * old_count 0. On NULL, `array` is untouched and still the caller's.
 */
RLO_NODISCARD void *rlo__alloc_resize(void *array,
                                      size_t old_count,
                                      size_t new_count,
                                      size_t elem_bytes);

/** Copy a string; the copy goes to rlo__free. */
RLO_NODISCARD char *rlo__alloc_string(const char *text);

/** Give memory back; NULL is legal. */
RLO_API void rlo__free(void *memory);

/**
 * For tests: let the `nth` allocation from now fail (1 is the next one), and
 * with `is_sticky` every one after it too; 0 ends that. Process-wide.
 */
void rlo__alloc_set_fault(int64_t nth, bool is_sticky);

/** For tests: allocations tried since the last rlo__alloc_set_fault. */
int64_t rlo__alloc_tried_count(void);

/** For tests: allocations that have not been given back. */
int64_t rlo__alloc_live_count(void);

#endif
