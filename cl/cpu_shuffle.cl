/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors joined from the elements of up to sixteen others, by shuffles with
 * constant indices, for kernels of the CPU class that define where each element
 * comes from:
 *
 *     for o < outs, e < RLO_ELEMENTS:
 *         element e of output o =
 *             element RLO_ELEMENT_OF(n, o, e) of source RLO_SOURCE_OF(n, o, e)
 *
 * RLO_MIX(n, o)       code that makes output o of n sources, 1..16: n - 1
 *                     shuffles. The kernel defines RLO_IN(n, k), source k, and
 *                     RLO_PUT(n, o, sum), which takes output o; both rlo_units
 * RLO_MIXES(outs, n)  RLO_MIX(n, 0) to RLO_MIX(n, outs - 1)
 */
#ifndef RLO_CPU_SHUFFLE_CL
#define RLO_CPU_SHUFFLE_CL

#include "cpu_common.cl"

/* Elements of rlo_units per unit, and in all. */
#define RLO_SUB      (RLO_UNIT_BYTES == 16 ? 2 : 1)
#define RLO_ELEMENTS (RLO_LINE_UNITS * RLO_SUB)

/* Step v of a chain puts the elements of source v in place and keeps the
 * others; step 1 takes source 0 as well. */
#define RLO_PICK(n, o, v, e)                                           \
  (RLO_SOURCE_OF(n, o, e) == (v) && (v) > 0                            \
       ? RLO_ELEMENTS + RLO_ELEMENT_OF(n, o, e)                        \
   : RLO_SOURCE_OF(n, o, e) == 0 && (v) <= 1 ? RLO_ELEMENT_OF(n, o, e) \
                                             : (e))

#define RLO_LIST_8(n, o, v, e)                                              \
  RLO_PICK(n, o, v, e), RLO_PICK(n, o, v, e + 1), RLO_PICK(n, o, v, e + 2), \
      RLO_PICK(n, o, v, e + 3), RLO_PICK(n, o, v, e + 4),                   \
      RLO_PICK(n, o, v, e + 5), RLO_PICK(n, o, v, e + 6),                   \
      RLO_PICK(n, o, v, e + 7)
#define RLO_LIST_16(n, o, v, e) \
  RLO_LIST_8(n, o, v, e), RLO_LIST_8(n, o, v, e + 8)
#define RLO_LIST_32(n, o, v, e) \
  RLO_LIST_16(n, o, v, e), RLO_LIST_16(n, o, v, e + 16)
#define RLO_LIST_64(n, o, v, e) \
  RLO_LIST_32(n, o, v, e), RLO_LIST_32(n, o, v, e + 32)
#if RLO_UNIT_BYTES == 1
#define RLO_LIST RLO_LIST_64
#elif RLO_UNIT_BYTES == 2
#define RLO_LIST RLO_LIST_32
#elif RLO_UNIT_BYTES == 4
#define RLO_LIST RLO_LIST_16
#else
#define RLO_LIST RLO_LIST_8
#endif

#define RLO_STEP(n, o, v) \
  sum = __builtin_shufflevector(sum, RLO_IN(n, v), RLO_LIST(n, o, v, 0));
#define RLO_CHAIN_1(n, o)  RLO_STEP(n, o, 0)
#define RLO_CHAIN_2(n, o)  RLO_STEP(n, o, 1)
#define RLO_CHAIN_3(n, o)  RLO_CHAIN_2(n, o) RLO_STEP(n, o, 2)
#define RLO_CHAIN_4(n, o)  RLO_CHAIN_3(n, o) RLO_STEP(n, o, 3)
#define RLO_CHAIN_5(n, o)  RLO_CHAIN_4(n, o) RLO_STEP(n, o, 4)
#define RLO_CHAIN_6(n, o)  RLO_CHAIN_5(n, o) RLO_STEP(n, o, 5)
#define RLO_CHAIN_7(n, o)  RLO_CHAIN_6(n, o) RLO_STEP(n, o, 6)
#define RLO_CHAIN_8(n, o)  RLO_CHAIN_7(n, o) RLO_STEP(n, o, 7)
#define RLO_CHAIN_9(n, o)  RLO_CHAIN_8(n, o) RLO_STEP(n, o, 8)
#define RLO_CHAIN_10(n, o) RLO_CHAIN_9(n, o) RLO_STEP(n, o, 9)
#define RLO_CHAIN_11(n, o) RLO_CHAIN_10(n, o) RLO_STEP(n, o, 10)
#define RLO_CHAIN_12(n, o) RLO_CHAIN_11(n, o) RLO_STEP(n, o, 11)
#define RLO_CHAIN_13(n, o) RLO_CHAIN_12(n, o) RLO_STEP(n, o, 12)
#define RLO_CHAIN_14(n, o) RLO_CHAIN_13(n, o) RLO_STEP(n, o, 13)
#define RLO_CHAIN_15(n, o) RLO_CHAIN_14(n, o) RLO_STEP(n, o, 14)
#define RLO_CHAIN_16(n, o) RLO_CHAIN_15(n, o) RLO_STEP(n, o, 15)
#define RLO_CHAIN_OF(n)    RLO_CHAIN_##n
#define RLO_CHAIN(n)       RLO_CHAIN_OF(n)
#define RLO_MIX(n, o)                      \
  {                                        \
    rlo_units sum = RLO_IN(n, 0);          \
    RLO_CHAIN(n)(n, o) RLO_PUT(n, o, sum); \
  }

#define RLO_EACH_1(F, n)  F(n, 0)
#define RLO_EACH_2(F, n)  RLO_EACH_1(F, n) F(n, 1)
#define RLO_EACH_3(F, n)  RLO_EACH_2(F, n) F(n, 2)
#define RLO_EACH_4(F, n)  RLO_EACH_3(F, n) F(n, 3)
#define RLO_EACH_5(F, n)  RLO_EACH_4(F, n) F(n, 4)
#define RLO_EACH_6(F, n)  RLO_EACH_5(F, n) F(n, 5)
#define RLO_EACH_7(F, n)  RLO_EACH_6(F, n) F(n, 6)
#define RLO_EACH_8(F, n)  RLO_EACH_7(F, n) F(n, 7)
#define RLO_EACH_9(F, n)  RLO_EACH_8(F, n) F(n, 8)
#define RLO_EACH_10(F, n) RLO_EACH_9(F, n) F(n, 9)
#define RLO_EACH_11(F, n) RLO_EACH_10(F, n) F(n, 10)
#define RLO_EACH_12(F, n) RLO_EACH_11(F, n) F(n, 11)
#define RLO_EACH_13(F, n) RLO_EACH_12(F, n) F(n, 12)
#define RLO_EACH_14(F, n) RLO_EACH_13(F, n) F(n, 13)
#define RLO_EACH_15(F, n) RLO_EACH_14(F, n) F(n, 14)
#define RLO_EACH_16(F, n) RLO_EACH_15(F, n) F(n, 15)
#define RLO_EACH_OF(outs) RLO_EACH_##outs
/* F(n, 0) to F(n, outs - 1). */
#define RLO_EACH(outs)     RLO_EACH_OF(outs)
#define RLO_MIXES(outs, n) RLO_EACH(outs)(RLO_MIX, n)

#endif
