/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RLO_LANES values at once, 1 or 16: their types, choices and conversions, and the
 * loads and stores of raw values of RLO_SRC and RLO_DST. For arith.cl.
 */
#ifndef RLO_LANES_CL
#define RLO_LANES_CL

/* Values at once; 16 are not for floats that become integers of 64 bits, nor
 * for doubles that become integers. */
#ifndef RLO_LANES
#define RLO_LANES 1
#endif

/* The compute type: 0 integers modulo 2^64, 1 f32, 2 f64. */
#ifndef RLO_COMPUTE
#define RLO_COMPUTE 1
#endif

/* The source type. Class: 1 pred, 2 signed, 3 unsigned integer, 4 float. Then
 * the bytes of its unit, the bits of its value; for floats exponent bits,
 * mantissa bits, bias, and which patterns are no finite numbers: 1 as IEEE
 * 754, 2 "fn", 3 "fnuz", 4 none. RLO_SRC_BARE: floats without sign and zero. */
#ifndef RLO_SRC_CLASS
#define RLO_SRC_CLASS    4
#define RLO_SRC_BYTES    4
#define RLO_SRC_BITS     32
#define RLO_SRC_EXPONENT 8
#define RLO_SRC_MANTISSA 23
#define RLO_SRC_BIAS     127
#define RLO_SRC_SPECIALS 1
#define RLO_SRC_BARE     0
#endif

/* The destination type, alike; never bare. */
#ifndef RLO_DST_CLASS
#define RLO_DST_CLASS    4
#define RLO_DST_BYTES    2
#define RLO_DST_BITS     16
#define RLO_DST_EXPONENT 8
#define RLO_DST_MANTISSA 7
#define RLO_DST_BIAS     127
#define RLO_DST_SPECIALS 1
#endif

#if RLO_COMPUTE == 2
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define RLO_JOIN2(a, b) a##b
#define RLO_JOIN(a, b)  RLO_JOIN2(a, b)

/* A type of RLO_LANES lanes; a choice lane by lane; a conversion as a cast; a
 * load and a store at multiples of an element's size. For vectors by clang's
 * own means, for a driver may take the built-in functions lane by lane. */
#define RLO_CHOOSE(condition, a, b) ((condition) ? (a) : (b))
#if RLO_LANES == 1
#define RLO_MANY(name)                  name
#define RLO_TO(type, x)                 ((type)(x))
#define RLO_LOAD_AS(space, type, p)     (*(space const type *)(p))
#define RLO_STORE_AS(space, type, p, v) (*(space type *)(p) = (v))
#else
#define RLO_MANY(name)                  RLO_JOIN(name, 16)
#define RLO_TO(type, x)                 __builtin_convertvector((x), RLO_MANY(type))
#define RLO_LOAD_AS(space, type, p)     (*(space const rlo_any_##type *)(p))
#define RLO_STORE_AS(space, type, p, v) (*(space rlo_any_##type *)(p) = (v))
typedef uchar16 rlo_any_uchar __attribute__((aligned(1)));
typedef ushort16 rlo_any_ushort __attribute__((aligned(1)));
typedef uint16 rlo_any_uint __attribute__((aligned(1)));
typedef ulong16 rlo_any_ulong __attribute__((aligned(1)));
#endif

typedef RLO_MANY(uint) rlo_bits;
typedef RLO_MANY(int) rlo_ints;
typedef RLO_MANY(float) rlo_floats;

/* ------------------------------------------------------------------- memory */

/* Values of up to four bytes are handled in uint, wider ones in ulong. */
#if RLO_SRC_BYTES == 8
typedef RLO_MANY(ulong) rlo_src_raw;
#define RLO_LOAD_SRC(space, p) RLO_LOAD_AS(space, ulong, p)
#else
typedef rlo_bits rlo_src_raw;
#if RLO_SRC_BYTES == 4
#define RLO_LOAD_SRC(space, p) RLO_LOAD_AS(space, uint, p)
#elif RLO_SRC_BYTES == 2
#define RLO_LOAD_SRC(space, p) RLO_TO(uint, RLO_LOAD_AS(space, ushort, p))
#else
#define RLO_LOAD_SRC(space, p) RLO_TO(uint, RLO_LOAD_AS(space, uchar, p))
#endif
#endif

#if RLO_DST_BYTES == 8
typedef RLO_MANY(ulong) rlo_dst_raw;
#define RLO_LOAD_DST(space, p)     RLO_LOAD_AS(space, ulong, p)
#define RLO_STORE_DST(space, p, v) RLO_STORE_AS(space, ulong, p, v)
#else
typedef rlo_bits rlo_dst_raw;
#if RLO_DST_BYTES == 4
#define RLO_LOAD_DST(space, p)     RLO_LOAD_AS(space, uint, p)
#define RLO_STORE_DST(space, p, v) RLO_STORE_AS(space, uint, p, v)
#elif RLO_DST_BYTES == 2
#define RLO_LOAD_DST(space, p) RLO_TO(uint, RLO_LOAD_AS(space, ushort, p))
#define RLO_STORE_DST(space, p, v) \
  RLO_STORE_AS(space, ushort, p, RLO_TO(ushort, v))
#else
#define RLO_LOAD_DST(space, p) RLO_TO(uint, RLO_LOAD_AS(space, uchar, p))
#define RLO_STORE_DST(space, p, v) \
  RLO_STORE_AS(space, uchar, p, RLO_TO(uchar, v))
#endif
#endif

#endif
