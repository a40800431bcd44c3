/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_HOST_BACKEND_H
#define RLO_ENGINE_HOST_BACKEND_H

#include "relayout/backend.h"

/** The name of the backend of the host. */
#define RLO__HOST_BACKEND "host"

/** The rlo_backend_factory of "host": memory of the library's allocator, moves
 *  by rlo_problem_run_host. A memory is the address of its bytes. */
RLO_NODISCARD rlo_status
rlo__host_backend_create(rlo_engine *engine,
                         void *payload,
                         const rlo_backend_methods **out_methods,
                         void **out_self);

#endif
