/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DRIVER_CACHE_H
#define RLO_CLI_DRIVER_CACHE_H

/**
 * The folder where PoCL stores the kernels that it compiles, and without which
 * it has no device. Where the environment names none that can be made, PoCL
 * gets a private one in $TMPDIR, or in /tmp: the environment's POCL_CACHE_DIR
 * is set.
 *
 * Call before the first use of OpenCL, in a process without threads. The
 * private folder is removed when this process and the children that it has by
 * then forked have ended, however they end.
 * @return RLO__EXIT_OK, or RLO__EXIT_FAILURE after a message.
 */
int rlo__driver_cache_make(void);

/** Removes the private folder, if there is one, now. */
void rlo__driver_cache_remove(void);

#endif
