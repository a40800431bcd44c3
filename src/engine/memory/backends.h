/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_BACKENDS_H
#define RLO_ENGINE_BACKENDS_H

#include "relayout/backend.h"
#include "relayout/opencl.h"

/** The built-in backends. */

#define RLO__HOST_BACKEND   RLO_BACKEND_NAME_HOST
#define RLO__OPENCL_BACKEND RLO_BACKEND_NAME_OPENCL

/** The rlo_backend_factory of "host": memory from the library's allocator,
 *  copies by the host mover, on a thread for each processor. A memory is the
 *  address of its bytes. */
RLO_NODISCARD rlo_status
rlo__host_backend_create(rlo_engine *engine,
                         void *payload,
                         const rlo_backend_methods **out_methods,
                         void **out_self);

/** The rlo_backend_factory of "opencl", whose payload is an rlo_context: device
 *  memory, copies by plans on one in-order queue. A memory is an
 *  rlo__device_memory (runtime/device_memory.h). */
RLO_NODISCARD rlo_status
rlo__opencl_backend_create(rlo_engine *engine,
                           void *payload,
                           const rlo_backend_methods **out_methods,
                           void **out_self);

/** Whether these are the methods of the built-in "opencl": a registered backend
 *  may have the same name. */
bool rlo__opencl_backend_is(const rlo_backend_methods *methods);

#endif
