/* SPDX-License-Identifier: Apache-2.0 */
#include "gradient_samples.h"

#include "support/expect.h"
#include "support/suite.h"

test_random rng;

int64_t draw(int64_t low, int64_t high) {
  return test_random_in(&rng, low, high);
}

static void add_list(sample *s, const char *name, const int64_t *values, int32_t count) {
  int64_t *kept = s->numbers[s->num_items];
  for (int32_t i = 0; i < count; ++i) {
    kept[i] = values[i];
  }
  s->items[s->num_items++] = rlo_attribute_i64s(name, kept, count);
}

static void add_number(sample *s, const char *name, int64_t value) {
  s->items[s->num_items++] = rlo_attribute_i64(name, value);
}

static void draw_dims(sample *s, int32_t input, int32_t least, int32_t most) {
  s->ranks[input] = (int32_t)draw(least, most);
  for (int32_t k = 0; k < s->ranks[input]; ++k) {
    s->dims[input][k] = test_random_once_in(&rng, 25) ? 0 : draw(1, 6);
  }
}

static void copy_dims(sample *s, int32_t from, int32_t to) {
  s->ranks[to] = s->ranks[from];
  for (int32_t k = 0; k < s->ranks[from]; ++k) {
    s->dims[to][k] = s->dims[from][k];
  }
}

static void draw_transpose(sample *s) {
  int32_t order[RLO_MAX_RANK];
  int64_t perm[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 4);
  test_random_permutation(&rng, s->ranks[0], order);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    perm[k] = order[k];
  }
  add_list(s, "perm", perm, s->ranks[0]);
}

static void draw_reshape(sample *s) {
  int64_t shape[] = {0, 0, 2};
  draw_dims(s, 0, 2, 3);
  s->dims[0][0] *= 2;
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    s->dims[0][k] += s->dims[0][k] == 0;
  }
  shape[0] = s->dims[0][1];
  shape[1] = -1;
  add_list(s, "shape", shape, 3);
  if (s->dims[0][0] % 2 != 0) {
    s->dims[0][0] *= 2;
  }
}

static void draw_expand_dims(sample *s) {
  draw_dims(s, 0, 0, 3);
  add_number(s, "axis", draw(-1 - s->ranks[0], s->ranks[0]));
}

static void draw_slice(sample *s) {
  int64_t begin[RLO_MAX_RANK];
  int64_t size[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 4);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    begin[k] = draw(0, s->dims[0][k]);
    size[k] = test_random_once_in(&rng, 4) ? -1 : draw(0, s->dims[0][k] - begin[k]);
  }
  add_list(s, "begin", begin, s->ranks[0]);
  add_list(s, "size", size, s->ranks[0]);
}

static void draw_strided_slice(sample *s) {
  int64_t begin[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  int64_t strides[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 4);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    begin[k] = draw(-8, 8);
    end[k] = draw(-8, 8);
    strides[k] = draw(1, 3) * (test_random_once_in(&rng, 2) ? 1 : -1);
  }
  add_list(s, "begin", begin, s->ranks[0]);
  add_list(s, "end", end, s->ranks[0]);
  add_list(s, "strides", strides, s->ranks[0]);
}

static void draw_pad(sample *s) {
  int64_t paddings[2 * RLO_MAX_RANK];
  int64_t interior[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 3);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    interior[k] = draw(0, 2);
    int64_t size = s->dims[0][k];
    int64_t spread = size + (size > 0 ? (size - 1) * interior[k] : 0);
    paddings[2 * (size_t)k] = draw(spread > 1 ? -2 : 0, 3);
    paddings[2 * (size_t)k + 1] = draw(spread > 3 ? -2 : 0, 3);
  }
  add_list(s, "paddings", paddings, 2 * s->ranks[0]);
  add_list(s, "interior", interior, s->ranks[0]);
}

