/* SPDX-License-Identifier: Apache-2.0 */
/* mincore. */
#define _DEFAULT_SOURCE

#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "verify.h"

enum { CHUNK_BYTES = 4 << 20, NUM_LANES = 4, WORD_BYTES = 8, PAGE_BYTES = 4096 };

/* --------------------------------------------------------------------- sums */

/** A sum that is not finished. */
typedef struct summer {
  int64_t bytes;
  uint64_t lanes[NUM_LANES];
} summer;

static summer summer_begin(void) {
  return (summer){.lanes = {1, 2, 3, 4}};
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash << 29 | hash >> 35;
}

/** Add bytes: all but the last time a multiple of a block. */
static void summer_add(summer *sum, const uint8_t *bytes, size_t count) {
  enum { BLOCK_BYTES = NUM_LANES * WORD_BYTES };

  uint64_t words[NUM_LANES];
  size_t at = 0;
  for (; at + BLOCK_BYTES <= count; at += BLOCK_BYTES) {
    memcpy(words, bytes + at, sizeof words);
    for (int32_t n = 0; n < NUM_LANES; ++n) {
      sum->lanes[n] = mix(sum->lanes[n], words[n]);
    }
  }
  for (; at < count; ++at) {
    sum->lanes[0] = mix(sum->lanes[0], bytes[at]);
  }
  sum->bytes += (int64_t)count;
}

static bench_sum summer_end(const summer *sum) {
  uint64_t hash = (uint64_t)sum->bytes;
  for (int32_t n = 0; n < NUM_LANES; ++n) {
    hash = mix(hash, sum->lanes[n]);
  }
  return (bench_sum){.bytes = sum->bytes, .hash = hash};
}

bool bench_sum_equal(const bench_sum *a, const bench_sum *b) {
  return a->bytes == b->bytes && a->hash == b->hash;
}

/* -------------------------------------------------------------------- files */

static bool fail_path(const char *path) {
  return bench_fail("%s: %s", path, strerror(errno));
}

static bool write_all(int fd, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    ssize_t put = write(fd, bytes, count);
    if (put < 0 && errno != EINTR) {
      return false;
    }
    bytes += put > 0 ? put : 0;
    count -= put > 0 ? (size_t)put : 0;
  }
  return true;
}

static void fill_words(uint64_t *words, size_t count, uint64_t *state) {
  for (size_t i = 0; i < count; ++i) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    words[i] = *state;
  }
}

static bool write_random(int fd, int64_t bytes, uint64_t *words, summer *sum) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (int64_t at = 0; at < bytes; at += CHUNK_BYTES) {
    size_t count = (size_t)(bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES);
    fill_words(words, (count + WORD_BYTES - 1) / WORD_BYTES, &state);
    summer_add(sum, (const uint8_t *)words, count);
    if (!write_all(fd, (const uint8_t *)words, count)) {
      return false;
    }
  }
  return fsync(fd) == 0;
}

bool bench_disk_fill(const char *path, int64_t bytes, bench_sum *out_sum) {
  uint64_t *words = malloc(CHUNK_BYTES);
  if (words == NULL) {
    return bench_fail("out of memory");
  }
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  summer sum = summer_begin();
  bool is_done = fd >= 0 && write_random(fd, bytes, words, &sum);
  if (!is_done) {
    fail_path(path);
  }
  if (fd >= 0) {
    close(fd);
  }
  free(words);
  *out_sum = summer_end(&sum);
  return is_done;
}

/** Read a file from its beginning to its end.
 *  @param sum  NULL: only into memory. */
static bool read_file(const char *path, summer *sum) {
  static uint8_t chunk[CHUNK_BYTES];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t filled = 0;
  ssize_t got = fd < 0 ? -1 : 1;
  while (got > 0 || (got < 0 && fd >= 0 && errno == EINTR)) {
    got = read(fd, chunk + filled, sizeof chunk - filled);
    filled += got > 0 ? (size_t)got : 0;
    if (sum != NULL && (filled == sizeof chunk || got == 0)) {
      summer_add(sum, chunk, filled);
    }
    filled = filled == sizeof chunk ? 0 : filled;
  }
  if (fd >= 0) {
    close(fd);
  }
  return got == 0 || fail_path(path);
}

