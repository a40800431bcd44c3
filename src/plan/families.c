/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/family.h"

const rlo__family *const rlo__families[] = {
#define ROW(NAME) &rlo__family_##NAME,
    RLO__FAMILIES(ROW)
#undef ROW
};

const int32_t rlo__num_families =
    (int32_t)(sizeof rlo__families / sizeof rlo__families[0]);

const rlo__family *rlo__family_find(rlo_device_class device_class,
                                    const char *name) {
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    if (rlo__families[n]->device_class == device_class &&
        strcmp(rlo__families[n]->name, name) == 0) {
      return rlo__families[n];
    }
  }
  return NULL;
}
