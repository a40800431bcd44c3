/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_MEMORY_LIMIT_H
#define RLO_CLI_MEMORY_LIMIT_H

#include <stdint.h>

/**
 * Check that this machine's memory can hold what is there and what is to come.
 * A padded array can be as large as its text says; memory is handed out before
 * it is there, and a process that then asks for too much is killed.
 * @return RLO__EXIT_OK, or prints the figures.
 */
int rlo__memory_check(int64_t held_bytes, int64_t wanted_bytes);

#endif
