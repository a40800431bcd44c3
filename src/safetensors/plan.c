/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "relayout/text.h"
#include "safetensors/format.h"

enum {
  /** Members begin at multiples of this, or of a page if one is large. */
  ALIGNMENT_BYTES = 64,
  PAGE_BYTES = 4096,
  LARGE_BYTES = 1 << 20,
  FILE_NAME_BYTES = 48
};

typedef struct planned_file {
  /* Its bytes are those of the members until there is a header. */
  rlo_safetensors_file file;
  char name[FILE_NAME_BYTES];
  char *head;
  int64_t alignment;
} planned_file;

/* A member in the order in which the bytes lie. */
typedef struct ordered {
  int32_t file;
  /* The largest power of two that divides the size, and PAGE_BYTES. */
  int64_t divisor;
  int64_t member;
} ordered;

struct rlo_safetensors_plan {
  /* Borrowed while the plan is made. */
  const char *const *names;
  const rlo_shape *const *shapes;
  rlo_safetensors_plan_options options;

  int64_t num_members;
  rlo_safetensors_place *places;
  ordered *order;
  planned_file *files;
  int32_t num_files;
  /* NULL: there is none. */
  char *index;
};

/* ------------------------------------------------------------------ places */

/* Gives a member to the last file, or, if it has no room, to one more. */
static rlo_status choose_file(rlo_safetensors_plan *plan, int64_t n) {
  rlo_shape_extent extent = {0};
  RLO_TRY(rlo_shape_measure(plan->shapes[n], &extent));
  const int64_t bytes = extent.physical_bytes;
  const int64_t limit = plan->options.shard_bytes;
  planned_file *file = &plan->files[plan->num_files - 1];
  if (limit > 0 && bytes > 0 && file->file.bytes > 0 && file->file.bytes > limit - bytes) {
    file = &plan->files[plan->num_files++];
  }
  if (!rlo__add(file->file.bytes, bytes, &file->file.bytes)) {
    return rlo__fail_overflow("the size of the file");
  }
  file->alignment = rlo__max(file->alignment, bytes >= LARGE_BYTES ? PAGE_BYTES : ALIGNMENT_BYTES);
  plan->places[n] = (rlo_safetensors_place){.file = plan->num_files - 1, .bytes = bytes};
  plan->order[n] = (ordered){plan->num_files - 1, rlo__gcd(bytes, PAGE_BYTES), n};
  return RLO_OK;
}

static int compare_order(const void *a, const void *b) {
  const ordered *left = a;
  const ordered *right = b;
  return left->file != right->file         ? (left->file < right->file ? -1 : 1)
         : left->divisor != right->divisor ? (left->divisor > right->divisor ? -1 : 1)
         : left->member < right->member    ? -1
                                           : 1;
}

/* ----------------------------------------------------------------- headers */

static rlo_status add_metadata(json_t *metadata, const rlo_safetensors_plan_options *options) {
  for (int64_t n = 0; n < options->num_metadata; ++n) {
    const rlo_safetensors_text *text = &options->metadata[n];
    if (rlo__safetensors_text_of(text->key) == RLO__NUM_TEXTS &&
        json_object_set_new(metadata, text->key, json_string(text->value)) != 0) {
      return rlo__safetensors_fail_json(text->key);
    }
  }
  return RLO_OK;
}

/* Adds a text of a member, if it has one. */
static rlo_status add_text(json_t *metadata, int text, const char *name, const char *value) {
  return value == NULL || json_object_update_new(
                              metadata, json_pack("{s+:s}", rlo__safetensors_text_keys[text], name,
                                                  value)) == 0
             ? RLO_OK
             : rlo__safetensors_fail_json(name);
}

/* Adds the text of a shape to the metadata. */
static rlo_status add_shape(json_t *metadata, const char *name, const rlo_shape *shape) {
  const size_t bytes = rlo_shape_format(shape, NULL, 0) + 1;
  char *text = rlo__alloc(bytes);
  RLO_TRY_MEMORY(text);
  (void)rlo_shape_format(shape, text, bytes);
  const rlo_status status = add_text(metadata, RLO__SHAPE_TEXT, name, text);
  rlo__free(text);
  return status;
}

/* Adds what the caller knows of member n. */
static rlo_status add_texts(json_t *metadata, const rlo_safetensors_plan *plan, int64_t n) {
  const rlo_safetensors_plan_options *options = &plan->options;
  const char *name = plan->names[n];
  char text[33];
  if (options->digests != NULL) {
    (void)snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, options->digests[n].high,
                   options->digests[n].low);
    RLO_TRY(add_text(metadata, RLO__DIGEST_TEXT, name, text));
  }
  if (options->shardings != NULL) {
    RLO_TRY(add_text(metadata, RLO__SHARDING_TEXT, name, options->shardings[n]));
  }
  return options->made_by == NULL
             ? RLO_OK
             : add_text(metadata, RLO__MADE_BY_TEXT, name, options->made_by[n]);
}

