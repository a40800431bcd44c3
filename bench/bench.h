/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_BENCH_H
#define RLO_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

/** Exit codes of relayout-bench. */
enum {
  BENCH_EXIT_OK = 0,
  /** A wrong byte, or something that failed. */
  BENCH_EXIT_FAILED = 1,
  BENCH_EXIT_USAGE = 2
};

/** Print one line to standard error, after "relayout-bench: ". @return false,
 *  so that a caller can return it. */
bool bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The same for the library's last error, after what was tried. */
bool bench_fail_last(const char *what);

/** The same for an OpenCL code. */
bool bench_fail_cl(const char *call, int32_t code);

#endif
