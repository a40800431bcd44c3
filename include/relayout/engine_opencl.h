/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_ENGINE_OPENCL_H
#define RELAYOUT_ENGINE_OPENCL_H

#include "relayout/kernel.h"
#include "relayout/opencl.h"

RLO_BEGIN_DECLS

/*
 * The functions of an engine that need OpenCL's types: tensors over the
 * caller's buffers, and kernels in OpenCL C. The "opencl" backend enqueues all
 * work on one in-order queue of its own.
 */

/**
 * Creates a tensor of the "opencl" backend over a caller's buffer, without
 * copying.
 *
 * @param buffer        of the engine's context, retained as long as the
 *                      tensor's memory; must not change until `release` is
 *                      called. NULL only for 0 bytes.
 * @param offset_bytes  where the tensor begins: a multiple of its element's
 *                      bytes.
 * @param ready         an event after which the data is valid; retained. NULL:
 *                      it is valid now.
 * @param release       called when the engine no longer uses the buffer; may be
 *                      NULL. Not called after a failure.
 * @return as rlo_tensor_create; RLO_NOT_FOUND if the engine has no "opencl"
 *         backend; RLO_OUT_OF_RANGE if the buffer is too small;
 *         RLO_INVALID_ARGUMENT for a foreign buffer or event or a misaligned
 *         offset.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_wrap_buffer(rlo_engine *engine, const rlo_shape *shape,
                                                        cl_mem buffer, int64_t offset_bytes,
                                                        cl_event ready, rlo_release_fn release,
                                                        void *payload, rlo_tensor **out_tensor);

/**
 * Borrows the buffer of a tensor, on the device; a tensor of another backend is
 * copied there first. The buffer must not be written.
 * @param out_buffer  valid as long as the tensor; NULL for 0 bytes.
 * @param out_ready   an event after which the data is valid, released by the
 *                    caller; NULL: it is valid now. Its work has been flushed
 *                    to the device.
 * @return RLO_OK; RLO_NOT_FOUND as above; the statuses of
 * rlo_tensor_materialize; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_tensor_buffer(rlo_tensor *tensor, cl_mem *out_buffer,
                                                   int64_t *out_offset_bytes, cl_event *out_ready);

/** The value of an argument of a source kernel, and the parameter of the
 *  function that takes it. An integer may have a sign there or none; a
 * typedef's name stands for any type of the same size. */
typedef enum rlo_source_argument_kind {
  /** __global const void *: input `index`. */
  RLO_SOURCE_INPUT = 0,
  /** __global void *: output `index`. */
  RLO_SOURCE_OUTPUT = 1,
  /** ulong: bytes from the beginning of input `index`'s buffer to its data.
   *  Without one, an input that does not begin its buffer, which only that of
   *  rlo_tensor_wrap_buffer may not, is copied by way of the host. */
  RLO_SOURCE_INPUT_OFFSET = 2,
  /** long: elements of input or output `index`. */
  RLO_SOURCE_INPUT_ELEMENTS = 3,
  RLO_SOURCE_OUTPUT_ELEMENTS = 4,
  /** The attribute `attribute`, as long, int, float or double. A float is
   *  rounded; an integer must be exact as a double. */
  RLO_SOURCE_LONG = 5,
  RLO_SOURCE_INT = 6,
  RLO_SOURCE_FLOAT = 7,
  RLO_SOURCE_DOUBLE = 8
} rlo_source_argument_kind;

typedef struct rlo_source_argument {
  rlo_source_argument_kind kind;
  int32_t index;
  const char *attribute;
} rlo_source_argument;

/** The work-items to launch. */
typedef struct rlo_source_range {
  int32_t work_dim;
  size_t global_size[3];
  /** local_size[0] 0: the driver chooses. */
  size_t local_size[3];
} rlo_source_range;

typedef rlo_status (*rlo_source_range_fn)(const rlo_kernel_call *call, rlo_source_range *out_range);

/** A kernel in OpenCL C. All parts must outlive the engine's rlo_context, which
 *  caches programs. */
typedef struct rlo_source_kernel {
  /** sizeof(rlo_source_kernel). */
  size_t struct_size;
  /** OpenCL C. */
  const char *source;
  /** The __kernel function in it; at most 63 characters. */
  const char *function;
  /** For clBuildProgram; NULL: "-cl-std=CL1.2". -cl-kernel-arg-info is added.
   */
  const char *build_options;
  /** One for each parameter of the function, in its order. NULL and 0: the
   *  inputs, the outputs, and the attributes that the kernel's config names, in
   *  their orders; an attribute that is an integer only is a long, any other a
   *  float. */
  const rlo_source_argument *arguments;
  int32_t num_arguments;
  /** NULL: one work-item for each element of output 0. */
  rlo_source_range_fn range;
} rlo_source_kernel;

/**
 * The rlo_kernel_fn of a kernel for "opencl" whose payload is an
 * rlo_source_kernel (rlo_kernel_config.payload). Builds it on the first run,
 * once for the context. Each launch sets every argument: their number is
 * compared with that of the compiled function, and their kinds with its
 * parameters as far as the driver tells them. A result of 0 elements launches
 * nothing. Threads: safe.
 * @return RLO_OK; RLO_BUILD_FAILED with the log; RLO_INVALID_ARGUMENT for
 *         another backend, arguments that do not fit the call or the function,
 *         or an empty range; RLO_OUT_OF_RANGE for an attribute beyond its
 * argument's type; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_source_kernel_run(rlo_kernel_call *call, void *payload);

RLO_END_DECLS

#endif
