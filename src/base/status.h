/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_STATUS_H
#define RLO_BASE_STATUS_H

#include "relayout/status.h"

/*
 * The functions with RLO_API are for our own libraries beside librelayout, such
 * as librelayout-proto, which share its error records. They are no part of the
 * public interface, and of no use to another version.
 */

/**
 * Fill this thread's error record and return `status`.
 *
 * Cannot fail and takes no memory: the record is fixed, thread-local storage,
 * and a message that does not fit is cut. Clears cl_call, cl_code and
 * build_log. The message is one sentence, without newline, that names the
 * value and the limit.
 */
RLO_PRINTF(2, 3)
RLO_API rlo_status rlo__status_fail(rlo_status status, const char *format, ...);

/** As rlo__status_fail, for a failed OpenCL call; `cl_call` must be static. */
RLO_PRINTF(4, 5)
rlo_status rlo__status_fail_cl(rlo_status status,
                               const char *cl_call,
                               int32_t cl_code,
                               const char *format,
                               ...);

/** Attach a build log (need not be terminated) to the record just made. */
void rlo__status_set_build_log(const char *log, size_t log_bytes);

/**
 * Put words in front of the message just recorded: "parameter 2: ...".
 * Leaves the status as it is and returns it.
 */
RLO_PRINTF(2, 3)
RLO_API rlo_status rlo__status_prefix(rlo_status status,
                                      const char *format,
                                      ...);

/** At the origin of a failure: return RLO_FAIL(RLO_OVERFLOW, "...", ...); */
#define RLO_FAIL(status, ...) rlo__status_fail((status), __VA_ARGS__)

/** Pass a failure on unchanged. */
#define RLO_TRY(expression)                \
  do {                                     \
    rlo_status try_status_ = (expression); \
    if (try_status_ != RLO_OK) {           \
      return try_status_;                  \
    }                                      \
  } while (0)

/** Pass a failure on through the function's only `fail:` label, which finds it
 *  in a variable named `status`. */
#define RLO_TRY_GOTO(expression) \
  do {                           \
    status = (expression);       \
    if (status != RLO_OK) {      \
      goto fail;                 \
    }                            \
  } while (0)

#endif
