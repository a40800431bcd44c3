/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_OPERAND_H
#define RLO_RUNTIME_OPERAND_H

#include "runtime/context.h"

/** Which side of a plan a memory is on. */
typedef enum rlo__operand_side {
  RLO__OPERAND_SRC = 0,
  RLO__OPERAND_DST = 1,
  RLO__OPERAND_INDICES = 2,
  /** Written and read. */
  RLO__OPERAND_SCRATCH = 3
} rlo__operand_side;

/** What a plan needs of a memory. */
typedef struct rlo__operand_need {
  int64_t bytes;
  /** What its address and offset have to be multiples of, in bytes. */
  int64_t element_bytes;
  rlo__operand_side side;
  /** A destination whose contents are read too. */
  bool is_updated;
} rlo__operand_need;

/** The bytes of a memory that an enqueue reads or writes, and where they lie
 *  in truth. */
typedef struct rlo__operand {
  rlo__operand_side side;
  /** The buffer that owns the memory, of which it may be a sub-buffer. NULL if
   *  the plan needs no bytes here and got no memory. */
  cl_mem root;
  /** Where the bytes begin in the root, and how many there are. */
  int64_t begin_bytes, num_bytes;
  /** Host memory that the buffer was made over (CL_MEM_USE_HOST_PTR): the
   *  address of the first byte; else 0. */
  uintptr_t host_address;
  /** The largest power of two that surely divides the first byte's address,
   *  but for ones beyond the device's own alignment. */
  int64_t alignment_bytes;
} rlo__operand;

/**
 * Find out what a memory and an offset come to, and check that they serve.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL where bytes are needed, an
 *         object that is no buffer or is of another context, flags that forbid
 *         the access, an offset or address that is no multiple of the element;
 *         RLO_OUT_OF_RANGE for a negative offset or one after which the buffer
 *         is too small; RLO_DEVICE.
 */
RLO_NODISCARD rlo_status rlo__operand_resolve(const rlo_context *context,
                                              const rlo__operand_need *need,
                                              cl_mem memory,
                                              int64_t offset_bytes,
                                              rlo__operand *out_operand);

/** RLO_INVALID_ARGUMENT if the two share a byte. */
RLO_NODISCARD rlo_status rlo__operand_check_overlap(const rlo__operand *a,
                                                    const rlo__operand *b);

#endif
