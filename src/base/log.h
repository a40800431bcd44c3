/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_LOG_H
#define RLO_BASE_LOG_H

#include "relayout/export.h"

typedef enum rlo__log_level {
  RLO__LOG_ERROR = 0,
  RLO__LOG_WARNING = 1,
  RLO__LOG_INFO = 2,
  RLO__LOG_DEBUG = 3
} rlo__log_level;

/**
 * Where messages go. `message` is one line without newline, at most 1023
 * characters, valid during the call. It may be called from several threads at
 * once, and must not call relayout.
 */
typedef struct rlo__log_sink {
  void (*fn)(rlo__log_level level, const char *message, void *payload);
  void *payload;
  /** Messages above this level are not even put into words. */
  rlo__log_level level;
} rlo__log_sink;

/** Send a message. Silent when `sink` or its fn is NULL. */
RLO_PRINTF(3, 4)
void rlo__log(const rlo__log_sink *sink,
              rlo__log_level level,
              const char *format,
              ...);

#endif
