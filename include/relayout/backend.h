/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_BACKEND_H
#define RELAYOUT_BACKEND_H

#include "relayout/engine.h"
#include "relayout/ops.h"

RLO_BEGIN_DECLS

/*
 * The backends of an engine. Each has a name, a factory and a priority; its
 * instance is created on first use: when it is activated, or needed for bytes.
 * Without rlo_backend_set, the first use tries the factories by descending
 * priority (of equal ones the first registered) until one succeeds.
 *
 * Built in: "host" with priority 1 and, over an rlo_context, "opencl" with 2.
 *
 * Errors. A registered function that fails sets a message with rlo_error_set
 * (status.h), or returns the status of a relayout call. Without a message the
 * error record names the function and the status.
 *
 * Threads: every function here is safe.
 */

/**
 * The methods of a backend. All but `destroy` may be called by several threads
 * at once. A memory is an object of the backend; its data does not change once
 * it is written.
 */
typedef struct rlo_backend_methods {
  /** sizeof(rlo_backend_methods). */
  size_t struct_size;
  /** Allocates at least 1 byte. */
  rlo_status (*allocate)(void *self, int64_t bytes, void **out_memory);
  void (*free)(void *self, void *memory);
  /** Copies from the host; `data` is not used after the return. The memory is
   *  new: nothing has written to it. */
  rlo_status (*write)(void *self, void *memory, const void *data, int64_t bytes);
  /** Copies to the host, after what computes the data. */
  rlo_status (*read)(void *self, void *memory, void *out_data, int64_t bytes);
  /** The address of the data in host memory; NULL: the backend has none. */
  void *(*host_pointer)(void *self, void *memory);
  /** Prepares moves to run. On success the backend owns them. NULL: the backend
   *  does not run built-in kernels. */
  rlo_status (*prepare)(void *self, rlo_problem_list *moves, void **out_program);
  /** The same for a segment sum, which on success is the backend's to release;
   *  its operands are the rows and the ids. NULL: there are none here. */
  rlo_status (*prepare_segment_sum)(void *self, rlo_segment_sum *sum, void **out_program);
  /** Runs a program; moves in order, each with the operand and the
   *  indices it reads (rlo_problem_list_operand, rlo_problem_list_indices). An
   * operand or a destination of 0 bytes is NULL. The destination is new; it was
   * cleared if its layout has slots without element and without fill. */
  rlo_status (*run)(void *self, void *program, void *const *operands, void *dst);
  void (*release_program)(void *self, void *program);
  /** Destroys the instance: none of its memories and programs is left. */
  void (*destroy)(void *self);
  /** Sets all `bytes` of new memory to 0, before anything writes to it. NULL:
   *  the engine writes zeros from the host. */
  rlo_status (*clear)(void *self, void *memory, int64_t bytes);
} rlo_backend_methods;

/**
 * Creates an instance of a backend. Must not register, unregister or change
 * backends.
 * @param out_methods  static.
 * @param out_self     passed to every method.
 */
typedef rlo_status (*rlo_backend_factory)(rlo_engine *engine, void *payload,
                                          const rlo_backend_methods **out_methods, void **out_self);

/**
 * Registers a backend.
 * @param name     copied.
 * @param factory  with its payload, borrowed while registered.
 * @return RLO_OK; RLO_ALREADY_EXISTS; RLO_INVALID_ARGUMENT for a NULL or an
 *         empty name, or from within a setup, dispose or factory;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_backend_register(rlo_engine *engine, const char *name,
                                                      rlo_backend_factory factory, void *payload,
                                                      int32_t priority);

/**
 * Activates a backend; creates its instance and sets up its kernels on first
 * use.
 * @return RLO_OK; RLO_NOT_FOUND, naming the backends; RLO_INVALID_ARGUMENT
 *         from within a setup, dispose or factory; the statuses of the
 *         factory and of kernel setups: then the active backend is unchanged,
 *         and the kernels that were set up have been disposed of.
 */
RLO_API RLO_NODISCARD rlo_status rlo_backend_set(rlo_engine *engine, const char *name);

/**
 * The name of the active backend, which is chosen on first use; borrowed from
 * the engine.
 * @return RLO_OK; RLO_NOT_FOUND if no backend is registered; the status of the
 *         last factory if all fail.
 */
RLO_API RLO_NODISCARD rlo_status rlo_backend_active(rlo_engine *engine, const char **out_name);

/** The registered backends, by descending priority. Names are borrowed from the
 *  engine. As rlo_kernel_list. */
RLO_API RLO_NODISCARD rlo_status rlo_backend_list(rlo_engine *engine, const char **out_names,
                                                  int32_t capacity, int32_t *out_count);

/**
 * Removes a backend: its kernels are disposed of but stay registered, for
 * another backend of that name. Its tensors stay valid, and the instance lives
 * as long as they do. If it was active, no backend is.
 * @return RLO_OK; RLO_NOT_FOUND; RLO_INVALID_ARGUMENT from within a setup,
 *         dispose or factory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_backend_remove(rlo_engine *engine, const char *name);

RLO_END_DECLS

#endif
