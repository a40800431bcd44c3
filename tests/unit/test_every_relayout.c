/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every relayout of a kind, held against loops over coordinates, byte by byte:
 * on the reference and by the mover of the host. Each case in elements of 1, 2,
 * 4, 8 and 16 bytes; one of several, drawn, unless RELAYOUT_TEST_ALL is set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/mover.h"
#include "relayout/chain.h"
#include "relayout/dtype.h"
#include "relayout/ops.h"
#include "relayout/shape.h"
#include "support/expect.h"
#include "support/permutation.h"
#include "support/random.h"
#include "support/suite.h"

enum {
  MOST_RANK = 8,
  /** (3 + 2)^4 slots of 16 bytes. */
  MOST_BYTES = 625 * 16,
  MOST_PROBLEMS = 4,
  GUARD_BYTES = 32,
  SOME_CASES = 397
};

static const rlo_dtype dtypes[] = {RLO_DTYPE_U8, RLO_DTYPE_U16, RLO_DTYPE_U32, RLO_DTYPE_U64,
                                   RLO_DTYPE_C128};

typedef struct every_case {
  int32_t rank;
  int64_t dims[MOST_RANK];
  /** Destination dimension k is source dimension permutation[k]. */
  int32_t permutation[MOST_RANK];
  /** The source's dimensions, and the destination's, from the most major. */
  int32_t src_order[MOST_RANK], dst_order[MOST_RANK];
  /** The padding of the destination's dimensions. */
  int64_t low[MOST_RANK], high[MOST_RANK];
  bool is_padded;
} every_case;

/** The bounds of a set of cases. */
typedef struct space {
  const char *name;
  int32_t most_rank;
  int64_t least_dim, most_dim;
  /** Dimension k of one shape, in place of all dimensions in a range. */
  const int64_t *shape;
  bool has_layouts, has_padding;
  int64_t count;
} space;

static const int64_t shape_of_8[] = {2, 3, 2, 1, 2, 3, 1, 2};

static const space spaces[] = {
    {"ranks 0 to 4, all layouts", 4, 1, 3, NULL, true, false, 47668},
    {"ranks 0 to 8 of one shape", 8, 0, 0, shape_of_8, false, false, 46234},
    {"ranks 0 to 5", 5, 0, 3, NULL, false, false, 129445},
    {"ranks 0 to 4, padded", 4, 1, 3, NULL, false, true, 508333},
};

RLO_TIMEOUT(1200);

/* ---------------------------------------------------------------- one case */

/** The slot of an index among dimensions of an order, the first one major. */
static int64_t slot_of(int32_t rank, const int64_t *dims, const int32_t *order,
                       const int64_t *index) {
  int64_t slot = 0;
  for (int32_t k = 0; k < rank; ++k) {
    slot = slot * dims[order[k]] + index[order[k]];
  }
  return slot;
}

static bool next_index(int32_t rank, const int64_t *dims, int64_t *index) {
  for (int32_t k = rank - 1; k >= 0; --k) {
    if (++index[k] < dims[k]) {
      return true;
    }
    index[k] = 0;
  }
  return false;
}

static void dst_dims_of(const every_case *c, int64_t *out_dims) {
  for (int32_t k = 0; k < c->rank; ++k) {
    out_dims[k] = c->low[k] + c->dims[c->permutation[k]] + c->high[k];
  }
}

/** Writes the expected destination; returns its size in bytes. */
static int64_t expect_bytes(const every_case *c, int64_t element_bytes, const uint8_t *src,
                            const uint8_t *fill, uint8_t *dst) {
  int64_t dims[MOST_RANK];
  int64_t index[MOST_RANK] = {0};
  int64_t count = 1;
  dst_dims_of(c, dims);
  for (int32_t k = 0; k < c->rank; ++k) {
    count *= dims[k];
  }
  do {
    int64_t from[MOST_RANK];
    bool is_element = count > 0;
    for (int32_t k = 0; k < c->rank; ++k) {
      from[c->permutation[k]] = index[k] - c->low[k];
      is_element =
          is_element && index[k] >= c->low[k] && index[k] - c->low[k] < c->dims[c->permutation[k]];
    }
    const uint8_t *element =
        is_element ? src + slot_of(c->rank, c->dims, c->src_order, from) * element_bytes : fill;
    if (count > 0) {
      memcpy(dst + slot_of(c->rank, dims, c->dst_order, index) * element_bytes, element,
             (size_t)element_bytes);
    }
  } while (next_index(c->rank, dims, index));
  return count * element_bytes;
}

