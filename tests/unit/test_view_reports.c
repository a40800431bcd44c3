/* SPDX-License-Identifier: Apache-2.0 */
/* Views of other libraries' arrays fit the struct of the caller's header. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/dlpack.h"
#include "relayout/npy.h"
#include "relayout/xla/pjrt.h"
#include "support/dlpack_tensor.h"
#include "support/expect.h"
#include "support/npy_bytes.h"
#include "support/report.h"
#include "support/shape_of.h"
#include "support/suite.h"

static const int64_t dims[] = {2, 3};

static rlo_status write_npy_header(void *out) {
  unsigned char bytes[128];
  size_t size_bytes =
      test_npy_make(bytes, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n");
  return rlo_npy_parse(bytes, size_bytes, -1, out);
}

static rlo_status write_numpy_view(void *out) {
  return rlo_shape_from_numpy("<f4", dims, NULL, 2, RLO_AVAILABLE_UNKNOWN, out);
}

/* Writes the view of no layout, which is row-major. */
static rlo_status write_plain_view(void *out) {
  return rlo_shape_from_pjrt(RLO_DTYPE_F32, dims, 2, NULL, RLO_AVAILABLE_UNKNOWN, out);
}

static rlo_status write_pjrt_view(void *out) {
  const int64_t strides[] = {4, 8};
  rlo_pjrt_layout layout = {.struct_size = sizeof layout, .type = RLO_PJRT_LAYOUT_STRIDES};
  layout.form.strides = (rlo_pjrt_strides){
      .struct_size = sizeof layout.form.strides, .byte_strides = strides, .num_byte_strides = 2};
  return rlo_shape_from_pjrt(RLO_DTYPE_F32, dims, 2, &layout, RLO_AVAILABLE_UNKNOWN, out);
}

static rlo_status write_dlpack_view(void *out) {
  const DLDataType f32 = {2, 32, 1};
  int64_t sizes[] = {2, 3};
  const DLTensor tensor = test_dlpack_tensor(f32, sizes, NULL, 2);
  return rlo_dlpack_view_tensor(&tensor, 0, RLO_AVAILABLE_UNKNOWN, out);
}

static const test_report reports[] = {
    {".npy header", sizeof(rlo_npy_header), offsetof(rlo_npy_header, type_name), write_npy_header},
    {"NumPy view", sizeof(rlo_numpy_view), offsetof(rlo_numpy_view, is_byte_swapped),
     write_numpy_view},
    {"PJRT view", sizeof(rlo_pjrt_view), offsetof(rlo_pjrt_view, offset_bytes), write_plain_view},
    {"PJRT view", sizeof(rlo_pjrt_view), offsetof(rlo_pjrt_view, offset_bytes), write_pjrt_view},
    {"DLPack view", sizeof(rlo_dlpack_view), offsetof(rlo_dlpack_view, is_read_only),
     write_dlpack_view},
};

RLO_TABLE_TEST(test_view_reports__fit_the_header_of_the_caller, reports) {
  expect_report_fits(&reports[_i]);
}

static rlo_status write_tiled_export(void *out) {
  rlo_shape shape = test_shape_of("f32[20,300]{1,0:T(8,128)}");
  return rlo_shape_to_pjrt(&shape, RLO_PJRT_LAYOUT_TILED, out);
}

static rlo_status write_strides_export(void *out) {
  rlo_shape shape = test_shape_of("f32[2,3]{0,1}");
  return rlo_shape_to_pjrt(&shape, RLO_PJRT_LAYOUT_STRIDES, out);
}

static const test_report exports[] = {
    {"PJRT export", sizeof(rlo_pjrt_export), 0, write_tiled_export},
    {"PJRT export", sizeof(rlo_pjrt_export), 0, write_strides_export},
};

/* The layout points into the struct, so that a smaller struct has no room for
 * its lists. */
RLO_TABLE_TEST(test_view_reports__a_pjrt_export_holds_what_it_points_to, exports) {
  const test_report *report = &exports[_i];
  char message[160];
  expect_report_written(report, report->bytes);
  const size_t small[] = {0, sizeof(size_t) - 1, offsetof(rlo_pjrt_export, offset_bytes),
                          offsetof(rlo_pjrt_export, tile_dim_sizes)};
  for (size_t i = 0; i < sizeof small / sizeof *small; ++i) {
    (void)snprintf(message, sizeof message, "PJRT export: a struct_size of %zu is below %zu",
                   small[i], report->bytes);
    expect_report_refused(report, small[i], message);
  }
  (void)snprintf(message, sizeof message,
                 "struct_size of the PJRT export is %zu; this library knows "
                 "%zu bytes: begin with RLO_PJRT_EXPORT_INIT",
                 report->bytes + 8, report->bytes);
  expect_report_refused(report, report->bytes + 8, message);
}
