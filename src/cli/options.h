/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OPTIONS_H
#define RLO_CLI_OPTIONS_H

#include <getopt.h>
#include <stdint.h>

#include "relayout/layout.h"

/* Every function here returns RLO__EXIT_OK, or prints what is wrong and returns
 * RLO__EXIT_USAGE. */

/** Long options have no short form but -h; their values start here. */
typedef enum rlo__option {
  RLO__OPTION_HELP = 'h',
  RLO__OPTION_JSON = 256,
  RLO__OPTION_DEVICE,
  RLO__OPTION_CLASS,
  RLO__OPTION_FAMILY,
  RLO__OPTION_PERM,
  RLO__OPTION_FROM,
  RLO__OPTION_TO,
  RLO__OPTION_SOURCE,
  RLO__OPTION_INVERSE,
  RLO__OPTION_HOST,
  RLO__OPTION_VERIFY,
  RLO__OPTION_NO_ISOLATE,
  RLO__OPTION_BYTES,
  RLO__OPTION_ROUNDS,
  RLO__OPTION_SMALL,
  RLO__OPTION_NUMPY,
  RLO__OPTION_DIMS,
  RLO__OPTION_STRIDES,
  RLO__OPTION_SVG,
  RLO__OPTION_COLOR,
  RLO__OPTION_WIDTH,
  RLO__OPTION_HEIGHT,
  RLO__OPTION_LETTERS,
  RLO__OPTION_WAY,
  RLO__OPTION_SECONDS,
  RLO__OPTION_SUITE,
  RLO__OPTION_AGAIN,
  RLO__OPTION_ALPHA,
  RLO__OPTION_BETA,
  RLO__OPTION_ATTR,
  RLO__OPTION_LIST
} rlo__option;

/** A list of dimensions or a permutation as given on the command line. */
typedef struct rlo__int_list {
  int32_t count;
  int64_t values[RLO_MAX_RANK];
} rlo__int_list;

/** The next option of a verb, -1 after the last; '?' after printing what is
 *  wrong with it. */
int rlo__option_next(int argc, char **argv, const struct option *options);

/** Check that `expected` operands are left and point *out_operands at them;
 *  `what` names them in the message. */
int rlo__operands_take(int argc,
                       char **argv,
                       int expected,
                       const char *what,
                       char ***out_operands);

/** Read a decimal number within [least, most]; `what` names it. */
int rlo__number_parse(const char *verb,
                      const char *what,
                      const char *text,
                      int64_t least,
                      int64_t most,
                      int64_t *out_value);

/** Read a number with a point or exponent; `what` names it. */
int rlo__factor_parse(const char *verb,
                      const char *what,
                      const char *text,
                      double *out_value);

/** Read numbers between commas; "-" is the empty list. */
int rlo__int_list_parse(const char *verb,
                        const char *what,
                        const char *text,
                        rlo__int_list *out_list);

/** Read the value of --device: a number from 0 on. */
int rlo__device_option_parse(const char *verb,
                             const char *text,
                             int32_t *out_device_number);

/** A list as a permutation of `rank` dimensions. RLO__EXIT_OK, or prints why it
 *  is none and returns RLO__EXIT_FAILURE. */
int rlo__permutation_take(const rlo__int_list *list,
                          int32_t rank,
                          int32_t *out_permutation);

#endif
