/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_INTERRUPT_H
#define RLO_CLI_INTERRUPT_H

#include <signal.h>
#include <sys/types.h>

/**
 * What a signal that ends the command has to take with it: the child that uses
 * the driver, and the unfinished output files. The handlers kill the one,
 * unlink the others and exit with 128 + the signal's number.
 */

/** Handle SIGINT, SIGTERM and SIGHUP, unless they were ignored from outside;
 *  ignore SIGPIPE and SIGXFSZ, so that writing fails with an error instead. */
void rlo__interrupt_install(void);

/** Put the handlers back to the defaults: in a child, after fork. */
void rlo__interrupt_uninstall(void);

/** Hold those signals back while two steps must not be torn apart, and let them
 *  through again. */
void rlo__interrupt_block(sigset_t *out_before);
void rlo__interrupt_unblock(const sigset_t *before);

/** The child to kill; 0: none. Call with the signals blocked. */
void rlo__interrupt_set_child(pid_t child);

/** A file to unlink. */
typedef struct rlo__interrupt_file {
  /** Borrowed while the file is listed. */
  const char *path;
  struct rlo__interrupt_file *next;
} rlo__interrupt_file;

/** List a file, borrowed until it is removed from the list. Call with the
 *  signals blocked. */
void rlo__interrupt_add_file(rlo__interrupt_file *file);
void rlo__interrupt_remove_file(const rlo__interrupt_file *file);

#endif
