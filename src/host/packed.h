/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_PACKED_H
#define RLO_HOST_PACKED_H

#include "host/kernels.h"

/** Runs of units of 1, 2 or 4 bits, which bytes hold from their low bits on, as bytes. The bytes
 *  of a run are followed by RLO__HOST_PACKED_SLACK more: unpacking may overwrite these, packing
 *  may read them. */
#define RLO__HOST_PACKED_SLACK 512

/** Writes `count` units from unit `at` of `packed` on, one a byte. */
void rlo__host_unpack(const rlo__host_kernels *kernels, int32_t bits, uint8_t *dst,
                      const uint8_t *packed, int64_t at, int64_t count);

/** Writes `count` bytes, each the value of a unit, to the units of `packed` from unit `at` on.
 *  The other bits of the bytes in which they begin and end stay. */
void rlo__host_pack(const rlo__host_kernels *kernels, int32_t bits, uint8_t *packed, int64_t at,
                    const uint8_t *src, int64_t count);

#endif
