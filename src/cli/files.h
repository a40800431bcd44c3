/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_FILES_H
#define RLO_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/file_replace.h"
#include "relayout/status.h"

#include "interrupt.h"

/** Files that the command reads and writes. Functions that return an int return
 *  RLO__EXIT_OK, or print the reason and return RLO__EXIT_FAILURE. */

/**
 * A regular file, open for reading. Its contents are read into memory with
 * pread and never mapped: access to a mapped file that another process
 * truncates raises SIGBUS.
 */
typedef struct rlo__input_file {
  int descriptor;
  /** INT64_MAX where nobody knows yet, of a pipe. */
  int64_t size_bytes;
  /** The memory that the contents take, read from a pipe; 0: a file. */
  int64_t held_bytes;
  /** The pipe that has what goes on behind the bytes in memory; 0: none. */
  int pipe;
  /** How much has been taken from it, and may be read into memory. */
  int64_t position, most_bytes;
  /** When it was last written, as the system counts. */
  struct timespec modified;
  /** Borrowed. */
  const char *path;
} rlo__input_file;

/**
 * Opens a file, "/dev/stdin" for standard input. What is not a regular file,
 * or begins elsewhere, is read into memory: no more than any header has, until
 * rlo__input_file_hold. No other command removes the file while it is open, whatever
 * its name.
 * @param most_bytes  of what is read into memory; 0: half of what is free.
 */
int rlo__input_file_open(const char *path, int64_t most_bytes, rlo__input_file *out_file);

/** Reads a pipe to its end into memory, where it is as a file. */
int rlo__input_file_hold(rlo__input_file *file);

/** Reads bytes of a file, or of a pipe that is read forward: nothing before what was
 *  taken of it. @return RLO_OK; RLO_DATA_LOSS if it ends before; RLO_IO. */
RLO_NODISCARD rlo_status rlo__input_file_take(rlo__input_file *file, int64_t offset_bytes,
                                              void *into, int64_t bytes);

/** Returns whether a pipe has a byte behind those that were taken. */
bool rlo__input_file_goes_on(rlo__input_file *file);

/** Reads exactly `bytes` bytes at an offset; fails if the file, or what is in memory
 *  of a pipe, ends earlier. */
int rlo__input_file_read(const rlo__input_file *file, int64_t offset_bytes, void *buffer,
                         size_t bytes);

/** Fails if the file has been written to since it was opened. */
int rlo__input_file_check_unchanged(const rlo__input_file *file);

void rlo__input_file_close(const rlo__input_file *file);

/** Allows the process `count` open files besides a few of its own, as far as
 * the system lets it. */
void rlo__files_allow(int32_t count);

/** Returns the path of an operand, which is `standard` for "-": "/dev/stdin" or
 *  "/dev/stdout". */
const char *rlo__path_of(const char *operand, const char *standard);

/** Fails if a path that is to be written names the file that is open, whose own path
 *  may be that of a member or of a descriptor. */
int rlo__input_file_check(const rlo__input_file *file, const char *path);

/** Returns whether two paths name the same file, which need not exist. */
bool rlo__path_is_same_file(const char *a, const char *b);

/** Returns why what a path names is written in place, as the end of a sentence:
 *  "is not a regular file"; NULL: it is made as a part. */
const char *rlo__path_why_in_place(const char *path);

/** Returns whether what a path names is written behind what was written before: standard
 *  output, or no regular file. */
bool rlo__path_is_forward(const char *path);

/** Prepares for writing to a path that may be standard output: if it is, what
 *  is printed there goes to standard error from now on. `path` is borrowed. */
void rlo__output_claim(const char *path);

/**
 * Writes a file, "-" for standard output: the head, then the data; complete, or
 * not at all.
 *
 * It is written and synced as a temporary file beside its target
 * (base/file_replace.h), which is renamed. A target that cannot be replaced (a
 * device, a pipe, a mount) is written in place. A signal that ends the command
 * removes the temporary file (interrupt.h).
 */
int rlo__output_write(const char *operand, const void *head, size_t head_bytes, const void *data,
                      size_t data_bytes);

/** A file that is being written. A signal handler may read it, so its address
 *  must not change while it is open. */
typedef struct rlo__output_file {
  /** file.fd is open for reading and writing at any position. */
  rlo__file_replace file;
  /** Listed while there is a temporary file. The caller may set what it tells,
   *  before the file is begun; all else begins with zeros. */
  rlo__interrupt_file unfinished;
} rlo__output_file;

/** The most that a head has. */
#define RLO__MAX_HEADER_BYTES 4096

/** How a file is begun. Everything is borrowed while it is open. */
typedef struct rlo__output_start {
  const void *head;
  size_t head_bytes;
  /** The part stays if there is a journal beside it (file.journal_path) when a
   *  signal ends the command. */
  bool has_journal;
  /** Goes on with a part that has a journal, if there is one. */
  bool is_resumed;
  /** The path is one that rlo__path_is_forward is true for: it is written in place. */
  bool is_forward;
} rlo__output_start;

/**
 * Opens the part of a file (RLO__FILE_NEW_PART) and writes its head;
 * that of a part which is resumed has to be the same. Whatever ends the
 * command, but for SIGKILL, removes the part, unless it has a journal; what
 * remains then without one, the next output into the same folder does.
 */
int rlo__output_file_begin(const char *path, const rlo__output_start *start,
                           rlo__output_file *file);

/** Gives the part a size, and room for it: what is new is zero. */
int rlo__output_file_resize(rlo__output_file *file, int64_t bytes);

/** Writes all bytes of a part behind its head. */
int rlo__output_file_append(rlo__output_file *file, const void *data, size_t bytes);

/** Writes other bytes over the first ones of a part that is finished. */
int rlo__output_file_rewrite(rlo__output_file *file, const void *bytes, size_t count);

/** Syncs the part while signals still end the command: it may take minutes. */
int rlo__output_file_finish(rlo__output_file *file);

/** Gives the part, which is finished, its name, and syncs its folder. */
int rlo__output_file_commit(rlo__output_file *file);

/** Removes the part and its journal, if it has not become the file. May be
 *  repeated. */
void rlo__output_file_abandon(rlo__output_file *file);

/** Closes the part, which stays, if it has a journal. @return false: it has
 *  none, and nothing was done. */
bool rlo__output_file_leave(rlo__output_file *file);

#endif
