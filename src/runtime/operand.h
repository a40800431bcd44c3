/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_OPERAND_H
#define RLO_RUNTIME_OPERAND_H

#include "runtime/context.h"

/** The operands of a plan. */
typedef enum rlo__operand_side {
  RLO__OPERAND_SRC = 0,
  RLO__OPERAND_DST = 1,
  RLO__OPERAND_INDICES = 2,
  /** Written and read. */
  RLO__OPERAND_SCRATCH = 3,
  RLO__NUM_OPERANDS = 4,
  /** No operand, where a kernel takes none. */
  RLO__OPERAND_NONE = RLO__NUM_OPERANDS
} rlo__operand_side;

/** The requirements of a plan for one operand. */
typedef struct rlo__operand_need {
  int64_t bytes;
  /** Address and offset must be multiples of this many bytes. */
  int64_t element_bytes;
  rlo__operand_side side;
  /** The plan also reads the destination. */
  bool is_updated;
} rlo__operand_need;

/** The bytes of a memory that an enqueue reads or writes, located in the buffer
 *  that owns them. */
typedef struct rlo__operand {
  /** The caller's buffer, or pointer into memory that the device shares, and
   *  offset; none is legal where no bytes are needed. */
  cl_mem memory;
  const void *pointer;
  int64_t offset_bytes;
  rlo__operand_side side;
  /** The buffer that owns the memory, which may be a sub-buffer of it. NULL if
   *  the plan needs no bytes and the caller passed no memory. */
  cl_mem root;
  /** First byte in the root, and the number of bytes. */
  int64_t begin_bytes, num_bytes;
  /** The address of the first byte of a pointer, or if the buffer wraps host memory
   *  (CL_MEM_USE_HOST_PTR); else 0. */
  uintptr_t host_address;
  /** Makes the pointer an argument, by the kind of memory that it points into. NULL
   *  for a buffer. */
  rlo__set_pointer_fn set_pointer;
  /** The largest power of two known to divide the first byte's address, at
   *  most the device's own alignment. */
  int64_t alignment_bytes;
} rlo__operand;

/** Returns whether a plan writes the operand. */
static inline bool rlo__operand_is_written(rlo__operand_side side) {
  return side == RLO__OPERAND_DST || side == RLO__OPERAND_SCRATCH;
}

/**
 * Locates a memory with an offset, and checks that it meets the requirements.
 * @param operand  its memory, pointer and offset are set; the rest is written.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for NULL where bytes are needed, an
 *         object that is not a buffer or belongs to another context, flags that
 *         forbid the access, a buffer and a pointer, an offset or address that is not a
 *         multiple of the element; RLO_UNSUPPORTED for a pointer where the device shares
 *         no memory; RLO_OUT_OF_RANGE for a negative offset or one that leaves
 *         too few bytes in the buffer; RLO_DEVICE.
 */
RLO_NODISCARD rlo_status rlo__operand_resolve(const rlo_context *context,
                                              const rlo__operand_need *need, rlo__operand *operand);

/** @return RLO_OK; RLO_INVALID_ARGUMENT if the two share a byte. */
RLO_NODISCARD rlo_status rlo__operand_check_overlap(const rlo__operand *a, const rlo__operand *b);

#endif
