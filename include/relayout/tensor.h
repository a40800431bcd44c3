/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_TENSOR_H
#define RELAYOUT_TENSOR_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** Owns tensors, backends and kernels: engine.h. */
typedef struct rlo_engine rlo_engine;

/**
 * An array of a shape, layout included, whose bytes (rlo_shape_array_size of
 * them, perhaps none) a backend owns.
 *
 * Counted: a function that creates a tensor returns a reference to it,
 * rlo_tensor_retain takes another, rlo_tensor_release releases one. A tensor
 * keeps its engine alive. Slots of a new result that hold no element and take
 * no fill are 0. Its contents never change: views and results may
 * share memory. A tensor that is used on another backend is copied there, and
 * keeps the copy (rlo_engine_stats counts them).
 *
 * In an engine that fuses, the result of a copy operation may be pending: its
 * bytes are computed when they are first needed.
 *
 * Threads: every function here is safe, on one tensor too.
 */
typedef struct rlo_tensor rlo_tensor;

/**
 * Creates a tensor on the active backend from bytes in host memory.
 * @param shape  borrowed, copied; any layout.
 * @param data   the shape's physical bytes, copied before this returns; NULL
 *               for all bytes 0.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL engine, shape or output;
 *         RLO_NOT_FOUND without any backend; RLO_OUT_OF_MEMORY; RLO_DEVICE;
 *         the statuses of rlo_shape_validate.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_create(rlo_engine *engine, const rlo_shape *shape,
                                                   const void *data, rlo_tensor **out_tensor);

/**
 * Creates a tensor whose elements all are one constant of its type; slots
 * without element take the layout's fill, or 0.
 * @return as rlo_tensor_create; RLO_UNSUPPORTED if the type has no such
 *         value.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_create_constant(rlo_engine *engine,
                                                            const rlo_shape *shape,
                                                            rlo_dtype_constant constant,
                                                            rlo_tensor **out_tensor);

/** Called once when the engine no longer uses memory of the caller's. May be
 *  called by any thread; must not call relayout. */
typedef void (*rlo_release_fn)(void *payload);

/**
 * Creates a tensor of the host backend over the caller's memory, without
 * copying.
 * @param data     the shape's physical bytes, which must not change until
 *                 `release` is called. NULL only for 0 bytes.
 * @param release  NULL: the memory outlives the engine. Not called after a
 *                 failure.
 * @return as rlo_tensor_create; RLO_NOT_FOUND if the engine has no host
 *         backend, or not the built-in one.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_wrap_host(rlo_engine *engine, const rlo_shape *shape,
                                                      const void *data, rlo_release_fn release,
                                                      void *payload, rlo_tensor **out_tensor);

/** Takes a reference; returns the tensor. NULL is legal. */
RLO_API rlo_tensor *rlo_tensor_retain(rlo_tensor *tensor);

/** Releases a reference; NULL is legal. */
RLO_API void rlo_tensor_release(rlo_tensor *tensor);

/** The tensor's shape; borrowed from the tensor. NULL for NULL. */
RLO_API const rlo_shape *rlo_tensor_shape(const rlo_tensor *tensor);

/** The tensor's engine; borrowed. NULL for NULL. */
RLO_API rlo_engine *rlo_tensor_engine(const rlo_tensor *tensor);

/** The physical bytes of the tensor; 0 for NULL. */
RLO_API int64_t rlo_tensor_bytes(const rlo_tensor *tensor);

/** The name of the backend that owns the bytes, or that a pending tensor will
 *  be computed on; borrowed from the tensor. NULL for NULL. */
RLO_API const char *rlo_tensor_backend_name(rlo_tensor *tensor);

/** Tells if the bytes are still to be computed; false for NULL. */
RLO_API bool rlo_tensor_is_pending(rlo_tensor *tensor);

/** Computes the bytes of a pending tensor; does nothing for others.
 *  @return RLO_OK; the statuses of its kernels. */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_materialize(rlo_tensor *tensor);

/**
 * Copies the tensor's physical bytes to the host, in their layout. Waits until
 * they are computed.
 * @param bytes  rlo_tensor_bytes.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or another number of bytes;
 *         the statuses of rlo_tensor_materialize; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_read(rlo_tensor *tensor, void *out_data, int64_t bytes);

/**
 * Borrows the tensor's bytes in host memory; a tensor of another backend is
 * copied first.
 * @param out_data  valid as long as the tensor; NULL for 0 bytes.
 * @return as rlo_tensor_read; RLO_NOT_FOUND if the engine has no host backend.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_host_data(rlo_tensor *tensor, const void **out_data);

/**
 * Creates a tensor of another shape with the same bytes.
 * @param shape  of the same element type, a bitcast of the tensor's shape:
 *               rlo_shape_reshape_is_bitcast, or rlo_shape_is_same_bytes.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if it is no bitcast; RLO_OUT_OF_MEMORY;
 *         the statuses of rlo_shape_validate and rlo_tensor_materialize.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_view(rlo_tensor *tensor, const rlo_shape *shape,
                                                 rlo_tensor **out_view);

/** Tells if two tensors share their memory; false for NULL and pending ones. */
RLO_API bool rlo_tensor_shares_memory(rlo_tensor *a, rlo_tensor *b);

RLO_END_DECLS

#endif
