/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_TENSOR_H
#define RLO_ENGINE_TENSOR_H

#include "engine/tensor/tensor_lifetime.h"
#include "move/memory.h"

/** Gets a new reference to a built-in backend, and its place.
 *  @return RLO_OK; RLO_NOT_FOUND if there is none, or another one of the name.
 */
RLO_NODISCARD rlo_status
rlo__tensor_get_place(rlo_engine *engine,
                      const char *name,
                      rlo__backend_instance **out_instance,
                      rlo__place **out_place);

/** As rlo__tensor_create, for bytes of the caller's.
 *  @param memory   of the instance's place, over these bytes; taken over, also
 *                  on failure; NULL for 0 bytes.
 *  @param release  called once, when the bytes are free; never, if this fails.
 */
RLO_NODISCARD rlo_status
rlo__tensor_create_external(rlo_engine *engine,
                            rlo__shared_shape *shape,
                            rlo__backend_instance *instance,
                            rlo__memory *memory,
                            rlo_release_fn release,
                            void *payload,
                            rlo_tensor **out_tensor);

/** Returns a new reference to the tensor's bytes on an instance, NULL for
 *  wherever they are: computes them if they are pending, copies them if they
 *  are elsewhere. */
RLO_NODISCARD rlo_status rlo__tensor_need(rlo_tensor *tensor,
                                          rlo__backend_instance *instance,
                                          rlo__allocation **out_allocation);

/** Returns a new reference to the tensor's bytes, or else to the computation
 *  that it waits for. */
void rlo__tensor_peek(rlo_tensor *tensor,
                      rlo__allocation **out_allocation,
                      rlo__pending *out_pending);

/** RLO_OK for a tensor of this engine; the message names it by `role` and
 *  `index`: "input 2 is NULL". */
RLO_NODISCARD rlo_status rlo__tensor_check(const rlo_tensor *tensor,
                                           const rlo_engine *engine,
                                           const char *role,
                                           int32_t index);

#endif
