/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_COMMAND_H
#define RLO_CLI_COMMAND_H

#include <getopt.h>
#include <stdio.h>

/** A subcommand: the verb in `relayout VERB`. */
typedef struct rlo__command {
  const char *name;
  /** A verb of former releases that does a part of it: NULL if there is none.
   *  `run` finds it in argv[0]. */
  const char *old_name;
  /** One line for `relayout help`. */
  const char *summary;
  /** The text of `relayout NAME --help`; ends in a newline. */
  const char *help;
  /** Prints the part of the help that is not constant, after `help`; NULL:
   *  none. */
  void (*print_more_help)(FILE *out);
  /** All options, including those of rlo__common_options; ends with a zeroed
   *  one. */
  const struct option *options;
  /** Stores one of the verb's own options in `request`; `value` is NULL if the
   *  option has none. NULL if the verb has common options only. Returns
   *  RLO__EXIT_OK, or prints the error and returns RLO__EXIT_USAGE. */
  int (*take_option)(void *request, int option, const char *value);
  /** Runs the verb, which is argv[0]. Returns an exit code of message.h. */
  int (*run)(int argc, char **argv);
} rlo__command;

extern const rlo__command rlo__cmd_devices;
extern const rlo__command rlo__cmd_describe;
extern const rlo__command rlo__cmd_show;
extern const rlo__command rlo__cmd_index;
extern const rlo__command rlo__cmd_shard;
extern const rlo__command rlo__cmd_explain;
extern const rlo__command rlo__cmd_convert;
extern const rlo__command rlo__cmd_op;
extern const rlo__command rlo__cmd_cache;
extern const rlo__command rlo__cmd_tune;

#endif
