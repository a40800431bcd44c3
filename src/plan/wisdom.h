/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_WISDOM_H
#define RLO_PLAN_WISDOM_H

#include "base/hash.h"
#include "plan/family.h"
#include "relayout/plan.h"

enum {
  RLO__WISDOM_NOTE_BYTES = 96,
  /** Most records of one device: some 3 MiB. */
  RLO__WISDOM_MAX_ENTRIES = 1 << 14
};

/** A problem, as wisdom knows it: relayout/plan.h says why that is enough. */
typedef struct rlo__wisdom_key {
  rlo__hash128 problem;
  int64_t alignment_bytes;
} rlo__wisdom_key;

/** What was fastest for a problem. */
typedef struct rlo__wisdom_entry {
  rlo__wisdom_key key;
  /** Rows of the tables. */
  const rlo__family *family;
  const rlo__schedule *schedule;
  double fraction;
  char note[RLO__WISDOM_NOTE_BYTES];
} rlo__wisdom_entry;

/**
 * The wisdom about one device. Text about other devices, drivers and tables
 * passes it by. Threads: external synchronisation.
 */
typedef struct rlo__wisdom {
  char device[192];
  char driver[128];
  uint64_t table;
  int32_t num_entries;
  size_t capacity;
  /** Sorted by key. */
  rlo__wisdom_entry *entries;
} rlo__wisdom;

/** Begin without entries. Tabs and the like in the names become blanks. */
void rlo__wisdom_init(const char *device,
                      const char *driver,
                      uint64_t table,
                      rlo__wisdom *out_wisdom);

/** Free the entries. A zeroed wisdom is legal. */
void rlo__wisdom_deinit(rlo__wisdom *wisdom);

/** The key of a canonical problem, for kernels of a class; the query's device
 *  and schedule take no part. */
rlo__wisdom_key rlo__wisdom_key_of(const rlo__family_query *query,
                                   rlo_device_class device_class);

/** The entry of a key, borrowed until the next change; NULL: there is none. */
const rlo__wisdom_entry *rlo__wisdom_find(const rlo__wisdom *wisdom,
                                          const rlo__wisdom_key *key);

/** Remember; what was known for the key is forgotten. RLO_OUT_OF_RANGE beyond
 *  RLO__WISDOM_MAX_ENTRIES; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__wisdom_put(rlo__wisdom *wisdom,
                                         const rlo__wisdom_entry *entry);

/** An entry for a canonical problem, with its key and its note. */
rlo__wisdom_entry rlo__wisdom_entry_of(const rlo__family_query *query,
                                       const rlo__family *family,
                                       const rlo__schedule *schedule,
                                       double fraction);

/** What became of a text's records. */
typedef struct rlo__wisdom_count {
  int32_t num_taken;
  /** Of another device, driver or table, or of a family or schedule that is
   * none. */
  int32_t num_ignored;
} rlo__wisdom_count;

/**
 * Take over the records of a text that are about this device, driver and table;
 * of two for one problem, the later. A text that is wrong anywhere changes
 * nothing.
 * @return RLO_OK; RLO_PARSE; or what rlo__wisdom_put says, with the records
 *         before it taken.
 */
RLO_NODISCARD rlo_status rlo__wisdom_import(rlo__wisdom *wisdom,
                                            const char *text,
                                            size_t num_bytes,
                                            rlo__wisdom_count *out_count);

/**
 * Print the wisdom, and after it what `others` (a text, or NULL) tells of other
 * devices and drivers. Records of this device and driver but of another table
 * are left out: their kernels are gone. A text that is wrong counts as none.
 */
void rlo__wisdom_export(const rlo__wisdom *wisdom,
                        const char *others,
                        size_t others_bytes,
                        rlo__str *out_text);

#endif
