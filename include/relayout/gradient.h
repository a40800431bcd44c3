/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_GRADIENT_H
#define RELAYOUT_GRADIENT_H

#include "relayout/engine.h"

RLO_BEGIN_DECLS

/*
 * The gradient registry of an engine maps kernel names to gradients, for all
 * backends. A gradient is the vector-Jacobian product of its kernel: given
 * dy for every result, the dx of every input. It runs kernels, so that a tape
 * can record it and a gradient of a gradient can be taken.
 *
 * Every built-in kernel has one; docs/engine.md explains how they are
 * derived.
 *
 * Errors. A registered function that fails sets a message with rlo_error_set
 * (status.h), or returns the status of a relayout call. Without a message the
 * error record names the function and the status.
 *
 * Threads: every function here is safe.
 */

/** A call of a gradient. All parts are borrowed for the call. */
typedef struct rlo_gradient_call {
  rlo_engine *engine;
  const char *kernel_name;
  /** One for each result of the kernel: of its type and dimensions, in any
   *  layout. Zeros for a result that nothing depends on. */
  rlo_tensor *const *dys;
  int32_t num_outputs;
  /** The inputs that the config saves, then the outputs; for
   *  rlo_custom_gradient, what its forward function saved, in that order. */
  rlo_tensor *const *saved;
  int32_t num_saved;
  /** The name of each, for rlo_gradient_saved; NULL for one without a name. */
  const char *const *saved_names;
  /** The shapes of all inputs, saved or not. */
  const rlo_shape *const *input_shapes;
  int32_t num_inputs;
  /** The names that the kernel's config gives them, for rlo_gradient_input. */
  const char *const *input_names;
  int32_t num_input_names;
  /** Those of the kernel; may be NULL. */
  const rlo_attributes *attributes;
  /** For each input, whether its gradient is needed. */
  const bool *wants;
  /** NULL each. The gradient sets a new reference for every input that is
   *  wanted: of the input's type and dimensions, in any layout. Others are
   *  released, and all if it fails. */
  rlo_tensor **dxs;
} rlo_gradient_call;

/** Computes a gradient by running kernels. May be called by several threads at
 *  once. */
typedef rlo_status (*rlo_gradient_fn)(rlo_gradient_call *call, void *payload);

/** Finds a saved tensor by the name that the kernel's config gives it.
 *  @param n  0; of inputs that share the last name, which one.
 *  @param out_tensor  borrowed.
 *  @return RLO_OK; RLO_NOT_FOUND if there is none: the message lists the names
 *          of what is saved. */
RLO_API RLO_NODISCARD rlo_status rlo_gradient_saved(const rlo_gradient_call *call, const char *name,
                                                    int32_t n, rlo_tensor **out_tensor);

/** Finds the place of an input, in `input_shapes`, `wants` and `dxs`, by the
 *  name that the kernel's config gives it.
 *  @param n  0; of inputs that share the last name, which one.
 *  @return RLO_OK; RLO_NOT_FOUND if the call has none. */
RLO_API RLO_NODISCARD rlo_status rlo_gradient_input(const rlo_gradient_call *call, const char *name,
                                                    int32_t n, int32_t *out_place);

/** A gradient. Begin with RLO_GRADIENT_CONFIG_INIT, also where the library
 *  writes it: a struct_size that it does not know is RLO_INVALID_ARGUMENT. */
typedef struct rlo_gradient_config {
  /** sizeof(rlo_gradient_config). */
  size_t struct_size;
  /** Copied. */
  const char *kernel_name;
  /** Bit n: save input n, if there is one; inputs from 64 on are saved by
   *  saves_all_inputs only. Saving takes a reference and copies nothing. */
  uint64_t saved_inputs;
  uint64_t saved_outputs;
  bool saves_all_inputs;
  /** Save these, too: inputs and outputs by the names that the kernel's config
   *  gives them, in any order. Copied. A name that the kernel does not have
   *  fails the call that would save it. */
  const char *const *saved_names;
  int32_t num_saved_names;
  rlo_gradient_fn run;
  /** Passed to `run`; borrowed while registered, and by tapes that recorded the
   *  kernel meanwhile. */
  void *payload;
} rlo_gradient_config;

#define RLO_GRADIENT_CONFIG_INIT \
  { sizeof(rlo_gradient_config), NULL, 0, 0, false, NULL, 0, NULL, NULL }

/** Flags of rlo_gradient_register. */
enum {
  /** Replace the gradient of the same kernel. */
  RLO_GRADIENT_REPLACE = 1 << 0
};