static void draw_mirror_pad(sample *s) {
  int64_t paddings[2 * RLO_MAX_RANK];
  static const char *const modes[] = {"reflect", "symmetric", "edge"};
  const int64_t mode = draw(0, 2);
  draw_dims(s, 0, 1, 3);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    s->dims[0][k] += s->dims[0][k] == 0;
    for (int32_t side = 0; side < 2; ++side) {
      paddings[2 * (size_t)k + (size_t)side] = draw(0, s->dims[0][k] - (mode == 0));
    }
  }
  add_list(s, "paddings", paddings, 2 * s->ranks[0]);
  s->items[s->num_items++] = rlo_attribute_string("mode", modes[mode]);
}

static void draw_reverse(sample *s) {
  int64_t dims[RLO_MAX_RANK];
  int32_t count = 0;
  draw_dims(s, 0, 1, 4);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    if (test_random_once_in(&rng, 2)) {
      dims[count++] = k;
    }
  }
  add_list(s, "dims", dims, count);
}

/* Shifts of any sign, larger than the dimension too; dimensions may recur. */
static void draw_roll(sample *s) {
  int64_t shifts[3];
  int64_t dims[3];
  draw_dims(s, 0, 1, 3);
  int32_t count = (int32_t)draw(0, 3);
  for (int32_t i = 0; i < count; ++i) {
    shifts[i] = draw(-7, 7);
    dims[i] = draw(-s->ranks[0], s->ranks[0] - 1);
  }
  add_list(s, "shifts", shifts, count);
  add_list(s, "dims", dims, count);
}

static void draw_broadcast(sample *s) {
  int64_t shape[RLO_MAX_RANK];
  draw_dims(s, 0, 0, 3);
  int32_t more = (int32_t)draw(0, 2);
  for (int32_t k = 0; k < more + s->ranks[0]; ++k) {
    shape[k] = draw(1, 5);
    if (k >= more) {
      if (test_random_once_in(&rng, 2)) {
        s->dims[0][k - more] = 1;
      } else {
        shape[k] = s->dims[0][k - more];
      }
    }
  }
  add_list(s, "shape", shape, more + s->ranks[0]);
}

static void draw_times(sample *s, const char *name) {
  int64_t times[RLO_MAX_RANK];
  draw_dims(s, 0, 1, 3);
  for (int32_t k = 0; k < s->ranks[0]; ++k) {
    times[k] = draw(1, 4);
  }
  add_list(s, name, times, s->ranks[0]);
}

static void draw_tile(sample *s) {
  draw_times(s, "reps");
}

static void draw_repeat(sample *s) {
  draw_times(s, "repeats");
}

static void draw_concat(sample *s) {
  draw_dims(s, 0, 1, 3);
  int64_t axis = draw(0, s->ranks[0] - 1);
  s->num_inputs = (int32_t)draw(1, 3);
  for (int32_t n = 1; n < s->num_inputs; ++n) {
    copy_dims(s, 0, n);
    s->dims[n][axis] = draw(0, 4);
  }
  add_number(s, "axis", axis);
}

static void draw_pack(sample *s) {
  draw_dims(s, 0, 0, 3);
  s->num_inputs = (int32_t)draw(1, 3);
  for (int32_t n = 1; n < s->num_inputs; ++n) {
    copy_dims(s, 0, n);
  }
  add_number(s, "axis", draw(0, s->ranks[0]));
}

static void draw_split(sample *s) {
  draw_dims(s, 0, 1, 3);
  int64_t axis = draw(0, s->ranks[0] - 1);
  int64_t size = s->dims[0][axis];
  int64_t sizes[3] = {draw(0, size), 0, 0};
  sizes[1] = draw(0, size - sizes[0]);
  sizes[2] = size - sizes[0] - sizes[1];
  add_list(s, "num_or_size_splits", sizes, 3);
  add_number(s, "axis", axis);
}