static rlo_status add_member(json_t *header, json_t *metadata, const char *name,
                             const rlo_shape *shape, const rlo_safetensors_place *place) {
  rlo_shape found;
  RLO_TRY(rlo__safetensors_header_shape(shape, &found));
  if (!rlo_shape_equal(shape, &found)) {
    RLO_TRY(add_shape(metadata, name, shape));
  }
  json_t *dims = json_array();
  for (int32_t d = 0; d < found.rank; ++d) {
    (void)json_array_append_new(dims, json_integer(found.dims[d]));
  }
  json_t *entry =
      json_pack("{s:s, s:o, s:[I, I]}", "dtype", rlo__safetensors_type_name(found.dtype), "shape",
                dims, "data_offsets", (json_int_t)place->offset_bytes,
                (json_int_t)place->offset_bytes + place->bytes);
  return json_object_set_new(header, name, entry) == 0 ? RLO_OK : rlo__safetensors_fail_json(name);
}

/* Places and adds the members of a file, from *n of the order on, which moves to the
 * next file. The offsets are those in the header. */
static rlo_status add_members(rlo_safetensors_plan *plan, int32_t f, json_t *header, json_t *map,
                              int64_t *n) {
  json_t *metadata = json_object_get(header, RLO__METADATA_KEY);
  RLO_TRY(add_metadata(metadata, &plan->options));
  for (int64_t at = 0; *n < plan->num_members && plan->order[*n].file == f; ++*n) {
    const int64_t m = plan->order[*n].member;
    const char *name = plan->names[m];
    RLO_FAIL_IF(strcmp(name, RLO__METADATA_KEY) == 0 || json_object_get(map, name) != NULL,
                RLO_INVALID_ARGUMENT, "two members, or one and the metadata, are '%s'", name);
    plan->places[m].offset_bytes = at;
    at += plan->places[m].bytes;
    RLO_TRY(add_member(header, metadata, name, plan->shapes[m], &plan->places[m]));
    RLO_TRY(add_texts(metadata, plan, m));
    (void)json_object_set_new(map, name, json_string(plan->files[f].name));
  }
  return json_object_size(metadata) > 0 || json_object_del(header, RLO__METADATA_KEY) == 0
             ? RLO_OK
             : rlo__safetensors_fail_json(RLO__METADATA_KEY);
}

/* Writes the length and the header of a file, with spaces up to where its members
 * begin. Sorted: equal members and metadata have equal headers. */
static rlo_status make_head(planned_file *file, const json_t *header) {
  const size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
  const int64_t end = RLO__LENGTH_BYTES + (int64_t)length;
  const int64_t bytes = rlo__ceil_div(end, file->alignment) * file->alignment;
  const int64_t told = bytes - RLO__LENGTH_BYTES;
  RLO_FAIL_IF(told > RLO_SAFETENSORS_MAX_HEADER_BYTES, RLO_UNSUPPORTED,
              "%s has a header of %zu bytes; the format allows %d", file->name, length,
              RLO_SAFETENSORS_MAX_HEADER_BYTES);
  file->head = rlo__alloc((size_t)bytes);
  RLO_TRY_MEMORY(file->head);
  /* The host is little-endian: base/version.c. */
  memcpy(file->head, &told, RLO__LENGTH_BYTES);
  memset(file->head + RLO__LENGTH_BYTES, ' ', (size_t)told);
  if (json_dumpb(header, file->head + RLO__LENGTH_BYTES, length, JSON_COMPACT | JSON_SORT_KEYS) !=
      length) {
    return rlo__safetensors_fail_json(file->name);
  }
  file->file.head = file->head;
  file->file.head_bytes = bytes;
  return rlo__add(bytes, file->file.bytes, &file->file.bytes)
             ? RLO_OK
             : rlo__fail_overflow("the size of the file");
}

static rlo_status make_file(rlo_safetensors_plan *plan, int32_t f, json_t *map, int64_t *n) {
  planned_file *file = &plan->files[f];
  const int64_t first = *n;
  (void)snprintf(file->name, FILE_NAME_BYTES,
                 plan->num_files == 1 ? RLO__SINGLE_NAME : "model-%05d-of-%05d.safetensors", f + 1,
                 plan->num_files);
  file->file.name = plan->options.shard_bytes > 0 ? file->name : NULL;
  json_t *header = json_pack("{s:{}}", RLO__METADATA_KEY);
  rlo_status status = add_members(plan, f, header, map, n);
  if (status == RLO_OK) {
    status = make_head(file, header);
  }
  json_decref(header);
  for (int64_t k = first; k < *n; ++k) {
    plan->places[plan->order[k].member].offset_bytes += file->file.head_bytes;
  }
  return status;
}

