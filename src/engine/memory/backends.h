/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_BACKENDS_H
#define RLO_ENGINE_BACKENDS_H

#include "engine/memory/backend_instance.h"
#include "move/place.h"

/** The built-in backends. */

#define RLO__HOST_BACKEND   RLO_BACKEND_NAME_HOST
#define RLO__OPENCL_BACKEND RLO_BACKEND_NAME_OPENCL

/** The rlo_backend_factory of both: a place, which is `self`. A memory is an
 *  rlo__memory, a program an rlo__move.
 *  @param payload  the context of "opencl"; NULL for "host". */
RLO_NODISCARD rlo_status
rlo__backend_create(rlo_engine *engine,
                    void *payload,
                    const rlo_backend_methods **out_methods,
                    void **out_self);

/** The place of a built-in backend; NULL for another one, which may have the
 *  same name. */
rlo__place *rlo__backend_place(const rlo__backend_instance *instance);

#endif
