/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_DEVICE_BYTES_H
#define RLO_TESTS_DEVICE_BYTES_H

#include "support/device_suite.h"

/**
 * Tables of problems that move bytes, each run by forced families on `device`
 * and compared with the host byte by byte. A table asserts that nothing fails
 * and, where bytes_is_all(), that enough of it ran. A table offers the same
 * cases in the same order whatever comes of them, because test_device_bytes
 * goes through it twice (support/program_budget.h).
 */

/** True if no budget limits the cases: RELAYOUT_TEST_ALL is set. */
bool bytes_is_all(void);

/** Every pair of support/device_table.c by every family. */
void bytes_relayout(void);
/** Families of GPUs on large blocks and on devices with little memory. */
void bytes_gpu(void);
/** Random pairs of layouts. */
void bytes_random(void);
/** Transposes of rank 0 to 4 with dimensions 0 to 3, a sample. */
void bytes_sample(void);
/** Transposes of megabytes by the CPU's tiles. */
void bytes_tile(void);
/** The CPU's packed blocks where they are cut. */
void bytes_packed(void);
void bytes_packed_edges(void);
void bytes_rows(void);
/** Kernels that count in 64 bits. */
void bytes_wide(void);
/** A padded vector, as a transposed matrix: the guard of the pad depends on
 * both axes of the plane, so that their order matters. */
void bytes_slanted_guard(void);
/** Kernels for GPUs where a copy ends in a part of a wide piece, and where
 * words turn to the next row. */
void bytes_gpu_ends(void);
/** Random chains of operations. */
void bytes_ops(void);

#endif
