/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_POCL_BINARY_H
#define RLO_RUNTIME_POCL_BINARY_H

#include <stdbool.h>

#include "codegen/codegen.h"

/**
 * When PoCL may be asked for the binary of a program.
 *
 * It answers by compiling the kernel once more, for work-groups of any size.
 * PoCL 3.1 keeps what is compiled in one list of the process, and tells the two
 * kernels apart when a launch begins, but not when it ends: if the second one
 * came in between, the end of the launch gives back the wrong one, and aborts
 * the process (pocl_release_dlhandle_cache, repaired in 6.0).
 *
 * So nobody in the process may have the same program in flight. The trouble is
 * the process's, and so is the memory of what was made in it. It errs on the
 * side of not asking, which costs another process some time.
 */

/** A context on PoCL comes and goes. While somebody asks, none comes. Threads:
 *  safe, as below. */
void rlo__pocl_binary_enter(void);
void rlo__pocl_binary_leave(void);

/** Remember that a program is being made in this process. True if surely none
 *  like it was made before, so that none is in flight. */
bool rlo__pocl_binary_note(const rlo__program_spec *spec);

/** Begin to ask, if there is no second context that could make and launch the
 *  program meanwhile; then rlo__pocl_binary_end_asking must follow, with no
 * call of a user's in between, who might make a context. */
bool rlo__pocl_binary_begin_asking(void);
void rlo__pocl_binary_end_asking(void);

#endif
