/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sentence.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* In bytes, as they are or as \xNN. */
enum { LONGEST_CHAR = 4 };

/* A conversion, with its numbers instead of "*". */
typedef struct conversion {
  char text[48];
  size_t length;
  int width, precision;
  bool is_left, has_precision, is_precision_passed;
  /* 'h', 'l', 'z', 'j', 't', 'L'; 'H' for "hh" and 'q' for "ll". */
  char size;
  char letter;
} conversion;

typedef struct sentence {
  char *out;
  size_t capacity, length;
  bool is_full;
} sentence;

static void put(sentence *s, const char *bytes, size_t count) {
  const size_t room = s->capacity - s->length - 1;
  if (s->is_full) {
    return;
  }
  if (count > room) {
    /* No part of a character that is shown as several bytes. */
    count = count > LONGEST_CHAR ? room : 0;
    s->is_full = true;
  }
  memcpy(s->out + s->length, bytes, count);
  s->length += count;
}

/* --------------------------------------------------------------- characters */

static bool is_continued(const unsigned char *t, size_t left, size_t count) {
  bool is_whole = left >= count;
  for (size_t k = 1; is_whole && k < count; ++k) {
    is_whole = (t[k] & 0xc0) == 0x80;
  }
  return is_whole;
}

/* U+202A to U+202E, U+2066 to U+2069. */
static bool turns_direction(const unsigned char *t) {
  return t[0] == 0xe2 && ((t[1] == 0x80 && t[2] >= 0xaa && t[2] <= 0xae) ||
                          (t[1] == 0x81 && t[2] >= 0xa6 && t[2] <= 0xa9));
}

/* The bytes of a character that is shown as it is; 0: not so. */
static size_t shown_bytes(const unsigned char *t, size_t left) {
  if (t[0] < 0x80) {
    return t[0] >= 0x20 && t[0] != 0x7f ? 1 : 0;
  }
  if (t[0] >= 0xc2 && t[0] <= 0xdf && is_continued(t, left, 2)) {
    return t[0] == 0xc2 && t[1] < 0xa0 ? 0 : 2;
  }
  if ((t[0] & 0xf0) == 0xe0 && is_continued(t, left, 3)) {
    bool is_other = (t[0] == 0xe0 && t[1] < 0xa0) ||
                    (t[0] == 0xed && t[1] >= 0xa0) || turns_direction(t);
    return is_other ? 0 : 3;
  }
  if (t[0] >= 0xf0 && t[0] <= 0xf4 && is_continued(t, left, 4)) {
    bool is_other =
        (t[0] == 0xf0 && t[1] < 0x90) || (t[0] == 0xf4 && t[1] >= 0x90);
    return is_other ? 0 : 4;
  }
  return 0;
}

static size_t count_chars(const unsigned char *text, size_t bytes) {
  size_t count = 0;
  for (size_t at = 0; at < bytes; ++count) {
    size_t shown = shown_bytes(text + at, bytes - at);
    at += shown > 0 ? shown : 1;
  }
  return count;
}

/* Characters `first` to `last` - 1. */
static void put_chars(sentence *s,
                      const unsigned char *text,
                      size_t bytes,
                      size_t first,
                      size_t last) {
  size_t n = 0;
  for (size_t at = 0; at < bytes && n < last; ++n) {
    size_t shown = shown_bytes(text + at, bytes - at);
    char escaped[8];
    if (n >= first && shown > 0) {
      put(s, (const char *)text + at, shown);
    } else if (n >= first) {
      (void)snprintf(escaped, sizeof escaped, "\\x%02x", text[at]);
      put(s, escaped, 4);
    }
    at += shown > 0 ? shown : 1;
  }
}

static void put_text(sentence *s,
                     const conversion *c,
                     const char *text,
                     size_t bytes,
                     size_t most) {
  static const char dots[] = "...";
  const unsigned char *t = (const unsigned char *)text;
  const size_t count = count_chars(t, bytes);
  const size_t shown = count < most ? count : most;
  const size_t width = c->width > 0 ? (size_t)c->width : 0;
  for (size_t k = shown; !c->is_left && k < width; ++k) {
    put(s, " ", 1);
  }
  if (count <= most) {
    put_chars(s, t, bytes, 0, count);
  } else {
    const size_t ends = most - (sizeof dots - 1);
    put_chars(s, t, bytes, 0, ends / 2);
    put(s, dots, sizeof dots - 1);
    put_chars(s, t, bytes, count - (ends - ends / 2), count);
  }
  for (size_t k = shown; c->is_left && k < width; ++k) {
    put(s, " ", 1);
  }
}

/* -------------------------------------------------------------- conversions */

static void add(conversion *c, const char *bytes, size_t count) {
  if (count < sizeof c->text - c->length) {
    memcpy(c->text + c->length, bytes, count);
    c->length += count;
    c->text[c->length] = '\0';
  }
}

static int parse_number(const char **format) {
  int number = 0;
  for (; **format >= '0' && **format <= '9'; ++*format) {
    number = number < INT_MAX / 16 ? 10 * number + (**format - '0') : number;
  }
  return number;
}

/* clang-tidy 14 takes a va_list that is passed on by its address for one that
 * nobody began. NOLINTBEGIN(clang-analyzer-valist.Uninitialized) */

static int parse_or_take(const char **format, va_list *arguments, bool *taken) {
  *taken = **format == '*';
  if (*taken) {
    ++*format;
    return va_arg(*arguments, int);
  }
  return parse_number(format);
}

