/* SPDX-License-Identifier: Apache-2.0 */
/* Files of bare bytes: the physical bytes of a shape, without a header. */
#include <inttypes.h>

#include "relayout/xla/shape_util.h"

#include "file_format.h"
#include "message.h"

static int read_header(const rlo__input_file *file, const rlo__file_hints *hints,
                       rlo__file_contents *out_contents) {
  int64_t bytes = 0;
  RLO__EXIT_TRY(rlo__check(rlo_shape_array_size(hints->from, &bytes)));
  bool is_part = hints->offset_bytes >= 0;
  int64_t offset_bytes = is_part ? hints->offset_bytes : 0;
  int64_t left_bytes = file->size_bytes - offset_bytes;
  RLO__EXIT_IF(left_bytes < bytes || (left_bytes > bytes && !is_part && file->pipe == 0),
               "%s has %" PRId64 " bytes from byte %" PRId64
               " on; the shape of --from takes %" PRId64,
               file->path, left_bytes < 0 ? 0 : left_bytes, offset_bytes, bytes);
  *out_contents = (rlo__file_contents){
      .shape = *hints->from,
      .offset_bytes = offset_bytes,
      .has_rest = is_part,
      .swapped_type =
          hints->byte_order == RLO__BYTE_ORDER_BIG ? hints->from->dtype : RLO_DTYPE_INVALID,
  };
  return RLO__EXIT_OK;
}

const rlo__file_format rlo__format_raw = {
    .suffixes = {".bin", ".raw"},
    .help =
        "bare bytes: all slots of the shape, padding included. Reading\n"
        "them requires --from; --offset and --byte-order replace\n"
        "what other formats have in their header. With --offset a\n"
        "file of any name is read as bare bytes.\n",
    .read_header = read_header,
};
