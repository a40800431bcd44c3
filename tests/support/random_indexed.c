/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_indexed.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/expect.h"
#include "support/random_shape.h"

static int64_t random_size(test_random *random, int64_t *room) {
  int64_t most = *room < 9 ? *room : 9;
  int64_t size = test_random_in(random, 1, most < 1 ? 1 : most);
  *room /= size;
  if (test_random_once_in(random, 60)) {
    size = 0;
  }
  return size;
}

/* An index below `count`, or now and then one that names nothing. */
static int64_t random_index(test_random *random, int64_t count, bool is_wide) {
  if (count > 0 && !test_random_once_in(random, 8)) {
    return test_random_in(random, 0, count - 1);
  }
  /* A value that a narrower comparison would take for an index. */
  int64_t far = is_wide ? INT64_C(1) << 32 : INT32_MIN;
  const int64_t none[] = {-1, count, far, INT32_MAX, INT32_MIN, count + 1};
  int64_t chosen = none[test_random_in(random, 0, 5)];
  return is_wide && test_random_once_in(random, 4) ? INT64_MIN : chosen;
}

/* A plain shape as often as one with any layout. */
static rlo_shape random_layout(test_random *random, rlo_dtype dtype, const int64_t *dims,
                               int32_t rank, uint32_t features) {
  rlo_shape shape;
  if (test_random_once_in(random, 2)) {
    return test_random_shape(random, dtype, dims, rank, features);
  }
  expect_ok(rlo_shape_make(dtype, dims, rank, &shape));
  return shape;
}

static void fill_indices(test_random *random, test_indexed *out) {
  rlo_shape_extent extent;
  expect_ok(rlo_shape_measure(&out->indices, &extent));
  out->index_bytes = extent.physical_bytes;
  out->index_memory = malloc((size_t)out->index_bytes + 1);
  ck_assert_ptr_nonnull(out->index_memory);
  bool is_wide = out->indices.dtype == RLO_DTYPE_S64;
  int64_t bytes = is_wide ? 8 : 4;
  uint8_t *at = out->index_memory;
  for (int64_t n = 0; n < out->index_bytes / bytes; ++n) {
    int64_t wide = random_index(random, out->array.dims[out->dim], is_wide);
    int32_t narrow = (int32_t)wide;
    memcpy(at + n * bytes, is_wide ? (const void *)&wide : (const void *)&narrow, (size_t)bytes);
  }
}

void test_random_indexed(test_random *random, rlo_dtype dtype, int64_t max_elements, bool is_sum,
                         test_indexed *out) {
  memset(out, 0, sizeof *out);
  int32_t rank = (int32_t)test_random_in(random, 1, 6);
  int32_t index_rank = (int32_t)test_random_in(random, 0, 3);
  int64_t dims[RLO_MAX_RANK];
  int64_t index_dims[RLO_MAX_RANK];
  int64_t room = max_elements;
  out->dim = (int32_t)test_random_in(random, 0, rank - 1);
  int32_t most = out->dim < index_rank ? out->dim : index_rank;
  out->batch_dims = (int32_t)test_random_in(random, 0, most);
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = random_size(random, &room);
  }
  for (int32_t k = 0; k < index_rank; ++k) {
    index_dims[k] = k < out->batch_dims ? dims[k] : random_size(random, &room);
  }
  rlo_dtype index_dtype = test_random_once_in(random, 2) ? RLO_DTYPE_S32 : RLO_DTYPE_S64;
  uint32_t any = TEST_ALL | TEST_BROADCAST;
  out->array = random_layout(random, dtype, dims, rank, is_sum ? TEST_ALL : any);
  out->indices = random_layout(random, index_dtype, index_dims, index_rank, any);
  rlo_shape plain;
  rlo_chain *chain = NULL;
  expect_ok(rlo_chain_create(&out->array, &chain));
  expect_ok(rlo_chain_gather(chain, &out->indices, out->dim, out->batch_dims));
  plain = *rlo_chain_shape(chain);
  rlo_chain_release(chain);
  out->rows = random_layout(random, dtype, plain.dims, plain.rank, is_sum ? any : TEST_ALL);
  fill_indices(random, out);
  char texts[3][300];
  rlo_shape_format(&out->array, texts[0], sizeof texts[0]);
  rlo_shape_format(&out->indices, texts[1], sizeof texts[1]);
  rlo_shape_format(&out->rows, texts[2], sizeof texts[2]);
  snprintf(out->words, sizeof out->words, "array %s, indices %s, rows %s, dim %d, batch_dims %d",
           texts[0], texts[1], texts[2], (int)out->dim, (int)out->batch_dims);
}
