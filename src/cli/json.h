/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_JSON_H
#define RLO_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Maximum nesting depth of objects and arrays. */
#define RLO__JSON_MAX_DEPTH 16

/**
 * Writes one JSON value to a file, piece by piece. Zero-initialized.
 * Inside an object each value needs a key; inside an array, and for the
 * outermost value, the key is NULL.
 */
typedef struct rlo__json {
  int32_t depth;
  /** For each depth: whether the next value needs a comma. */
  bool has_values[RLO__JSON_MAX_DEPTH];
  /** NULL: standard output. */
  FILE *file;
} rlo__json;

void rlo__json_begin_object(rlo__json *json, const char *key);
/** Ends the line if the object is the outermost one. */
void rlo__json_end_object(rlo__json *json);
void rlo__json_begin_array(rlo__json *json, const char *key);
void rlo__json_end_array(rlo__json *json);

/** Escapes the value; a byte that is not part of a UTF-8 character becomes
 *  U+FFFD. NULL writes null. */
void rlo__json_string(rlo__json *json, const char *key, const char *value);
void rlo__json_int(rlo__json *json, const char *key, int64_t value);
/** Six significant digits; null for infinities and NaN. */
void rlo__json_double(rlo__json *json, const char *key, double value);
void rlo__json_bool(rlo__json *json, const char *key, bool value);
/** An array of `count` numbers. */
void rlo__json_ints(rlo__json *json,
                    const char *key,
                    const int64_t *values,
                    int32_t count);

#endif
