/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_GRADIENT_H
#define RELAYOUT_GRADIENT_H

#include "relayout/engine.h"

RLO_BEGIN_DECLS

/*
 * The gradient registry of an engine: kernel name to gradient, the same for
 * every backend. A gradient is the vector-Jacobian product of its kernel: given
 * dy for every result, the dx of every input. It is made of kernels, so that a
 * tape (tape.h) can record it and a gradient of a gradient can be taken.
 *
 * Every built-in kernel has one; docs/gradients.md tells how they are derived.
 *
 * Errors. What is registered here says why it fails with rlo_error_set
 * (status.h), or passes on the failure of a relayout call; of one that says
 * nothing the error record names the function and the status.
 *
 * Threads: every function here is safe.
 */

/** A gradient to be computed. All parts are borrowed for the call. */
typedef struct rlo_gradient_call {
  rlo_engine *engine;
  const char *kernel_name;
  /** One for each result of the kernel: of its type and dimensions, in any
   *  layout. Zeros for a result that nothing depends on. */
  rlo_tensor *const *dys;
  int32_t num_outputs;
  /** The inputs that the config asked for, then the outputs; with
   *  rlo_custom_gradient what its forward function saved, in that order. */
  rlo_tensor *const *saved;
  int32_t num_saved;
  /** Of every input: what needs the shape alone saves nothing. */
  const rlo_shape *const *input_shapes;
  int32_t num_inputs;
  /** As the kernel got them; may be NULL. */
  const rlo_attributes *attributes;
  /** Which inputs a gradient is asked for. */
  const bool *wants;
  /** NULL each; the gradient writes a reference that it owns for every input
   *  that is wanted: of the input's type and dimensions, in any layout. What is
   *  there beyond that, or when it fails, is released. */
  rlo_tensor **dxs;
} rlo_gradient_call;

/** Compute a gradient by running kernels. May be called by several threads at
 *  once. */
typedef rlo_status (*rlo_gradient_fn)(rlo_gradient_call *call, void *payload);

/** A gradient. Begin with RLO_GRADIENT_CONFIG_INIT. */
typedef struct rlo_gradient_config {
  /** sizeof(rlo_gradient_config). */
  size_t struct_size;
  /** Copied. */
  const char *kernel_name;
  /** Bit n: input n is wanted in `saved`, if there is one; of 64 and more,
   *  those that saves_all_inputs covers. Saving is a reference, no copy. */
  uint64_t saved_inputs;
  uint64_t saved_outputs;
  bool saves_all_inputs;
  rlo_gradient_fn run;
  /** Handed to `run`; borrowed while registered, and by tapes that recorded the
   *  kernel meanwhile. */
  void *payload;
} rlo_gradient_config;

#define RLO_GRADIENT_CONFIG_INIT \
  { sizeof(rlo_gradient_config), NULL, 0, 0, false, NULL, NULL }

/** How to register. */
enum {
  /** Take the place of the gradient of the same kernel. */
  RLO_GRADIENT_REPLACE = 1 << 0
};

/**
 * Register a gradient. The kernel need not be registered (yet). A tape uses the
 * gradient that was registered when it recorded the kernel.
 * @param flags    RLO_GRADIENT_REPLACE or 0.
 * @param out_old  what was replaced, its name borrowed from the engine;
 *                 kernel_name NULL if there was nothing. May be NULL.
 * @return RLO_OK; RLO_ALREADY_EXISTS without RLO_GRADIENT_REPLACE;
 *         RLO_INVALID_ARGUMENT for a config that is none, or from within a
 *         setup or dispose; RLO_OUT_OF_MEMORY. On failure the registry is as it
 *         was.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_gradient_register(rlo_engine *engine,
                      const rlo_gradient_config *config,
                      uint32_t flags,
                      rlo_gradient_config *out_old);

/** Take a gradient out. @return RLO_OK; RLO_NOT_FOUND; RLO_INVALID_ARGUMENT for
 *  a NULL, or from within a setup or dispose. */
RLO_API RLO_NODISCARD rlo_status
rlo_gradient_unregister(rlo_engine *engine, const char *kernel_name);

/** Find a gradient. @return RLO_OK, with the config as it was registered, its
 *  name borrowed from the engine; RLO_NOT_FOUND, naming the kernel;
 *  RLO_INVALID_ARGUMENT for a NULL. */
RLO_API RLO_NODISCARD rlo_status
rlo_gradient_find(rlo_engine *engine,
                  const char *kernel_name,
                  rlo_gradient_config *out_config);

/**
 * The vector-Jacobian product of one kernel, without a tape. The kernel itself
 * runs only if its gradient asks for outputs.
 *
 * @param inputs   what the kernel is given; of most built-in ones only the
 *                 shapes matter.
 * @param dys      one for each result, of its type and dimensions, in any
 *                 layout; NULL stands for zeros.
 * @param wants    one flag for each input; NULL: all.
 * @param out_dxs  room for `num_inputs` tensors, which become the caller's;
 *                 NULL where nothing was wanted.
 * @return RLO_OK; RLO_NOT_FOUND for a kernel without gradient, or that the
 *         active backend lacks; RLO_INVALID_ARGUMENT, before anything runs, for
 *         NULLs, tensors of another engine, a wrong number of dys, or a dy of
 *         another type or other dimensions than its result; RLO_UNSUPPORTED
 *         where values of a type would have to be added that are not added; or
 *         what inferring and running kernels say. On failure no output is
 *         written.
 */
RLO_API RLO_NODISCARD rlo_status rlo_vjp(rlo_engine *engine,
                                         const char *kernel_name,
                                         rlo_tensor *const *inputs,
                                         int32_t num_inputs,
                                         const rlo_attributes *attributes,
                                         rlo_tensor *const *dys,
                                         int32_t num_dys,
                                         const bool *wants,
                                         rlo_tensor **out_dxs);

RLO_END_DECLS

#endif
