/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "base/threshold.h"
#include "service/storage.h"
#include "service/storage_cache.h"

enum {
  PAGE_BYTES = 4096,
  /** Room for a gap, and for the runs and gaps of one read; below IOV_MAX. */
  MAX_GAP_BYTES = 16 * 1024,
  MAX_PARTS = 512
};

typedef struct file_storage {
  rlo_storage storage;
  rlo__cached_file file;
  /** Position of the storage's first byte in the file. */
  int64_t offset;
} file_storage;

void rlo__storage_set_calls(rlo_storage *storage, const rlo__storage_calls *calls) {
  ((file_storage *)storage)->file.calls = calls;
}

/* ----------------------------------------------------------------- failures */

typedef char path_text[256];

/** The path of a descriptor, for messages. */
static const char *path_of(int fd, path_text path) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t bytes = readlink(link, path, sizeof(path_text) - 1);
  if (bytes < 0) {
    bytes = 0;
  }
  path[bytes] = '\0';
  return path;
}

static rlo_status fail_file(int fd, const char *what, int error) {
  path_text path;
  return rlo__file_fail(what, path_of(fd, path), error);
}

/** Records that the system failed to `verb` bytes at a position in the file. */
static rlo_status fail(const file_storage *s, const char *verb, int64_t bytes, int64_t position,
                       int error) {
  char what[96];
  (void)snprintf(what, sizeof what, "cannot %s %" PRId64 " bytes at byte %" PRId64 " of", verb,
                 bytes, position);
  return fail_file(s->file.fd, what, error);
}

static rlo_status check_lost(file_storage *s) {
  int error = atomic_load(&s->file.lost_error);
  return error == 0
             ? RLO_OK
             : fail_file(s->file.fd, "bytes that were written did not reach the disk: cannot sync",
                         error);
}

/* ------------------------------------------------------------------ reading */

/** The bytes that one call reads: runs, and the gaps between them. */
typedef struct read_group {
  /** Positions in the storage. */
  int64_t begin, end;
  int64_t gap_bytes;
  int32_t num_parts;
  struct iovec parts[MAX_PARTS];
} read_group;

static rlo_status read_group_now(file_storage *s, read_group *group) {
  int64_t bytes = group->end - group->begin;
  int64_t position = s->offset + group->begin;
  struct iovec *parts = group->parts;
  int num_parts = group->num_parts;
  int64_t direct_bytes = 0;
  if (s->file.direct_fd >= 0 && bytes >= rlo__thresholds.service_direct_bytes) {
    direct_bytes = rlo__direct_move(&s->file, position, bytes, &parts, &num_parts, false);
    if (direct_bytes < 0) {
      return fail(s, "read", bytes, position, errno);
    }
  }
  for (int64_t done = direct_bytes; done < bytes;) {
    ssize_t count = rlo__calls_read(s->file.calls, s->file.fd, position + done, parts, num_parts);
    if (count < 0) {
      return fail(s, "read", bytes, position, errno);
    }
    if (count == 0) {
      path_text path;
      return RLO_FAIL(RLO_DATA_LOSS,
                      "\"%s\" ends at byte %" PRId64 ", in the middle of %" PRId64
                      " bytes wanted at byte %" PRId64,
                      path_of(s->file.fd, path), position + done, bytes, position);
    }
    done += count;
    rlo__parts_advance(&parts, &num_parts, count);
  }
  rlo__storage_count(&s->storage, false, group->begin, bytes, group->gap_bytes, direct_bytes);
  rlo__trail_read(&s->file, position + direct_bytes, bytes - direct_bytes);
  return RLO_OK;
}

/** Tells if a read of its own does not pay: for a short run over a short gap
 * which is no longer than the run, or which spares no page of the file. */
static bool is_worth_joining(int64_t gap_bytes, int64_t run_bytes) {
  return run_bytes < rlo__thresholds.service_joined_run_bytes && gap_bytes >= 0 &&
         gap_bytes <= rlo__thresholds.service_joined_gap_bytes &&
         (gap_bytes <= run_bytes || gap_bytes < PAGE_BYTES);
}

