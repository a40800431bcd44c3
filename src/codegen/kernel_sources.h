/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CODEGEN_KERNEL_SOURCES_H
#define RLO_CODEGEN_KERNEL_SOURCES_H

#include <stddef.h>
#include <stdint.h>

/**
 * One file of cl/ at the time of the build, with the files that it includes
 * inserted.
 */
typedef struct rlo__kernel_source {
  /** Stem of the file: "gather" for cl/gather.cl. */
  const char *name;
  /** The text, NUL-terminated. */
  const char *text;
  /** Length of the text in bytes, without its NUL. */
  size_t text_bytes;
  /** Hash of the text. Equal texts, and only those, have equal hashes, on every
   *  machine. */
  uint64_t hash;
} rlo__kernel_source;

/**
 * Finds an embedded kernel source by the stem of its file.
 *
 * @return static; NULL if there is none, or for a NULL name. Threads: safe.
 */
const rlo__kernel_source *rlo__kernel_source_find(const char *name);

/** Hash of the names and texts of all kernels. */
uint64_t rlo__kernel_sources_hash(void);

#endif
