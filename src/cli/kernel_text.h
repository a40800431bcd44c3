/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_KERNEL_TEXT_H
#define RLO_CLI_KERNEL_TEXT_H

#include "base/str.h"

/**
 * Appends the part of a kernel's source that one program compiles, for a reader: the
 * constants of its build options as definitions, and of the source what they leave. What
 * goes is every branch that the preprocessor drops, every macro, type and function that
 * nothing names, and every comment that stands alone. A condition on what only the
 * compiler knows stays, with all of its branches.
 *
 * @param source   OpenCL C without #include; borrowed.
 * @param options  "-DNAME=VALUE" and others, between single spaces; borrowed. Others are
 *                 left out.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__kernel_text_append(rlo__str *out, const char *source,
                                                 const char *options);

#endif
