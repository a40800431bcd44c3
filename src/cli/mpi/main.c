/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "interrupt.h"
#include "message.h"
#include "ranks.h"
#include "relayout/version.h"

static void print_overview(void) {
  fputs(
      "relayout-mpi lets the ranks of MPI share the work on large arrays.\n"
      "\n"
      "Usage: mpirun -n RANKS relayout-mpi convert [OPTION...] IN OUT\n"
      "\n"
      "  convert     move an array from one file and layout to another\n"
      "\n"
      "relayout-mpi convert --help tells the options; relayout-mpi --version "
      "prints\n"
      "the version. Exit codes are those of relayout.\n",
      stdout);
}

/* The same on all ranks. */
static int run(rlo__ranks *ranks, int argc, char **argv) {
  const char *verb = argc < 2 ? "" : argv[1];
  if (strcmp(verb, "convert") == 0) {
    return rlo__convert_by_ranks(ranks, argc - 1, argv + 1);
  }
  if (strcmp(verb, "--version") == 0) {
    puts("relayout " RLO_VERSION_STRING);
    return RLO__EXIT_OK;
  }
  if (strcmp(verb, "--help") == 0 || strcmp(verb, "help") == 0) {
    print_overview();
    return RLO__EXIT_OK;
  }
  return rlo__ranks_agree(
      ranks,
      rlo__fail_usage(
          NULL, "there is no verb '%s'; relayout-mpi has convert", verb));
}

int main(int argc, char **argv) {
  static rlo__ranks ranks;
  rlo__ranks_begin(&argc, &argv, &ranks);
  /* After MPI, which may have handlers of its own. */
  rlo__interrupt_install();
  int code = run(&ranks, argc, argv);
  code = rlo__ranks_agree(&ranks, rlo__finish_output(code));
  return rlo__ranks_end(code == RLO__EXIT_HELP ? RLO__EXIT_OK : code);
}
