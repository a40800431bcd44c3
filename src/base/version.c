/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/version.h"

int32_t rlo_version(void) {
  return RLO_VERSION;
}

const char *rlo_version_string(void) {
  return RLO_VERSION_STRING;
}
