/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_DISK_H
#define RLO_BENCH_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "case.h"

/** Order and value of all bytes of a file, in 64 bits. */
typedef struct bench_sum {
  int64_t bytes;
  uint64_t hash;
} bench_sum;

bool bench_sum_equal(const bench_sum *a, const bench_sum *b);

/** Make a file of `bytes` random bytes, the same every time, and make it
 *  durable. */
bool bench_disk_fill(const char *path, int64_t bytes, bench_sum *out_sum);

/** Read all of a file. */
bool bench_disk_sum(const char *path, bench_sum *out_sum);

/**
 * Compare a file with what the shapes say of another, as bench_verify compares
 * memory.
 * @return false with the sentence in out_reason if a byte or the size is wrong.
 */
bool bench_disk_verify(const bench_case *item, const rlo_problem *problem, const char *src_path,
                       const char *dst_path, char out_reason[256]);

/** The part of a file that the system has in memory. */
typedef enum bench_cache { BENCH_CACHE_COLD, BENCH_CACHE_WARM } bench_cache;

/**
 * Write back what is dirty, everywhere, and then drop the pages of a file, or
 * read all of it. Of a folder: of the files in it.
 * @return false, silently, if the system does not follow: a tenth of the pages
 *         are not as they should be.
 */
bool bench_disk_set_cache(const char *path, bench_cache cache);

/** Remove a file, or a folder with all that is in it; it need not exist. */
void bench_disk_remove(const char *path);

#endif
