/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_KERNEL_H
#define RELAYOUT_KERNEL_H

#include "relayout/engine.h"

RLO_BEGIN_DECLS

/*
 * The kernel registry of an engine maps (kernel name, backend name) to an
 * implementation. The built-in kernels can be replaced and unregistered like
 * any other.
 *
 * Setup and dispose. A kernel is set up exactly once for each instance of its
 * backend: when the instance is created, or when the kernel is registered
 * later. Each set-up is disposed of once: when the kernel is unregistered or
 * replaced, when the backend is removed, or with the engine; by the last call
 * to return if calls are running. Setup may run kernels, dispose may not;
 * neither may register, unregister or change backends, which is refused.
 *
 * Errors. A registered function that fails sets a message with rlo_error_set
 * (status.h), or returns the status of a relayout call. Without a message the
 * error record names the function and the status.
 *
 * Threads: every function here is safe.
 */

/** The largest number of results of a kernel. */
#define RLO_MAX_KERNEL_OUTPUTS 1024

/** A call, as its kernel sees it. All parts are borrowed for the call. */
typedef struct rlo_kernel_call {
  rlo_engine *engine;
  const char *kernel_name;
  const char *backend_name;
  /** The object of the backend instance, from its rlo_backend_factory. */
  void *backend_self;
  /** On the kernel's backend, and not pending. */
  rlo_tensor *const *inputs;
  int32_t num_inputs;
  /** The names that the config gives the inputs, for rlo_kernel_input. */
  const char *const *input_names;
  int32_t num_input_names;
  /** Checked; may be NULL. */
  const rlo_attributes *attributes;
  int32_t num_outputs;
  /** The inferred shapes: num_outputs. */
  const rlo_shape *const *output_shapes;
  /** NULL each. The kernel sets each to a new reference to a tensor of the
   *  inferred shape: by rlo_kernel_output, or any other tensor. They are
   *  released if the kernel fails. One that the kernel, or its scope, has
   *  released is refused; so is a kernel that releases an input. */
  rlo_tensor **outputs;
} rlo_kernel_call;

/**
 * Infers the shapes of a kernel's results. Pure: no memory, no device.
 * @param capacity    room in out_shapes; results beyond it are not written.
 * @param out_count   the number of results, whatever the capacity; 1 to
 *                    RLO_MAX_KERNEL_OUTPUTS.
 */
typedef rlo_status (*rlo_infer_fn)(const rlo_shape *const *inputs, int32_t num_inputs,
                                   const rlo_attributes *attributes, rlo_shape *out_shapes,
                                   int32_t capacity, int32_t *out_count, void *payload);

/** Runs a kernel: sets every output. May be called by several threads at once.
 *  It may run other kernels; a tape records the outermost one only. */
typedef rlo_status (*rlo_kernel_fn)(rlo_kernel_call *call, void *payload);

/** Sets up, or disposes of, a kernel for one instance of its backend. */
typedef rlo_status (*rlo_kernel_setup_fn)(rlo_engine *engine, void *backend_self, void *payload);
typedef void (*rlo_kernel_dispose_fn)(rlo_engine *engine, void *backend_self, void *payload);

/** An implementation. Begin with RLO_KERNEL_CONFIG_INIT, also where the library
 *  writes it: a struct_size that it does not know is RLO_INVALID_ARGUMENT. */
typedef struct rlo_kernel_config {
  /** sizeof(rlo_kernel_config). */
  size_t struct_size;
  /** Copied. Any bytes but the empty string. */
  const char *kernel_name;
  const char *backend_name;
  /** The number of inputs; max_inputs < 0: unlimited. */
  int32_t min_inputs, max_inputs;
  /** The names of the inputs, in their order; copied. One for each of
   *  max_inputs; if that is unlimited, the last name stands for all inputs from
   *  its place on. NULL and 0: the inputs have no names, and calls pass them by
   *  place. No name occurs twice, or is empty. */
  const char *const *input_names;
  int32_t num_input_names;
  /** The names of the first results, likewise, for gradients that save them.
   *  None is that of an input. NULL and 0: the results have no names. */
  const char *const *output_names;
  int32_t num_output_names;
  /** `num_attributes` entries, borrowed while registered; NULL: attributes are
   *  not checked. */
  const rlo_attribute_spec *attributes;
  int32_t num_attributes;
  rlo_infer_fn infer;
  rlo_kernel_fn run;
  /** Each may be NULL. */
  rlo_kernel_setup_fn setup;
  rlo_kernel_dispose_fn dispose;
  /** Passed to all of these; borrowed while registered. */
  void *payload;
  /** For kernels of the library, in place of `run`; NULL for others. A config
   *  from rlo_kernel_find or rlo_kernel_list can be registered again as it is;
   *  with a `run` of yours, that is called instead. */
  const void *built_in;
  /** The kernel reads row-major arrays of this type: inputs of another type are
   *  refused, and those in another layout are brought there before it runs.
   *  RLO_DTYPE_INVALID: it gets the inputs as they are. */
  rlo_dtype input_type;
} rlo_kernel_config;

#define RLO_KERNEL_CONFIG_INIT                                                                \
  {                                                                                           \
    sizeof(rlo_kernel_config), NULL, NULL, 1, 1, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, \
        NULL, NULL, NULL, RLO_DTYPE_INVALID                                                   \
  }

