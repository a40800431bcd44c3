/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_GUARDED_PAGES_H
#define RLO_TESTS_SUPPORT_GUARDED_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Memory between two pages that nobody may touch: `size_bytes` of `room_bytes`
 *  that are a whole number of pages. */
typedef struct test_guarded_pages {
  uint8_t *room;
  size_t room_bytes;
  uint8_t *bytes;
  size_t size_bytes;
} test_guarded_pages;

/** Maps pages, each byte of which is `fill`. The bytes begin `shift` bytes
 * after the first guard, or end `shift` bytes before the second one. */
test_guarded_pages test_guarded_pages_make(size_t size_bytes, size_t shift, bool is_at_end,
                                           uint8_t fill);

/** True if the room around the bytes is still all `fill`. */
bool test_guarded_pages_are_kept(const test_guarded_pages *pages, uint8_t fill);

void test_guarded_pages_release(test_guarded_pages *pages);

#endif
