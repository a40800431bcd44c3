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

/* -------------------------------------------------------------------- words */

#define INLINE static inline __attribute__((always_inline))

/* The words that are mixed at a time, in vectors where the processor has wide ones. */
enum { BLOCK = 16, NUM_BLOCKS = 8 };

/* Sums, one for each place in a block: of the upper halves of mixed words, and of either
 * half of the lower ones, which have no carry in a window. */
typedef struct lanes {
  uint64_t high[BLOCK], middle[BLOCK], low[BLOCK];
} lanes;

/* Words of equal distance in memory and in their places, by PLACE_STEP and PLACE_BEGIN:
 * the bits of some bytes that are in a mask. */
typedef struct words {
  const uint8_t *bytes;
  int64_t stride, count;
  uint64_t b, step, mask;
} words;

/* Reads a word by a type of its own, of which compilers can make vectors. */
INLINE uint64_t word_at(const uint8_t *bytes, size_t width) {
  uint16_t two;
  uint32_t four;
  uint64_t eight;
  switch (width) {
    case 1:
      return *bytes;
    case 2:
      memcpy(&two, bytes, sizeof(two));
      return two;
    case 4:
      memcpy(&four, bytes, sizeof(four));
      return four;
    default:
      memcpy(&eight, bytes, sizeof(eight));
      return eight;
  }
}

INLINE uint64_t value_at(const words *r, int n, size_t width, bool is_pred) {
  const uint64_t x = word_at(r->bytes + n * r->stride, width);
  return is_pred ? x != 0 : x & r->mask;
}

INLINE void add_mixed(lanes *sums, int n, uint64_t x, uint64_t b) {
  const rlo_digest d = mix(x, b);
  sums->high[n] += d.high;
  sums->middle[n] += d.low >> 32;
  sums->low[n] += d.low & UINT32_MAX;
}

/* The hot loops. Compilers make vectors of them since their counts are constant. */
INLINE void load_block(uint64_t *out, const words *r, size_t width, bool is_pred) {
  for (int n = 0; n < BLOCK; ++n) {
    out[n] = value_at(r, n, width, is_pred);
  }
}

INLINE void add_block(lanes *sums, const uint64_t *x, uint64_t b, uint64_t step) {
  for (int n = 0; n < BLOCK; ++n) {
    add_mixed(sums, n, x[n], b + (uint64_t)n * step);
  }
}

/* Several blocks are read before they are mixed: a vector that is read of words that
 * were just written one by one waits for them. */
INLINE void add_blocks(lanes *sums, words r, size_t width, bool is_pred) {
  uint64_t x[NUM_BLOCKS * BLOCK];
  while (r.count >= BLOCK) {
    const int64_t blocks = rlo__min(r.count / BLOCK, NUM_BLOCKS);
    for (int64_t k = 0; k < blocks; ++k) {
      load_block(x + k * BLOCK, &r, width, is_pred);
      r.bytes += BLOCK * r.stride;
    }
    for (int64_t k = 0; k < blocks; ++k) {
      add_block(sums, x + k * BLOCK, r.b, r.step);
      r.b += BLOCK * r.step;
    }
    r.count -= blocks * BLOCK;
  }
  for (int n = 0; n < r.count; ++n) {
    add_mixed(sums, n, value_at(&r, n, width, is_pred), r.b + (uint64_t)n * r.step);
  }
}

/* Mostly the words have no gaps between them. */
INLINE void add_width(lanes *sums, words r, size_t width, bool is_pred) {
  if (r.stride == (int64_t)width) {
    r.stride = (int64_t)width;
    add_blocks(sums, r, width, is_pred);
  } else {
    add_blocks(sums, r, width, is_pred);
  }
}

INLINE void add_words(lanes *sums, words r, size_t width, bool is_pred) {
  if (is_pred) {
    add_width(sums, r, 1, true);
  } else if (width == 1) {
    add_width(sums, r, 1, false);
  } else if (width == 2) {
    add_width(sums, r, 2, false);
  } else if (width == 4) {
    add_width(sums, r, 4, false);
  } else {
    add_width(sums, r, 8, false);
  }
}

typedef void (*add_words_fn)(lanes *sums, words r, size_t width, bool is_pred);

static void add_words_portable(lanes *sums, words r, size_t width, bool is_pred) {
  add_words(sums, r, width, is_pred);
}

#if defined(__x86_64__)

/* Narrower vectors have no product of 64 bits, and are no faster. */
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) static void add_words_avx512(
    lanes *sums, words r, size_t width, bool is_pred) {
  add_words(sums, r, width, is_pred);
}

static add_words_fn choose_add_words(void) {
  return __builtin_cpu_supports("avx512dq") ? add_words_avx512 : add_words_portable;
}

#else

static add_words_fn choose_add_words(void) {
  return add_words_portable;
}

#endif

static void add_lanes(rlo_digest *sum, const lanes *sums) {
  for (int n = 0; n < BLOCK; ++n) {
    add(sum, (rlo_digest){sums->high[n], sums->low[n]});
    add(sum, (rlo_digest){sums->middle[n] >> 32, sums->middle[n] << 32});
  }
}

/* ----------------------------------------------------------------- elements */

/* The slots that are walked at a time. They fit into the caches, so that their
 * order is free: the innermost loop is along the axis with most of them. */
