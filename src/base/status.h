/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_STATUS_H
#define RLO_BASE_STATUS_H

#include "relayout/status.h"

/*
 * The internal side of relayout/status.h: how a failure is recorded and passed
 * to the caller. Each thread has one error record, which the project's other
 * libraries, such as librelayout-mpi, write with rlo_error_set: nothing here
 * is exported but what relayout/status.h declares.
 */

/** Like rlo_error_set, for a failed OpenCL call. `cl_call` is its name, a
 * string with static lifetime. */
RLO_PRINTF(4, 5)
rlo_status rlo__status_fail_cl(rlo_status status, const char *cl_call, int32_t cl_code,
                               const char *format, ...);

/** Attaches a build log to this thread's record. `log` has `log_bytes` bytes
 *  and need not end in NUL; NULL removes the log. */
void rlo__status_set_build_log(const char *log, size_t log_bytes);

/** Prefixes the message of this thread's record: "parameter 2: ...". RLO_OK
 *  leaves the record as it is. @return `status`. */
RLO_PRINTF(2, 3)
rlo_status rlo__status_prefix(rlo_status status, const char *format, ...);

/**
 * Calls a function of the user's that returns rlo_status, and ensures that a
 * failure has a message: clears this thread's record before the call, and if
 * there is no record with the returned status after it, records "<name> failed
 * with RLO_... and no message".
 *
 *     return RLO__CALLBACK(config->run(call), "kernel '%s'", name);
 *
 * @param call  evaluated once. The other arguments, in the manner of printf,
 *              name the function.
 * @return the status of the call. RLO_OK leaves an empty record.
 */
#define RLO__CALLBACK(call, ...) \
  (rlo__status_callback_begin(), rlo__status_callback_end((call), __VA_ARGS__))

/** Clears this thread's record. */
void rlo__status_callback_begin(void);

/** @return `status`, with a record if it is a failure. */
RLO_PRINTF(2, 3)
rlo_status rlo__status_callback_end(rlo_status status, const char *format, ...);

/** A copy of an error record, with which a failure goes to another thread. */
typedef struct rlo__saved_error {
  rlo_status status;
  /** Static; NULL for a failure that is no call's. */
  const char *cl_call;
  int32_t cl_code;
  char message[512];
  char build_log[8193];
} rlo__saved_error;

/** Copies this thread's record, which must be of `status`. */
void rlo__status_save(rlo_status status, rlo__saved_error *out);

/** Sets this thread's record. @return the status. */
rlo_status rlo__status_restore(const rlo__saved_error *saved);

/** Records a failure where it occurs: return RLO_FAIL(RLO_OVERFLOW, "...", x);
 *  The value is `status` itself and not the result of a call, so that static
 *  analyzers see a value other than RLO_OK. */
#define RLO_FAIL(status, ...) (rlo_error_set((status), __VA_ARGS__), (rlo_status)(status))

/** Returns a failure, with its sentence, from the current function if a condition holds:
 *  RLO_FAIL_IF(count > MAX, RLO_UNSUPPORTED, "%d parts are beyond the limit of %d", ...). */
#define RLO_FAIL_IF(condition, status, ...)   \
  do {                                        \
    if (condition) {                          \
      return RLO_FAIL((status), __VA_ARGS__); \
    }                                         \
  } while (0)

/* The name of the first of up to 6 pointers that is NULL; NULL if none is. */
#define RLO__NULL_1(a, ...) ((a) == NULL ? #a : NULL)
#define RLO__NULL_2(a, ...) ((a) == NULL ? #a : RLO__NULL_1(__VA_ARGS__))
#define RLO__NULL_3(a, ...) ((a) == NULL ? #a : RLO__NULL_2(__VA_ARGS__))
#define RLO__NULL_4(a, ...) ((a) == NULL ? #a : RLO__NULL_3(__VA_ARGS__))
#define RLO__NULL_5(a, ...) ((a) == NULL ? #a : RLO__NULL_4(__VA_ARGS__))
#define RLO__NULL_6(a, ...) ((a) == NULL ? #a : RLO__NULL_5(__VA_ARGS__))

#define RLO__PICK_NULL(a, b, c, d, e, f, name, ...) name

#define RLO__FIRST_NULL(...)                                                                   \
  RLO__PICK_NULL(__VA_ARGS__, RLO__NULL_6, RLO__NULL_5, RLO__NULL_4, RLO__NULL_3, RLO__NULL_2, \
                 RLO__NULL_1, 0)                                                               \
  (__VA_ARGS__, 0)

/** Begins a public function that returns a status: fails, naming the first of
 *  these parameters that is NULL. */
#define RLO_REQUIRE(...)                                                 \
  do {                                                                   \
    const char *null_name_ = RLO__FIRST_NULL(__VA_ARGS__);               \
    if (null_name_ != NULL) {                                            \
      return RLO_FAIL(RLO_INVALID_ARGUMENT, "'%s' is NULL", null_name_); \
    }                                                                    \
  } while (0)

/** Begins a public function that returns something else: returns `value` if
 *  one of these parameters is NULL. */
#define RLO_REQUIRE_OR(value, ...)              \
  do {                                          \
    if (RLO__FIRST_NULL(__VA_ARGS__) != NULL) { \
      return (value);                           \
    }                                           \
  } while (0)

/** Like RLO_REQUIRE, for `count` entries or bytes, which may be NULL if there
 * are none. */
#define RLO_REQUIRE_LIST(list, count)                                                      \
  do {                                                                                     \
    if ((list) == NULL && (count) > 0) {                                                   \
      return RLO_FAIL(RLO_INVALID_ARGUMENT, "'" #list "' is NULL, but its length is %lld", \
                      (long long)(count));                                                 \
    }                                                                                      \
  } while (0)

/** The same for a list of objects, none of which may be NULL. */
#define RLO_REQUIRE_EACH(list, count)                                              \
  do {                                                                             \
    RLO_REQUIRE_LIST(list, count);                                                 \
    for (int64_t entry_ = 0; entry_ < (int64_t)(count); ++entry_) {                \
      if ((list)[entry_] == NULL) {                                                \
        return RLO_FAIL(RLO_INVALID_ARGUMENT, "entry %lld of '" #list "' is NULL", \
                        (long long)entry_);                                        \
      }                                                                            \
    }                                                                              \
  } while (0)

/** Returns the status of `expression` from the current function if it is a
 *  failure. */
#define RLO_TRY(expression)                \
  do {                                     \
    rlo_status try_status_ = (expression); \
    if (try_status_ != RLO_OK) {           \
      return try_status_;                  \
    }                                      \
  } while (0)

/** Returns RLO_OUT_OF_MEMORY from the current function if an allocation gave NULL. */
#define RLO_TRY_MEMORY(pointer) \
  do {                          \
    if ((pointer) == NULL) {    \
      return RLO_OUT_OF_MEMORY; \
    }                           \
  } while (0)

/** Like RLO_TRY, for a function that has to release something: assigns to its
 *  variable `status` and jumps to its label `fail` on a failure. */
#define RLO_TRY_GOTO(expression) \
  do {                           \
    status = (expression);       \
    if (status != RLO_OK) {      \
      goto fail;                 \
    }                            \
  } while (0)

#endif
