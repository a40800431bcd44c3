/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>

#include "relayout/opencl.h"
#include "relayout/safetensors.h"

#include "base/checked.h"
#include "base/status.h"
#include "describe.h"
#include "display.h"
#include "message.h"
#include "report.h"
#include "subprocess.h"

typedef struct listing {
  rlo__report report;
  const rlo_safetensors *list;
  /* 0: there is no device. */
  int64_t max_buffer_bytes;
  /* The file of the member before; -1: there is none. */
  int32_t file;
  int64_t bytes, wasted_bytes, num_too_long;
} listing;

/* Asks the default device for its longest buffer. Without a device there is none, and
 * that is no failure. */
static int find_longest_buffer(void *out_bytes) {
  rlo_context *context = NULL;
  if (rlo_context_create_default(-1, NULL, &context) == RLO_OK) {
    *(int64_t *)out_bytes = rlo_context_device_info(context)->max_allocation_bytes;
  }
  rlo_context_release(context);
  return RLO__EXIT_OK;
}

/* In text the path of a file is a line above its members. */
static void begin_file(listing *l, int32_t file, const char *path) {
  if (file != l->file) {
    rlo__report_line(&l->report, "", l->file < 0 ? "%s" : "\n%s", path);
    rlo__report_line(&l->report, "", "%12s  %12s  %7s  member and shape", "bytes", "wasted",
                     "aligned");
  }
  l->file = file;
}

static rlo_status add_member(listing *l, int64_t n) {
  enum { PAGE_BYTES = 4096 };

  rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
  rlo_shape_extent extent = {0};
  RLO_TRY(rlo_safetensors_get_member(l->list, n, &m));
  RLO_TRY(rlo_shape_measure(&m.shape, &extent));
  const int64_t wasted = rlo__max(0, extent.physical_bytes - extent.bytes);
  const int64_t alignment = rlo__gcd(m.offset_bytes, PAGE_BYTES);
  const bool is_too_long = l->max_buffer_bytes > 0 && m.bytes > l->max_buffer_bytes;
  const char *path = rlo_safetensors_file_path(l->list, m.file);
  const char *shape = rlo__shape_text(&m.shape);
  l->bytes = rlo__add_capped(l->bytes, m.bytes);
  l->wasted_bytes += wasted;
  l->num_too_long += is_too_long ? 1 : 0;
  begin_file(l, m.file, path);
  rlo__report_line(&l->report, "", "%12" PRId64 "  %12" PRId64 "  %7" PRId64 "  %s  %s%s%s%s",
                   m.bytes, wasted, alignment, m.name, shape,
                   m.sharding == NULL ? "" : "  sharding=", m.sharding == NULL ? "" : m.sharding,
                   is_too_long ? "  too long for a buffer" : "");
  RLO__REPORT_OBJECT(
      &l->report, NULL, RLO__STRING("name", NULL, m.name), RLO__STRING("shape", NULL, shape),
      RLO__STRING("sharding", NULL, m.sharding), RLO__STRING("file", NULL, path),
      RLO__INT("offset_bytes", NULL, m.offset_bytes), RLO__INT("bytes", NULL, m.bytes),
      RLO__INT("wasted_bytes", NULL, wasted), RLO__INT("alignment_bytes", NULL, alignment),
      RLO__BOOL("is_too_long", is_too_long));
  return RLO_OK;
}

static rlo_status add_members(listing *l) {
  const int64_t count = rlo_safetensors_num_members(l->list);
  rlo__report *r = &l->report;
  rlo__report_open(r, "members", '[');
  for (int64_t n = 0; n < count; ++n) {
    RLO_TRY(add_member(l, n));
  }
  rlo__report_close(r);
  rlo__report_line(r, "members", "\n%" PRId64, count);
  RLO__REPORT(r, RLO__INT("bytes", "bytes", l->bytes),
              RLO__INT("wasted_bytes", "wasted bytes", l->wasted_bytes));
  if (l->max_buffer_bytes > 0) {
    RLO__REPORT(r, RLO__INT("max_buffer_bytes", "longest buffer", l->max_buffer_bytes),
                RLO__INT("too_long", "too long for it", l->num_too_long));
  }
  return RLO_OK;
}

int rlo__describe_weights(const char *path, bool is_json) {
  rlo_safetensors *list = NULL;
  RLO__EXIT_TRY(rlo__check(rlo_safetensors_open(path, &list)));
  int64_t *limit = rlo__shared_create(sizeof(*limit));
  int code = RLO__EXIT_FAILURE;
  if (limit != NULL) {
    /* A driver's failure has been printed, and changes nothing here. */
    (void)rlo__subprocess_run(true, find_longest_buffer, limit);
    listing l = {.list = list, .max_buffer_bytes = *limit, .file = -1};
    rlo__report_begin(&l.report, is_json, 15);
    code = rlo__check(add_members(&l));
    rlo__report_end(&l.report);
  }
  rlo__shared_release(limit, sizeof(*limit));
  rlo_safetensors_release(list);
  return code;
}
