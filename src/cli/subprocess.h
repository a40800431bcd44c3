/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_SUBPROCESS_H
#define RLO_CLI_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A function that uses OpenCL. Prints its own messages; returns an exit code.
 */
typedef int (*rlo__subprocess_fn)(void *payload);

/**
 * Runs a function in a child process and waits for it, so that a crash or an
 * exit of the OpenCL driver becomes a message and RLO__EXIT_DRIVER.
 *
 * The parent must not have used OpenCL: drivers with threads do not survive
 * fork. The child gets a copy of the payload; its results reach the parent only
 * through memory of rlo__shared_create and standard output. PoCL has a folder
 * for what it compiles (rlo__driver_cache_make).
 * @param is_isolated  false: calls the function in this process.
 * @return the function's exit code, or an exit code after a message.
 */
int rlo__subprocess_run(bool is_isolated, rlo__subprocess_fn function, void *payload);

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

/**
 * Fails where the command runs with set-user-ID rights, and its environment is
 * another user's: OpenCL loads the libraries that the environment names, and
 * the environment says where files are that would be removed.
 * @param what  begins the sentence: "OpenCL is not used".
 */
int rlo__rights_check(const char *what);

/** Creates zeroed memory that parent and child share; NULL, after a message, if
 *  the allocation fails. `bytes` may be 0. */
void *rlo__shared_create(size_t bytes);
/** Releases it; NULL is legal. */
void rlo__shared_release(void *memory, size_t bytes);

/**
 * Checks that the available memory can hold the arrays in memory and one more.
 * The padding of a layout can be arbitrarily large, and the kernel overcommits:
 * a process that writes to more memory than there is gets killed.
 * @return RLO__EXIT_OK, or prints the sizes and returns RLO__EXIT_FAILURE.
 */
int rlo__memory_check(int64_t held_bytes, int64_t wanted_bytes);

#endif
