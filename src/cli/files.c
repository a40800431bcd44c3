/* SPDX-License-Identifier: Apache-2.0 */
/* memfd_create and flock are no part of POSIX 2008. */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relayout/npy.h"

#include "base/alloc.h"
#include "base/available.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "message.h"

/* Open files besides arrays: the standard streams, and those of a driver. */
#define OWN_FILES 128

/* More than a header has, with what is before it. */
#define HEAD_BYTES ((int64_t)2 * RLO_NPY_MAX_HEADER_BYTES)

/* Opens a file, or duplicates standard input; -1, and errno. */
static int open_input(const char *path) {
  if (strcmp(path, "/dev/stdin") == 0) {
    return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  }
  const int descriptor = rlo__open_at(AT_FDCWD, path, O_RDONLY);
  if (descriptor >= 0) {
    /* It may have a name that looks as if it could be removed. */
    (void)flock(descriptor, LOCK_SH | LOCK_NB);
  }
  return descriptor;
}

/* Copies a pipe into memory with a descriptor: so many bytes, a few more, or all. */
static int copy_pipe(rlo__input_file *file, int64_t most_bytes) {
  rlo__file_replace copy = {.fd = file->descriptor};
  char bytes[1 << 16];
  ssize_t count = 1;
  while (count != 0 && file->held_bytes <= most_bytes) {
    count = read(file->pipe, bytes, sizeof(bytes));
    const bool has_failed = count > 0 ? rlo__file_replace_write(&copy, bytes, (size_t)count) != 0
                                      : count < 0 && errno != EINTR;
    RLO__EXIT_IF(has_failed, "cannot read %s into memory: %s", file->path, strerror(errno));
    file->held_bytes += count > 0 ? count : 0;
  }
  file->position = file->held_bytes;
  if (count == 0) {
    file->size_bytes = file->held_bytes;
    close(file->pipe);
    file->pipe = 0;
  }
  return RLO__EXIT_OK;
}

int rlo__input_file_hold(rlo__input_file *file) {
  RLO__EXIT_TRY(file->pipe != 0 ? copy_pipe(file, file->most_bytes) : RLO__EXIT_OK);
  return file->pipe == 0 ? RLO__EXIT_OK
                         : rlo__fail("%s has more than the %" PRId64
                                     " bytes that may be read into memory, as what is no file has "
                                     "to be: write it to a file, or give more --memory",
                                     file->path, file->most_bytes);
}

rlo_status rlo__input_file_take(rlo__input_file *file, int64_t offset_bytes, void *into,
                                int64_t bytes) {
  char skipped[1 << 12];
  const int64_t end = offset_bytes + bytes;
  const int64_t held = rlo__max(rlo__min(file->held_bytes, end) - offset_bytes, 0);
  if (file->pipe == 0) {
    return rlo__file_pread(file->descriptor, file->path, into, (size_t)bytes, offset_bytes);
  }
  RLO_TRY(rlo__file_pread(file->descriptor, file->path, into, (size_t)held, offset_bytes));
  RLO_FAIL_IF(held < bytes && file->position > offset_bytes + held, RLO_INTERNAL,
              "%s is read at byte %" PRId64 " again", file->path, offset_bytes);
  while (file->position < end) {
    const bool is_skipped = file->position < offset_bytes;
    char *at = is_skipped ? skipped : (char *)into + (file->position - offset_bytes);
    const int64_t wanted = is_skipped
                               ? rlo__min(offset_bytes - file->position, (int64_t)sizeof(skipped))
                               : end - file->position;
    const ssize_t count = read(file->pipe, at, (size_t)wanted);
    RLO_FAIL_IF(count == 0, RLO_DATA_LOSS,
                "%s ends at byte %" PRId64 ", in the middle of its array", file->path,
                file->position);
    if (count < 0 && errno != EINTR) {
      return rlo__file_fail("cannot read", file->path, errno);
    }
    file->position += count > 0 ? count : 0;
  }
  return RLO_OK;
}

bool rlo__input_file_goes_on(rlo__input_file *file) {
  char next;
  ssize_t count;
  do {
    count = read(file->pipe, &next, 1);
  } while (count < 0 && errno == EINTR);
  return count > 0;
}