/** Leaves the parts as they are: there are many. */
static void begin_group(read_group *group, int64_t offset) {
  group->begin = offset;
  group->end = offset;
  group->gap_bytes = 0;
  group->num_parts = 0;
}

static void add_part(read_group *group, void *into, int64_t bytes) {
  group->parts[group->num_parts++] = (struct iovec){.iov_base = into, .iov_len = (size_t)bytes};
  group->end += bytes;
}

static rlo_status read_runs(file_storage *s, const rlo__lattice *runs, char *into) {
  /* Gaps are read over each other. */
  char gaps[MAX_GAP_BYTES];
  read_group group;
  const char *end = into + rlo__lattice_bytes(runs);
  begin_group(&group, runs->base_byte);
  rlo__run_walk walk = {.offset = runs->base_byte};
  for (; into < end; into += runs->run_bytes) {
    int64_t gap_bytes = walk.offset - group.end;
    if (group.num_parts > 0 && group.num_parts + 2 <= rlo__thresholds.service_read_parts &&
        is_worth_joining(gap_bytes, runs->run_bytes)) {
      if (gap_bytes > 0) {
        add_part(&group, gaps, gap_bytes);
        group.gap_bytes += gap_bytes;
      }
    } else if (group.num_parts > 0) {
      RLO_TRY(read_group_now(s, &group));
      begin_group(&group, walk.offset);
    }
    add_part(&group, into, runs->run_bytes);
    rlo__run_walk_step(&walk, runs);
  }
  return read_group_now(s, &group);
}

/* ------------------------------------------------------------------ writing */

/** Writes through the page cache, at a position in the file. */
static rlo_status write_buffered(file_storage *s, int64_t position, int64_t bytes,
                                 const char *from) {
  int error = rlo__calls_write(s->file.calls, s->file.fd, position, from, bytes);
  if (error != 0) {
    return fail(s, "write", bytes, position, error);
  }
  rlo__trail_written(&s->file, position, bytes);
  return check_lost(s);
}

/** Writes a run: whole blocks past the page cache, if it is long, and what is
 *  before and behind them through it, since others may write the rest of those.
 */
static rlo_status write_run(file_storage *s, int64_t offset, int64_t bytes, const char *from) {
  int64_t position = s->offset + offset;
  int64_t direct_bytes = 0;
  int64_t head = 0;
  if (s->file.direct_fd >= 0 && bytes >= rlo__thresholds.service_direct_bytes) {
    int64_t block = s->file.block_bytes;
    head = rlo__min((block - position % block) % block, bytes);
    RLO_TRY(write_buffered(s, position, head, from));
    /* Only read. */
    struct iovec part = {.iov_base = (char *)(uintptr_t)from + head,
                         .iov_len = (size_t)(bytes - head)};
    struct iovec *parts = &part;
    int num_parts = 1;
    direct_bytes = rlo__direct_move(&s->file, position + head, (bytes - head) / block * block,
                                    &parts, &num_parts, true);
    if (direct_bytes < 0) {
      return fail(s, "write", bytes, position, errno);
    }
  }
  int64_t done = head + direct_bytes;
  RLO_TRY(write_buffered(s, position + done, bytes - done, from + done));
  rlo__storage_count(&s->storage, true, offset, bytes, 0, direct_bytes);
  return RLO_OK;
}

