/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "message.h"

/* Open files besides arrays: the standard streams, and those of a driver. */
#define OWN_FILES 128

int rlo__input_file_open(const char *path, rlo__input_file *out_file) {
  /* O_NONBLOCK: the open of a pipe without a writer would not return. */
  int descriptor = rlo__open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
  if (descriptor < 0) {
    return rlo__fail("cannot open %s: %s", path, strerror(errno));
  }
  struct stat information;
  if (fstat(descriptor, &information) != 0) {
    int code = rlo__fail("cannot read the status of %s: %s", path, strerror(errno));
    close(descriptor);
    return code;
  }
  if (!S_ISREG(information.st_mode)) {
    close(descriptor);
    return rlo__fail("%s is not a regular file", path);
  }
  *out_file = (rlo__input_file){
      .descriptor = descriptor,
      .size_bytes = information.st_size,
      .modified = information.st_mtim,
      .path = path,
  };
  return RLO__EXIT_OK;
}

int rlo__input_file_read(const rlo__input_file *file, int64_t offset_bytes, void *buffer,
                         size_t bytes) {
  return rlo__check(rlo__file_pread(file->descriptor, file->path, buffer, bytes, offset_bytes));
}

int rlo__input_file_check_unchanged(const rlo__input_file *file) {
  struct stat information;
  if (fstat(file->descriptor, &information) != 0) {
    return rlo__fail("cannot read the status of %s: %s", file->path, strerror(errno));
  }
  return information.st_size == file->size_bytes &&
                 information.st_mtim.tv_sec == file->modified.tv_sec &&
                 information.st_mtim.tv_nsec == file->modified.tv_nsec
             ? RLO__EXIT_OK
             : rlo__fail("%s was changed while it was read", file->path);
}

void rlo__input_file_close(const rlo__input_file *file) {
  close(file->descriptor);
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

bool rlo__path_is_same_file(const char *a, const char *b) {
  struct stat of_a;
  struct stat of_b;
  return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

bool rlo__path_is_special(const char *path) {
  struct stat information;
  return stat(path, &information) == 0 && !S_ISREG(information.st_mode);
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
      access(journal_path, F_OK) != 0) {
    return false;
  }
  end_file(output, rlo__file_replace_leave);
  return true;
}

static int open_file(const char *path, rlo__file_way way, rlo__output_file *output) {
  rlo__file_replace *file = &output->file;
  struct stat information;
  if (stat(path, &information) == 0) {
    if (S_ISDIR(information.st_mode)) {
      return rlo__fail("cannot write %s: it is a folder", path);
    }
    /* A rename would replace a file that is write-protected on purpose. */
    if (access(path, W_OK) != 0) {
      return check_write(path, errno);
    }
  }
  rlo__interrupt_block();
  int error = rlo__file_replace_begin(file, path, way);
  if (error == 0 && file->temp_path[0] != '\0') {
    output->unfinished.path = file->temp_path;
    rlo__interrupt_add_file(&output->unfinished);
  }
  rlo__interrupt_unblock();
  if (error == EBUSY && file->is_part) {
    return rlo__fail("cannot write %s: another process does, which holds %s", path,
                     file->temp_path);
  }
  return check_write(path, error);
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

/* A file that cannot be synced, such as a device, is not. */
static int sync_data(int descriptor) {
  int result;
  do {
    result = fdatasync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL ? 0 : errno;
}

static int begin_part(const char *path, const rlo__output_start *start, rlo__output_file *file) {
  RLO__EXIT_TRY(open_file(path, RLO__FILE_NEW_PART, file));
  int error = rlo__file_replace_write(&file->file, start->head, start->head_bytes);
  /* It is compared when the part is resumed. */
  if (error == 0 && start->has_journal) {
    error = sync_data(file->file.fd);
  }
  if (error != 0) {
    rlo__output_file_abandon(file);
  }
  return check_write(path, error);
}

/* Fails unless a part begins with the head of this output. */
static int check_head(const char *path, const rlo__output_start *start,
                      const rlo__output_file *file) {
  char bytes[RLO__MAX_HEADER_BYTES];
  if (rlo__file_pread(file->file.fd, path, bytes, start->head_bytes, 0) != RLO_OK ||
      memcmp(bytes, start->head, start->head_bytes) != 0) {
    return rlo__fail(
        "cannot go on with %s: its array has another shape or type; without "
        "--resume the job begins anew",
        path);
  }
  return RLO__EXIT_OK;
}

/* *out_exists: there is a part to go on with. */
static int resume_part(const char *path, const rlo__output_start *start, rlo__output_file *file,
                       bool *out_exists) {
  rlo__file_replace named;
  *out_exists = rlo__file_replace_begin(&named, path, RLO__FILE_NAMES) == 0 &&
                access(named.temp_path, F_OK) == 0 && access(named.journal_path, F_OK) == 0;
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
  int result;
  do {
    result = ftruncate(file->file.fd, (off_t)bytes);
  } while (result != 0 && errno == EINTR);
  return check_write(file->file.path, result == 0 ? 0 : errno);
}

int rlo__output_file_append(rlo__output_file *file, const void *data, size_t bytes) {
  return check_write(file->file.path, rlo__file_replace_write(&file->file, data, bytes));
}

int rlo__output_file_finish(rlo__output_file *file) {
  return check_write(file->file.path, rlo__file_replace_finish(&file->file));
}

int rlo__output_write(const char *path, const void *head, size_t head_bytes, const void *data,
                      size_t data_bytes) {
  rlo__output_file made = {0};
  /* Going on with it would replace what is written now. */
  rlo__file_replace_remove_part(path);
  RLO__EXIT_TRY(open_file(path, RLO__FILE_TEMP, &made));
  int error = rlo__file_replace_write(&made.file, head, head_bytes);
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
