/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_PERMUTATION_H
#define RELAYOUT_PERMUTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/status.h"

RLO_BEGIN_DECLS

/**
 * Permutations of 0 .. size-1 as plain int32 arrays. A size of 0 is legal and
 * its array may be NULL. All functions are pure and safe from any thread.
 *
 * Functions elsewhere that take the permutation of an array's dimensions also
 * take entries that count from the end, -1 the last. Those here take
 * 0 .. size-1 only, but for rlo_permutation_normalize, which converts.
 */

/** True if p holds each of 0 .. size-1 once. */
RLO_API bool rlo_permutation_is_valid(const int32_t *p, int32_t size);

/**
 * Checks that p is a permutation.
 * @return RLO_OK; RLO_INVALID_ARGUMENT with a message that names the bad entry
 *         ("permutation[2]=5 is out of range for rank 3").
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_validate(const int32_t *p, int32_t size);

/**
 * Converts entries that count from the end: -1 becomes size-1, and so on.
 * @param out  `size` entries, a permutation of 0 .. size-1; may not alias p.
 *             Unspecified on failure.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for an entry outside [-size, size), or
 *         two that are the same dimension, with a message that names them
 *         ("permutation[0]=2 and permutation[2]=-1 ...").
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_normalize(const int32_t *p, int32_t size,
                                                           int32_t *out);

/** True if p[i] == i for every i. */
RLO_API bool rlo_permutation_is_identity(const int32_t *p, int32_t size);

/** out[p[i]] = i. `out` may not alias p. Requires a valid p. */
RLO_API void rlo_permutation_inverse(const int32_t *p, int32_t size, int32_t *out);

/** out[i] = first[second[i]]. `out` may not alias its inputs. */
RLO_API void rlo_permutation_compose(const int32_t *first, const int32_t *second, int32_t size,
                                     int32_t *out);

/** out[i] = in[p[i]]: NumPy's transpose applied to a list of dimensions. */
RLO_API void rlo_permutation_apply(const int32_t *p, int32_t size, const int64_t *in, int64_t *out);

/** out[p[i]] = in[i]: the inverse of rlo_permutation_apply. */
RLO_API void rlo_permutation_apply_inverse(const int32_t *p, int32_t size, const int64_t *in,
                                           int64_t *out);

/**
 * Moves the entry at index `from` to index `to`, in place; the entries between
 * shift by one. 0 1 2 3 4 with 1 -> 3 becomes 0 2 3 1 4. The entries need not
 * be a permutation.
 * @return RLO_OK; RLO_OUT_OF_RANGE, with nothing moved, for an index outside
 *         [0, size).
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_move_element(int32_t *entries, int32_t size,
                                                              int32_t from, int32_t to);

RLO_END_DECLS

#endif
