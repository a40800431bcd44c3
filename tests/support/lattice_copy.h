/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_LATTICE_COPY_H
#define RLO_TESTS_SUPPORT_LATTICE_COPY_H

#include "ir/footprint.h"

/** Copies the bytes of a lattice from a memory into packed memory, one index at
 *  a time: the plain definition. Returns how many bytes. */
int64_t test_lattice_gather(const rlo__lattice *lattice, const uint8_t *memory, uint8_t *packed);

/** Copies packed memory to the bytes of a lattice. Returns how many bytes. */
int64_t test_lattice_scatter(const rlo__lattice *lattice, const uint8_t *packed, uint8_t *memory);

#endif
