/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine_case.h"
#include "relayout/gradient.h"
#include "relayout/kernel.h"

/* Attributes that name dimensions: from the end they give the same results and
 * the same gradients. */

RLO_FIXTURE(begin_plain, end);

/* A kernel on an f32[2,3,4] that names dimension 1 both ways. */
typedef struct named_kernel {
  const char *name;
  rlo_attribute from_begin, from_end;
  /** Beside the one that names a dimension. */
  rlo_attribute other;
  /** The number of times that x is an input; ids and indices come after it. */
  int32_t num_x;
  /** Room for ids or indices: an s32[3], or an s32[3,4] with all_rows. */
  bool takes_indices, all_rows;
} named_kernel;

static const int64_t begin_perm[] = {1, 0, 2};
static const int64_t end_perm[] = {-2, 0, -1};
static const int64_t first[] = {1};
static const int64_t last[] = {-2};
static const int64_t shifts[] = {2};

#define AXIS(number) \
  { .name = "axis", .type = RLO_ATTRIBUTE_I64, .value.i64 = (number) }
#define LIST(text, numbers)                                                                  \
  {                                                                                          \
    .name = (text), .type = RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, .value.i64s = (numbers), \
    .count = (int32_t)(sizeof(numbers) / sizeof((numbers)[0]))                               \
  }
#define NUMBER(text, number) \
  { .name = (text), .type = RLO_ATTRIBUTE_I64, .value.i64 = (number) }

static const named_kernel kernels[] = {
    {"Transpose", LIST("perm", begin_perm), LIST("perm", end_perm), .num_x = 1},
    {"Reverse", LIST("dims", first), LIST("dims", last), .num_x = 1},
    {"Roll", LIST("dims", first), LIST("dims", last), .other = LIST("shifts", shifts), .num_x = 1},
    {"Sum", LIST("dims", first), LIST("dims", last), .num_x = 1},
    {"ExpandDims", AXIS(1), AXIS(-3), .num_x = 1},
    {"Concat", AXIS(1), AXIS(-2), .num_x = 2},
    {"ConcatV2", AXIS(1), AXIS(-2), .num_x = 2},
    {"Pack", AXIS(1), AXIS(-3), .num_x = 2},
    {"SplitV", AXIS(1), AXIS(-2), .other = NUMBER("num_or_size_splits", 3), .num_x = 1},
    {"Unpack", AXIS(1), AXIS(-2), .num_x = 1},
    {"GatherV2", AXIS(1), AXIS(-2), .num_x = 1, .takes_indices = true},
    {"UnsortedSegmentSum", AXIS(1), AXIS(-2), .other = NUMBER("num_segments", 5), .num_x = 1,
     .takes_indices = true},
    /* The result is f32[2,5]. */
    {"UnsortedSegmentSum", AXIS(1), AXIS(-1), .other = NUMBER("num_segments", 5), .num_x = 1,
     .takes_indices = true, .all_rows = true},
};

enum { MAX_RESULTS = 3, MAX_INPUTS = 3, MAX_FLOATS = 64 };

/* Results and gradients of a kernel: the values of one after another, each
 * behind its dimensions. */
typedef struct answer {
  int32_t count;
  float values[4 * MAX_FLOATS];
} answer;

static void put(answer *out, rlo_tensor *tensor) {
  const rlo_shape *shape = rlo_tensor_shape(tensor);
  for (int32_t k = 0; k < shape->rank; ++k) {
    out->values[out->count++] = (float)shape->dims[k];
  }
  int64_t bytes = rlo_tensor_bytes(tensor);
  ck_assert_int_le(out->count + bytes / 4, COUNT(out->values));
  expect_ok(rlo_tensor_read(tensor, out->values + out->count, bytes));
  out->count += (int32_t)(bytes / 4);
}

static answer run(const named_kernel *k, const rlo_attribute *named) {
  float data[24];
  for (int32_t i = 0; i < COUNT(data); ++i) {
    data[i] = (float)i;
  }
  const rlo_attribute items[] = {*named, k->other};
  const rlo_attributes attributes = {items, k->other.name == NULL ? 1 : 2};
  rlo_tensor *inputs[MAX_INPUTS] = {NULL};
  rlo_tensor *ys[MAX_RESULTS] = {NULL};
  rlo_tensor *dxs[MAX_INPUTS] = {NULL};
  int32_t num_inputs = 0;
  int32_t num_results = 0;
  answer out = {0};
  while (num_inputs < k->num_x) {
    inputs[num_inputs++] = tensor(DIMS(2, 3, 4), 3, data);
  }
  if (k->takes_indices) {
    const int32_t ids[12] = {2, 0, 2, 1, 4, 0, 3, 3, 0, 1, 2, 4};
    inputs[num_inputs++] = indices_of(DIMS(3, 4), k->all_rows ? 2 : 1, ids);
  }
  expect_ok(rlo_run_kernel(engine, k->name, inputs, num_inputs, &attributes, ys, MAX_RESULTS,
                           &num_results));
  expect_ok(rlo_vjp(engine, k->name, inputs, num_inputs, &attributes, ys, num_results,
                    (const bool[]){true, k->num_x > 1, false}, dxs));
  for (int32_t n = 0; n < num_results; ++n) {
    put(&out, ys[n]);
    rlo_tensor_release(ys[n]);
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    if (dxs[n] != NULL) {
      put(&out, dxs[n]);
    }
    rlo_tensor_release(dxs[n]);
    rlo_tensor_release(inputs[n]);
  }
  return out;
}

RLO_TABLE_TEST(test_engine_dimensions__kernels_count_from_both_ends, kernels) {
  const named_kernel *k = &kernels[_i];
  answer a = run(k, &k->from_begin);
  answer b = run(k, &k->from_end);
  ck_assert_msg(a.count > 0 && a.count == b.count &&
                    memcmp(a.values, b.values, (size_t)a.count * sizeof a.values[0]) == 0,
                "%s gives something else from the end", k->name);
}

/* The operations pass on what they are given. */
RLO_TEST(test_engine_dimensions__operations_count_from_both_ends) {
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *ids = indices_of(DIMS(3), 1, (const int32_t[]){1, 0, 1});
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_transpose(x, DIMS(-1, -2), &y));
  expect_array(y, DIMS(3, 2), 2, FLOATS(0, 3, 1, 4, 2, 5));
  expect_ok(rlo_op_segment_sum(x, ids, 2, -1, 0, &y));
  expect_array(y, DIMS(2, 2), 2, FLOATS(1, 2, 4, 8));
  expect_ok(rlo_op_expand_dims(x, -1, &y));
  expect_array(y, DIMS(2, 3, 1), 3, counted);
  expect_refusal(rlo_op_segment_sum(x, ids, 2, -3, 0, &y), RLO_OUT_OF_RANGE,
                 "UnsortedSegmentSum: segment_sum: dimension -3 of an array of "
                 "rank 2; -2 to 1 are possible");
  expect_refusal(rlo_op_segment_sum(x, ids, 2, INT64_MIN, 0, &y), RLO_OUT_OF_RANGE,
                 "UnsortedSegmentSum: axis: rows from dimension "
                 "-9223372036854775808 on, in an array of rank 2");
  rlo_tensor_release(x);
  rlo_tensor_release(ids);
}
