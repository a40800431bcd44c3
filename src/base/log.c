/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum { LINE_BYTES = 1024 };

void rlo__log(const rlo__log_sink *sink,
              rlo__log_level level,
              const char *format,
              ...) {
  if (sink == NULL || sink->fn == NULL || level > sink->level) {
    return;
  }
  char line[LINE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length >= 0) {
    sink->fn(sink->payload, (int32_t)level, line);
  }
}
