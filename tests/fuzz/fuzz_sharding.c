/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/sharding.h"

#include <string.h>

#include "fuzz.h"

/* Boxes of an array of this rank lie within it. */
static void check_boxes(const rlo_sharding *sharding, int32_t rank) {
  static const int64_t dims[RLO_MAX_RANK] = {7, 5, 3, 2};
  rlo_shape shape;
  FUZZ_CHECK(rlo_shape_make(RLO_DTYPE_U8, dims, rank, &shape) == RLO_OK);
  int64_t num_devices = rlo_sharding_num_devices(sharding);
  num_devices = num_devices > 0 ? num_devices : 2;
  if (rlo_sharding_validate(sharding, &shape, num_devices) != RLO_OK) {
    return;
  }
  for (int64_t device = 0; device < num_devices && device < 64; ++device) {
    rlo_box box;
    FUZZ_CHECK(rlo_sharding_get_box(sharding, &shape, device, &box) == RLO_OK);
    for (int32_t d = 0; d < rank; ++d) {
      FUZZ_CHECK(0 <= box.start[d] && box.start[d] <= box.limit[d] && box.limit[d] <= dims[d]);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rlo_sharding *sharding;
  if (rlo_sharding_parse((const char *)data, size, &sharding) != RLO_OK) {
    FUZZ_CHECK(sharding == NULL);
    return 0;
  }
  size_t length = rlo_sharding_format(sharding, NULL, 0);
  char *printed = malloc(length + 1);
  char *twice = malloc(length + 1);
  FUZZ_CHECK(printed != NULL && twice != NULL);
  FUZZ_CHECK(rlo_sharding_format(sharding, printed, length + 1) == length);
  rlo_sharding *again;
  FUZZ_CHECK(rlo_sharding_parse(printed, length, &again) == RLO_OK);
  FUZZ_CHECK(rlo_sharding_format(again, twice, length + 1) == length);
  FUZZ_CHECK(memcmp(printed, twice, length) == 0);
  for (int32_t rank = 0; rank <= 4; ++rank) {
    check_boxes(sharding, rank);
  }
  rlo_sharding_release(again);
  rlo_sharding_release(sharding);
  free(printed);
  free(twice);
  return 0;
}
