/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_STORAGE_OPENCL_H
#define RELAYOUT_STORAGE_OPENCL_H

#include "relayout/opencl.h"
#include "relayout/storage.h"

RLO_BEGIN_DECLS

/**
 * Makes a storage of a part of a device buffer: for jobs from buffers to memory
 * and files, and back.
 *
 * Its bytes go through the job's host memory, by blocking transfers on a queue
 * that the storage creates. Commands of the caller's that write the buffer must
 * have completed before a job that reads it is submitted; from then until the
 * job has ended nobody else writes what it reads, nor uses what it writes.
 *
 * A buffer that the host may only read (CL_MEM_HOST_READ_ONLY) makes a
 * read-only storage, one that it may only write a storage that is only written.
 * The good lengths of transfers are 1 MiB. Failures of transfers are RLO_DEVICE
 * or RLO_OUT_OF_MEMORY with the OpenCL call and its code (status.h).
 *
 * @param context       the buffer's; retained while the storage lives.
 * @param buffer        retained while the storage lives; may be a sub-buffer.
 *                      NULL only for 0 bytes.
 * @param offset_bytes  of position 0 in the buffer.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, a negative number, an object
 *         that is no buffer, one of another context, and one that the host may
 *         not access; RLO_OUT_OF_RANGE for a buffer that is too small;
 *         RLO_OUT_OF_MEMORY; RLO_DEVICE; RLO_UNSUPPORTED in a child of fork.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_storage_from_buffer(rlo_context *context, cl_mem buffer,
                                                         int64_t offset_bytes, int64_t bytes,
                                                         rlo_storage **out_storage);

RLO_END_DECLS

#endif
