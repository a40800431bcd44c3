/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_CACHE_H
#define RELAYOUT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/status.h"

RLO_BEGIN_DECLS

/*
 * The folder where contexts keep compiled programs for processes to come (see
 * rlo_context_options.cache_dir): looking into it and emptying it. Nothing here
 * needs a device. Whatever is deleted is compiled again when it is needed.
 */

/** What a cache folder holds. */
typedef struct rlo_cache_info {
  /** Where it is, cut to fit; empty if there is none, because neither
   *  XDG_CACHE_HOME nor HOME is an absolute path. */
  char path[1024];
  /** Whether contexts use it, or would make it. */
  bool is_usable;
  /** Why not, one sentence; empty if it is usable. */
  char reason[256];
  int64_t num_entries;
  int64_t bytes;
} rlo_cache_info;

/**
 * Look into a cache folder. Makes none.
 * @param path  NULL: the default folder, for which the environment is read.
 * @return RLO_OK, also if there is no folder yet or it may not be used;
 *         RLO_INVALID_ARGUMENT if out_info is NULL; RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_cache_inspect(const char *path,
                                                   rlo_cache_info *out_info);

/**
 * Delete the entries of a cache folder, and what writing left behind. Other
 * files and the folder itself stay; processes that use it do not mind.
 * @param path      as for rlo_cache_inspect.
 * @param out_info  what was deleted; may be NULL.
 * @return RLO_OK, also if there is no folder; RLO_UNSUPPORTED if the folder is
 *         one that contexts do not use; RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_cache_clear(const char *path,
                                                 rlo_cache_info *out_info);

RLO_END_DECLS

#endif
