/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_WISDOM_FILE_H
#define RLO_CLI_WISDOM_FILE_H

#include <limits.h>

#include "relayout/opencl.h"

/**
 * Where the command keeps what `relayout tune` has measured: the file
 * relayout/wisdom of $XDG_DATA_HOME, or of ~/.local/share without it.
 * Functions return RLO__EXIT_OK or print why not.
 */
typedef struct rlo__wisdom_path {
  /** "" if the environment names no home. */
  char text[PATH_MAX];
} rlo__wisdom_path;

/** The path; fails only where there is no home, and says so. */
int rlo__wisdom_path_find(rlo__wisdom_path *out_path);

/** Records of a file. */
typedef struct rlo__wisdom_known {
  int32_t num_taken;
  /** Of another device, driver or table of kernels. */
  int32_t num_ignored;
} rlo__wisdom_known;

/** Have a context know what the file knows. Without a file, or a home, nothing
 *  happens; a file that is none of ours is passed over with a line on standard
 *  error: it costs speed, and no more. */
void rlo__wisdom_file_load(rlo_context *context, rlo__wisdom_known *out_known);

/** Add what a context knows to the file; folders are made. */
int rlo__wisdom_file_save(rlo_context *context, const rlo__wisdom_path *path);

#endif
