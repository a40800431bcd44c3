/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "safetensors/format.h"

struct rlo_safetensors_writer {
  const rlo_safetensors_plan *plan;
  char path[PATH_MAX];
  int32_t num_parts;
  rlo__file_replace parts[];
};

/* Opens a part with the size of its file, and writes the header. */
static rlo_status begin_part(rlo_safetensors_writer *w, int32_t f) {
  const rlo_safetensors_file *file = rlo_safetensors_plan_file(w->plan, f);
  char inside[2 * PATH_MAX];
  const bool is_inside = file->name != NULL;
  (void)snprintf(inside, sizeof(inside), "%s%s%s", w->path, is_inside ? "/" : "",
                 is_inside ? file->name : "");
  int error = rlo__file_replace_begin(&w->parts[f], inside, RLO__FILE_NEW_PART);
  w->num_parts += error == 0 ? 1 : 0;
  if (error == 0) {
    error = rlo__file_replace_write(&w->parts[f], file->head, (size_t)file->head_bytes);
  }
  if (error == 0 && ftruncate(w->parts[f].fd, file->bytes) != 0) {
    error = errno;
  }
  return error == 0 ? RLO_OK : rlo__file_fail("cannot write", inside, error);
}

static rlo_status begin_parts(rlo_safetensors_writer *w, const char *path, int32_t count) {
  (void)snprintf(w->path, sizeof(w->path), "%s", path);
  if (rlo_safetensors_plan_file(w->plan, 0)->name != NULL && mkdir(path, 0777) != 0 &&
      errno != EEXIST) {
    return rlo__file_fail("cannot make the folder", path, errno);
  }
  for (int32_t f = 0; f < count; ++f) {
    RLO_TRY(begin_part(w, f));
  }
  return RLO_OK;
}

rlo_status rlo_safetensors_writer_create(const char *path, const rlo_safetensors_plan *plan,
                                         rlo_safetensors_writer **out_writer) {
  RLO_REQUIRE(out_writer);
  *out_writer = NULL;
  RLO_REQUIRE(path, plan);
  const int32_t count = rlo_safetensors_plan_num_files(plan);
  rlo_safetensors_writer *w = rlo__alloc(sizeof(*w) + (size_t)count * sizeof(w->parts[0]));
  *out_writer = w;
  if (w == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  w->plan = plan;
  const rlo_status status = begin_parts(w, path, count);
  if (status != RLO_OK) {
    rlo_safetensors_writer_release(w);
    *out_writer = NULL;
  }
  return status;
}

rlo_status rlo_safetensors_writer_storage(const rlo_safetensors_writer *writer, int64_t n,
                                          const rlo_storage_traits *hints,
                                          rlo_storage **out_storage) {
  RLO_REQUIRE(writer, out_storage);
  const rlo_safetensors_place *place = rlo_safetensors_plan_place(writer->plan, n);
  *out_storage = NULL;
  return place == NULL ? RLO_FAIL(RLO_OUT_OF_RANGE, "there is no member %" PRId64, n)
                       : rlo_storage_from_fd(writer->parts[place->file].fd, place->offset_bytes,
                                             place->bytes, hints, out_storage);
}

rlo_status rlo_safetensors_writer_commit(rlo_safetensors_writer *writer) {
  RLO_REQUIRE(writer);
  char path[2 * PATH_MAX];
  int error = 0;
  for (int32_t f = 0; f < writer->num_parts && error == 0; ++f) {
    error = rlo__file_replace_finish(&writer->parts[f]);
  }
  for (int32_t f = 0; f < writer->num_parts && error == 0; ++f) {
    error = rlo__file_replace_commit(&writer->parts[f]);
  }
  const char *index = rlo_safetensors_plan_index(writer->plan);
  (void)snprintf(path, sizeof(path), "%s/" RLO__INDEX_NAME, writer->path);
  return error != 0      ? rlo__file_fail("cannot complete", writer->path, error)
         : index == NULL ? RLO_OK
                         : rlo__file_write(path, index, strlen(index));
}

void rlo_safetensors_writer_release(rlo_safetensors_writer *writer) {
  for (int32_t f = 0; writer != NULL && f < writer->num_parts; ++f) {
    rlo__file_replace_abandon(&writer->parts[f]);
  }
  rlo__free(writer);
}
