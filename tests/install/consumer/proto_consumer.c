/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/xla/proto.h"

int main(void) {
  /* f32[], and a message that is cut off: its error crosses the libraries. */
  rlo_shape shape;
  if (rlo_proto_parse_shape("\x10\x0b", 2, &shape, NULL) != RLO_OK ||
      shape.dtype != RLO_DTYPE_F32) {
    return 1;
  }
  return rlo_proto_parse_shape("\x10", 1, &shape, NULL) == RLO_DATA_LOSS &&
                 strstr(rlo_error_last()->message, "byte 1") != NULL
             ? 0
             : 1;
}
