/* SPDX-License-Identifier: Apache-2.0 */
#include "output_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_replace.h"

#include "interrupt.h"
#include "message.h"

/* A file that is being written. Its address is constant while a signal handler
 * may read it. */
typedef struct output_file {
  rlo__file_replace file;
  /* Listed while there is a temporary file. */
  rlo__interrupt_file unfinished;
} output_file;

bool rlo__path_is_same_file(const char *a, const char *b) {
  struct stat of_a;
  struct stat of_b;
  return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 &&
         of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static int fail_write(const char *path, int error) {
  return rlo__fail("cannot write %s: %s", path, strerror(error));
}

/* The temporary file is gone from its list once it has been renamed or
 * unlinked; the signals are blocked from the one to the other. */
static void abandon(output_file *output) {
  bool is_listed = output->file.temp_path[0] != '\0';
  sigset_t before;
  rlo__interrupt_block(&before);
  rlo__file_replace_abandon(&output->file);
  if (is_listed) {
    rlo__interrupt_remove_file(&output->unfinished);
  }
  rlo__interrupt_unblock(&before);
}

static int open_file(const char *path, output_file *output) {
  rlo__file_replace *file = &output->file;
  struct stat information;
  if (stat(path, &information) == 0) {
    if (S_ISDIR(information.st_mode)) {
      return rlo__fail("cannot write %s: it is a folder", path);
    }
    /* A rename would replace a file that is write-protected on purpose. */
    if (access(path, W_OK) != 0) {
      return fail_write(path, errno);
    }
  }
  sigset_t before;
  rlo__interrupt_block(&before);
  int error = rlo__file_replace_begin(file, path);
  if (error == 0 && file->temp_path[0] != '\0') {
    output->unfinished.path = file->temp_path;
    rlo__interrupt_add_file(&output->unfinished);
  }
  rlo__interrupt_unblock(&before);
  return error == 0 ? RLO__EXIT_OK : fail_write(path, error);
}

static int put_in_place(output_file *output) {
  rlo__file_replace *file = &output->file;
  bool is_listed = file->temp_path[0] != '\0';
  sigset_t before;
  rlo__interrupt_block(&before);
  int error = rlo__file_replace_rename(file);
  if (error == 0 && is_listed) {
    rlo__interrupt_remove_file(&output->unfinished);
  }
  rlo__interrupt_unblock(&before);
  if (error != 0) {
    return fail_write(file->path, error);
  }
  /* Only the sync of the directory is left, which some file systems refuse. */
  (void)rlo__file_replace_commit(file);
  return RLO__EXIT_OK;
}

/* Writes a file beside its target. On failure nothing is left. */
static int make_file(const rlo__output *output, output_file *made) {
  rlo__file_replace *file = &made->file;
  int code = open_file(output->path, made);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  int error = rlo__file_replace_write(file, output->head, output->head_bytes);
  if (error == 0) {
    error = rlo__file_replace_write(file, output->data, output->data_bytes);
  }
  if (error == 0) {
    /* Synced and closed, so that the rename is all that can still fail. */
    error = rlo__file_replace_finish(file);
  }
  if (error != 0) {
    abandon(made);
    return fail_write(output->path, error);
  }
  return RLO__EXIT_OK;
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
