/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/status.h"

int main(void) {
  return strcmp(rlo_status_name(RLO_IO), "RLO_IO") == 0 ? 0 : 1;
}
