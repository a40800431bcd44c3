/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/version.h"

/* Fills, the constants of kernels and the host's arithmetic on elements are
 * written with the low byte first. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "relayout needs a host that stores the low byte of a number first"
#endif

int32_t rlo_version(void) {
  return RLO_VERSION;
}

const char *rlo_version_string(void) {
  return RLO_VERSION_STRING;
}
