/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdbool.h>

#include "base/checked.h"
#include "base/status.h"
#include "xla/proto_message.h"

/* The type whose elements have shardings of their own; the others are those of
 * rlo_sharding_kind. */
enum { TYPE_TUPLE = 2 };

/* ----------------------------------------------------------------- reading */

static rlo_status read_grid(const rlo__sharding_message *message, rlo_sharding_tiles *tiles) {
  size_t rank = message->n_tile_assignment_dimensions;
  size_t num_subgroups = message->n_last_tile_dims;
  if (message->replicate_on_last_tile_dim) {
    RLO_FAIL_IF(num_subgroups > 0, RLO_INVALID_ARGUMENT,
                "replicate_on_last_tile_dim and %zu last_tile_dims exclude each other",
                num_subgroups);
    num_subgroups = 1;
  }
  RLO_FAIL_IF(num_subgroups > rank, RLO_INVALID_ARGUMENT,
              "%zu of last_tile_dims do not go with %zu tile_assignment_dimensions", num_subgroups,
              rank);
  RLO_FAIL_IF(num_subgroups > RLO_SHARDING_MAX_SUBGROUPS || rank - num_subgroups > RLO_MAX_RANK,
              RLO_UNSUPPORTED,
              "%zu tile_assignment_dimensions, of which %zu are last_tile_dims, are beyond the "
              "limits of %d and %d",
              rank, num_subgroups, RLO_MAX_RANK, RLO_SHARDING_MAX_SUBGROUPS);
  tiles->rank = (int32_t)(rank - num_subgroups);
  tiles->num_subgroups = (int32_t)num_subgroups;
  for (int32_t d = 0; d < tiles->rank; ++d) {
    tiles->counts[d] = message->tile_assignment_dimensions[d];
  }
  for (int32_t k = 0; k < tiles->num_subgroups; ++k) {
    tiles->subgroups[k] = (rlo_sharding_subgroup){
        .kind = message->replicate_on_last_tile_dim ? RLO_SHARDING_REPLICATED
                                                    : (rlo_sharding_kind)message->last_tile_dims[k],
        .count = message->tile_assignment_dimensions[tiles->rank + k],
    };
  }
  return RLO_OK;
}

/* rlo_sharding_make_tiled refuses grids that cannot be. */
static rlo_status read_list(const rlo__sharding_message *message, rlo_sharding_tiles *tiles) {
  int64_t cells = 1;
  for (size_t d = 0; d < message->n_tile_assignment_dimensions; ++d) {
    cells = rlo__mul_capped(cells, rlo__max(0, message->tile_assignment_dimensions[d]));
  }
  RLO_FAIL_IF(cells > 0 && cells <= RLO_SHARDING_MAX_DEVICES &&
                  (uint64_t)cells != message->n_tile_assignment_devices,
              RLO_INVALID_ARGUMENT,
              "%zu tile_assignment_devices do not go with a grid of %" PRId64 " cells",
              message->n_tile_assignment_devices, cells);
  tiles->devices = message->tile_assignment_devices;
  return RLO_OK;
}

static rlo_status read_iota(const rlo__sharding_message *message, rlo_sharding_tiles *tiles) {
  size_t rank = message->n_iota_reshape_dims;
  RLO_FAIL_IF(message->n_tile_assignment_devices > 0, RLO_INVALID_ARGUMENT,
              "%zu tile_assignment_devices and iota_reshape_dims exclude each other",
              message->n_tile_assignment_devices);
  RLO_FAIL_IF(message->n_iota_transpose_perm != rank, RLO_INVALID_ARGUMENT,
              "%zu entries of iota_transpose_perm do not go with %zu iota_reshape_dims",
              message->n_iota_transpose_perm, rank);
  RLO_FAIL_IF(rank > RLO_SHARDING_MAX_IOTA_RANK, RLO_UNSUPPORTED,
              "%zu iota_reshape_dims are beyond the limit of %d", rank, RLO_SHARDING_MAX_IOTA_RANK);
  tiles->iota_rank = (int32_t)rank;
  for (size_t k = 0; k < rank; ++k) {
    tiles->iota_dims[k] = message->iota_reshape_dims[k];
    tiles->iota_permutation[k] = message->iota_transpose_perm[k];
  }
  return RLO_OK;
}

static rlo_status read_tiled(const rlo__sharding_message *message, rlo_sharding **out_sharding) {
  rlo_sharding_tiles tiles = {0};
  RLO_TRY(read_grid(message, &tiles));
  if (message->n_iota_reshape_dims > 0 || message->n_iota_transpose_perm > 0) {
    RLO_TRY(read_iota(message, &tiles));
  } else {
    RLO_TRY(read_list(message, &tiles));
  }
  return rlo_sharding_make_tiled(&tiles, out_sharding);
}

static rlo_status read_maximal(const rlo__sharding_message *message, rlo_sharding **out_sharding) {
  RLO_FAIL_IF(message->n_tile_assignment_devices != 1, RLO_INVALID_ARGUMENT,
              "%zu tile_assignment_devices, and a maximal sharding has one",
              message->n_tile_assignment_devices);
  return rlo_sharding_make_maximal(message->tile_assignment_devices[0], out_sharding);
}

