/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "desc/shape_record.h"
#include "relayout/text.h"
#include "support/random_descriptor.h"
#include "support/suite.h"

RLO_TEST(test_shape_record__reads_what_it_wrote) {
  test_random random = test_random_begin("test_shape_record");

  for (int round = 0; round < 20000; ++round) {
    int64_t record[RLO__SHAPE_RECORD_MAX];
    rlo_shape shape = test_random_descriptor(&random);
    rlo_shape back;
    memset(record, 0xa5, sizeof record);
    memset(&back, 0x5a, sizeof back);
    size_t count = rlo__shape_record(&shape, record);
    ck_assert_uint_le(count, RLO__SHAPE_RECORD_MAX);
    rlo__shape_from_record(record, &back);

    char text[512];
    rlo_shape_format(&shape, text, sizeof text);
    ck_assert_msg(rlo_shape_equal(&shape, &back), "%s", text);
  }
}

RLO_TEST(test_shape_record__keeps_the_largest_numbers) {
  /* A shape of as many numbers as possible: every entry is there. */
  rlo_shape shape;
  rlo_shape back;
  int64_t record[RLO__SHAPE_RECORD_MAX];
  memset(&shape, 0, sizeof shape);
  shape.dtype = RLO_DTYPE_F32;
  shape.rank = RLO_MAX_RANK;
  rlo_layout *layout = &shape.layout;
  layout->has_padded_dimensions = true;
  layout->fill = RLO_FILL_BITS;
  memset(layout->fill_bits, 0xff, sizeof layout->fill_bits);
  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    shape.dims[k] = k % 2 == 0 ? INT64_MIN : INT64_MAX;
    shape.is_dynamic[k] = k % 3 == 0;
    layout->minor_to_major[k] = k % 2 == 0 ? INT32_MIN : INT32_MAX;
    layout->padded_dimensions[k] = INT64_MAX - k;
    layout->split_configs[k].dimension = INT32_MAX - k;
    layout->split_configs[k].num_indices = RLO_MAX_SPLIT_INDICES;
    for (int i = 0; i < RLO_MAX_SPLIT_INDICES; ++i) {
      layout->split_configs[k].indices[i] = INT64_MIN + i;
    }
  }
  layout->num_tiles = RLO_MAX_TILES;
  for (int t = 0; t < RLO_MAX_TILES; ++t) {
    layout->tiles[t].rank = RLO_MAX_TILE_RANK;
    for (int k = 0; k < RLO_MAX_TILE_RANK; ++k) {
      layout->tiles[t].dims[k] = INT64_MIN + t + k;
    }
  }
  layout->tail_alignment_elems = INT64_MAX;
  layout->element_size_bits = INT64_MIN;
  layout->memory_space = INT64_MIN;
  layout->num_split_configs = RLO_MAX_RANK;
  layout->metadata_prefix_bytes = INT64_MAX;

  size_t count = rlo__shape_record(&shape, record);
  ck_assert_uint_le(count, RLO__SHAPE_RECORD_MAX);
  memset(&back, 0x5a, sizeof back);
  rlo__shape_from_record(record, &back);
  ck_assert(rlo_shape_equal(&shape, &back));
  /* rlo_shape_equal passes over nothing that is compared here. */
  ck_assert_int_eq(back.layout.split_configs[31].indices[7], INT64_MIN + 7);
  ck_assert_int_eq(back.layout.metadata_prefix_bytes, INT64_MAX);
}

RLO_TEST(test_shape_record__takes_few_numbers) {
  int64_t record[RLO__SHAPE_RECORD_MAX];
  int64_t dims[] = {1024, 1024};
  rlo_shape shape;

  ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape), RLO_OK);
  ck_assert_uint_le(rlo__shape_record(&shape, record), 24);
}
