/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_WISDOM_H
#define RELAYOUT_WISDOM_H

#include "relayout/plan.h"

RLO_BEGIN_DECLS

/*
 * Wisdom: what was fastest when it was measured. It is text, so that it can be
 * looked at, merged and thrown away, and holds no code; a context reads and
 * writes it (rlo_context_import_wisdom and its neighbours in
 * relayout/opencl_wisdom.h). Fields stand between tabs, lines end in a newline:
 *
 *   relayout-wisdom  1
 *   device  NAME  DRIVER  TABLE
 *   PROBLEM  ALIGNMENT  FRACTION  CLASS  FAMILY  WAY  NOTE
 *
 * The lines below a device are of that device, driver and table of kernel
 * families. Empty lines and lines that begin with # are skipped. A problem is
 * known by 128 bits of hash over its canonical form, the class of kernels and
 * the alignment. That is short, and enough: should two problems share it, one
 * is planned in a way that suits the other. Every way moves every problem
 * right, so that this costs time and never a byte.
 */

/** One remembered measurement. Everything is borrowed for the call. */
typedef struct rlo_wisdom_record {
  const char *device;
  const char *driver;
  /** Hash of the families, ways and kernels that were measured. */
  uint64_t table;
  /** Hash of the problem, high half first. */
  uint64_t problem[2];
  /** Of memory + offset on both sides: what the plan relies on. */
  int64_t alignment_bytes;
  /** Rate against that of the copy kernel beside it, 0 .. 1 and more. */
  double fraction;
  /** Which kernels: CPU or GPU. */
  rlo_device_class device_class;
  const char *family;
  const char *way;
  /** The canonical problem in a few words, for people. */
  const char *note;
} rlo_wisdom_record;

typedef void (*rlo_wisdom_fn)(void *payload, const rlo_wisdom_record *record);

/**
 * Read a text of wisdom.
 *
 * @param text    any bytes; need not be terminated. NULL only if num_bytes is
 * 0.
 * @param fn      called for each record, in order; NULL: only check the text.
 * @return RLO_OK; RLO_PARSE with the number of the line that is wrong, after
 *         the calls for those before it.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_wisdom_read(const char *text,
                                                 size_t num_bytes,
                                                 rlo_wisdom_fn fn,
                                                 void *payload);

/** The hash of this library's families, ways and kernels: records with another
 *  one are of no use to it. */
RLO_API uint64_t rlo_wisdom_table(void);

RLO_END_DECLS

#endif
