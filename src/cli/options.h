/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OPTIONS_H
#define RLO_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/layout.h"

#include "command.h"

/* Every function here returns RLO__EXIT_OK, or prints what is wrong and returns
 * RLO__EXIT_USAGE, unless it says otherwise. */

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

/** What the options that many verbs have say. */
typedef struct rlo__common_options {
  /** --device: a number of `relayout devices`; -1: the default device. */
  int32_t device_number;
  /** --json */
  bool is_json;
  /** Not --no-isolate: OpenCL is used in a process of its own. */
  bool is_isolated;
} rlo__common_options;

/**
 * Read a verb's options, so that optind is its first operand: the common ones
 * here, each other one by command->take_option into `request`, which may be
 * NULL where there are none.
 * @return RLO__EXIT_OK; RLO__EXIT_HELP after --help has been printed; or what
 *         take_option returned.
 */
int rlo__options_take(const rlo__command *command,
                      int argc,
                      char **argv,
                      void *request,
                      rlo__common_options *out_common);

/** Check that `expected` operands are left and point *out_operands at them;
 *  `what` names them in the message. */
int rlo__operands_take(int argc,
                       char **argv,
                       int expected,
                       const char *what,
                       char ***out_operands);

/** Read the decimal number at *text, which is moved behind it. False where none
 *  is (errno is EINVAL) or it does not fit (ERANGE); nothing is printed. */
bool rlo__int64_read(const char **text, int64_t *out_value);

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

/** Find a word among those that it may be; `what` names its option, NULL for an
 *  operand. */
int rlo__word_parse(const char *verb,
                    const char *what,
                    const char *text,
                    const char *const *words,
                    int32_t num_words,
                    int32_t *out_number);

/** Read numbers between commas; "-" is the empty list. */
int rlo__int_list_parse(const char *verb,
                        const char *what,
                        const char *text,
                        rlo__int_list *out_list);

/** Read a permutation of `rank` dimensions; NULL is the identity. A list of
 *  numbers that is no permutation is RLO__EXIT_FAILURE. */
int rlo__permutation_parse(const char *verb,
                           const char *what,
                           const char *text,
                           int32_t rank,
                           int32_t *out_permutation);

#endif
