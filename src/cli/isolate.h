/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_ISOLATE_H
#define RLO_CLI_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>

/** Work that uses OpenCL. Prints its own messages; returns an exit code. */
typedef int (*rlo__isolated_fn)(void *payload);

/**
 * Run work in a child process and wait for it, so that a driver that dies, or
 * that calls exit, becomes a message and RLO__EXIT_DRIVER.
 *
 * The parent must not have touched OpenCL: drivers with threads do not survive
 * fork. The child sees the payload as it is now; what it writes comes back only
 * through memory of rlo__shared_create and standard output.
 * @param is_isolated  false: call the work here, in this process.
 */
int rlo__isolate_run(bool is_isolated, rlo__isolated_fn work, void *payload);

/** Zeroed memory that parent and child share; NULL, after a message, if there
 *  is none. `bytes` may be 0. */
void *rlo__shared_create(size_t bytes);
/** Give it back; NULL is legal. */
void rlo__shared_release(void *memory, size_t bytes);

#endif
