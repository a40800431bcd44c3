/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_STATUS_H
#define RELAYOUT_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "relayout/export.h"

RLO_BEGIN_DECLS

/*
 * Pointers that are NULL. One rule holds for every function of every header. A
 * pointer may be NULL where the function's comment says what that means; a
 * list, or the room for one, where it has no entries; `payload`, which is only
 * passed on; and whatever a function named _release, _retain or _deinit takes.
 * For any other NULL, and for a NULL among the objects of a list,
 *
 *   - a function that returns an rlo_status returns RLO_INVALID_ARGUMENT, with
 * a message that names the parameter: "'out_shape' is NULL";
 *   - a function that prints a text returns the length 0; NULL in place of its
 *     buffer has no room, whatever the capacity;
 *   - any other returns what says that there is nothing: false, 0, NULL, or
 *     what its comment names.
 *
 * Nothing else happens; a function whose comment promises an output on failure
 * keeps that. rlo_address_map_slot, which the headers define, does not check.
 */

/**
 * The result of a call. Values are part of the ABI: new ones are appended, none
 * is renumbered. The result of every function that returns one must be used.
 */
typedef enum rlo_status {
  /** Success. */
  RLO_OK = 0,
  /** A value breaks the contract by itself: not a permutation, a tile of 0. */
  RLO_INVALID_ARGUMENT = 1,
  /** A well-formed value lies outside the object it refers to: an index beyond
   *  its dimension, an offset beyond its buffer. */
  RLO_OUT_OF_RANGE = 2,
  /** An exact result does not fit the type that must hold it (int64, size_t).
   */
  RLO_OVERFLOW = 3,
  /** Meaningful, but beyond a documented limit of this version or device. */
  RLO_UNSUPPORTED = 4,
  /** A file, a platform, a device or a name does not exist. */
  RLO_NOT_FOUND = 5,
  /** The thing to create exists already. */
  RLO_ALREADY_EXISTS = 6,
  /** Host or device memory ran out, or a budget of ours would be exceeded. */
  RLO_OUT_OF_MEMORY = 7,
  /** An OpenCL call failed; the error record names it and its cl_int. */
  RLO_DEVICE = 8,
  /** A kernel did not compile; the error record holds the build log. */
  RLO_BUILD_FAILED = 9,
  /** The operating system failed a file operation. */
  RLO_IO = 10,
  /** Data is truncated, or contradicts its header. */
  RLO_DATA_LOSS = 11,
  /** The caller cancelled the work. */
  RLO_CANCELLED = 12,
  /** Text does not follow its grammar; the message gives the position. */
  RLO_PARSE = 13,
  /** A fault of relayout itself. Please report it. */
  RLO_INTERNAL = 14
} rlo_status;

/**
 * The record of the last failure on the calling thread.
 *
 * All strings are owned by the thread's record, are never NULL, and stay valid
 * until the next relayout call on that thread.
 */
typedef struct rlo_error {
  /** The status that the failing call returned. */
  rlo_status status;
  /** One sentence that names the offending value and the limit. */
  const char *message;
  /** The OpenCL call that failed, such as "clBuildProgram", or "". */
  const char *cl_call;
  /** The cl_int that this call returned, or 0. */
  int32_t cl_code;
  /** The compiler's log of a failed kernel build (cut at 8 KiB), or "". */
  const char *build_log;
} rlo_error;

/**
 * Returns the name of a status: "RLO_OK", "RLO_INVALID_ARGUMENT", ...;
 * "RLO_UNKNOWN" for another value. The string is static. Threads: safe.
 */
RLO_API const char *rlo_status_name(rlo_status status);

/**
 * Returns the record of the last failure on this thread, borrowed.
 *
 * Meaningful only right after a relayout call on this thread returned a status
 * other than RLO_OK. Never NULL. Threads: each thread has its own record.
 */
RLO_API const rlo_error *rlo_error_last(void);

/**
 * Sets this thread's record and returns `status`. Functions that users register
 * (kernels, gradients, factories) call it where they find the failure:
 *     return rlo_error_set(RLO_OUT_OF_RANGE, "window %d of %d", window, max);
 * They return a failure of a relayout call unchanged: it has its record.
 *
 * @param status  what failed; not RLO_OK.
 * @param format  as for printf, of one sentence without newline that names the
 *                value and the limit. It may quote the message of the previous
 *                record. NULL: no message. Control characters and bytes that
 *                are not UTF-8 become `\xNN` in the result; of a sentence of
 *                more than 511 bytes only both ends are kept.
 * @return `status`, always: this cannot fail, and takes no memory.
 * Threads: each thread has its own record.
 */
RLO_PRINTF(2, 3)
RLO_API rlo_status rlo_error_set(rlo_status status, const char *format, ...);

RLO_END_DECLS

#endif
