/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_OPS_H
#define RELAYOUT_OPS_H

#include <stddef.h>

#include "relayout/chain.h"
#include "relayout/problem.h"
#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * Lowers a relayout: the same logical array in another layout, its dimensions
 * permuted on request. Equivalent loop over every index i of dst:
 *
 *   j[permutation[k]] = i[k] for each k;   dst(i) = src(j)
 *
 * and every slot of dst that holds no element takes dst's fill; with an unknown
 * (or no) fill those bytes are left alone. Source padding is never read. Where
 * the element sizes differ, values are packed or unpacked: their bits are kept,
 * those above them are zero, and are not looked at in the source.
 *
 * @param src, dst     borrowed, of one dtype, with
 *                     dst->dims[k] == src->dims[permutation[k]].
 * @param permutation  rank entries, borrowed, -1 the last dimension; NULL is
 *                     the identity.
 * @param out_problem  the problem as written, not canonical; untouched on
 *                     failure.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for different types or logical shapes,
 * an invalid permutation, a strided destination with two indices on one slot;
 * RLO_UNSUPPORTED for too many physical dimensions;
 * RLO_OVERFLOW; or what rlo_shape_validate returns. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_relayout_lower(const rlo_shape *src, const rlo_shape *dst,
                                                    const int32_t *permutation,
                                                    rlo_problem *out_problem);

/**
 * The operations of a chain (chain.h). rlo_chain_<operation> appends one
 * operation; rlo_chain_shape is then the shape of its result: the element type
 * and size of the operand x, row-major, without padding.
 *
 * Each returns RLO_OK; RLO_INVALID_ARGUMENT for an attribute that breaks its
 * rule; RLO_OUT_OF_RANGE for a dimension that x does not have; RLO_UNSUPPORTED
 * for a result of rank above RLO_MAX_RANK; RLO_OVERFLOW for one whose size
 * leaves int64; RLO_OUT_OF_MEMORY. On failure the chain is unchanged. Arrays
 * are borrowed for the call; one for a rank of 0 may be NULL. A dimension may
 * be given from the end, -1 the last; where each may occur once, two numbers
 * for the same one are RLO_INVALID_ARGUMENT. Below, n is x's size in dimension
 * k, i an index of the result and y(i) its element there.
 *
 * Threads: one thread changes a chain at a time.
 */

