/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/options.h"
#include "base/status.h"
#include "relayout/text.h"
#include "safetensors/format.h"

typedef struct open_file {
  int fd;
  char *path;
} open_file;

/* A member in little memory: there may be 100,000. */
typedef struct member {
  rlo_dtype dtype;
  int32_t rank, file;
  int64_t offset, bytes;
  /* Borrowed from the metadata; NULL: there is none. */
  const char *texts[RLO__NUM_TEXTS];
  /* It lies behind the dimensions. */
  const char *name;
  int64_t dims[];
} member;

struct rlo_safetensors {
  open_file *files;
  size_t num_files, file_capacity;
  member **members;
  size_t num_members, member_capacity;
  /* The number of each name. */
  json_t *numbers;
  json_t *metadata;
  rlo_safetensors_text *texts;
};

/* Puts the file and the member before the sentence of a call that failed. */
static rlo_status blame(rlo_status status, const char *path, const char *name) {
  return RLO_FAIL(status, "%s, member '%s': %s", path, name, rlo_error_last()->message);
}

/* ------------------------------------------------------------------ header */

static rlo_status parse_object(const char *path, const char *text, size_t bytes, json_t **out) {
  json_error_t error;
  /* The format lets a header begin with nothing else. */
  RLO_FAIL_IF(bytes == 0 || text[0] != '{', RLO_PARSE,
              "%s has no JSON object where one has to begin", path);
  *out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
  return *out != NULL
             ? RLO_OK
             : RLO_FAIL(RLO_PARSE, "%s, byte %d of its JSON: %s", path, error.position, error.text);
}

/* Reads the header, and tells where the members' bytes begin. */
static rlo_status read_header(const open_file *file, int64_t file_bytes, json_t **out_header,
                              int64_t *out_begin) {
  uint64_t length = 0;
  /* The host is little-endian: base/version.c. */
  RLO_TRY(rlo__file_pread(file->fd, file->path, &length, RLO__LENGTH_BYTES, 0));
  RLO_FAIL_IF(length > RLO_SAFETENSORS_MAX_HEADER_BYTES, RLO_UNSUPPORTED,
              "%s is no safetensors file, or has a header of %" PRIu64
              " bytes; the format allows %d",
              file->path, length, RLO_SAFETENSORS_MAX_HEADER_BYTES);
  *out_begin = RLO__LENGTH_BYTES + (int64_t)length;
  RLO_FAIL_IF(*out_begin > file_bytes, RLO_DATA_LOSS,
              "%s has %" PRId64 " bytes; its header ends at byte %" PRId64, file->path, file_bytes,
              *out_begin);
  char *text = rlo__alloc_unset((size_t)length);
  rlo_status status =
      text == NULL ? RLO_OUT_OF_MEMORY
                   : rlo__file_pread(file->fd, file->path, text, (size_t)length, RLO__LENGTH_BYTES);
  if (status == RLO_OK) {
    status = parse_object(file->path, text, (size_t)length, out_header);
  }
  rlo__free(text);
  return status;
}

/* ----------------------------------------------------------------- members */

/* Sets type, rank and place, which has to be within the bytes behind the header. */
static rlo_status parse_fields(json_t *value, int64_t all_bytes, member *m, json_t **out_dims) {
  const char *type;
  json_int_t begin;
  json_int_t end;
  RLO_FAIL_IF(json_unpack(value, "{s:s, s:o, s:[I, I!]}", "dtype", &type, "shape", out_dims,
                          "data_offsets", &begin, &end) != 0 ||
                  !json_is_array(*out_dims),
              RLO_PARSE,
              "it has to have a dtype, a shape and data_offsets, a string, an array and an array "
              "of two numbers");
  RLO_FAIL_IF(begin < 0 || end < begin || end > all_bytes, RLO_PARSE,
              "it goes from byte %lld to byte %lld of the %" PRId64 " behind the header",
              (long long)begin, (long long)end, all_bytes);
  const size_t rank = json_array_size(*out_dims);
  *m = (member){.dtype = rlo__safetensors_type(type),
                .rank = (int32_t)rank,
                .offset = begin,
                .bytes = end - begin};
  return m->dtype != RLO_DTYPE_INVALID && rank <= RLO_MAX_RANK
             ? RLO_OK
             : RLO_FAIL(RLO_UNSUPPORTED,
                        "the type '%s' with %zu dimensions; known are those of the format, with up "
                        "to %d",
                        type, rank, RLO_MAX_RANK);
}

