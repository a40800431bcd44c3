/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_STR_H
#define RLO_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "relayout/status.h"

/**
 * Text in the making, over the caller's buffer or over one that grows.
 *
 * The rules are snprintf's: what does not fit is cut, the text always ends in
 * NUL (when there is room for one), and `length` is what it would be with room
 * for all. Appending never fails on the spot; rlo__str_status tells at the end.
 * Threads: external synchronisation.
 */
typedef struct rlo__str {
  /** May be NULL; read it through rlo__str_text. */
  char *data;
  /** Size of data in bytes, NUL included. */
  size_t capacity_bytes;
  /** Length of the whole text, NUL excluded, cut or not. */
  size_t length;
  /** The buffer is ours, and grows. */
  bool is_growing;
  /** The text is too short because memory ran out, or because a format could
   *  not be printed. */
  bool has_failed;
} rlo__str;

/** Begin a text in `buffer`, which stays the caller's and must outlive it.
 *  `buffer` may be NULL when `capacity_bytes` is 0. */
rlo__str rlo__str_over(char *buffer, size_t capacity_bytes);

/** Begin a text on the heap: rlo__str_deinit or rlo__str_take ends it. */
rlo__str rlo__str_growing(void);

/** Free what a growing text holds, and empty it. NULL is legal. */
void rlo__str_deinit(rlo__str *str);

void rlo__str_append(rlo__str *str, const char *text);
void rlo__str_append_bytes(rlo__str *str, const char *bytes, size_t count);
void rlo__str_append_char(rlo__str *str, char c);

RLO_PRINTF(2, 3)
void rlo__str_printf(rlo__str *str, const char *format, ...);

RLO_PRINTF(2, 0)
void rlo__str_vprintf(rlo__str *str, const char *format, va_list arguments);

/** Cut the text back to `length` characters; no effect if it is shorter. */
void rlo__str_truncate(rlo__str *str, size_t length);

/** The text so far, NUL-terminated, borrowed until the next change. */
const char *rlo__str_text(const rlo__str *str);

/** Whether text was lost, for want of room or of memory. */
bool rlo__str_is_cut(const rlo__str *str);

/**
 * RLO_OK when the text is whole; RLO_OUT_OF_MEMORY when memory ran out;
 * RLO_OUT_OF_RANGE when the caller's buffer is too small.
 */
RLO_NODISCARD rlo_status rlo__str_status(const rlo__str *str);

/**
 * Hand out the buffer of a growing text and empty it. The result goes to
 * rlo__free; on RLO_OUT_OF_MEMORY, *out_text is NULL and the text is freed.
 */
RLO_NODISCARD rlo_status rlo__str_take(rlo__str *str, char **out_text);

#endif
