/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_STR_H
#define RLO_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "relayout/status.h"

/**
 * A string builder over the caller's buffer or over a growing one.
 *
 * Text that does not fit is truncated as by snprintf, the text always ends
 * in NUL (if there is room for one), and `length` is that of the whole text.
 * Appending returns no status; rlo__str_status reports failures at the end.
 * Threads: external synchronization.
 */
typedef struct rlo__str {
  /** May be NULL; rlo__str_text is never NULL. */
  char *data;
  /** Size of data in bytes, NUL included. */
  size_t capacity_bytes;
  /** Length of the whole text without its NUL, including a truncated part. */
  size_t length;
  /** True if the string owns the buffer, which then grows. */
  bool is_growing;
  /** True if text is missing because an allocation or a format failed. */
  bool has_failed;
} rlo__str;

/** Starts a text in `buffer`, which is borrowed; NULL has no room. */
rlo__str rlo__str_over(char *buffer, size_t capacity_bytes);

/** Starts a text on the heap; free it with rlo__str_deinit or rlo__str_take. */
rlo__str rlo__str_growing(void);

/** Frees the buffer of a growing text and empties it. NULL is legal. */
void rlo__str_deinit(rlo__str *str);

void rlo__str_append(rlo__str *str, const char *text);
void rlo__str_append_bytes(rlo__str *str, const char *bytes, size_t count);
void rlo__str_append_char(rlo__str *str, char c);

/** Does nothing to NULL: a text that nobody reads. */
RLO_PRINTF(2, 3)
void rlo__str_printf(rlo__str *str, const char *format, ...);

RLO_PRINTF(2, 0)
void rlo__str_vprintf(rlo__str *str, const char *format, va_list arguments);

/** Refuses, in a function that tells if it takes something:
 *  return RLO__REFUSE(why, "it has %d axes", n); `why` may be NULL. Its value
 * is false itself and not the result of a call, so that static analyzers see
 * it. */
#define RLO__REFUSE(why, ...) (rlo__str_printf((why), __VA_ARGS__), false)

/** Shortens the text to `length` characters; no effect if it is shorter. */
void rlo__str_truncate(rlo__str *str, size_t length);

/** Returns the text, NUL-terminated and valid until the next change. */
const char *rlo__str_text(const rlo__str *str);

/** Tells if text is missing for lack of room or memory. */
bool rlo__str_is_cut(const rlo__str *str);

/**
 * @return RLO_OK when the text is complete; RLO_OUT_OF_MEMORY;
 *         RLO_OUT_OF_RANGE when the caller's buffer is too small.
 */
RLO_NODISCARD rlo_status rlo__str_status(const rlo__str *str);

/**
 * Moves the buffer of a growing text to the caller, who frees it with
 * rlo__free, and empties the text. On RLO_OUT_OF_MEMORY, *out_text is NULL and
 * the text is freed.
 */
RLO_NODISCARD rlo_status rlo__str_take(rlo__str *str, char **out_text);

#endif
