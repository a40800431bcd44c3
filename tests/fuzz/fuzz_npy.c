/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/npy.h"

#include "fuzz.h"

static void check_header(const rlo_npy_header *header) {
  fuzz_check_shape(&header->shape);
  FUZZ_CHECK(header->data_offset_bytes > 0);
  static unsigned char written[2 * RLO_NPY_MAX_HEADER_BYTES];
  size_t bytes = 0;
  FUZZ_CHECK(rlo_npy_format(&header->shape, written, sizeof(written), &bytes) == RLO_OK);
  rlo_npy_header again = RLO_NPY_HEADER_INIT;
  FUZZ_CHECK(rlo_npy_parse(written, bytes, -1, &again) == RLO_OK);
  FUZZ_CHECK(again.data_offset_bytes == (int64_t)bytes);
  FUZZ_CHECK(rlo_shape_equal(&header->shape, &again.shape));
}

/* The beginning of an .npy file, alone and as the whole of it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rlo_npy_header header = RLO_NPY_HEADER_INIT;
  rlo_npy_header whole = RLO_NPY_HEADER_INIT;
  bool is_header = rlo_npy_parse(data, size, -1, &header) == RLO_OK;
  if (is_header) {
    check_header(&header);
  }
  if (rlo_npy_parse(data, size, (int64_t)size, &whole) == RLO_OK) {
    FUZZ_CHECK(is_header);
    rlo_shape_extent extent;
    FUZZ_CHECK(rlo_shape_measure(&whole.shape, &extent) == RLO_OK);
    FUZZ_CHECK(whole.data_offset_bytes + extent.bytes == (int64_t)size);
  }
  return 0;
}
