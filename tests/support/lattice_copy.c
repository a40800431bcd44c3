/* SPDX-License-Identifier: Apache-2.0 */
#include "support/lattice_copy.h"

#include <string.h>

/* Goes on to the next run, and returns where in the memory it begins; -1 after
 * the last one. */
static int64_t next_run(const rlo__lattice *lattice, int64_t *index) {
  int32_t d = lattice->num_dims - 1;
  for (; d >= 0 && ++index[d] == lattice->extents[d]; --d) {
    index[d] = 0;
  }
  int64_t at = lattice->base_byte;
  for (int32_t n = 0; n < lattice->num_dims; ++n) {
    at += index[n] * lattice->strides[n];
  }
  return d >= 0 ? at : -1;
}

int64_t test_lattice_gather(const rlo__lattice *lattice, const uint8_t *memory, uint8_t *packed) {
  int64_t index[RLO_MAX_AXES] = {0};
  int64_t count = 0;
  for (int64_t at = lattice->base_byte; at >= 0; at = next_run(lattice, index)) {
    memcpy(packed + count, memory + at, (size_t)lattice->run_bytes);
    count += lattice->run_bytes;
  }
  return count;
}

int64_t test_lattice_scatter(const rlo__lattice *lattice, const uint8_t *packed, uint8_t *memory) {
  int64_t index[RLO_MAX_AXES] = {0};
  int64_t count = 0;
  for (int64_t at = lattice->base_byte; at >= 0; at = next_run(lattice, index)) {
    memcpy(memory + at, packed + count, (size_t)lattice->run_bytes);
    count += lattice->run_bytes;
  }
  return count;
}
