/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_INTERRUPT_H
#define RLO_CLI_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * Cleanup when a signal ends the command. The handlers kill the child process
 * that uses the driver, unlink the unfinished output files that cannot be
 * resumed, and exit with 128 + the signal's number.
 */

/** Installs handlers for SIGINT, SIGTERM and SIGHUP, except where the parent
 *  process ignores them; ignores SIGPIPE and SIGXFSZ, so that a write fails
 *  with an error instead. */
void rlo__interrupt_install(void);

/** Restores the default handlers, unless a signal may be orderly. Call in a child,
 *  after fork. */
void rlo__interrupt_uninstall(void);

/** Blocks and restores those signals around steps that must not be separated,
 *  which do not nest. */
void rlo__interrupt_block(void);
void rlo__interrupt_unblock(void);

/** Sets the child to kill; 0: none. Call with the signals blocked. */
void rlo__interrupt_set_child(pid_t child);

/** Lets the first signal of a process only set a flag to its number, for jobs that
 *  look at it and end by themselves; the next one ends the command. NULL: each
 *  one does. */
void rlo__interrupt_set_orderly(volatile sig_atomic_t *flag);

/** A file to unlink. Everything is borrowed while it is listed. */
typedef struct rlo__interrupt_file {
  const char *path;
  /** Where this is a file of the user's own the file stays; NULL: it does not. */
  const char *journal_path;
  /** Called after that, in the signal's handler, with whether some file stays;
   *  NULL: nothing is. */
  void (*tell)(const void *payload, bool stays);
  const void *payload;
  struct rlo__interrupt_file *next;
} rlo__interrupt_file;

/** Adds a file to the list, which borrows it until it is removed. Call with the
 *  signals blocked. */
void rlo__interrupt_add_file(rlo__interrupt_file *file);
void rlo__interrupt_remove_file(const rlo__interrupt_file *file);

#endif
