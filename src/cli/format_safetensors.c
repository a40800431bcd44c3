/* SPDX-License-Identifier: Apache-2.0 */
/* Files of weights: an array is a member, FILE.safetensors::NAME. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relayout/safetensors.h"

#include "display.h"
#include "file_format.h"
#include "message.h"

/* The name of the member of a file that is written. */
#define WRITTEN_NAME "tensor"

static int find_member(const rlo_safetensors *list, const char *path, const char *name,
                       rlo_safetensors_member *out_member) {
  const int64_t count = rlo_safetensors_num_members(list);
  const int64_t n = name == NULL && count == 1 ? 0 : rlo_safetensors_find(list, name);
  RLO__EXIT_IF(name != NULL && n < 0, "%s has no member '%s'", path, name);
  RLO__EXIT_IF(n < 0, "%s has %" PRId64 " members: name one, as %s::NAME", path, count, path);
  return rlo__check(rlo_safetensors_get_member(list, n, out_member));
}

/* Takes the shape of --from, whose slots the member has to hold, or else its own. */
static int choose_shape(const char *path, const rlo__file_hints *hints,
                        const rlo_safetensors_member *m, rlo_shape *out_shape) {
  rlo_shape_extent extent = {0};
  *out_shape = hints->from == NULL ? m->shape : *hints->from;
  RLO__EXIT_TRY(rlo__check(rlo_shape_measure(out_shape, &extent)));
  return extent.physical_bytes == m->bytes &&
                 (hints->is_bitcast || out_shape->dtype == m->shape.dtype)
             ? RLO__EXIT_OK
             : rlo__fail(
                   "member '%s' of %s is %s, %" PRId64 " bytes; the shape of --from takes %" PRId64
                   ", and --bitcast another type",
                   m->name, path, rlo__shape_text(&m->shape), m->bytes, extent.physical_bytes);
}

static int open_member(const char *path, const char *member, const rlo__file_hints *hints,
                       rlo__input_file *out_file, rlo__file_contents *out_contents) {
  rlo_safetensors *list = NULL;
  rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
  *out_contents = (rlo__file_contents){0};
  RLO__EXIT_IF(hints->array >= 0, "--array is for .npy files: %s::NAME is a member of %s", path,
               path);
  RLO__EXIT_TRY(rlo__check(rlo_safetensors_open(path, &list)));
  int code = find_member(list, path, member, &m);
  if (code == RLO__EXIT_OK) {
    code = choose_shape(path, hints, &m, &out_contents->shape);
  }
  if (code == RLO__EXIT_OK) {
    out_contents->offset_bytes = m.offset_bytes;
    (void)snprintf(out_contents->digest, sizeof(out_contents->digest), "%s",
                   hints->from != NULL || m.digest == NULL ? "" : m.digest);
    code = rlo__input_file_open(rlo_safetensors_file_path(list, m.file), hints->memory_bytes,
                                out_file);
  }
  rlo_safetensors_release(list);
  return code;
}

static int make_header(const rlo_shape *shape, bool is_swapped, const rlo_digest *digest,
                       char *out_header, size_t *out_bytes) {
  const char *name = WRITTEN_NAME;
  rlo_safetensors_plan *plan = NULL;
  rlo_safetensors_plan_options options = RLO_SAFETENSORS_PLAN_OPTIONS_INIT;
  options.digests = digest;
  RLO__EXIT_IF(is_swapped, "the numbers of a safetensors file have their first byte first");
  RLO__EXIT_TRY(rlo__check(rlo_safetensors_plan_create(&name, &shape, 1, &options, &plan)));
  const rlo_safetensors_file *file = rlo_safetensors_plan_file(plan, 0);
  const bool has_room = file->head_bytes <= RLO__MAX_HEADER_BYTES;
  *out_bytes = (size_t)file->head_bytes;
  memcpy(out_header, file->head, has_room ? *out_bytes : 0);
  rlo_safetensors_plan_release(plan);
  return has_room ? RLO__EXIT_OK
                  : rlo__fail("the header has more than %d bytes", RLO__MAX_HEADER_BYTES);
}

const rlo__file_format rlo__format_safetensors = {
    .suffixes = {".safetensors"},
    .help =
        "a member of a file of weights, FILE::NAME, or of a\n"
        "folder with an index, FOLDER::NAME. A result is a file of one\n"
        "member, 'tensor'; a layout that is not row-major is in its\n"
        "metadata, and is read from there.\n",
    .open_member = open_member,
    .make_header = make_header,
};
