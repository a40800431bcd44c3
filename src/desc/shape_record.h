/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_SHAPE_RECORD_H
#define RLO_DESC_SHAPE_RECORD_H

#include "relayout/shape.h"

/**
 * A shape as a row of numbers: those fields that count, in one order. Shapes
 * are compared and hashed by their records, and shape trees keep their leaves
 * so: an rlo_shape takes 5 KiB, its record mostly less than 200 bytes.
 *
 * Records stay in the process: the order may change at any time.
 */

/** The most numbers of a record: fields of less than 8 bytes take 8. */
#define RLO__SHAPE_RECORD_MAX (sizeof(rlo_shape) / sizeof(int64_t) + (size_t)3 * RLO_MAX_RANK)

/**
 * Writes the record of a shape for which rlo_shape_validate_unbounded holds.
 * Fields without a meaning for its kind of layout, and entries beyond its rank,
 * are left out.
 * @return the number of numbers.
 */
size_t rlo__shape_record(const rlo_shape *shape, int64_t out_record[RLO__SHAPE_RECORD_MAX]);

/** Reads the output of rlo__shape_record; what was left out is zero. */
void rlo__shape_from_record(const int64_t *record, rlo_shape *out_shape);

#endif