/**
 * Registers a gradient. Its kernel may be registered later. A tape uses the
 * gradient that is registered when it records the kernel.
 * @param flags    RLO_GRADIENT_REPLACE or 0.
 * @param out_old  the config that was replaced, its names borrowed from the
 *                 engine; RLO_GRADIENT_CONFIG_INIT if there was none. May be
 *                 NULL. On failure it is untouched.
 * @return RLO_OK; RLO_ALREADY_EXISTS without RLO_GRADIENT_REPLACE;
 *         RLO_INVALID_ARGUMENT for an invalid config, or from within a setup
 *         or dispose; RLO_OUT_OF_MEMORY. A failure leaves the registry
 *         unchanged.
 */
RLO_API RLO_NODISCARD rlo_status rlo_gradient_register(rlo_engine *engine,
                                                       const rlo_gradient_config *config,
                                                       uint32_t flags,
                                                       rlo_gradient_config *out_old);

/** Unregisters a gradient. @return RLO_OK; RLO_NOT_FOUND; RLO_INVALID_ARGUMENT
 * for a NULL, or from within a setup or dispose. */
RLO_API RLO_NODISCARD rlo_status rlo_gradient_unregister(rlo_engine *engine,
                                                         const char *kernel_name);

/** Finds a gradient. @return RLO_OK, with the registered config, its names
 *  borrowed from the engine; RLO_NOT_FOUND, naming the kernel;
 *  RLO_INVALID_ARGUMENT. */
RLO_API RLO_NODISCARD rlo_status rlo_gradient_find(rlo_engine *engine, const char *kernel_name,
                                                   rlo_gradient_config *out_config);

/**
 * Lists the gradients, sorted by the names of their kernels.
 * @param out_configs   room for `capacity`, their names borrowed from the
 *                      engine; may be NULL if that is 0; gradients beyond it
 *                      are not written.
 * @param config_bytes  sizeof(rlo_gradient_config), by the caller's header: a
 *                      config of an older one receives what it has room for.
 * @param out_count     the number of gradients.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, a negative capacity or a
 *         config_bytes that this library does not know; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_gradient_list(rlo_engine *engine,
                                                   rlo_gradient_config *out_configs,
                                                   size_t config_bytes, int32_t capacity,
                                                   int32_t *out_count);

/**
 * Computes the vector-Jacobian product of one kernel, without a tape. The
 * kernel itself runs only if its gradient saves outputs.
 *
 * @param inputs   of the kernel; most built-in gradients need their shapes
 * only.
 * @param dys      one for each result, of its type and dimensions, in any
 *                 layout; NULL stands for zeros.
 * @param wants    one flag for each input; NULL: all.
 * @param out_dxs  room for `num_inputs` tensors, which the caller releases;
 *                 NULL for inputs that are not wanted.
 * @return RLO_OK; RLO_NOT_FOUND for a kernel without gradient, or that the
 *         active backend lacks; RLO_INVALID_ARGUMENT, before anything runs, for
 *         NULLs, tensors of another engine, a wrong number of dys, or a dy of
 *         another type or other dimensions than its result; RLO_UNSUPPORTED
 *         if values would be added whose type is not added; the statuses of
 *         inference and kernels. On failure no output is written.
 */
RLO_API RLO_NODISCARD rlo_status rlo_vjp(rlo_engine *engine, const char *kernel_name,
                                         rlo_tensor *const *inputs, int32_t num_inputs,
                                         const rlo_attributes *attributes, rlo_tensor *const *dys,
                                         int32_t num_dys, const bool *wants, rlo_tensor **out_dxs);

/**
 * A record of the kernels that one thread runs on one engine, from which
 * gradients are computed.
 *
 * Tapes nest: each records all that its thread runs while it is open,
 * including the gradients of other tapes, so that a gradient of a gradient is a
 * tape around a tape. A tape does not record the gradients computed from
 * itself. A kernel that runs other kernels is recorded as one.
 *
 * A tape holds the tensors that gradients save, and the shapes and attributes
 * of all kernels.
 *
 * Threads: any number of tapes may be open in any number of threads, also for
 * one engine; but each belongs to the thread that began it, records what
 * that thread runs, and is used and ended there. Other threads get
 * RLO_INVALID_ARGUMENT.
 */
typedef struct rlo_tape rlo_tape;

/**
 * Begins to record what this thread runs on the engine.
 * @param out_tape  released by rlo_tape_end.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tape_begin(rlo_engine *engine, rlo_tape **out_tape);

/** Ends and releases a tape; NULL is legal. Tapes may end in any order. @return
 *  RLO_OK; RLO_INVALID_ARGUMENT, with the tape unchanged, from another thread,
 *  or while a gradient is computed from it. */
