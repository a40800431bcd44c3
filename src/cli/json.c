/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Returns the length of the non-ASCII UTF-8 character at `bytes`, 0 if it is
 * invalid: a path may hold any bytes, and a driver's name may be cut
 * anywhere. */
static size_t utf8_length(const unsigned char *bytes) {
  size_t length = 0;
  unsigned long point = 0;
  if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf) {
    length = 2;
    point = bytes[0] & 0x1f;
  } else if (bytes[0] >= 0xe0 && bytes[0] <= 0xef) {
    length = 3;
    point = bytes[0] & 0x0f;
  } else if (bytes[0] >= 0xf0 && bytes[0] <= 0xf4) {
    length = 4;
    point = bytes[0] & 0x07;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((bytes[i] & 0xc0) != 0x80) {
      return 0;
    }
    point = point << 6 | (bytes[i] & 0x3f);
  }
  bool is_too_long =
      (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  bool is_no_character =
      (point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff;
  return is_too_long || is_no_character ? 0 : length;
}

static void write_text(FILE *file, const char *text) {
  putc('"', file);
  const unsigned char *at = (const unsigned char *)text;
  while (*at != '\0') {
    size_t length = *at < 0x80 ? 1 : utf8_length(at);
    if (*at == '"' || *at == '\\') {
      fprintf(file, "\\%c", *at);
    } else if (*at == '\n') {
      fputs("\\n", file);
    } else if (*at < 0x20 || *at == 0x7f) {
      fprintf(file, "\\u%04x", *at);
    } else if (length == 0) {
      /* U+FFFD is the replacement character. */
      fputs("\\ufffd", file);
      length = 1;
    } else {
      fwrite(at, 1, length, file);
    }
    at += length;
  }
  putc('"', file);
}

static FILE *file_of(const rlo__json *json) {
  return json->file != NULL ? json->file : stdout;
}

/* Writes the comma and the key before a value. */
static void begin_value(rlo__json *json, const char *key) {
  if (json->has_values[json->depth]) {
    putc(',', file_of(json));
  }
  json->has_values[json->depth] = true;
  if (key != NULL) {
    write_text(file_of(json), key);
    putc(':', file_of(json));
  }
}

static void begin_nest(rlo__json *json, const char *key, char bracket) {
  begin_value(json, key);
  putc(bracket, file_of(json));
  assert(json->depth + 1 < RLO__JSON_MAX_DEPTH);
  json->has_values[++json->depth] = false;
}

static void end_nest(rlo__json *json, char bracket) {
  assert(json->depth > 0);
  --json->depth;
  putc(bracket, file_of(json));
  if (json->depth == 0) {
    putc('\n', file_of(json));
  }
}

void rlo__json_begin_object(rlo__json *json, const char *key) {
  begin_nest(json, key, '{');
}

void rlo__json_end_object(rlo__json *json) {
  end_nest(json, '}');
}

void rlo__json_begin_array(rlo__json *json, const char *key) {
  begin_nest(json, key, '[');
}

void rlo__json_end_array(rlo__json *json) {
  end_nest(json, ']');
}

void rlo__json_string(rlo__json *json, const char *key, const char *value) {
  begin_value(json, key);
  if (value == NULL) {
    fputs("null", file_of(json));
  } else {
    write_text(file_of(json), value);
  }
}

void rlo__json_int(rlo__json *json, const char *key, int64_t value) {
  begin_value(json, key);
  fprintf(file_of(json), "%" PRId64, value);
}

void rlo__json_double(rlo__json *json, const char *key, double value) {
  begin_value(json, key);
  if (isfinite(value)) {
    fprintf(file_of(json), "%.6g", value);
  } else {
    fputs("null", file_of(json));
  }
}

void rlo__json_bool(rlo__json *json, const char *key, bool value) {
  begin_value(json, key);
  fputs(value ? "true" : "false", file_of(json));
}

void rlo__json_ints(rlo__json *json,
                    const char *key,
                    const int64_t *values,
                    int32_t count) {
  rlo__json_begin_array(json, key);
  for (int32_t i = 0; i < count; ++i) {
    rlo__json_int(json, NULL, values[i]);
  }
  rlo__json_end_array(json);
}
