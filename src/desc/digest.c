/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/digest.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"

/* ------------------------------------------------------------------- mixing */

#define PLACE_STEP  UINT64_C(0xd1342543de82ef95)
#define PLACE_BEGIN UINT64_C(0x9e3779b97f4a7c15)

/* A permutation of the pairs (x, b): no two of them are mixed to one. */
static inline rlo_digest mix(uint64_t x, uint64_t b) {
  uint64_t a = x ^ b;
  a = (a ^ a >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
  a = (a ^ a >> 29) * UINT64_C(0x94d049bb133111eb);
  a ^= a >> 32;
  uint64_t c = (b + a) * UINT64_C(0xff51afd7ed558ccd);
  c = (c ^ c >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
  c ^= c >> 29;
  return (rlo_digest){.high = a ^ c, .low = c};
}

static inline void add(rlo_digest *sum, rlo_digest other) {
  sum->low += other.low;
  sum->high += other.high + (uint64_t)(sum->low < other.low);
}

/* ----------------------------------------------------------------- elements */

/* The slots that are walked at a time. They fit into the caches, so that their
 * order is free: the innermost loop is along the axis with most of them. */
enum { WINDOW_SLOTS = 8192 };

/* A physical dimension, with a stride that is not negative. */
typedef struct axis {
  int64_t extent, stride;
  /* Of the element's number. */
  uint64_t step;
  /* How far the axes after it reach. */
  int64_t span;
} axis;

/* The walk over a part of an array. */
typedef struct walk {
  const uint8_t *bytes;
  int64_t first_slot;
  int64_t bits;
  int32_t value_bits;
  bool is_pred;
  rlo_digest sum;
  /* The window. */
  int64_t begin, end;
  int32_t count;
  axis axes[RLO_ADDRESS_MAP_MAX_LEAVES + 1];
  /* Some slots may hold no element. */
  bool is_padded;
  rlo_address_map map;
} walk;

/* Elements of equal distance in memory and in logical order. */
typedef struct run {
  int64_t slot, stride, count;
  uint64_t index, step;
} run;

static inline void add_word(walk *w, uint64_t x, uint64_t place) {
  add(&w->sum, mix(x, place * PLACE_STEP + PLACE_BEGIN));
}

/* The hot loop, compiled for each width: the word of an element is the lowest bits,
 * by a mask, of its first bytes. */
static inline void add_words(walk *w, run r, size_t width) {
  const uint64_t mask = UINT64_MAX >> (64 - w->value_bits);
  const uint8_t *bytes = w->bytes + (r.slot - w->first_slot) * (w->bits / 8);
  rlo_digest sum = RLO_DIGEST_INIT;
  uint64_t b = r.index * PLACE_STEP + PLACE_BEGIN;
  for (int64_t n = 0; n < r.count; ++n) {
    uint64_t x = 0;
    memcpy(&x, bytes, width);
    add(&sum, mix(x & mask, b));
    bytes += r.stride * (w->bits / 8);
    b += r.step * PLACE_STEP;
  }
  add(&w->sum, sum);
}

/* Reads at most 64 bits that begin at any bit. */
static uint64_t bits_at(const uint8_t *bytes, int64_t bit, int64_t count) {
  uint64_t x = bytes[bit / 8] >> bit % 8;
  for (int64_t at = 8 - bit % 8; at < count; at += 8) {
    x |= (uint64_t)bytes[(bit + at) / 8] << at;
  }
  return count < 64 ? x & ((UINT64_C(1) << count) - 1) : x;
}

/* Adds elements that are no whole bytes, and such as are rare. */
static void add_bits(walk *w, run r) {
  const int64_t bits = w->is_pred ? w->bits : w->value_bits;
  for (int64_t n = 0; n < r.count; ++n) {
    const int64_t bit = (r.slot + n * r.stride - w->first_slot) * w->bits;
    const uint64_t low = bits_at(w->bytes, bit, rlo__min(bits, 64));
    const uint64_t high = bits > 64 ? bits_at(w->bytes, bit + 64, bits - 64) : 0;
    const uint64_t index = r.index + (uint64_t)n * r.step;
    if (w->value_bits <= 64) {
      add_word(w, w->is_pred ? (low | high) != 0 : low, index);
    } else {
      add_word(w, low, 2 * index);
      add_word(w, high, 2 * index + 1);
    }
  }
}

static void add_run(walk *w, run r) {
  if (w->bits % 8 != 0 || w->is_pred || w->value_bits > 64) {
    add_bits(w, r);
  } else if (w->value_bits <= 8) {
    add_words(w, r, 1);
  } else if (w->value_bits == 16) {
    add_words(w, r, 2);
  } else if (w->value_bits == 32) {
    add_words(w, r, 4);
  } else {
    add_words(w, r, 8);
  }
}

/* --------------------------------------------------------------------- walk */

/* Returns the number of the element at an index. */
static uint64_t number_of(const rlo_shape *shape, const int64_t *index) {
  uint64_t number = 0;
  for (int32_t k = 0; k < shape->rank; ++k) {
    number = number * (uint64_t)shape->dims[k] + (uint64_t)index[k];
  }
  return number;
}

static bool is_element(const walk *w, int64_t slot) {
  int64_t index[RLO_MAX_RANK];
  return !w->is_padded || rlo__address_index(&w->map, slot, index);
}

/* Returns the end of the positions along an axis, from a slot on, that have elements.
 * Behind one that has none there are no others, and mostly all have. */
static int64_t find_end(const walk *w, const axis *a, int64_t slot, int64_t first, int64_t end) {
  if (first >= end || is_element(w, slot + (end - 1) * a->stride)) {
    return end;
  }
  while (first < end) {
    const int64_t middle = first + (end - first) / 2;
    if (is_element(w, slot + middle * a->stride)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return end;
}

/* Adds the elements of the window that axis k and those after it reach from a slot. */
static void visit(walk *w, int32_t k, int64_t slot, uint64_t index) {
  const axis *a = &w->axes[k];
  int64_t first = 0;
  int64_t end = a->extent;
  if (a->stride > 0) {
    first = rlo__max(0, rlo__ceil_div(w->begin - a->span - slot, a->stride));
    end = rlo__min(end, rlo__ceil_div(w->end - slot, a->stride));
  } else if (slot + a->span < w->begin || slot >= w->end) {
    return;
  }
  end = find_end(w, a, slot, first, end);
  if (k + 1 == w->count) {
    add_run(w, (run){slot + first * a->stride, a->stride, end - first,
                     index + (uint64_t)first * a->step, a->step});
    return;
  }
  for (int64_t n = first; n < end; ++n) {
    visit(w, k + 1, slot + n * a->stride, index + (uint64_t)n * a->step);
  }
}

/* Makes the axis of a leaf. Where its position 1 holds no element, only 0 does. */
static axis make_axis(const walk *w, const rlo_shape *shape, int32_t leaf) {
  const int64_t stride = w->map.leaves[leaf].stride;
  int64_t index[RLO_MAX_RANK] = {0};
  axis a = {w->map.leaves[leaf].extent, rlo__abs(stride), 0, 0};
  if (!w->map.is_dense) {
    index[leaf] = 1;
  } else if (a.extent == 1 || !rlo__address_index(&w->map, stride, index)) {
    a.extent = 1;
  }
  a.step = number_of(shape, index);
  return a;
}

/* Makes the axes, with the longest runs last. A reversed dimension begins with its
 * last element. */
static void make_axes(walk *w, const rlo_shape *shape, int64_t *slot, uint64_t *index) {
  int64_t longest = 0;
  w->axes[w->count++] = (axis){1, 1, 0, 0};
  for (int32_t p = 0; p < w->map.num_leaves; ++p) {
    axis a = make_axis(w, shape, p);
    if (w->map.leaves[p].stride < 0) {
      *slot -= (a.extent - 1) * a.stride;
      *index += (uint64_t)(a.extent - 1) * a.step;
      a.step = 0 - a.step;
    }
    const int64_t length = rlo__min(a.extent, WINDOW_SLOTS / rlo__max(1, a.stride));
    w->axes[w->count] = length >= longest ? a : w->axes[w->count - 1];
    w->axes[w->count - 1] = length >= longest ? w->axes[w->count - 1] : a;
    longest = rlo__max(longest, length);
    ++w->count;
  }
  for (int32_t k = w->count - 1; k > 0; --k) {
    const axis *a = &w->axes[k];
    w->axes[k - 1].span = a->span + (a->extent - 1) * a->stride;
  }
}

/* Adds slot by slot: where dimensions are combined, no leaf has a step of its own. */
static void add_by_slots(walk *w, const rlo_shape *shape, int64_t end) {
  for (int64_t slot = w->first_slot; slot < end; ++slot) {
    int64_t index[RLO_MAX_RANK];
    if (rlo__address_index(&w->map, slot, index)) {
      add_run(w, (run){slot, 1, 1, number_of(shape, index), 0});
    }
  }
}

static bool combines(const rlo_address_map *map) {
  bool found = false;
  for (int32_t s = 0; s < map->num_steps; ++s) {
    found |= map->steps[s].kind == RLO_STEP_COMBINE;
  }
  return found;
}

static void add_slots(walk *w, const rlo_shape *shape, int64_t end) {
  int64_t slot = w->map.offset;
  uint64_t index = 0;
  if (combines(&w->map)) {
    add_by_slots(w, shape, end);
    return;
  }
  make_axes(w, shape, &slot, &index);
  for (w->begin = w->first_slot; w->begin < end; w->begin = w->end) {
    w->end = rlo__min(end, w->begin + WINDOW_SLOTS);
    visit(w, 0, slot, index);
  }
}

/* ------------------------------------------------------------------- public */

rlo_status rlo_digest_add(const rlo_shape *shape, int64_t offset_bytes, const void *bytes,
                          int64_t num_bytes, rlo_digest *sum) {
  RLO_REQUIRE(shape, sum);
  RLO_REQUIRE_LIST(bytes, num_bytes);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  const int64_t bits = extent.element_bits;
  const int64_t left = extent.physical_bytes - rlo__max(0, offset_bytes);
  if (offset_bytes < 0 || num_bytes < 0 || offset_bytes % bits != 0 ||
      (num_bytes != left && (num_bytes > left || num_bytes % bits != 0))) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "%lld bytes from byte %lld are no part of the array's %lld: one begins, and "
                    "ends unless the array does, at a multiple of %lld bytes",
                    (long long)num_bytes, (long long)offset_bytes, (long long)extent.physical_bytes,
                    (long long)bits);
  }
  walk w = {.bytes = bytes,
            .first_slot = offset_bytes / bits * 8,
            .bits = bits,
            .value_bits = rlo_dtype_value_bits(shape->dtype),
            .is_pred = shape->dtype == RLO_DTYPE_PRED};
  const int64_t end = rlo__ceil_div(offset_bytes + num_bytes, bits) * 8;
  RLO_TRY(rlo__address_make(shape, &w.map));
  w.is_padded = w.map.is_dense && extent.slots > extent.elements;
  if (extent.elements > 0) {
    add_slots(&w, shape, rlo__min(end, extent.slots));
  }
  add(sum, w.sum);
  return RLO_OK;
}

void rlo_digest_join(rlo_digest *sum, const rlo_digest *other) {
  if (sum != NULL && other != NULL) {
    add(sum, *other);
  }
}

rlo_status rlo_digest_finish(const rlo_shape *shape, const rlo_digest *sum,
                             rlo_digest *out_digest) {
  RLO_REQUIRE(shape, sum, out_digest);
  RLO_TRY(rlo_shape_validate(shape));
  rlo_digest d = *sum;
  d = mix(d.low ^ (uint64_t)shape->dtype, d.high);
  d = mix(d.low ^ (uint64_t)shape->rank, d.high);
  for (int32_t k = 0; k < shape->rank; ++k) {
    d = mix(d.low ^ (uint64_t)shape->dims[k], d.high);
  }
  *out_digest = d;
  return RLO_OK;
}
