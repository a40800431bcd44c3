/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_limit.h"

#include <inttypes.h>
#include <unistd.h>

#include "message.h"

int rlo__memory_check(int64_t held_bytes, int64_t wanted_bytes) {
  long pages = sysconf(_SC_PHYS_PAGES);
  long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) {
    return RLO__EXIT_OK;
  }
  int64_t memory_bytes = (int64_t)pages * page_bytes;
  if (wanted_bytes > memory_bytes - held_bytes) {
    return rlo__fail("the result takes %" PRId64 " bytes beside %" PRId64
                     " that are held; the memory of this machine is %" PRId64
                     " bytes",
                     wanted_bytes,
                     held_bytes,
                     memory_bytes);
  }
  return RLO__EXIT_OK;
}
