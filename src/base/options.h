/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_OPTIONS_H
#define RLO_BASE_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/status.h"

/*
 * Public structs that may get more fields later. Their first field is `size_t
 * struct_size`, which the struct's ..._INIT macro sets, so that the library
 * knows with which header the caller was compiled.
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

/**
 * Reads options that may be those of an older header: copies the first
 * struct_size bytes, so that later fields keep the defaults in `out`.
 *
 * @param options  NULL: leaves `out` unchanged.
 * @param out      the defaults, of the same type as `options`, `bytes` long.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if struct_size is smaller than the field
 *         itself or larger than `bytes`.
 */
static inline rlo_status rlo__options_read(const char *name,
                                           const char *init,
                                           const void *options,
                                           void *out,
                                           size_t bytes) {
  if (options == NULL) {
    return RLO_OK;
  }
  size_t size;
  memcpy(&size, options, sizeof size);
  if (size < sizeof size || size > bytes) {
    return rlo__options_fail(name, init, size, bytes);
  }
  memcpy(out, options, size);
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
