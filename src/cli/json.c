/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void write_text(const char *text) {
  putchar('"');
  for (const char *c = text; *c != '\0'; ++c) {
    unsigned char byte = (unsigned char)*c;
    if (byte == '"' || byte == '\\') {
      printf("\\%c", byte);
    } else if (byte == '\n') {
      fputs("\\n", stdout);
    } else if (byte == '\t') {
      fputs("\\t", stdout);
    } else if (byte < 0x20 || byte >= 0x7f) {
      /* A byte above ASCII may be half of a cut character: \u keeps the
       * document valid whatever a driver calls its device. */
      printf("\\u%04x", byte);
    } else {
      putchar(byte);
    }
  }
  putchar('"');
}

/* The comma and the key before a value. */
static void begin_value(rlo__json *json, const char *key) {
  if (json->has_values[json->depth]) {
    putchar(',');
  }
  json->has_values[json->depth] = true;
  if (key != NULL) {
    write_text(key);
    putchar(':');
  }
}

static void begin_nest(rlo__json *json, const char *key, char bracket) {
  begin_value(json, key);
  putchar(bracket);
  assert(json->depth + 1 < RLO__JSON_MAX_DEPTH);
  json->has_values[++json->depth] = false;
}

static void end_nest(rlo__json *json, char bracket) {
  assert(json->depth > 0);
  --json->depth;
  putchar(bracket);
  if (json->depth == 0) {
    putchar('\n');
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
    fputs("null", stdout);
  } else {
    write_text(value);
  }
}

void rlo__json_int(rlo__json *json, const char *key, int64_t value) {
  begin_value(json, key);
  printf("%" PRId64, value);
}

void rlo__json_double(rlo__json *json, const char *key, double value) {
  begin_value(json, key);
  if (isfinite(value)) {
    printf("%.6g", value);
  } else {
    fputs("null", stdout);
  }
}

void rlo__json_bool(rlo__json *json, const char *key, bool value) {
  begin_value(json, key);
  fputs(value ? "true" : "false", stdout);
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
