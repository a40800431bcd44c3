/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/gradient/tape.h"
#include "engine/tensor/tensor.h"

static int compare_ids(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a;
  uint64_t right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

int32_t rlo__tape_path_slot(const rlo__tape_path *path, uint64_t id) {
  int32_t low = 0;
  int32_t high = path->num_slots - 1;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (path->ids[middle] < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Every tensor that takes part, once. */
static rlo_status collect_ids(const rlo_tape *tape,
                              const rlo_tensor *y,
                              rlo_tensor *const *xs,
                              int32_t count,
                              rlo__tape_path *path) {
  int64_t most = (int64_t)count + 1;
  for (int64_t n = 0; n < tape->count; ++n) {
    most += tape->nodes[n]->num_inputs + tape->nodes[n]->num_outputs;
  }
  if (most > INT32_MAX) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the tape holds %lld tensors; the limit is %d",
                    (long long)most,
                    INT32_MAX);
  }
  path->ids = rlo__alloc_array((size_t)most, sizeof *path->ids);
  path->is_from_x = rlo__alloc_array((size_t)most, sizeof *path->is_from_x);
  path->is_on_path = rlo__alloc_array((size_t)most, sizeof *path->is_on_path);
  if (path->ids == NULL || path->is_from_x == NULL ||
      path->is_on_path == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  size_t next = 0;
  path->ids[next++] = y->id;
  for (int32_t i = 0; i < count; ++i) {
    path->ids[next++] = xs[i]->id;
  }
  for (int64_t n = 0; n < tape->count; ++n) {
    const rlo__tape_node *node = tape->nodes[n];
    for (int32_t i = 0; i < node->num_inputs + node->num_outputs; ++i) {
      path->ids[next++] = node->ids[i];
    }
  }
  qsort(path->ids, next, sizeof *path->ids, compare_ids);
  int32_t kept = 0;
  for (size_t i = 0; i < next; ++i) {
    if (i == 0 || path->ids[i] != path->ids[i - 1]) {
      path->ids[kept++] = path->ids[i];
    }
  }
  path->num_slots = kept;
  return RLO_OK;
}

static bool has_any(const rlo__tape_path *path,
                    const bool *marks,
                    const uint64_t *ids,
                    int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (marks[rlo__tape_path_slot(path, ids[i])]) {
      return true;
    }
  }
  return false;
}

bool rlo__tape_path_has(const rlo__tape_path *path,
                        const rlo__tape_node *node) {
  return has_any(path, path->is_from_x, node->ids, node->num_inputs) &&
         has_any(path,
                 path->is_on_path,
                 node->ids + node->num_inputs,
                 node->num_outputs);
}

rlo_status rlo__tape_path_find(const rlo_tape *tape,
                               const rlo_tensor *y,
                               rlo_tensor *const *xs,
                               int32_t count,
                               rlo__tape_path *out_path) {
  rlo__tape_path *path = out_path;
  *path = (rlo__tape_path){NULL, 0, NULL, NULL};
  RLO_TRY(collect_ids(tape, y, xs, count, path));
  for (int32_t i = 0; i < count; ++i) {
    path->is_from_x[rlo__tape_path_slot(path, xs[i]->id)] = true;
  }
  /* A kernel runs after those that made its inputs. */
  for (int64_t n = 0; n < tape->count; ++n) {
    const rlo__tape_node *node = tape->nodes[n];
    if (has_any(path, path->is_from_x, node->ids, node->num_inputs)) {
      for (int32_t k = 0; k < node->num_outputs; ++k) {
        uint64_t id = node->ids[node->num_inputs + k];
        path->is_from_x[rlo__tape_path_slot(path, id)] = true;
      }
    }
  }
  int32_t last = rlo__tape_path_slot(path, y->id);
  path->is_on_path[last] = path->is_from_x[last];
  for (int64_t n = tape->count - 1; n >= 0; --n) {
    const rlo__tape_node *node = tape->nodes[n];
    if (rlo__tape_path_has(path, node)) {
      for (int32_t i = 0; i < node->num_inputs; ++i) {
        int32_t slot = rlo__tape_path_slot(path, node->ids[i]);
        path->is_on_path[slot] =
            path->is_on_path[slot] || path->is_from_x[slot];
      }
    }
  }
  return RLO_OK;
}

void rlo__tape_path_deinit(rlo__tape_path *path) {
  rlo__free(path->ids);
  rlo__free(path->is_from_x);
  rlo__free(path->is_on_path);
}
