/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. The digests themselves do not. */
#ifndef RELAYOUT_DIGEST_H
#define RELAYOUT_DIGEST_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/*
 * The digest of an array: 128 bits that depend on its type, its dimensions and
 * the value bits of each element at its logical index, and on nothing else: not
 * on order, tiles, padding, strides or element size, nor on the pieces in which
 * it was added up. Equal arrays have equal digests, whatever their layouts. Two
 * arrays that differ have equal ones by accident with a probability of 2^-128,
 * and never if they differ in one word of one element. It is no cryptography:
 * whoever wants to can make two arrays with one digest.
 *
 * All numbers below are modulo 2^64, `>>` shifts zeros in. A word x at place j is
 * mixed to two numbers, m(x, j) = (high, low):
 *
 *     b = j * 0xd1342543de82ef95 + 0x9e3779b97f4a7c15
 *     a = x ^ b
 *     a = (a ^ a >> 32) * 0xbf58476d1ce4e5b9
 *     a = (a ^ a >> 29) * 0x94d049bb133111eb
 *     a = a ^ a >> 32
 *     c = (b + a) * 0xff51afd7ed558ccd
 *     c = (c ^ c >> 32) * 0xc4ceb9fe1a85ec53
 *     low = c ^ c >> 29,  high = a ^ low
 *
 * The number i of an element is that of its index in row-major order, by the
 * dimensions and whatever the layout. Its value bits, the lowest
 * rlo_dtype_value_bits of the element, are the word at place i. Those of a type of
 * 128 bits are two words: the lower 64 at place 2 * i, the upper 64 at place
 * 2 * i + 1. A pred is the word 1 if any bit of the element is, else 0. -0 is not 0,
 * and a NaN is its bits.
 *
 * The sum of an array is the sum of 2^64 * high + low of all its words, modulo
 * 2^128. It is finished by one more step for each w of type (its number in
 * rlo_dtype), rank, dimension 0, dimension 1 and so on:
 *
 *     (high, low) = m(low ^ w, .) with b = high
 *
 * As text a digest is its 32 hexadecimal digits: "%016" PRIx64 "%016" PRIx64 of
 * high and low.
 */

/** A digest, or a sum on the way to one. A plain value. */
typedef struct rlo_digest {
  uint64_t high, low;
} rlo_digest;

/** The sum of no element. */
#define RLO_DIGEST_INIT \
  { 0, 0 }

/**
 * Adds the elements that lie in a part of an array's memory to a sum. Parts may
 * be added in any order, by any threads, each to a sum of its own; all of them
 * together, each once, are the array. The whole is one part: offset 0 and the
 * physical bytes.
 *
 * A core adds a billion elements a second with AVX-512, and 400 million without; each
 * call takes about a microsecond more, so a part should have some KiB at least. Packed
 * elements, and layouts with combined dimensions (`*` in a tile), take up to ten times
 * as long.
 *
 * @param offset_bytes  where the part begins in the array's physical bytes, with an
 *                      element.
 * @param bytes         the part, borrowed, with any alignment; NULL only for 0
 *                      bytes.
 * @param num_bytes     its length, in whole elements unless it ends with the array.
 * @param sum           begins with RLO_DIGEST_INIT. Unchanged on failure.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_OUT_OF_RANGE for what is no
 *         such part; the statuses of rlo_shape_validate. Threads: safe (pure), here
 *         and below.
 */
RLO_API RLO_NODISCARD rlo_status rlo_digest_add(const rlo_shape *shape, int64_t offset_bytes,
                                                const void *bytes, int64_t num_bytes,
                                                rlo_digest *sum);

/** Adds one sum, of other parts, to another. NULL has no effect. */
RLO_API void rlo_digest_join(rlo_digest *sum, const rlo_digest *other);

/** Makes the digest of the sum of all parts: mixes type and dimensions in. The
 *  layout has no part in it. `sum` and `out_digest` may be one.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; the statuses of
 *          rlo_shape_validate. */
RLO_API RLO_NODISCARD rlo_status rlo_digest_finish(const rlo_shape *shape, const rlo_digest *sum,
                                                   rlo_digest *out_digest);

RLO_END_DECLS

#endif
