/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "support/guarded_pages.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

test_guarded_pages test_guarded_pages_make(size_t size_bytes, size_t shift, bool is_at_end,
                                           uint8_t fill) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  test_guarded_pages pages = {.size_bytes = size_bytes};
  pages.room_bytes = (size_bytes + shift + page) / page * page;
  uint8_t *mapped =
      mmap(NULL, pages.room_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(mapped, MAP_FAILED);
  pages.room = mapped + page;
  ck_assert_int_eq(mprotect(pages.room, pages.room_bytes, PROT_READ | PROT_WRITE), 0);
  memset(pages.room, fill, pages.room_bytes);
  pages.bytes = pages.room + (is_at_end ? pages.room_bytes - size_bytes - shift : shift);
  return pages;
}

static bool is_all(const uint8_t *begin, const uint8_t *end, uint8_t fill) {
  while (begin < end && *begin == fill) {
    ++begin;
  }
  return begin == end;
}

bool test_guarded_pages_are_kept(const test_guarded_pages *pages, uint8_t fill) {
  return is_all(pages->room, pages->bytes, fill) &&
         is_all(pages->bytes + pages->size_bytes, pages->room + pages->room_bytes, fill);
}

void test_guarded_pages_release(test_guarded_pages *pages) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  munmap(pages->room - page, pages->room_bytes + 2 * page);
  *pages = (test_guarded_pages){0};
}
