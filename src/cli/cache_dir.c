/* SPDX-License-Identifier: Apache-2.0 */
#include "cache_dir.h"

#include <stdlib.h>

const char *rlo__cache_dir(void) {
  return getenv("RELAYOUT_CACHE_DIR");
}
