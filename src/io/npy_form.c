/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy_form.h"

const unsigned char rlo__npy_magic[RLO_NPY_MAGIC_BYTES] = {
    0x93, 'N', 'U', 'M', 'P', 'Y'};

/* One row for each type NumPy and we have in common. */
static const struct {
  char kind;
  int8_t bytes;
  rlo_dtype dtype;
} types[] = {
    {'b', 1, RLO_DTYPE_PRED},
    {'i', 1, RLO_DTYPE_S8},
    {'i', 2, RLO_DTYPE_S16},
    {'i', 4, RLO_DTYPE_S32},
    {'i', 8, RLO_DTYPE_S64},
    {'u', 1, RLO_DTYPE_U8},
    {'u', 2, RLO_DTYPE_U16},
    {'u', 4, RLO_DTYPE_U32},
    {'u', 8, RLO_DTYPE_U64},
    {'f', 2, RLO_DTYPE_F16},
    {'f', 4, RLO_DTYPE_F32},
    {'f', 8, RLO_DTYPE_F64},
    {'c', 8, RLO_DTYPE_C64},
    {'c', 16, RLO_DTYPE_C128},
};

enum { NUM_TYPES = sizeof types / sizeof types[0] };

rlo_dtype rlo__npy_dtype_of(char kind, int64_t bytes) {
  for (int row = 0; row < NUM_TYPES; ++row) {
    if (types[row].kind == kind && types[row].bytes == bytes) {
      return types[row].dtype;
    }
  }
  return RLO_DTYPE_INVALID;
}

char rlo__npy_kind_of(rlo_dtype dtype) {
  for (int row = 0; row < NUM_TYPES; ++row) {
    if (types[row].dtype == dtype) {
      return types[row].kind;
    }
  }
  return 'u';
}