/* Sets the dimensions, which with the type have to take the member's bytes. */
static rlo_status parse_dims(const json_t *dims, member *m) {
  rlo_shape shape;
  rlo_shape_extent extent = {0};
  for (int32_t d = 0; d < m->rank; ++d) {
    const json_t *size = json_array_get(dims, (size_t)d);
    m->dims[d] = json_integer_value(size);
    RLO_FAIL_IF(!json_is_integer(size) || m->dims[d] < 0, RLO_PARSE, "dimension %d is no size", d);
  }
  RLO_TRY(rlo__safetensors_plain_shape(m->dtype, m->dims, m->rank, &shape));
  RLO_TRY(rlo_shape_measure(&shape, &extent));
  RLO_FAIL_IF(extent.elements * extent.element_bits % 8 != 0, RLO_PARSE,
              "%" PRId64 " elements of %" PRId64 " bits do not end with a byte", extent.elements,
              extent.element_bits);
  return extent.bytes == m->bytes
             ? RLO_OK
             : RLO_FAIL(RLO_PARSE,
                        "it has %" PRId64 " bytes; its type and dimensions take %" PRId64, m->bytes,
                        extent.bytes);
}

static rlo_status add_member(rlo_safetensors *list, const char *name, json_t *value,
                             int64_t all_bytes) {
  member fields;
  json_t *dims;
  RLO_TRY(parse_fields(value, all_bytes, &fields, &dims));
  const size_t dims_bytes = (size_t)fields.rank * sizeof(fields.dims[0]);
  member *m = rlo__alloc(sizeof(*m) + dims_bytes + strlen(name) + 1);
  RLO_TRY_MEMORY(m);
  list->members[list->num_members++] = m;
  *m = fields;
  m->file = (int32_t)list->num_files - 1;
  m->name = memcpy((char *)m->dims + dims_bytes, name, strlen(name) + 1);
  return parse_dims(dims, m);
}

static rlo_status add_members(rlo_safetensors *list, json_t *header, int64_t all_bytes) {
  const char *path = list->files[list->num_files - 1].path;
  const char *name;
  json_t *value;
  RLO_TRY(rlo__array_reserve(&list->members, sizeof(member *),
                             list->num_members + json_object_size(header) + 1,
                             &list->member_capacity));
  json_object_foreach(header, name, value) {
    if (strcmp(name, RLO__METADATA_KEY) != 0) {
      const rlo_status status = add_member(list, name, value, all_bytes);
      if (status != RLO_OK) {
        return blame(status, path, name);
      }
    } else if (!json_is_null(value) && json_object_update_missing(list->metadata, value) != 0) {
      return RLO_FAIL(RLO_PARSE, "%s: " RLO__METADATA_KEY " is no object", path);
    }
  }
  return RLO_OK;
}

static int compare_places(const void *a, const void *b) {
  const member *const left = *(const member *const *)a;
  const member *const right = *(const member *const *)b;
  return left->offset != right->offset ? (left->offset < right->offset ? -1 : 1)
         : left->bytes != right->bytes ? (left->bytes < right->bytes ? -1 : 1)
                                       : strcmp(left->name, right->name);
}

/* Numbers the members of a file, from `first` on, in the order of their bytes, of which
 * each has to belong to one. Their offsets become those in the file. */