static rlo_status read_sharding(const void *from, void *out) {
  const rlo__sharding_message *message = from;
  rlo_sharding **out_sharding = out;
  RLO_FAIL_IF(message->type == TYPE_TUPLE || message->n_tuple_shardings > 0, RLO_UNSUPPORTED,
              "the sharding of a tuple; each of its arrays has one of its own");
  RLO_FAIL_IF(message->named_sharding != NULL, RLO_UNSUPPORTED,
              "a named_sharding, by the axes of a mesh, is not supported: only one by "
              "tile_assignment_dimensions");
  switch (message->type) {
    case RLO_SHARDING_REPLICATED:
    case RLO_SHARDING_MANUAL:
    case RLO_SHARDING_UNKNOWN:
    case RLO_SHARDING_UNREDUCED:
      return rlo_sharding_make((rlo_sharding_kind)message->type, out_sharding);
    case RLO_SHARDING_MAXIMAL:
      return read_maximal(message, out_sharding);
    case RLO_SHARDING_TILED:
      return read_tiled(message, out_sharding);
    default:
      return RLO_FAIL(RLO_INVALID_ARGUMENT, "%" PRId32 " is not a type of sharding", message->type);
  }
}

/* ----------------------------------------------------------------- writing */

static rlo_status write_grid(rlo__proto_writer *w, const rlo_sharding_tiles *tiles,
                             rlo__sharding_message *message) {
  RLO_TRY(RLO__PROTO_PUT(w, message, tile_assignment_dimensions, NULL,
                         tiles->rank + tiles->num_subgroups));
  for (int32_t d = 0; d < tiles->rank; ++d) {
    message->tile_assignment_dimensions[d] = tiles->counts[d];
  }
  message->replicate_on_last_tile_dim =
      tiles->num_subgroups == 1 && tiles->subgroups[0].kind == RLO_SHARDING_REPLICATED;
  RLO_TRY(RLO__PROTO_PUT(w, message, last_tile_dims, NULL,
                         message->replicate_on_last_tile_dim ? 0 : tiles->num_subgroups));
  for (int32_t k = 0; k < tiles->num_subgroups; ++k) {
    message->tile_assignment_dimensions[tiles->rank + k] = tiles->subgroups[k].count;
    if (!message->replicate_on_last_tile_dim) {
      message->last_tile_dims[k] = (int32_t)tiles->subgroups[k].kind;
    }
  }
  return RLO_OK;
}

static rlo_status write_tiled(rlo__proto_writer *w, const rlo_sharding *sharding,
                              rlo__sharding_message *message) {
  rlo_sharding_tiles tiles;
  RLO_TRY(rlo_sharding_get_tiles(sharding, &tiles));
  RLO_TRY(write_grid(w, &tiles, message));
  if (tiles.iota_rank > 0) {
    RLO_TRY(RLO__PROTO_PUT(w, message, iota_reshape_dims, tiles.iota_dims, tiles.iota_rank));
    return RLO__PROTO_PUT(w, message, iota_transpose_perm, tiles.iota_permutation, tiles.iota_rank);
  }
  return RLO__PROTO_PUT(w, message, tile_assignment_devices, tiles.devices,
                        rlo_sharding_num_devices(sharding));
}

static rlo_status write_sharding(rlo__proto_writer *w, const void *value, void *out) {
  const rlo_sharding *sharding = value;
  rlo__sharding_message *message = out;
  rlo_sharding_kind kind = rlo_sharding_get_kind(sharding);
  message->type = (int32_t)kind;
  RLO_FAIL_IF(kind == RLO_SHARDING_BOXES, RLO_UNSUPPORTED,
              "OpSharding has no place for boxes, only for a grid");
  if (kind == RLO_SHARDING_TILED) {
    return write_tiled(w, sharding, message);
  }
  /* XLA writes a grid of one cell. */
  int64_t cells = kind == RLO_SHARDING_MAXIMAL;
  int64_t device = rlo_sharding_num_devices(sharding) - 1;
  RLO_TRY(RLO__PROTO_PUT(w, message, tile_assignment_dimensions, &cells, cells));
  return RLO__PROTO_PUT(w, message, tile_assignment_devices, &device, cells);
}

rlo_status rlo_proto_parse_sharding(const void *bytes, size_t size_bytes,
                                    rlo_sharding **out_sharding, rlo_proto_origin **out_origin) {
  if (out_sharding != NULL) {
    *out_sharding = NULL;
  }
  return rlo__proto_parse(RLO__FIRST_NULL(out_sharding), bytes, size_bytes, &rlo__proto_sharding,
                          read_sharding, out_sharding, out_origin);
}

rlo_status rlo_proto_format_sharding(const rlo_sharding *sharding, const rlo_proto_options *options,
                                     void *buffer, size_t capacity, size_t *out_bytes) {
  return rlo__proto_format(RLO__FIRST_NULL(sharding, out_bytes), sharding, &rlo__proto_sharding,
                           write_sharding, options, buffer, capacity, out_bytes);
}
