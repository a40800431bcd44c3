/* SPDX-License-Identifier: Apache-2.0 */
#include "safetensors/format.h"

#include <string.h>

#include "base/status.h"
#include "relayout/recipe.h"

static const struct {
  const char *name;
  rlo_dtype dtype;
} types[] = {
    {"BOOL", RLO_DTYPE_PRED},
    {"F4", RLO_DTYPE_F4E2M1FN},
    {"F6_E2M3", RLO_DTYPE_F6E2M3FN},
    {"F6_E3M2", RLO_DTYPE_F6E3M2FN},
    {"U8", RLO_DTYPE_U8},
    {"I8", RLO_DTYPE_S8},
    {"F8_E5M2", RLO_DTYPE_F8E5M2},
    {"F8_E4M3", RLO_DTYPE_F8E4M3FN},
    {"F8_E8M0", RLO_DTYPE_F8E8M0FNU},
    {"F8_E4M3FNUZ", RLO_DTYPE_F8E4M3FNUZ},
    {"F8_E5M2FNUZ", RLO_DTYPE_F8E5M2FNUZ},
    {"I16", RLO_DTYPE_S16},
    {"U16", RLO_DTYPE_U16},
    {"F16", RLO_DTYPE_F16},
    {"BF16", RLO_DTYPE_BF16},
    {"I32", RLO_DTYPE_S32},
    {"U32", RLO_DTYPE_U32},
    {"F32", RLO_DTYPE_F32},
    {"C64", RLO_DTYPE_C64},
    {"F64", RLO_DTYPE_F64},
    {"I64", RLO_DTYPE_S64},
    {"U64", RLO_DTYPE_U64},
};

const char *const rlo__safetensors_text_keys[RLO__NUM_TEXTS] = {
    "relayout:", "relayout.digest:", RLO_SAFETENSORS_SHARDING_KEY, RLO_RECIPE_KEY};

int rlo__safetensors_text_of(const char *key) {
  int n = 0;
  while (n < RLO__NUM_TEXTS &&
         strncmp(key, rlo__safetensors_text_keys[n], strlen(rlo__safetensors_text_keys[n])) != 0) {
    ++n;
  }
  return n;
}

enum { NUM_TYPES = sizeof(types) / sizeof(types[0]) };

rlo_dtype rlo__safetensors_type(const char *name) {
  for (int n = 0; n < NUM_TYPES; ++n) {
    if (strcmp(types[n].name, name) == 0) {
      return types[n].dtype;
    }
  }
  return RLO_DTYPE_INVALID;
}

const char *rlo__safetensors_type_name(rlo_dtype dtype) {
  for (int n = 0; n < NUM_TYPES; ++n) {
    if (types[n].dtype == dtype) {
      return types[n].name;
    }
  }
  return NULL;
}

rlo_status rlo__safetensors_plain_shape(rlo_dtype dtype, const int64_t *dims, int32_t rank,
                                        rlo_shape *out_shape) {
  rlo_layout layout = rlo_layout_row_major(rank);
  if (rlo_dtype_is_sub_byte(dtype)) {
    layout.element_size_bits = rlo_dtype_value_bits(dtype);
  }
  return rlo_shape_make_with_layout(dtype, dims, rank, &layout, out_shape);
}

rlo_status rlo__safetensors_header_shape(const rlo_shape *shape, rlo_shape *out_header_shape) {
  rlo_shape_extent extent = {0};
  RLO_TRY(rlo_shape_measure(shape, &extent));
  const int64_t bits = rlo_dtype_is_sub_byte(shape->dtype) ? rlo_dtype_value_bits(shape->dtype)
                                                           : rlo_dtype_storage_bits(shape->dtype);
  if (rlo__safetensors_type_name(shape->dtype) == NULL || extent.element_bits != bits ||
      extent.slots * bits % 8 != 0) {
    return rlo_shape_make(RLO_DTYPE_U8, &extent.physical_bytes, 1, out_header_shape);
  }
  RLO_TRY(rlo__safetensors_plain_shape(shape->dtype, shape->dims, shape->rank, out_header_shape));
  return rlo_shape_equal(shape, out_header_shape)
             ? RLO_OK
             : rlo__safetensors_plain_shape(shape->dtype, &extent.slots, 1, out_header_shape);
}

rlo_status rlo__safetensors_fail_json(const char *text) {
  return RLO_FAIL(RLO_INVALID_ARGUMENT, "'%s' is no UTF-8, or there is no memory for it", text);
}