enum { WINDOW_SLOTS = 8192 };

/* A physical dimension, with a stride that is not negative. */
typedef struct axis {
  int64_t extent, stride;
  /* How far the element's number goes with each step. */
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
  add_words_fn add_words;
  rlo_digest sum;
  /* The window, and the sums in it. */
  int64_t begin, end;
  lanes sums;
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

/* Reads at most 64 bits that begin at any bit. */
static uint64_t bits_at(const uint8_t *bytes, int64_t bit, int64_t count) {
  uint64_t x = (uint64_t)bytes[bit / 8] >> bit % 8;
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

/* Adds elements of whole bytes; those of 128 bits have two words. */
static void add_bytes(walk *w, run r) {
  const int64_t bytes = w->bits / 8;
  const int32_t bits = w->value_bits;
  const uint64_t num_words = bits > 64 ? 2 : 1;
  const size_t width = bits <= 8 ? 1 : bits <= 64 ? (size_t)bits / 8 : 8;
  words one = {.bytes = w->bytes + (r.slot - w->first_slot) * bytes,
               .stride = r.stride * bytes,
               .count = r.count,
               .step = num_words * r.step * PLACE_STEP,
               .mask = UINT64_MAX >> (64 - rlo__min(bits, 64))};
  for (uint64_t k = 0; k < num_words; ++k) {
    one.b = (num_words * r.index + k) * PLACE_STEP + PLACE_BEGIN;
    w->add_words(&w->sums, one, width, w->is_pred);
    one.bytes += width;
  }
}

static void add_run(walk *w, run r) {
  if (w->bits % 8 != 0 || (w->is_pred && w->bits > 8)) {
    add_bits(w, r);
  } else {
    add_bytes(w, r);
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
  const bool is_padded = w->is_padded;
  int64_t first = 0;
  int64_t end = a->extent;
  if (a->stride > 0) {
    first = rlo__max(0, rlo__ceil_div(w->begin - a->span - slot, a->stride));
    end = rlo__min(end, rlo__ceil_div(w->end - slot, a->stride));
  } else if (slot + a->span < w->begin || slot >= w->end) {
    return;
  }
  /* If the last of all of them is an element, none is padding. */
  w->is_padded = first < end && !is_element(w, slot + (end - 1) * a->stride + a->span);
  end = find_end(w, a, slot, first, end);
  if (k + 1 == w->count) {
    add_run(w, (run){slot + first * a->stride, a->stride, end - first,
                     index + (uint64_t)first * a->step, a->step});
    end = 0;
  }
  for (int64_t n = first; n < end; ++n) {
    visit(w, k + 1, slot + n * a->stride, index + (uint64_t)n * a->step);
  }
  w->is_padded = is_padded;
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
static void add_by_slots(walk *w, const rlo_shape *shape) {
  for (int64_t slot = w->begin; slot < w->end; ++slot) {
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
  const bool has_axes = !combines(&w->map);
  if (has_axes) {
    make_axes(w, shape, &slot, &index);
  }
  for (w->begin = w->first_slot; w->begin < end; w->begin = w->end) {
    w->end = rlo__min(end, w->begin + WINDOW_SLOTS);
    w->sums = (lanes){{0}, {0}, {0}};
    if (has_axes) {
      visit(w, 0, slot, index);
    } else {
      add_by_slots(w, shape);
    }
    add_lanes(&w->sum, &w->sums);
  }
}

/* ------------------------------------------------------------------- public */

/* Finds the slot that begins with a byte; false if none does. */
static bool find_slot(int64_t byte, int64_t bits, int64_t *out_slot) {
  *out_slot = byte / bits * 8 + byte % bits * 8 / bits;
  return byte >= 0 && byte % bits * 8 % bits == 0;
}

rlo_status rlo_digest_add(const rlo_shape *shape, int64_t offset_bytes, const void *bytes,
                          int64_t num_bytes, rlo_digest *sum) {
  RLO_REQUIRE(shape, sum);
  RLO_REQUIRE_LIST(bytes, num_bytes);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  const int64_t bits = extent.element_bits;
  const int64_t left = extent.physical_bytes - rlo__max(0, offset_bytes);
  int64_t first = 0;
  int64_t count = 0;
  RLO_FAIL_IF(!find_slot(offset_bytes, bits, &first) || num_bytes > left ||
                  (!find_slot(num_bytes, bits, &count) && (num_bytes < 0 || num_bytes < left)),
              RLO_OUT_OF_RANGE,
              "%lld bytes from byte %lld are no part of the array's %lld: one begins, and ends "
              "unless the array does, between elements of %lld bits",
              (long long)num_bytes, (long long)offset_bytes, (long long)extent.physical_bytes,
              (long long)bits);
  walk w = {.bytes = bytes,
            .first_slot = first,
            .bits = bits,
            .value_bits = rlo_dtype_value_bits(shape->dtype),
            .is_pred = shape->dtype == RLO_DTYPE_PRED,
            .add_words = choose_add_words()};
  RLO_TRY(rlo__address_make(shape, &w.map));
  w.is_padded = w.map.is_dense && extent.slots > extent.elements;
  if (extent.elements > 0) {
    add_slots(&w, shape, num_bytes < left ? first + count : extent.slots);
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
