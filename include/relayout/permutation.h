/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_PERMUTATION_H
#define RELAYOUT_PERMUTATION_H

#include <stdbool.h>

#include "relayout/status.h"

RLO_BEGIN_DECLS

/**
 * Permutations of 0 .. size-1 as plain int32 arrays. A size of 0 is legal and
 * its array may be NULL. All functions are pure and safe from any thread.
 */

/** True if p holds each of 0 .. size-1 once. */
RLO_API bool rlo_permutation_is_valid(const int32_t *p, int32_t size);

/**
 * RLO_OK if p is a permutation; else RLO_INVALID_ARGUMENT with a sentence that
 * names the entry at fault ("permutation[2]=5 is out of range for rank 3").
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_validate(const int32_t *p,
                                                          int32_t size);

/** True if p[i] == i for every i. */
RLO_API bool rlo_permutation_is_identity(const int32_t *p, int32_t size);

/** out[p[i]] = i. `out` may not alias p. Requires a valid p. */
RLO_API void rlo_permutation_inverse(const int32_t *p,
                                     int32_t size,
                                     int32_t *out);

/** out[i] = first[second[i]]. `out` may not alias its inputs. */
RLO_API void rlo_permutation_compose(const int32_t *first,
                                     const int32_t *second,
                                     int32_t size,
                                     int32_t *out);

/** out[i] = in[p[i]]: NumPy's transpose applied to a list of dimensions. */
RLO_API void rlo_permutation_apply(const int32_t *p,
                                   int32_t size,
                                   const int64_t *in,
                                   int64_t *out);

RLO_END_DECLS

#endif
