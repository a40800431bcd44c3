/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/text.h"

#include "fuzz.h"

/* The text of an array: what is read can be printed, and read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  rlo_shape shape;
  if (rlo_shape_parse(text, size, &shape) == RLO_OK) {
    fuzz_check_shape(&shape);
  }
  /* The same bytes as a layout alone, of an array that is known, and not. */
  static const int64_t dims[] = {20, 300};
  rlo_layout layout;
  if (rlo_layout_parse(text, size, RLO_DTYPE_F32, dims, 2, &layout) == RLO_OK) {
    FUZZ_CHECK(rlo_shape_make_with_layout(RLO_DTYPE_F32, dims, 2, &layout, &shape) == RLO_OK);
    fuzz_check_shape(&shape);
  }
  rlo_bare_layout bare;
  if (rlo_bare_layout_parse(text, size, &bare) == RLO_OK) {
    size_t length = rlo_bare_layout_format(&bare, NULL, 0);
    char *printed = malloc(length + 1);
    FUZZ_CHECK(printed != NULL);
    FUZZ_CHECK(rlo_bare_layout_format(&bare, printed, length + 1) == length);
    rlo_bare_layout again;
    FUZZ_CHECK(rlo_bare_layout_parse(printed, length, &again) == RLO_OK);
    FUZZ_CHECK(rlo_bare_layout_equal(&bare, &again));
    rlo_bare_layout_deinit(&again);
    free(printed);
  }
  rlo_bare_layout_deinit(&bare);
  return 0;
}
