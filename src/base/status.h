/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_STATUS_H
#define RLO_BASE_STATUS_H

#include "relayout/status.h"

/*
 * The functions with RLO_API are for our own libraries beside librelayout, such
 * as librelayout-proto, which share its error records. They are no part of the
 * public interface, and of no use to another version.
 */

/** As rlo_error_set, for a failed OpenCL call; `cl_call` must be static. */
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

/**
 * Call a function of the user's, which may fail without a word: forget this
 * thread's record before the call, and look afterwards whether there is one
 * with the status that came back. If not, the record becomes the words of
 * `format` and " failed with RLO_..., and said nothing".
 *     rlo__status_forget();
 *     return rlo__status_heard(run(...), "kernel '%s'", name);
 * Returns the status; RLO_OK leaves no record.
 */
void rlo__status_forget(void);
RLO_PRINTF(2, 3)
rlo_status rlo__status_heard(rlo_status status, const char *format, ...);

/** At the origin of a failure: return RLO_FAIL(RLO_OVERFLOW, "...", ...); The
 *  value is `status` itself and not what comes back, so that analysers see that
 *  nothing goes on as if it had worked. */
#define RLO_FAIL(status, ...) \
  (rlo_error_set((status), __VA_ARGS__), (rlo_status)(status))

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
