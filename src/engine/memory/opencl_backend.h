/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_OPENCL_BACKEND_H
#define RLO_ENGINE_OPENCL_BACKEND_H

#include "relayout/backend.h"
#include "relayout/opencl.h"

/** The name of the backend of an rlo_context. */
#define RLO__OPENCL_BACKEND "opencl"

/** The rlo_backend_factory of "opencl", whose payload is an rlo_context: device
 *  memory, moves by plans, one in-order queue. A memory is an
 *  rlo__device_memory of runtime/device_memory.h. */
RLO_NODISCARD rlo_status
rlo__opencl_backend_create(rlo_engine *engine,
                           void *payload,
                           const rlo_backend_methods **out_methods,
                           void **out_self);

/** Whether these are the methods of the built-in "opencl". */
bool rlo__opencl_backend_is(const rlo_backend_methods *methods);

#endif
