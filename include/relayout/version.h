/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_VERSION_H
#define RELAYOUT_VERSION_H

#include <stdint.h>

#include "relayout/export.h"

RLO_BEGIN_DECLS

/** The version of the headers: semantic versioning over the stable headers.
 *  Before 1.0.0 the minor version counts as the major one. */
#define RLO_VERSION_MAJOR  0
#define RLO_VERSION_MINOR  1
#define RLO_VERSION_PATCH  0
#define RLO_VERSION_STRING "0.1.0"

/** One integer that grows with each version: compare with `#if`. */
#define RLO_VERSION_NUMBER(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define RLO_VERSION                             RLO_VERSION_NUMBER(RLO_VERSION_MAJOR, RLO_VERSION_MINOR, RLO_VERSION_PATCH)

/**
 * Returns the version of the library that runs, as RLO_VERSION encodes it. A
 * program that was compiled with other headers sees another value in
 * RLO_VERSION.
 * Threads: safe (pure).
 */
RLO_API int32_t rlo_version(void);

/** Returns the same as text, "major.minor.patch": static, never NULL.
 *  Threads: safe (pure). */
RLO_API const char *rlo_version_string(void);

RLO_END_DECLS

#endif
