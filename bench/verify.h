/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_VERIFY_H
#define RLO_BENCH_VERIFY_H

#include "case.h"

/**
 * Compare what a contestant wrote with what the shapes say.
 *
 * Cells are looked up one by one through rlo_index_from_linear and
 * rlo_index_to_linear: the first and last thousands and some at random. A
 * destination of at most a MiB or so is moreover compared whole with what
 * rlo_problem_run_host makes; so is what is computed, and what a chain makes,
 * at any size. The guard behind it must be as it was.
 *
 * @param dst  cleared with the sentinel before the contestant ran.
 * @return false with the sentence in out_reason if a byte is wrong.
 */
bool bench_verify(const bench_case *item, const rlo_problem *problem, const uint8_t *src,
                  const uint8_t *dst, char out_reason[256]);

/** The same of exactly the problem's bytes, without a guard behind them. Slots
 *  without fill that hold no element are the sentinel. */
bool bench_verify_bytes(const bench_case *item, const rlo_problem *problem, const uint8_t *src,
                        const uint8_t *dst, char out_reason[256]);

#endif
