/* SPDX-License-Identifier: Apache-2.0 */
#include "move/move.h"

#include <string.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "relayout/service.h"

#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* The host as a place. The suites of the engine, the service and exchanges have
 * the rest: they run moves in every place. */

static rlo__place *place;

static void begin(void) {
  expect_ok(rlo__place_create(NULL, NULL, false, &place));
}

static void end(void) {
  rlo__place_release(place);
}

RLO_FIXTURE(begin, end);

/* A transposition of so many rows of two bytes. */
static rlo__move *get(int64_t rows, bool is_aligned) {
  static rlo_problem problem;
  const int64_t src_dims[] = {rows, 2};
  const int64_t dst_dims[] = {2, rows};
  const int32_t permutation[] = {1, 0};
  rlo__move *move = NULL;
  rlo_shape src = test_shape_make(RLO_DTYPE_U8, src_dims, 2);
  rlo_shape dst = test_shape_make(RLO_DTYPE_U8, dst_dims, 2);
  expect_ok(rlo_relayout_lower(&src, &dst, permutation, &problem));
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  expect_ok(rlo__move_get(place, &problem, is_aligned, &move));
  return move;
}

static void expect_transposes(const rlo__move *move) {
  char text[] = "......";
  expect_ok(rlo__move_run_share(move, "a1b2c3", NULL, text, 0, 1));
  ck_assert_str_eq(text, "abc123");
}

RLO_TEST(test_move__is_kept_for_equal_problems) {
  rlo__move *first = get(3, false);
  rlo__move *again = get(3, false);
  ck_assert_ptr_eq(first, again);
  rlo__move_release(again);
  expect_transposes(first);
  rlo__move_release(first);
}

RLO_TEST(test_move__differs_by_problem_and_alignment) {
  rlo__move *moves[] = {get(3, false), get(4, false), get(3, true)};
  ck_assert_ptr_ne(moves[0], moves[1]);
  ck_assert_ptr_ne(moves[0], moves[2]);
  expect_transposes(moves[0]);
  expect_transposes(moves[2]);
  for (int n = 0; n < 3; ++n) {
    rlo__move_release(moves[n]);
  }
}

/* A place forgets the one that was used least recently, not its user. */
RLO_TEST(test_move__is_forgotten_behind_many) {
  rlo__move *first = get(3, false);
  rlo__move *second = get(4, false);
  for (int64_t rows = 5; rows < 67; ++rows) {
    rlo__move_release(get(rows, false));
    rlo__move_release(get(3, false));
  }
  rlo__move_release(get(67, false));
  rlo__move *again[] = {get(3, false), get(4, false)};
  ck_assert_ptr_eq(first, again[0]);
  ck_assert_ptr_ne(second, again[1]);
  expect_transposes(first);
  rlo__move_release(first);
  rlo__move_release(second);
  rlo__move_release(again[0]);
  rlo__move_release(again[1]);
}

RLO_TEST(test_move__runs_from_memory_to_memory) {
  const rlo_shape table = test_shape_of("u8[3,2]");
  const rlo_shape rows = test_shape_of("s32[4]");
  const int32_t indices[] = {2, 0, 0, 9};
  char text[8];
  rlo_problem_list *list = NULL;
  rlo__move *move = NULL;
  rlo__memory *sources[2] = {NULL};
  rlo__memory *dst = NULL;
  rlo_chain *chain = test_chain_of(&table);
  expect_ok(rlo_chain_gather(chain, &rows, 0, 0));
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  expect_ok(rlo__move_create(place, list, NULL, &move));
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
  expect_ok(rlo__memory_create(place, 6, &sources[0]));
  expect_ok(rlo__memory_write(sources[0], "a1b2c3", 6));
  expect_ok(rlo__memory_over_host(place, (void *)(uintptr_t)indices, sizeof indices, &sources[1]));
  expect_ok(rlo__memory_create(place, 8, &dst));
  void *const operands[] = {sources[0], sources[1]};
  expect_ok(rlo__move_run(move, operands, dst));
  expect_ok(rlo__memory_read(dst, text, 8));
  ck_assert_mem_eq(text, "c3a1a1\0\0", 8);
  expect_ok(rlo__memory_clear(dst, 5));
  expect_ok(rlo__memory_read(dst, text, 8));
  ck_assert_mem_eq(text,
                   "\0\0\0\0\0"
                   "1\0\0",
                   8);
  rlo__memory_free(dst);
  rlo__memory_free(sources[0]);
  rlo__memory_free(sources[1]);
  rlo__move_release(move);
}

RLO_TEST(test_move__large_memory_of_the_host_is_in_pages) {
  const int64_t threshold = rlo__thresholds.base_huge_page_bytes;
  const int64_t before = rlo__alloc_live_count();
  char last[2] = {1, 1};
  rlo__thresholds.base_huge_page_bytes = 4096;
  for (int64_t bytes = 4094; bytes < 4099; ++bytes) {
    rlo__memory *memory = NULL;
    expect_ok(rlo__memory_create(place, bytes, &memory));
    ck_assert_int_eq((uintptr_t)memory % 4096 == 0, bytes >= 4096);
    ck_assert_mem_eq((char *)memory->host + bytes - 2, "\0\0", 2);
    memcpy((char *)memory->host + bytes - 2, last, sizeof last);
    rlo__memory_free(memory);
    ck_assert_int_eq(rlo__alloc_live_count(), before);
  }
  rlo__thresholds.base_huge_page_bytes = threshold;
}

RLO_TEST(test_move__place_is_chosen_by_size_unless_devices_refuse) {
  static const struct {
    const char *src, *dst;
    rlo_place_choice choice;
  } cases[] = {
      {"f32[4,5]", "f32[4,5]{0,1}", RLO_PLACE_HOST_IS_SOONER},
      {"u8[8192,8192]", "u8[8192,8192]{0,1}", RLO_PLACE_HOST_IS_SOONER},
      {"u8[8193,8192]", "u8[8193,8192]{0,1}", RLO_PLACE_DEVICE},
      {"u8[1]", "u8[1]{0:L(67108865)}", RLO_PLACE_DEVICE},
      {"s4[6]", "s4[6]{0:E(4)}", RLO_PLACE_HOST_ALONE},
      {"s4[99999999]", "s4[99999999]{0:E(4)}", RLO_PLACE_HOST_ALONE},
  };

  static rlo_problem problem;
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    const rlo_shape src = test_shape_of(cases[n].src);
    const rlo_shape dst = test_shape_of(cases[n].dst);
    expect_ok(rlo_relayout_lower(&src, &dst, NULL, &problem));
    ck_assert_int_eq(rlo_place_choose(&problem), cases[n].choice);
  }
  ck_assert_int_eq(rlo_place_choose(NULL), RLO_PLACE_HOST_IS_SOONER);
}
