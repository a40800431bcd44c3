/* SPDX-License-Identifier: Apache-2.0 */
/* memfd_create is no part of POSIX. */
#define _GNU_SOURCE
#include "relayout/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "memory_file.h"

/* Members fill the bytes behind the header, and each is found by its name. */
static void check_members(const rlo_safetensors *list, int64_t file_bytes) {
  const int64_t count = rlo_safetensors_num_members(list);
  int64_t end = -1;
  for (int64_t n = 0; n < count; ++n) {
    rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
    rlo_shape_extent extent;
    FUZZ_CHECK(rlo_safetensors_get_member(list, n, &m) == RLO_OK);
    fuzz_check_shape(&m.shape);
    FUZZ_CHECK(rlo_shape_measure(&m.shape, &extent) == RLO_OK && extent.physical_bytes == m.bytes);
    FUZZ_CHECK(rlo_safetensors_find(list, m.name) == n && m.type_name != NULL);
    FUZZ_CHECK(end < 0 || m.offset_bytes == end);
    end = m.offset_bytes + m.bytes;
  }
  FUZZ_CHECK(end < 0 || end == file_bytes);
}

/* What was read is planned: the file that it becomes has the same members. */
static void write_again(const rlo_safetensors *list) {
  enum { MAX_MEMBERS = 16 };

  static rlo_safetensors_member members[MAX_MEMBERS];
  const char *names[MAX_MEMBERS];
  const rlo_shape *shapes[MAX_MEMBERS];
  rlo_safetensors_plan_options options = RLO_SAFETENSORS_PLAN_OPTIONS_INIT;
  rlo_safetensors_plan *plan = NULL;
  rlo_safetensors *again = NULL;
  const int64_t count = rlo_safetensors_num_members(list);
  if (count > MAX_MEMBERS) {
    return;
  }
  for (int64_t n = 0; n < count; ++n) {
    members[n] = (rlo_safetensors_member)RLO_SAFETENSORS_MEMBER_INIT;
    FUZZ_CHECK(rlo_safetensors_get_member(list, n, &members[n]) == RLO_OK);
    names[n] = members[n].name;
    shapes[n] = &members[n].shape;
  }
  options.metadata = rlo_safetensors_metadata(list, &options.num_metadata);
  FUZZ_CHECK(rlo_safetensors_plan_create(names, shapes, count, &options, &plan) == RLO_OK);
  const rlo_safetensors_file *file = rlo_safetensors_plan_file(plan, 0);
  FUZZ_CHECK(file->head_bytes % 64 == 0);
  memory_file copy = memory_file_make(file->head, (size_t)file->head_bytes);
  FUZZ_CHECK(ftruncate(copy.fd, file->bytes) == 0);
  FUZZ_CHECK(rlo_safetensors_open(copy.path, &again) == RLO_OK);
  FUZZ_CHECK(rlo_safetensors_num_members(again) == count);
  for (int64_t n = 0; n < count; ++n) {
    rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
    FUZZ_CHECK(rlo_safetensors_get_member(again, rlo_safetensors_find(again, names[n]), &m) ==
               RLO_OK);
    FUZZ_CHECK(rlo_shape_equal(&m.shape, shapes[n]));
    FUZZ_CHECK(m.offset_bytes == rlo_safetensors_plan_place(plan, n)->offset_bytes);
  }
  rlo_safetensors_release(again);
  rlo_safetensors_plan_release(plan);
  memory_file_close(&copy);
}

static void read_file(const char *path, size_t size) {
  rlo_safetensors *list = NULL;
  if (rlo_safetensors_open(path, &list) == RLO_OK) {
    check_members(list, (int64_t)size);
    write_again(list);
  } else {
    FUZZ_CHECK(list == NULL && rlo_error_last()->message[0] != '\0');
  }
  rlo_safetensors_release(list);
}

/* An index beside a file without members, "a", and one with member "b", "b". */
static void read_index(const uint8_t *data, size_t size) {
  static const char empty[] = "\x02\0\0\0\0\0\0\0{}";
  static const char one[] =
      "\x34\0\0\0\0\0\0\0{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}    ~";
  static char folder[] = "/dev/shm/relayout_fuzz_XXXXXX";

  static const struct {
    const char *name;
    const void *bytes;
    size_t size;
  } files[] = {{"a", empty, sizeof(empty) - 1}, {"b", one, sizeof(one) - 1}};

  if (folder[sizeof(folder) - 2] == 'X') {
    FUZZ_CHECK(mkdtemp(folder) != NULL);
  }
  char path[64];
  for (int n = 0; n < 3; ++n) {
    snprintf(path, sizeof(path), "%s/%s", folder, n < 2 ? files[n].name : "x.index.json");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const size_t bytes = n < 2 ? files[n].size : size;
    FUZZ_CHECK(fd >= 0 && write(fd, n < 2 ? files[n].bytes : data, bytes) == (ssize_t)bytes);
    close(fd);
  }
  rlo_safetensors *list = NULL;
  if (rlo_safetensors_open(path, &list) == RLO_OK) {
    FUZZ_CHECK(rlo_safetensors_num_files(list) <= 2 && rlo_safetensors_num_members(list) <= 1);
  }
  rlo_safetensors_release(list);
  for (int n = 0; n < 3; ++n) {
    snprintf(path, sizeof(path), "%s/%s", folder, n < 2 ? files[n].name : "x.index.json");
    unlink(path);
  }
  FUZZ_CHECK(rmdir(folder) == 0);
  memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
}

/* A file; the length of its header is made to fit if it is 0, with as many zeros behind
 * it as the last number of a place in it says. An input that begins with '{' is an
 * index. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const int64_t live = rlo__alloc_live_count();
  if (size > 0 && data[0] == '{') {
    read_index(data, size);
  } else {
    memory_file file = memory_file_make(data, size);
    read_file(file.path, size);
    if (size > 12 && size < 4096) {
      /* The same bytes as a header, with two bytes that say how many follow. */
      const uint64_t length = size - 2;
      unsigned char prefix[8] = {(unsigned char)length, (unsigned char)(length >> 8)};
      const size_t whole = 8 + size - 2 + data[0] + 256 * (size_t)(data[1] % 16);
      FUZZ_CHECK(pwrite(file.fd, prefix, 8, 0) == 8);
      FUZZ_CHECK(pwrite(file.fd, data + 2, size - 2, 8) == (ssize_t)size - 2);
      FUZZ_CHECK(ftruncate(file.fd, (off_t)whole) == 0);
      read_file(file.path, whole);
    }
    memory_file_close(&file);
  }
  FUZZ_CHECK(rlo__alloc_live_count() == live);
  return 0;
}
