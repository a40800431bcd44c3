/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_CONVERT_VERIFY_H
#define RLO_CLI_CONVERT_VERIFY_H

#include "convert.h"

/**
 * Compares an output with its input, by other means than those that made it: up
 * to 1 GiB every byte with the host reference, for which both are read into
 * memory; beyond it RLO__VERIFY_ELEMENTS elements anywhere, by the address maps
 * of the two shapes. Prints what differs.
 * @param fd, offset_bytes  where the output's array begins.
 */
int rlo__convert_verify(const rlo__conversion *c, int fd, int64_t offset_bytes);

#define RLO__VERIFY_ELEMENTS 100000

#endif