/** y(i) = x(j) with j[permutation[k]] = i[k]. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_transpose(rlo_chain *chain, const int32_t *permutation);

/**
 * The same elements in the same row-major order.
 * @param dims  `rank` sizes; one of them may be -1, for the quotient of the
 *              element count and the other sizes.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_reshape(rlo_chain *chain, const int64_t *dims,
                                                   int32_t rank);

/**
 * y(i) = x(j) with j[k] = begin[k] + strides[k] * i[k], as long as j[k] is
 * before end[k]. As in Python, a negative begin or end counts from the end of
 * the dimension, and is then clamped to it; so INT64_MIN and INT64_MAX stand
 * for the edges.
 * @param strides  not 0; negative ones walk backwards; NULL for all 1.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_slice(rlo_chain *chain, const int64_t *begin,
                                                 const int64_t *end, const int64_t *strides);

/**
 * XLA's Pad: interior[k] fills between elements, low[k] before the first and
 * high[k] after the last; negative low and high remove elements (and fills).
 * y(i) = x(j) where i[k] = low[k] + j[k] * (interior[k] + 1), else the fill.
 * @param low, high, interior  NULL for all 0; interior is not negative.
 * @param fill  the bits of one element, low bits first, in as many bytes as
 *              the type's value takes; NULL for all bits 0.
 * @return also RLO_INVALID_ARGUMENT for a result of negative size.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_pad(rlo_chain *chain, const int64_t *low,
                                               const int64_t *high, const int64_t *interior,
                                               const void *fill);

/**
 * y(i) = x(i - begin) in the box of x's size that begins at `begin`, in an
 * array of size `dims`. Other elements of y have no value, and stay as they are
 * in the destination, so that several chains write one array, each its box
 * (XLA's DynamicUpdateSlice with constant starts). Where the destination's
 * layout has slots without element and a fill, that is written first, to
 * elements without value too: only the first of several chains is lowered to
 * such a layout, the others to the same one with RLO_FILL_UNKNOWN.
 * @param begin, dims  `rank` each.
 * @return also RLO_OUT_OF_RANGE for a box that leaves the array.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_place(rlo_chain *chain, const int64_t *begin,
                                                 const int64_t *dims);

/** y(i) = x(j) with j[k] = n - 1 - i[k] for the dimensions named, else i[k].
 *  @param dims  `count` different dimensions. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_reverse(rlo_chain *chain, const int32_t *dims,
                                                   int32_t count);

/** y(i) = x(j) with j[k] = (i[k] - s) modulo n: NumPy's roll.
 *  @param shifts  `count` shifts, of any sign and size; those of one dimension
 *                 add up to its s.
 *  @param dims    `count` dimensions. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_roll(rlo_chain *chain, const int64_t *shifts,
                                                const int32_t *dims, int32_t count);

/**
 * XLA's BroadcastInDim: y(i) = x(j) with j[k] = 0 if n is 1, else
 * i[from_dims[k]].
 * @param dims       `rank` sizes of the result.
 * @param from_dims  for each dimension of src its own dimension of the result,
 *                   of size n, or of any size if n is 1; -1 is the last of
 *                   the result.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_broadcast_in_dim(rlo_chain *chain, const int64_t *dims,
                                                            int32_t rank, const int32_t *from_dims);

/** The whole array `times[k]` times in each dimension: j[k] = i[k] mod n.
 *  @param times  rank entries, none negative. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_tile(rlo_chain *chain, const int64_t *times);

/** Each element `times[k]` times in each dimension: j[k] = i[k] / times[k]. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_repeat(rlo_chain *chain, const int64_t *times);

/**
 * Concatenates arrays of one type along one dimension; their other dimensions
 * are equal. The chain is the first array; the operands of the others follow
 * its own. Each part lowers to one problem.
 * @param others  `count` chains, copied; the chain itself may be among them.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_concatenate(rlo_chain *chain,
                                                       const rlo_chain *const *others,
                                                       int32_t count, int32_t dim);

/** Stacks arrays of one shape along a new dimension `dim` of the result, which
 *  has one more than x: -1 puts it last. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_stack(rlo_chain *chain, const rlo_chain *const *others,
                                                 int32_t count, int32_t dim);

/** Part `part` of an array that is split along a dimension: sizes[part] slices
 *  from index sizes[0] + ... + sizes[part - 1] on.
 *  @param sizes  `count` sizes that add up to n, none negative. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_split(rlo_chain *chain, const int64_t *sizes,
                                                 int32_t count, int32_t dim, int32_t part);

/** Slice `index` of a dimension; the result does not have that dimension. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_unstack(rlo_chain *chain, int32_t dim, int64_t index);

/**
 * TensorFlow's SpaceToDepth for any number of spatial dimensions: all but
 * dimension 0 and channel_dim. Each block of `block` per spatial dimension
 * becomes channels: y's channel ((b_1 * block + b_2) ...) * channels + c at the
 * spatial index i is x's channel c at i * block + b.
 * @param block        at least 1; divides every spatial size.
 * @param channel_dim  1 for NCHW, rank - 1 for NHWC; any but 0. The rank is at
 *                     least 2.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_space_to_depth(rlo_chain *chain, int64_t block,
                                                          int32_t channel_dim);

/** The inverse of space_to_depth. block ^ (number of spatial dimensions)
 * divides the channels. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_depth_to_space(rlo_chain *chain, int64_t block,
                                                          int32_t channel_dim);

/** The same for channels whose blocks are the fastest part: ONNX's mode CRD,
 *  PyTorch's pixel_shuffle. That of TensorFlow, above, is ONNX's DCR. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_depth_to_space_crd(rlo_chain *chain, int64_t block,
                                                              int32_t channel_dim);

/**
 * TensorFlow's SpaceToBatchND: dimensions 1 .. count are padded with zeros, low
 * before and high after, and cut into blocks; the position in a block becomes
 * part of the batch: y's batch ((b_1 * blocks[1] + b_2) ...) * batch + n at the
 * spatial index i is x's n at i * blocks + b - low.
 * @param blocks  `count` sizes, at least 1, each a divisor of what the padded
 *                dimension has; count is below the rank.
 * @param low, high  `count` numbers, none negative; NULL for all 0.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_space_to_batch(rlo_chain *chain, const int64_t *blocks,
                                                          const int64_t *low, const int64_t *high,
                                                          int32_t count);

/** The inverse of space_to_batch: the product of the blocks divides the batch;
 *  `low` and `high` are cropped. */