static void add_number(conversion *c, int number) {
  char digits[16];
  int length = snprintf(digits, sizeof digits, "%d", number);
  add(c, digits, (size_t)length);
}

static conversion parse_conversion(const char **format, va_list *arguments) {
  conversion c = {.text = "%", .length = 1};
  bool is_taken = false;
  for (; **format != '\0' && strchr("-+ #0'", **format) != NULL; ++*format) {
    c.is_left = c.is_left || **format == '-';
    add(&c, *format, 1);
  }
  c.width = parse_or_take(format, arguments, &is_taken);
  if (c.width < 0 && c.width > INT_MIN) {
    c.is_left = true;
    c.width = -c.width;
    add(&c, "-", 1);
  }
  if (c.width > 0) {
    add_number(&c, c.width);
  }
  if (**format == '.') {
    ++*format;
    c.precision = parse_or_take(format, arguments, &c.is_precision_passed);
    /* As if there were none. */
    c.has_precision = c.precision >= 0;
    if (c.has_precision) {
      add(&c, ".", 1);
      add_number(&c, c.precision);
    }
  }
  for (; **format != '\0' && strchr("hlzjtLq", **format) != NULL; ++*format) {
    c.size = (char)(c.size == 'h' ? 'H' : c.size == 'l' ? 'q' : **format);
    add(&c, *format, 1);
  }
  c.letter = **format;
  if (c.letter != '\0') {
    add(&c, *format, 1);
    ++*format;
  }
  return c;
}

#define FORMAT_AS(type) \
  length = snprintf(text, sizeof text, c->text, va_arg(*arguments, type))

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif

static void put_number(sentence *s, const conversion *c, va_list *arguments) {
  char text[512];
  int length = 0;
  const bool is_float = strchr("aAeEfFgG", c->letter) != NULL;
  /* What follows differs in types only. NOLINTBEGIN(bugprone-branch-clone) */
  if (c->letter == 'p') {
    FORMAT_AS(void *);
  } else if (c->letter == '%') {
    text[length++] = '%';
  } else if (is_float && c->size == 'L') {
    FORMAT_AS(long double);
  } else if (is_float) {
    FORMAT_AS(double);
  } else if (c->size == 'l') {
    FORMAT_AS(long);
  } else if (c->size == 'q' || c->size == 'L') {
    FORMAT_AS(long long);
  } else if (c->size == 'z') {
    FORMAT_AS(size_t);
  } else if (c->size == 'j') {
    FORMAT_AS(intmax_t);
  } else if (c->size == 't') {
    FORMAT_AS(ptrdiff_t);
  } else {
    FORMAT_AS(int);
  }
  /* NOLINTEND(bugprone-branch-clone) */
  if (length > 0) {
    put(s,
        text,
        (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
  }
}

static void put_wide(sentence *s, const conversion *c, va_list *arguments) {
  char text[512];
  /* These, too. NOLINTBEGIN(bugprone-branch-clone) */
  const int length =
      c->letter == 'c'
          ? snprintf(text, sizeof text, c->text, va_arg(*arguments, wint_t))
          : snprintf(text, sizeof text, c->text, va_arg(*arguments, wchar_t *));
  /* NOLINTEND(bugprone-branch-clone) */
  const conversion plain = {.length = 0};
  if (length > 0) {
    put_text(s, &plain, text, strlen(text), RLO__SENTENCE_TEXT_CHARS);
  }
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

static void put_string(sentence *s,
                       const conversion *c,
                       const char *whole,
                       const char *text) {
  if (text == NULL) {
    text = "(null)";
  }
  const size_t bytes =
      c->has_precision ? strnlen(text, (size_t)c->precision) : strlen(text);
  size_t most = RLO__SENTENCE_TEXT_CHARS;
  if (text == whole) {
    most = SIZE_MAX;
  } else if (c->has_precision && !c->is_precision_passed &&
             (size_t)c->precision > most) {
    most = (size_t)c->precision;
  }
  put_text(s, c, text, bytes, most);
}

size_t rlo__sentence_print(char *out,
                           size_t capacity,
                           const char *whole,
                           const char *format,
                           va_list arguments) {
  sentence s = {.out = out, .capacity = capacity};
  va_list copy;
  const int error = errno;
  const bool is_sentence = strcmp(format, "%s") == 0;
  if (capacity == 0) {
    return 0;
  }
  va_copy(copy, arguments);
  while (*format != '\0') {
    const size_t plain = strcspn(format, "%");
    put(&s, format, plain);
    format += plain;
    if (*format == '\0') {
      break;
    }
    ++format;
    const conversion c = parse_conversion(&format, &copy);
    if (c.letter == 'n') {
      (void)va_arg(copy, void *);
    } else if ((c.letter == 's' || c.letter == 'c') && c.size == 'l') {
      put_wide(&s, &c, &copy);
    } else if (c.letter == 's') {
      const char *text = va_arg(copy, const char *);
      put_string(&s, &c, is_sentence ? text : whole, text);
    } else if (c.letter == 'c') {
      const char one = (char)va_arg(copy, int);
      put_text(&s, &c, &one, 1, RLO__SENTENCE_TEXT_CHARS);
    } else if (c.letter == 'm') {
      put_string(&s, &c, NULL, strerror(error));
    } else if (c.letter != '\0') {
      put_number(&s, &c, &copy);
    }
  }
  va_end(copy);
  out[s.length] = '\0';
  return s.length;
}

/* NOLINTEND(clang-analyzer-valist.Uninitialized) */
