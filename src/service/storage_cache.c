/* SPDX-License-Identifier: Apache-2.0 */
/* O_DIRECT, statx, preadv, fallocate and sync_file_range are no part of POSIX
 * 2008. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"
#include "service/storage_cache.h"

/* ------------------------------------------------------------- system calls */

static ssize_t call_read(int fd, const struct iovec *parts, int count, int64_t offset) {
  if (count == 1) {
    return pread(fd, parts[0].iov_base,
                 rlo__min_size(parts[0].iov_len, (size_t)rlo__thresholds.base_call_bytes),
                 (off_t)offset);
  }
  return preadv(fd, parts, count, (off_t)offset);
}

static ssize_t call_write(int fd, const void *data, size_t bytes, int64_t offset) {
  return pwrite(fd, data, rlo__min_size(bytes, (size_t)rlo__thresholds.base_call_bytes),
                (off_t)offset);
}

static int call_allocate(int fd, int64_t offset, int64_t bytes) {
  /* posix_fallocate is worse: where the file system cannot allocate, glibc
   * writes a byte into every block, for hours over a network. */
  return fallocate(fd, 0, (off_t)offset, (off_t)bytes);
}

static int call_get_free(int fd, int64_t *out_bytes) {
  struct statvfs st;
  if (fstatvfs(fd, &st) != 0) {
    return -1;
  }
  if (!rlo__mul((int64_t)st.f_bavail, (int64_t)st.f_frsize, out_bytes)) {
    *out_bytes = INT64_MAX;
  }
  return 0;
}

static int call_resize(int fd, int64_t bytes) {
  return ftruncate(fd, (off_t)bytes);
}

static int call_sync(int fd) {
  return fdatasync(fd);
}

static int call_write_back(int fd, int64_t offset, int64_t bytes, bool is_end) {
  unsigned start = SYNC_FILE_RANGE_WRITE;
  unsigned end = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  return sync_file_range(fd, (off_t)offset, (off_t)bytes, is_end ? end : start);
}

static void call_drop(int fd, int64_t offset, int64_t bytes) {
  (void)posix_fadvise(fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
}

const rlo__storage_calls rlo__storage_system_calls = {.read = call_read,
                                                      .write = call_write,
                                                      .allocate = call_allocate,
                                                      .get_free = call_get_free,
                                                      .resize = call_resize,
                                                      .sync = call_sync,
                                                      .write_back = call_write_back,
                                                      .drop = call_drop};

ssize_t rlo__calls_read(const rlo__storage_calls *calls, int fd, int64_t position,
                        const struct iovec *parts, int num_parts) {
  ssize_t count;
  do {
    count = calls->read(fd, parts, num_parts, position);
  } while (count < 0 && errno == EINTR);
  return count;
}

int rlo__calls_write(const rlo__storage_calls *calls, int fd, int64_t position, const void *data,
                     int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t count =
        calls->write(fd, (const char *)data + done, (size_t)(bytes - done), position + done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      /* The system never writes 0 bytes of some; not to hang if it does. */
      return count < 0 ? errno : EIO;
    }
    done += count;
  }
  return 0;
}

