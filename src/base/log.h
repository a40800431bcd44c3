/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_LOG_H
#define RLO_BASE_LOG_H

#include <stdint.h>

#include "relayout/export.h"

typedef enum rlo__log_level {
  RLO__LOG_ERROR = 0,
  RLO__LOG_WARNING = 1,
  RLO__LOG_INFO = 2,
  RLO__LOG_DEBUG = 3
} rlo__log_level;

/**
 * A receiver of messages. `fn` has the type of the public log functions
 * (rlo_log_fn), and `severity` is a rlo__log_level. `line` has no newline and
 * at most 1023 characters, and is valid during the call. `fn` may be called by
 * several threads at once and must not call relayout.
 */
typedef struct rlo__log_sink {
  /** NULL: messages are dropped. */
  void (*fn)(void *payload, int32_t severity, const char *line);
  void *payload;
  /** Messages of a higher level are dropped before they are formatted. */
  rlo__log_level level;
} rlo__log_sink;

/** Formats a message and passes it to `sink`. NULL is legal. */
RLO_PRINTF(3, 4)
void rlo__log(const rlo__log_sink *sink,
              rlo__log_level level,
              const char *format,
              ...);

#endif
