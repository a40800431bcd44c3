/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_ENGINE_OPS_H
#define RELAYOUT_ENGINE_OPS_H

#include "relayout/engine.h"
#include "relayout/ops.h"

RLO_BEGIN_DECLS

/*
 * The operations of ops.h on tensors: each runs the kernel named with it by
 * rlo_run_kernel, on the engine of its first tensor, and returns its
 * status; RLO_INVALID_ARGUMENT also for a NULL tensor. Tensors are borrowed,
 * the result is the caller's. Arrays have as many entries as the tensor's rank
 * unless a count is given. A dimension may count from the end, -1 the last
 * (docs/shapes.md).
 */

/** Identity: a tensor of its own over the same bytes. */
RLO_API RLO_NODISCARD rlo_status rlo_op_identity(rlo_tensor *x, rlo_tensor **out_y);

/** Relayout: the same array in another layout.
 *  @param shape  of the same type and dimensions. */
RLO_API RLO_NODISCARD rlo_status rlo_op_relayout(rlo_tensor *x, const rlo_shape *shape,
                                                 rlo_tensor **out_y);

/** Transpose: dimension k is x's permutation[k]; NULL: reversed. */
RLO_API RLO_NODISCARD rlo_status rlo_op_transpose(rlo_tensor *x, const int64_t *permutation,
                                                  rlo_tensor **out_y);

/** Reshape: one of `dims` may be -1. Shares memory where that is a bitcast. */
RLO_API RLO_NODISCARD rlo_status rlo_op_reshape(rlo_tensor *x, const int64_t *dims, int32_t rank,
                                                rlo_tensor **out_y);

/** ExpandDims: a dimension of size 1 put in at `axis` of the result; -1: last.
 */
RLO_API RLO_NODISCARD rlo_status rlo_op_expand_dims(rlo_tensor *x, int64_t axis,
                                                    rlo_tensor **out_y);

/** Slice: from begin[k] on size[k] elements; -1: all that are left. */
RLO_API RLO_NODISCARD rlo_status rlo_op_slice(rlo_tensor *x, const int64_t *begin,
                                              const int64_t *size, rlo_tensor **out_y);

/** StridedSlice without masks: rlo_chain_slice. strides NULL: all 1. */
RLO_API RLO_NODISCARD rlo_status rlo_op_strided_slice(rlo_tensor *x, const int64_t *begin,
                                                      const int64_t *end, const int64_t *strides,
                                                      rlo_tensor **out_y);

/** PadV2: low[k] values in front of, high[k] behind, and interior[k] between
 *  the elements; negative low and high take away.
 *  @param low, high, interior  NULL: none.
 *  @param value     a scalar of x's type; NULL: all bits 0. */
RLO_API RLO_NODISCARD rlo_status rlo_op_pad(rlo_tensor *x, const int64_t *low, const int64_t *high,
                                            const int64_t *interior, rlo_tensor *value,
                                            rlo_tensor **out_y);

/** MirrorPad. low, high NULL: none. */
RLO_API RLO_NODISCARD rlo_status rlo_op_mirror_pad(rlo_tensor *x, const int64_t *low,
                                                   const int64_t *high, rlo_mirror mirror,
                                                   rlo_tensor **out_y);

/** Reverse along `count` dimensions. */
RLO_API RLO_NODISCARD rlo_status rlo_op_reverse(rlo_tensor *x, const int64_t *dims, int32_t count,
                                                rlo_tensor **out_y);

/** Roll: elements move by shifts[i] along dimension dims[i], and from the end
 * to the beginning, as NumPy's roll. Shifts of one dimension add up. */
RLO_API RLO_NODISCARD rlo_status rlo_op_roll(rlo_tensor *x, const int64_t *shifts,
                                             const int64_t *dims, int32_t count,
                                             rlo_tensor **out_y);

/** BroadcastTo `dims`, whose last dimensions are x's, or x has 1 there. */
RLO_API RLO_NODISCARD rlo_status rlo_op_broadcast_to(rlo_tensor *x, const int64_t *dims,
                                                     int32_t rank, rlo_tensor **out_y);

