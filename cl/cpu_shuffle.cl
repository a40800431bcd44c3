/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines put together from units of up to sixteen lines, by shuffles with
 * indices that are constants of the program, for kernels of the CPU class that
 * say where each element comes from:
 *
 *     for o < outs, e < RLO_ELEMENTS:
 *         element e of out[o] =
 *             element RLO_ELEMENT_OF(o, e) of in[RLO_SOURCE_OF(o, e)]
 *
 * RLO_SOURCES  lines that are read, 1..16: in[], rlo_units
 * RLO_OUTS(n)  code that makes n lines, 1..16: out[], rlo_line
 *
 * The shuffles of one line grow with the sources.
 */
#ifndef RLO_CPU_SHUFFLE_CL
#define RLO_CPU_SHUFFLE_CL

#ifndef RLO_COMMON_CL
#include "common.cl"
#endif

/* Elements of rlo_units per unit, and in all. */
#define RLO_SUB      (RLO_UNIT_BYTES == 16 ? 2 : 1)
#define RLO_ELEMENTS (RLO_LINE_UNITS * RLO_SUB)

/* Step v of a chain puts the elements of source v in place and keeps the
 * others; step 1 takes source 0 as well. */
#define RLO_PICK(o, v, e)                                                       \
  (RLO_SOURCE_OF(o, e) == (v) && (v) > 0  ? RLO_ELEMENTS + RLO_ELEMENT_OF(o, e) \
   : RLO_SOURCE_OF(o, e) == 0 && (v) <= 1 ? RLO_ELEMENT_OF(o, e)                \
                                          : (e))

#define RLO_LIST_8(o, v, e)                                                \
  RLO_PICK(o, v, e), RLO_PICK(o, v, e + 1), RLO_PICK(o, v, e + 2),         \
      RLO_PICK(o, v, e + 3), RLO_PICK(o, v, e + 4), RLO_PICK(o, v, e + 5), \
      RLO_PICK(o, v, e + 6), RLO_PICK(o, v, e + 7)
#define RLO_LIST_16(o, v, e) RLO_LIST_8(o, v, e), RLO_LIST_8(o, v, e + 8)
#define RLO_LIST_32(o, v, e) RLO_LIST_16(o, v, e), RLO_LIST_16(o, v, e + 16)
#define RLO_LIST_64(o, v, e) RLO_LIST_32(o, v, e), RLO_LIST_32(o, v, e + 32)
#if RLO_UNIT_BYTES == 1
#define RLO_LIST RLO_LIST_64
#elif RLO_UNIT_BYTES == 2
#define RLO_LIST RLO_LIST_32
#elif RLO_UNIT_BYTES == 4
#define RLO_LIST RLO_LIST_16
#else
#define RLO_LIST RLO_LIST_8
#endif

#define RLO_STEP(o, v) \
  sum = __builtin_shufflevector(sum, in[v], RLO_LIST(o, v, 0));
#define RLO_CHAIN_1(o) \
  sum = __builtin_shufflevector(in[0], in[0], RLO_LIST(o, 0, 0));
#define RLO_CHAIN_2(o) \
  sum = __builtin_shufflevector(in[0], in[1], RLO_LIST(o, 1, 0));
#define RLO_CHAIN_3(o)  RLO_CHAIN_2(o) RLO_STEP(o, 2)
#define RLO_CHAIN_4(o)  RLO_CHAIN_3(o) RLO_STEP(o, 3)
#define RLO_CHAIN_5(o)  RLO_CHAIN_4(o) RLO_STEP(o, 4)
#define RLO_CHAIN_6(o)  RLO_CHAIN_5(o) RLO_STEP(o, 5)
#define RLO_CHAIN_7(o)  RLO_CHAIN_6(o) RLO_STEP(o, 6)
#define RLO_CHAIN_8(o)  RLO_CHAIN_7(o) RLO_STEP(o, 7)
#define RLO_CHAIN_9(o)  RLO_CHAIN_8(o) RLO_STEP(o, 8)
#define RLO_CHAIN_10(o) RLO_CHAIN_9(o) RLO_STEP(o, 9)
#define RLO_CHAIN_11(o) RLO_CHAIN_10(o) RLO_STEP(o, 10)
#define RLO_CHAIN_12(o) RLO_CHAIN_11(o) RLO_STEP(o, 11)
#define RLO_CHAIN_13(o) RLO_CHAIN_12(o) RLO_STEP(o, 12)
#define RLO_CHAIN_14(o) RLO_CHAIN_13(o) RLO_STEP(o, 13)
#define RLO_CHAIN_15(o) RLO_CHAIN_14(o) RLO_STEP(o, 14)
#define RLO_CHAIN_16(o) RLO_CHAIN_15(o) RLO_STEP(o, 15)
#define RLO_CHAIN_OF(n) RLO_CHAIN_##n
#define RLO_CHAIN(n)    RLO_CHAIN_OF(n)
#define RLO_OUTS_OF(n)  RLO_OUTS_##n
#define RLO_OUTS(n)     RLO_OUTS_OF(n)
#define RLO_OUT(o)                                                      \
  {                                                                     \
    rlo_units sum;                                                      \
    RLO_CHAIN(RLO_SOURCES)(o) out[o] = __builtin_astype(sum, rlo_line); \
  }
#define RLO_OUTS_1  RLO_OUT(0)
#define RLO_OUTS_2  RLO_OUTS_1 RLO_OUT(1)
#define RLO_OUTS_3  RLO_OUTS_2 RLO_OUT(2)
#define RLO_OUTS_4  RLO_OUTS_3 RLO_OUT(3)
#define RLO_OUTS_5  RLO_OUTS_4 RLO_OUT(4)
#define RLO_OUTS_6  RLO_OUTS_5 RLO_OUT(5)
#define RLO_OUTS_7  RLO_OUTS_6 RLO_OUT(6)
#define RLO_OUTS_8  RLO_OUTS_7 RLO_OUT(7)
#define RLO_OUTS_9  RLO_OUTS_8 RLO_OUT(8)
#define RLO_OUTS_10 RLO_OUTS_9 RLO_OUT(9)
#define RLO_OUTS_11 RLO_OUTS_10 RLO_OUT(10)
#define RLO_OUTS_12 RLO_OUTS_11 RLO_OUT(11)
#define RLO_OUTS_13 RLO_OUTS_12 RLO_OUT(12)
#define RLO_OUTS_14 RLO_OUTS_13 RLO_OUT(13)
#define RLO_OUTS_15 RLO_OUTS_14 RLO_OUT(14)
#define RLO_OUTS_16 RLO_OUTS_15 RLO_OUT(15)

#endif
