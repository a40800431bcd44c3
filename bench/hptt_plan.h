/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_HPTT_PLAN_H
#define RLO_BENCH_HPTT_PLAN_H

/*
 * HPTT's plans, for C: its own C functions make a new plan at every call, and
 * would be timed with it.
 */
#ifdef __cplusplus
extern "C" {
#endif

/** Row-major. NULL if HPTT refuses. @param element_bytes 4 or 8. */
void *bench_hptt_plan_create(const int *permutation, int rank, const int *dims, int element_bytes,
                             const void *src, void *dst, int num_threads, int is_measured);

void bench_hptt_plan_execute(void *plan);
void bench_hptt_plan_release(void *plan);

#ifdef __cplusplus
}
#endif

#endif