RLO_API RLO_NODISCARD rlo_status rlo_chain_batch_to_space(rlo_chain *chain, const int64_t *blocks,
                                                          const int64_t *low, const int64_t *high,
                                                          int32_t count);

/** How a mirror pad repeats the edge. */
typedef enum rlo_mirror {
  /** 3 2 | 1 2 3 | 2 1: the edge element stands once. */
  RLO_MIRROR_REFLECT = 0,
  /** 2 1 | 1 2 3 | 3 2: the edge element stands twice. */
  RLO_MIRROR_SYMMETRIC = 1,
  /** 1 1 | 1 2 3 | 3 3: the edge element goes on. */
  RLO_MIRROR_EDGE = 2
} rlo_mirror;

/**
 * Continues the array beyond its edges by its mirror image, or its edge.
 *
 * The chain gets up to three parts for each padded dimension, so up to 3^d
 * problems, each a box without guards.
 * @param low, high  rank numbers, none negative and none above n - 1 (reflect)
 *                   or n (symmetric), of an edge none where n is 0; NULL for
 *                   all 0.
 * @return also RLO_UNSUPPORTED beyond RLO_CHAIN_MAX_PARTS.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_mirror_pad(rlo_chain *chain, const int64_t *low,
                                                      const int64_t *high, rlo_mirror mirror);

/**
 * Operations that compute. The numbers follow the rules of rlo_arithmetic
 * (problem.h): every rounding, every limit, the order of sums. What neither
 * converts, scales, adds nor sums stays a movement of bits.
 */

/** y = steps(alpha * x) + beta * y, for a result x and the destination y.
 *  Initialize with RLO_COMBINE_OPTIONS_INIT, which means y = x. */
typedef struct rlo_combine_options {
  /** sizeof(rlo_combine_options). */
  size_t struct_size;
  /** Finite. */
  double alpha, beta;
  /** RLO_DTYPE_F64 to compute floats in f64; RLO_DTYPE_INVALID as usual. */
  rlo_dtype compute_type;
  /** Element-wise steps between alpha and beta; with an alpha other than 1 and
   *  a beta other than 0 at most RLO_MAX_ELEMENT_STEPS. */
  int32_t num_steps;
  rlo_element_step steps[RLO_MAX_ELEMENT_STEPS];
  /** The dimension of the destination along which RLO_ELEMENT_SCALE_BY has an
   *  operand: an array of its size of f32, f64 or, between integers, s64, as
   * the compute type is. It is the third memory of the problem: the `indices`
   * of rlo_run_host, and rlo_problem_list_indices is -1. */
  int32_t operand_dim;
  /** In place of operand_dim: the dimensions of an array of operands, as many as
   *  those of the destination, of which each divides that of the destination: 1
   *  if all of a dimension has one operand, its size if each element has its own,
   *  else one for each block. The array is row-major; where several steps take an
   *  operand there is one array for each (rlo_element_op). Borrowed; NULL: none. */
  const rlo_shape *operand;
} rlo_combine_options;

#define RLO_COMBINE_OPTIONS_INIT                                 \
  {                                                              \
    sizeof(rlo_combine_options), 1.0, 0.0, RLO_DTYPE_INVALID, 0, \
        {{RLO_ELEMENT_SCALE, {1.0, 0.0}}}, 0, NULL               \
  }