static rlo_status place_members(rlo_safetensors *list, size_t first, int64_t begin,
                                int64_t file_bytes) {
  const char *path = list->files[list->num_files - 1].path;
  int64_t end = begin;
  qsort((void *)(list->members + first), list->num_members - first, sizeof(member *),
        compare_places);
  for (size_t n = first; n < list->num_members; ++n) {
    member *m = list->members[n];
    m->offset += begin;
    const int64_t other = rlo_safetensors_find(list, m->name);
    RLO_FAIL_IF(other >= 0, RLO_PARSE, "%s and %s both have a member '%s'",
                list->files[list->members[other]->file].path, path, m->name);
    RLO_FAIL_IF(m->offset != end, RLO_PARSE,
                "%s, member '%s': it begins at byte %" PRId64
                ", the one before it ends at byte %" PRId64,
                path, m->name, m->offset, end);
    end += m->bytes;
    if (json_object_set_new(list->numbers, m->name, json_integer((json_int_t)n)) != 0) {
      return rlo__safetensors_fail_json(m->name);
    }
  }
  return end == file_bytes
             ? RLO_OK
             : RLO_FAIL(RLO_DATA_LOSS, "%s has %" PRId64 " bytes; its members end at byte %" PRId64,
                        path, file_bytes, end);
}

/* ------------------------------------------------------------------- files */

static rlo_status add_file(rlo_safetensors *list, const char *path) {
  const size_t first = list->num_members;
  struct stat st;
  int64_t begin = 0;
  json_t *header = NULL;
  RLO_TRY(rlo__array_reserve(&list->files, sizeof(open_file), list->num_files + 1,
                             &list->file_capacity));
  open_file *file = &list->files[list->num_files++];
  /* O_NONBLOCK: the open of a pipe without a writer would not return. */
  *file = (open_file){rlo__open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK), rlo__alloc_string(path)};
  if (file->fd < 0 || fstat(file->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    return file->fd < 0 ? rlo__file_fail("cannot open", path, errno)
                        : RLO_FAIL(RLO_IO, "%s is not a regular file", path);
  }
  RLO_TRY_MEMORY(file->path);
  RLO_TRY(read_header(file, st.st_size, &header, &begin));
  rlo_status status = add_members(list, header, st.st_size - begin);
  if (status == RLO_OK) {
    status = place_members(list, first, begin, st.st_size);
  }
  json_decref(header);
  return status;
}

/* Opens the file that an index names for a member, if it is not open: `seen` has the
 * numbers of those that are. The file has to have the member. */
static rlo_status add_indexed(rlo_safetensors *list, const char *index_path, const char *name,
                              const char *file, json_t *seen) {
  char path[2 * PATH_MAX];
  RLO_FAIL_IF(file == NULL || strchr(file, '/') != NULL || strlen(file) > NAME_MAX, RLO_PARSE,
              "%s: '%s' is in '%s', which is the name of no file beside it", index_path, name,
              file == NULL ? "" : file);
  if (json_object_get(seen, file) == NULL) {
    rlo__folder_of(index_path, path);
    const size_t length = strlen(path);
    (void)snprintf(path + length, sizeof(path) - length, "%s%s", path[length - 1] == '/' ? "" : "/",
                   file);
    RLO_TRY(add_file(list, path));
    (void)json_object_set_new(seen, file, json_integer((json_int_t)list->num_files - 1));
  }
  const int64_t n = rlo_safetensors_find(list, name);
  return n >= 0 && list->members[n]->file == json_integer_value(json_object_get(seen, file))
             ? RLO_OK
             : RLO_FAIL(RLO_PARSE, "%s: %s has no member '%s'", index_path, file, name);
}

static rlo_status add_index(rlo_safetensors *list, const char *path) {
  char *text = NULL;
  size_t bytes = 0;
  json_t *index = NULL;
  const char *name;
  json_t *value;
  RLO_TRY(rlo__file_read(path, RLO_SAFETENSORS_MAX_HEADER_BYTES, &text, &bytes));
  rlo_status status = parse_object(path, text, bytes, &index);
  json_t *map = json_object_get(index, "weight_map");
  json_t *seen = json_object();
  if (status == RLO_OK && !json_is_object(map)) {
    status = RLO_FAIL(RLO_PARSE, "%s has no object weight_map", path);
  }
  json_object_foreach(map, name, value) {
    status =
        status != RLO_OK ? status : add_indexed(list, path, name, json_string_value(value), seen);
  }
  json_decref(seen);
  json_decref(index);
  rlo__free(text);
  return status;
}

