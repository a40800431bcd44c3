/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/copy/copy_ops.h"

#include <string.h>

/* One operation a line. */
// clang-format off
static const rlo__copy_op *const table[] = {
    &rlo__op_identity,
    &rlo__op_relayout,
    &rlo__op_transpose,
    &rlo__op_reshape,
    &rlo__op_expand_dims,
    &rlo__op_slice,
    &rlo__op_strided_slice,
    &rlo__op_pad,
    &rlo__op_mirror_pad,
    &rlo__op_reverse,
    &rlo__op_roll,
    &rlo__op_broadcast_to,
    &rlo__op_tile,
    &rlo__op_repeat,
    &rlo__op_concat,
    &rlo__op_concat_v2,
    &rlo__op_split,
    &rlo__op_pack,
    &rlo__op_unpack,
    &rlo__op_space_to_batch,
    &rlo__op_batch_to_space,
    &rlo__op_space_to_depth,
    &rlo__op_depth_to_space,
    &rlo__op_cast,
    &rlo__op_sum,
    &rlo__op_add_n,
    &rlo__op_gather,
    &rlo__op_segment_sum,
    &rlo__op_rescale,
};

// clang-format on

enum { COUNT = sizeof table / sizeof table[0] };

const rlo__copy_op *const *rlo__copy_ops(int32_t *out_count) {
  *out_count = COUNT;
  return table;
}

const rlo__copy_op *rlo__copy_op_find(const char *name) {
  for (size_t i = 0; i < COUNT; ++i) {
    if (strcmp(table[i]->name, name) == 0) {
      return table[i];
    }
  }
  return NULL;
}
