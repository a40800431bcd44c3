/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_CACHE_H
#define RELAYOUT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/status.h"

RLO_BEGIN_DECLS

/*
 * The directory of compiled programs (rlo_context_options.cache_dir). These
 * functions need no device. Deleted programs are compiled again when needed.
 */

/** Contents of a cache directory. Begin with RLO_CACHE_INFO_INIT. */
typedef struct rlo_cache_info {
  /** sizeof(rlo_cache_info). */
  size_t struct_size;
  /** Path, truncated to fit; empty if there is none, because neither
   *  XDG_CACHE_HOME nor HOME is an absolute path. */
  char path[1024];
  /** Contexts use the directory, or would create it. */
  bool is_usable;
  /** If not, why: one sentence. */
  char reason[256];
  int64_t num_entries;
  int64_t bytes;
} rlo_cache_info;

#define RLO_CACHE_INFO_INIT \
  { sizeof(rlo_cache_info), {0}, false, {0}, 0, 0 }

/**
 * Counts the entries of a cache directory. Does not create it.
 * @param path  NULL: the default directory, read from the environment.
 * @return RLO_OK, also if the directory does not exist or is not usable;
 *         RLO_INVALID_ARGUMENT if out_info is NULL or of a struct_size that
 *         this library does not know; RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_cache_inspect(const char *path, rlo_cache_info *out_info);

/**
 * Deletes the entries of a cache directory and leftover temporary files. Other
 * files and the directory itself stay. Safe while processes use the directory.
 * @param path      as for rlo_cache_inspect.
 * @param out_info  the entries deleted; may be NULL.
 * @return RLO_OK, also if the directory does not exist; RLO_UNSUPPORTED if it
 *         is one that contexts do not use; RLO_INVALID_ARGUMENT, before
 *         anything is deleted, for such a struct_size; RLO_OUT_OF_MEMORY;
 *         RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_cache_clear(const char *path, rlo_cache_info *out_info);

RLO_END_DECLS

#endif
