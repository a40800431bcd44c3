/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_ENGINE_H
#define RELAYOUT_ENGINE_H

#include "relayout/attributes.h"
#include "relayout/chain.h"
#include "relayout/kernel_names.h"
#include "relayout/tensor.h"

RLO_BEGIN_DECLS

/*
 * An engine runs kernels on tensors. A kernel is identified by its
 * name and the name of a backend. Running one means: look it up for the active
 * backend (kernel.h, backend.h), check the attributes, infer the shapes of the
 * results, bring the inputs to that backend, run.
 *
 * Two backends are built in, "host" and, for an engine over an rlo_context,
 * "opencl", with the same kernels: docs/engine.md lists them, kernel_names.h
 * has their names.
 */

/** Options of an engine. Initialize with RLO_ENGINE_OPTIONS_INIT. */
typedef struct rlo_engine_options {
  /** sizeof(rlo_engine_options). */
  size_t struct_size;
  /** An rlo_context of opencl.h, retained; NULL: host only. */
  struct rlo_context *context;
  /** Run on the host, if it is there, a kernel that the active backend lacks,
   *  and what the active backend refuses to do for a built-in one: inputs are
   *  copied to the host, the result stays there. */
  bool allow_host_fallback;
  /** Leave the results of copy operations pending, so that a chain of them runs
   *  as one: pad(transpose(slice(x))) is one launch. */
  bool is_fusing;
  /** Fail a kernel that leaves more tensors alive than it returns, with
   *  RLO_INTERNAL. For tests. */
  bool checks_leaks;
  /** The number of cached call plans; the least recently used one is evicted.
   *  0: 256. */
  int32_t plan_capacity;
  /** Called from any thread with a line and a severity: 0 error, 1 warning, 2
   *  information, 3 debug. NULL: silent. Must not call relayout. */
  void (*log)(void *payload, int32_t severity, const char *line);
  void *log_payload;
  /** The queue of the "opencl" backend measures its commands
   *  (CL_QUEUE_PROFILING_ENABLE), so that profiles (profile.h) have the times
   * of the device. */
  bool is_profiling;
} rlo_engine_options;

#define RLO_ENGINE_OPTIONS_INIT \
  { sizeof(rlo_engine_options), NULL, false, false, false, 0, NULL, NULL, false }

/**
 * Creates an engine with the built-in backends and kernels. A backend is set up
 * when it is first used.
 * @param options  NULL for the defaults: host only.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for invalid options;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_engine_create(const rlo_engine_options *options,
                                                   rlo_engine **out_engine);

/** Takes a reference; returns the engine. NULL is legal. */
RLO_API rlo_engine *rlo_engine_retain(rlo_engine *engine);

/** Releases a reference; NULL is legal. Tensors hold references too. The last
 *  one disposes of the kernels and destroys the backends. What is in a device's
 *  queue still runs: a process should not end before (PoCL 3.1 crashes if it
 *  does), which reading a result ensures. */
RLO_API void rlo_engine_release(rlo_engine *engine);

/** The number of tensors of the engine that are alive. */
RLO_API int64_t rlo_engine_live_tensors(const rlo_engine *engine);

/** The memory that the tensors of an engine hold on a backend, and the most
 * that they have held since the engine was created or the peaks were reset.
 * Each number is exact; they are not read at one moment while other threads
 * run. Begin with RLO_MEMORY_INFO_INIT. */
typedef struct rlo_memory_info {
  /** sizeof(rlo_memory_info). */
  size_t struct_size;
  /** Tensors whose bytes the backend has, or will compute. */
  int64_t tensors;
  /** Memories of at least one byte. Views share one; a tensor that is used on
   *  another backend has one there too, which is no tensor. */
  int64_t buffers;
  /** Bytes of all buffers. Memory that the "opencl" backend keeps for reuse
   *  counts in rlo_context_stats, not here. */
  int64_t bytes;
  /** The part of `bytes` that is the caller's: rlo_tensor_wrap_host,
   *  rlo_tensor_wrap_buffer. */
  int64_t external_bytes;
  int64_t peak_tensors;
  int64_t peak_buffers;
  int64_t peak_bytes;
} rlo_memory_info;

#define RLO_MEMORY_INFO_INIT \
  { sizeof(rlo_memory_info), 0, 0, 0, 0, 0, 0, 0 }

/**
 * @param backend_name  of a backend that is or was registered; what it held and
 *                      still does counts on. NULL: all backends together, whose
 *                      peak is at most the sum of theirs.
 * @return RLO_OK; RLO_NOT_FOUND, naming the backends; RLO_INVALID_ARGUMENT for
 *         a NULL engine or output, or a struct_size that this library does not
 *         know.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_engine_get_memory(const rlo_engine *engine,
                                                       const char *backend_name,
                                                       rlo_memory_info *out_info);

/** Makes what is held now the peaks of all backends. NULL is legal. Threads:
 *  safe. */
RLO_API void rlo_engine_reset_peaks(rlo_engine *engine);

/** Counters since the engine was created; a snapshot. Begin with
 *  RLO_ENGINE_STATS_INIT. */
typedef struct rlo_engine_stats {
  /** sizeof(rlo_engine_stats). */
  size_t struct_size;
  int64_t kernels_run;
  /** Kernels that ran on the host because the active backend lacks them. */
  int64_t fallbacks;
  /** Tensors copied from one backend to another, and their bytes. */
  int64_t copies;
  int64_t copied_bytes;
  /** Calls that found their plan in the cache, and that created it. */
  int64_t plan_hits;
  int64_t plan_misses;
  /** Results that were left pending, and those that were computed later. */
  int64_t pending;
  int64_t materialized;
} rlo_engine_stats;