static rlo_status transfer(rlo_storage *storage, const rlo__lattice *runs, char *packed,
                           bool is_write) {
  file_storage *s = (file_storage *)storage;
  const char *end = packed + rlo__lattice_bytes(runs);
  if (!is_write) {
    return read_runs(s, runs, packed);
  }
  RLO_TRY(check_lost(s));
  rlo__run_walk walk = {.offset = runs->base_byte};
  for (; packed < end; packed += runs->run_bytes) {
    RLO_TRY(write_run(s, walk.offset, runs->run_bytes, packed));
    rlo__run_walk_step(&walk, runs);
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------- others */

static rlo_status look(const file_storage *s, struct stat *out_stat) {
  return fstat(s->file.fd, out_stat) == 0 ? RLO_OK : fail_file(s->file.fd, "cannot look at", errno);
}

/** Reserves where the file system cannot: checks that there is room now. */
static rlo_status reserve_by_size(const file_storage *s, int64_t bytes) {
  struct stat st;
  RLO_TRY(look(s, &st));
  int64_t end = s->offset + bytes;
  int64_t free_bytes;
  if (s->file.calls->get_free(s->file.fd, &free_bytes) != 0) {
    return fail(s, "reserve", bytes, s->offset, errno);
  }
  /* st_blocks counts 512 bytes, whatever the file system's blocks are. */
  int64_t held = rlo__min(INT64_MAX / 512, (int64_t)st.st_blocks) * 512;
  if (end - held > free_bytes) {
    path_text path;
    return RLO_FAIL(RLO_IO,
                    "cannot reserve %" PRId64 " bytes at byte %" PRId64 " of \"%s\": %" PRId64
                    " are free",
                    bytes, s->offset, path_of(s->file.fd, path), free_bytes);
  }
  while (st.st_size < end && s->file.calls->resize(s->file.fd, end) != 0) {
    if (errno != EINTR) {
      return fail(s, "reserve", bytes, s->offset, errno);
    }
  }
  return RLO_OK;
}

static rlo_status reserve(rlo_storage *storage, int64_t bytes) {
  const file_storage *s = (const file_storage *)storage;
  while (s->file.calls->allocate(s->file.fd, s->offset, bytes) != 0) {
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO) {
      return fail(s, "reserve", bytes, s->offset, errno);
    }
    if (errno != EINTR) {
      /* The file system has no such call, or nobody may make it here. */
      return reserve_by_size(s, bytes);
    }
  }
  return RLO_OK;
}

static rlo_status flush(rlo_storage *storage) {
  file_storage *s = (file_storage *)storage;
  RLO_TRY(check_lost(s));
  int error = rlo__calls_sync(s->file.calls, s->file.fd);
  if (error != 0) {
    rlo__cached_file_set_lost(&s->file, error);
    return check_lost(s);
  }
  rlo__trail_drop_written(&s->file);
  return check_lost(s);
}

static void set_streamed(rlo_storage *storage) {
  atomic_store(&((file_storage *)storage)->file.is_streamed, true);
}

static rlo_status get_identity(const rlo_storage *storage, rlo__storage_identity *out_identity) {
  struct stat st;
  RLO_TRY(look((const file_storage *)storage, &st));
  *out_identity = (rlo__storage_identity){
      .is_file = true,
      .device = (uint64_t)st.st_dev,
      .inode = (uint64_t)st.st_ino,
      .offset = ((const file_storage *)storage)->offset,
      .bytes = (int64_t)st.st_size,
      .modified_nanos = (int64_t)st.st_mtim.tv_sec * 1000000000 + (int64_t)st.st_mtim.tv_nsec};
  return RLO_OK;
}

static void destroy(rlo_storage *storage) {
  rlo__cached_file_deinit(&((file_storage *)storage)->file);
  rlo__free(storage);
}

static const rlo__storage_kind file_kind = {.transfer = transfer,
                                            .reserve = reserve,
                                            .flush = flush,
                                            .set_streamed = set_streamed,
                                            .get_identity = get_identity,
                                            .destroy = destroy};

/* ----------------------------------------------------------------- creation */

static const char *type_of(mode_t mode) {
  return S_ISFIFO(mode)   ? "a pipe"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISDIR(mode)  ? "a directory"
         : S_ISCHR(mode)  ? "a character device"
         : S_ISBLK(mode)  ? "a block device"
                          : "no regular file";
}

/** Checks the descriptor and gets the mode that it is open in. */
static rlo_status check_fd(int fd, int *out_mode, int64_t *out_file_bytes) {
  int flags = fcntl(fd, F_GETFL);
  struct stat st;
  RLO_FAIL_IF(flags < 0 || fstat(fd, &st) != 0, RLO_INVALID_ARGUMENT, "descriptor %d is not open",
              fd);
  RLO_FAIL_IF(!S_ISREG(st.st_mode), RLO_INVALID_ARGUMENT,
              "descriptor %d is of %s; a storage has to be a regular file, which can be read and "
              "written anywhere",
              fd, type_of(st.st_mode));
  *out_mode = flags & O_ACCMODE;
  RLO_FAIL_IF(*out_mode != O_RDONLY && (flags & O_APPEND) != 0, RLO_INVALID_ARGUMENT,
              "descriptor %d is open for appending (O_APPEND): the system would write at the end, "
              "whatever the position",
              fd);
  *out_file_bytes = (int64_t)st.st_size;
  return RLO_OK;
}

static rlo_status read_hints(const rlo_storage_traits *hints, int64_t bytes, bool can_write,
                             rlo_storage_traits *out_traits) {
  *out_traits = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  RLO_TRY(rlo__storage_read_traits(hints, out_traits));
  RLO_FAIL_IF(out_traits->bytes != 0 && out_traits->bytes != bytes, RLO_INVALID_ARGUMENT,
              "the traits have %" PRId64 " bytes and the storage %" PRId64 "; leave them 0",
              out_traits->bytes, bytes);
  out_traits->bytes = bytes;
  out_traits->is_read_only = out_traits->is_read_only || !can_write;
  return RLO_OK;
}

/** Checks that a part of a file can be; one that is only read has to lie in
 *  `file_bytes`. */
static rlo_status check_part(int fd, int64_t offset, int64_t bytes, bool is_read_only,
                             int64_t file_bytes) {
  int64_t end;
  RLO_FAIL_IF(offset < 0 || bytes < 0, RLO_INVALID_ARGUMENT,
              "%" PRId64 " bytes at byte %" PRId64 " of a file; both have to be at least 0", bytes,
              offset);
  if (!rlo__add(offset, bytes, &end)) {
    return rlo__fail_overflow("the end of a part of a file");
  }
  if (is_read_only && end > file_bytes) {
    path_text path;
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "\"%s\" has %" PRId64 " bytes; %" PRId64 " at byte %" PRId64 " need %" PRId64,
                    path_of(fd, path), file_bytes, bytes, offset, end);
  }
  return RLO_OK;
}

