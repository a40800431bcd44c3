/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_COPY_OPS_H
#define RLO_ENGINE_COPY_OPS_H

#include "engine/copy/copy_op.h"

/*
 * The built-in copy operations. Each is defined, with the attributes that it
 * takes, in the file under whose name it stands, and is a line of the table in
 * copy_table.c.
 */

/* copy_order.c */
extern const rlo__copy_op rlo__op_identity;
extern const rlo__copy_op rlo__op_relayout;
extern const rlo__copy_op rlo__op_transpose;
extern const rlo__copy_op rlo__op_reshape;
extern const rlo__copy_op rlo__op_expand_dims;
extern const rlo__copy_op rlo__op_reverse;
extern const rlo__copy_op rlo__op_broadcast_to;
extern const rlo__copy_op rlo__op_tile;
extern const rlo__copy_op rlo__op_repeat;
/* copy_blocks.c */
extern const rlo__copy_op rlo__op_space_to_batch;
extern const rlo__copy_op rlo__op_batch_to_space;
extern const rlo__copy_op rlo__op_space_to_depth;
extern const rlo__copy_op rlo__op_depth_to_space;
/* copy_roll.c */
extern const rlo__copy_op rlo__op_roll;
/* copy_cut.c */
extern const rlo__copy_op rlo__op_slice;
extern const rlo__copy_op rlo__op_strided_slice;
/* copy_pad.c */
extern const rlo__copy_op rlo__op_pad;
extern const rlo__copy_op rlo__op_mirror_pad;
/* copy_join.c */
extern const rlo__copy_op rlo__op_concat;
extern const rlo__copy_op rlo__op_concat_v2;
extern const rlo__copy_op rlo__op_split;
extern const rlo__copy_op rlo__op_pack;
extern const rlo__copy_op rlo__op_unpack;
/* copy_compute.c */
extern const rlo__copy_op rlo__op_cast;
extern const rlo__copy_op rlo__op_sum;
extern const rlo__copy_op rlo__op_add_n;
extern const rlo__copy_op rlo__op_rescale;
/* copy_indexed.c */
extern const rlo__copy_op rlo__op_gather;
extern const rlo__copy_op rlo__op_segment_sum;
/* copy_table.c */

/** All of the above. MoveAdjoint is not among them (adjoint.h). */
const rlo__copy_op *const *rlo__copy_ops(int32_t *out_count);

/** The operation of this name; NULL if there is none. */
const rlo__copy_op *rlo__copy_op_find(const char *name);

#endif
