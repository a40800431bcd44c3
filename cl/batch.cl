/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of a batch: each group finds its item by the number that it has in the
 * launch, and the arguments of the item's own launch in a table. The file that includes
 * this one last defines rlo_item: its kernel as a function, whose first two arguments say
 * which group of the item to run.
 *
 * Arguments:
 *
 *   0  __global const uchar *src   of all items
 *   1  ulong src_offset_bytes      is added to those of the items
 *   2  __global uchar *dst         likewise
 *   3  ulong dst_offset_bytes
 *   4  __global const uchar *tables, which has in this order
 *        records: the item's number of groups, then its arguments that are
 *                 constants, longs; items of equal problems share one
 *        items:   where in src and in dst it begins, in bytes; its record, in
 *                 longs from `tables` on; the number of its first group
 *        for each group of the launch its item, a uint
 *   5  long items_at, in bytes from `tables` on
 *   6  long groups_at, likewise
 *
 * RLO_ITEM_ARGUMENTS are the arguments of rlo_item: of src, dst, and the
 * macros below with a place in the record.
 */
#ifndef RLO_BATCH_CL
#define RLO_BATCH_CL

#if RLO_BATCH

#define RLO_ITEM_SRC  src_offset_bytes + item.x
#define RLO_ITEM_DST  dst_offset_bytes + item.y
#define RLO_INT(k)    (int)record[k]
#define RLO_LONG(k)   record[k]
#define RLO_INT16(k)  *(__global const int16 *)(record + k)
#define RLO_LONG8(k)  *(__global const long8 *)(record + k)
#define RLO_LONG16(k) *(__global const long16 *)(record + k)

#ifndef RLO_ITEM_ARGUMENTS
#define RLO_ITEM_ARGUMENTS src, RLO_ITEM_SRC, dst, RLO_ITEM_DST
#endif

__kernel __attribute__((reqd_work_group_size(RLO_BATCH, 1, 1))) void RLO_KERNEL(
    __global const uchar *restrict src,
    ulong src_offset_bytes,
    __global uchar *restrict dst,
    ulong dst_offset_bytes,
    __global const uchar *restrict tables,
    long items_at,
    long groups_at) {
#ifdef RLO_SHARED_SIDES
  __local rlo_side sides[RLO_SHARED_SIDES] __attribute__((aligned(16)));
#define RLO_SHARED sides,
#else
#define RLO_SHARED
#endif
  const uint group = (uint)get_group_id(0);
  const uint number = ((__global const uint *)(tables + groups_at))[group];
  const ulong4 item = ((__global const ulong4 *)(tables + items_at))[number];
  __global const long *record = (__global const long *)tables + item.z;
  rlo_item(group - (uint)item.w, (uint)record[0], RLO_SHARED RLO_ITEM_ARGUMENTS);
}

#endif
#endif
