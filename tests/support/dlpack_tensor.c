/* SPDX-License-Identifier: Apache-2.0 */
#include "support/dlpack_tensor.h"

#include <string.h>

unsigned char test_dlpack_memory[4096];

DLTensor test_dlpack_tensor(DLDataType dtype, int64_t *dims, int64_t *strides, int rank) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = test_dlpack_memory;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = rank;
  tensor.dtype = dtype;
  tensor.shape = dims;
  tensor.strides = strides;
  return tensor;
}
