/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "relayout/text.h"
#include "shard/sharding.h"
#include "text/lex.h"

/* Moves past this token and `mark`. */
static rlo_status expect_behind(rlo__lexer *lexer, const char *mark) {
  RLO_TRY(rlo__lexer_advance(lexer));
  return rlo__lexer_expect(lexer, mark);
}

/* [[','] ('shard_as' | 'shard_like' | 'metadata') ...] '}': no box depends on
 * these. */
static rlo_status parse_end(rlo__lexer *lexer) {
  if (rlo__lexer_is_at(lexer, ",")) {
    RLO_TRY(rlo__lexer_advance(lexer));
  }
  const bool is_passed = rlo__lexer_is_at(lexer, "shard_as") ||
                         rlo__lexer_is_at(lexer, "shard_like") ||
                         rlo__lexer_is_at(lexer, "metadata");
  int64_t depth = 1;
  while (is_passed && depth > 0 && lexer->token.kind != RLO__TOKEN_END) {
    RLO_TRY(rlo__lexer_advance(lexer));
    depth += rlo__lexer_is_at(lexer, "{") - rlo__lexer_is_at(lexer, "}");
  }
  RLO_TRY(rlo__lexer_expect(lexer, "}"));
  return rlo__lexer_expect_end(lexer);
}

/* '[' INT {',' INT} ']' of at most RLO_SHARDING_MAX_IOTA_RANK entries */
static rlo_status parse_list(rlo__lexer *lexer, const char *expected, int64_t *values,
                             int32_t *out_count) {
  RLO_TRY(rlo__lexer_expect(lexer, "["));
  RLO_TRY(rlo__lexer_read_integers(lexer, 1, expected, RLO_SHARDING_MAX_IOTA_RANK, "dimensions",
                                   values, out_count));
  return rlo__lexer_expect(lexer, "]");
}

/* list ['T' '(' INT {',' INT} ')'] */
static rlo_status parse_iota(rlo__lexer *lexer, rlo_sharding_tiles *tiles) {
  RLO_TRY(parse_list(lexer, "a dimension of iota >= 1", tiles->iota_dims, &tiles->iota_rank));
  for (int32_t k = 0; k < tiles->iota_rank; ++k) {
    tiles->iota_permutation[k] = k;
  }
  if (!rlo__lexer_is_at(lexer, "T")) {
    return RLO_OK;
  }
  RLO_TRY(rlo__lexer_advance(lexer));
  for (int32_t k = 0; k < tiles->iota_rank; ++k) {
    RLO_TRY(rlo__lexer_expect(lexer, k == 0 ? "(" : ","));
    int64_t axis;
    RLO_TRY(rlo__lexer_read_integer(lexer, 0, "a dimension of iota", &axis));
    /* An axis that is no dimension of iota is refused with the grid. */
    tiles->iota_permutation[k] = axis < tiles->iota_rank ? (int32_t)axis : tiles->iota_rank;
  }
  return rlo__lexer_expect(lexer, ")");
}

/* INT {',' INT}: the devices of the grid's cells. */
static rlo_status parse_devices(rlo__lexer *lexer, int64_t **out_devices, size_t *out_count) {
  size_t capacity = 0;
  size_t count = 0;
  do {
    if (count > 0) {
      RLO_TRY(rlo__lexer_advance(lexer));
    }
    RLO_FAIL_IF(count == RLO_SHARDING_MAX_DEVICES, RLO_UNSUPPORTED,
                "position %zu: more than %d devices", lexer->token.position,
                RLO_SHARDING_MAX_DEVICES);
    RLO_TRY(rlo__array_reserve(out_devices, sizeof **out_devices, count + 1, &capacity));
    RLO_TRY(rlo__lexer_read_integer(lexer, 0, "a device or '<='", &(*out_devices)[count]));
    ++count;
  } while (rlo__lexer_is_at(lexer, ","));
  *out_count = count;
  return RLO_OK;
}