/* ---------------------------------------------------------------- metadata */

/* Fails unless the shape of a member's text fits the header. */
static rlo_status check_shape(const member *m) {
  const char *text = m->texts[RLO__SHAPE_TEXT];
  rlo_shape shape;
  rlo_shape expected;
  rlo_shape found;
  RLO_TRY(rlo_shape_parse(text, strlen(text), &shape));
  RLO_TRY(rlo__safetensors_header_shape(&shape, &expected));
  RLO_TRY(rlo__safetensors_plain_shape(m->dtype, m->dims, m->rank, &found));
  return rlo_shape_equal(&expected, &found)
             ? RLO_OK
             : RLO_FAIL(RLO_PARSE,
                        "the header of a member that is %s has %" PRId64 " elements of type %s",
                        text, expected.rank == 1 ? expected.dims[0] : 0,
                        rlo__safetensors_type_name(expected.dtype));
}

/* Gives an entry of the metadata to the member whose it is, if it is there: others drop
 * members and keep the metadata. */
static rlo_status set_text(const rlo_safetensors *list, const rlo_safetensors_text *text) {
  const int k = rlo__safetensors_text_of(text->key);
  const int64_t n =
      k == RLO__NUM_TEXTS
          ? -1
          : rlo_safetensors_find(list, text->key + strlen(rlo__safetensors_text_keys[k]));
  if (n < 0) {
    return RLO_OK;
  }
  member *m = list->members[n];
  m->texts[k] = text->value;
  const rlo_status status = k == RLO__SHAPE_TEXT ? check_shape(m) : RLO_OK;
  return status == RLO_OK ? RLO_OK : blame(status, list->files[m->file].path, m->name);
}