/** Flags of rlo_kernel_register. */
enum {
  /** Replace a kernel of the same names. */
  RLO_KERNEL_REPLACE = 1 << 0
};

/**
 * Registers a kernel. Its backend may be registered later.
 * @param flags    RLO_KERNEL_REPLACE or 0.
 * @param out_old  the config that was replaced, its names borrowed from the
 *                 engine; RLO_KERNEL_CONFIG_INIT if there was none. May be
 *                 NULL. On failure it is untouched.
 * @return RLO_OK; RLO_ALREADY_EXISTS without RLO_KERNEL_REPLACE;
 *         RLO_INVALID_ARGUMENT for an invalid config or flags, or from within a
 *         setup or dispose; RLO_OUT_OF_MEMORY; the statuses of `setup`. A
 *         failure leaves the registry unchanged.
 */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_register(rlo_engine *engine,
                                                     const rlo_kernel_config *config,
                                                     uint32_t flags, rlo_kernel_config *out_old);

/** Unregisters a kernel and disposes of it. @return RLO_OK; RLO_NOT_FOUND;
 *  RLO_INVALID_ARGUMENT from within a setup or dispose. */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_unregister(rlo_engine *engine, const char *kernel_name,
                                                       const char *backend_name);

/** Finds a kernel. @return RLO_OK, with the registered config, its names
 *  borrowed from the engine; RLO_NOT_FOUND, naming the backends that have it;
 *  RLO_INVALID_ARGUMENT. */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_find(rlo_engine *engine, const char *kernel_name,
                                                 const char *backend_name,
                                                 rlo_kernel_config *out_config);

/**
 * Lists the kernels of a backend, sorted by name.
 * @param out_configs   room for `capacity`; may be NULL if that is 0; kernels
 *                      beyond it are not written.
 * @param config_bytes  sizeof(rlo_kernel_config), by the caller's header: a
 *                      config of an older one receives what it has room for.
 * @param out_count     the number of kernels.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, a negative capacity or a
 *         config_bytes that this library does not know; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_list(rlo_engine *engine, const char *backend_name,
                                                 rlo_kernel_config *out_configs,
                                                 size_t config_bytes, int32_t capacity,
                                                 int32_t *out_count);

/**
 * Registers all kernels of one backend for another too.
 * @param flags  RLO_KERNEL_REPLACE; or 0: if the other backend has one of the
 *               kernels already, that is an error and nothing is copied.
 * @param out_count  the number of kernels copied; may be NULL.
 * @return as rlo_kernel_register, but if a setup fails, the kernels before it
 *         stay copied; RLO_NOT_FOUND if `from` has no kernel.
 */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_copy_all(rlo_engine *engine, const char *from,
                                                     const char *to, uint32_t flags,
                                                     int32_t *out_count);

/**
 * Finds the places of inputs that are named: for those who have shapes, or
 * gradients, in place of tensors, which rlo_run_kernel_named takes. Nothing
 * runs.
 * @param names       `count` names in any order. The last name of a kernel with
 *                    any number of inputs occurs once for each of these, in
 *                    their order.
 * @param out_places  room for `count`: what names[i] names is input
 *                    out_places[i].
 * @return RLO_OK; RLO_NOT_FOUND for a kernel that is not registered for the
 *         active backend; RLO_INVALID_ARGUMENT for NULLs, for a kernel whose
 *         inputs have no names, and for a name that it does not have, that is
 *         given twice or that is missing: the message lists those it has.
 */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_place_inputs(rlo_engine *engine,
                                                         const char *kernel_name,
                                                         const char *const *names, int32_t count,
                                                         int32_t *out_places);

/* ----------------------------------------------------------- within kernels */

/** Finds an input of a call by its name.
 *  @param n  0; of inputs that share the last name, which one.
 *  @param out_tensor  borrowed.
 *  @return RLO_OK; RLO_NOT_FOUND if the call has none. */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_input(const rlo_kernel_call *call, const char *name,
                                                  int32_t n, rlo_tensor **out_tensor);

/** Allocate output `n` of a call on the call's backend. Its elements are
 *  undefined; slots that hold no element and take no fill are 0. The reference
 *  lies in call->outputs[n]; *out_tensor borrows it.
 *  @return RLO_OK; RLO_OUT_OF_RANGE; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_output(rlo_kernel_call *call, int32_t n,
                                                   rlo_tensor **out_tensor);

/**
 * Like rlo_kernel_output, for a kernel that computes on the host: returns the
 * memory of output `n`, to be written before the kernel returns.
 * @param out_data  NULL for 0 bytes.
 * @return also RLO_UNSUPPORTED if the call's backend has no host memory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_kernel_output_host_data(rlo_kernel_call *call, int32_t n,
                                                             void **out_data);

/** An rlo_infer_fn: one result of the type and dimensions of the inputs,
 *  row-major. The payload is not used.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT for inputs of several types or
 *          dimensions, or none. */
RLO_API RLO_NODISCARD rlo_status rlo_infer_elementwise(const rlo_shape *const *inputs,
                                                       int32_t num_inputs,
                                                       const rlo_attributes *attributes,
                                                       rlo_shape *out_shapes, int32_t capacity,
                                                       int32_t *out_count, void *payload);

RLO_END_DECLS

#endif
