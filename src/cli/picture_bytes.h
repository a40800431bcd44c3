/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_PICTURE_BYTES_H
#define RLO_CLI_PICTURE_BYTES_H

#include "picture.h"
#include "picture_label.h"

/**
 * Draw the bytes below a picture, where elements are no whole number of them:
 * a line for each byte, the element in its high bits first. An element that
 * lies in several bytes shows which of its bits.
 * @return false if memory ran out.
 */
bool rlo__picture_add_bytes(rlo__picture *picture,
                            const rlo__labels *labels,
                            const rlo__picture_options *options);

#endif
