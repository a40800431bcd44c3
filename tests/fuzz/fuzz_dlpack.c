/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/dlpack.h"

#include "support/dlpack_tensor.h"

#include "fuzz.h"

/* A DLTensor: what is taken can be lent out, and taken again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char memory[16];
  fuzz_reader reader = {data, size};
  DLTensor tensor = {.data = memory};
  uint64_t flags = 0;
  fuzz_take(&reader, &flags, sizeof(flags));
  int64_t available_bytes = fuzz_take_number(&reader);
  tensor.device.device_type = fuzz_take_byte(&reader);
  tensor.ndim = (int8_t)fuzz_take_byte(&reader);
  tensor.dtype.code = fuzz_take_byte(&reader);
  tensor.dtype.bits = fuzz_take_byte(&reader);
  tensor.dtype.lanes = (uint16_t)(1 + fuzz_take_byte(&reader));
  bool has_strides = (fuzz_take_byte(&reader) & 1) != 0;
  fuzz_take(&reader, &tensor.byte_offset, sizeof(tensor.byte_offset));
  int64_t dims[128];
  int64_t strides[128];
  for (int i = 0; i < tensor.ndim; ++i) {
    dims[i] = fuzz_take_number(&reader);
    strides[i] = fuzz_take_number(&reader);
  }
  tensor.shape = dims;
  tensor.strides = has_strides ? strides : NULL;

  rlo_dlpack_view view = RLO_DLPACK_VIEW_INIT;
  if (rlo_dlpack_view_tensor(&tensor, flags, available_bytes, &view) != RLO_OK) {
    return 0;
  }
  fuzz_check_shape(&view.shape);
  FUZZ_CHECK(view.shape.rank == tensor.ndim);
  struct DLManagedTensorVersioned *lent;
  if (rlo_dlpack_export_versioned(&view, NULL, NULL, &lent) != RLO_OK) {
    FUZZ_CHECK(lent == NULL);
    return 0;
  }
  rlo_dlpack_import *import;
  if (rlo_dlpack_import_create_versioned(lent, available_bytes, &import) != RLO_OK) {
    lent->deleter(lent);
    return 0;
  }
  const rlo_dlpack_view *again = rlo_dlpack_import_view(import);
  fuzz_check_shape(&again->shape);
  FUZZ_CHECK(rlo_shape_compatible(&view.shape, &again->shape));
  FUZZ_CHECK(again->is_read_only == view.is_read_only);
  rlo_dlpack_import_release(import);
  return 0;
}
