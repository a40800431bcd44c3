/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/family.h"

#include <string.h>

/* Among equal predictions the first row wins. */
const rlo__family *const rlo__families[] = {
    &rlo__family_cpu_copy,         &rlo__family_cpu_rows,
    &rlo__family_cpu_skinny,       &rlo__family_cpu_tile,
    &rlo__family_cpu_packed,       &rlo__family_cpu_gather,
    &rlo__family_cpu_gather_rows,  &rlo__family_cpu_bits,
    &rlo__family_cpu_compute_rows, &rlo__family_cpu_compute_tile,
    &rlo__family_cpu_compute_sum,  &rlo__family_cpu_segment_sum,
    &rlo__family_cpu_compute,      &rlo__family_gpu_copy,
    &rlo__family_gpu_rows,         &rlo__family_gpu_tile,
    &rlo__family_gpu_packed,       &rlo__family_gpu_gather,
    &rlo__family_gpu_bits,         &rlo__family_gpu_compute_tile,
    &rlo__family_gpu_compute_sum,  &rlo__family_gpu_compute,
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
