/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_COMMAND_H
#define RLO_CLI_COMMAND_H

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** How an option is read, and as what it is stored. */
typedef enum rlo__option_kind {
  /** Fields of rlo__common_options. */
  RLO__OPTION_HELP,
  RLO__OPTION_JSON,
  RLO__OPTION_NO_ISOLATE,
  /** bool: it is given. Like those above it has no value. */
  RLO__OPTION_FLAG,
  /** A field of rlo__common_options. */
  RLO__OPTION_DEVICE,
  /** const char *: borrowed. */
  RLO__OPTION_TEXT,
  /** rlo__text_list: each of them, borrowed. */
  RLO__OPTION_TEXTS,
  /** int64_t within `min` and `max`. */
  RLO__OPTION_NUMBER,
  /** int64_t: bytes, at least `min`. */
  RLO__OPTION_SIZE,
  /** double */
  RLO__OPTION_FACTOR,
  /** rlo__int_list */
  RLO__OPTION_INTS,
  /** int32_t, or an enum: the number of the word in `words`, from 1 on. */
  RLO__OPTION_WORD,
  /** `take` reads it. */
  RLO__OPTION_CALL
} rlo__option_kind;

/** An option, a row of a verb's table. */
typedef struct rlo__option {
  const char *name;
  rlo__option_kind kind;
  /** Where its field is in the verb's request. */
  size_t offset;
  int64_t min, max;
  /** Ends with NULL. */
  const char *const *words;
  /** Returns RLO__EXIT_OK, or prints the error and returns RLO__EXIT_USAGE. */
  int (*take)(const char *verb, const char *value, void *field);
} rlo__option;

/** A row: RLO__OPTION("perm", TEXT, request, permutation). */
#define RLO__OPTION(name_, kind_, request, field) \
  { .name = (name_), .kind = RLO__OPTION_##kind_, .offset = offsetof(request, field) }
#define RLO__OPTION_WITHIN(name_, request, field, least, most)                       \
  {                                                                                  \
    .name = (name_), .kind = RLO__OPTION_NUMBER, .offset = offsetof(request, field), \
    .min = (least), .max = (most)                                                    \
  }
#define RLO__OPTION_BYTES(name_, request, field, least) \
  { .name = (name_), .kind = RLO__OPTION_SIZE, .offset = offsetof(request, field), .min = (least) }
/** RLO__OPTION_OF("color", request, color, "auto", "always", "never"). */
#define RLO__OPTION_OF(name_, request, field, ...)                                 \
  {                                                                                \
    .name = (name_), .kind = RLO__OPTION_WORD, .offset = offsetof(request, field), \
    .words = (const char *const[]) {                                               \
      __VA_ARGS__, NULL                                                            \
    }                                                                              \
  }
#define RLO__OPTION_BY(name_, request, field, function)                            \
  {                                                                                \
    .name = (name_), .kind = RLO__OPTION_CALL, .offset = offsetof(request, field), \
    .take = (function)                                                             \
  }
/** A row of the common options: RLO__OPTION_COMMON("json", JSON). */
#define RLO__OPTION_COMMON(name_, kind_) \
  { .name = (name_), .kind = RLO__OPTION_##kind_ }

/** The most rows of a table. */
#define RLO__MAX_OPTIONS 40

/** A subcommand: the verb in `relayout VERB`. */
typedef struct rlo__command {
  const char *name;
  /** One line for `relayout help`. */
  const char *summary;
  /** The text of `relayout NAME --help`; ends in a newline. */
  const char *help;
  /** Prints the part of the help that is not constant, after `help`; NULL:
   *  none. */
  void (*print_more_help)(FILE *out);
  /** All options, including those of rlo__common_options; ends with a zeroed
   *  one. */
  const rlo__option *options;
  /** Runs the verb, which is argv[0]. Returns an exit code of message.h. */
  int (*run)(int argc, char **argv);
} rlo__command;

extern const rlo__command rlo__cmd_devices;
extern const rlo__command rlo__cmd_describe;
extern const rlo__command rlo__cmd_show;
extern const rlo__command rlo__cmd_shard;
extern const rlo__command rlo__cmd_explain;
extern const rlo__command rlo__cmd_emit;
extern const rlo__command rlo__cmd_convert;
extern const rlo__command rlo__cmd_op;
extern const rlo__command rlo__cmd_digest;
extern const rlo__command rlo__cmd_weights;
extern const rlo__command rlo__cmd_cache;
extern const rlo__command rlo__cmd_tune;

#endif