static void draw_unpack(sample *s) {
  draw_dims(s, 0, 1, 3);
  int64_t axis = draw(0, s->ranks[0] - 1);
  s->dims[0][axis] = draw(1, 4);
  add_number(s, "axis", axis);
}

static void draw_to_batch(sample *s) {
  int64_t blocks[2];
  int64_t paddings[4];
  draw_dims(s, 0, 3, 4);
  for (int32_t k = 0; k < 2; ++k) {
    blocks[k] = draw(1, 3);
    paddings[2 * (size_t)k] = draw(0, 3);
    int64_t rest = (s->dims[0][k + 1] + paddings[2 * (size_t)k]) % blocks[k];
    paddings[2 * (size_t)k + 1] = (blocks[k] - rest) % blocks[k];
  }
  add_list(s, "block_shape", blocks, 2);
  add_list(s, "paddings", paddings, 4);
}

static void draw_from_batch(sample *s) {
  int64_t blocks[2];
  int64_t crops[4];
  draw_dims(s, 0, 3, 4);
  s->dims[0][0] = draw(1, 2);
  for (int32_t k = 0; k < 2; ++k) {
    blocks[k] = draw(1, 3);
    s->dims[0][0] *= blocks[k];
    int64_t size = s->dims[0][k + 1] * blocks[k];
    crops[2 * (size_t)k] = draw(0, size);
    crops[2 * (size_t)k + 1] = draw(0, size - crops[2 * (size_t)k]);
  }
  add_list(s, "block_shape", blocks, 2);
  add_list(s, "crops", crops, 4);
}

static void draw_blocks(sample *s, bool is_to_depth) {
  int64_t block = draw(2, 3);
  bool is_nchw = test_random_once_in(&rng, 2);
  s->ranks[0] = 4;
  for (int32_t k = 0; k < 4; ++k) {
    bool is_channel = k == (is_nchw ? 1 : 3);
    int64_t factor = k == 0                      ? 1
                     : is_channel == is_to_depth ? 1
                     : is_channel                ? block * block
                                                 : block;
    s->dims[0][k] = draw(1, 3) * factor;
  }
  if (!is_to_depth) {
    for (int32_t k = 1; k < 4; ++k) {
      if (k != (is_nchw ? 1 : 3)) {
        s->dims[0][k] = draw(1, 3);
      }
    }
  }
  add_number(s, "block_size", block);
  s->items[s->num_items++] = rlo_attribute_string("data_format", is_nchw ? "NCHW" : "NHWC");
}

static void draw_to_depth(sample *s) {
  draw_blocks(s, true);
}

static void draw_to_space(sample *s) {
  draw_blocks(s, false);
  s->items[s->num_items++] =
      rlo_attribute_string("mode", test_random_once_in(&rng, 2) ? "CRD" : "DCR");
}

static void draw_any(sample *s) {
  draw_dims(s, 0, 0, 4);
}

static void draw_relayout(sample *s) {
  draw_dims(s, 0, 1, 3);
  s->shape = test_random_shape(&rng, RLO_DTYPE_S32, s->dims[0], s->ranks[0], TEST_ALL);
  s->items[s->num_items++] = rlo_attribute_shape("shape", &s->shape);
}

static void draw_cast(sample *s) {
  draw_dims(s, 0, 0, 3);
  s->items[s->num_items++] = rlo_attribute_string("dtype", "s64");
}

static void draw_sum(sample *s) {
  draw_reverse(s);
  s->items[s->num_items++] = rlo_attribute_i64("keep_dims", test_random_once_in(&rng, 2));
}

static void draw_add_n(sample *s) {
  draw_dims(s, 0, 0, 3);
  s->num_inputs = (int32_t)draw(1, 3);
  for (int32_t n = 1; n < s->num_inputs; ++n) {
    copy_dims(s, 0, n);
  }
}

static void draw_scale(sample *s) {
  draw_dims(s, 0, 0, 3);
  add_number(s, "factor", draw(-5, 5));
}

