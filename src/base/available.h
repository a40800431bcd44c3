/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_AVAILABLE_H
#define RLO_BASE_AVAILABLE_H

#include <stdint.h>

/**
 * Returns the bytes of memory that the process may take now: those that the
 * system has available, what the process' memory groups (cgroups of version 1
 * and 2) and all groups above them have left, and what is left of its address
 * space (RLIMIT_AS). A group's page cache counts as left: the system drops it.
 * INT64_MAX if the system says nothing.
 *
 * @param root  a folder before the paths /proc and /sys: "", or that of a test.
 *
 * Threads: safe.
 */
int64_t rlo__available_bytes(const char *root);

/** Returns the bytes of address space that are left by RLIMIT_AS; INT64_MAX without a
 *  limit. */
int64_t rlo__available_addresses(const char *root);

#endif