static int examine_input(const char *path, int64_t most_bytes, int descriptor,
                         rlo__input_file *out_file) {
  struct stat st = {0};
  int result = fstat(descriptor, &st);
  RLO__EXIT_IF(S_ISDIR(st.st_mode), "%s is a folder and not a regular file", path);
  *out_file = (rlo__input_file){.descriptor = descriptor, .path = path};
  if (result == 0 && !(S_ISREG(st.st_mode) && lseek(descriptor, 0, SEEK_CUR) == 0)) {
    out_file->pipe = descriptor;
    out_file->descriptor = memfd_create("relayout", MFD_CLOEXEC);
    out_file->most_bytes = most_bytes != 0 ? most_bytes : rlo__available_bytes("") / 2;
    RLO__EXIT_TRY(copy_pipe(out_file, HEAD_BYTES));
    result = fstat(out_file->descriptor, &st);
  }
  RLO__EXIT_IF(result != 0, "cannot read the status of %s: %s", path, strerror(errno));
  out_file->size_bytes = out_file->pipe == 0 ? (int64_t)st.st_size : INT64_MAX;
  out_file->modified = st.st_mtim;
  return RLO__EXIT_OK;
}

int rlo__input_file_open(const char *path, int64_t most_bytes, rlo__input_file *out_file) {
  const int descriptor = open_input(path);
  RLO__EXIT_IF(descriptor < 0, "cannot open %s: %s", path, strerror(errno));
  const int code = examine_input(path, most_bytes, descriptor, out_file);
  if (code != RLO__EXIT_OK) {
    close(descriptor);
  }
  return code;
}

int rlo__input_file_read(const rlo__input_file *file, int64_t offset_bytes, void *buffer,
                         size_t bytes) {
  return rlo__check(rlo__file_pread(file->descriptor, file->path, buffer, bytes, offset_bytes));
}

int rlo__input_file_check_unchanged(const rlo__input_file *file) {
  struct stat information;
  if (file->held_bytes > 0) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_IF(fstat(file->descriptor, &information) != 0, "cannot read the status of %s: %s",
               file->path, strerror(errno));
  return information.st_size == file->size_bytes &&
                 information.st_mtim.tv_sec == file->modified.tv_sec &&
                 information.st_mtim.tv_nsec == file->modified.tv_nsec
             ? RLO__EXIT_OK
             : rlo__fail("%s was changed while it was read", file->path);
}

void rlo__input_file_close(const rlo__input_file *file) {
  close(file->descriptor);
  if (file->pipe != 0) {
    close(file->pipe);
  }
}

