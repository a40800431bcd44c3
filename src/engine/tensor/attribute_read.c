/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/attributes.h"

#include <string.h>

#include "base/status.h"

rlo_status rlo__dims_get(const rlo_attributes *attributes,
                         const char *name,
                         rlo__dims *out_dims) {
  rlo_i64_list list;
  RLO_TRY(rlo_attributes_get_i64s(attributes, name, &list));
  if (list.count > RLO_MAX_RANK) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "'%s' has %d numbers; the limit is %d",
                    name,
                    list.count,
                    RLO_MAX_RANK);
  }
  out_dims->count = list.count;
  if (list.count > 0) {
    memcpy(out_dims->values,
           list.values,
           (size_t)list.count * sizeof list.values[0]);
  }
  return RLO_OK;
}

rlo_status rlo__dims_get_exactly(const rlo_attributes *attributes,
                                 const char *name,
                                 int32_t count,
                                 rlo__dims *out_dims) {
  RLO_TRY(rlo__dims_get(attributes, name, out_dims));
  if (out_dims->count != count) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'%s' has %d numbers; %d are wanted",
                    name,
                    out_dims->count,
                    count);
  }
  return RLO_OK;
}

rlo_status rlo__dims_get_pairs(const rlo_attributes *attributes,
                               const char *name,
                               int32_t count,
                               rlo__dims *out_low,
                               rlo__dims *out_high) {
  rlo_i64_list list;
  RLO_TRY(rlo_attributes_get_i64s(attributes, name, &list));
  if (count > RLO_MAX_RANK || list.count != 2 * count) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'%s' has %d numbers; %d pairs are wanted",
                    name,
                    list.count,
                    count);
  }
  for (int32_t k = 0; k < count; ++k) {
    out_low->values[k] = list.values[2 * (size_t)k];
    out_high->values[k] = list.values[2 * (size_t)k + 1];
  }
  out_low->count = count;
  out_high->count = count;
  return RLO_OK;
}

static rlo_status resolve_axis(const char *name,
                               int64_t axis,
                               int32_t rank,
                               int32_t *out_axis) {
  if (axis < -(int64_t)rank || axis >= rank) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "'%s' names dimension %lld of an array of rank %d",
                    name,
                    (long long)axis,
                    rank);
  }
  *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
  return RLO_OK;
}

rlo_status rlo__axis_get(const rlo_attributes *attributes,
                         const char *name,
                         int32_t rank,
                         int32_t *out_axis) {
  return resolve_axis(name, rlo__i64_or(attributes, name, 0), rank, out_axis);
}

rlo_status rlo__axes_get(const rlo_attributes *attributes,
                         const char *name,
                         int32_t rank,
                         int32_t out_axes[RLO_MAX_RANK],
                         int32_t *out_count) {
  rlo__dims dims = {{0}, 0};
  RLO_TRY(rlo__dims_get(attributes, name, &dims));
  for (int32_t k = 0; k < dims.count; ++k) {
    RLO_TRY(resolve_axis(name, dims.values[k], rank, &out_axes[k]));
  }
  *out_count = dims.count;
  return RLO_OK;
}

int64_t rlo__i64_or(const rlo_attributes *attributes,
                    const char *name,
                    int64_t otherwise) {
  const rlo_attribute *found = rlo_attributes_find(attributes, name);
  return found != NULL && found->type == RLO_ATTRIBUTE_I64 ? found->value.i64
                                                           : otherwise;
}

rlo_status rlo__word_get(const rlo_attributes *attributes,
                         const char *name,
                         const char *const *words,
                         int32_t count,
                         int32_t *out_which) {
  *out_which = 0;
  const rlo_attribute *found = rlo_attributes_find(attributes, name);
  if (found == NULL) {
    return RLO_OK;
  }
  for (int32_t w = 0; w < count; ++w) {
    if (strcmp(found->value.string, words[w]) == 0) {
      *out_which = w;
      return RLO_OK;
    }
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "'%s' is '%s'; it is '%s' or '%s'",
                  name,
                  found->value.string,
                  words[0],
                  words[count - 1]);
}
