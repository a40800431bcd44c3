/* SPDX-License-Identifier: Apache-2.0 */
#include "shard/box.h"

#include "base/checked.h"

bool rlo__box_is_empty(const rlo_box *box) {
  for (int32_t d = 0; d < box->rank; ++d) {
    if (box->start[d] >= box->limit[d]) {
      return true;
    }
  }
  return false;
}

int rlo__box_compare(const rlo_box *a, const rlo_box *b) {
  for (int32_t d = 0; d < a->rank; ++d) {
    if (a->start[d] != b->start[d]) {
      return a->start[d] < b->start[d] ? -1 : 1;
    }
  }
  for (int32_t d = 0; d < a->rank; ++d) {
    if (a->limit[d] != b->limit[d]) {
      return a->limit[d] < b->limit[d] ? -1 : 1;
    }
  }
  return 0;
}

rlo_box rlo__box_intersect(const rlo_box *a, const rlo_box *b) {
  rlo_box box = {.rank = a->rank};
  for (int32_t d = 0; d < a->rank; ++d) {
    box.start[d] = rlo__max(a->start[d], b->start[d]);
    box.limit[d] = rlo__min(a->limit[d], b->limit[d]);
  }
  return box;
}

int64_t rlo__box_count(const rlo_box *box) {
  int64_t count = 1;
  for (int32_t d = 0; d < box->rank; ++d) {
    count *= box->limit[d] - box->start[d];
  }
  return count;
}