bool bench_disk_sum(const char *path, bench_sum *out_sum) {
  summer sum = summer_begin();
  bool is_done = read_file(path, &sum);
  *out_sum = summer_end(&sum);
  return is_done;
}

/** @return NULL, having said why, on failure. */
static void *map_file(const char *path, int64_t *out_bytes) {
  struct stat status;
  void *bytes = MAP_FAILED;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  *out_bytes = 0;
  if (fd >= 0 && fstat(fd, &status) == 0) {
    *out_bytes = status.st_size;
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
  }
  if (bytes == MAP_FAILED) {
    fail_path(path);
  }
  if (fd >= 0) {
    close(fd);
  }
  return bytes == MAP_FAILED ? NULL : bytes;
}

static void unmap_file(void *bytes, int64_t count) {
  if (bytes != NULL) {
    munmap(bytes, (size_t)count);
  }
}

bool bench_disk_verify(const bench_case *item, const rlo_problem *problem, const char *src_path,
                       const char *dst_path, char out_reason[256]) {
  int64_t src_bytes = 0;
  int64_t dst_bytes = 0;
  bool is_right = false;
  snprintf(out_reason, 256, "could not be checked");
  void *src = map_file(src_path, &src_bytes);
  void *dst = src != NULL ? map_file(dst_path, &dst_bytes) : NULL;
  if (dst != NULL && (src_bytes != problem->src_bytes || dst_bytes != problem->dst_bytes)) {
    snprintf(out_reason, 256, "%lld bytes became %lld, not %lld", (long long)src_bytes,
             (long long)dst_bytes, (long long)problem->dst_bytes);
  } else if (dst != NULL) {
    is_right = bench_verify_bytes(item, problem, src, dst, out_reason);
  }
  unmap_file(src, src_bytes);
  unmap_file(dst, dst_bytes);
  return is_right;
}

/* -------------------------------------------------------------------- cache */

/** For entries of folders, one walk at a time: nftw passes nothing on. */
static int64_t num_pages, num_resident;

static int drop_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status;
  (void)walk;
  int fd = kind == FTW_F ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    /* A hint: what comes of it is looked at. */
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
  return 0;
}

static int read_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status;
  (void)walk;
  return kind == FTW_F && !read_file(path, NULL) ? -1 : 0;
}

static int count_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)walk;
  int64_t bytes = 0;
  if (kind != FTW_F || status->st_size == 0) {
    return 0;
  }
  void *mapped = map_file(path, &bytes);
  size_t pages = ((size_t)bytes + PAGE_BYTES - 1) / PAGE_BYTES;
  unsigned char *flags = malloc(pages);
  bool is_known = mapped != NULL && flags != NULL && mincore(mapped, (size_t)bytes, flags) == 0;
  for (size_t i = 0; i < pages && is_known; ++i) {
    num_resident += flags[i] & 1;
  }
  num_pages += (int64_t)pages;
  free(flags);
  unmap_file(mapped, bytes);
  return is_known ? 0 : -1;
}

static bool walk_files(const char *path, int (*visit)(const char *path, const struct stat *status,
                                                      int kind, struct FTW *walk)) {
  return nftw(path, visit, 16, FTW_PHYS) == 0;
}

bool bench_disk_set_cache(const char *path, bench_cache cache) {
  num_pages = 0;
  num_resident = 0;
  sync();
  if (!walk_files(path, cache == BENCH_CACHE_COLD ? drop_entry : read_entry) ||
      !walk_files(path, count_entry)) {
    return false;
  }
  int64_t wrong = cache == BENCH_CACHE_COLD ? num_resident : num_pages - num_resident;
  return wrong <= num_pages / 10;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status;
  (void)kind;
  (void)walk;
  return remove(path);
}

void bench_disk_remove(const char *path) {
  nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
