/* SPDX-License-Identifier: Apache-2.0 */
/* Whole index maps, index to slot and slot to index. */
#include <stdlib.h>
#include <string.h>

#include "relayout/index.h"
#include "relayout/text.h"

#include "model_case.h"

static bool hash_forward(const rlo_shape *shape, int64_t elements, uint64_t *out_hash) {
  int64_t index[RLO_MAX_RANK] = {0};
  uint64_t hash = MODEL_HASH_START;
  for (int64_t n = 0; n < elements; ++n) {
    int64_t slot = -1;
    if (!model_is_ok(rlo_index_to_linear(shape, index, &slot))) {
      return false;
    }
    uint8_t bytes[8];
    for (int k = 0; k < 8; ++k) {
      bytes[k] = (uint8_t)((uint64_t)slot >> (8 * k));
    }
    hash = model_hash(hash, bytes, sizeof bytes);
    if (rlo_index_bump(shape, index) != (n + 1 < elements)) {
      return model_complain("the number of indices");
    }
  }
  *out_hash = hash;
  return true;
}

/* RLO_UNSUPPORTED: there is no inverse. */
static rlo_status hash_inverse(const rlo_shape *shape, int64_t slots, uint64_t *out_hash) {
  uint64_t hash = MODEL_HASH_START;
  for (int64_t slot = 0; slot < slots; ++slot) {
    int64_t index[RLO_MAX_RANK];
    bool is_element = false;
    rlo_status status = rlo_index_from_linear(shape, slot, index, &is_element);
    if (status != RLO_OK) {
      return status;
    }
    uint8_t bytes[1 + RLO_MAX_RANK] = {is_element};
    size_t count = 1;
    for (int32_t k = 0; is_element && k < shape->rank; ++k) {
      bytes[count++] = (uint8_t)index[k];
    }
    hash = model_hash(hash, bytes, count);
  }
  *out_hash = hash;
  return RLO_OK;
}

bool model_run_index(char *fields[MODEL_MAX_FIELDS]) {
  rlo_shape shape;
  rlo_shape_extent extent;
  uint64_t hash = 0;
  if (!model_is_ok(rlo_shape_parse(fields[0], strlen(fields[0]), &shape)) ||
      !model_is_ok(rlo_shape_measure(&shape, &extent)) ||
      !hash_forward(&shape, extent.elements, &hash)) {
    return false;
  }
  if (extent.slots != strtoll(fields[1], NULL, 10)) {
    return model_complain("the number of slots differs from the model's");
  }
  if (hash != strtoull(fields[2], NULL, 16)) {
    return model_complain("the map from index to slot differs from the model's");
  }
  rlo_status status = hash_inverse(&shape, extent.slots, &hash);
  if (status == RLO_UNSUPPORTED && strchr("-?", fields[3][0]) != NULL) {
    return true;
  }
  if (!model_is_ok(status)) {
    return false;
  }
  if (fields[3][0] == '-') {
    return model_complain("elements share a slot, and there is an inverse");
  }
  return hash == strtoull(fields[3] + (fields[3][0] == '?'), NULL, 16) ||
         model_complain("the map from slot to index differs from the model's");
}