static rlo_status read_metadata(rlo_safetensors *list) {
  const char *key;
  json_t *value;
  rlo_safetensors_text *text =
      rlo__alloc_array(json_object_size(list->metadata) + 1, sizeof(*list->texts));
  list->texts = text;
  RLO_TRY_MEMORY(text);
  json_object_foreach(list->metadata, key, value) {
    *text = (rlo_safetensors_text){key, json_string_value(value)};
    RLO_FAIL_IF(text->value == NULL, RLO_PARSE, "%s: '%s' of " RLO__METADATA_KEY " is no string",
                list->files[0].path, key);
    RLO_TRY(set_text(list, text));
    ++text;
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ public */

/* Adds the files of a path. */
static rlo_status add_path(rlo_safetensors *list, const char *path) {
  static const char index_end[] = ".index.json";
  char inside[PATH_MAX];
  struct stat st;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    (void)snprintf(inside, sizeof(inside), "%s/" RLO__INDEX_NAME, path);
    if (access(inside, F_OK) != 0) {
      (void)snprintf(inside, sizeof(inside), "%s/" RLO__SINGLE_NAME, path);
    }
    path = inside;
  }
  const bool is_index = strlen(path) >= strlen(index_end) &&
                        strcmp(path + strlen(path) - strlen(index_end), index_end) == 0;
  return is_index ? add_index(list, path) : add_file(list, path);
}

static rlo_status read_all(rlo_safetensors *list, const char *const *paths, int64_t count) {
  list->numbers = json_object();
  list->metadata = json_object();
  for (int64_t n = 0; n < count; ++n) {
    RLO_TRY(add_path(list, paths[n]));
  }
  return read_metadata(list);
}

rlo_status rlo_safetensors_open(const char *path, rlo_safetensors **out_list) {
  RLO_REQUIRE(out_list);
  *out_list = NULL;
  RLO_REQUIRE(path);
  return rlo_safetensors_open_all(&path, 1, out_list);
}

rlo_status rlo_safetensors_open_all(const char *const *paths, int64_t count,
                                    rlo_safetensors **out_list) {
  RLO_REQUIRE(out_list);
  *out_list = NULL;
  RLO_REQUIRE_EACH(paths, count);
  rlo_safetensors *list = rlo__alloc(sizeof(*list));
  const rlo_status status = list == NULL ? RLO_OUT_OF_MEMORY : read_all(list, paths, count);
  if (status != RLO_OK) {
    rlo_safetensors_release(list);
    list = NULL;
  }
  *out_list = list;
  return status;
}

void rlo_safetensors_release(rlo_safetensors *list) {
  for (size_t n = 0; list != NULL && n < list->num_members; ++n) {
    rlo__free(list->members[n]);
  }
  for (size_t n = 0; list != NULL && n < list->num_files; ++n) {
    rlo__file_close(list->files[n].fd);
    rlo__free(list->files[n].path);
  }
  if (list != NULL) {
    json_decref(list->numbers);
    json_decref(list->metadata);
    rlo__free(list->texts);
    rlo__free((void *)list->members);
    rlo__free(list->files);
    rlo__free(list);
  }
}

int64_t rlo_safetensors_num_members(const rlo_safetensors *list) {
  return list == NULL ? 0 : (int64_t)list->num_members;
}

int32_t rlo_safetensors_num_files(const rlo_safetensors *list) {
  return list == NULL ? 0 : (int32_t)list->num_files;
}

const char *rlo_safetensors_file_path(const rlo_safetensors *list, int32_t file) {
  return file < 0 || file >= rlo_safetensors_num_files(list) ? NULL : list->files[file].path;
}

static rlo_status find_number(const rlo_safetensors *list, int64_t n, const member **out) {
  RLO_FAIL_IF(n < 0 || n >= (int64_t)list->num_members, RLO_OUT_OF_RANGE,
              "member %" PRId64 " of %zu", n, list->num_members);
  *out = list->members[n];
  return RLO_OK;
}

rlo_status rlo_safetensors_get_member(const rlo_safetensors *list, int64_t n,
                                      rlo_safetensors_member *out_member) {
  RLO_REQUIRE(list, out_member);
  const member *m;
  RLO_TRY(find_number(list, n, &m));
  rlo_safetensors_member found = {.name = m->name,
                                  .type_name = rlo__safetensors_type_name(m->dtype),
                                  .file = m->file,
                                  .offset_bytes = m->offset,
                                  .bytes = m->bytes,
                                  .sharding = m->texts[RLO__SHARDING_TEXT],
                                  .digest = m->texts[RLO__DIGEST_TEXT],
                                  .made_by = m->texts[RLO__MADE_BY_TEXT]};
  RLO_TRY(m->texts[RLO__SHAPE_TEXT] != NULL
              ? rlo_shape_parse(m->texts[RLO__SHAPE_TEXT], RLO_TEXT_TERMINATED, &found.shape)
              : rlo__safetensors_plain_shape(m->dtype, m->dims, m->rank, &found.shape));
  return rlo__report_write("safetensors member", "RLO_SAFETENSORS_MEMBER_INIT", &found, out_member,
                           sizeof(found));
}

int64_t rlo_safetensors_find(const rlo_safetensors *list, const char *name) {
  const json_t *number = list == NULL ? NULL : json_object_get(list->numbers, name);
  return number == NULL ? -1 : json_integer_value(number);
}

int64_t rlo_safetensors_match(const rlo_safetensors *list, const char *pattern, int64_t n) {
  const int64_t count = pattern == NULL || n < 0 ? 0 : rlo_safetensors_num_members(list);
  while (n < count && fnmatch(pattern, list->members[n]->name, 0) != 0) {
    ++n;
  }
  return n < count ? n : -1;
}

const rlo_safetensors_text *rlo_safetensors_metadata(const rlo_safetensors *list,
                                                     int64_t *out_count) {
  RLO_REQUIRE_OR(NULL, list, out_count);
  *out_count = (int64_t)json_object_size(list->metadata);
  return list->texts;
}

rlo_status rlo_safetensors_storage(const rlo_safetensors *list, int64_t n,
                                   const rlo_storage_traits *hints, rlo_storage **out_storage) {
  RLO_REQUIRE(list, out_storage);
  const member *m;
  *out_storage = NULL;
  RLO_TRY(find_number(list, n, &m));
  return rlo_storage_from_fd(list->files[m->file].fd, m->offset, m->bytes, hints, out_storage);
}
