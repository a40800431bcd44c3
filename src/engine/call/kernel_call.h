/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_KERNEL_CALL_H
#define RLO_ENGINE_KERNEL_CALL_H

#include "engine/tensor/tensor.h"
#include "relayout/kernel.h"

/** What is behind the call that a kernel sees. */
typedef struct rlo__call {
  /** First, so that one leads to the other. */
  rlo_kernel_call call;
  rlo__backend_instance *instance;
  /** Of the outputs. */
  rlo__shared_shape *const *shapes;
} rlo__call;

#endif
