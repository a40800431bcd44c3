/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host/kernels.h"

const rlo__host_kernels *rlo__host_kernels_get(int32_t max_vector_bytes) {
  int32_t bytes = max_vector_bytes == 0 ? 64 : max_vector_bytes;
  const rlo__host_kernels *found =
      bytes < 16 ? NULL : rlo__host_kernels_x86(bytes);
  return found == NULL ? &rlo__host_kernels_portable : found;
}

void rlo__host_make_masks(int32_t num_streams,
                          int32_t unit_bytes,
                          bool is_split,
                          uint8_t *out_masks) {
  memset(out_masks, 0x80, (size_t)RLO__HOST_MASK_BYTES(num_streams));
  for (int32_t at = 0; at < num_streams * 16; ++at) {
    /* Byte `at` of the run is byte `within` of stream `stream`. */
    int32_t unit = at / unit_bytes;
    int32_t stream = unit % num_streams;
    int32_t within = unit / num_streams * unit_bytes + at % unit_bytes;
    int32_t to = is_split ? stream * num_streams + at / 16
                          : at / 16 * num_streams + stream;
    if (is_split) {
      out_masks[to * 16 + within] = (uint8_t)(at % 16);
    } else {
      out_masks[to * 16 + at % 16] = (uint8_t)within;
    }
  }
}
