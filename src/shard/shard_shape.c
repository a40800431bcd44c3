/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "shard/holding.h"

static bool is_manual(const rlo_sharding *sharding) {
  for (int32_t k = 0; k < sharding->tiles.num_subgroups; ++k) {
    if (sharding->tiles.subgroups[k].kind == RLO_SHARDING_MANUAL) {
      return true;
    }
  }
  return sharding->kind == RLO_SHARDING_MANUAL;
}

/* Fails if the sharding does not say which box is whose. */
static rlo_status check_has_boxes(const rlo_sharding *sharding) {
  const char *reason = NULL;
  if (sharding->kind == RLO_SHARDING_UNKNOWN) {
    reason = "an unknown sharding names no boxes";
  } else if (is_manual(sharding)) {
    reason = "a manual sharding names no boxes: the program cuts the array";
  }
  return reason == NULL ? RLO_OK : RLO_FAIL(RLO_UNSUPPORTED, "%s", reason);
}

/* The rank that arrays must have; -1 if any will do. */
static int32_t rank_of(const rlo_sharding *sharding) {
  switch (sharding->kind) {
    case RLO_SHARDING_TILED:
      return sharding->tiles.rank;
    case RLO_SHARDING_BOXES:
      return sharding->boxes[0].rank;
    default:
      return -1;
  }
}

static rlo_status check_shape(const rlo_sharding *sharding, const rlo_shape *shape) {
  RLO_TRY(rlo_shape_validate(shape));
  RLO_TRY(check_has_boxes(sharding));
  int32_t rank = rank_of(sharding);
  RLO_FAIL_IF(rank >= 0 && rank != shape->rank, RLO_INVALID_ARGUMENT,
              "the sharding is for arrays of rank %" PRId32 ", the shape has rank %" PRId32, rank,
              shape->rank);
  for (int32_t d = 0; d < shape->rank; ++d) {
    RLO_FAIL_IF(shape->is_dynamic[d], RLO_UNSUPPORTED,
                "dimension %" PRId32 " is dynamic: its boxes are not known", d);
  }
  return RLO_OK;
}

/* Boxes that hold an element of the array, and what they are together. Equal
 * ones are copies; different ones must not meet, so that they are the whole
 * array when their elements add up to its number. */
static rlo_status check_distinct_boxes(const rlo__holding *h) {
  int64_t num_held = 0;
  for (int64_t k = 0; k < h->counts[0]; ++k) {
    rlo_box box = rlo__holding_tile_box(h, k);
    num_held += rlo__box_count(&box);
    for (int64_t other = k + 1; other < h->counts[0]; ++other) {
      rlo_box second = rlo__holding_tile_box(h, other);
      /* They are sorted by their starts. */
      if (second.start[0] >= box.limit[0]) {
        break;
      }
      rlo_box common = rlo__box_intersect(&box, &second);
      RLO_FAIL_IF(rlo__box_count(&common) > 0, RLO_INVALID_ARGUMENT,
                  "boxes %" PRId64 " and %" PRId64 " overlap and are not equal",
                  h->order[h->begins[k]], h->order[h->begins[other]]);
    }
  }
  int64_t num_elements = 1;
  for (int32_t d = 0; d < h->rank; ++d) {
    num_elements = rlo__mul_capped(num_elements, h->dims[d]);
  }
  RLO_FAIL_IF(num_held != num_elements, RLO_INVALID_ARGUMENT,
              "the boxes hold %" PRId64 " of the array's %" PRId64 " elements", num_held,
              num_elements);
  return RLO_OK;
}

static rlo_status check_boxes(const rlo_sharding *sharding, const rlo_shape *shape) {
  for (int64_t k = 0; k < sharding->num_devices; ++k) {
    const rlo_box *box = &sharding->boxes[k];
    for (int32_t d = 0; d < shape->rank; ++d) {
      RLO_FAIL_IF(box->limit[d] > shape->dims[d], RLO_INVALID_ARGUMENT,
                  "box %" PRId64 " ends at %" PRId64 " in dimension %" PRId32
                  ", which has size %" PRId64,
                  k, box->limit[d], d, shape->dims[d]);
    }
  }
  rlo__holding holding;
  rlo_status status = rlo__holding_init(sharding, shape, sharding->num_devices, &holding);
  if (status == RLO_OK) {
    status = check_distinct_boxes(&holding);
  }
  rlo__holding_deinit(&holding);
  return status;
}

