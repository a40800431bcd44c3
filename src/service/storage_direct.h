/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_DIRECT_H
#define RLO_SERVICE_STORAGE_DIRECT_H

#include "relayout/status.h"
#include "service/storage_calls.h"

/**
 * Transfers of a file past the system's page cache (O_DIRECT), by a descriptor
 * of its own. The system moves whole blocks, between aligned positions and
 * aligned memory: what is not aligned in memory goes through *bounce* memory, a
 * MiB for each thread that transfers, and what is no whole block in the file is
 * read with its block, but not written.
 *
 * Threads: safe.
 */
typedef struct rlo__direct rlo__direct;

/**
 * Opens the file of a descriptor once more, for the same accesses.
 * @param path  for the message.
 * @return RLO_OK; RLO_UNSUPPORTED if the file system cannot; RLO_IO;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__direct_open(int fd,
                                          const char *path,
                                          rlo__direct **out_direct);

/** NULL is legal. */
void rlo__direct_release(rlo__direct *direct);

/** The length of a block; positions are aligned to it. */
int64_t rlo__direct_block_bytes(const rlo__direct *direct);

/** Goes on in parts: the first `bytes` bytes of them are done. */
void rlo__parts_advance(struct iovec **parts, int *num_parts, int64_t bytes);

/**
 * Reads `bytes` bytes at a position in the file into parts, which go on by what
 * is returned.
 * @return how many bytes were read; fewer than `bytes` where the file ends, or
 *         the system transfers less or refuses: the rest is to be read
 *         otherwise. -1 with errno set on failure.
 */
int64_t rlo__direct_read(rlo__direct *direct,
                         const rlo__storage_calls *calls,
                         int64_t position,
                         int64_t bytes,
                         struct iovec **parts,
                         int *num_parts);

/** The same for a write. Position and bytes are multiples of a block. */
int64_t rlo__direct_write(rlo__direct *direct,
                          const rlo__storage_calls *calls,
                          int64_t position,
                          int64_t bytes,
                          const char *from);

#endif
