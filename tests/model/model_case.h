/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_MODEL_CASE_H
#define RLO_TESTS_MODEL_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "relayout/shape.h"

/**
 * Files of cases that the model wrote: README.md beside this file defines the
 * lines and the rules by which memories are filled and hashed.
 */

/** Most fields a line may have. */
enum { MODEL_MAX_FIELDS = 13 };

/** A file that is being read. */
typedef struct model_file {
  FILE *stream;
  /** The line as it stands in the file, to be shown; a copy to be cut. */
  char *shown;
  char *line;
  size_t shown_capacity_bytes, line_capacity_bytes;
  /** From the head line: the seed, and how many lines must follow. */
  int64_t seed;
  int64_t num_lines;
  int64_t num_read;
} model_file;

/** One relayout and the hash of what the destination then holds. Strings are
 *  borrowed from the file until its next line is read. */
typedef struct model_case {
  const char *id;
  const char *group;
  int32_t rank;
  int32_t permutation[RLO_MAX_RANK];
  const char *src_text;
  const char *dst_text;
  /** physical_bytes of both shapes. */
  size_t src_bytes;
  size_t dst_bytes;
  uint64_t dst_hash;
} model_case;

/** Open a file and read its head line. False after a message on stderr. */
bool model_file_open(model_file *file, const char *path);

/** Split the next line at its tabs. @return the number of fields; 0 at the
 *  end; -1 after a message, also if lines are missing at the end. */
int model_file_next(model_file *file, char *fields[MODEL_MAX_FIELDS]);

void model_file_close(model_file *file);

/** Read the next case. @return 1; 0 at the end; -1 after a message. */
int model_case_next(model_file *file, model_case *out_case);

/** Fill memory with the source pattern, or with the one that destinations hold
 *  before a relayout. */
void model_fill_source(uint8_t *bytes, size_t num_bytes);
void model_fill_prefill(uint8_t *bytes, size_t num_bytes);

/** Fill memory with indices below `limit`, some of which are none. */
void model_fill_indices(uint8_t *bytes,
                        size_t num_bytes,
                        size_t index_bytes,
                        int64_t limit);

/** True if memory holds the source pattern. */
bool model_is_source(const uint8_t *bytes, size_t num_bytes);

/** 64-bit FNV-1a; start with MODEL_HASH_START. */
#define MODEL_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t model_hash(uint64_t hash, const uint8_t *bytes, size_t num_bytes);

#endif
