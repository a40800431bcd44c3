/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_VALUE_CHECK_H
#define RLO_CLI_VALUE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "relayout/shape.h"

/** An element may have more bits in memory than the values of its type, as an
 *  s4 in a byte. When it is moved to an element of another size only the bits
 *  of the value are kept: here it is checked that there is nothing else. */

/** Returns whether a relayout from one shape to another drops bits that the
 *  source's elements have beyond their values. pred is no such type: every byte
 *  but 0 is true. */
bool rlo__values_may_be_cut(const rlo_shape *src, const rlo_shape *dst);

/** Returns the smallest number of bytes that are whole elements. */
int64_t rlo__values_granule_bytes(const rlo_shape *shape);

/** An array whose values are checked. All borrowed. */
typedef struct rlo__checked_values {
  const rlo_shape *shape;
  /** Names the array in the message. */
  const char *path;
  /** Above the value of a signed integer are copies of its sign; else there may
   *  be zeros too. */
  bool has_signs;
} rlo__checked_values;

/**
 * Checks a part of an array: in each element the bits above the value are 0,
 * or, of a negative integer, 1. Slots that hold no element are passed over, and
 * so are elements that lie in the part with some of their bits only.
 *
 * @param offset_bytes  where the part begins in the array.
 * @return RLO_OK; RLO_OUT_OF_RANGE, with the slot of the first element that is
 *         no value. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__values_check(const rlo__checked_values *values,
                                           int64_t offset_bytes,
                                           const unsigned char *bytes,
                                           size_t num_bytes);

#endif