void rlo__files_allow(int32_t count) {
  const rlim_t wanted = (rlim_t)count + OWN_FILES;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    /* The open that fails otherwise names its file. */
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

const char *rlo__path_of(const char *operand, const char *standard_path) {
  return strcmp(operand, "-") == 0 ? standard_path : operand;
}

static bool is_one(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Finds the folder in which a file that does not exist will be; NULL if it
 * cannot be. Returns its name there. */
static const char *find_folder(rlo__file_replace *f, const char *path, struct stat *out_folder) {
  char folder[PATH_MAX];
  if (rlo__file_replace_begin(f, path, RLO__FILE_NAMES) != 0) {
    return NULL;
  }
  rlo__folder_of(f->path, folder);
  const char *slash = strrchr(f->path, '/');
  return stat(folder, out_folder) != 0 ? NULL : slash == NULL ? f->path : slash + 1;
}

int rlo__input_file_check(const rlo__input_file *file, const char *path) {
  struct stat own;
  struct stat other;
  return fstat(file->descriptor, &own) == 0 && stat(path, &other) == 0 && is_one(&own, &other)
             ? rlo__fail("%s and %s are one file; write to another", file->path, path)
             : RLO__EXIT_OK;
}

bool rlo__path_is_same_file(const char *a, const char *b) {
  rlo__file_replace files[2];
  struct stat of[2];
  const bool exists[2] = {stat(a, &of[0]) == 0, stat(b, &of[1]) == 0};
  if (exists[0] || exists[1]) {
    return exists[0] && exists[1] && is_one(&of[0], &of[1]);
  }
  const char *name = find_folder(&files[0], a, &of[0]);
  const char *other = find_folder(&files[1], b, &of[1]);
  return name != NULL && other != NULL && strcmp(name, other) == 0 && is_one(&of[0], &of[1]);
}

/* Standard output, where an output has been claimed to be it. */
static struct {
  const char *path;
  int descriptor;
} standard;

static bool is_standard(const char *path) {
  return standard.path != NULL && strcmp(path, standard.path) == 0;
}

void rlo__output_claim(const char *path) {
  struct stat named;
  struct stat printed;
  if (standard.path != NULL || stat(path, &named) != 0 || fstat(STDOUT_FILENO, &printed) != 0 ||
      !is_one(&named, &printed)) {
    return;
  }
  (void)fflush(stdout);
  standard.path = path;
  standard.descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  (void)dup2(STDERR_FILENO, STDOUT_FILENO);
}

const char *rlo__path_why_in_place(const char *path) {
  rlo__file_replace file;
  (void)rlo__file_replace_begin(&file, path, RLO__FILE_NAMES);
  return is_standard(path) ? "is standard output" : file.in_place;
}

bool rlo__path_is_forward(const char *path) {
  struct stat st;
  return is_standard(path) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

/* Returns the exit code of a write, of which `error` is the errno, or 0. */
static int check_write(const char *path, int error) {
  return error == 0 ? RLO__EXIT_OK : rlo__fail("cannot write %s: %s", path, strerror(error));
}

/* A temporary file leaves the list when it is renamed, closed or unlinked; the
 * signals are blocked between the two steps. */
static void end_file(rlo__output_file *output, void (*end)(rlo__file_replace *file)) {
  rlo__interrupt_block();
  end(&output->file);
  rlo__interrupt_remove_file(&output->unfinished);
  rlo__interrupt_unblock();
}

void rlo__output_file_abandon(rlo__output_file *output) {
  end_file(output, rlo__file_replace_abandon);
}

bool rlo__output_file_leave(rlo__output_file *output) {
  const char *journal_path = output->unfinished.journal_path;
  if (output->file.temp_path[0] == '\0' || journal_path == NULL ||
      !rlo__file_is_own(AT_FDCWD, journal_path)) {
    return false;
  }
  end_file(output, rlo__file_replace_leave);
  return true;
}

static int open_file(const char *path, rlo__file_way way, rlo__output_file *output) {
  rlo__file_replace *file = &output->file;
  struct stat information;
  if (is_standard(path)) {
    *file = (rlo__file_replace){.fd = standard.descriptor, .in_place = "is standard output"};
    return RLO__EXIT_OK;
  }
  const bool is_old = stat(path, &information) == 0;
  if (is_old) {
    RLO__EXIT_IF(S_ISDIR(information.st_mode), "cannot write %s: it is a folder", path);
    /* A rename would replace a file that is write-protected on purpose. */
    if (access(path, W_OK) != 0) {
      return check_write(path, errno);
    }
  }
  /* Opening a pipe waits for its reader, makes no file, and must end with a signal. */
  const bool is_file = !is_old || S_ISREG(information.st_mode);
  if (is_file) {
    rlo__interrupt_block();
  }
  int error = rlo__file_replace_begin(file, path, way);
  if (error == 0 && file->temp_path[0] != '\0') {
    output->unfinished.path = file->temp_path;
    rlo__interrupt_add_file(&output->unfinished);
  }
  if (is_file) {
    rlo__interrupt_unblock();
  }
  RLO__EXIT_IF(error == EBUSY && file->is_part,
               "cannot write %s: another process, or an input of this one, holds %s", path,
               file->temp_path);
  return check_write(file->path, error);
}

int rlo__output_file_commit(rlo__output_file *output) {
  rlo__file_replace *file = &output->file;
  rlo__interrupt_block();
  const int error = rlo__file_replace_rename(file);
  if (error == 0) {
    rlo__interrupt_remove_file(&output->unfinished);
  }
  rlo__interrupt_unblock();
  RLO__EXIT_TRY(check_write(file->path, error));
  /* Syncs the directory, which some file systems refuse. */
  (void)rlo__file_replace_commit(file);
  return RLO__EXIT_OK;
}

static int begin_part(const char *path, const rlo__output_start *start, rlo__output_file *file) {
  RLO__EXIT_TRY(open_file(path, start->is_forward ? RLO__FILE_TEMP : RLO__FILE_NEW_PART, file));
  int error = rlo__file_replace_write(&file->file, start->head, start->head_bytes);
  /* It is compared when the part is resumed. */
  if (error == 0 && start->has_journal && fdatasync(file->file.fd) != 0) {
    error = errno == EINVAL ? 0 : errno;
  }
  if (error != 0) {
    rlo__output_file_abandon(file);
  }
  return check_write(path, error);
}

/* Fails unless a part begins with the head of this output. */
static int check_head(const char *path, const rlo__output_start *start,
                      const rlo__output_file *file) {
  char *bytes = rlo__alloc(start->head_bytes);
  const bool is_same =
      bytes != NULL &&
      rlo__file_pread(file->file.fd, path, bytes, start->head_bytes, 0) == RLO_OK &&
      memcmp(bytes, start->head, start->head_bytes) == 0;
  rlo__free(bytes);
  return is_same ? RLO__EXIT_OK
                 : rlo__fail(
                       "cannot go on with %s: its array has another shape or type; without "
                       "--resume the job begins anew",
                       path);
}

/* *out_exists: there is a part to go on with. */
static int resume_part(const char *path, const rlo__output_start *start, rlo__output_file *file,
                       bool *out_exists) {
  rlo__file_replace named;
  *out_exists = rlo__file_replace_begin(&named, path, RLO__FILE_NAMES) == 0 &&
                rlo__file_replace_can_resume(&named);
  if (!*out_exists) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_TRY(open_file(path, RLO__FILE_OLD_PART, file));
  const int code = check_head(path, start, file);
  if (code != RLO__EXIT_OK) {
    rlo__output_file_leave(file);
  }
  return code;
}

int rlo__output_file_begin(const char *path, const rlo__output_start *start,
                           rlo__output_file *file) {
  bool exists = false;
  if (start->has_journal) {
    file->unfinished.journal_path = file->file.journal_path;
  }
  if (start->is_resumed && start->has_journal) {
    RLO__EXIT_TRY(resume_part(path, start, file, &exists));
  }
  return exists ? RLO__EXIT_OK : begin_part(path, start, file);
}

int rlo__output_file_resize(rlo__output_file *file, int64_t bytes) {
  int result = fallocate(file->file.fd, 0, 0, (off_t)bytes);
  if (result != 0 && (errno == ENOSPC || errno == EDQUOT)) {
    return check_write(file->file.path, errno);
  }
  do {
    result = ftruncate(file->file.fd, (off_t)bytes);
  } while (result != 0 && errno == EINTR);
  return check_write(file->file.path, result == 0 ? 0 : errno);
}

int rlo__output_file_append(rlo__output_file *file, const void *data, size_t bytes) {
  return check_write(file->file.path, rlo__file_replace_write(&file->file, data, bytes));
}

int rlo__output_file_rewrite(rlo__output_file *file, const void *bytes, size_t count) {
  const bool is_there = lseek(file->file.fd, 0, SEEK_SET) == 0;
  return check_write(file->file.path,
                     is_there ? rlo__file_replace_write(&file->file, bytes, count) : errno);
}

int rlo__output_file_finish(rlo__output_file *file) {
  return check_write(file->file.path, rlo__file_replace_finish(&file->file));
}

/* Gets the room for what is written in place, before a byte of the file is lost. */
static int reserve_in_place(const rlo__file_replace *file, size_t bytes) {
  if (file->in_place == NULL || file->path[0] == '\0' || !S_ISREG(file->old.st_mode) ||
      fallocate(file->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0 ||
      (errno != ENOSPC && errno != EDQUOT)) {
    return 0;
  }
  const int error = errno;
  /* Gives back what was got of it. */
  return ftruncate(file->fd, file->old.st_size) == 0 ? error : errno;
}

int rlo__output_write(const char *operand, const void *head, size_t head_bytes, const void *data,
                      size_t data_bytes) {
  const char *path = rlo__path_of(operand, "/dev/stdout");
  rlo__output_file made = {0};
  rlo__output_claim(path);
  /* Going on with it would replace what is written now. */
  if (!is_standard(path)) {
    rlo__file_replace_remove_part(path);
  }
  RLO__EXIT_TRY(open_file(path, RLO__FILE_TEMP, &made));
  int error = reserve_in_place(&made.file, head_bytes + data_bytes);
  if (error == 0) {
    error = rlo__file_replace_write(&made.file, head, head_bytes);
  }
  if (error == 0) {
    error = rlo__file_replace_write(&made.file, data, data_bytes);
  }
  if (error == 0) {
    error = rlo__file_replace_finish(&made.file);
  }
  const int code = error == 0 ? rlo__output_file_commit(&made) : check_write(path, error);
  rlo__output_file_abandon(&made);
  return code;
}
