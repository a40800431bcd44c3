/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_LATENCY_ENGINE_H
#define RLO_BENCH_LATENCY_ENGINE_H

#include "suite.h"

/** Times an operation on a tensor, whose result is made and released each time,
 *  beside rlo_enqueue of the same move. Part of the suite `latency`. */
bool bench_latency_engine_run(bench_run *run);

#endif
