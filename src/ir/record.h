/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_RECORD_H
#define RLO_IR_RECORD_H

#include "relayout/problem.h"

/**
 * A problem as a row of numbers: its counted parts and nothing else, a
 * hundredth of the struct for most. Equal records are equal problems, byte
 * counts included; records of equal problems may differ in what a problem does
 * not use.
 */

/** Numbers of a problem's record; 0 if its counts are beyond their limits, so
 *  that it is no problem at all. */
size_t rlo__record_count(const rlo_problem *problem);

/** Writes the record of a problem whose counts are within their limits. */
void rlo__record_write(const rlo_problem *problem, int64_t *out_record);

/** Reads a record back into memory of any contents. */
void rlo__record_read(const int64_t *record, rlo_problem *out_problem);

#endif
