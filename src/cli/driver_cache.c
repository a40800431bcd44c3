/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_cache.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "message.h"

static bool is_set(const char *name) {
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0';
}

int rlo__driver_cache_init(rlo__driver_cache *out_cache) {
  *out_cache = (rlo__driver_cache){0};
  if (is_set("POCL_CACHE_DIR") || is_set("XDG_CACHE_HOME") || is_set("HOME")) {
    return RLO__EXIT_OK;
  }
  snprintf(out_cache->path, sizeof(out_cache->path), "/tmp/relayout-XXXXXX");
  if (mkdtemp(out_cache->path) == NULL ||
      setenv("POCL_CACHE_DIR", out_cache->path, 1) != 0) {
    return rlo__fail("cannot make a folder %s for the driver's cache: %s",
                     out_cache->path,
                     strerror(errno));
  }
  out_cache->is_ours = true;
  return RLO__EXIT_OK;
}

static int remove_entry(const char *path,
                        const struct stat *information,
                        int type,
                        struct FTW *place) {
  (void)information;
  (void)type;
  (void)place;
  remove(path);
  return 0;
}

void rlo__driver_cache_deinit(const rlo__driver_cache *cache) {
  if (cache->is_ours) {
    nftw(cache->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
  }
}
