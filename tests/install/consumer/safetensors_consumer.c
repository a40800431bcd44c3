/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the component of safetensors files as it is installed: errors cross the
 * libraries. */
#include <string.h>

#include "relayout/safetensors.h"

int main(void) {
  rlo_safetensors *list = NULL;
  return rlo_safetensors_open("/nowhere/a.safetensors", &list) == RLO_NOT_FOUND && list == NULL &&
                 strstr(rlo_error_last()->message, "/nowhere/a") != NULL
             ? 0
             : 1;
}