/* x and indices of a gather, of which the first dimensions are the same. */
static int32_t draw_indexed(sample *s, int64_t *out_axis) {
  s->num_inputs = 2;
  s->has_indices = true;
  draw_dims(s, 0, 1, 3);
  draw_dims(s, 1, 0, 2);
  *out_axis = draw(0, s->ranks[0] - 1);
  int64_t most = *out_axis < s->ranks[1] ? *out_axis : s->ranks[1];
  int32_t batch_dims = (int32_t)draw(0, most);
  for (int32_t k = 0; k < batch_dims; ++k) {
    s->dims[1][k] = s->dims[0][k];
  }
  add_number(s, "axis", *out_axis);
  /* From the front or from the rank of the indices. */
  bool is_from_end = s->ranks[1] > batch_dims && draw(0, 1) != 0;
  add_number(s, "batch_dims", is_from_end ? batch_dims - s->ranks[1] : batch_dims);
  return batch_dims;
}

static void draw_gather(sample *s) {
  int64_t axis = 0;
  (void)draw_indexed(s, &axis);
  s->num_indexed = s->dims[0][axis];
}

/* A gather's result takes x's place. */
static void draw_segment_sum(sample *s) {
  int64_t axis = 0;
  int32_t batch_dims = draw_indexed(s, &axis);
  int64_t dims[RLO_MAX_RANK];
  int32_t rank = 0;
  s->num_indexed = s->dims[0][axis];
  for (int32_t k = 0; k < axis; ++k) {
    dims[rank++] = s->dims[0][k];
  }
  for (int32_t k = batch_dims; k < s->ranks[1]; ++k) {
    dims[rank++] = s->dims[1][k];
  }
  for (int32_t k = (int32_t)axis + 1; k < s->ranks[0]; ++k) {
    dims[rank++] = s->dims[0][k];
  }
  for (int32_t k = 0; k < rank; ++k) {
    s->dims[0][k] = dims[k];
  }
  s->ranks[0] = rank;
  add_number(s, "num_segments", s->num_indexed);
}

typedef struct kind {
  const char *kernel_name;
  void (*draw)(sample *s);
  bool is_injective;
} kind;

static const kind kinds[] = {{"Identity", draw_any, true},
                             {"Relayout", draw_relayout, true},
                             {"Transpose", draw_transpose, true},
                             {"Reshape", draw_reshape, true},
                             {"ExpandDims", draw_expand_dims, true},
                             {"Slice", draw_slice, true},
                             {"StridedSlice", draw_strided_slice, true},
                             {"PadV2", draw_pad, true},
                             {"MirrorPad", draw_mirror_pad, false},
                             {"Reverse", draw_reverse, true},
                             {"Roll", draw_roll, true},
                             {"BroadcastTo", draw_broadcast, false},
                             {"Tile", draw_tile, false},
                             {"Repeat", draw_repeat, false},
                             {"Concat", draw_concat, true},
                             {"ConcatV2", draw_concat, true},
                             {"SplitV", draw_split, true},
                             {"Pack", draw_pack, true},
                             {"Unpack", draw_unpack, true},
                             {"SpaceToBatchND", draw_to_batch, true},
                             {"BatchToSpaceND", draw_from_batch, true},
                             {"SpaceToDepth", draw_to_depth, true},
                             {"DepthToSpace", draw_to_space, true},
                             {"Cast", draw_cast, false},
                             {"Sum", draw_sum, false},
                             {"AddN", draw_add_n, false},
                             {"GatherV2", draw_gather, false},
                             {"UnsortedSegmentSum", draw_segment_sum, false},
                             {"Rescale", draw_scale, false}};

enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

void draw_sample(int64_t number, sample *out_sample) {
  const kind *k = &kinds[number % NUM_KINDS];
  *out_sample =
      (sample){.kernel_name = k->kernel_name, .num_inputs = 1, .is_injective = k->is_injective};
  k->draw(out_sample);
}