rlo_status rlo_storage_from_fd(int fd, int64_t offset, int64_t bytes,
                               const rlo_storage_traits *hints, rlo_storage **out_storage) {
  RLO_REQUIRE(out_storage);
  *out_storage = NULL;
  int mode;
  int64_t file_bytes;
  rlo_storage_traits traits;
  RLO_TRY(check_fd(fd, &mode, &file_bytes));
  RLO_TRY(read_hints(hints, bytes, mode != O_RDONLY, &traits));
  RLO_TRY(check_part(fd, offset, bytes, traits.is_read_only, file_bytes));
  file_storage *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  /* Never a standard stream, which a program may have closed: others would
   * print into the file. */
  int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  path_text path;
  rlo_status status = own < 0 ? fail_file(fd, "cannot duplicate the descriptor of", errno)
                              : rlo__cached_file_init(&made->file, own);
  if (status != RLO_OK) {
    rlo__file_close(own);
    rlo__free(made);
    return status;
  }
  rlo__storage_init(&made->storage, &file_kind, &traits);
  made->storage.is_write_only = mode == O_WRONLY;
  made->offset = offset;
  if (traits.is_direct) {
    status = rlo__cached_file_open_direct(&made->file, path_of(own, path));
  }
  if (status != RLO_OK) {
    destroy(&made->storage);
    return status;
  }
  *out_storage = &made->storage;
  return RLO_OK;
}
