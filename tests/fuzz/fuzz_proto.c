/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/proto.h"

#include "fuzz.h"

/* How one kind of message is read, compared and written. */
typedef struct message_kind {
  rlo_status (*parse)(const void *bytes, size_t size_bytes, void **out,
                      rlo_proto_origin **out_origin);
  rlo_status (*format)(const void *value, const rlo_proto_options *options, void *buffer,
                       size_t capacity, size_t *out_bytes);
  bool (*equal)(const void *a, const void *b);
  void (*release)(void *value);
} message_kind;

/* Defines parse_, format_ and release_ of a kind for a message_kind; a value of
 * it is an rlo_`type`. */
#define DEFINE_KIND(kind, type)                                                        \
  static rlo_status parse_##kind(const void *bytes, size_t size_bytes, void **out,     \
                                 rlo_proto_origin **out_origin) {                      \
    rlo_##type *value = NULL;                                                          \
    rlo_status status = rlo_proto_parse_##kind(bytes, size_bytes, &value, out_origin); \
    *out = value;                                                                      \
    return status;                                                                     \
  }                                                                                    \
                                                                                       \
  static rlo_status format_##kind(const void *value, const rlo_proto_options *options, \
                                  void *buffer, size_t capacity, size_t *out_bytes) {  \
    return rlo_proto_format_##kind(value, options, buffer, capacity, out_bytes);       \
  }                                                                                    \
                                                                                       \
  static void release_##kind(void *value) {                                            \
    rlo_##type##_release(value);                                                       \
  }

DEFINE_KIND(tree, shape_tree)
DEFINE_KIND(program, program_shape)
DEFINE_KIND(sharding, sharding)

static bool equal_trees(const void *a, const void *b) {
  return rlo_shape_tree_equal(a, b);
}

static bool equal_programs(const void *a, const void *b) {
  return rlo_program_shape_equal(a, b);
}

/* Equal shardings are printed alike. */
static bool equal_shardings(const void *a, const void *b) {
  size_t length = rlo_sharding_format(a, NULL, 0);
  char *texts[2] = {malloc(length + 1), malloc(length + 1)};
  FUZZ_CHECK(texts[0] != NULL && texts[1] != NULL);
  (void)rlo_sharding_format(a, texts[0], length + 1);
  bool are_equal = rlo_sharding_format(b, texts[1], length + 1) == length &&
                   memcmp(texts[0], texts[1], length) == 0;
  free(texts[0]);
  free(texts[1]);
  return are_equal;
}

/* Writes a message that was read, unknown fields included, and reads it
 * again. */
static void check_round_trip(const message_kind *kind, const void *value,
                             const rlo_proto_origin *origin) {
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  options.has_padding_fields = true;
  options.origin = origin;
  size_t bytes = 0;
  rlo_status status = kind->format(value, &options, NULL, 0, &bytes);
  if (status == RLO_UNSUPPORTED) {
    return;
  }
  FUZZ_CHECK(status == (bytes == 0 ? RLO_OK : RLO_OUT_OF_RANGE));
  unsigned char *written = malloc(bytes + 1);
  FUZZ_CHECK(written != NULL);
  FUZZ_CHECK(kind->format(value, &options, written, bytes, &bytes) == RLO_OK);
  void *again = NULL;
  rlo_proto_origin *again_origin = NULL;
  FUZZ_CHECK(kind->parse(written, bytes, &again, &again_origin) == RLO_OK);
  FUZZ_CHECK(kind->equal(value, again));
  unsigned char *twice = malloc(bytes + 1);
  FUZZ_CHECK(twice != NULL);
  options.origin = again_origin;
  size_t bytes_twice = 0;
  FUZZ_CHECK(kind->format(again, &options, twice, bytes, &bytes_twice) == RLO_OK);
  FUZZ_CHECK(bytes == bytes_twice && memcmp(written, twice, bytes) == 0);
  kind->release(again);
  rlo_proto_origin_release(again_origin);
  free(twice);
  free(written);
}

static void check_message(const message_kind *kind, const uint8_t *data, size_t size) {
  void *value = NULL;
  rlo_proto_origin *origin = NULL;
  if (kind->parse(data, size, &value, &origin) == RLO_OK) {
    check_round_trip(kind, value, origin);
    kind->release(value);
    rlo_proto_origin_release(origin);
  } else {
    FUZZ_CHECK(origin == NULL);
  }
}

/* The bytes as each of XLA's messages. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const message_kind kinds[] = {
      {parse_tree, format_tree, equal_trees, release_tree},
      {parse_program, format_program, equal_programs, release_program},
      {parse_sharding, format_sharding, equal_shardings, release_sharding}};
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    check_message(&kinds[i], data, size);
  }
  rlo_shape shape;
  if (rlo_proto_parse_shape(data, size, &shape, NULL) == RLO_OK) {
    fuzz_check_shape(&shape);
  }
  rlo_layout layout;
  int32_t rank;
  if (rlo_proto_parse_layout(data, size, &layout, &rank, NULL) == RLO_OK) {
    FUZZ_CHECK(rank >= 0 && rank <= RLO_MAX_RANK);
  }
  rlo_tile tile;
  if (rlo_proto_parse_tile(data, size, &tile, NULL) == RLO_OK) {
    FUZZ_CHECK(tile.rank > 0 && tile.rank <= RLO_MAX_TILE_RANK);
  }
  return 0;
}
