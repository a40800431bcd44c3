/* SPDX-License-Identifier: Apache-2.0 */

/* Walks over the indices of a shape. */

#include "base/checked.h"
#include "base/status.h"
#include "desc/layout.h"
#include "relayout/index.h"

int rlo_index_compare(const int64_t *a, const int64_t *b, int32_t rank) {
  for (int32_t k = 0; k < rank; ++k) {
    if (a[k] != b[k]) {
      return a[k] < b[k] ? -1 : 1;
    }
  }
  return 0;
}

/* One dimension of a walk: `visits` places from `base` on. */
typedef struct walk_dim {
  int64_t base;
  int64_t visits;
  int64_t step;
} walk_dim;

static rlo_status make_dim(const rlo_shape *shape,
                           int32_t k,
                           walk_dim dim,
                           walk_dim *out_dim) {
  int64_t count = dim.visits;
  if (dim.base < 0 || count < 0 || dim.step < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "dimension %d: base %lld, count %lld or step %lld is "
                    "negative",
                    k,
                    (long long)dim.base,
                    (long long)count,
                    (long long)dim.step);
  }
  if (dim.step == 0 && count != 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "dimension %d: step 0 never gets through count %lld",
                    k,
                    (long long)count);
  }
  dim.visits = dim.step == 0 ? 1 : rlo__ceil_div(count, dim.step);
  int64_t last = dim.base;
  if (dim.visits > 0 &&
      (!rlo__mul_add(dim.base, dim.visits - 1, dim.step, &last) ||
       last >= shape->dims[k])) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "dimension %d: base %lld and count %lld reach beyond its "
                    "size %lld",
                    k,
                    (long long)dim.base,
                    (long long)count,
                    (long long)shape->dims[k]);
  }
  *out_dim = dim;
  return RLO_OK;
}

static rlo_status walk(int32_t rank,
                       const walk_dim *dims,
                       const int32_t *order,
                       rlo_index_fn visit,
                       void *payload) {
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t place[RLO_MAX_RANK] = {0};
  for (int32_t k = 0; k < rank; ++k) {
    index[k] = dims[k].base;
  }
  for (;;) {
    bool go_on = true;
    RLO_TRY(visit(index, &go_on, payload));
    if (!go_on) {
      return RLO_OK;
    }
    int32_t p = rank - 1;
    for (; p >= 0; --p) {
      int32_t k = order[p];
      if (++place[k] < dims[k].visits) {
        index[k] += dims[k].step;
        break;
      }
      index[k] = dims[k].base;
      place[k] = 0;
    }
    if (p < 0) {
      return RLO_OK;
    }
  }
}

rlo_status rlo_shape_for_each_index(const rlo_shape *shape,
                                    const int64_t *base,
                                    const int64_t *count,
                                    const int64_t *step,
                                    rlo_index_fn visit,
                                    void *payload) {
  RLO_TRY(rlo_shape_validate(shape));
  walk_dim dims[RLO_MAX_RANK] = {{0}};
  int32_t order[RLO_MAX_RANK];
  bool is_empty = false;
  for (int32_t k = 0; k < shape->rank; ++k) {
    walk_dim dim = {base != NULL ? base[k] : 0,
                    count != NULL ? count[k] : shape->dims[k],
                    step != NULL ? step[k] : 1};
    RLO_TRY(make_dim(shape, k, dim, &dims[k]));
    is_empty = is_empty || dims[k].visits == 0;
  }
  rlo__layout_physical_order(&shape->layout, shape->rank, order);
  return is_empty ? RLO_OK : walk(shape->rank, dims, order, visit, payload);
}