/* Finds the kind without parameters that is named here; false if none is. */
static bool find_plain_kind(const rlo__lexer *lexer, rlo_sharding_kind *out_kind) {
  for (int kind = 0; kind <= RLO_SHARDING_UNREDUCED; ++kind) {
    const char *word = rlo__sharding_word((rlo_sharding_kind)kind);
    if (word != NULL && rlo__lexer_is_at(lexer, word)) {
      *out_kind = (rlo_sharding_kind)kind;
      return true;
    }
  }
  return false;
}

/* '{' kind {',' kind} '}' into the kinds of the subgroups. */
static rlo_status parse_subgroup_kinds(rlo__lexer *lexer, rlo_sharding_tiles *tiles) {
  RLO_TRY(rlo__lexer_expect(lexer, "{"));
  do {
    if (tiles->num_subgroups > 0) {
      RLO_TRY(rlo__lexer_advance(lexer));
    }
    RLO_FAIL_IF(tiles->num_subgroups == RLO_SHARDING_MAX_SUBGROUPS, RLO_UNSUPPORTED,
                "position %zu: more than %d subgroups", lexer->token.position,
                RLO_SHARDING_MAX_SUBGROUPS);
    if (!find_plain_kind(lexer, &tiles->subgroups[tiles->num_subgroups].kind)) {
      return rlo__lexer_refuse(lexer, "'replicated', 'unreduced' or 'manual'");
    }
    ++tiles->num_subgroups;
    RLO_TRY(rlo__lexer_advance(lexer));
  } while (rlo__lexer_is_at(lexer, ","));
  return rlo__lexer_expect(lexer, "}");
}

/* ['last_tile_dim_replicate' | 'last_tile_dims' '=' kinds], which says how many
 * of the grid's dimensions are subgroups. */
static rlo_status parse_subgroups(rlo__lexer *lexer, const int64_t *grid, int32_t grid_rank,
                                  rlo_sharding_tiles *tiles) {
  size_t position = lexer->token.position;
  if (rlo__lexer_is_at(lexer, "last_tile_dim_replicate")) {
    RLO_TRY(rlo__lexer_advance(lexer));
    tiles->subgroups[0].kind = RLO_SHARDING_REPLICATED;
    tiles->num_subgroups = 1;
  } else if (rlo__lexer_is_at(lexer, "last_tile_dims")) {
    RLO_TRY(expect_behind(lexer, "="));
    RLO_TRY(parse_subgroup_kinds(lexer, tiles));
  }
  tiles->rank = grid_rank - tiles->num_subgroups;
  RLO_FAIL_IF(tiles->rank < 0, RLO_PARSE,
              "position %zu: %" PRId32 " subgroups of a grid that has %" PRId32 " dimensions",
              position, tiles->num_subgroups, grid_rank);
  for (int32_t d = 0; d < grid_rank; ++d) {
    if (d < tiles->rank && d < RLO_MAX_RANK) {
      tiles->counts[d] = grid[d];
    } else if (d >= tiles->rank) {
      tiles->subgroups[d - tiles->rank].count = grid[d];
    }
  }
  return RLO_OK;
}

static int64_t count_cells(const int64_t *grid, int32_t grid_rank) {
  int64_t cells = 1;
  for (int32_t d = 0; d < grid_rank; ++d) {
    cells = rlo__mul_capped(cells, grid[d]);
  }
  return cells;
}

/* iota | devices: those of a grid's cells */
static rlo_status parse_cells(rlo__lexer *lexer, bool is_iota, int64_t cells, int64_t **devices,
                              rlo_sharding_tiles *tiles) {
  if (is_iota) {
    return parse_iota(lexer, tiles);
  }
  size_t position = lexer->token.position;
  size_t num_devices = 0;
  RLO_TRY(parse_devices(lexer, devices, &num_devices));
  RLO_FAIL_IF((size_t)cells != num_devices, RLO_PARSE,
              "position %zu: %zu devices for a grid of %s cells", position, num_devices,
              (size_t)cells > num_devices ? "more" : "fewer");
  tiles->iota_rank = 0;
  tiles->devices = *devices;
  return RLO_OK;
}

