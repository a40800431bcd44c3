/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_INTERRUPT_H
#define RLO_CLI_INTERRUPT_H

#include <signal.h>
#include <sys/types.h>

/**
 * What a signal that ends the command has to take with it: the child that uses
 * the driver, and the unfinished output file. The handlers kill the one, unlink
 * the other and exit with 128 + the signal's number.
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

/** The file to unlink, borrowed until the next call; NULL: none. Call with the
 *  signals blocked. */
void rlo__interrupt_set_file(const char *path);

#endif
