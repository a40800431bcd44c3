/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OUTPUT_FILE_H
#define RLO_CLI_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a file shall hold: the head, then the data. All borrowed; either may be
 *  of 0 bytes. */
typedef struct rlo__output {
  const char *path;
  const void *head;
  size_t head_bytes;
  const void *data;
  size_t data_bytes;
} rlo__output;

/** Whether two paths lead to one existing file. */
bool rlo__path_is_same_file(const char *a, const char *b);

/**
 * Write files, all of them or none.
 *
 * Each is written beside its target under another name and forced to the disk;
 * when all are there they are renamed, one after the other. A symbolic link
 * keeps pointing where it does; an existing file gives its permissions to the
 * new one. What is no regular file (a device, a pipe) is written in place, for
 * there is nothing to replace. A signal that ends the command removes what has
 * not been renamed: interrupt.h.
 * @return RLO__EXIT_OK, or prints why not. Then no file has changed, but those
 *         written in place, and those before one that could not be renamed:
 *         its folder changed since it was written.
 */
int rlo__outputs_write(const rlo__output *outputs, int32_t count);

#endif