/* list ('<=' iota | devices) subgroups; the end is checked before the grid is. */
static rlo_status parse_tiled(rlo__lexer *lexer, int64_t **devices, rlo_sharding **out_sharding) {
  int64_t grid[RLO_SHARDING_MAX_IOTA_RANK];
  int32_t grid_rank = 0;
  rlo_sharding_tiles tiles = {0};
  RLO_TRY(parse_list(lexer, "a number of tiles >= 1", grid, &grid_rank));
  bool is_iota = rlo__lexer_is_at(lexer, "<=");
  if (is_iota) {
    RLO_TRY(rlo__lexer_advance(lexer));
  }
  RLO_TRY(parse_cells(lexer, is_iota, count_cells(grid, grid_rank), devices, &tiles));
  RLO_TRY(parse_subgroups(lexer, grid, grid_rank, &tiles));
  RLO_TRY(parse_end(lexer));
  return rlo_sharding_make_tiled(&tiles, out_sharding);
}

/* INT ':' INT */
static rlo_status parse_range(rlo__lexer *lexer, void *payload) {
  rlo_box *box = payload;
  RLO_FAIL_IF(box->rank == RLO_MAX_RANK, RLO_UNSUPPORTED,
              "position %zu: a rank above the limit of %d", lexer->token.position, RLO_MAX_RANK);
  const int32_t d = box->rank++;
  RLO_TRY(rlo__lexer_read_integer(lexer, 0, "a start >= 0", &box->start[d]));
  RLO_TRY(rlo__lexer_expect(lexer, ":"));
  return rlo__lexer_read_integer(lexer, 0, "a limit >= 0", &box->limit[d]);
}

static rlo_status parse_boxes(rlo__lexer *lexer, rlo_box **boxes, rlo_sharding **out_sharding) {
  size_t capacity = 0;
  size_t count = 0;
  do {
    RLO_FAIL_IF(count == RLO_SHARDING_MAX_DEVICES, RLO_UNSUPPORTED,
                "position %zu: more than %d boxes", lexer->token.position,
                RLO_SHARDING_MAX_DEVICES);
    RLO_TRY(rlo__array_reserve(boxes, sizeof **boxes, count + 1, &capacity));
    (*boxes)[count] = (rlo_box){0};
    RLO_TRY(rlo__lexer_read_list(lexer, "[]", parse_range, &(*boxes)[count]));
    ++count;
  } while (rlo__lexer_is_at(lexer, "["));
  RLO_TRY(parse_end(lexer));
  return rlo_sharding_make_boxes(*boxes, (int64_t)count, out_sharding);
}

static rlo_status parse_plain(rlo__lexer *lexer, rlo_sharding_kind kind,
                              rlo_sharding **out_sharding) {
  RLO_TRY(rlo__lexer_advance(lexer));
  RLO_TRY(parse_end(lexer));
  return rlo_sharding_make(kind, out_sharding);
}

/* 'device' '=' INT, or 'device_id' '=' INT ']' */
static rlo_status parse_maximal(rlo__lexer *lexer, const char *word, const char *end,
                                rlo_sharding **out_sharding) {
  int64_t device;
  RLO_TRY(rlo__lexer_expect(lexer, word));
  RLO_TRY(rlo__lexer_expect(lexer, "="));
  RLO_TRY(rlo__lexer_read_integer(lexer, 0, "a device", &device));
  if (end != NULL) {
    RLO_TRY(rlo__lexer_expect(lexer, end));
  }
  RLO_TRY(parse_end(lexer));
  return rlo_sharding_make_maximal(device, out_sharding);
}

