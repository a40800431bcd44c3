/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixteen values at a time, for kernels of the CPU class that compute.
 */
#ifndef RLO_CPU_LANES_CL
#define RLO_CPU_LANES_CL

#define RLO_LANES 16
#include "cpu_common.cl"
#include "arith.cl"

/* n of sixteen source units; the others are 0. */
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
