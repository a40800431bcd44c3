/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OUTPUT_FILE_H
#define RLO_CLI_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A file and its contents: the head, then the data. All borrowed; either may
 *  have 0 bytes. */
typedef struct rlo__output {
  const char *path;
  const void *head;
  size_t head_bytes;
  const void *data;
  size_t data_bytes;
} rlo__output;

/** Whether two paths name the same existing file. */
bool rlo__path_is_same_file(const char *a, const char *b);

/**
 * Writes files, all of them or none.
 *
 * Each is written and synced as a temporary file beside its target
 * (base/file_replace.h); then all are renamed, one after the other. A target
 * that is no regular file (a device, a pipe) is written in place. A signal that
 * ends the command removes the temporary files: interrupt.h.
 * @return RLO__EXIT_OK; else prints the reason. Then no file has changed except
 *         those written in place, and those before one whose rename failed,
 *         because its directory changed after it was written.
 */
int rlo__outputs_write(const rlo__output *outputs, int32_t count);

#endif
