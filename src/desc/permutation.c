/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/permutation.h"

#include "base/status.h"

/* Returns the first entry that is out of range (*out_twin is -1) or repeats the
 * entry *out_twin; `size` if there is none. The search is quadratic, but needs
 * no memory; ranks are at most 32. */
static int32_t find_fault(const int32_t *p, int32_t size, int32_t *out_twin) {
  for (int32_t i = 0; i < size; ++i) {
    *out_twin = i - 1;
    while (*out_twin >= 0 && p[*out_twin] != p[i]) {
      --*out_twin;
    }
    if (p[i] < 0 || p[i] >= size || *out_twin >= 0) {
      return i;
    }
  }
  return size;
}

bool rlo_permutation_is_valid(const int32_t *p, int32_t size) {
  int32_t twin;
  return size >= 0 && (size == 0 || p != NULL) && find_fault(p, size, &twin) == size;
}

rlo_status rlo_permutation_validate(const int32_t *p, int32_t size) {
  RLO_REQUIRE_LIST(p, size);
  RLO_FAIL_IF(size < 0, RLO_INVALID_ARGUMENT, "a permutation cannot have %d entries", size);
  int32_t twin = -1;
  const int32_t i = find_fault(p, size, &twin);
  if (i == size) {
    return RLO_OK;
  }
  return twin < 0 ? RLO_FAIL(RLO_INVALID_ARGUMENT, "permutation[%d]=%d is out of range for rank %d",
                             i, p[i], size)
                  : RLO_FAIL(RLO_INVALID_ARGUMENT, "permutation[%d]=%d repeats permutation[%d]", i,
                             p[i], twin);
}

/* Tells if two entries name one dimension, each from the beginning or the end.
 */
static bool is_same_entry(int32_t a, int32_t b, int32_t size) {
  return (a < 0 ? a + size : a) == (b < 0 ? b + size : b);
}

rlo_status rlo_permutation_normalize(const int32_t *p, int32_t size, int32_t *out) {
  if (size < 0 || (size > 0 && p == NULL)) {
    return rlo_permutation_validate(p, size);
  }
  RLO_FAIL_IF(size > 0 && out == NULL, RLO_INVALID_ARGUMENT, "'out' is NULL");
  for (int32_t i = 0; i < size; ++i) {
    RLO_FAIL_IF(p[i] < -size || p[i] >= size, RLO_INVALID_ARGUMENT,
                "permutation[%d]=%d is out of range for rank %d; %d to %d are possible", i, p[i],
                size, -size, size - 1);
    for (int32_t j = 0; j < i; ++j) {
      RLO_FAIL_IF(
          is_same_entry(p[i], p[j], size), RLO_INVALID_ARGUMENT,
          "permutation[%d]=%d and permutation[%d]=%d are one and the same dimension of rank %d", j,
          p[j], i, p[i], size);
    }
    out[i] = p[i] < 0 ? p[i] + size : p[i];
  }
  return RLO_OK;
}

bool rlo_permutation_is_identity(const int32_t *p, int32_t size) {
  if (p == NULL && size > 0) {
    return false;
  }
  for (int32_t i = 0; i < size; ++i) {
    if (p[i] != i) {
      return false;
    }
  }
  return true;
}

void rlo_permutation_inverse(const int32_t *p, int32_t size, int32_t *out) {
  if (size > 0 && (p == NULL || out == NULL)) {
    return;
  }
  for (int32_t i = 0; i < size; ++i) {
    out[p[i]] = i;
  }
}

void rlo_permutation_compose(const int32_t *first, const int32_t *second, int32_t size,
                             int32_t *out) {
  if (size > 0 && (first == NULL || second == NULL || out == NULL)) {
    return;
  }
  for (int32_t i = 0; i < size; ++i) {
    out[i] = first[second[i]];
  }
}

void rlo_permutation_apply(const int32_t *p, int32_t size, const int64_t *in, int64_t *out) {
  if (size > 0 && (p == NULL || in == NULL || out == NULL)) {
    return;
  }
  for (int32_t i = 0; i < size; ++i) {
    out[i] = in[p[i]];
  }
}

void rlo_permutation_apply_inverse(const int32_t *p, int32_t size, const int64_t *in,
                                   int64_t *out) {
  if (size > 0 && (p == NULL || in == NULL || out == NULL)) {
    return;
  }
  for (int32_t i = 0; i < size; ++i) {
    out[p[i]] = in[i];
  }
}

static rlo_status check_place(const char *name, int32_t place, int32_t size) {
  RLO_FAIL_IF(place < 0 || place >= size, RLO_OUT_OF_RANGE, "%s=%d is outside the %d entries", name,
              place, size);
  return RLO_OK;
}

rlo_status rlo_permutation_move_element(int32_t *entries, int32_t size, int32_t from, int32_t to) {
  RLO_REQUIRE_LIST(entries, size);
  RLO_TRY(check_place("from", from, size));
  RLO_TRY(check_place("to", to, size));
  int32_t moved = entries[from];
  int32_t step = from < to ? 1 : -1;
  for (int32_t i = from; i != to; i += step) {
    entries[i] = entries[i + step];
  }
  entries[to] = moved;
  return RLO_OK;
}