/**
 * Lowers a relayout that computes: as rlo_relayout_lower, and the destination
 * may have another type. Equivalent loop over every index i:
 *
 *   j[permutation[k]] = i[k] for each k
 *   dst(i) = to_dst(alpha * src(j) + beta * dst(i))
 *
 * Slots of dst that hold no element take dst's fill, as there.
 * @param options  borrowed; NULL for alpha 1, beta 0.
 * @return as rlo_relayout_lower, but for the types;
 *         RLO_INVALID_ARGUMENT for factors that are not finite or that the
 *         types do not take;
 *         RLO_UNSUPPORTED for a destination type without a zero.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_relayout_combine(const rlo_shape *src, const rlo_shape *dst,
                                                      const int32_t *permutation,
                                                      const rlo_combine_options *options,
                                                      rlo_problem *out_problem);

/**
 * Lowers a chain that computes: as rlo_chain_lower, with
 * dst(i) = to_dst(alpha * (the chain's result at i) + beta * dst(i)); dst may
 * have another type and element size than the chain.
 *
 * The computation reads the elements as the operands hold them and rounds once,
 * to dst's type, whatever types the chain converts to in between.
 * @return as rlo_chain_lower and rlo_relayout_combine; RLO_UNSUPPORTED for a
 *         chain that pads and alpha other than 1, beta other than 0 or dst of
 *         another type than the chain: a fill is neither scaled nor added.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_combine(const rlo_chain *chain, const rlo_shape *dst,
                                                   const rlo_combine_options *options,
                                                   rlo_problem_list **out_list);

/**
 * The sum of `count` arrays of one logical shape, each in its own type and
 * layout: dst = srcs[0], then dst = srcs[n] + dst for each further one, in this
 * order, rounded to dst's type each time. One problem for each, of operand n.
 * @param count  at least 1.
 * @return as rlo_relayout_combine; RLO_INVALID_ARGUMENT for no array;
 *         RLO_UNSUPPORTED for several of pred or of integers below a byte.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_add_n_lower(const rlo_shape *const *srcs, int32_t count,
                                                 const rlo_shape *dst, rlo_problem_list **out_list);

/**
 * y(i) = x(i) in another element type, of that type's usual size; the fills of
 * the chain's earlier operations are converted too.
 * @return also RLO_INVALID_ARGUMENT for no element type; RLO_UNSUPPORTED for
 *         one without a zero that is not the chain's own, or if the chain has
 *         converted to a type that does not hold every value of its operands: a
 *         chain rounds once, at its end.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_convert(rlo_chain *chain, rlo_dtype dtype);

/**
 * y(i) = the sum of x over the dimensions named; the sum over no element is 0.
 * These dimensions stay with size 1 if keep_dims, and are dropped otherwise.
 * The order is fixed (rlo_arithmetic); the accumulators are of the compute
 * type: f32 for f16, bf16 and smaller. Several sums of a chain are one, over
 * all their dimensions.
 * @param dims  `count` different dimensions.
 * @return also RLO_INVALID_ARGUMENT for a dimension named twice;
 * RLO_UNSUPPORTED for pred and for integers below a byte, and for a chain that
 * has padded or concatenated, or has converted to a type that does not hold
 *         every value of its operand.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_sum(rlo_chain *chain, const int32_t *dims, int32_t count,
                                               bool keep_dims);

/*
 * Gather and segment sum. Both use one arrangement of dimensions. An array x
 * has dimensions
 *
 *   batch_0 .. batch_b-1, before ..., dim, after ...
 *
 * and an array of indices, s32 or s64 in any layout, has dimensions
 *
 *   batch_0 .. batch_b-1, rows ...
 *
 * of which the first `batch_dims` (b, at most `dim`) are the same. A gather
 * takes for each row the slice of x that the index names; its result y has
 *
 *   batch_0 .. batch_b-1, before ..., rows ..., after ...
 *
 * A segment sum is the reverse, from y's dimensions to x's: it adds each
 * row to the slice that its index names.
 *
 * Indices out of bounds (below 0, or not below the size of `dim`): a gather
 * writes zeros for them, a segment sum skips the row. So each is exactly the
 * other's adjoint, <dy, gather x> = <segment_sum dy, x>, whatever the indices
 * are, and no memory but the arrays' own is ever touched.
 */