RLO_API RLO_NODISCARD rlo_status rlo_tape_end(rlo_tape *tape);

/** The number of kernels that a tape has recorded; 0 for NULL. */
RLO_API int64_t rlo_tape_length(const rlo_tape *tape);

/** Flags of rlo_tape_gradients. */
enum {
  /** The gradient of an x that y does not depend on is NULL, and no error. */
  RLO_TAPE_ALLOW_UNCONNECTED = 1 << 0
};

/**
 * Computes the gradients of y with respect to some tensors: dx = J^T dy. May be
 * called repeatedly for one tape. Gradients are computed only of kernels on a
 * path from one of the xs to y, and only for their inputs on such a path.
 * Several contributions to one tensor are added with AddN in the order in which
 * they arise, from the last kernel to the first; f16 and bf16 in f32.
 *
 * @param y     a tensor that was created while the tape was open, or one of xs.
 * @param dy    of y's type and dimensions, in any layout; NULL: ones.
 * @param xs    `count` tensors.
 * @param flags RLO_TAPE_ALLOW_UNCONNECTED or 0.
 * @param out_dxs  room for `count` tensors, which the caller releases: of the
 *                 x's type and dimensions.
 * @return RLO_OK; before anything runs:
 *         RLO_INVALID_ARGUMENT for NULLs, tensors of another engine, a dy of
 *         another type or other dimensions than y, an x without a path to y,
 *         another thread, or from within a gradient of this tape;
 *         RLO_NOT_FOUND for a kernel of the path that had no gradient when it
 *         ran. Later: RLO_UNSUPPORTED if values would be added whose type is
 *         not added; the statuses of gradients and kernels. On failure no
 *         output is written and the tape is unchanged.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tape_gradients(rlo_tape *tape, rlo_tensor *y, rlo_tensor *dy,
                                                    rlo_tensor *const *xs, int32_t count,
                                                    uint32_t flags, rlo_tensor **out_dxs);

/** A function of tensors: runs kernels and sets *out_y to a new reference. */
typedef rlo_status (*rlo_tensor_fn)(rlo_engine *engine, rlo_tensor *const *xs, int32_t count,
                                    rlo_tensor **out_y, void *payload);

/**
 * Computes y = f(xs) and its gradients, with a tape for this call.
 * @param out_y    released by the caller; may be NULL.
 * @param out_dxs  as with rlo_tape_gradients.
 * @return as rlo_tape_begin and rlo_tape_gradients; the statuses of f. On
 *         failure no output is written.
 */
RLO_API RLO_NODISCARD rlo_status rlo_value_and_gradients(rlo_engine *engine, rlo_tensor_fn f,
                                                         void *payload, rlo_tensor *const *xs,
                                                         int32_t count, rlo_tensor *dy,
                                                         uint32_t flags, rlo_tensor **out_y,
                                                         rlo_tensor **out_dxs);

/** Collects the tensors that the forward function of a custom gradient saves
 * for the backward one. */
typedef struct rlo_saver rlo_saver;

/** Saves a tensor for the gradient, by reference. @return RLO_OK;
 *  RLO_INVALID_ARGUMENT for a NULL or a tensor of another engine;
 *  RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_saver_save(rlo_saver *saver, rlo_tensor *tensor);

/** Runs kernels, which no tape records, and sets every output to a new
 *  reference. They are released if it fails. */
typedef rlo_status (*rlo_custom_fn)(rlo_engine *engine, rlo_tensor *const *inputs,
                                    int32_t num_inputs, rlo_saver *saver, rlo_tensor **outputs,
                                    int32_t num_outputs, void *payload);

/**
 * Runs a function with a gradient of its own, whatever gradients the kernels
 * have that it runs: tapes record it as one kernel.
 *
 * @param name      for messages; borrowed until the tapes that recorded it
 *                  have ended, as is the payload.
 * @param gradient  NULL: a tape that needs one fails.
 * @param outputs   room for `num_outputs`, 1 to RLO_MAX_KERNEL_OUTPUTS, which
 *                  the caller releases.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for NULLs, tensors of another engine, or
 *         an output that the function left out; RLO_OUT_OF_MEMORY; the
 *         statuses of the function. On failure no output is written, and tapes
 *         record nothing.
 */
RLO_API RLO_NODISCARD rlo_status rlo_custom_gradient(rlo_engine *engine, const char *name,
                                                     rlo_custom_fn forward,
                                                     rlo_gradient_fn gradient, void *payload,
                                                     rlo_tensor *const *inputs, int32_t num_inputs,
                                                     rlo_tensor **outputs, int32_t num_outputs);

RLO_END_DECLS

#endif
