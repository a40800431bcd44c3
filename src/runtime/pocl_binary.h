/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_POCL_BINARY_H
#define RLO_RUNTIME_POCL_BINARY_H

#include <stdbool.h>

#include "codegen/codegen.h"

/**
 * When the binary of a program may be queried from PoCL.
 *
 * PoCL answers by compiling the kernel once more, for work-groups of any size.
 * PoCL 3.1 stores compiled kernels in one list of the process, and
 * distinguishes the two kernels when a launch begins, but not when it ends: if
 * the second one was added in between, the end of the launch releases the wrong
 * one and aborts the process (pocl_release_dlhandle_cache, fixed in 6.0).
 *
 * So the same program must not be in flight anywhere in the process. The state
 * here is therefore the process's. It errs on the side of not asking, which
 * costs another process some time.
 */

/** A context on PoCL is created or destroyed. Waits while a binary is being
 *  read. Threads: safe, as all functions here. */
void rlo__pocl_binary_enter(void);
void rlo__pocl_binary_leave(void);

/** Records that a program is being built in this process. Returns true if
 *  certainly no equal one was built before, so that none is in flight. */
bool rlo__pocl_binary_note(const rlo__program_spec *spec);

/** Returns true if no second context could build and launch the program
 *  meanwhile. Then the caller reads the binary and calls
 *  rlo__pocl_binary_end_asking; it must not call user code in between, which
 *  might create a context. */
bool rlo__pocl_binary_begin_asking(void);
void rlo__pocl_binary_end_asking(void);

#endif
