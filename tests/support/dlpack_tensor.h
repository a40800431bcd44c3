/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_DLPACK_TENSOR_H
#define RLO_TESTS_SUPPORT_DLPACK_TENSOR_H

#include <stdint.h>

/* DLPack's own header where it is there, else what it says. */
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifndef DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLOpenCL = 4 } DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int device_id;
} DLDevice;

typedef enum { kDLInt, kDLUInt, kDLFloat, kDLBfloat = 4, kDLComplex } DLCode;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif

#ifndef DLPACK_MAJOR_VERSION
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif

/** The memory that tensors and views of these suites point to. */
extern unsigned char test_dlpack_memory[4096];

/** A tensor in test_dlpack_memory, on the CPU, at byte 0. It borrows the
 *  dimensions and the strides; NULL strides are row-major. */
DLTensor test_dlpack_tensor(DLDataType dtype, int64_t *dims, int64_t *strides, int rank);

#endif
