/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/sentence.h"
#include "base/thread.h"
#include "command.h"
#include "interrupt.h"
#include "message.h"
#include "op.h"
#include "options.h"
#include "relayout/version.h"

static const rlo__command *const commands[] = {
    &rlo__cmd_convert,  &rlo__cmd_op,      &rlo__cmd_weights, &rlo__cmd_digest,
    &rlo__cmd_describe, &rlo__cmd_show,    &rlo__cmd_shard,   &rlo__cmd_explain,
    &rlo__cmd_emit,     &rlo__cmd_devices, &rlo__cmd_cache,   &rlo__cmd_tune,
};

#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const rlo__command *find_command(const char *name) {
  for (size_t i = 0; i < NUM_COMMANDS; ++i) {
    if (strcmp(commands[i]->name, name) == 0) {
      return commands[i];
    }
  }
  return NULL;
}

static void print_overview(FILE *out) {
  fputs(
      "relayout moves tensors between memory layouts on OpenCL devices.\n"
      "\n"
      "Usage: relayout VERB [OPTION...] [OPERAND...]\n"
      "\n",
      out);
  for (size_t i = 0; i < NUM_COMMANDS; ++i) {
    fprintf(out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
  }
  fputs(
      "  help        print the help of a verb: relayout help VERB\n"
      "\n"
      "relayout VERB --help does the same; relayout --version prints the version.\n"
      "\n"
      "A shape is written as in XLA: f32[2,3]{1,0} is row-major (the numbers in\n"
      "braces are the dimensions from the fastest varying to the slowest),\n"
      "f32[2,3]{0,1:pad(3,5)fill(zero)} is column-major, widened to 3 x 5 and\n"
      "filled with zeros, f32[64,100]{1,0:T(8,128)} is tiled. relayout describe\n"
      "--help has the names of the element types.\n"
      "\n"
      "Exit codes: 0 success, 1 failure, 2 the command line is wrong,\n"
      "70 the OpenCL driver died, 128 + n signal n ended the command.\n",
      out);
}

/* A name that is no verb may be that of an operation. */
static int fail_verb(const char *verb) {
  rlo__nearest verbs = rlo__nearest_begin(verb, strlen(verb));
  rlo__nearest operations = verbs;
  rlo__nearest_try(&verbs, "help");
  rlo__nearest_try(&verbs, "--version");
  for (size_t i = 0; i < NUM_COMMANDS; ++i) {
    rlo__nearest_try(&verbs, commands[i]->name);
  }
  RLO__EXIT_TRY(rlo__op_catalog_try(&operations));
  return operations.distance < verbs.distance
             ? rlo__fail_usage("op", "'%s' is not a verb, but operations run by relayout op NAME%s",
                               verb, operations.hint)
             : rlo__fail_usage(NULL, "there is no verb '%s'%s", verb, verbs.hint);
}

static int run_help(int argc, char **argv) {
  if (argc == 1) {
    print_overview(stdout);
    return RLO__EXIT_OK;
  }
  const rlo__command *command = argc == 2 ? find_command(argv[1]) : NULL;
  if (command == NULL) {
    return fail_verb(argv[argc - 1]);
  }
  rlo__command_print_help(command);
  return RLO__EXIT_OK;
}

static int run(int argc, char **argv) {
  if (argc < 2) {
    print_overview(stderr);
    return RLO__EXIT_USAGE;
  }
  const char *verb = argv[1];
  if (strcmp(verb, "--version") == 0) {
    puts("relayout " RLO_VERSION_STRING);
    return RLO__EXIT_OK;
  }
  if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
    print_overview(stdout);
    return RLO__EXIT_OK;
  }
  if (strcmp(verb, "help") == 0) {
    return run_help(argc - 1, argv + 1);
  }
  const rlo__command *command = find_command(verb);
  if (command == NULL) {
    return fail_verb(verb);
  }
  int code = command->run(argc - 1, argv + 1);
  return code == RLO__EXIT_HELP ? RLO__EXIT_OK : code;
}

typedef struct call {
  int argc;
  char **argv;
  int code;
} call;

static void run_call(void *payload) {
  call *c = payload;
  rlo__interrupt_unblock();
  c->code = run(c->argc, c->argv);
}

/* Runs in a thread with a stack of its own if that of the process is small. */
static int run_with_stack(int argc, char **argv) {
  call c = {argc, argv, RLO__EXIT_OK};
  struct rlimit limit;
  rlo__thread thread;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= RLO__THREAD_STACK_BYTES) {
    return run(argc, argv);
  }
  /* Signals are the thread's. */
  rlo__interrupt_block();
  if (rlo__thread_start(run_call, &c, &thread) == RLO_OK) {
    rlo__thread_join(&thread);
  } else {
    run_call(&c);
  }
  return c.code;
}

/* A file that took the place of a standard stream that is closed would get what
 * is printed there. Each becomes one that cannot be used. */
static void open_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) {
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

int main(int argc, char **argv) {
  open_streams();
#ifdef __GLIBC__
  /* An arena for each thread takes 64 MiB of the address space. */
  mallopt(M_ARENA_MAX, 1);
#endif
  rlo__interrupt_install();
  return rlo__finish_output(run_with_stack(argc, argv));
}
