/* SPDX-License-Identifier: Apache-2.0 */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "message.h"

/* A file in the making. It stays where it is while a signal has to find it. */
typedef struct output_file {
  int descriptor;
  bool is_in_place;
  char path[PATH_MAX];
  /* "" while there is no such file. */
  char temporary_path[PATH_MAX];
  rlo__interrupt_file unfinished;
} output_file;

/* Linux writes less than 2 GiB at once anyway. */
#define CHUNK_BYTES ((size_t)1 << 30)

bool rlo__path_is_same_file(const char *a, const char *b) {
  struct stat of_a;
  struct stat of_b;
  return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 &&
         of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static int fail_errno(const char *what, const char *path) {
  return rlo__fail("cannot %s %s: %s", what, path, strerror(errno));
}

/* Length of the folder's part of a path, with its slash; 0 without one. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static mode_t permissions_of_new_file(void) {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* Where the file goes: the end of a chain of links, *out_mode the permissions
 * that it shall have. */
static int resolve(output_file *file, const char *path, mode_t *out_mode) {
  if ((size_t)snprintf(file->path, sizeof(file->path), "%s", path) >=
      sizeof(file->path)) {
    return rlo__fail("the path of the output is longer than %d bytes",
                     PATH_MAX - 1);
  }
  struct stat information;
  *out_mode = permissions_of_new_file();
  if (stat(path, &information) != 0) {
    /* A link to a file that is not there yet is replaced. */
    return errno == ENOENT ? RLO__EXIT_OK : fail_errno("write", path);
  }
  if (S_ISDIR(information.st_mode)) {
    return rlo__fail("cannot write %s: it is a folder", path);
  }
  file->is_in_place = !S_ISREG(information.st_mode);
  if (file->is_in_place) {
    return RLO__EXIT_OK;
  }
  /* Renaming would replace a file that was protected on purpose. */
  if (access(path, W_OK) != 0 || realpath(path, file->path) == NULL) {
    return fail_errno("write", path);
  }
  *out_mode = information.st_mode & 0777;
  return RLO__EXIT_OK;
}

/* Forget the temporary file: it has been renamed or unlinked. Call with the
 * signals blocked. */
static void forget_temporary(output_file *file) {
  file->temporary_path[0] = '\0';
  rlo__interrupt_remove_file(&file->unfinished);
}

/* Remove what has been written; after the renaming nothing happens. */
static void abandon(output_file *file) {
  if (file->descriptor >= 0) {
    close(file->descriptor);
    file->descriptor = -1;
  }
  if (file->temporary_path[0] == '\0') {
    return;
  }
  sigset_t before;
  rlo__interrupt_block(&before);
  unlink(file->temporary_path);
  forget_temporary(file);
  rlo__interrupt_unblock(&before);
}

static int open_temporary(output_file *file, mode_t mode) {
  size_t folder = folder_length(file->path);
  int length = snprintf(file->temporary_path,
                        sizeof(file->temporary_path),
                        "%.*s.relayout-XXXXXX",
                        (int)folder,
                        file->path);
  if (length < 0 || (size_t)length >= sizeof(file->temporary_path)) {
    return rlo__fail("the path of the output is longer than %d bytes",
                     PATH_MAX - 1);
  }
  sigset_t before;
  rlo__interrupt_block(&before);
  file->descriptor = mkstemp(file->temporary_path);
  int error = errno;
  if (file->descriptor >= 0) {
    file->unfinished.path = file->temporary_path;
    rlo__interrupt_add_file(&file->unfinished);
  }
  rlo__interrupt_unblock(&before);
  if (file->descriptor < 0) {
    errno = error;
    return fail_errno("write", file->path);
  }
  if (fchmod(file->descriptor, mode) != 0) {
    int code = fail_errno("set the permissions of", file->temporary_path);
    abandon(file);
    return code;
  }
  return RLO__EXIT_OK;
}

static int open_file(const char *path, output_file *file) {
  file->descriptor = -1;
  file->is_in_place = false;
  file->temporary_path[0] = '\0';
  mode_t mode = 0;
  int code = resolve(file, path, &mode);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (!file->is_in_place) {
    return open_temporary(file, mode);
  }
  file->descriptor = open(path, O_WRONLY | O_CLOEXEC);
  return file->descriptor < 0 ? fail_errno("write", path) : RLO__EXIT_OK;
}

static int write_bytes(output_file *file, const void *data, size_t bytes) {
  const char *from = data;
  size_t done = 0;
  while (done < bytes) {
    size_t wanted = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
    ssize_t written = write(file->descriptor, from + done, wanted);
    if (written >= 0) {
      done += (size_t)written;
    } else if (errno != EINTR) {
      return fail_errno("write", file->path);
    }
  }
  return RLO__EXIT_OK;
}

/* Without this a crash of the machine could undo the rename. Some file systems
 * cannot do it; the file itself is safe by then. */
static void sync_folder(const char *path) {
  char folder[PATH_MAX];
  size_t length = folder_length(path);
  snprintf(folder,
           sizeof(folder),
           "%.*s",
           length == 0 ? 1 : (int)length,
           length == 0 ? "." : path);
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
}

/* Close it with all that was written on the disk, so that little can go wrong
 * after that. */
static int finish(output_file *file) {
  if (!file->is_in_place && fsync(file->descriptor) != 0) {
    return fail_errno("write", file->path);
  }
  int descriptor = file->descriptor;
  file->descriptor = -1;
  /* EINTR has closed it all the same. */
  if (close(descriptor) != 0 && errno != EINTR) {
    return fail_errno("write", file->path);
  }
  return RLO__EXIT_OK;
}

static int put_in_place(output_file *file) {
  if (file->is_in_place) {
    return RLO__EXIT_OK;
  }
  sigset_t before;
  rlo__interrupt_block(&before);
  int result = rename(file->temporary_path, file->path);
  int error = errno;
  if (result == 0) {
    forget_temporary(file);
  }
  rlo__interrupt_unblock(&before);
  if (result != 0) {
    errno = error;
    return fail_errno("write", file->path);
  }
  sync_folder(file->path);
  return RLO__EXIT_OK;
}

/* Write a file beside its target. On failure nothing is left. */
static int make_file(const rlo__output *output, output_file *file) {
  int code = open_file(output->path, file);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  code = write_bytes(file, output->head, output->head_bytes);
  if (code == RLO__EXIT_OK) {
    code = write_bytes(file, output->data, output->data_bytes);
  }
  if (code == RLO__EXIT_OK) {
    code = finish(file);
  }
  if (code != RLO__EXIT_OK) {
    abandon(file);
  }
  return code;
}

int rlo__outputs_write(const rlo__output *outputs, int32_t count) {
  output_file *files = calloc((size_t)count, sizeof(*files));
  if (files == NULL) {
    return rlo__fail("cannot get memory for %d files", count);
  }
  int code = RLO__EXIT_OK;
  int32_t num_made = 0;
  while (code == RLO__EXIT_OK && num_made < count) {
    code = make_file(&outputs[num_made], &files[num_made]);
    num_made += code == RLO__EXIT_OK;
  }
  for (int32_t n = 0; code == RLO__EXIT_OK && n < count; ++n) {
    code = put_in_place(&files[n]);
  }
  for (int32_t n = 0; n < num_made; ++n) {
    abandon(&files[n]);
  }
  free(files);
  return code;
}
