/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_COMMAND_H
#define RLO_CLI_COMMAND_H

/** One verb of the command. */
typedef struct rlo__command {
  const char *name;
  /** One line for `relayout help`. */
  const char *summary;
  /** What `relayout NAME --help` prints; ends in a newline. */
  const char *help;
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
