/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CODEGEN_KERNEL_SOURCES_H
#define RLO_CODEGEN_KERNEL_SOURCES_H

#include <stddef.h>
#include <stdint.h>

/**
 * One file of cl/ as it was when the library was built, with the other files
 * of cl/ that it includes already in their places.
 */
typedef struct rlo__kernel_source {
  /** Stem of the file: "rows" for cl/rows.cl. */
  const char *name;
  /** The text, NUL-terminated. */
  const char *text;
  /** Length of the text in bytes, without its NUL. */
  size_t text_bytes;
  /** Hash of the text: equal texts, and only those, have equal hashes. It is
   *  the same on every machine. */
  uint64_t hash;
} rlo__kernel_source;

/**
 * Find an embedded kernel source by the stem of its file.
 *
 * Returns NULL when there is none, and for a NULL name. What is returned is
 * static. Threads: safe.
 */
const rlo__kernel_source *rlo__kernel_source_find(const char *name);

/** Hash of the names and texts of all kernels. */
uint64_t rlo__kernel_sources_hash(void);

#endif
