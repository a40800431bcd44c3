/* SPDX-License-Identifier: Apache-2.0 */
#include "host/shuffle.h"

#include <string.h>

#include "base/checked.h"

/** Writes the masks. `from` has for each byte that a step makes, vector after vector, its
 *  place in the vectors that it takes. */
static void write_masks(int64_t num_vectors, int64_t width, const uint16_t *from,
                        uint8_t *out_masks) {
  const int bits = __builtin_ctzll((uint64_t)width);
  memset(out_masks, 0x80, (size_t)(num_vectors * num_vectors * width));
  for (int64_t v = 0; v < num_vectors; ++v) {
    for (int64_t k = 0; k < width; ++k) {
      const int64_t place = from[v * width + k];
      const int64_t row = v * num_vectors + (place >> bits);
      out_masks[row * width + k] = (uint8_t)(place & (width - 1));
    }
  }
}

void rlo__host_shuffle_streams(int64_t num_streams, int64_t unit_bytes, bool is_split,
                               uint8_t *masks, rlo__host_shuffle *out) {
  const int64_t width = RLO__HOST_STREAM_WIDTH;
  uint16_t from[RLO__HOST_MAX_SHUFFLED * RLO__HOST_STREAM_WIDTH];
  int64_t near = 0;
  for (int64_t k = 0; k < width; k += unit_bytes) {
    for (int64_t n = 0; n < num_streams; ++n) {
      for (int64_t far = n * width + k; far < n * width + k + unit_bytes; ++far) {
        from[is_split ? far : near] = (uint16_t)(is_split ? near : far);
        near += 1;
      }
    }
  }
  write_masks(num_streams, width, from, masks);
  *out = (rlo__host_shuffle){.num_vectors = num_streams,
                             .period = num_streams * width,
                             .is_split = is_split,
                             .masks = masks};
}

void rlo__host_shuffle_blocks(const int64_t *places, int64_t num_units, int64_t unit_bytes,
                              int64_t period, int64_t width, uint8_t *masks,
                              rlo__host_shuffle *out) {
  const int64_t num_vectors = rlo__ceil_div(period, width);
  const int64_t block_bytes = num_units * unit_bytes;
  /* Where the last vector would begin, and does. */
  const int64_t end = (num_vectors - 1) * width;
  const int64_t last = period - width;
  uint16_t from[RLO__HOST_MAX_PERIOD] = {0};
  for (int64_t at = 0; at < period; ++at) {
    const int64_t within = at % block_bytes;
    int64_t place = at - within + places[within / unit_bytes] + within % unit_bytes;
    place += place >= end ? end - last : 0;
    if (at < end) {
      from[at] = (uint16_t)place;
    }
    if (at >= last) {
      from[end + at - last] = (uint16_t)place;
    }
  }
  write_masks(num_vectors, width, from, masks);
  *out = (rlo__host_shuffle){.num_vectors = num_vectors, .period = period, .masks = masks};
}
