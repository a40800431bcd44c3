/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DRIVER_CACHE_H
#define RLO_CLI_DRIVER_CACHE_H

#include <stdbool.h>

/**
 * Where the driver keeps the code that it compiles.
 *
 * PoCL takes a folder in the home, but one that anybody can write to in /tmp
 * when it knows no home, and it runs what it finds there. In that case it gets
 * a private folder for this run.
 */
typedef struct rlo__driver_cache {
  bool is_ours;
  char path[64];
} rlo__driver_cache;

/** Call before the first use of OpenCL. RLO__EXIT_OK, or prints why not. */
int rlo__driver_cache_init(rlo__driver_cache *out_cache);

/** Remove the folder if it is ours. */
void rlo__driver_cache_deinit(const rlo__driver_cache *cache);

#endif