#define RLO_ENGINE_STATS_INIT \
  { sizeof(rlo_engine_stats), 0, 0, 0, 0, 0, 0, 0, 0 }

/** Copies the counters. @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or a
 *  struct_size that this library does not know. Threads: safe. */
RLO_API RLO_NODISCARD rlo_status rlo_engine_get_stats(const rlo_engine *engine,
                                                      rlo_engine_stats *out_stats);

/**
 * Runs a kernel.
 *
 * @param kernel_name  of a kernel for the active backend (or, where that is
 *                     allowed, for the host). The first call activates the
 *                     backend of the highest priority.
 * @param inputs       `num_inputs` tensors of this engine, borrowed.
 * @param attributes   borrowed; NULL: none.
 * @param out_tensors  room for `capacity` tensors; the caller releases them.
 * @param out_count    the number of results; may be NULL if it is `capacity`.
 * @return RLO_OK, with every output written; RLO_NOT_FOUND for a kernel that is
 *         not registered for the active backend (the message names those that
 *         have it), without any backend, or for a missing attribute;
 *         RLO_INVALID_ARGUMENT for NULLs, a wrong number of inputs, inputs of
 *         another engine, unknown attributes or ones of the wrong type;
 *         RLO_OUT_OF_RANGE if there are more results than room, with nothing
 *         but *out_count written; or the statuses of inference, of copies
 * between backends and of the kernel. On failure no output is written. Threads:
 * safe. Async: results may still be computed by the device; reading them waits.
 */
RLO_API RLO_NODISCARD rlo_status rlo_run_kernel(rlo_engine *engine, const char *kernel_name,
                                                rlo_tensor *const *inputs, int32_t num_inputs,
                                                const rlo_attributes *attributes,
                                                rlo_tensor **out_tensors, int32_t capacity,
                                                int32_t *out_count);

/** An input of a kernel by its name; both parts are borrowed. */
typedef struct rlo_named_tensor {
  const char *name;
  rlo_tensor *tensor;
} rlo_named_tensor;

/**
 * Runs a kernel whose config names its inputs, as those of all built-in kernels
 * do (docs/engine.md).
 *
 * @param inputs  `num_inputs` in any order, each name once; the last name of a
 *                kernel with any number of inputs once for each of these, in
 *                their order. Those that may be left out are the last ones.
 * @return as rlo_run_kernel; RLO_INVALID_ARGUMENT also for a kernel whose
 *         inputs have no names, and for a name that it does not have, that is
 *         given twice or that is missing: the message lists those it has.
 * Threads: safe. Async: as rlo_run_kernel.
 */
RLO_API RLO_NODISCARD rlo_status rlo_run_kernel_named(rlo_engine *engine, const char *kernel_name,
                                                      const rlo_named_tensor *inputs,
                                                      int32_t num_inputs,
                                                      const rlo_attributes *attributes,
                                                      rlo_tensor **out_tensors, int32_t capacity,
                                                      int32_t *out_count);

/**
 * Infers the shapes of a kernel's results, without running it.
 * @param inputs      `num_inputs` shapes, borrowed.
 * @param out_shapes  room for `capacity`; results beyond it are not written.
 * @param out_count   the number of results.
 * @return RLO_OK; the statuses of rlo_run_kernel before it runs.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_infer_kernel(
    rlo_engine *engine, const char *kernel_name, const rlo_shape *const *inputs, int32_t num_inputs,
    const rlo_attributes *attributes, rlo_shape *out_shapes, int32_t capacity, int32_t *out_count);

/**
 * Lowers one result of a built-in kernel to problems, without running it: for
 * who runs them, as by a service.
 * @param inputs  `num_inputs` shapes, borrowed: operand n of the problems is
 *                input n.
 * @param output  which result, from 0.
 * @param dst     borrowed; the type and dimensions that rlo_infer_kernel
 *                returns for it, any layout and element size; NULL for that
 *                shape itself.
 * @param out_problems  owned by the caller; rlo_problem_list_release frees it.
 *                Slots of dst that hold no element and have no fill are left
 *                alone.
 * @return RLO_OK; the statuses of rlo_infer_kernel; RLO_OUT_OF_RANGE for a
 *         result that the call does not have; RLO_UNSUPPORTED for a kernel of
 *         the user's, one that is more than problems (UnsortedSegmentSum), and
 *         a PadV2 whose value is an input; or those of rlo_chain_lower.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_lower_kernel(rlo_engine *engine, const char *kernel_name,
                                                  const rlo_shape *const *inputs,
                                                  int32_t num_inputs,
                                                  const rlo_attributes *attributes, int32_t output,
                                                  const rlo_shape *dst,
                                                  rlo_problem_list **out_problems);

/**
 * Runs a chain (chain.h) on the active backend: one launch for each of its
 * problems. No kernel is looked up, and a tape does not record it: to record,
 * use the operations of a fusing engine.
 *
 * @param chain   borrowed.
 * @param inputs  a tensor for each operand of the chain, of the operand's
 *                shape and layout.
 * @param out_shape  the layout of the result, as rlo_chain_lower takes it;
 *                   NULL: row-major.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a wrong number or shape of inputs;
 *         the statuses of rlo_chain_lower; RLO_UNSUPPORTED if the backend runs
 *         no chains; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_run_chain(rlo_engine *engine, const rlo_chain *chain,
                                               rlo_tensor *const *inputs, int32_t num_inputs,
                                               const rlo_shape *out_shape, rlo_tensor **out_tensor);

RLO_END_DECLS

#endif
