/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_TENSOR_H
#define RELAYOUT_TENSOR_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** Tensors, backends and kernels that belong together: engine.h. */
typedef struct rlo_engine rlo_engine;

/**
 * An array of a shape, layout included, whose bytes (rlo_shape_array_size of
 * them, perhaps none) a backend owns.
 *
 * Counted: whoever creates a tensor or gets one as an output has one reference,
 * rlo_tensor_retain takes one more, rlo_tensor_release gives one back. A tensor
 * keeps its engine alive. Slots of a new result that hold no element and take
 * no fill are 0. Its contents never change: views and results may
 * share memory, and using a tensor on another backend makes a copy there, kept
 * until the tensor goes (counted in rlo_engine_stats).
 *
 * In an engine that fuses, the result of a move may be pending: it remembers
 * what is to be done, which happens when its bytes are first needed.
 *
 * Threads: every function here is safe, on one tensor too.
 */
typedef struct rlo_tensor rlo_tensor;

/**
 * Create a tensor on the active backend from bytes of the host.
 * @param shape  borrowed, copied; any layout.
 * @param data   the shape's physical bytes, copied before this returns; NULL
 *               for all bytes 0.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL engine, shape or output;
 *         RLO_NOT_FOUND without any backend; RLO_OUT_OF_MEMORY; RLO_DEVICE; or
 *         what rlo_shape_validate says.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_create(rlo_engine *engine,
                                                   const rlo_shape *shape,
                                                   const void *data,
                                                   rlo_tensor **out_tensor);

/**
 * Create a tensor whose elements are all one constant of its type; slots
 * without element take the layout's fill, or 0.
 * @return as rlo_tensor_create; RLO_UNSUPPORTED where the type has no such
 *         value.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_tensor_create_constant(rlo_engine *engine,
                           const rlo_shape *shape,
                           rlo_dtype_constant constant,
                           rlo_tensor **out_tensor);

/** Told once when memory that was lent is no longer used. May come from any
 *  thread; must not call relayout. */
typedef void (*rlo_release_fn)(void *payload);

/**
 * Make a tensor of the host backend over memory of the caller's, without
 * copying.
 * @param data     the shape's physical bytes, not changed by anyone until
 *                 `release` was called. NULL only for 0 bytes.
 * @param release  NULL: the memory outlives the engine. On failure it is not
 *                 called.
 * @return as rlo_tensor_create; RLO_NOT_FOUND if the engine has no host
 *         backend.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_wrap_host(rlo_engine *engine,
                                                      const rlo_shape *shape,
                                                      const void *data,
                                                      rlo_release_fn release,
                                                      void *payload,
                                                      rlo_tensor **out_tensor);

/** Take a reference; returns the tensor. NULL is legal. */
RLO_API rlo_tensor *rlo_tensor_retain(rlo_tensor *tensor);

/** Give a reference back; NULL is legal. */
RLO_API void rlo_tensor_release(rlo_tensor *tensor);

/** The tensor's shape; borrowed until the tensor goes. NULL for NULL. */
RLO_API const rlo_shape *rlo_tensor_shape(const rlo_tensor *tensor);

/** The tensor's engine; borrowed. NULL for NULL. */
RLO_API rlo_engine *rlo_tensor_engine(const rlo_tensor *tensor);

/** The physical bytes of the tensor; 0 for NULL. */
RLO_API int64_t rlo_tensor_bytes(const rlo_tensor *tensor);

/** The name of the backend that owns the bytes, or that a pending tensor will
 *  run on; borrowed until the tensor goes. NULL for NULL. */
RLO_API const char *rlo_tensor_backend_name(rlo_tensor *tensor);

/** Whether the bytes are yet to be made; false for NULL. */
RLO_API bool rlo_tensor_is_pending(rlo_tensor *tensor);

/** Make the bytes of a pending tensor now; else nothing.
 *  @return RLO_OK; or what running its kernels says. */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_materialize(rlo_tensor *tensor);

/**
 * Copy the tensor's physical bytes to the host, in the layout they have. Waits
 * for whatever makes them.
 * @param bytes  rlo_tensor_bytes.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or another number of bytes;
 *         what rlo_tensor_materialize says; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_read(rlo_tensor *tensor,
                                                 void *out_data,
                                                 int64_t bytes);

/**
 * Borrow the tensor's bytes in host memory; a tensor of another backend is
 * copied first.
 * @param out_data  valid until the tensor goes; NULL for 0 bytes.
 * @return as rlo_tensor_read; RLO_NOT_FOUND if the engine has no host backend.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_host_data(rlo_tensor *tensor,
                                                      const void **out_data);

/**
 * See a tensor's bytes as another shape, without moving one.
 * @param shape  of the same element type, a bitcast of the tensor's shape:
 *               rlo_shape_reshape_is_bitcast, or rlo_shape_is_same_bytes.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if it is no bitcast; RLO_OUT_OF_MEMORY;
 *         or what rlo_shape_validate and rlo_tensor_materialize say.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_view(rlo_tensor *tensor,
                                                 const rlo_shape *shape,
                                                 rlo_tensor **out_view);

/** Whether two tensors share their memory; false for NULL and pending ones. */
RLO_API bool rlo_tensor_shares_memory(rlo_tensor *a, rlo_tensor *b);

RLO_END_DECLS

#endif
