/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <relayout/status.h>
#include <stdarg.h>
#include <stdio.h>

bool bench_fail(const char *format, ...) {
  va_list arguments;
  fputs("relayout-bench: ", stderr);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  return false;
}

bool bench_fail_last(const char *what) {
  return bench_fail("%s: %s", what, rlo_error_last()->message);
}

bool bench_fail_cl(const char *call, int32_t code) {
  return bench_fail("%s: OpenCL error %d", call, (int)code);
}
