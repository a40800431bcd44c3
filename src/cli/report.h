/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_REPORT_H
#define RLO_CLI_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/status.h"

/**
 * The report of a verb: rows, as lines of text or as the members of a JSON
 * object. Rows are written as they come, so that a listing of any length needs
 * no memory. Strings are escaped in both, so that a terminal obeys no name.
 *
 *     rlo__report r;
 *     rlo__report_begin(&r, is_json, 10);
 *     RLO__REPORT(&r,
 *                 RLO__INT("bytes", "bytes", n),
 *                 RLO__STRING("path", NULL, path));
 *     rlo__report_end(&r);
 *
 * prints "bytes      7" or {"bytes":7,"path":"a"}.
 */
typedef struct rlo__report {
  bool is_json;
  /** Columns of the labels of text. */
  int label_width;
  /** Brackets that close what is open, innermost last. */
  int32_t depth;
  char closing[16];
  /** The next value needs a comma. */
  bool has_value;
} rlo__report;

typedef enum rlo__row_kind {
  RLO__ROW_STRING,
  RLO__ROW_INT,
  /** Six significant digits in JSON; null for infinities and NaN. */
  RLO__ROW_REAL,
  /** A fraction in JSON, in text "12.3 %". */
  RLO__ROW_SHARE,
  RLO__ROW_BOOL,
  RLO__ROW_INTS
} rlo__row_kind;

/** A fact. */
typedef struct rlo__row {
  /** In JSON; NULL in an array, and in an object for text only. */
  const char *key;
  /** In text; "": the value stands alone; NULL: JSON only. */
  const char *label;
  rlo__row_kind kind;

  union {
    /** NULL is null. */
    const char *string;
    int64_t integer;
    double real;
    bool boolean;

    struct {
      const int64_t *values;
      int32_t count;
    } ints;
  } value;

  /** Follows the value in text; NULL: nothing. */
  const char *unit;
} rlo__row;

#define RLO__STRING(key, label, text) \
  { (key), (label), RLO__ROW_STRING, {.string = (text)}, NULL }
#define RLO__INT(key, label, number) \
  { (key), (label), RLO__ROW_INT, {.integer = (int64_t)(number)}, NULL }
#define RLO__REAL(key, number) \
  { (key), NULL, RLO__ROW_REAL, {.real = (number)}, NULL }
#define RLO__SHARE(key, label, number, unit) \
  { (key), (label), RLO__ROW_SHARE, {.real = (number)}, (unit) }
#define RLO__BOOL(key, truth) \
  { (key), NULL, RLO__ROW_BOOL, {.boolean = (truth)}, NULL }
#define RLO__INTS(key, label, numbers, num_numbers) \
  { (key), (label), RLO__ROW_INTS, {.ints = {(numbers), (int32_t)(num_numbers)}}, NULL }
#define RLO__ROWS(...) \
  ((const rlo__row[]){__VA_ARGS__}), (sizeof((const rlo__row[]){__VA_ARGS__}) / sizeof(rlo__row))

/** Writes rows. */
#define RLO__REPORT(report, ...) rlo__report_add((report), RLO__ROWS(__VA_ARGS__))
/** Writes rows as an object of their own; in text they are rows as others. */
#define RLO__REPORT_OBJECT(report, key, ...) \
  rlo__report_add_object((report), (key), RLO__ROWS(__VA_ARGS__))

/** Begins a report on standard output. */
void rlo__report_begin(rlo__report *report, bool is_json, int label_width);

/** Closes all that is open and ends the line. */
void rlo__report_end(rlo__report *report);

void rlo__report_add(rlo__report *report, const rlo__row *rows, size_t count);
void rlo__report_add_object(rlo__report *report, const char *key, const rlo__row *rows,
                            size_t count);

/** Opens an object, '{', or an array, '['. In text nothing. */
void rlo__report_open(rlo__report *report, const char *key, char bracket);
void rlo__report_close(rlo__report *report);

/** Prints a line of text: the label in its columns, unless it is "", and a
 *  sentence. A line break that begins the format leaves a line free; any other
 *  one is escaped, as all that a terminal would obey. In JSON nothing. */
RLO_PRINTF(3, 4)
void rlo__report_line(rlo__report *report, const char *label, const char *format, ...);

#endif
