/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_REQUEST_H
#define BENCH_REQUEST_H

#include <regex.h>

#include "suite.h"

/** The request of the command line. */
typedef struct bench_request {
  bench_settings settings;
  bench_format format;
  double size_factor;
  /** Given, and no suite's own. */
  bool has_rounds, has_size_factor;
  int32_t device_number;
  bench_files_request files;
  bool is_list;
  bool is_pair_list;
  bool has_pattern;
  regex_t pattern;
  /** Hidden: what `compile` runs this program for. */
  const char *child;
  const char *program;
  /** Borrowed from the command line; none: all. */
  char **suites;
  int32_t num_suites;
} bench_request;

/** Read the command line. @return an exit code, or -1 to go on; whichever it
 *  is, bench_request_deinit ends the request. */
int bench_request_parse(int argc, char **argv, bench_request *out_request);
void bench_request_deinit(bench_request *request);

#endif
