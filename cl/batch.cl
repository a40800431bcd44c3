/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of a batch: each group finds its item by the number that it has in the
 * launch, and the arguments of the item's own launch in a table. The file that includes
 * this one last defines rlo_item: its kernel as a function, whose first two arguments say
 * which group of the item to run, of how many. A third one is its local memory, if it
 * says how much it needs.
 *
 * Arguments:
 *
 *   0  __global const uchar *src   of all items
 *   1  ulong src_offset_bytes      is added to those of the items
 *   2  __global uchar *dst         likewise
 *   3  ulong dst_offset_bytes
 *   4  __global const uchar *tables, which has longs:
 *        of each item where it begins in src and in dst, in bytes; its record; the
 *                 number of its first group
 *        records: an item's number of groups, then the numbers of its launch
 *        of each group of a launch the number of its item
 *   5  long groups_at              where those of this launch begin
 *
 * RLO_ITEM_ARGUMENTS are the arguments of rlo_item behind those: src, dst, and the
 * macros below, with a place among the numbers.
 */
#ifndef RLO_BATCH_CL
#define RLO_BATCH_CL

#if RLO_BATCH

#define RLO_ITEM_SRC  src_offset_bytes + item.x
#define RLO_ITEM_DST  dst_offset_bytes + item.y
#define RLO_INT(k)    (int)numbers[k]
#define RLO_LONG(k)   numbers[k]
#define RLO_INT16(k)  convert_int16(vload16(0, numbers + k))
#define RLO_LONG8(k)  vload8(0, numbers + k)
#define RLO_LONG16(k) vload16(0, numbers + k)

#ifndef RLO_ITEM_ARGUMENTS
#define RLO_ITEM_ARGUMENTS src, RLO_ITEM_SRC, dst, RLO_ITEM_DST
#endif

__kernel __attribute__((reqd_work_group_size(RLO_BATCH, 1, 1))) void RLO_KERNEL(
    __global const uchar *restrict src,
    ulong src_offset_bytes,
    __global uchar *restrict dst,
    ulong dst_offset_bytes,
    __global const uchar *restrict tables,
    long groups_at) {
#ifdef RLO_SHARED_TYPE
  __local RLO_SHARED_TYPE shared[RLO_SHARED_COUNT] __attribute__((aligned(16)));
#define RLO_SHARED shared,
#else
#define RLO_SHARED
#endif
  __global const long *longs = (__global const long *)tables;
  const uint group = (uint)get_group_id(0);
  const ulong4 item = ((__global const ulong4 *)tables)[longs[groups_at + group]];
  __global const long *numbers = longs + item.z + 1;
  rlo_item(group - (uint)item.w, (uint)numbers[-1], RLO_SHARED RLO_ITEM_ARGUMENTS);
}

#endif
#endif
