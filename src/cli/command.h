/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_COMMAND_H
#define RLO_CLI_COMMAND_H

#include <getopt.h>

/** One verb of the command. */
typedef struct rlo__command {
  const char *name;
  /** One line for `relayout help`. */
  const char *summary;
  /** What `relayout NAME --help` prints; ends in a newline. */
  const char *help;
  /** Every option, those of rlo__common_options too; the last one is zeroed. */
  const struct option *options;
  /** Take one of the verb's own options; `value` is NULL for one without. NULL
   *  if all are common. Returns RLO__EXIT_OK, or prints what is wrong and
   *  returns RLO__EXIT_USAGE. */
  int (*take_option)(void *request, int option, const char *value);
  /** argv[0] is the verb. Returns an exit code of message.h. */
  int (*run)(int argc, char **argv);
} rlo__command;

extern const rlo__command rlo__cmd_devices;
extern const rlo__command rlo__cmd_describe;
extern const rlo__command rlo__cmd_show;
extern const rlo__command rlo__cmd_index;
extern const rlo__command rlo__cmd_explain;
extern const rlo__command rlo__cmd_convert;
extern const rlo__command rlo__cmd_op;
extern const rlo__command rlo__cmd_copy_limit;
extern const rlo__command rlo__cmd_cache;
extern const rlo__command rlo__cmd_tune;
extern const rlo__command rlo__cmd_wisdom;
extern const rlo__command rlo__cmd_demo;

#endif
