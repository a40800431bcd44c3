/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CODEGEN_KERNEL_SOURCES_H
#define RLO_CODEGEN_KERNEL_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/** A piece of a file of cl/. */
typedef struct rlo__kernel_part {
  const char *text;
  size_t bytes;
} rlo__kernel_part;

/**
 * One file of cl/ at the time of the build, with the files that it includes in the
 * place of their includes. Files that many kernels include are stored once, so that
 * the text is in parts.
 */
typedef struct rlo__kernel_source {
  /** Stem of the file: "gather" for cl/gather.cl. */
  const char *name;
  /** The parts of the text, in order; ends with one whose text is NULL. */
  const rlo__kernel_part *parts;
  /** Hash of the text. Equal texts, and only those, have equal hashes, on every
   *  machine. */
  uint64_t hash;
  /** Includes cl/batch.cl. */
  bool has_batch;
} rlo__kernel_source;

/**
 * Finds an embedded kernel source by the stem of its file.
 *
 * @return static; NULL if there is none, or for a NULL name. Threads: safe.
 */
const rlo__kernel_source *rlo__kernel_source_find(const char *name);

/** Appends the text. */
void rlo__kernel_source_append(const rlo__kernel_source *source, rlo__str *out);

/** Hash of the names and texts of all kernels. */
uint64_t rlo__kernel_sources_hash(void);

#endif
