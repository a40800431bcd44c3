/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_DLPACK_ABI_H
#define RLO_IO_DLPACK_ABI_H

#include <stdint.h>

/**
 * DLPack's structs as they lie in memory, so that every version of them can be
 * read without any version of its header: the one of Debian 12 is 0.6, which
 * knows neither bool nor the versioned struct. The members of the first are
 * the same in all versions since 0.2.
 */
typedef struct rlo__dl_tensor {
  /** Pointer, or cl_mem. */
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t *shape;
  /** In elements; NULL: row-major (allowed before 1.2). */
  int64_t *strides;
  uint64_t byte_offset;
} rlo__dl_tensor;

struct DLManagedTensor {
  rlo__dl_tensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
};

/** All but dl_tensor stays as it is in every major version. */
struct DLManagedTensorVersioned {
  uint32_t version_major;
  uint32_t version_minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  rlo__dl_tensor dl_tensor;
};

#endif
