/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_GRADIENT_H
#define RELAYOUT_GRADIENT_H

#include "relayout/engine.h"

RLO_BEGIN_DECLS

/*
 * The gradient registry of an engine: kernel name to gradient, the same for
 * every backend. A gradient is the vector-Jacobian product of its kernel: given
 * dy for every result, the dx of every input. It is made of kernels, so that a
 * tape (gradient.h) can record it and a gradient of a gradient can be taken.
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

/**
 * A record of the kernels that one thread runs on one engine, from which
 * gradients are computed backwards.
 *
 * Tapes nest: each records all that its thread runs while it is open, the
 * gradients of other tapes included, so that a gradient of a gradient is a tape
 * around a tape. A tape does not record the gradients computed from itself. A
 * kernel that runs other kernels is recorded as one.
 *
 * A tape keeps what gradients asked to save, and shapes and attributes of all
 * else.
 *
 * Threads: any number of tapes may be open in any number of threads, also for
 * one engine; but each belongs to the thread that began it, sees what that
 * thread runs, and is used and ended there: other threads are refused with
 * RLO_INVALID_ARGUMENT.
 */
typedef struct rlo_tape rlo_tape;

/**
 * Begin to record what this thread runs on the engine.
 * @param out_tape  to be given to rlo_tape_end.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tape_begin(rlo_engine *engine,
                                                rlo_tape **out_tape);

/** Stop recording and let everything go; NULL is legal. Tapes may end in any
 *  order. @return RLO_OK; RLO_INVALID_ARGUMENT, with the tape as it was, from
 *  another thread, or while a gradient is computed from it. */
RLO_API RLO_NODISCARD rlo_status rlo_tape_end(rlo_tape *tape);

/** How many kernels a tape has recorded; 0 for NULL. */
RLO_API int64_t rlo_tape_length(const rlo_tape *tape);

/** How to compute gradients. */
enum {
  /** The gradient of what y does not depend on is NULL, no error. */
  RLO_TAPE_ALLOW_UNCONNECTED = 1 << 0
};

/**
 * The gradients of y with respect to some tensors: dx = J^T dy. Any number of
 * times for one tape. Gradients are computed only of kernels that lie on a way
 * from one of the xs to y, and only for their inputs on such a way. Several
 * contributions to one tensor are added with AddN in the order in which they
 * arise, from the last kernel to the first; f16 and bf16 in f32.
 *
 * @param y     a tensor that was made while the tape was open, or one of xs.
 * @param dy    of y's type and dimensions, in any layout; NULL: ones.
 * @param xs    `count` tensors.
 * @param flags RLO_TAPE_ALLOW_UNCONNECTED or 0.
 * @param out_dxs  room for `count` tensors, which become the caller's: of the
 *                 x's type and dimensions.
 * @return RLO_OK; all of the following before anything runs:
 *         RLO_INVALID_ARGUMENT for NULLs, tensors of another engine, a dy of
 *         another type or other dimensions than y, an x from which there is no
 *         way to y, another thread, or from within a gradient of this tape;
 *         RLO_NOT_FOUND for a kernel on the way that had no gradient when it
 *         ran. Else RLO_UNSUPPORTED where values of a type would have to be
 *         added that are not added; or what gradients and kernels say. On
 *         failure no output is written and the tape is as it was.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tape_gradients(rlo_tape *tape,
                                                    rlo_tensor *y,
                                                    rlo_tensor *dy,
                                                    rlo_tensor *const *xs,
                                                    int32_t count,
                                                    uint32_t flags,
                                                    rlo_tensor **out_dxs);

/** A function of tensors: runs kernels and writes a reference that it owns into
 *  *out_y. */
typedef rlo_status (*rlo_tensor_fn)(rlo_engine *engine,
                                    rlo_tensor *const *xs,
                                    int32_t count,
                                    rlo_tensor **out_y,
                                    void *payload);

/**
 * y = f(xs) and its gradients, with a tape of its own that is gone afterwards,
 * also if f fails.
 * @param out_y    the caller's; may be NULL.
 * @param out_dxs  as with rlo_tape_gradients.
 * @return as rlo_tape_begin and rlo_tape_gradients; or what f says. On failure
 *         no output is written.
 */
RLO_API RLO_NODISCARD rlo_status rlo_value_and_gradients(rlo_engine *engine,
                                                         rlo_tensor_fn f,
                                                         void *payload,
                                                         rlo_tensor *const *xs,
                                                         int32_t count,
                                                         rlo_tensor *dy,
                                                         uint32_t flags,
                                                         rlo_tensor **out_y,
                                                         rlo_tensor **out_dxs);

/** Where the forward function of a custom gradient puts what the backward one
 *  needs. */
typedef struct rlo_saver rlo_saver;

/** Keep a tensor, by reference, for the gradient. @return RLO_OK;
 *  RLO_INVALID_ARGUMENT for a NULL or a tensor of another engine;
 *  RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_saver_save(rlo_saver *saver,
                                                rlo_tensor *tensor);

/** Run kernels, of which no tape is told, and write a reference that it owns
 *  into every output. What is there when it fails is released. */
typedef rlo_status (*rlo_custom_fn)(rlo_engine *engine,
                                    rlo_tensor *const *inputs,
                                    int32_t num_inputs,
                                    rlo_saver *saver,
                                    rlo_tensor **outputs,
                                    int32_t num_outputs,
                                    void *payload);

/**
 * Run a function whose gradient is given with it, whatever kernels it runs and
 * whatever gradients these have: for tapes it is one kernel.
 *
 * @param name      for sentences; borrowed until the tapes that recorded it
 *                  have ended, as is the payload.
 * @param gradient  NULL: a tape that needs one fails.
 * @param outputs   room for `num_outputs`, 1 to RLO_MAX_KERNEL_OUTPUTS, which
 *                  become the caller's.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for NULLs, tensors of another engine, or
 *         an output that the function left out; RLO_OUT_OF_MEMORY; or what the
 *         function says. On failure no output is written, and tapes go on as if
 *         it had not been called.
 */
RLO_API RLO_NODISCARD rlo_status rlo_custom_gradient(rlo_engine *engine,
                                                     const char *name,
                                                     rlo_custom_fn forward,
                                                     rlo_gradient_fn gradient,
                                                     void *payload,
                                                     rlo_tensor *const *inputs,
                                                     int32_t num_inputs,
                                                     rlo_tensor **outputs,
                                                     int32_t num_outputs);

RLO_END_DECLS

#endif