/**
 * Gathers slices of x by an array of indices. Equivalent loop, with the
 * coordinates named as above (b for the batch, p before, r for the row, q
 * after):
 *
 *   v = indices(b, r);
 *   y(b, p, r, q) = 0 <= v < x->dims[dim] ? x(b, p, v, q) : 0
 *
 * The indices become an operand of the chain, the last one;
 * rlo_problem_list_indices returns which problems of the lowered chain load
 * them; such problems run with rlo_problem_list_run_host,
 * rlo_problem_run_host_indexed and rlo_enqueue_operands.
 *
 * A chain may gather again in another of its parts; two gathers from different
 * arrays of indices in one part are RLO_UNSUPPORTED by rlo_chain_lower.
 * @return as the other operations; RLO_INVALID_ARGUMENT for indices that are
 *         not s32 or s64 of their own width, or for batch dimensions that
 *         differ; RLO_OUT_OF_RANGE for a dim or batch_dims that does not exist.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_gather(rlo_chain *chain, const rlo_shape *indices,
                                                  int32_t dim, int32_t batch_dims);

/**
 * The shape of a segment sum.
 *
 * @param src  the rows, with the dimensions of y above; borrowed, any layout.
 * @param ids  the indices of the segments, s32 or s64; borrowed, any layout.
 * @param dim  where the rows' dimensions begin in src, and what they become in
 *             the result: one dimension of num_segments. A negative one counts
 *             from the end of the result, -1 its last: so it names what it
 * names in a gather from there.
 * @param batch_dims  0 .. dim, and at most the rank of the ids.
 * @param out_shape  the type and element size of src, row-major, not padded.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for ids of another type or width, for
 *         dimensions of src that are not those of the ids, or num_segments
 *         below 0; RLO_OUT_OF_RANGE for a dim or batch_dims that is none;
 *         RLO_UNSUPPORTED for pred and for integers below a byte, which are not
 *         added, and beyond RLO_MAX_RANK; or what rlo_shape_validate returns.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_segment_sum_infer(const rlo_shape *src, const rlo_shape *ids,
                                                       int32_t dim, int32_t batch_dims,
                                                       int64_t num_segments, rlo_shape *out_shape);

/**
 * A segment sum, lowered. Equivalent loop, with x the destination and y the
 * source, in coordinates as above:
 *
 *   x = 0;
 *   for each row r, in row-major order, v = ids(b, r):
 *     if (0 <= v < x->dims[dim]) x(b, p, v, q) += y(b, p, r, q)
 *
 * but that the rows of a cell are added by the rules of rlo_arithmetic, as
 * points along one reduction axis, in their order: f16 and bf16 in f32,
 * integers modulo 2^bits, and bit for bit the same on every device. No atomics
 * are used: the ids are first inverted into an *order*, the rows of each
 * segment one after the other, which serves any number of sums with these ids.
 * A device runs the sum as a plan (rlo_plan_create_segment_sum). Threads:
 * immutable, safe.
 */
typedef struct rlo_segment_sum rlo_segment_sum;

/**
 * Lower a segment sum into a destination of any layout, whose slots that hold
 * no element take its fill; with an unknown (or no) fill they are left alone.
 *
 * @param dst      borrowed; the dimensions of rlo_segment_sum_infer, of which
 *                 dst->dims[dim] is the number of segments; its type may be
 *                 another than that of src, to which the sums are rounded.
 * @param out_sum  the caller's, to be given to rlo_segment_sum_release.
 * @return as rlo_segment_sum_infer; RLO_INVALID_ARGUMENT for other dimensions,
 *         or a strided dst with two indices on one slot; RLO_UNSUPPORTED beyond
 *         RLO_MAX_AXES, RLO_MAX_TERMS or RLO_MAX_GUARDS, or for a type of dst
 *         without a zero; RLO_OVERFLOW; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_segment_sum_create(const rlo_shape *src, const rlo_shape *ids,
                                                        int32_t dim, int32_t batch_dims,
                                                        const rlo_shape *dst,
                                                        rlo_segment_sum **out_sum);

/** Give a segment sum back; NULL is legal. */
RLO_API void rlo_segment_sum_release(rlo_segment_sum *sum);

/** The least sizes of its memories, in bytes. */
typedef struct rlo_segment_sum_sizes {
  int64_t src_bytes, ids_bytes, dst_bytes;
  /** The order: offsets of the segments, then the rows. */
  int64_t order_bytes;
  /** Width of a number of the order: 32, or 64 for very many rows. */
  int32_t order_bits;
} rlo_segment_sum_sizes;

RLO_API void rlo_segment_sum_get_sizes(const rlo_segment_sum *sum,
                                       rlo_segment_sum_sizes *out_sizes);

/** The problems that make the destination out of the rows (operand 0) and the
 *  order (operand 1, which they load): zeros, and the sum over them. Borrowed.
 */
RLO_API const rlo_problem_list *rlo_segment_sum_problems(const rlo_segment_sum *sum);

/**
 * Inverts the ids on the host. `order` receives, as signed integers of
 * order_bits: for each segment of each batch the place of its first row, then
 * the end of the last; after that the rows, counted within their batch.
 * @param ids    ids_bytes bytes, borrowed.
 * @param order  order_bytes bytes, aligned for its integers.
 * @return RLO_OK; RLO_OUT_OF_MEMORY. Threads: safe on distinct memory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_segment_sum_order_host(const rlo_segment_sum *sum,
                                                            const void *ids, void *order);

/**
 * Order and sum on the host.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_problem_run_host returns.
 *         Threads: safe on distinct memory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_segment_sum_run_host(const rlo_segment_sum *sum,
                                                          const void *src, const void *ids,
                                                          void *dst);

RLO_END_DECLS

#endif
