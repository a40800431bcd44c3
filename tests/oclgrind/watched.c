/* SPDX-License-Identifier: Apache-2.0 */
#include "oclgrind/watched.h"

#include <string.h>

bool oclgrind_can_watch(const rlo__family *family, bool is_aligned) {
  bool is_tile = strcmp(family->name, "tile") == 0;
  if (family->device_class == RLO_DEVICE_CLASS_GPU) {
    return !is_tile || !is_aligned;
  }
  return !is_tile && strcmp(family->name, "packed") != 0 && strcmp(family->name, "skinny") != 0;
}