rlo_status rlo_sharding_validate(const rlo_sharding *sharding, const rlo_shape *shape,
                                 int64_t num_devices) {
  RLO_REQUIRE(sharding, shape);
  RLO_TRY(check_shape(sharding, shape));
  RLO_FAIL_IF(num_devices < 1 || num_devices > RLO_SHARDING_MAX_DEVICES, RLO_OUT_OF_RANGE,
              "%" PRId64 " devices are outside 1..%d", num_devices, RLO_SHARDING_MAX_DEVICES);
  RLO_FAIL_IF(sharding->num_devices > num_devices ||
                  (sharding->num_devices < num_devices &&
                   (sharding->kind == RLO_SHARDING_TILED || sharding->kind == RLO_SHARDING_BOXES)),
              RLO_OUT_OF_RANGE, "the sharding is for %" PRId64 " devices, and there are %" PRId64,
              sharding->num_devices, num_devices);
  return sharding->kind == RLO_SHARDING_BOXES ? check_boxes(sharding, shape) : RLO_OK;
}

rlo_status rlo_sharding_get_box(const rlo_sharding *sharding, const rlo_shape *shape,
                                int64_t device, rlo_box *out_box) {
  RLO_REQUIRE(sharding, shape, out_box);
  RLO_TRY(check_shape(sharding, shape));
  bool names_all = sharding->kind == RLO_SHARDING_TILED || sharding->kind == RLO_SHARDING_BOXES;
  int64_t limit = names_all ? sharding->num_devices : RLO_SHARDING_MAX_DEVICES;
  RLO_FAIL_IF(device < 0 || device >= limit, RLO_OUT_OF_RANGE,
              "device %" PRId64 " is outside 0..%" PRId64, device, limit - 1);
  if (sharding->kind == RLO_SHARDING_BOXES) {
    *out_box = sharding->boxes[device];
    return RLO_OK;
  }
  rlo__holding holding;
  RLO_TRY(rlo__holding_init(sharding, shape, limit, &holding));
  int64_t tile = rlo__holding_find(&holding, device).tile;
  *out_box = rlo__holding_tile_box(&holding, rlo__max(tile, 0));
  if (tile < 0) {
    memset(out_box->limit, 0, sizeof out_box->limit);
  }
  return RLO_OK;
}

/* The padded width of a dimension on each device. */
static rlo_status cut_padding(const rlo_sharding *sharding, const rlo_shape *shape, int32_t d,
                              rlo_shape *shard) {
  int64_t padded = shape->layout.padded_dimensions[d];
  if (sharding->kind == RLO_SHARDING_TILED) {
    padded = rlo__ceil_div(padded, sharding->tiles.counts[d]);
  } else if (shard->dims[d] != shape->dims[d] && shard->dims[d] != 0) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "a box cuts dimension %" PRId32 ", which is padded to %" PRId64
                    ": how a part of it is padded is not defined",
                    d, padded);
  }
  shard->layout.padded_dimensions[d] = padded;
  return RLO_OK;
}

rlo_status rlo_sharding_get_shard_shape(const rlo_sharding *sharding, const rlo_shape *shape,
                                        int64_t device, rlo_shape *out_shape) {
  RLO_REQUIRE(sharding, shape, out_shape);
  rlo_box box;
  RLO_TRY(rlo_sharding_get_box(sharding, shape, device, &box));
  RLO_FAIL_IF(shape->layout.kind == RLO_LAYOUT_STRIDED, RLO_UNSUPPORTED,
              "a shard of a strided layout has no layout of its own");
  rlo_shape shard = *shape;
  for (int32_t d = 0; d < shape->rank; ++d) {
    shard.dims[d] = box.limit[d] - box.start[d];
    if (shape->layout.has_padded_dimensions) {
      RLO_TRY(cut_padding(sharding, shape, d, &shard));
    }
  }
  RLO_TRY(rlo_shape_validate(&shard));
  *out_shape = shard;
  return RLO_OK;
}