/** Tile: the whole array times[k] times. */
RLO_API RLO_NODISCARD rlo_status rlo_op_tile(rlo_tensor *x, const int64_t *times,
                                             rlo_tensor **out_y);

/** Repeat: each element times[k] times. */
RLO_API RLO_NODISCARD rlo_status rlo_op_repeat(rlo_tensor *x, const int64_t *times,
                                               rlo_tensor **out_y);

/** ConcatV2: `count` tensors one behind the other. */
RLO_API RLO_NODISCARD rlo_status rlo_op_concat(rlo_tensor *const *xs, int32_t count, int64_t axis,
                                               rlo_tensor **out_y);

/** Pack: `count` tensors of one shape as the slices of a new dimension, `axis`
 *  of the result. */
RLO_API RLO_NODISCARD rlo_status rlo_op_stack(rlo_tensor *const *xs, int32_t count, int64_t axis,
                                              rlo_tensor **out_y);

/** SplitV: `count` parts of these sizes, of which one may be -1.
 *  @param out_ys  room for `count` tensors. */
RLO_API RLO_NODISCARD rlo_status rlo_op_split(rlo_tensor *x, const int64_t *sizes, int32_t count,
                                              int64_t axis, rlo_tensor **out_ys);

/** Unpack: the slices of a dimension, without that dimension.
 *  @param out_ys  room for `count` tensors, the size of the dimension. */
RLO_API RLO_NODISCARD rlo_status rlo_op_unstack(rlo_tensor *x, int64_t axis, int32_t count,
                                                rlo_tensor **out_ys);

/** SpaceToBatchND with `count` blocks; low and high have as many entries. low,
 *  high NULL: none. */
RLO_API RLO_NODISCARD rlo_status rlo_op_space_to_batch(rlo_tensor *x, const int64_t *blocks,
                                                       const int64_t *low, const int64_t *high,
                                                       int32_t count, rlo_tensor **out_y);

/** BatchToSpaceND: what undoes it, cropping low and high, as there. */
RLO_API RLO_NODISCARD rlo_status rlo_op_batch_to_space(rlo_tensor *x, const int64_t *blocks,
                                                       const int64_t *low, const int64_t *high,
                                                       int32_t count, rlo_tensor **out_y);

/** SpaceToDepth and DepthToSpace. is_nchw: channels are dimension 1, else the
 *  last. */
RLO_API RLO_NODISCARD rlo_status rlo_op_space_to_depth(rlo_tensor *x, int64_t block, bool is_nchw,
                                                       rlo_tensor **out_y);
RLO_API RLO_NODISCARD rlo_status rlo_op_depth_to_space(rlo_tensor *x, int64_t block, bool is_nchw,
                                                       rlo_tensor **out_y);

/** Cast: the values in another type, by the rules of rlo_arithmetic. */
RLO_API RLO_NODISCARD rlo_status rlo_op_cast(rlo_tensor *x, rlo_dtype dtype, rlo_tensor **out_y);

/** Sum over `count` dimensions, which stay with size 1 or go; NULL: over all.
 */
RLO_API RLO_NODISCARD rlo_status rlo_op_sum(rlo_tensor *x, const int64_t *dims, int32_t count,
                                            bool keep_dims, rlo_tensor **out_y);

/** AddN: the sum of `count` tensors of one type and shape. */
RLO_API RLO_NODISCARD rlo_status rlo_op_add_n(rlo_tensor *const *xs, int32_t count,
                                              rlo_tensor **out_y);

/*
 * Element by element, on tensors of one type and of the same dimensions, in any
 * layout: nothing is broadcast (rlo_op_broadcast_to) or converted
 * (rlo_op_cast). Computed as rlo_arithmetic says, integers modulo their width;
 * RLO_UNSUPPORTED for complex numbers and, but for rlo_op_multiply, for u64.
 */

/** Multiply: a * b. */
RLO_API RLO_NODISCARD rlo_status rlo_op_multiply(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y);

/** Abs: x without its sign. Its gradient at 0 is -dy, as in TensorFlow.js. */
RLO_API RLO_NODISCARD rlo_status rlo_op_abs(rlo_tensor *x, rlo_tensor **out_y);

