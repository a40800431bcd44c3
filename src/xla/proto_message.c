/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/proto_message.h"

#include <string.h>

#include "base/options.h"
#include "base/status.h"

#define ONE_ROW(m, number, type, c_type, name, kind) \
  {number, RLO__TYPE_##type, false, offsetof(m, name), 0, sizeof(c_type), kind},
#define MANY_ROW(m, number, type, c_type, name, kind) \
  {number, RLO__TYPE_##type, true, offsetof(m, name), offsetof(m, n_##name), sizeof(c_type), kind},
#define KIND(symbol, xla_name, message, list)                                        \
  static const rlo__field_row message##_rows[] = {list(ONE_ROW, MANY_ROW, message)}; \
  const rlo__proto_kind symbol = {xla_name, sizeof(message), message##_rows,         \
                                  sizeof message##_rows / sizeof(rlo__field_row)}

KIND(rlo__proto_tile, "TileProto", rlo__tile_message, RLO__TILE_FIELDS);
KIND(rlo__proto_split, "SplitConfigProto", rlo__split_message, RLO__SPLIT_FIELDS);
KIND(rlo__proto_layout, "LayoutProto", rlo__layout_message, RLO__LAYOUT_FIELDS);
KIND(rlo__proto_shape, "ShapeProto", rlo__shape_message, RLO__SHAPE_FIELDS);
KIND(rlo__proto_program, "ProgramShapeProto", rlo__program_message, RLO__PROGRAM_FIELDS);
KIND(rlo__proto_sharding, "OpSharding", rlo__sharding_message, RLO__SHARDING_FIELDS);
const rlo__proto_kind rlo__proto_named = {"NamedShardingProto", sizeof(rlo__proto_message), NULL,
                                          0};

rlo_status rlo__proto_parse(const char *null_name, const void *bytes, size_t size_bytes,
                            const rlo__proto_kind *kind, rlo__proto_read_fn *read, void *out,
                            rlo_proto_origin **out_origin) {
  if (out_origin != NULL) {
    *out_origin = NULL;
  }
  RLO_FAIL_IF(null_name != NULL, RLO_INVALID_ARGUMENT, "'%s' is NULL", null_name);
  RLO_REQUIRE_LIST(bytes, size_bytes);
  rlo_proto_origin *origin = NULL;
  rlo_status status = rlo__proto_unpack(bytes, size_bytes, kind, &origin);
  if (status == RLO_OK) {
    status = read(origin->message, out);
  }
  if (status == RLO_OK && out_origin != NULL) {
    *out_origin = origin;
  } else {
    rlo_proto_origin_release(origin);
  }
  return status;
}

static const rlo__field_row *find_place(const rlo__proto_message *message, const void *place) {
  const rlo__field_row *field = message->kind->fields;
  while ((const char *)message + field->offset != (const char *)place) {
    ++field;
  }
  return field;
}

rlo_status rlo__proto_put(rlo__proto_writer *w, rlo__proto_message *message, void *place,
                          const void *values, size_t count) {
  const rlo__field_row *field = find_place(message, place);
  char *list = place;
  if (field->is_repeated) {
    list = rlo__proto_take(&w->arena, count, field->bytes);
    memcpy(place, &list, sizeof list);
    memcpy((char *)message + field->count_offset, &count, sizeof count);
  }
  RLO_TRY_MEMORY(list);
  if (values != NULL) {
    memcpy(list, values, count * field->bytes);
  }
  size_t num_origins = 0;
  const char *origins =
      message->origin == NULL ? NULL : rlo__proto_values(field, message->origin, &num_origins);
  for (size_t k = 0; field->type == RLO__TYPE_MESSAGE && k < count; ++k) {
    const rlo__proto_message *origin = NULL;
    if (k < num_origins) {
      memcpy(&origin, origins + k * field->bytes, sizeof origin);
    }
    const void *part = rlo__proto_new(&w->arena, field->kind, origin);
    RLO_TRY_MEMORY(part);
    memcpy(list + k * field->bytes, &part, sizeof part);
  }
  return RLO_OK;
}

void rlo__proto_carry(rlo__proto_message *message, void *place, size_t count) {
  const rlo__field_row *field = find_place(message, place);
  size_t num_values = 0;
  if (message->origin == NULL) {
    return;
  }
  (void)rlo__proto_values(field, message->origin, &num_values);
  if (!field->is_repeated) {
    memcpy(place, (const char *)message->origin + field->offset, field->bytes);
  } else if (num_values == count) {
    memcpy(place, (const char *)message->origin + field->offset, sizeof(void *));
    memcpy((char *)message + field->count_offset, &count, sizeof count);
  }
}

rlo_status rlo__proto_format(const char *null_name, const void *value, const rlo__proto_kind *kind,
                             rlo__proto_write_fn *write, const rlo_proto_options *options,
                             void *buffer, size_t capacity, size_t *out_bytes) {
  RLO_FAIL_IF(null_name != NULL, RLO_INVALID_ARGUMENT, "'%s' is NULL", null_name);
  RLO_REQUIRE_LIST(buffer, capacity);
  rlo_proto_options read = RLO_PROTO_OPTIONS_INIT;
  RLO_TRY(
      rlo__options_read("proto options", "RLO_PROTO_OPTIONS_INIT", options, &read, sizeof read));
  const rlo__proto_message *origin = read.origin == NULL ? NULL : read.origin->message;
  RLO_FAIL_IF(origin != NULL && origin->kind != kind, RLO_INVALID_ARGUMENT,
              "the origin is a message of another kind: %s", origin->kind->name);
  rlo__proto_writer w;
  w.arena = (rlo__proto_arena){NULL};
  w.has_padding_fields = read.has_padding_fields;
  rlo__proto_message *message = rlo__proto_new(&w.arena, kind, origin);
  rlo_status status = message == NULL ? RLO_OUT_OF_MEMORY : write(&w, value, message);
  if (status == RLO_OK) {
    status = rlo__proto_pack(message, buffer, capacity, out_bytes);
  }
  rlo__proto_arena_deinit(&w.arena);
  return status;
}