/* ------------------------------------------------- reading of a named form */

/* A sharding by the axes of a mesh. */
typedef struct named_form {
  /* The devices as a grid, of which each dimension is an axis. */
  rlo_sharding_tiles mesh;
  rlo__token names[RLO_MAX_RANK];
  /* The dimensions and subgroups that the axes cut. */
  rlo_sharding_tiles tiles;
  /* The number that the size of the next part multiplies. */
  int64_t *count;
  /* The parts of axes in the order of dimensions and subgroups: sizes of at least
   * 2, and their strides in the mesh's row-major order. None overlap, so that
   * there are no more than factors of RLO_SHARDING_MAX_DEVICES. */
  int32_t num_parts;
  int64_t sizes[RLO_SHARDING_MAX_IOTA_RANK];
  int64_t strides[RLO_SHARDING_MAX_IOTA_RANK];
} named_form;

/* The number of the axis that is named here; their number if none is. */
static int32_t find_axis(const rlo__lexer *lexer, const named_form *named) {
  const char *text = lexer->text;
  int32_t k = 0;
  while (k < named->mesh.rank &&
         (lexer->token.length != named->names[k].length ||
          memcmp(text + lexer->token.position, text + named->names[k].position,
                 lexer->token.length) != 0)) {
    ++k;
  }
  return k;
}

/* STRING '=' INT */
static rlo_status parse_axis(rlo__lexer *lexer, void *payload) {
  named_form *named = payload;
  const int32_t axis = named->mesh.rank;
  if (lexer->token.kind != RLO__TOKEN_STRING || find_axis(lexer, named) < axis) {
    return rlo__lexer_refuse(lexer, "a name in quotes that no other axis has");
  }
  RLO_FAIL_IF(axis == RLO_MAX_RANK, RLO_UNSUPPORTED, "position %zu: more than %d axes",
              lexer->token.position, RLO_MAX_RANK);
  named->names[axis] = lexer->token;
  named->mesh.rank = axis + 1;
  RLO_TRY(expect_behind(lexer, "="));
  return rlo__lexer_read_integer(lexer, 1, "a size >= 1", &named->mesh.counts[axis]);
}

/* '?' | STRING [':' '(' INT ')' INT] */
static rlo_status parse_part(rlo__lexer *lexer, void *payload) {
  named_form *named = payload;
  if (rlo__lexer_is_at(lexer, "?")) {
    return rlo__lexer_advance(lexer);
  }
  const size_t position = lexer->token.position;
  const int32_t axis = find_axis(lexer, named);
  if (axis == named->mesh.rank) {
    return rlo__lexer_refuse(lexer, "the name of an axis of the mesh, in quotes");
  }
  const int64_t whole = named->mesh.counts[axis];
  int64_t before = 1;
  int64_t size = whole;
  RLO_TRY(rlo__lexer_advance(lexer));
  if (rlo__lexer_is_at(lexer, ":")) {
    RLO_TRY(expect_behind(lexer, "("));
    RLO_TRY(rlo__lexer_read_integer(lexer, 1, "a size >= 1 before a part", &before));
    RLO_TRY(rlo__lexer_expect(lexer, ")"));
    RLO_TRY(rlo__lexer_read_integer(lexer, 2, "a size >= 2 of a part", &size));
  }
  bool is_free = whole % before == 0 && whole / before % size == 0;
  int64_t stride = whole / before / size *
                   count_cells(&named->mesh.counts[axis + 1], named->mesh.rank - axis - 1);
  for (int32_t k = 0; is_free && k < named->num_parts; ++k) {
    is_free = stride % (named->strides[k] * named->sizes[k]) == 0 ||
              named->strides[k] % (stride * size) == 0;
  }
  RLO_FAIL_IF(!is_free, RLO_PARSE,
              "position %zu: part (%" PRId64 ")%" PRId64 " of an axis of size %" PRId64
              " does not divide it, or is in use",
              position, before, size, whole);
  if (size > 1) {
    named->sizes[named->num_parts] = size;
    named->strides[named->num_parts++] = stride;
    *named->count *= size;
  }
  return RLO_OK;
}

