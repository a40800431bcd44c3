/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the kernels of the CPU class that compute: vectors of
 * RLO_LANES values and the arithmetic of arith.cl.
 */
#ifndef RLO_CPU_COMPUTE_COMMON_CL
#define RLO_CPU_COMPUTE_COMMON_CL

#include "arith.cl"
#include "cpu_common.cl"

/* Points of whole vectors that make whole lines. */
#define RLO_LINE_POINTS                                                        \
  (RLO_LINE_BYTES / RLO_SRC_BYTES > RLO_LANES ? RLO_LINE_BYTES / RLO_SRC_BYTES \
                                              : RLO_LANES)

#if RLO_LANES > 1
/* n of RLO_LANES source units; the others are 0. */
RLO_INLINE rlo_src_raw rlo_load_some(__global const uchar *p, long n) {
  if (n >= RLO_LANES) {
    return RLO_LOAD_SRC(__global, p);
  }
  rlo_line some[RLO_LANES * RLO_SRC_BYTES / 64 + 1] = {0};
  __private uchar *x = (__private uchar *)some;
  for (long k = 0; k < n * RLO_SRC_BYTES; ++k) {
    x[k] = p[k];
  }
  return RLO_LOAD_SRC(__private, x);
}
#endif

#endif
