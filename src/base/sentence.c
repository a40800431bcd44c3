/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sentence.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
  /* Twice the longest path, so that what follows a path is seen. */
  PRINTED_BYTES = 8192,
  LOG_LINE_BYTES = 1024,
  WORD_BYTES = sizeof((rlo__nearest *)0)->word
};

/* The bytes of the character at `text`; 0: a terminal must not get it as it is. */
static size_t shown_bytes(const char *text) {
  /* The least character of each number of bytes; 0x80 to 0x9f are control characters. */
  static const uint32_t least[] = {0, 0x20, 0xa0, 0x800, 0x10000};
  const unsigned char *t = (const unsigned char *)text;
  size_t count = t[0] < 0x80 ? 1 : 0;
  while (t[0] >= 0xc0 && t[0] < 0xf8 && (t[0] << count & 0x80) != 0) {
    ++count;
  }
  uint32_t c = count == 1 ? t[0] : t[0] & (0x7fu >> count);
  for (size_t k = 1; k < count; ++k) {
    if ((t[k] & 0xc0) != 0x80) {
      return 0;
    }
    c = c << 6 | (t[k] & 0x3fu);
  }
  const bool turns_direction = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  const bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
  return c < least[count] || c == 0x7f || c > 0x10ffff || turns_direction || is_surrogate ? 0
                                                                                          : count;
}

size_t rlo__sentence_next(const char **text, char *out) {
  const size_t shown = shown_bytes(*text);
  if (shown > 0) {
    memcpy(out, *text, shown);
    *text += shown;
    return shown;
  }
  (void)snprintf(out, 5, "\\x%02x", (unsigned char)**text);
  ++*text;
  return 4;
}

size_t rlo__sentence_escape(char *out, size_t capacity, const char *text) {
  static const char dots[] = "...";
  char piece[RLO__SENTENCE_STEP_BYTES];
  size_t whole = 0;
  size_t length = 0;
  const char *t = text;
  while (*t != '\0') {
    whole += rlo__sentence_next(&t, piece);
  }
  const size_t room = capacity - sizeof dots;
  const size_t head = whole < capacity ? whole : room / 2;
  const size_t tail = whole - (room - room / 2);
  t = text;
  for (size_t at = 0; *t != '\0';) {
    const size_t bytes = rlo__sentence_next(&t, piece);
    if (at + bytes <= head || at >= tail) {
      memcpy(out + length, piece, bytes);
      length += bytes;
    } else if (at <= head) {
      memcpy(out + length, dots, sizeof dots - 1);
      length += sizeof dots - 1;
    }
    at += bytes;
  }
  out[length] = '\0';
  return length;
}

size_t rlo__sentence_print(char *out, size_t capacity, const char *format, va_list arguments) {
  char printed[PRINTED_BYTES];
  if (vsnprintf(printed, sizeof printed, format, arguments) < 0) {
    printed[0] = '\0';
  }
  return rlo__sentence_escape(out, capacity, printed);
}

/* -------------------------------------------------------------------- nearest */

/* Copies the letters that count. */
static void fold(const char *text, size_t length, char out[WORD_BYTES]) {
  size_t count = 0;
  for (size_t k = 0; k < length && count < WORD_BYTES - 1; ++k) {
    if (strchr(" -_", text[k]) == NULL) {
      /* The letters of the C locale, whatever the process has set. */
      out[count++] = (char)(text[k] >= 'A' && text[k] <= 'Z' ? text[k] - 'A' + 'a' : text[k]);
    }
  }
  out[count] = '\0';
}

rlo__nearest rlo__nearest_begin(const char *word, size_t length) {
  rlo__nearest nearest = {.distance = WORD_BYTES};
  fold(word, length, nearest.word);
  return nearest;
}

void rlo__nearest_try(rlo__nearest *nearest, const char *name) {
  char other[WORD_BYTES] = "";
  const char *word = nearest->word;
  fold(name, strlen(name), other);
  const size_t length = strlen(word);
  const size_t other_length = strlen(other);
  const size_t longer = length > other_length ? length : other_length;
  const size_t shorter = length + other_length - longer;
  size_t head = 0;
  size_t tail = 0;
  while (head < shorter && word[head] == other[head]) {
    ++head;
  }
  while (tail < shorter - head && word[length - 1 - tail] == other[other_length - 1 - tail]) {
    ++tail;
  }
  size_t distance = longer - head - tail;
  const bool is_exchanged = distance == 2 && length == other_length &&
                            word[head] == other[head + 1] && word[head + 1] == other[head];
  if (is_exchanged || (distance > 0 && head == shorter && shorter >= 3)) {
    distance = 1;
  }
  if (distance < nearest->distance && 3 * distance <= longer) {
    nearest->distance = distance;
    (void)snprintf(nearest->hint, sizeof nearest->hint, "; did you mean '%s'?", name);
  }
}

/* ------------------------------------------------------------------------ log */

void rlo__log(const rlo__log_sink *sink, rlo__log_level level, const char *format, ...) {
  if (sink == NULL || sink->fn == NULL || level > sink->level) {
    return;
  }
  char line[LOG_LINE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)rlo__sentence_print(line, sizeof line, format, arguments);
  va_end(arguments);
  sink->fn(sink->payload, (int32_t)level, line);
}
