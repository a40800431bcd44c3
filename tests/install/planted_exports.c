/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that a library must not export, for check_exports.py to find. */
#include "relayout/version.h"

int rlo__planted(void);
int rlo_planted(void);

int rlo__planted(void) {
  return 1;
}

int rlo_planted(void) {
  return rlo__planted();
}

int32_t rlo_version(void) {
  return rlo_planted();
}
