/* SPDX-License-Identifier: Apache-2.0 */

/* Shapes that are too large to be walked whole: an answer is that of a walk, or
 * RLO_UNSUPPORTED. */

#include "base/threshold.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/shape_util.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

static void set_low(void) {
  rlo__thresholds.shape_period = 6;
  rlo__thresholds.shape_search_parts = 8;
  rlo__thresholds.shape_compared_points = 1;
}

enum { QUESTIONS = 2 };

typedef struct answer {
  rlo_status status;
  int64_t value;
} answer;

/** The end of the last element, and if the first dimension is the most major
 *  one. */
static void ask(const rlo_shape *shape, answer out[QUESTIONS]) {
  bool yes = false;
  out[0].status = rlo_shape_array_data_size(shape, &out[0].value);
  out[1].status = rlo_shape_is_effectively_most_major(shape, 0, &yes);
  out[1].value = yes;
}

RLO_TEST(test_shape_limits__an_answer_is_right_or_not_known) {
  enum { RUNS = 3000 };

  test_random random = test_random_begin("shape_limits");
  const rlo__threshold_values before = rlo__thresholds;
  int num_unknown[QUESTIONS] = {0};
  int num_known[QUESTIONS] = {0};
  for (int run = 0; run < RUNS; ++run) {
    int64_t dims[RLO_MAX_RANK];
    const int32_t rank = (int32_t)test_random_in(&random, 1, 3);
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 40);
    }
    const rlo_shape shape = test_random_shape(&random, RLO_DTYPE_U8, dims, rank, TEST_ALL);
    answer whole[QUESTIONS];
    answer limited[QUESTIONS];
    ask(&shape, whole);
    set_low();
    ask(&shape, limited);
    rlo__thresholds = before;
    for (int n = 0; n < QUESTIONS; ++n) {
      if (limited[n].status == RLO_UNSUPPORTED && whole[n].status == RLO_OK) {
        ++num_unknown[n];
        continue;
      }
      ++num_known[n];
      ck_assert_msg(limited[n].status == whole[n].status && limited[n].value == whole[n].value,
                    "answer %d of %s", n, test_text_of(&shape));
    }
  }
  for (int n = 0; n < QUESTIONS; ++n) {
    ck_assert_int_gt(num_unknown[n], 0);
    ck_assert_int_gt(num_known[n], 0);
  }
}

/* Two layouts that differ for one element, which the samples do not have. */
RLO_TEST(test_shape_limits__samples_prove_nothing) {
  const rlo_shape src = test_shape_of("u8[1000000]{0:T(999000)(1000006)}");
  const rlo_shape dst = test_shape_of("u8[1000000]{0:T(999001)(1000007)}");
  bool is_same = true;
  expect_ok(rlo_shape_reshape_is_bitcast(&src, &dst, RLO_BITCAST_IGNORE_PADDING, &is_same));
  ck_assert(!is_same);
  set_low();
  ck_assert_int_eq(rlo_shape_reshape_is_bitcast(&src, &dst, RLO_BITCAST_IGNORE_PADDING, &is_same),
                   RLO_UNSUPPORTED);
}