static rlo_shape shape_of_case(rlo_dtype dtype, int32_t rank, const int64_t *dims,
                               const int32_t *order) {
  rlo_shape shape;
  expect_ok(rlo_shape_make(dtype, dims, rank, &shape));
  for (int32_t k = 0; k < rank; ++k) {
    shape.layout.minor_to_major[rank - 1 - k] = order[k];
  }
  return shape;
}

/** The problems of a case, which write one destination. */
typedef struct problem_set {
  rlo_problem problems[MOST_PROBLEMS];
  int32_t count;
} problem_set;

static rlo_status lower_chain(const every_case *c, const rlo_shape *src, const rlo_shape *dst,
                              const uint8_t *fill, rlo_problem_list **out_list) {
  rlo_chain *chain = NULL;
  *out_list = NULL;
  rlo_status status = rlo_chain_create(src, &chain);
  THEN(rlo_chain_transpose(chain, c->permutation));
  THEN(rlo_chain_pad(chain, c->low, c->high, NULL, fill));
  THEN(rlo_chain_lower(chain, dst, out_list));
  rlo_chain_release(chain);
  return status;
}

static rlo_status lower(const every_case *c, const rlo_shape *src, const rlo_shape *dst,
                        const uint8_t *fill, problem_set *out_set) {
  if (!c->is_padded) {
    out_set->count = 1;
    return rlo_relayout_lower(src, dst, c->permutation, &out_set->problems[0]);
  }
  rlo_problem_list *list = NULL;
  rlo_status status = lower_chain(c, src, dst, fill, &list);
  out_set->count = rlo_problem_list_count(list);
  ck_assert_int_le(out_set->count, MOST_PROBLEMS);
  for (int32_t n = 0; n < out_set->count; ++n) {
    out_set->problems[n] = *rlo_problem_list_get(list, n);
  }
  rlo_problem_list_release(list);
  return status;
}

typedef rlo_status (*run_fn)(const rlo_problem *problem, const uint8_t *src, uint8_t *dst);

static rlo_status run_reference(const rlo_problem *problem, const uint8_t *src, uint8_t *dst) {
  return rlo_problem_run_host(problem, src, dst);
}

static rlo_status run_mover(const rlo_problem *problem, const uint8_t *src, uint8_t *dst) {
  rlo__host_mover *mover = NULL;
  rlo_status status = rlo__host_mover_create(problem, &mover);
  THEN(rlo__host_mover_run(mover, src, NULL, dst, 1));
  rlo__host_mover_release(mover);
  return status;
}

static void print_numbers(const char *name, int32_t rank, const int64_t *all) {
  printf(" %s", name);
  for (int32_t k = 0; k < rank; ++k) {
    printf("%c%d", k == 0 ? ' ' : ',', (int)all[k]);
  }
}

static void print_order(const char *name, int32_t rank, const int32_t *all) {
  int64_t numbers[MOST_RANK];
  for (int32_t k = 0; k < rank; ++k) {
    numbers[k] = all[k];
  }
  print_numbers(name, rank, numbers);
}

static void expect_same(const every_case *c, int64_t element_bytes, const char *who,
                        rlo_status status, const uint8_t *got, const uint8_t *expected,
                        size_t bytes) {
  if (status == RLO_OK && memcmp(got, expected, bytes) == 0) {
    return;
  }
  print_numbers("dims", c->rank, c->dims);
  print_order("permutation", c->rank, c->permutation);
  print_order("source's order", c->rank, c->src_order);
  print_order("destination's order", c->rank, c->dst_order);
  print_numbers("low", c->rank, c->low);
  print_numbers("high", c->rank, c->high);
  printf("\n");
  ck_abort_msg("%s, elements of %d bytes: %s", who, (int)element_bytes,
               status == RLO_OK ? "wrong bytes" : rlo_error_last()->message);
}