/** Step: 1 where x is above 0, else alpha; a NaN stays.
 *  @param alpha  finite; between integers a whole number. */
RLO_API RLO_NODISCARD rlo_status rlo_op_step(rlo_tensor *x, double alpha, rlo_tensor **out_y);

/** Exp and Tanh, of floats: the nearest number on the host up to f32; on a
 *  device within 3 and 5 units of the last place of the type that is computed
 *  in (f32, or f64 for f64), as OpenCL has it. */
RLO_API RLO_NODISCARD rlo_status rlo_op_exp(rlo_tensor *x, rlo_tensor **out_y);
RLO_API RLO_NODISCARD rlo_status rlo_op_tanh(rlo_tensor *x, rlo_tensor **out_y);

/**
 * Quantize: y = saturate(round(x / scale) + zero_point), and Dequantize: y = (x -
 * zero_point) * scale, by the rules of rlo_combine_options_quantize (quantize.h).
 * @param scales  f32, f64 where x or y is, row-major. It has the rank of x, and each
 *                dimension divides that of x: [1,64,1,1] is a scale for each of 64
 *                channels; or one dimension more, the first, of size 2: the scales,
 *                then the zero points. Rather than `scales`, the kernels also take
 *                the attributes "scale" and "zero_point", of the whole tensor.
 * @param dtype   an integer, or a float of at most 8 bits; of Dequantize a float.
 * The gradient of Dequantize is scale * dy, in the type of x, and there is none for the
 * scales. Quantize has none: it is RLO_UNSUPPORTED until a user registers one with
 * RLO_GRADIENT_REPLACE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_op_quantize(rlo_tensor *x, rlo_tensor *scales, rlo_dtype dtype,
                                                 rlo_tensor **out_y);
RLO_API RLO_NODISCARD rlo_status rlo_op_dequantize(rlo_tensor *x, rlo_tensor *scales,
                                                   rlo_dtype dtype, rlo_tensor **out_y);

/** Less, LessEqual, Greater, GreaterEqual or Equal: a pred, whether `a` is that
 *  compared with `b`; false where one is a NaN. The kernels give 1 and 0 in the
 *  type of a and b, and this makes a pred of them by Cast.
 *  @param kernel_name  RLO_KERNEL_NAME_GREATER, for example. */
RLO_API RLO_NODISCARD rlo_status rlo_op_compare(rlo_tensor *a, const char *kernel_name,
                                                rlo_tensor *b, rlo_tensor **out_y);

/** Select: t where the condition is true, else e, bit for bit, of any type.
 *  @param condition  pred, with their dimensions. The kernel takes s32 or s64, 0
 *                    for e and 1 for t. */
RLO_API RLO_NODISCARD rlo_status rlo_op_where(rlo_tensor *condition, rlo_tensor *t, rlo_tensor *e,
                                              rlo_tensor **out_y);

/**
 * GatherV2: the slices of x that the indices name (rlo_chain_gather).
 * @param indices  s32 or s64; where one names nothing, the slice is 0.
 * @param batch_dims  leading dimensions that x and indices have in common;
 *                    negative: counted from the rank of the indices.
 */
RLO_API RLO_NODISCARD rlo_status rlo_op_gather(rlo_tensor *x, rlo_tensor *indices, int64_t axis,
                                               int64_t batch_dims, rlo_tensor **out_y);

/**
 * UnsortedSegmentSum: y's slice v is the sum of x's rows whose id is v
 * (rlo_segment_sum_create).
 * @param ids   s32 or s64; rows whose id names nothing are left out.
 * @param axis  where the dimensions of the ids begin in x, and the dimension of
 *              y that they become; a negative one counts from the end of y.
 */
RLO_API RLO_NODISCARD rlo_status rlo_op_segment_sum(rlo_tensor *x, rlo_tensor *ids,
                                                    int64_t num_segments, int64_t axis,
                                                    int64_t batch_dims, rlo_tensor **out_y);

RLO_END_DECLS

#endif