int rlo__calls_sync(const rlo__storage_calls *calls, int fd) {
  while (calls->sync(fd) != 0) {
    if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/* --------------------------------------------------------------- direct I/O */

enum {
  /** The length of a block where the system does not say it: no disk has longer
   *  ones. A file system's block is no smaller than that on a page of this
   * size, and parts of blocks make it wait. */
  BLOCK_BYTES = 4096
};

/** Memory between a file and memory that is not aligned. */
typedef struct bounce {
  struct bounce *next;
  char *memory;
} bounce;

/* ---------------------------------------------------------------- lifecycle */

rlo_status rlo__cached_file_init(rlo__cached_file *file, int fd) {
  RLO_TRY(rlo__mutex_init(&file->mutex));
  file->calls = &rlo__storage_system_calls;
  file->fd = fd;
  file->direct_fd = -1;
  return RLO_OK;
}

void rlo__cached_file_deinit(rlo__cached_file *file) {
  while (file->bounces != NULL) {
    bounce *next = file->bounces->next;
    rlo__free(file->bounces);
    file->bounces = next;
  }
  rlo__file_close(file->direct_fd);
  /* A flush makes durable what was written, a close does not. */
  rlo__file_close(file->fd);
  rlo__mutex_deinit(&file->mutex);
}

/** Gets the alignment that the file asks for; false if it cannot be read or
 *  written directly. */
static bool get_alignment(rlo__cached_file *file) {
  file->block_bytes = file->memory_alignment = BLOCK_BYTES;
#ifdef STATX_DIOALIGN
  struct statx st;
  if (statx(file->direct_fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 &&
      (st.stx_mask & STATX_DIOALIGN) != 0) {
    file->block_bytes = rlo__max(BLOCK_BYTES, (int64_t)st.stx_dio_offset_align);
    file->memory_alignment = (int64_t)st.stx_dio_mem_align;
    return st.stx_dio_offset_align != 0 && st.stx_dio_mem_align != 0 &&
           file->block_bytes <= rlo__thresholds.service_bounce_bytes / 2;
  }
#endif
  return true;
}

rlo_status rlo__cached_file_open_direct(rlo__cached_file *file, const char *path) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file->fd);
  int flags = fcntl(file->fd, F_GETFL) & O_ACCMODE;
  file->direct_fd = open(link, flags | O_DIRECT | O_CLOEXEC);
  if (file->direct_fd < 0 && errno != EINVAL) {
    return rlo__file_fail("cannot open for direct I/O", path, errno);
  }
  RLO_FAIL_IF(file->direct_fd < 0 || !get_alignment(file), RLO_UNSUPPORTED,
              "\"%s\" cannot be read and written past the page cache: its file system has no "
              "direct I/O (O_DIRECT)",
              path);
  return RLO_OK;
}

void rlo__cached_file_set_lost(rlo__cached_file *file, int error) {
  int none = 0;
  (void)atomic_compare_exchange_strong(&file->lost_error, &none, error);
}

/* ------------------------------------------------------------------- bounce */

/** NULL if there is no memory: callers can do without. */
static bounce *take_bounce(rlo__cached_file *file) {
  rlo__mutex_lock(&file->mutex);
  bounce *taken = file->bounces;
  if (taken != NULL) {
    file->bounces = taken->next;
  }
  rlo__mutex_unlock(&file->mutex);
  if (taken != NULL) {
    return taken;
  }
  size_t alignment = (size_t)rlo__max(file->block_bytes, file->memory_alignment);
  taken = rlo__alloc_array_quiet(
      sizeof *taken + alignment + (size_t)rlo__thresholds.service_bounce_bytes, 1);
  if (taken == NULL) {
    return NULL;
  }
  uintptr_t end = (uintptr_t)(taken + 1) + alignment - 1;
  taken->memory = (char *)(end - end % alignment);
  return taken;
}

/** Leaves errno as it is. */
static void give_back(rlo__cached_file *file, bounce *taken) {
  int error = errno;
  if (taken != NULL) {
    rlo__mutex_lock(&file->mutex);
    taken->next = file->bounces;
    file->bounces = taken;
    rlo__mutex_unlock(&file->mutex);
  }
  errno = error;
}

/* ---------------------------------------------------------------- transfers */

void rlo__parts_advance(struct iovec **parts, int *num_parts, int64_t bytes) {
  size_t left = (size_t)bytes;
  while (*num_parts > 0 && left >= (*parts)->iov_len) {
    left -= (*parts)->iov_len;
    ++*parts;
    --*num_parts;
  }
  if (left > 0) {
    (*parts)->iov_base = (char *)(*parts)->iov_base + left;
    (*parts)->iov_len -= left;
  }
}

static void copy_into_parts(struct iovec **parts, int *num_parts, const char *from, int64_t bytes) {
  while (bytes > 0) {
    int64_t now = rlo__min(bytes, (int64_t)(*parts)->iov_len);
    memcpy((*parts)->iov_base, from, (size_t)now);
    rlo__parts_advance(parts, num_parts, now);
    from += now;
    bytes -= now;
  }
}

static bool is_aligned(const rlo__cached_file *file, const void *memory) {
  return (uintptr_t)memory % (uintptr_t)file->memory_alignment == 0;
}

int64_t rlo__direct_move(rlo__cached_file *file, int64_t position, int64_t bytes,
                         struct iovec **parts, int *num_parts, bool is_write) {
  const int64_t bounce_bytes = rlo__thresholds.service_bounce_bytes;
  const int64_t block = file->block_bytes;
  bounce *between = NULL;
  int64_t done = 0;
  bool is_short = false;
  while (done < bytes && !is_short) {
    int64_t at = position + done;
    int64_t skipped = at % block;
    /* Whole blocks into the memory itself, and what is left of a long read. */
    int64_t whole = rlo__min(bytes - done, (int64_t)(*parts)->iov_len);
    bool is_last = whole == bytes - done && whole % block == 0;
    whole -= whole % block;
    bool is_straight =
        skipped == 0 && is_aligned(file, (*parts)->iov_base) && (is_last || whole >= bounce_bytes);
    int64_t wanted = is_straight ? whole : rlo__min(bounce_bytes - skipped, bytes - done);
    int64_t length = is_straight ? whole : rlo__ceil_div(skipped + wanted, block) * block;
    if (!is_straight && between == NULL) {
      between = take_bounce(file);
      if (between == NULL) {
        break;
      }
    }
    const struct iovec blocks = {
        .iov_base = is_straight ? (*parts)->iov_base : (void *)between->memory,
        .iov_len = (size_t)length};
    if (is_write && !is_straight) {
      memcpy(between->memory, (*parts)->iov_base, (size_t)wanted);
    }
    ssize_t count;
    do {
      count = is_write ? file->calls->write(file->direct_fd, blocks.iov_base, blocks.iov_len, at)
                       : file->calls->read(file->direct_fd, &blocks, 1, at - skipped);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
      /* A position or memory that the device does not take after all. */
      done = errno == EINVAL ? done : -1;
      break;
    }
    int64_t got = rlo__min((int64_t)count - skipped, wanted);
    /* The rest is no whole block any more, or the next call says why. */
    is_short = got < wanted && (at + got) % block != 0;
    if (got <= 0) {
      break;
    }
    if (is_straight || is_write) {
      rlo__parts_advance(parts, num_parts, got);
    } else {
      copy_into_parts(parts, num_parts, between->memory + skipped, got);
    }
    done += got;
  }
  give_back(file, between);
  return done;
}

/* -------------------------------------------------------------------- trail */

enum { PAGE_BYTES = 4096 };

/** Adds a range; the chunk has room. Tells if it is full then. */
static bool add_range(rlo__file_chunk *c, int64_t begin, int64_t end) {
  int32_t last = c->num_ranges - 1;
  if (last >= 0 && begin >= c->ranges[last].begin && begin <= c->ranges[last].end) {
    c->bytes -= c->ranges[last].end - c->ranges[last].begin;
    begin = c->ranges[last].begin;
    end = rlo__max(c->ranges[last].end, end);
  } else {
    ++last;
  }
  c->ranges[last].begin = begin;
  c->ranges[last].end = end;
  c->num_ranges = last + 1;
  c->bytes += end - begin;
  return c->bytes >= rlo__thresholds.service_trail_chunk_bytes ||
         c->num_ranges == rlo__thresholds.service_trail_ranges;
}

/** Drops the ranges but for `margin` bytes at their ends. */
static void drop(const rlo__cached_file *file, rlo__file_chunk *c, int64_t margin) {
  for (int32_t i = 0; i < c->num_ranges; ++i) {
    int64_t begin = c->ranges[i].begin + margin;
    int64_t bytes = c->ranges[i].end - margin - begin;
    if (bytes > 0) {
      file->calls->drop(file->fd, begin, bytes);
    }
  }
  c->num_ranges = 0;
  c->bytes = 0;
}

void rlo__trail_read(rlo__cached_file *file, int64_t position, int64_t bytes) {
  if (!atomic_load(&file->is_streamed) || bytes < rlo__thresholds.service_trail_read_bytes) {
    return;
  }
  rlo__mutex_lock(&file->mutex);
  if (add_range(&file->read, position, position + bytes)) {
    drop(file, &file->read, 0);
  }
  rlo__mutex_unlock(&file->mutex);
}

/** Starts, or ends, to write a chunk back; goes on after a failure. */
static void write_back(rlo__cached_file *file, const rlo__file_chunk *c, bool is_end) {
  for (int32_t i = 0; i < c->num_ranges; ++i) {
    int64_t begin = c->ranges[i].begin;
    int64_t bytes = c->ranges[i].end - begin;
    int result;
    do {
      result = file->calls->write_back(file->fd, begin, bytes, is_end);
    } while (result != 0 && errno == EINTR);
    /* Where the file system or a sandbox does not know the call, the system
     * writes back when it wants to. */
    if (result != 0 && errno != ENOSYS && errno != EINVAL && errno != ESPIPE && errno != EPERM) {
      rlo__cached_file_set_lost(file, errno);
    }
  }
}

void rlo__trail_written(rlo__cached_file *file, int64_t position, int64_t bytes) {
  if (!atomic_load(&file->is_streamed) || bytes == 0) {
    return;
  }
  /* Whole pages go to the disk. */
  int64_t begin = position - position % PAGE_BYTES;
  int64_t end = position + bytes;
  end += rlo__min((PAGE_BYTES - end % PAGE_BYTES) % PAGE_BYTES, INT64_MAX - end);
  rlo__mutex_lock(&file->mutex);
  rlo__file_chunk *filled = &file->written[(file->oldest + file->num_sent) % RLO__TRAIL_CHUNKS];
  if (add_range(filled, begin, end)) {
    write_back(file, filled, false);
    if (++file->num_sent == RLO__TRAIL_CHUNKS) {
      rlo__file_chunk *oldest = &file->written[file->oldest];
      write_back(file, oldest, true);
      /* Who writes the rest of a page would have to read it again. */
      drop(file, oldest, PAGE_BYTES);
      file->oldest = (file->oldest + 1) % RLO__TRAIL_CHUNKS;
      --file->num_sent;
    }
  }
  rlo__mutex_unlock(&file->mutex);
}

void rlo__trail_drop_written(rlo__cached_file *file) {
  if (!atomic_load(&file->is_streamed)) {
    return;
  }
  rlo__mutex_lock(&file->mutex);
  for (int32_t i = 0; i < RLO__TRAIL_CHUNKS; ++i) {
    drop(file, &file->written[i], PAGE_BYTES);
  }
  file->num_sent = 0;
  rlo__mutex_unlock(&file->mutex);
}
