/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unit that portable kernels move, and the integer type of their counters.
 * Plain OpenCL C 1.2: files that include this one run on any device. Units are
 * bits, never numbers, and lie at multiples of their size, as the host proves.
 */
#ifndef RLO_UNIT_CL
#define RLO_UNIT_CL

/* Bytes of the unit that is moved: 1, 2, 4, 8 or 16. */
#ifndef RLO_UNIT_BYTES
#define RLO_UNIT_BYTES 4
#endif

/* 1: rlo_index is int instead of long; the host proves that it suffices. */
#ifndef RLO_INDEX32
#define RLO_INDEX32 0
#endif

#if RLO_INDEX32
typedef int rlo_index;
typedef uint rlo_count;
#else
typedef long rlo_index;
typedef ulong rlo_count;
#endif

#if RLO_UNIT_BYTES == 1
typedef uchar rlo_unit;
#elif RLO_UNIT_BYTES == 2
typedef ushort rlo_unit;
#elif RLO_UNIT_BYTES == 4
typedef uint rlo_unit;
#elif RLO_UNIT_BYTES == 8
typedef ulong rlo_unit;
#elif RLO_UNIT_BYTES == 16
typedef uint4 rlo_unit;
#else
#error "RLO_UNIT_BYTES must be 1, 2, 4, 8 or 16"
#endif

/* Above 0: the kernel moves the items of a batch (batch.cl), by groups of so many
 * work-items. */
#ifndef RLO_BATCH
#define RLO_BATCH 0
#endif

/* The group's number in its launch, of how many; in a batch in its item. */
#if RLO_BATCH
#define RLO_ITEM_PARAMS uint rlo_group, uint rlo_num_groups
#define RLO_GROUP       rlo_group
#define RLO_NUM_GROUPS  rlo_num_groups
#else
#define RLO_GROUP      get_group_id(0)
#define RLO_NUM_GROUPS get_num_groups(0)
#endif

/* The unit that padding consists of, from its bytes 0..7 and 8..15. */
static inline rlo_unit rlo_fill_unit(ulong fill_lo, ulong fill_hi) {
#if RLO_UNIT_BYTES == 16
  return as_uint4((ulong2)(fill_lo, fill_hi));
#else
  (void)fill_hi;
  return (rlo_unit)fill_lo;
#endif
}

/* Stores the fill unit, of which these are bytes 0..7 and 8..15. Two stores for
 * 16 bytes: clang splits one into three, the first of them empty, which
 * oclgrind reports as a fault. */
static inline void rlo_store_fill(__global rlo_unit *to,
                                  ulong fill_lo,
                                  ulong fill_hi) {
#if RLO_UNIT_BYTES == 16
  __global ulong *part = (__global ulong *)to;
  part[0] = fill_lo;
  part[1] = fill_hi;
#else
  (void)fill_hi;
  *to = (rlo_unit)fill_lo;
#endif
}

#endif
