/* SPDX-License-Identifier: Apache-2.0 */
/* Files of bare bytes: the physical bytes of a shape, without a header. */
#include <inttypes.h>

#include "file_format.h"
#include "message.h"

static int read_header(const rlo__input_file *file,
                       const rlo_shape *from,
                       rlo__file_contents *out_contents) {
  rlo_shape_extent extent = {0};
  if (rlo_shape_measure(from, &extent) != RLO_OK) {
    return rlo__fail_last();
  }
  if (file->size_bytes != extent.physical_bytes) {
    return rlo__fail("%s has %" PRId64
                     " bytes; the shape of --from takes %" PRId64,
                     file->path,
                     file->size_bytes,
                     extent.physical_bytes);
  }
  *out_contents = (rlo__file_contents){.shape = *from};
  return RLO__EXIT_OK;
}

static int make_header(const rlo_shape *shape,
                       char *out_header,
                       size_t *out_bytes) {
  (void)shape;
  (void)out_header;
  *out_bytes = 0;
  return RLO__EXIT_OK;
}

const rlo__file_format rlo__format_raw = {
    .suffixes = {".bin", ".raw"},
    .help =
        "bare bytes: all slots of the shape, padding included. Reading\n"
        "them requires --from.\n",
    .has_shape = false,
    .read_header = read_header,
    .make_header = make_header,
};