/* '{' [part {',' part}] '}' */
static rlo_status parse_parts(rlo__lexer *lexer, named_form *named, int64_t *count) {
  *count = 1;
  named->count = count;
  return rlo__lexer_read_list(lexer, "{}", parse_part, named);
}

static rlo_status parse_dimension(rlo__lexer *lexer, void *payload) {
  named_form *named = payload;
  rlo_sharding_tiles *tiles = &named->tiles;
  RLO_FAIL_IF(tiles->rank == RLO_MAX_RANK, RLO_UNSUPPORTED,
              "position %zu: a rank above the limit of %d", lexer->token.position, RLO_MAX_RANK);
  return parse_parts(lexer, named, &tiles->counts[tiles->rank++]);
}

/* '[' axes ']' ',' ['device_ids' '=' '(' (iota | devices) ')' ','] */
static rlo_status parse_mesh(rlo__lexer *lexer, named_form *named, int64_t **ids,
                             rlo_sharding **out_mesh) {
  rlo_sharding_tiles *mesh = &named->mesh;
  RLO_TRY(rlo__lexer_read_list(lexer, "[]", parse_axis, named));
  RLO_TRY(rlo__lexer_expect(lexer, ","));
  mesh->iota_rank = 1;
  mesh->iota_dims[0] = count_cells(mesh->counts, mesh->rank);
  if (rlo__lexer_is_at(lexer, "device_ids")) {
    RLO_TRY(expect_behind(lexer, "="));
    RLO_TRY(rlo__lexer_expect(lexer, "("));
    RLO_TRY(parse_cells(lexer, rlo__lexer_is_at(lexer, "["), mesh->iota_dims[0], ids, mesh));
    RLO_TRY(rlo__lexer_expect(lexer, ")"));
    RLO_TRY(rlo__lexer_expect(lexer, ","));
  }
  return rlo_sharding_make_tiled(mesh, out_mesh);
}

/* '[' dimensions ']' {',' kind '=' parts}; axes that are left over are one more
 * subgroup. */
static rlo_status parse_named_tiles(rlo__lexer *lexer, named_form *named) {
  rlo_sharding_tiles *tiles = &named->tiles;
  RLO_TRY(rlo__lexer_read_list(lexer, "[]", parse_dimension, named));
  while (rlo__lexer_is_at(lexer, ",")) {
    RLO_TRY(rlo__lexer_advance(lexer));
    rlo_sharding_subgroup *subgroup = &tiles->subgroups[tiles->num_subgroups];
    if (tiles->num_subgroups + 1 == RLO_SHARDING_MAX_SUBGROUPS ||
        !find_plain_kind(lexer, &subgroup->kind)) {
      break;
    }
    RLO_TRY(expect_behind(lexer, "="));
    ++tiles->num_subgroups;
    RLO_TRY(parse_parts(lexer, named, &subgroup->count));
  }
  return parse_end(lexer);
}

/* Lists the devices of the mesh cell by cell of the grid that is made of it:
 * those of a cell's copies in the mesh's order. */