static rlo_status make_index(rlo_safetensors_plan *plan, json_t *map) {
  int64_t total = 0;
  for (int64_t n = 0; n < plan->num_members; ++n) {
    total = rlo__add_capped(total, plan->places[n].bytes);
  }
  json_t *index =
      json_pack("{s:{s:I}, s:O}", "metadata", "total_size", (json_int_t)total, "weight_map", map);
  char *text = json_dumps(index, JSON_INDENT(2));
  plan->index = text == NULL ? NULL : rlo__alloc_string(text);
  free(text);
  json_decref(index);
  return plan->index != NULL ? RLO_OK : rlo__safetensors_fail_json(RLO__INDEX_NAME);
}

/* ------------------------------------------------------------------ public */

static rlo_status make_plan(rlo_safetensors_plan *plan, json_t *map) {
  const size_t room = (size_t)plan->num_members + 1;
  int64_t n = 0;
  plan->places = rlo__alloc_array(room, sizeof(*plan->places));
  plan->order = rlo__alloc_array(room, sizeof(*plan->order));
  plan->files = rlo__alloc_array(room, sizeof(*plan->files));
  if (plan->places == NULL || plan->order == NULL || plan->files == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  plan->num_files = 1;
  plan->files->alignment = ALIGNMENT_BYTES;
  for (int64_t m = 0; m < plan->num_members; ++m) {
    RLO_TRY(choose_file(plan, m));
  }
  qsort(plan->order, (size_t)plan->num_members, sizeof(*plan->order), compare_order);
  for (int32_t f = 0; f < plan->num_files; ++f) {
    RLO_TRY(make_file(plan, f, map, &n));
  }
  return plan->num_files > 1 ? make_index(plan, map) : RLO_OK;
}

rlo_status rlo_safetensors_plan_create(const char *const *names, const rlo_shape *const *shapes,
                                       int64_t count, const rlo_safetensors_plan_options *options,
                                       rlo_safetensors_plan **out_plan) {
  RLO_REQUIRE(out_plan);
  *out_plan = NULL;
  RLO_REQUIRE_EACH(names, count);
  RLO_REQUIRE_EACH(shapes, count);
  rlo_safetensors_plan_options read = RLO_SAFETENSORS_PLAN_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("plan options", "RLO_SAFETENSORS_PLAN_OPTIONS_INIT", options, &read,
                            sizeof(read)));
  RLO_REQUIRE_LIST(read.metadata, read.num_metadata);
  RLO_FAIL_IF(count < 0 || read.shard_bytes < 0 || read.num_metadata < 0, RLO_INVALID_ARGUMENT,
              "%" PRId64 " members, %" PRId64 " texts and %" PRId64
              " bytes of a file; none may be negative",
              count, read.num_metadata, read.shard_bytes);
  rlo_safetensors_plan *plan = rlo__alloc(sizeof(*plan));
  RLO_TRY_MEMORY(plan);
  *plan = (rlo_safetensors_plan){
      .names = names, .shapes = shapes, .options = read, .num_members = count};
  json_t *map = json_object();
  const rlo_status status = make_plan(plan, map);
  json_decref(map);
  if (status != RLO_OK) {
    rlo_safetensors_plan_release(plan);
    return status;
  }
  *out_plan = plan;
  return RLO_OK;
}

void rlo_safetensors_plan_release(rlo_safetensors_plan *plan) {
  for (int32_t f = 0; f < rlo_safetensors_plan_num_files(plan); ++f) {
    rlo__free(plan->files[f].head);
  }
  if (plan != NULL) {
    rlo__free(plan->index);
    rlo__free(plan->files);
    rlo__free(plan->order);
    rlo__free(plan->places);
    rlo__free(plan);
  }
}

int32_t rlo_safetensors_plan_num_files(const rlo_safetensors_plan *plan) {
  return plan == NULL ? 0 : plan->num_files;
}

const rlo_safetensors_file *rlo_safetensors_plan_file(const rlo_safetensors_plan *plan,
                                                      int32_t file) {
  return file < 0 || file >= rlo_safetensors_plan_num_files(plan) ? NULL : &plan->files[file].file;
}

const rlo_safetensors_place *rlo_safetensors_plan_place(const rlo_safetensors_plan *plan,
                                                        int64_t n) {
  return plan == NULL || n < 0 || n >= plan->num_members ? NULL : &plan->places[n];
}

const char *rlo_safetensors_plan_index(const rlo_safetensors_plan *plan) {
  return plan == NULL ? NULL : plan->index;
}
