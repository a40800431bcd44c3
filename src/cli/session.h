/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_SESSION_H
#define RLO_CLI_SESSION_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/opencl.h"

#include "options.h"

/** A device opened by the command, and the files that the command keeps for
 *  devices: compiled programs and wisdom. Functions that return an int return
 *  RLO__EXIT_OK, or print the reason and return RLO__EXIT_FAILURE. */

/** Returns the directory for compiled programs, $RELAYOUT_CACHE_DIR: ""
 * disables the cache; NULL, if the variable is not set, selects the library's
 * default.
 */
const char *rlo__cache_dir(void);

/** Path of the wisdom file that `relayout tune` writes: relayout/wisdom in
 *  $XDG_DATA_HOME, or in ~/.local/share if that variable is not set. */
typedef struct rlo__wisdom_path {
  /** "" if the environment names no home directory. */
  char text[PATH_MAX];
} rlo__wisdom_path;

/** Fails only if the environment names no home directory. */
int rlo__wisdom_path_find(rlo__wisdom_path *out_path);

/** Merges the wisdom of a context into the file; creates missing directories.
 */
int rlo__wisdom_file_save(rlo_context *context, const rlo__wisdom_path *path);

/** Records of a wisdom file. */
typedef struct rlo__wisdom_known {
  int32_t num_taken;
  /** Those of another device, driver or table of kernels. */
  int32_t num_ignored;
} rlo__wisdom_known;

/** A device. Used by one thread. */
typedef struct rlo__session {
  rlo_context *context;
  char device_name[128];
  /** Records of the wisdom file that the context loaded. */
  rlo__wisdom_known wisdom;
} rlo__session;

/**
 * Opens a device. Loads the wisdom file if there is one; an invalid file costs
 * speed only and is reported on standard error. rlo__session_deinit must follow
 * in any case.
 */
int rlo__session_init(const rlo__device_ref *device_ref,
                      rlo__session *out_session);
void rlo__session_deinit(rlo__session *session);

#endif
