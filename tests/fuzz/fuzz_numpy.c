/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/npy.h"

#include "fuzz.h"

/* Type, sizes and strides of an array in memory. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_reader reader = {data, size};
  char type[12] = "";
  fuzz_take(&reader, type, sizeof(type) - 1);
  int32_t rank = (int8_t)fuzz_take_byte(&reader);
  bool has_strides = (fuzz_take_byte(&reader) & 1) != 0;
  int64_t available_bytes = fuzz_take_number(&reader);
  int64_t dims[128];
  int64_t strides[128];
  for (int i = 0; i < rank; ++i) {
    dims[i] = fuzz_take_number(&reader);
    strides[i] = fuzz_take_number(&reader);
  }
  rlo_numpy_view view = RLO_NUMPY_VIEW_INIT;
  if (rlo_shape_from_numpy(type, dims, has_strides ? strides : NULL, rank, available_bytes,
                           &view) == RLO_OK) {
    fuzz_check_shape(&view.shape);
    FUZZ_CHECK(view.shape.rank == rank);
    FUZZ_CHECK(view.offset_bytes <= 0);
    for (int32_t k = 0; k < rank; ++k) {
      FUZZ_CHECK(view.shape.dims[k] == dims[k]);
    }
  }
  return 0;
}
