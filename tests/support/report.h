/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_REPORT_H
#define RLO_TESTS_SUPPORT_REPORT_H

#include <stddef.h>

#include "relayout/status.h"

/** A function that writes a struct which begins with a struct_size. */
typedef struct test_report {
  /** The name of the struct in messages. */
  const char *name;
  /** The size of this version's struct, and that up to one of its fields. */
  size_t bytes, older_bytes;
  rlo_status (*write)(void *out);
} test_report;

/** Calls the function with a struct of this header, of two older ones, of a
 *  newer one, and of sizes that no header has: what it writes ends with the
 *  caller's struct, and it writes nothing where it refuses the size. */
void expect_report_fits(const test_report *report);

/** Expects what expect_report_fits does, for one size, which is written, or
 * refused. */
void expect_report_written(const test_report *report, size_t bytes);
void expect_report_refused(const test_report *report, size_t bytes, const char *message);

/** Memory of `bytes` that nobody wrote yet, and more after it, to be freed. */
unsigned char *test_guarded_make(size_t bytes);

/** Fails the test if anything was written from a byte on, up to what follows
 *  the `bytes` of test_guarded_make. */
void expect_guard(const unsigned char *memory, size_t from, size_t bytes);

#endif
