/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_BACKEND_H
#define RELAYOUT_BACKEND_H

#include "relayout/engine.h"
#include "relayout/ops.h"

RLO_BEGIN_DECLS

/*
 * The backends of an engine. Each has a name, a factory and a priority; its
 * instance is made when it is first needed: set active, or asked for bytes.
 * Without rlo_backend_set, the first use tries the factories by falling
 * priority (of equal ones the first registered) until one succeeds.
 *
 * Built in: "host" with priority 1 and, over an rlo_context, "opencl" with 2.
 *
 * Errors. What is registered here says why it fails with rlo_error_set
 * (status.h), or passes on the failure of a relayout call; of one that says
 * nothing the error record names the function and the status.
 *
 * Threads: every function here is safe.
 */

/**
 * What a backend can do. Every function but `destroy` may be called by several
 * threads at once. Memory is the backend's own object; data in it never changes
 * once it was handed out.
 */
typedef struct rlo_backend_methods {
  /** sizeof(rlo_backend_methods). */
  size_t struct_size;
  /** Memory of at least 1 byte. */
  rlo_status (*allocate)(void *self, int64_t bytes, void **out_memory);
  void (*free)(void *self, void *memory);
  /** Copy from the host, and be done with `data` on return. The memory is new:
   *  nothing was written or run into it. */
  rlo_status (*write)(void *self,
                      void *memory,
                      const void *data,
                      int64_t bytes);
  /** Copy to the host, after whatever makes the data. */
  rlo_status (*read)(void *self, void *memory, void *out_data, int64_t bytes);
  /** The data's own address in host memory; NULL: the backend has none. */
  void *(*host_pointer)(void *self, void *memory);
  /** Get moves ready to run, which on success are the backend's to release.
   *  NULL: the built-in kernels are not to run here. */
  rlo_status (*prepare)(void *self, rlo_moves *moves, void **out_program);
  /** The same for a segment sum, which on success is the backend's to release;
   *  its operands are the rows and the ids. NULL: there are none here. */
  rlo_status (*prepare_segment_sum)(void *self,
                                    rlo_segment_sum *sum,
                                    void **out_program);
  /** Run what was prepared; moves in order, each with the operand and the
   *  indices it reads (rlo_moves_operand, rlo_moves_indices). An operand or a
   *  destination of 0 bytes is NULL. The destination is new; where its layout
   *  has slots without element and without fill, it was cleared. */
  rlo_status (*run)(void *self,
                    void *program,
                    void *const *operands,
                    void *dst);
  void (*release_program)(void *self, void *program);
  /** The instance goes: no memory and no program of it is left. */
  void (*destroy)(void *self);
  /** Set all `bytes` of new memory to 0, before whatever is run into it. NULL:
   *  the engine writes zeros from the host. */
  rlo_status (*clear)(void *self, void *memory, int64_t bytes);
} rlo_backend_methods;

/**
 * Make an instance of a backend. Must not register, unregister or change
 * backends.
 * @param out_methods  static.
 * @param out_self     handed to every method.
 */
typedef rlo_status (*rlo_backend_factory)(
    rlo_engine *engine,
    void *payload,
    const rlo_backend_methods **out_methods,
    void **out_self);

/**
 * Register a backend.
 * @param name     copied.
 * @param factory  with its payload, borrowed while registered.
 * @return RLO_OK; RLO_ALREADY_EXISTS; RLO_INVALID_ARGUMENT for a NULL or an
 *         empty name, or from within a setup, dispose or factory;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_backend_register(rlo_engine *engine,
                     const char *name,
                     rlo_backend_factory factory,
                     void *payload,
                     int32_t priority);

/**
 * Make a backend the active one; if it has no instance yet, make that and set
 * up its kernels.
 * @return RLO_OK; RLO_NOT_FOUND with the names there are; RLO_INVALID_ARGUMENT
 *         from within a setup, dispose or factory; or what the factory or a
 *         kernel's setup says: then the active backend is the one it was, and
 *         what was set up has been disposed of.
 */
RLO_API RLO_NODISCARD rlo_status rlo_backend_set(rlo_engine *engine,
                                                 const char *name);

/**
 * The name of the active backend, which is chosen now if there is none;
 * borrowed from the engine.
 * @return RLO_OK; RLO_NOT_FOUND if no backend is registered; if every factory
 *         fails, what the last one said, with the names of all.
 */
RLO_API RLO_NODISCARD rlo_status rlo_backend_active(rlo_engine *engine,
                                                    const char **out_name);

/** The registered backends, by falling priority. Names are borrowed from the
 *  engine. As rlo_kernel_list. */
RLO_API RLO_NODISCARD rlo_status rlo_backend_list(rlo_engine *engine,
                                                  const char **out_names,
                                                  int32_t capacity,
                                                  int32_t *out_count);

/**
 * Take a backend out: its kernels are disposed of but stay registered, for when
 * a backend of that name comes back. Tensors on it live on, and so does the
 * instance until the last of them goes. If it was active, none is.
 * @return RLO_OK; RLO_NOT_FOUND; RLO_INVALID_ARGUMENT from within a setup,
 *         dispose or factory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_backend_remove(rlo_engine *engine,
                                                    const char *name);

RLO_END_DECLS

#endif
