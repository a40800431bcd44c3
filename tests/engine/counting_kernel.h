/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_ENGINE_COUNTING_KERNEL_H
#define RLO_TESTS_ENGINE_COUNTING_KERNEL_H

#include "relayout/kernel.h"

/** The calls of a kernel, and how it behaves. Static, as it outlives the
 *  engine. */
typedef struct counted_kernel {
  int setups, disposals, runs;
  rlo_status setup_status;
  /** The factor by which the kernel of config_of multiplies. */
  float factor;
} counted_kernel;

/** A kernel that multiplies floats on the host by c->factor. */
rlo_kernel_config config_of(const char *kernel, const char *backend, counted_kernel *c);

#endif
