/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_WISDOM_H
#define RLO_PLAN_WISDOM_H

#include "base/hash.h"
#include "base/table.h"
#include "plan/family.h"
#include "relayout/plan.h"

enum {
  RLO__WISDOM_NOTE_BYTES = 96,
  /** Most records of one device: some 3 MiB. */
  RLO__WISDOM_MAX_ENTRIES = 1 << 14
};

/** The identity of a problem. relayout/plan.h explains why a hash is enough. */
typedef struct rlo__wisdom_key {
  rlo__hash128 problem;
  int64_t alignment_bytes;
} rlo__wisdom_key;

/** The fastest family and schedule of a problem. */
typedef struct rlo__wisdom_entry {
  rlo__table_node node;
  rlo__wisdom_key key;
  /** Rows of the tables. */
  const rlo__family *family;
  const rlo__schedule *schedule;
  double fraction;
  char note[RLO__WISDOM_NOTE_BYTES];
} rlo__wisdom_entry;

/** Wisdom about one device, driver and table. Records about others are ignored.
 *  Threads: external synchronization. */
typedef struct rlo__wisdom {
  char device[192];
  char driver[128];
  uint64_t table_hash;
  rlo__table entries;
} rlo__wisdom;

/** Initializes a wisdom without entries. Control characters in the names become
 *  blanks. */
void rlo__wisdom_init(const char *device, const char *driver, uint64_t table_hash,
                      rlo__wisdom *out_wisdom);

/** Frees the entries. A zeroed wisdom is legal. */
void rlo__wisdom_deinit(rlo__wisdom *wisdom);

/** The key of a canonical problem for kernels of a class. The query's device
 *  and schedule are not part of it. */
rlo__wisdom_key rlo__wisdom_key_of(const rlo__family_query *query, rlo_device_class device_class);

/** The entry of a key, borrowed until the next change; NULL if there is none.
 */
const rlo__wisdom_entry *rlo__wisdom_find(const rlo__wisdom *wisdom, const rlo__wisdom_key *key);

/** Adds a copy of an entry, replacing that of the same key. @return RLO_OK;
 *  RLO_OUT_OF_RANGE beyond RLO__WISDOM_MAX_ENTRIES; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__wisdom_put(rlo__wisdom *wisdom, const rlo__wisdom_entry *entry);

/** Makes the entry of a canonical problem, with its key and note. */
rlo__wisdom_entry rlo__wisdom_entry_of(const rlo__family_query *query, const rlo__family *family,
                                       const rlo__schedule *schedule, double fraction);

/** Counts of imported records. */
typedef struct rlo__wisdom_count {
  int32_t num_taken;
  /** Records of another device, driver or table, or of an unknown family or
   *  schedule. */
  int32_t num_ignored;
} rlo__wisdom_count;

/**
 * Imports the records of a text that are about this device, driver and table.
 * The last record of a problem wins. A text with an error changes nothing.
 * @return RLO_OK; RLO_PARSE; or the status of rlo__wisdom_put, after the
 * records before the one that failed.
 */
RLO_NODISCARD rlo_status rlo__wisdom_import(rlo__wisdom *wisdom, const char *text, size_t num_bytes,
                                            rlo__wisdom_count *out_count);

/**
 * Prints the wisdom, then those records of `others` (a text, or NULL) that it
 * does not replace: about other devices and drivers, and about other problems.
 * Records about this device and driver but another table are dropped, because
 * their kernels no longer exist.
 * @return RLO_OK; RLO_PARSE if `others` is no wisdom; RLO_OUT_OF_RANGE beyond
 *         RLO__WISDOM_MAX_ENTRIES records about this device.
 */
RLO_NODISCARD rlo_status rlo__wisdom_export(const rlo__wisdom *wisdom, const char *others,
                                            size_t others_bytes, rlo__str *out_text);

#endif
