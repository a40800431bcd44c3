/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

enum { FIRST_CAPACITY_BYTES = 128 };

rlo__str rlo__str_over(char *buffer, size_t capacity_bytes) {
  if (buffer == NULL) {
    capacity_bytes = 0;
  }
  if (capacity_bytes > 0) {
    buffer[0] = '\0';
  }
  return (rlo__str){.data = buffer, .capacity_bytes = capacity_bytes};
}

rlo__str rlo__str_growing(void) {
  return (rlo__str){.is_growing = true};
}

void rlo__str_deinit(rlo__str *str) {
  if (str != NULL && str->is_growing) {
    rlo__free(str->data);
    *str = rlo__str_growing();
  }
}

/** Length of the text in the buffer, without a truncated part. */
static size_t stored_length(const rlo__str *str) {
  if (str->capacity_bytes == 0) {
    return 0;
  }
  size_t room = str->capacity_bytes - 1;
  return str->length < room ? str->length : room;
}

/** Ensures room for `count` more characters and the NUL in a growing text. One
 *  that has failed does not grow again, so that it has no gap. */
static void reserve(rlo__str *str, size_t count) {
  if (!str->is_growing || str->has_failed) {
    return;
  }
  size_t needed;
  str->has_failed = __builtin_add_overflow(str->length, count, &needed) ||
                    __builtin_add_overflow(needed, 1, &needed);
  if (str->has_failed || needed <= str->capacity_bytes) {
    return;
  }
  size_t capacity =
      str->capacity_bytes < FIRST_CAPACITY_BYTES ? FIRST_CAPACITY_BYTES : str->capacity_bytes;
  while (capacity < needed) {
    capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
  }
  char *data = rlo__alloc_resize(str->data, str->capacity_bytes, capacity, 1);
  str->has_failed = data == NULL;
  if (data != NULL) {
    str->data = data;
    str->capacity_bytes = capacity;
  }
}

void rlo__str_append_bytes(rlo__str *str, const char *bytes, size_t count) {
  reserve(str, count);
  size_t start = stored_length(str);
  size_t room = str->capacity_bytes == 0 ? 0 : str->capacity_bytes - 1 - start;
  size_t copied = str->has_failed ? 0 : rlo__min_size(count, room);
  if (copied > 0) {
    memcpy(str->data + start, bytes, copied);
  }
  if (str->capacity_bytes > 0) {
    str->data[start + copied] = '\0';
  }
  str->length += count;
}

void rlo__str_append(rlo__str *str, const char *text) {
  rlo__str_append_bytes(str, text, strlen(text));
}

void rlo__str_append_char(rlo__str *str, char c) {
  rlo__str_append_bytes(str, &c, 1);
}

void rlo__str_vprintf(rlo__str *str, const char *format, va_list arguments) {
  const size_t start = stored_length(str);
  const size_t room = str->capacity_bytes - start;
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(room > 0 ? str->data + start : NULL, room, format, arguments);
  if (length < 0) {
    str->has_failed = true;
    length = 0;
    if (room > 0) {
      str->data[start] = '\0';
    }
  } else if ((size_t)length >= room) {
    reserve(str, (size_t)length);
    if (str->capacity_bytes - start > room) {
      /* Cannot fail: the same format has just been measured. */
      (void)vsnprintf(str->data + start, (size_t)length + 1, format, again);
    }
  }
  va_end(again);
  str->length += (size_t)length;
}

void rlo__str_printf(rlo__str *str, const char *format, ...) {
  if (str != NULL) {
    va_list arguments;
    va_start(arguments, format);
    rlo__str_vprintf(str, format, arguments);
    va_end(arguments);
  }
}

void rlo__str_truncate(rlo__str *str, size_t length) {
  if (length >= str->length) {
    return;
  }
  str->length = length;
  if (str->capacity_bytes > 0) {
    str->data[stored_length(str)] = '\0';
  }
}

const char *rlo__str_text(const rlo__str *str) {
  return str->capacity_bytes > 0 ? str->data : "";
}

bool rlo__str_is_cut(const rlo__str *str) {
  return str->has_failed || stored_length(str) < str->length;
}

rlo_status rlo__str_status(const rlo__str *str) {
  RLO_FAIL_IF(str->has_failed, RLO_OUT_OF_MEMORY, "the host has no memory for a text of %zu bytes",
              str->length);
  RLO_FAIL_IF(rlo__str_is_cut(str), RLO_OUT_OF_RANGE,
              "a text of %zu characters does not fit a buffer of %zu", str->length,
              str->capacity_bytes);
  return RLO_OK;
}

rlo_status rlo__str_take(rlo__str *str, char **out_text) {
  *out_text = NULL;
  /* An empty text needs a buffer too. */
  reserve(str, 0);
  rlo_status status = rlo__str_status(str);
  if (status != RLO_OK) {
    rlo__str_deinit(str);
    return status;
  }
  str->data[str->length] = '\0';
  *out_text = str->data;
  *str = rlo__str_growing();
  return RLO_OK;
}
