/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_OPTIONS_H
#define RLO_BASE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

/*
 * Public structs that may get more fields later: options, and reports, which
 * the library writes. Their first field is `size_t struct_size`, which the
 * struct's ..._INIT macro sets, so that the library knows with which header the
 * caller was compiled.
 */

/** The first field of a struct. */
static inline size_t rlo__struct_size(const void *options) {
  size_t size;
  memcpy(&size, options, sizeof size);
  return size;
}

/** @return RLO_INVALID_ARGUMENT for a struct_size that is smaller than the
 *  field itself or larger than `bytes`, what this library knows. `name` is
 *  "context options", `init` the INIT macro's name. */
static inline rlo_status rlo__options_check_size(const char *name, const char *init,
                                                 const void *options, size_t bytes) {
  const size_t size = rlo__struct_size(options);
  return size < sizeof size || size > bytes
             ? RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "struct_size of the %s is %zu; this library knows %zu "
                        "bytes: begin with %s",
                        name, size, bytes, init)
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
static inline rlo_status rlo__options_read(const char *name, const char *init, const void *options,
                                           void *out, size_t bytes) {
  if (options == NULL) {
    return RLO_OK;
  }
  RLO_TRY(rlo__options_check_size(name, init, options, bytes));
  memcpy(out, options, rlo__struct_size(options));
  return RLO_OK;
}

/**
 * Writes a report into a struct that may be that of an older header: its first
 * struct_size bytes, and struct_size remains.
 * @param report  `bytes` bytes, of the same type as `out`.
 * @return as rlo__options_check_size; then nothing is written.
 */
static inline rlo_status rlo__report_write(const char *name, const char *init, const void *report,
                                           void *out, size_t bytes) {
  RLO_TRY(rlo__options_check_size(name, init, out, bytes));
  const size_t size = rlo__struct_size(out);
  memcpy(out, report, size);
  memcpy(out, &size, sizeof size);
  return RLO_OK;
}

/**
 * Checks the size of the elements of a list, by the caller's header.
 * @param type   "rlo_device_entry".
 * @param bytes  of an element of the caller's.
 * @param least  of an element in the first header that had them.
 * @param known  of an element of this version's header.
 * @return RLO_INVALID_ARGUMENT for a negative capacity; and for any other than
 *         0 if `bytes` is not between `least` and `known`.
 */
static inline rlo_status rlo__report_list_check(const char *type, int32_t capacity, size_t bytes,
                                                size_t least, size_t known) {
  if (capacity < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "room for %d entries", (int)capacity);
  }
  if (capacity > 0 && (bytes < least || bytes > known)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "entries of %zu bytes; this library knows %s of up to %zu", bytes, type, known);
  }
  return RLO_OK;
}

/** Writes what there is room for of a list of `count` elements of `known`
 *  bytes, the first `bytes` of each. */
static inline void rlo__report_list_write(const void *list, int32_t count, size_t known, void *out,
                                          size_t bytes, int32_t capacity) {
  for (int32_t i = 0; i < count && i < capacity; ++i) {
    memcpy((char *)out + (size_t)i * bytes, (const char *)list + (size_t)i * known, bytes);
  }
}

#endif
