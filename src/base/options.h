/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_OPTIONS_H
#define RLO_BASE_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/status.h"

/*
 * Public structs that may get more fields later: options, and reports, which
 * the library writes. Their first field is `size_t struct_size`, which the
 * struct's ..._INIT macro sets, so that the library knows with which header the
 * caller was compiled.
 */

/** @return RLO_INVALID_ARGUMENT for a struct_size of `size` where this library
 *  has `bytes`. `name` is "context options", `init` the INIT macro's name. */
static inline rlo_status rlo__options_fail(const char *name,
                                           const char *init,
                                           size_t size,
                                           size_t bytes) {
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "struct_size of the %s is %zu; this library knows %zu bytes: "
                  "begin with %s",
                  name,
                  size,
                  bytes,
                  init);
}

/** @return RLO_INVALID_ARGUMENT for a struct_size that is smaller than the
 * field itself or larger than `bytes`, what this library knows. */
static inline rlo_status rlo__options_check_size(const char *name,
                                                 const char *init,
                                                 const void *options,
                                                 size_t bytes) {
  size_t size;
  memcpy(&size, options, sizeof size);
  return size < sizeof size || size > bytes
             ? rlo__options_fail(name, init, size, bytes)
             : RLO_OK;
}

/**
 * Reads options that may be those of an older header: copies the first
 * struct_size bytes, so that later fields keep the defaults in `out`.
 *
 * @param options  NULL: leaves `out` unchanged.
 * @param out      the defaults, of the same type as `options`, `bytes` long.
 * @return as rlo__options_check_size.
 */
static inline rlo_status rlo__options_read(const char *name,
                                           const char *init,
                                           const void *options,
                                           void *out,
                                           size_t bytes) {
  if (options == NULL) {
    return RLO_OK;
  }
  RLO_TRY(rlo__options_check_size(name, init, options, bytes));
  size_t size;
  memcpy(&size, options, sizeof size);
  memcpy(out, options, size);
  return RLO_OK;
}

/**
 * Writes a report into a struct that may be that of an older header: its first
 * struct_size bytes, and struct_size remains.
 * @param report  `bytes` bytes, of the same type as `out`.
 * @return as rlo__options_check_size; then nothing is written.
 */
static inline rlo_status rlo__report_write(const char *name,
                                           const char *init,
                                           const void *report,
                                           void *out,
                                           size_t bytes) {
  RLO_TRY(rlo__options_check_size(name, init, out, bytes));
  size_t size;
  memcpy(&size, out, sizeof size);
  memcpy(out, report, size);
  memcpy(out, &size, sizeof size);
  return RLO_OK;
}

/**
 * Checks a struct that must be that of this version's header.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if it is NULL or struct_size is not
 *         `bytes`.
 */
static inline rlo_status rlo__options_check(const char *name,
                                            const char *init,
                                            const void *options,
                                            size_t bytes) {
  if (options == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the pointer to the %s is NULL; begin with %s",
                    name,
                    init);
  }
  size_t size;
  memcpy(&size, options, sizeof size);
  return size == bytes ? RLO_OK : rlo__options_fail(name, init, size, bytes);
}

#endif
