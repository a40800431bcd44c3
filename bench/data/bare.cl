/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latency suite launches this kernel by itself to time the driver. It takes
 * as many arguments, of the same kinds, as a tile kernel of the library, and
 * does next to no work. It stores only if `enable` is not 0.
 */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void bare(
    __global const uchar *src,
    ulong src_offset_bytes,
    __global uchar *dst,
    ulong dst_offset_bytes,
    ulong fill_lo,
    ulong fill_hi,
    int enable,
    long8 grid_extent,
    long8 grid_src_stride,
    long8 grid_dst_stride,
    int a_axis,
    int b_axis,
    long na,
    long nb,
    long src_ld,
    long dst_ld) {
  if (enable != 0) {
    dst[dst_offset_bytes] =
        (uchar)(src[src_offset_bytes] + fill_lo + fill_hi + a_axis + b_axis +
                na + nb + src_ld + dst_ld + grid_extent.s0 +
                grid_src_stride.s0 + grid_dst_stride.s0);
  }
}
