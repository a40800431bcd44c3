/* SPDX-License-Identifier: Apache-2.0 */
/* O_DIRECT and statx are no part of POSIX 2008. */
#define _GNU_SOURCE
#include "service/storage_direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"

enum {
  /** Of files, where the system does not say it: what no disk exceeds. A file
   *  system's block is no smaller than that on a page of this size, and parts
   *  of blocks make it wait. */
  BLOCK_BYTES = 4096
};

/** Memory between a file and memory that is not aligned. */
typedef struct bounce {
  struct bounce *next;
  char *memory;
} bounce;

struct rlo__direct {
  int fd;
  int64_t block_bytes, memory_alignment;
  rlo__mutex mutex;
  /** Guarded by the mutex: those that nobody uses. */
  bounce *free_list;
};

/* ---------------------------------------------------------------- lifecycle */

/** What the file asks for; false if it cannot be read or written directly. */
static bool get_alignment(int fd, rlo__direct *direct) {
  direct->block_bytes = direct->memory_alignment = BLOCK_BYTES;
#ifdef STATX_DIOALIGN
  struct statx st;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 &&
      (st.stx_mask & STATX_DIOALIGN) != 0) {
    direct->block_bytes =
        rlo__max(BLOCK_BYTES, (int64_t)st.stx_dio_offset_align);
    direct->memory_alignment = (int64_t)st.stx_dio_mem_align;
    return st.stx_dio_offset_align != 0 && st.stx_dio_mem_align != 0 &&
           direct->block_bytes <= rlo__thresholds.service_bounce_bytes / 2;
  }
#endif
  return true;
}

static rlo_status fail_unsupported(const char *path) {
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "\"%s\" cannot be read and written past the page cache: its "
                  "file system has no direct I/O (O_DIRECT)",
                  path);
}

static rlo_status reopen(int fd, const char *path, rlo__direct *direct) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  int flags = fcntl(fd, F_GETFL) & O_ACCMODE;
  int opened = open(link, flags | O_DIRECT | O_CLOEXEC);
  if (opened < 0) {
    return errno == EINVAL
               ? fail_unsupported(path)
               : rlo__file_fail("cannot open for direct I/O", path, errno);
  }
  direct->fd = opened;
  return get_alignment(opened, direct) ? RLO_OK : fail_unsupported(path);
}

rlo_status rlo__direct_open(int fd,
                            const char *path,
                            rlo__direct **out_direct) {
  *out_direct = NULL;
  rlo__direct *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->fd = -1;
  rlo_status status = rlo__mutex_init(&made->mutex);
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  status = reopen(fd, path, made);
  if (status != RLO_OK) {
    rlo__direct_release(made);
    return status;
  }
  *out_direct = made;
  return RLO_OK;
}

void rlo__direct_release(rlo__direct *direct) {
  if (direct == NULL) {
    return;
  }
  while (direct->free_list != NULL) {
    bounce *next = direct->free_list->next;
    rlo__free(direct->free_list);
    direct->free_list = next;
  }
  rlo__file_close(direct->fd);
  rlo__mutex_deinit(&direct->mutex);
  rlo__free(direct);
}

int64_t rlo__direct_block_bytes(const rlo__direct *direct) {
  return direct->block_bytes;
}

/* ------------------------------------------------------------------- bounce */

/** NULL if there is no memory: callers can do without. */
static bounce *take_bounce(rlo__direct *direct) {
  rlo__mutex_lock(&direct->mutex);
  bounce *taken = direct->free_list;
  if (taken != NULL) {
    direct->free_list = taken->next;
  }
  rlo__mutex_unlock(&direct->mutex);
  if (taken != NULL) {
    return taken;
  }
  size_t alignment =
      (size_t)rlo__max(direct->block_bytes, direct->memory_alignment);
  taken = rlo__alloc_array_quiet(
      sizeof *taken + alignment + (size_t)rlo__thresholds.service_bounce_bytes,
      1);
  if (taken == NULL) {
    return NULL;
  }
  uintptr_t end = (uintptr_t)(taken + 1) + alignment - 1;
  taken->memory = (char *)(end - end % alignment);
  return taken;
}

