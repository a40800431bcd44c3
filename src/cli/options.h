/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OPTIONS_H
#define RLO_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/layout.h"

#include "command.h"

/** Parsing of the command line. Functions that return an int return
 *  RLO__EXIT_OK, or print the error and return RLO__EXIT_USAGE, unless stated
 *  otherwise. `verb` is used in the message about help. */

/** A list of dimensions, strides or indices from the command line. */
typedef struct rlo__int_list {
  bool is_given;
  int32_t count;
  int64_t values[RLO_MAX_RANK];
} rlo__int_list;

/** The values of an option that may be given often, in their order. Room for
 *  all arguments of the command line. */
typedef struct rlo__text_list {
  const char **texts;
  int32_t count;
} rlo__text_list;

/** Maximum number of devices that run one job. */
#define RLO__MAX_DEVICES 16

/** A device of the command line. */
typedef struct rlo__device_ref {
  /** A name for rlo_device_find; empty: by its index. */
  char name[64];
  /** The number in `relayout devices`; -1: the default device. */
  int32_t index;
} rlo__device_ref;

/** --device of a verb that uses several: numbers and names between commas, all,
 *  default, or none. */
typedef struct rlo__device_choice {
  bool is_none;
  bool is_all;
  /** 0: the default device, unless one of the above. */
  int32_t count;
  rlo__device_ref devices[RLO__MAX_DEVICES];
} rlo__device_choice;

/** Options that many verbs have. */
typedef struct rlo__common_options {
  /** --device; the default device without it. */
  rlo__device_ref device;
  bool is_device_given;
  /** --json */
  bool is_json;
  /** False with --no-isolate. True: OpenCL is used in a child process. */
  bool is_isolated;
  /** The command line, from the verb on. Borrowed. */
  char **arguments;
  int num_arguments;
} rlo__common_options;

/** Prints the help of a verb on standard output. */
void rlo__command_print_help(const rlo__command *command);

/**
 * Parses a verb's options and sets optind to its first operand. Common options
 * go to *out_common, each other one to its field of `request`, which may be
 * NULL if there are none.
 * @return RLO__EXIT_OK; RLO__EXIT_HELP after printing the help for --help; or
 *         RLO__EXIT_USAGE after an error.
 */
int rlo__options_take(const rlo__command *command, int argc, char **argv, void *request,
                      rlo__common_options *out_common);

/** Checks that `expected` operands remain, from argv[optind] on;
 *  `what` names them in the message. */
int rlo__operands_take(int argc, char **argv, int expected, const char *what);

/** Parses a decimal number within [min, max]; `what` names it in messages. */
int rlo__number_parse(const char *verb, const char *what, const char *text, int64_t min,
                      int64_t max, int64_t *out_value);

/** Parses a size of at least `min` bytes: a number, and behind it no unit, kB,
 *  MB, GB, TB, or KiB, MiB, GiB, TiB. */
int rlo__size_parse(const char *verb, const char *what, const char *text, int64_t min,
                    int64_t *out_bytes);

/** Parses distinct numbers of devices between commas, "all" or "none". */
int rlo__device_choice_parse(const char *verb, const char *text, rlo__device_choice *out_choice);

/** Parses a finite floating-point number; `what` names it in messages. Digits
 *  alone are an integer, which the number must be exactly. */
int rlo__factor_parse(const char *verb, const char *what, const char *text, double *out_value);

/** Finds a word in a list of allowed words, which ends with NULL; `what` names
 *  its option, NULL: it is an operand. *out_number counts from 1. */
int rlo__word_parse(const char *verb, const char *what, const char *text, const char *const *words,
                    int32_t *out_number);

/** Parses numbers separated by commas; "-" is the empty list. */
int rlo__int_list_parse(const char *verb, const char *what, const char *text,
                        rlo__int_list *out_list);

/** Parses a permutation of `rank` dimensions; NULL is the identity. Returns
 *  RLO__EXIT_FAILURE, after a message, if the numbers are not a permutation. */
int rlo__permutation_parse(const char *verb, const char *what, const char *text, int32_t rank,
                           int32_t *out_permutation);

#endif
