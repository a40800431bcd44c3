/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_SESSION_H
#define RLO_CLI_SESSION_H

#include <stdint.h>

#include "relayout/opencl.h"
#include "relayout/problem.h"

#include "options.h"

/** A device opened by the command, and the files that the command keeps for
 *  devices: compiled programs and wisdom. Functions that return an int return
 *  an exit code of message.h, after a message unless it is RLO__EXIT_OK. */

/** Returns the directory for compiled programs, $RELAYOUT_CACHE_DIR: ""
 * disables the cache; NULL, if the variable is not set, selects the library's
 * default.
 */
const char *rlo__cache_dir(void);

/** Returns the path of the wisdom file that `relayout tune` writes:
 *  relayout/wisdom in $XDG_DATA_HOME, or in ~/.local/share if that variable is
 *  not set; NULL if the environment names no home directory. Static. */
const char *rlo__wisdom_path(void);

/** A device. Used by one thread. */
typedef struct rlo__session {
  rlo_context *context;
  /** Borrowed from the context. */
  const char *device_name;
  /** Records of the wisdom file that the context loaded. */
  int32_t num_taken;
  /** Records of another device, driver or table of kernels. */
  int32_t num_ignored;
} rlo__session;

/** Opens a device. Loads the wisdom file if there is one; an invalid file costs
 *  speed only and is reported on standard error. The context is the caller's.
 */
int rlo__session_init(const rlo__device_ref *device_ref, rlo__session *out_session);

/** Runs a problem on the device, from memory of the problem's src_bytes to memory of its
 *  dst_bytes, each at least 1. */
int rlo__session_move(const rlo__session *session, const rlo_problem *problem, void *src,
                      void *dst);

/**
 * Opens the device of the options for a function, in a child process, unless
 * --no-isolate is given.
 * @param hint  a line for standard error if the device cannot be opened; NULL:
 *              none.
 * @return what the function returns.
 */
int rlo__session_run(const rlo__common_options *common, const char *hint,
                     int (*work)(void *payload, rlo__session *session), void *payload);

#endif