static rlo_status make_named(named_form *named, const rlo_sharding *mesh,
                             rlo_sharding **out_sharding) {
  rlo_sharding_tiles *tiles = &named->tiles;
  int64_t rest = mesh->num_devices;
  for (int32_t k = 0; k < named->num_parts; ++k) {
    rest /= named->sizes[k];
  }
  if (rest > 1 || tiles->num_subgroups == 0) {
    tiles->subgroups[tiles->num_subgroups++] =
        (rlo_sharding_subgroup){RLO_SHARDING_REPLICATED, rest};
  }
  int64_t *devices = rlo__alloc_array((size_t)mesh->num_devices, 2 * sizeof *devices);
  RLO_TRY_MEMORY(devices);
  int64_t *num_copies = devices + mesh->num_devices;
  for (int64_t place = 0; place < mesh->num_devices; ++place) {
    int64_t cell = 0;
    for (int32_t k = 0; k < named->num_parts; ++k) {
      cell = cell * named->sizes[k] + place / named->strides[k] % named->sizes[k];
    }
    devices[cell * rest + num_copies[cell]++] = mesh->devices[place];
  }
  tiles->devices = devices;
  rlo_status status = rlo_sharding_make_tiled(tiles, out_sharding);
  rlo__free(devices);
  bool may_be_iota = mesh->tiles.iota_rank > 0;
  return status == RLO_OK && may_be_iota && (*out_sharding)->kind == RLO_SHARDING_TILED
             ? rlo__sharding_shorten(*out_sharding)
             : status;
}

static rlo_status parse_named(rlo__lexer *lexer, rlo_sharding **out_sharding) {
  named_form named = {0};
  int64_t *ids = NULL;
  rlo_sharding *mesh = NULL;
  rlo_status status = parse_mesh(lexer, &named, &ids, &mesh);
  rlo__free(ids);
  rlo_sharding_kind kind;
  if (status == RLO_OK && find_plain_kind(lexer, &kind)) {
    status = parse_plain(lexer, kind, out_sharding);
  } else if (status == RLO_OK) {
    status = parse_named_tiles(lexer, &named);
    if (status == RLO_OK) {
      status = make_named(&named, mesh, out_sharding);
    }
  }
  rlo_sharding_release(mesh);
  return status;
}

static rlo_status parse_sharding(rlo__lexer *lexer, rlo_sharding **out_sharding) {
  RLO_TRY(rlo__lexer_expect(lexer, "{"));
  RLO_FAIL_IF(rlo__lexer_is_at(lexer, "{"), RLO_UNSUPPORTED,
              "position %zu: the sharding of a tuple; each of its arrays has one of its own",
              lexer->token.position);
  rlo_sharding_kind kind;
  if (find_plain_kind(lexer, &kind)) {
    return parse_plain(lexer, kind, out_sharding);
  }
  if (rlo__lexer_is_at(lexer, "maximal")) {
    RLO_TRY(rlo__lexer_advance(lexer));
    return parse_maximal(lexer, "device", NULL, out_sharding);
  }
  if (rlo__lexer_is_at(lexer, "maximal_mesh")) {
    RLO_TRY(expect_behind(lexer, "["));
    return parse_maximal(lexer, "device_id", "]", out_sharding);
  }
  if (rlo__lexer_is_at(lexer, "mesh")) {
    RLO_TRY(rlo__lexer_advance(lexer));
    return parse_named(lexer, out_sharding);
  }
  if (rlo__lexer_is_at(lexer, "devices")) {
    RLO_TRY(expect_behind(lexer, "="));
    int64_t *devices = NULL;
    rlo_status status = parse_tiled(lexer, &devices, out_sharding);
    rlo__free(devices);
    return status;
  }
  if (rlo__lexer_is_at(lexer, "boxes")) {
    RLO_TRY(expect_behind(lexer, "="));
    rlo_box *boxes = NULL;
    rlo_status status = parse_boxes(lexer, &boxes, out_sharding);
    rlo__free(boxes);
    return status;
  }
  return rlo__lexer_refuse(
      lexer,
      "'replicated', 'maximal', 'devices=', 'boxes=', 'mesh', 'manual', 'unknown' or 'unreduced'");
}

rlo_status rlo_sharding_parse(const char *text, size_t text_bytes, rlo_sharding **out_sharding) {
  RLO_REQUIRE(out_sharding);
  *out_sharding = NULL;
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  return parse_sharding(&lexer, out_sharding);
}
