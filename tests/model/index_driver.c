/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares whole index maps, index to slot and slot to index, with the model:
 *
 *   index_driver FILE
 *
 * One shape a line; README.md defines the hashes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/index.h"
#include "relayout/text.h"

#include "model_case.h"

enum { MAX_SHOWN_FAILURES = 20 };

static bool refuse(const char *what, rlo_status status) {
  printf(
      "%s: %s: %s\n", what, rlo_status_name(status), rlo_error_last()->message);
  return false;
}

static bool hash_forward(const rlo_shape *shape, uint64_t *out_hash) {
  int64_t index[RLO_MAX_RANK] = {0};
  uint64_t hash = MODEL_HASH_START;
  bool is_empty = false;
  for (int32_t k = 0; k < shape->rank; ++k) {
    is_empty = is_empty || shape->dims[k] == 0;
  }
  bool has_more = !is_empty;
  while (has_more) {
    int64_t slot = -1;
    rlo_status status = rlo_index_to_linear(shape, index, &slot);
    if (status != RLO_OK) {
      return refuse("rlo_index_to_linear", status);
    }
    uint8_t bytes[8];
    for (int k = 0; k < 8; ++k) {
      bytes[k] = (uint8_t)((uint64_t)slot >> (8 * k));
    }
    hash = model_hash(hash, bytes, sizeof bytes);
    has_more = rlo_index_bump(shape, index);
  }
  *out_hash = hash;
  return true;
}

/* With RLO_UNSUPPORTED in *out_status there is no inverse, and no message. */
static bool hash_inverse(const rlo_shape *shape,
                         int64_t slots,
                         rlo_status *out_status,
                         uint64_t *out_hash) {
  uint64_t hash = MODEL_HASH_START;
  *out_status = RLO_OK;
  for (int64_t slot = 0; slot < slots; ++slot) {
    int64_t index[RLO_MAX_RANK];
    bool is_element = false;
    rlo_status status = rlo_index_from_linear(shape, slot, index, &is_element);
    if (status == RLO_UNSUPPORTED) {
      *out_status = status;
      return true;
    }
    if (status != RLO_OK) {
      return refuse("rlo_index_from_linear", status);
    }
    uint8_t bytes[1 + RLO_MAX_RANK] = {is_element};
    size_t count = 1;
    for (int32_t k = 0; is_element && k < shape->rank; ++k) {
      bytes[count++] = (uint8_t)index[k];
    }
    hash = model_hash(hash, bytes, count);
  }
  *out_hash = hash;
  return true;
}

static bool differ(const char *what) {
  printf("%s differs from the model's\n", what);
  return false;
}

static bool check_shape(char *fields[MODEL_MAX_FIELDS]) {
  rlo_shape shape;
  rlo_status status = rlo_shape_parse(fields[0], strlen(fields[0]), &shape);
  if (status != RLO_OK) {
    return refuse("rlo_shape_parse", status);
  }
  rlo_shape_extent extent;
  status = rlo_shape_measure(&shape, &extent);
  if (status != RLO_OK) {
    return refuse("rlo_shape_measure", status);
  }
  if (extent.slots != strtoll(fields[1], NULL, 10)) {
    return differ("the number of slots");
  }
  uint64_t hash = 0;
  if (!hash_forward(&shape, &hash)) {
    return false;
  }
  if (hash != strtoull(fields[2], NULL, 16)) {
    return differ("the map from index to slot");
  }
  if (!hash_inverse(&shape, extent.slots, &status, &hash)) {
    return false;
  }
  /* "-": elements share slots; "?" before a hash: the library may think so. */
  bool may_refuse = fields[3][0] == '-' || fields[3][0] == '?';
  if (status == RLO_UNSUPPORTED) {
    return may_refuse || refuse("rlo_index_from_linear", status);
  }
  if (fields[3][0] == '-') {
    printf("rlo_index_from_linear accepts elements that share a slot\n");
    return false;
  }
  if (hash != strtoull(fields[3] + (fields[3][0] == '?'), NULL, 16)) {
    return differ("the map from slot to index");
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: index_driver FILE\n");
    return 2;
  }
  model_file file;
  if (!model_file_open(&file, argv[1])) {
    return 2;
  }
  int64_t passed = 0;
  int64_t failed = 0;
  char *fields[MODEL_MAX_FIELDS] = {NULL};
  int num_fields;
  while ((num_fields = model_file_next(&file, fields)) == 4) {
    if (check_shape(fields)) {
      ++passed;
      continue;
    }
    ++failed;
    printf("FAILED %s\n  expected: generate_cases.py --show-index '%s'\n",
           file.shown,
           fields[0]);
    if (failed == MAX_SHOWN_FAILURES) {
      break;
    }
  }
  printf("seed %" PRId64 ": %" PRId64 " passed, %" PRId64 " failed\n",
         file.seed,
         passed,
         failed);
  model_file_close(&file);
  return num_fields != 0 || failed != 0 || passed == 0;
}