static void try_width(const every_case *c, rlo_dtype dtype) {
  static const struct {
    const char *name;
    run_fn run;
  } runners[] = {{"the reference", run_reference}, {"the mover", run_mover}};

  static uint8_t src[MOST_BYTES];
  static uint8_t expected[MOST_BYTES + 2 * GUARD_BYTES];
  static uint8_t got[MOST_BYTES + 2 * GUARD_BYTES];
  uint8_t fill[16];
  int64_t dims[MOST_RANK];
  const int64_t element_bytes = rlo_dtype_storage_bits(dtype) / 8;
  dst_dims_of(c, dims);
  rlo_shape from = shape_of_case(dtype, c->rank, c->dims, c->src_order);
  rlo_shape to = shape_of_case(dtype, c->rank, dims, c->dst_order);
  memset(fill, 0xfb, sizeof fill);
  /* No more than 243 elements, so that even bytes are unique. */
  for (int64_t k = 0; k < MOST_BYTES; ++k) {
    src[k] = (uint8_t)(k / element_bytes + 31 * (k % element_bytes));
  }
  memset(expected, 0xcd, sizeof expected);
  const int64_t bytes = expect_bytes(c, element_bytes, src, fill, expected + GUARD_BYTES);
  const size_t all = (size_t)bytes + 2 * GUARD_BYTES;
  static problem_set set;
  rlo_status status = lower(c, &from, &to, fill, &set);
  expect_same(c, element_bytes, "lowering", status, got, got, 0);
  for (size_t r = 0; r < sizeof runners / sizeof runners[0]; ++r) {
    memset(got, 0xcd, all);
    for (int32_t n = 0; n < set.count; ++n) {
      status = runners[r].run(&set.problems[n], src, got + GUARD_BYTES);
      expect_same(c, element_bytes, runners[r].name, status, got, got, 0);
    }
    expect_same(c, element_bytes, runners[r].name, status, got, expected, all);
  }
}

/* -------------------------------------------------------------- all of them */

typedef struct walk {
  const space *space;
  int64_t step, next, count, tried;
} walk;

static void visit(walk *w, const every_case *c) {
  if (w->count++ == w->next) {
    w->next += w->step;
    ++w->tried;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; ++d) {
      try_width(c, dtypes[d]);
    }
  }
}

static void visit_padding(walk *w, every_case *c) {
  for (int32_t bits = 0; bits < 1 << 2 * c->rank; ++bits) {
    for (int32_t k = 0; k < c->rank; ++k) {
      c->low[k] = bits >> 2 * k & 1;
      c->high[k] = bits >> (2 * k + 1) & 1;
    }
    visit(w, c);
  }
}

/** All orders of both sides, or all permutations. */
static void visit_orders(walk *w, every_case *c) {
  test_first_permutation(c->rank, c->permutation);
  test_first_permutation(c->rank, c->src_order);
  test_first_permutation(c->rank, c->dst_order);
  if (w->space->has_layouts) {
    do {
      test_first_permutation(c->rank, c->dst_order);
      do {
        visit(w, c);
      } while (test_next_permutation(c->rank, c->dst_order));
    } while (test_next_permutation(c->rank, c->src_order));
    return;
  }
  do {
    if (w->space->has_padding) {
      visit_padding(w, c);
    } else {
      visit(w, c);
    }
  } while (test_next_permutation(c->rank, c->permutation));
}

static void visit_rank(walk *w, int32_t rank) {
  const space *s = w->space;
  every_case c = {.rank = rank, .is_padded = s->has_padding};
  int64_t turn[MOST_RANK] = {0};
  int64_t turns[MOST_RANK];
  for (int32_t k = 0; k < rank; ++k) {
    turns[k] = s->shape != NULL ? 1 : s->most_dim - s->least_dim + 1;
  }
  do {
    for (int32_t k = 0; k < rank; ++k) {
      c.dims[k] = s->shape != NULL ? s->shape[k] : s->least_dim + turn[k];
    }
    visit_orders(w, &c);
  } while (next_index(rank, turns, turn));
}

RLO_TABLE_TEST(test_every_relayout__is_exact, spaces) {
  test_random random = test_random_begin("test_every_relayout");
  walk w = {.space = &spaces[_i], .step = getenv("RELAYOUT_TEST_ALL") != NULL ? 1 : SOME_CASES};
  w.next = test_random_in(&random, 0, w.step - 1);
  for (int32_t rank = 0; rank <= w.space->most_rank; ++rank) {
    visit_rank(&w, rank);
  }
  printf("%s: %lld of %lld cases, each in 5 widths\n", w.space->name, (long long)w.tried,
         (long long)w.count);
  ck_assert_int_eq(w.count, w.space->count);
}