static void give_back(rlo__direct *direct, bounce *taken) {
  if (taken != NULL) {
    rlo__mutex_lock(&direct->mutex);
    taken->next = direct->free_list;
    direct->free_list = taken;
    rlo__mutex_unlock(&direct->mutex);
  }
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

static void copy_into_parts(struct iovec **parts,
                            int *num_parts,
                            const char *from,
                            int64_t bytes) {
  while (bytes > 0) {
    int64_t now = rlo__min(bytes, (int64_t)(*parts)->iov_len);
    memcpy((*parts)->iov_base, from, (size_t)now);
    rlo__parts_advance(parts, num_parts, now);
    from += now;
    bytes -= now;
  }
}

static bool is_aligned(const rlo__direct *direct, const void *memory) {
  return (uintptr_t)memory % (uintptr_t)direct->memory_alignment == 0;
}

static ssize_t read_blocks(const rlo__direct *direct,
                           const rlo__storage_calls *calls,
                           int64_t position,
                           void *into,
                           int64_t bytes) {
  const struct iovec part = {.iov_base = into, .iov_len = (size_t)bytes};
  ssize_t count;
  do {
    count = calls->read(direct->fd, &part, 1, position);
  } while (count < 0 && errno == EINTR);
  return count;
}

int64_t rlo__direct_read(rlo__direct *direct,
                         const rlo__storage_calls *calls,
                         int64_t position,
                         int64_t bytes,
                         struct iovec **parts,
                         int *num_parts) {
  const int64_t bounce_bytes = rlo__thresholds.service_bounce_bytes;
  const int64_t block = direct->block_bytes;
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
    bool is_straight = skipped == 0 && is_aligned(direct, (*parts)->iov_base) &&
                       (is_last || whole >= bounce_bytes);
    int64_t wanted =
        is_straight ? whole : rlo__min(bounce_bytes - skipped, bytes - done);
    int64_t length =
        is_straight ? whole : rlo__ceil_div(skipped + wanted, block) * block;
    if (!is_straight && between == NULL) {
      between = take_bounce(direct);
      if (between == NULL) {
        break;
      }
    }
    ssize_t count =
        read_blocks(direct,
                    calls,
                    at - skipped,
                    is_straight ? (*parts)->iov_base : (void *)between->memory,
                    length);
    if (count < 0) {
      /* A position or memory that the device does not take after all. */
      done = errno == EINVAL ? done : -1;
      break;
    }
    int64_t got = rlo__min((int64_t)count - skipped, wanted);
    /* What follows is no whole block any more, or the next call says why. */
    is_short = got < wanted && (at + got) % block != 0;
    if (got <= 0) {
      break;
    }
    if (is_straight) {
      rlo__parts_advance(parts, num_parts, got);
    } else {
      copy_into_parts(parts, num_parts, between->memory + skipped, got);
    }
    done += got;
  }
  int error = errno;
  give_back(direct, between);
  errno = error;
  return done;
}

int64_t rlo__direct_write(rlo__direct *direct,
                          const rlo__storage_calls *calls,
                          int64_t position,
                          int64_t bytes,
                          const char *from) {
  bounce *between = NULL;
  int64_t done = 0;
  bool is_short = false;
  if (!is_aligned(direct, from)) {
    between = take_bounce(direct);
    if (between == NULL) {
      return 0;
    }
  }
  while (done < bytes && !is_short) {
    int64_t length = bytes - done;
    const char *data = from + done;
    if (between != NULL) {
      length = rlo__min(length, rlo__thresholds.service_bounce_bytes);
      memcpy(between->memory, data, (size_t)length);
      data = between->memory;
    }
    ssize_t count =
        calls->write(direct->fd, data, (size_t)length, position + done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      done = errno == EINVAL ? done : -1;
      break;
    }
    done += count;
    /* What follows is no whole block any more, or the next call says why. */
    is_short = count % direct->block_bytes != 0 || count == 0;
  }
  int error = errno;
  give_back(direct, between);
  errno = error;
  return done;
}
